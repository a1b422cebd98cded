"""The papers' experiments on small data: they run, they resume, and their numbers obey the laws that they must."""

import random
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")


from nonproj.errors import ModelError  # noqa: E402
from nonproj.evaluation.calibration import Outcomes  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from research.experiments import __main__ as program  # noqa: E402
from research.experiments import confidence, runner, store, table2, text  # noqa: E402
from research.experiments.setting import RANDOM, ExperimentSettings, development, treebank  # noqa: E402


def scrambled(count: int, seed: int) -> str:
    """Return short sentences with random trees: parsers trained on them find decoding hard."""
    chance, text = random.Random(seed), ""
    for _ in range(count):
        n = chance.randint(6, 10)
        order = chance.sample(range(1, n + 1), n)
        head = {word: chance.choice([0, *order[:i]]) if i else 0 for i, word in enumerate(order)}
        for i, form in enumerate(chance.choices("abcdefgh", k=n), 1):
            text += f"{i}\t{form}\t{form}\t{form.upper()}\t{form.upper()}\t_\t{head[i]}\t{chance.choice('xy')}\t_\t_\n"
        text += "\n"
    return text


SMALL = """
features: {bits: 14}
pruner: {bits: 14, epochs: 1, folds: 0}
training: {epochs: 2}
labeler: {epochs: 0, bits: 12}
network: {epochs: 0}
decoding: {threshold: 0.0001}
"""


@pytest.fixture(scope="module", autouse=True)
def smaller():
    """Random problems with fewer words: their laws hold at any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table2, "WORDS", 7)
        yield


@pytest.fixture(scope="module")
def setting(tmp_path_factory, smaller) -> ExperimentSettings:
    """Run all experiments once, on two languages that cannot be learnt."""
    folder = tmp_path_factory.mktemp("experiments")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    files = {}
    for seed, language in enumerate(("danish", "english")):
        files[language] = folder / f"{language}-train.conll", folder / f"{language}-test.conll"
        for path, count, number in zip(files[language], (30, 9), (seed, seed + 10), strict=True):
            path.write_text(scrambled(count, number), encoding="utf-8")
    setting = ExperimentSettings(
        folder / "results",
        folder / "models",
        files=files,
        languages=tuple(files),
        sentences=8,
        program_sentences=4,
        program_words=8,
        iterations=60,
        instances=4,
        config=folder / "small.yaml",
    )
    runner.run_all(setting, list(runner.EXPERIMENTS))
    return setting


def rows_of(setting: ExperimentSettings, name: str) -> list[store.Row]:
    """Return the stored rows of an experiment."""
    return store.read_rows(setting.results / f"{name}.csv")


def grouped(rows: list[store.Row], *names: str) -> dict[tuple, list[store.Row]]:
    """Group rows by some of their columns."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the content of every file in a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_names_all_tables_and_figures(setting):
    page = (setting.results / "README.md").read_text(encoding="utf-8")
    for name, experiment in runner.EXPERIMENTS.items():
        assert f"## {experiment.TITLE}\n" in page
        covered = list(dict.fromkeys(row["language"] for row in rows_of(setting, name) if row["language"] != RANDOM))
        assert "danish" in covered
        assert f"[{name}.csv]({name}.csv), {', '.join(covered).title()}.\n" in page
        assert runner.NOTES[name].strip() in page
        assert runner.PAPERS[name]["source"] in page
    for link in re.findall(r"\]\(([^)]*)\)", page):
        assert (setting.results / link).stat().st_size > 100, link
    assert {path.name for path in setting.results.glob("*.png")} == set(re.findall(r"\((\w+\.png)\)", page))


# -- resuming ----------------------------------------------------------------------------------------------------------


def test_an_interrupted_run_leaves_complete_files_and_resumes(setting, monkeypatch, tmp_path):
    other = replace(setting, results=tmp_path / "results")
    experiment, calls = runner.EXPERIMENTS["iterations"], []
    real = experiment.run

    def stopping(*unit):
        calls.append(unit[1:])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*unit)

    monkeypatch.setattr(experiment, "run", stopping)
    options = SimpleNamespace(setting=other, names=["iterations"], chosen=())
    monkeypatch.setattr(program, "parse_arguments", lambda _: options)
    units = experiment.units(other)
    assert program.main([]) == 130
    assert [path.name for path in contents(other.results)] == sorted(
        runner.unit_file(other, "iterations", unit).name for unit in units[:2]
    )
    assert program.main([]) == 0
    assert calls == [*units[:3], *units[2:]]
    assert (other.results / "iterations.csv").read_bytes() == (setting.results / "iterations.csv").read_bytes()


def test_unit_files_depend_on_sizes_models_and_sentences(setting, tmp_path):
    unit = ("danish", "sibling")
    name = runner.unit_file(setting, "table1", unit)
    assert runner.unit_file(replace(setting, sentences=7), "table1", unit) != name
    assert runner.unit_file(replace(setting, program_words=7), "table1", unit) == name
    english = {"danish": setting.files["english"]}
    assert runner.unit_file(replace(setting, files=english), "table1", unit) != name
    for file in ("danish-arc.nonproj", "danish-sibling.nonproj"):
        shutil.copy(setting.models / file, tmp_path)
    moved = replace(setting, models=tmp_path)
    assert runner.unit_file(moved, "table1", unit) == name
    model = Model.load(tmp_path / "danish-sibling.nonproj")
    model.weights["parser"][0] += 1
    model.save(tmp_path / "danish-sibling.nonproj")
    assert runner.unit_file(moved, "table1", unit) != name
    shutil.copy(tmp_path / "danish-arc.nonproj", tmp_path / "danish-sibling.nonproj")
    with pytest.raises(ModelError, match="the options of its training are not today's"):
        runner.unit_file(moved, "table1", unit)


# -- laws --------------------------------------------------------------------------------------------------------------


def test_shares_of_sentences_sum_to_one(setting):
    groups = grouped(rows_of(setting, "iterations"), "language", "parts", "rule")
    assert len(groups) == 8
    for rows in groups.values():
        assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-6)
        edges = [(row["low"], row["high"]) for row in rows]
        assert edges[0][0] == 1
        assert all(high + 1 == low for (_, high), (low, _) in pairwise(edges))


def test_linear_programs_bound_the_optimum_in_order(setting):
    groups = grouped(rows_of(setting, "table2"), "language", "parts")
    assert len(groups) == 6
    for (language, parts), rows in groups.items():
        bound = {row["method"]: row["bound"] for row in rows}
        score = {row["method"]: row["score"] for row in rows}
        exact = score["ILP"]
        slack = 1e-5 * (1 + abs(exact))
        assert bound["ILP"] == pytest.approx(exact, abs=slack)
        for method in table2.METHODS:
            assert score[method] <= exact + slack <= bound[method] + 2 * slack, (language, parts, method)
        for tight, loose in (
            ("LP(M)", "LP(S)"),
            ("compact", "LP(M)"),
            ("LP(M)", "LP(M) pairs"),
            ("LP(S)", "LP(S) pairs"),
            ("compact", "DD-5000"),
            ("DD-5000", "DD-250"),
        ):
            assert bound[tight] <= bound[loose] + slack, (language, parts, tight, loose)
        if language == RANDOM:
            assert bound["LP(S) pairs"] > bound["LP(S)"] > exact + slack, "random problems are not that easy"
        else:
            assert all(0 < row["uas"] <= 1 for row in rows)


def test_best_bounds_are_monotone(setting):
    rows = rows_of(setting, "progress")
    groups = grouped(rows, "rule")
    assert len(groups) == 6
    assert max(map(len, groups.values())) > 5
    for course in groups.values():
        dual, primal = ([row[name] for row in course] for name in ("best_dual", "best_primal"))
        assert all(later <= earlier for earlier, later in pairwise(dual))
        assert all(later >= earlier for earlier, later in pairwise(primal))
        assert all(low <= high + 1e-6 * (1 + abs(high)) for low, high in zip(primal, dual, strict=True))
        assert [row["iteration"] for row in course] == list(range(1, len(course) + 1))
    assert len({row["step"] for row in groups[("constant 0.1",)][:-1]}) == 1


def test_lazy_decoding_starts_with_all_automata(setting):
    groups = grouped(rows_of(setting, "figure3"), "language", "parts")
    assert len(groups) == 4
    for course in groups.values():
        assert (course[0]["iteration"], course[0]["running"], course[0]["recomputed"]) == (1, setting.sentences, 1)
        assert all(0 <= row["recomputed"] <= 1 for row in course)
        assert course[-1]["recomputed"] < 1, "by then some heads are settled"
        assert all(later["running"] <= earlier["running"] for earlier, later in pairwise(course))


def test_certificates_grow_with_the_limit(setting):
    groups = grouped(rows_of(setting, "figure4"), "language", "parts", "rule")
    assert len(groups) == 8
    for course in groups.values():
        assert (course[-1]["K"], course[-1]["match"]) == (setting.iterations, 1)
        for name in ("agreed", "certified", "iterations"):
            assert all(later[name] >= earlier[name] for earlier, later in pairwise(course))
        assert all(row["agreed"] <= row["match"] + 1e-9 for row in course), "an agreed tree is the last word"


def test_automata_converge_to_the_trees(setting):
    groups = grouped(rows_of(setting, "automata"), "language")
    assert len(groups) == 2
    for rows in groups.values():
        up = [row for row in rows if row["what"] == "z grandparent"]
        trees = [row for row in rows if row["what"] == "y"]
        assert len(up) == 1
        assert len(trees) == 9
        for row in (*up, *trees):  # one head for each word
            assert row["precision"] == row["recall"]
        for row in rows:
            assert 0 < row["precision"] <= 1
        of_siblings = [row for row in rows if (row["parts"], row["what"]) == ("sibling", "z")]
        assert of_siblings[0]["recall"] == pytest.approx(of_siblings[1]["recall"], abs=0.1), "z* is nearly z(1)"


def test_price_and_cut_finds_the_same_optimum_with_fewer_parts(setting):
    rows = rows_of(setting, "pricing")
    brute, priced = (next(row for row in rows if row["method"] == name) for name in ("brute force", "price and cut"))
    assert (brute["scored"], brute["added"], priced["same"]) == (1, 1, 1)
    assert priced["objective"] == pytest.approx(1.0, abs=1e-5)
    assert 0 < priced["added"] <= priced["scored"] < 1
    bound = {row["method"]: row["bound"] for row in rows if row["part"] == "families"}
    slack = 1e-5 * (1 + abs(bound["all"]))
    assert bound["all"] == pytest.approx(bound["all, not implied"], abs=slack)
    assert bound["all"] <= min(bound["ArcGP + GPArc"], bound["OneGP + NoGP"]) + slack


# -- the command line and make -----------------------------------------------------------------------------------------


def test_the_command_line(capsys, monkeypatch):
    options = program.parse_arguments(["--short", "--languages", "danish", "table2"])
    setting = options.setting
    assert (options.chosen, options.names) == (("danish",), ["table2"]) and setting.sentences == 12
    assert setting.models.parent == setting.results == ROOT / "research" / "results" / "short"
    options = program.parse_arguments([])
    assert (options.setting.sentences, options.setting.iterations) == (0, 5000)
    assert options.names == list(runner.EXPERIMENTS)
    for words, message in (
        (["table9"], "unknown experiment table9; choose from text, "),
        (["--languages", "klingon"], "unknown language klingon; choose from danish, "),
        (["text", "--languages", "basque"], "unknown language basque; choose from afrikaans, "),
    ):
        with pytest.raises(SystemExit):
            program.parse_arguments(words)
        assert message in capsys.readouterr().err
    seen = []
    monkeypatch.setattr(text, "measure", lambda _, languages: seen.append(languages))
    for words in ([], ["--languages", "wolof"], ["--languages", "all"]):
        assert program.main(["text", *words]) == 0
    assert seen == [text.LANGUAGES, ("wolof",), text.ALL]


def test_confidence_keeps_the_figures_of_other_treebanks(setting, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    judged = {name: Outcomes(rng.random(500), rng.random(500) < 0.7) for name in ("heads", "labels", "trees")}
    monkeypatch.setattr(confidence, "_judge", lambda *_: judged)
    files = {"turkish": setting.files["english"], "danish": setting.files["danish"]}
    other = replace(setting, results=tmp_path, models=tmp_path / "models", files=files)
    for language in ("danish", "turkish"):
        confidence.measure(other, [language])
    rows = store.read_rows(tmp_path / confidence.FILE)
    assert [row["language"] for row in rows] == ["turkish"] * 9 + ["danish"] * 9
    page = (tmp_path / "confidence.md").read_text(encoding="utf-8")
    assert f"| Danish | gold tags | heads | 500 | {100 * judged['heads'].right.mean():.2f} |" in page
    assert (tmp_path / "confidence.png").stat().st_size > 1000


def test_the_development_file_is_the_third_one_that_is_fetched(setting, monkeypatch):
    """For a treebank in ``files``, it is the test file."""
    language = next(iter(setting.files))
    assert development(setting, language) == setting.files[language][1]
    fetched = SimpleNamespace(returncode=0, stdout="a-train.conllu\na-test.conllu\na-dev.conllu\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: fetched)
    assert development(setting, "a") == Path("a-dev.conllu")
    assert treebank(setting, "a") == (Path("a-train.conllu"), Path("a-test.conllu"))
    fetched.stdout = "a-train.conllu\na-test.conllu\n"
    with pytest.raises(SystemExit, match="a has no development file"):
        development(setting, "a")
