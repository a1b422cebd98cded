"""The program that makes the models of a release, with a treebank that is learnt in a moment."""

import importlib
import re
import sys
import zipfile
from pathlib import Path

import pytest
from toy import treebank

from nonproj.cli.main import main
from nonproj.model.installed import DEFAULT, is_name

ROOT = Path(__file__).resolve().parents[2]
SMALL = "-qq --epochs 1 --set features.bits=16 --set pruner.bits=16 --set labeler.bits=16 --set tagger.epochs=1"
NAMES = ("models", "fetch", "treebanks", "convert_ddt", "convert_nltk", "convert_ud", "universal")


@pytest.fixture
def models(monkeypatch, tmp_path):
    """The program, with separate treebanks."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    module = importlib.import_module("models")
    for name, count, seed in (("train", 30, 0), ("test", 6, 1)):
        (tmp_path / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    treebanks = sys.modules["treebanks"]

    def fetch(language, out, source):
        if language != "turkish":
            raise treebanks.TreebankError("not there")
        return tmp_path / "train.conllu", tmp_path / "test.conllu"

    monkeypatch.setattr(module, "fetch", fetch)
    yield module
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_release_is_made_once_and_described(models, tmp_path, capfd):
    out = tmp_path / "models"
    words = ["turkish-grandparent", "--out", str(out), "--train", SMALL]
    assert models.main(words) == 0
    model = out / "turkish-grandparent.nonproj"
    first = model.stat().st_mtime_ns
    card = (out / "turkish-grandparent.md").read_text(encoding="utf-8")
    assert "| treebank | Turkish Web Treebank 1.0 |" in card and "| licence | Apache 2.0 |" in card
    assert "| language | tr |" in card
    table = (out / "README.md").read_text(encoding="utf-8")
    cells = [cell.strip() for cell in table.splitlines()[-1].strip("|").split("|")]
    assert cells[0] == "[turkish-grandparent.nonproj](turkish-grandparent.md)"
    assert cells[6:8] == ["–", "–"], "these test sentences have no raw text"
    assert float(cells[3]) == pytest.approx(
        float(re.search(r"UAS, without punctuation \| ([\d.]+)", card)[1]), abs=0.005
    )
    assert cells[-1] == f"`{models.sha256(model.read_bytes())}`"
    (wheel,) = (out / "wheels").iterdir()
    assert wheel.name == f"nonproj_model_turkish-{models.__version__}-py3-none-any.whl"
    packed = wheel.stat().st_mtime_ns
    capfd.readouterr()
    assert models.main(words) == 0
    assert "is finished" in capfd.readouterr().err and model.stat().st_mtime_ns == first
    assert wheel.stat().st_mtime_ns == packed
    (tmp_path / "test.conllu").write_text(treebank(7, 2), encoding="utf-8")  # another test file: not finished any more
    assert models.main(words) == 0
    assert model.stat().st_mtime_ns > first and wheel.stat().st_mtime_ns > packed


def test_a_model_from_elsewhere_is_kept_if_it_is_the_same(models, tmp_path, monkeypatch):
    """A model trained by hand gets the name and licence of its treebank; other options make another model."""
    out = tmp_path / "models"
    out.mkdir()
    job = models.Job("turkish-arc", tmp_path / "train.conllu", tmp_path / "test.conllu", out / "turkish-arc.nonproj")
    more = models.shlex.split(SMALL)
    words = models.command(job, more)[4:]
    where = words.index("--set")
    assert [word.partition("=")[0] for word in words[where : where + 4 : 2]] == ["--set", "--set"]
    del words[where : where + 4]  # name and licence
    assert main(words) == 0
    assert models.finished(job, more)
    assert not models.finished(job, [*more, "--seed", "7"])
    assert not models.finished(job, [*more, "--set", "treebank.root=multi"])
    models.complete(job)
    data = models.Model.load(job.output).meta["data"]
    assert (data["name"], data["licence"]) == ("Turkish Web Treebank 1.0", "Apache 2.0")
    written = job.output.stat().st_mtime_ns
    models.complete(job)
    assert models.finished(job, more) and job.output.stat().st_mtime_ns == written
    monkeypatch.setattr(models, "LEARNING", models.LEARNING + 1)
    assert not models.finished(job, more), "the algorithms have changed since"


def test_a_package_that_cannot_be_used_is_removed(models, tmp_path, monkeypatch, capsys):
    words = ["turkish-grandparent", "--out", str(tmp_path / "models"), "--train", SMALL]
    monkeypatch.setattr(models, "contents_of", lambda *_: contents_of(*_)._replace(model=b"damaged"))
    from nonproj.cli.package import contents_of

    assert models.main(words) == 2
    error = capsys.readouterr().err
    assert "turkish-grandparent: " in error and "cannot be used: nonproj: " in error and "not a model" in error
    assert not list((tmp_path / "models" / "wheels").iterdir())
    monkeypatch.undo()


def test_names_of_packages_are_names_and_all_differ(models):
    names = [name for model in models.RELEASE for name, _ in models.packages(model)]
    assert len(set(names)) == len(names) and DEFAULT in names and all(map(is_name, names))


def test_a_treebank_that_cannot_be_had_does_not_stop_the_others(models, tmp_path, capsys):
    assert models.main(["greek-grandparent", "--out", str(tmp_path / "models")]) == 2
    assert capsys.readouterr().err == "models: greek-grandparent: not there\n"
    assert (tmp_path / "models" / "README.md").is_file()


def test_a_treebank_of_universal_dependencies_has_its_facts_and_figures_from_raw_text(models, tmp_path, monkeypatch):
    folder, out = tmp_path / "UD_Faroese-Toy", tmp_path / "models"
    folder.mkdir()
    (folder / "LICENSE.txt").write_text("See http://creativecommons.org/licenses/by-sa/4.0/legalcode", encoding="utf-8")
    paths = tuple(folder / f"fo_toy-ud-{part}.conllu" for part in ("train", "test"))
    for path, count, seed in zip(paths, (30, 6), (0, 1), strict=True):
        path.write_text(with_text(treebank(count, seed)), encoding="utf-8")
    monkeypatch.setattr(models, "fetch", lambda *_: paths)
    words = ["UD_Faroese-Toy-arc", "--out", str(out), "--train", SMALL]
    assert models.main(words) == 0
    card = (out / "UD_Faroese-Toy-arc.md").read_text(encoding="utf-8")
    assert "| treebank | UD Faroese Toy |" in card and "| licence | CC BY-SA 4.0 |" in card
    row = (out / "README.md").read_text(encoding="utf-8").splitlines()[-1].split(" | ")
    assert f"| UPOS | {row[6]} % |" in card and f"| LAS | {row[7]} % |" in card and float(row[7]) > 10
    (wheel,) = (out / "wheels").iterdir()
    assert wheel.name == f"nonproj_model_faroese_toy_arc-{models.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("METADATA"))
        described = archive.read(name).decode()
    assert "| weights | rounded (1" in described and "F1 on its raw text" in described
    lines = paths[1].read_text(encoding="utf-8").split("\n", 1)
    paths[1].write_text(lines[1], encoding="utf-8")  # the first sentence has no text
    assert models.figures_from_raw_text(models.Model.load(out / "UD_Faroese-Toy-arc.nonproj"), paths[1]) == {}


def with_text(blocks: str) -> str:
    """Return sentences with their texts, words separated by blanks."""
    found = []
    for block in blocks.strip("\n").split("\n\n"):
        forms = [line.split("\t")[1] for line in block.split("\n") if line[0] != "#"]
        found.append(f"# text = {' '.join(forms)}\n{block}\n\n")
    return "".join(found)


def test_an_unknown_set_of_part_types_is_refused(models, capsys):
    with pytest.raises(SystemExit):
        models.main(["danish-arcs"])
    assert "unknown model danish-arcs: TREEBANK-PARTS is expected" in capsys.readouterr().err


def test_every_treebank_has_a_title_and_the_release_permits_any_use(models):
    assert all(each.title for each in models.TREEBANKS.values()) and len(models.RELEASE) == 10
    known = [models.TREEBANKS.get(name.rpartition("-")[0]) for name in models.RELEASE]
    assert not any(each and ("NC" in each.licence or "research" in each.licence) for each in known)


def test_the_english_model_of_the_package_is_small_and_the_same_each_time(monkeypatch, tmp_path, capsys):
    """The program rounds any model into one file; its card has the figures of the rounded weights."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    program = importlib.import_module("english")
    for name, count, seed in (("train", 30, 0), ("test", 6, 1)):
        (tmp_path / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    model = tmp_path / "toy.nonproj"
    assert main(["train", str(tmp_path / "train.conllu"), "-o", str(model), *SMALL.split()]) == 0
    words = [str(model), "--test", str(tmp_path / "test.conllu"), "--out", str(tmp_path / "english")]
    assert program.main(words) == 0
    path = tmp_path / "english" / "english.nonproj"
    assert f"{path}: " in capsys.readouterr().out
    first, card = path.read_bytes(), (tmp_path / "english" / "README.md").read_text(encoding="utf-8")
    assert len(first) < model.stat().st_size / 3 and card.startswith("# english") and "| UAS" in card
    made = program.Model.load(path, verified=True)
    assert made.meta["rounding"] == program.ROUNDING and made.meta["test"]["uas"] > 0.5
    assert program.main(words) == 0 and path.read_bytes() == first
    monkeypatch.setattr(program, "LARGEST", 1000)
    assert program.main(words) == 2
    assert "1000 allowed; round by more" in capsys.readouterr().err
    for name in (*NAMES, "english"):
        sys.modules.pop(name, None)
