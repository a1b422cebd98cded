"""The benchmark: that its stages are the parser's, that its arithmetic is right, and that a small run ends with all
figures."""

from __future__ import annotations

import doctest
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy import treebank

from nonproj.components.trainer import train
from nonproj.io import conll
from nonproj.kernels.interpreters import environment
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from research.benchmarks import (
    arrays,
    bench,
    clock,
    history,
    instructions,
    lengths,
    limits,
    memory,
    processes,
    report,
    stages,
    variants,
    yardsticks,
)
from research.benchmarks.clock import Clock, Seconds, Summary, interleave, summarise

ROOT = Path(__file__).resolve().parents[2]

TINY = bench.Size(repeats=1, processes=1, shared=1, words=100, sentences=20, counted=0, epochs=0)
SMALL = {
    "features.bits": 16,
    "pruner.bits": 14,
    "labeler.bits": 16,
    "training.epochs": 1,
    "pruner.folds": 0,
    "labeler.epochs": 1,
}


@pytest.fixture(scope="module")
def subject(tmp_path_factory) -> bench.Subject:
    """A small model, its treebank, and a file of 80 sentences: more than one batch."""
    folder = tmp_path_factory.mktemp("bench")
    found = bench.Subject(*(folder / name for name in ("toy.nonproj", "train.conll", "test.conll")))
    found.train.write_text(treebank(40), encoding="utf-8")
    found.test.write_text(treebank(80, seed=1), encoding="utf-8")
    train(list(conll.read(found.train)), Config().with_overrides(SMALL)).save(found.model)
    return found


@pytest.fixture(scope="module")
def parser(subject) -> Parser:
    return Parser(Model.load(subject.model))


# -- clock -------------------------------------------------------------------------------------------------------------


def test_subjects_alternate_and_the_first_round_is_not_measured():
    calls = []

    def subject(name, seconds):
        times = iter(seconds)

        def run():
            calls.append(name)
            wall = next(times)
            return {"work": Seconds(wall, wall / 2)}

        return run

    found = interleave({"a": subject("a", [100, 3, 1, 2]), "b": subject("b", [100, 6, 8, 7])}, 3)
    assert calls == ["a", "b"] * 4
    assert found == {
        "a": {"work": Summary(1, 2, 0.5), "all": Summary(1, 2, 0.5)},
        "b": {"work": Summary(6, 7, 3), "all": Summary(6, 7, 3)},
    }


def test_the_total_is_summed_within_each_repeat():
    runs = [{"a": Seconds(1, 1), "b": Seconds(9, 9)}, {"a": Seconds(8, 8), "b": Seconds(4, 4)}]
    assert summarise(runs)["all"] == Summary(10, 11, 10)


def test_a_clock_adds_up():
    clock = Clock()
    assert clock.time("a", sum, [1, 2]) == 3
    once = clock.seconds["a"]
    clock.time("a", sorted, range(100_000))
    assert clock.seconds["a"].wall > once.wall > 0
    assert clock.seconds["a"].cpu > once.cpu


@pytest.mark.parametrize(
    "module", [bench, clock, history, instructions, lengths, memory, report], ids=lambda m: m.__name__
)
def test_examples_in_docstrings(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


# -- stages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"projective": True}, {"single_root": True}, {"exact": False}, {"full": True}])
def test_stages_write_what_the_parser_writes(subject, parser, options, tmp_path):
    parser = Parser(parser.model, replace(parser.model.config.decoding, **options))
    staged, whole = tmp_path / "staged", tmp_path / "whole"
    times, batches = stages.run_stages(parser, subject.test, staged)
    stages.run_whole(parser, subject.test, whole)
    assert staged.read_bytes() == whole.read_bytes()
    assert set(times) == set(stages.STAGES)
    assert [len(batch.sentences) for batch in batches] == [64, 16]


def test_facts_agree_with_the_parses(subject, parser, tmp_path):
    batches = stages.run_stages(parser, subject.test, tmp_path / "out")[1]
    found = stages.facts(batches)
    parses = list(parser.parse_all(conll.read(subject.test)))
    words = sum(len(sentence) for sentence, _ in parses)
    assert found["words"] == words
    assert found["arcs_per_word"] == sum(len(p.arcs.head) for _, p in parses) / words
    assert found["iterations"] == np.mean([p.decoded.iterations for _, p in parses])
    assert 0 < found["recomputed"] <= 1


# -- lengths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.0, 0.41, 1.0, 2.5])
def test_fit_exponent_recovers_a_power_law(power):
    sizes = np.array(lengths.LENGTHS)
    assert lengths.fit_exponent(sizes, 7.5 * sizes**power) == pytest.approx(power)


def test_cut_keeps_words_in_order(subject, tmp_path):
    words = [row[1:6] for sentence in conll.read(subject.test) for row in sentence.rows]
    written = lengths.cut(subject.test, tmp_path / "cut", 20, 130)
    pieces = list(conll.read(tmp_path / "cut"))
    assert written == 120
    assert [len(piece) for piece in pieces] == [20] * 6
    assert [row[1:6] for piece in pieces for row in piece.rows] == words[:120]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_places_are_those_that_the_kernels_look_up(subject, parser):
    """The weights at the places sum to the scores of all parts of a sentence."""
    batch = limits.batches_of(parser, subject.test, 3)[0]
    for number in range(3):
        found = limits.jobs(parser, batch, number, None)
        assert list(found) == ["pairs", "arc", "sibling", "grandparent", "label"]
        for name in ("pairs", "arc", "sibling", "grandparent"):
            weights = parser.model.weights[limits.TABLE_OF[name]].astype(np.int64)
            scores = found[name].call()
            assert scores[np.isfinite(scores)].sum() == weights[found[name].places].sum(), name
            assert len(found[name].places) > found[name].keys > 0
        weights = parser.model.weights["labeler"].astype(np.int64)
        lines = weights[found["label"].places[:, None] + np.arange(limits.LINE)]
        n_labels = len(parser.model.labels)
        assert n_labels <= limits.LINE
        assert found["label"].call().sum() == lines[:, :n_labels].sum()


def test_touched_bytes_are_whole_cache_lines():
    places = [np.array([0, 31, 32], np.uint32), np.array([33, 640], np.uint32)]
    assert limits._touched(places, 2) == 3 * 64


def test_the_ring_visits_all_lines():
    assert memory.pace(1 << 14, repeats=1).dependent > 0
    ring = np.zeros((4, 16), np.uint32)
    ring[:, 0] = [2, 3, 1, 0]
    assert [int(memory._chase(ring, np.uint32(0), np.int64(steps))) for steps in range(5)] == [0, 2, 1, 3, 0]
    table = np.arange(8, dtype=np.int16)
    assert memory._gather(table, np.array([1, 2], np.uint32), np.array([0, 4], np.uint32)) == 1 + 2 + 5 + 6


# -- variants ----------------------------------------------------------------------------------------------------------


def test_pages_and_batches_do_not_change_trees(subject, parser):
    times, counts = variants.measure(parser.model, subject.test, 1)
    assert list(times) == ["as it is", "pruning", "paper", "unsearched", "huge", "small", "sentence"]
    for name in ("huge", "small", "sentence"):
        assert counts[name]["uas"] == counts["as it is"]["uas"]
        assert counts[name]["parts_per_word"] == counts["as it is"]["parts_per_word"]
    assert counts["pruning"]["arcs_per_word"] > counts["as it is"]["arcs_per_word"]


@pytest.mark.parametrize("huge", [True, False])
def test_a_copy_in_other_pages_is_aligned_and_equal(parser, huge):
    copy = variants.in_pages(parser.model, huge).weights
    for name, table in parser.model.weights.items():
        assert copy[name].ctypes.data % (2 << 20) == 0
        assert copy[name].dtype == table.dtype
        assert np.array_equal(copy[name], table)


# -- instructions ------------------------------------------------------------------------------------------------------


def test_callgrind_counts_are_read_in_dump_order(tmp_path):
    for number in (1, 2, 10):
        (tmp_path / f"out.{number}").write_text(f"version: 1\nfn=(1) f\n1 2\ntotals: {number}00\n")
    (tmp_path / "out").write_text("totals: 7\n")
    assert instructions.read_callgrind(tmp_path) == [100, 200, 1000]


def test_counting_without_perf_and_valgrind_is_an_error(monkeypatch):
    monkeypatch.setattr(instructions.shutil, "which", lambda name: None)
    with pytest.raises(instructions.CountError, match="cannot be counted"):
        instructions.counter()


def test_the_counted_process_runs_every_subject(subject):
    command = instructions._command(subject.model, subject.test, 2)
    result = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    words, *names = result.stdout.split()
    assert int(words) == sum(len(s) for _, s in zip(range(2), conll.read(subject.test), strict=False))
    assert names == [*stages.STAGES, *(f"kernel.{name}" for name in ("pairs", "arc", "sibling", "grandparent"))]


# -- yardsticks --------------------------------------------------------------------------------------------------------


def test_a_missing_yardstick_is_reported_in_one_line():
    said = []
    assert yardsticks.load("no_such_parser", said.append) is None
    assert len(said) == 1
    assert "no_such_parser" in said[0]
    assert "\n" not in said[0]


def test_both_arborescence_algorithms_agree():
    module = pytest.importorskip("ufal.chu_liu_edmonds")
    chance, matrices = np.random.default_rng(0), []
    for n_nodes in range(2, 12):
        matrices.append(chance.normal(size=(n_nodes, n_nodes)))
        matrices[-1][:, 0] = -np.inf
        np.fill_diagonal(matrices[-1], -np.inf)
    runs = yardsticks.arborescence_runs(module, matrices)
    assert set(runs) == {"ours", "theirs"}
    assert runs["theirs"]()["whole"].wall > 0


def test_udpipe_parses_the_same_words(subject, tmp_path):
    udpipe = pytest.importorskip("ufal.udpipe")
    few, path = tmp_path / "few.conll", tmp_path / "few.udpipe"
    few.write_text(treebank(3), encoding="utf-8")
    yardsticks.train_udpipe(udpipe, few, path)
    yardsticks.UDPipe(udpipe, path).run(subject.test, tmp_path / "out.conll")
    ours, theirs = conll.read(subject.test), conll.read(tmp_path / "out.conll", require_heads=True)
    assert [s.forms for s in theirs] == [s.forms for s in ours]


def test_a_trained_yardstick_is_found_by_its_treebank(tmp_path):
    one, two = tmp_path / "a.conll", tmp_path / "b" / "a.conll"
    two.parent.mkdir()
    one.write_text("1")
    two.write_text("2")
    assert yardsticks.udpipe_path(tmp_path, one) != yardsticks.udpipe_path(tmp_path, two)


# -- processes ---------------------------------------------------------------------------------------------------------


def test_peak_memory_excludes_the_parent_process():
    """A child process inherits the peak of its parent."""
    held = np.ones(1 << 26)  # 512 MiB
    assert processes.run(["--help"]).peak < held.nbytes / 2**20 / 2


def test_training_is_timed_by_epoch_and_as_a_whole(subject):
    found = processes.train(subject.model, subject.train, 1)
    assert 0 <= found["epoch"] < found["all"] and found["memory"] > 50


def test_a_failed_process_reports_its_error():
    with pytest.raises(RuntimeError, match="there is no file|no such file|No such file"):
        processes.run(["parse", "-m", "nowhere.nonproj"])


# -- history and report ------------------------------------------------------------------------------------------------


def test_the_history_keeps_appended_figures(tmp_path):
    run = history.Run()
    run.add("danish", "arc", "words_per_second", 20000.25, "words/s")
    history.append(tmp_path / "h.csv", run.figures)
    history.append(tmp_path / "h.csv", [run.figures[0]._replace(date="2000-01-01T00:00:00Z", value=1.0)])
    found = history.load(tmp_path / "h.csv")
    assert [figure.value for figure in found] == [20000.2, 1.0]
    assert [figure.date for figure in history.last_run(found)] == [run.figures[0].date]
    assert [figure.value for figure in history.series(found, "words_per_second")["danish arc"]] == [1.0, 20000.2]
    (tmp_path / "h.csv").write_text("date,commit\n")
    with pytest.raises(ValueError, match="first line"):
        history.load(tmp_path / "h.csv")


def test_tables_are_put_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n")
    report.put(page, "new\n")
    report.put(page, "newer\n")
    assert page.read_text() == f"above\n{report.BEGIN}\n\nnewer\n\n{report.END}\nbelow\n"
    page.write_text("no marks")
    with pytest.raises(ValueError, match="are missing"):
        report.put(page, "new\n")


def test_the_page_has_the_marks():
    text = (ROOT / "research" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert text.index(report.BEGIN) < text.index(report.END)


def test_paths_are_triples():
    with pytest.raises(SystemExit, match="triples"):
        bench.subjects_of(["a", "b"])
    with pytest.raises(SystemExit, match="nowhere: no such file"):
        bench.subjects_of([__file__, __file__, "nowhere"])


# -- all of it ---------------------------------------------------------------------------------------------------------


def test_a_small_run_records_all_figures(subject, tmp_path, monkeypatch, capsys):
    few = tmp_path / "few.conll"
    few.write_text("".join(line for s in list(conll.read(subject.test))[:20] for line in s.lines), encoding="utf-8")
    page, csv = tmp_path / "page.md", tmp_path / "history.csv"
    page.write_text(f"{report.BEGIN}\n{report.END}\n")
    monkeypatch.setattr(bench, "SHORT", TINY)
    words = [str(subject.model), str(subject.train), str(few), "--history", str(csv), "--cache", str(tmp_path)]
    bench.main([*words, "--markdown", str(page)])
    figures = {f.measure: f for f in history.load(csv)}
    kernels = ["pairs", *Model.load(subject.model).config.parts, "label"]
    assert kernels == ["pairs", "arc", "sibling", "grandparent", "label"]
    expected = ["words_per_second", "uas", "iterations", "recomputed", "arborescence.cpu", "length.exponent"]
    expected += [f"stage.{name}.cpu" for name in (*stages.STAGES, "all")] + ["peak_memory", "start.help", "start.first"]
    expected += [f"limit.{name}.{field}" for name in kernels for field in limits.Limit._fields]
    expected += [f"memory.{size}.{kind}" for size in memory.SIZES for kind in memory.Pace._fields]
    expected += ["jobs.1", "length.10.decode", "length.20.all"]
    assert not [name for name in expected if name not in figures]
    assert all(np.isfinite(figures[name].value) and figures[name].value >= 0 for name in expected)
    assert figures["words"].value == sum(len(s) for s in conll.read(few))
    assert {(f.treebank, f.model) for f in figures.values()} == {("few", "toy")}
    assert "| toy on few |" in page.read_text(encoding="utf-8")
    history.plot(figures.values(), "words_per_second", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    messages = capsys.readouterr().err
    if yardsticks.load("ufal.udpipe", lambda message: None) is None:
        assert "ufal.udpipe cannot be imported" in messages
        assert "UDPipe is not trained" not in messages
    else:
        assert "UDPipe is not trained on it" in messages


def test_the_benchmark_with_siblings_certifies_what_the_page_says(treebanks):
    lengths = arrays.lengths_for_siblings(str(treebanks / "danish" / "danish_ddt_test.conll"))
    certified = sum(bool(found.certified) for *_, found, _ in arrays.decode_siblings(lengths))
    page = " ".join((ROOT / "research" / "benchmarks" / "decoders.md").read_text("utf-8").split())
    assert f"{len(lengths)} sentences of up to 25 words" in page
    assert f"with {certified} certified trees" in page
