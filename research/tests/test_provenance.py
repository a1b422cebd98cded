"""Pages of results: each records its provenance and later changes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import toy
import yaml

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")

from nonproj.components.preparation import LEARNING  # noqa: E402
from nonproj.components.trainer import train  # noqa: E402
from nonproj.errors import ModelError  # noqa: E402
from nonproj.options.config import Config  # noqa: E402
from research.experiments import __main__ as program  # noqa: E402
from research.experiments import provenance, runner, setting, text  # noqa: E402
from research.experiments.provenance import EARLIER, Ingredients, of_models, recorded, sections, stamp  # noqa: E402

RESULTS = ROOT / "research" / "results"
SECTIONS = sections()


@pytest.mark.parametrize("name", SECTIONS)
def test_a_page_is_of_this_version_or_says_what_has_changed(name):
    page, title, of = SECTIONS[name]
    text = (ROOT / page).read_text(encoding="utf-8")
    made, now = recorded(text, title), of()
    assert made, f"{page} has no record of what {name} was made from; research/experiments/provenance.py writes one"
    advice = "repeat the experiment, or mark the page: python -m research.experiments.provenance --mark"
    assert made.line(now) in text, f"{name}, {page}: {', '.join(made.changed(now))} changed since; {advice}"


def test_every_page_and_every_experiment_has_a_record():
    pages, present = [page for page, _, _ in SECTIONS.values()], sorted(RESULTS.glob("*.md"))
    assert {page for page in pages if page.startswith("research/")} == {
        f"research/results/{path.name}" for path in present
    }
    assert {name for name, (page, _, _) in SECTIONS.items() if page == "research/results/README.md"} == set(
        runner.EXPERIMENTS
    )
    for path in present:
        known = pages.count(f"research/results/{path.name}")
        assert path.read_text(encoding="utf-8").count("Made from: ") == known, path


# -- what a record depends on ------------------------------------------------------------------------------------------

DANISH = [("danish", "grandparent")]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A copy of configurations and templates, which may be changed."""
    for folder in ("configs", "features"):
        (tmp_path / folder).mkdir()
        for path in (ROOT / folder).glob("*.yaml"):
            (tmp_path / folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(setting, "ROOT", tmp_path)
    return tmp_path


def changed_by(path: Path, edit) -> list[str]:
    """Return the differences in the record of the Danish model after an edit of a YAML file."""
    before, content = of_models(DANISH), yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return before.changed(of_models(DANISH))


def test_an_option_a_template_and_a_treebank_change_the_record(elsewhere, monkeypatch):
    assert changed_by(elsewhere / "configs" / "danish.yaml", lambda c: c["training"].update(epochs=8)) == [
        "configuration"
    ]
    assert changed_by(elsewhere / "features" / "arc.yaml", lambda c: c["templates"].pop()) == ["templates"]
    before = of_models(DANISH)
    known = provenance.script("treebanks").TREEBANKS
    monkeypatch.setitem(known, "danish", known["danish"]._replace(train_digest="0" * 64))
    assert before.changed(of_models(DANISH)) == ["data"]
    monkeypatch.setattr(provenance, "FORMAT", -1)
    monkeypatch.setattr(provenance, "LEARNING", -1)
    assert before.changed(of_models(DANISH)) == ["data", "model format", "learning"]


def test_comments_paths_and_other_treebanks_do_not_change_the_record(elsewhere):
    path = elsewhere / "configs" / "danish.yaml"
    assert changed_by(path, lambda c: c["treebank"].update(train="elsewhere.conll")) == []  # and comments are gone
    assert changed_by(elsewhere / "configs" / "greek.yaml", lambda c: c["treebank"].update(root="multi")) == []
    assert changed_by(elsewhere / "features" / "trisibling.yaml", lambda c: c["templates"].pop()) == []


def test_only_figures_of_plain_text_depend_on_the_segmenter():
    changes = {"segmenter.epochs": 99}
    assert of_models(DANISH).changed(of_models(DANISH, changes)) == []
    assert of_models(DANISH, text=True).changed(of_models(DANISH, changes, text=True)) == ["configuration"]


def test_an_experiments_own_settings_change_its_record(monkeypatch):
    before = provenance.of_experiment("figure4")
    assert before.changed(provenance.of_experiment("figure4", replace(provenance.TODAY, iterations=9))) == [
        "configuration"
    ]
    monkeypatch.setattr(runner.EXPERIMENTS["figure4"], "LIMITS", (1, 2))
    assert before.changed(provenance.of_experiment("figure4")) == ["configuration"]


# -- on pages ----------------------------------------------------------------------------------------------------------


def test_the_command_lists_and_marks(tmp_path, capsys):
    path = tmp_path / "research" / "results" / "confidence.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Joint\n\nText.\n", encoding="utf-8")
    now = SECTIONS["confidence"][2]()
    stamp(path, "confidence", now._replace(templates="other"))
    assert f"{EARLIER}: templates.\n" in path.read_text(encoding="utf-8")
    path.write_text(re.sub(re.escape(EARLIER) + ".*\n", "", path.read_text(encoding="utf-8")), encoding="utf-8")
    assert provenance.main(["--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "confidence (research/results/confidence.md): templates\n"
    assert EARLIER not in path.read_text(encoding="utf-8")
    provenance.main(["--root", str(tmp_path), "--mark"])
    assert f"{EARLIER}: templates.\n\nText.\n" in path.read_text(encoding="utf-8")
    stamp(path, "confidence")
    assert recorded(path.read_text(encoding="utf-8")) == now


def test_a_page_without_a_title_has_no_record():
    assert recorded("Text.\n") is None
    with pytest.raises(ValueError, match="no heading"):
        provenance.with_record("Text.\n", *[Ingredients("a", "b", "c", "4", "1")] * 2)


# -- models of another version -----------------------------------------------------------------------------------------


def test_an_experiment_refuses_a_model_that_training_would_not_give_again(tmp_path):
    small = {"features.bits": 12, "pruner.bits": 12, "labeler.bits": 12, "network.epochs": 0, "tagger.epochs": 0}
    config = Config().with_overrides(small | {"parts": "arc", "training.epochs": 1, "segmenter.epochs": 0})
    model = train(toy.sentences(20), config)
    path = tmp_path / "danish-grandparent.nonproj"
    model.save(path)
    setting.check_model(path, 0.0, model.config)
    options = model.config.with_overrides({"training.epochs": 99})
    with pytest.raises(ModelError, match="the options of its training are not today's; remove it"):
        setting.check_model(path, 0.0, options)
    model.meta["learning"] = LEARNING - 1
    model.save(tmp_path / "old.nonproj")
    with pytest.raises(ModelError, match="the version of learning"):
        setting.check_model(tmp_path / "old.nonproj", 0.0, model.config)


# -- making pages again ------------------------------------------------------------------------------------------------


def test_a_page_is_stale_as_a_whole_or_in_part(monkeypatch, tmp_path):
    page, _, of = SECTIONS["text"]
    (tmp_path / page).parent.mkdir(parents=True)
    for module in (program, provenance):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "sections", lambda: SECTIONS)
    monkeypatch.setattr(program, "NAMES", ("text",))
    now = of()
    for made, rest, stale in ((now, "", False), (now, text.NOTE, True), (now._replace(learning="1"), "", True)):
        (tmp_path / page).write_text(provenance.with_record(f"# Text\n\n{rest}\n", made, now), encoding="utf-8")
        assert program.parse_arguments(["--stale"]).names == ["text"] * stale
