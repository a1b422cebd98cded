"""The fuzzing campaign: a minute of it, and checks that it would find errors."""

import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from attacking import run_cases

ROOT = Path(__file__).resolve().parents[2]

from nonproj.dual.decoding import decode_trusted  # noqa: E402
from nonproj.io import blocks, checks, conll, strings  # noqa: E402
from nonproj.kernels import trust  # noqa: E402
from nonproj.model import model as model_module  # noqa: E402
from nonproj.pipeline import stages  # noqa: E402
from nonproj.types import Decoded  # noqa: E402
from research.attack import campaign, planted, reads, report  # noqa: E402
from research.attack.lanes import LANES, make_lane  # noqa: E402
from research.attack.supervisor import Task, supervise  # noqa: E402


@pytest.fixture(scope="module")
def lanes(tmp_path_factory):
    """Makes lanes, each once."""
    made: dict = {}

    def make(name: str) -> campaign.Lane:
        if name not in made:
            made[name] = make_lane(name, tmp_path_factory.mktemp(name))
        return made[name]

    return make


@pytest.fixture
def open_folder():
    """A folder that other users can enter, unlike those of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as two users")
def test_planted_code_is_not_executed(open_folder, tmp_path):
    results = run_cases(make_lane("cache", open_folder), tmp_path, 40)
    assert not results.failures
    assert set(results.outcomes) == {"the folder is used", "the folder is not used"}
    assert results.notes["planted"] > 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as two users")
@pytest.mark.parametrize("files", [True, False])
def test_planted_code_that_is_executed_is_caught(files, open_folder, monkeypatch, tmp_path):
    """Without the check of folders, each file is still checked; without both, code is executed."""
    monkeypatch.setattr(trust, "check_trusted", lambda *_, **__: None)
    if not files:
        monkeypatch.setattr("nonproj.kernels.cache.check_trusted", lambda *_, **__: None)
    results = run_cases(make_lane("cache", open_folder), tmp_path, 100, failures=1)
    assert bool(results.failures) != files


def test_planted_modules_that_are_imported_are_caught(monkeypatch, tmp_path):
    results = run_cases(make_lane("imports", tmp_path), tmp_path, 1)
    assert not results.failures
    monkeypatch.setattr("nonproj.pipeline.compiling.python", lambda *words: [sys.executable, *words])
    monkeypatch.setattr(planted.Imports, "starts", {"compiling": planted.compile_ahead})
    (failure,) = run_cases(make_lane("imports", tmp_path), tmp_path, 9, failures=1).failures
    assert "was imported from the current folder" in failure["what"]


COUNTS = {"reads": 2000, "parses": 100, "models": 60, "options": 30, "text": 300, "tagger": 40, "segmenter": 50}
COUNTS |= {"network": 60, "confidence": 60, "encoder": 60}
"""Cases of each lane in the tests: together they take less than half a minute."""


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_fails(name, lanes, tmp_path):
    count, limit = COUNTS[name], resource.getrlimit(resource.RLIMIT_AS)
    results = run_cases(lanes(name), tmp_path, count)
    assert resource.getrlimit(resource.RLIMIT_AS) == limit  # that of a lane is for a separate process
    assert not results.failures
    assert results.tried == count
    assert len(results.outcomes) >= 2  # accepted, rejected, and what lies between
    assert min(results.outcomes.values()) < max(results.outcomes.values()) < count


@pytest.mark.parametrize("name", ["kills", "writes"])
def test_faults_do_no_harm(name, tmp_path):
    if name == "writes" and not any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang")):
        pytest.skip("there is no C compiler")
    results = supervise(Task(name, 5, 120.0, tmp_path), 4.0)
    assert not results.failures
    assert results.tried >= 1


# -- what the lanes would find -----------------------------------------------------------------------------------------


def strip_lines(monkeypatch):
    """Blanks at the ends of lines are lost."""
    whole = blocks.checked
    monkeypatch.setattr(blocks, "checked", lambda lines, *a: whole([each.rstrip(" \r\n") + "\n" for each in lines], *a))


def accept_cycles(monkeypatch):
    monkeypatch.setattr(checks, "cycle_of", lambda heads: [])


def keep_stale_dependencies(monkeypatch):
    replace = conll.replace
    monkeypatch.setattr(conll, "replace", lambda *a, deps: replace(*a, deps="keep"))


READERS = [strip_lines, accept_cycles, keep_stale_dependencies]


@pytest.mark.parametrize("break_reader", READERS, ids=lambda function: function.__name__)
def test_a_broken_reader_is_caught(break_reader, monkeypatch, tmp_path):
    break_reader(monkeypatch)
    results = run_cases(reads.Reads(tmp_path), tmp_path, 3000, failures=1)
    assert results.failures
    number = results.failures[0]["case"]
    data = (tmp_path / "failures" / f"reads-5-{number}-input").read_bytes()
    lane = reads.Reads(tmp_path)
    with pytest.raises(Exception):  # noqa: B017 (any exception)
        lane.case(campaign.generator("reads", 5, number), number)
    assert lane.current["input"] == data
    monkeypatch.undo()
    assert lane.case(campaign.generator("reads", 5, number), number)


def low_bound(decoded: Decoded, parts) -> Decoded:
    return decoded._replace(bound=decoded.score - 1e-3)


def false_certificate(decoded: Decoded, parts) -> Decoded:
    """An arbitrary tree is called certified."""
    import numpy as np

    from nonproj.parts.space import tree_score
    from nonproj.trees.arborescence import maximum_arborescence_sparse

    heads = maximum_arborescence_sparse(parts.arcs, np.arange(len(parts.arcs.head), dtype=float), False)
    score = tree_score(parts, false_certificate.scores, heads)
    return decoded._replace(tree=heads, score=score, bound=score, certified=True, agreed=True)


@pytest.mark.parametrize("change", [low_bound, false_certificate], ids=lambda f: f.__name__)
def test_a_broken_decoder_is_caught(change, lanes, monkeypatch, tmp_path):
    def recorded(parts, scores, *options):
        false_certificate.scores = scores
        found = decode_trusted(parts, scores, *options)
        found[0] = change(found[0], parts)
        return found

    lane = lanes("parses")
    monkeypatch.setattr(lane, "parsers", [pair for pair in lane.parsers if pair[1].request.search.search])
    monkeypatch.setattr(stages, "decode_trusted", recorded)
    assert run_cases(lane, tmp_path, 300, failures=1).failures


def test_a_model_that_is_not_validated_is_caught(lanes, monkeypatch, tmp_path):
    monkeypatch.setattr(model_module, "defect_of", lambda *_: None)
    assert len(run_cases(lanes("models"), tmp_path, 300, failures=5).failures) == 5


STRIKE = """
import contextlib, os, time
from research.attack import campaign, reads
import nonproj.io.files

def case(lane, rng, number):
    if number > 20:
        raise campaign.ExhaustedError
    return number == 7 and strike() or "fine"
"""
BROKEN = {
    "crash": STRIKE + "strike = os.abort\nreads.Reads.case = case",
    "hang": STRIKE + "strike = lambda: time.sleep(99)\nreads.Reads.case = case",
    "half-written": STRIKE
    + """
@contextlib.contextmanager
def write(path):
    with open(path, "wb", 0) as stream:
        yield stream

def fail(lane, rng, number, case=__import__("research.attack.writes").attack.writes.Writes.case):
    if number > 20:
        raise campaign.ExhaustedError
    return case(lane, rng, number)

nonproj.io.files.open_binary = write
__import__("research.attack.writes").attack.writes.Writes.case = fail
""",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_of_the_process_is_caught(fault, tmp_path, monkeypatch):
    """Break everything in the process of the lane, when it starts."""
    lane = "writes" if fault == "half-written" else "reads"
    if lane == "writes" and not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    program = (
        f"import sys\nif '--inside' in sys.orig_argv:\n sys.path[:0] = [{str(ROOT)!r}]\n exec({BROKEN[fault]!r})\n"
    )
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    results = supervise(Task(lane, 5, 3.0 if fault == "hang" else 60.0, tmp_path / "out"), 120.0)
    assert results.failures
    if fault in ("crash", "hang"):
        assert [failure["case"] for failure in results.failures] == [7]
        assert results.next == 21  # it went on behind it
    assert fault != "hang" or "no end after 3 s" in results.failures[0]["what"]


def test_a_server_that_fails_is_caught(lanes, monkeypatch, tmp_path):
    """A live server: a few requests of each kind, then one that changes its answers."""
    lane = lanes("server")
    monkeypatch.setattr(lane, "expected", b"another")
    assert "another answer than before" in run_cases(lane, tmp_path, 1).failures[0]["what"]
    monkeypatch.undo()
    results = run_cases(lane, tmp_path, 15)
    assert not results.failures
    assert lane.notes["answers"] > 0
    lane.close()


def test_floods_of_connections_do_no_harm_and_a_server_that_fails_is_caught(tmp_path, monkeypatch):
    pytest.importorskip("uvicorn")
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process can be changed on Linux only")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    from research.attack import floods

    lane = make_lane("floods", tmp_path)
    try:
        assert not run_cases(lane, tmp_path, 4).failures
        assert lane.notes["connections"] > 100
        monkeypatch.setattr(floods, "LINES", -1)
        assert "lines in the log" in run_cases(lane, tmp_path, 1).failures[0]["what"]
    finally:
        lane.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_strings_that_are_not_checked_are_caught(lanes, tmp_path, monkeypatch):
    monkeypatch.setattr(strings, "problem", lambda values, kind: None)
    assert run_cases(lanes("segmenter"), tmp_path, 400, failures=1).failures


def test_text_that_is_not_kept_is_caught(lanes, tmp_path, monkeypatch):
    monkeypatch.setattr("nonproj.text.output.escape", lambda text: text.replace("\r", ""))
    assert run_cases(lanes("text"), tmp_path, 400, failures=1).failures


# -- the page ----------------------------------------------------------------------------------------------------------

RESULTS = [json.loads(path.read_text()) for path in sorted((ROOT / "research" / "attack" / "results").glob("*.json"))]


def test_the_page_shows_the_results():
    text = report.PAGE.read_text(encoding="utf-8")
    assert text == report.page(text, RESULTS)
    assert all(text.count(f"| `{name}` |") == 2 for name in LANES)


def test_the_campaign_reached_its_targets_without_a_failure():
    """The figures of the page are those of finished runs."""
    assert not [failure for result in RESULTS for failure in result["failures"]]
    tried = {name: sum(result["tried"] for result in RESULTS if result["lane"] == name) for name in LANES}
    assert not {name for name, count in tried.items() if count < LANES[name].least}
    assert report.struck(RESULTS) >= LANES["kills"].least


def test_a_campaign_is_continued_and_starts_anew_when_the_sources_change(tmp_path):
    path = campaign.results_path(tmp_path, "reads", 1)
    results = campaign.run(reads.Reads(tmp_path), campaign.Results.load(path, "reads", 1), tmp_path, 0.2)
    assert results.tried == results.next > 10
    assert campaign.Results.load(path, "reads", 1).next == results.next
    path.write_text(path.read_text().replace(results.source, "0" * 12))
    assert campaign.Results.load(path, "reads", 1).next == 0


def test_unavailable_lanes_say_what_they_lack(tmp_path, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    with pytest.raises(campaign.UnavailableError, match="no C compiler"), contextlib.suppress(OSError):
        make_lane("writes", tmp_path)
