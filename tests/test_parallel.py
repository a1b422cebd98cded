"""Parallel work by local processes and by the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from toy import treebank

from nonproj.cli.main import main
from nonproj.errors import ClusterError, ModelError, NonprojError
from nonproj.evaluation.certificates import TextOptions
from nonproj.io import splitting
from nonproj.model import Model
from nonproj.workers import parsing, pool

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "--epochs", "2", "-qq"]
WORD = "1\tRegn\t_\tN\tNC\t_\t0\tROOT\t_\t_\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a treebank, a model trained on it, and what one process makes of a file."""
    folder = tmp_path_factory.mktemp("parallel")
    (folder / "train.conll").write_text(treebank(30), encoding="utf-8")
    text = treebank(90, seed=1)
    (folder / "in.conll").write_text("\n\n" + text.replace("\n\n", "\n\n\n \n", 5) + "\n \n", encoding="utf-8")
    assert main(["train", str(folder / "train.conll"), "-o", str(folder / "toy.nonproj"), *SMALL]) == 0
    words = ["--stats", str(folder / "one.jsonl"), "--stats-comments", "-o", str(folder / "one.conll")]
    assert main(["parse", str(folder / "toy.nonproj"), str(folder / "in.conll"), *words]) == 0
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, with links to those files; files are cut into small pieces."""
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(splitting, "split", functools.partial(splitting.split, size=1500))
    return tmp_path


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


class Immediate:
    """A worker that does what it is told when the result is wanted, and knows how much is under way."""

    size = 2

    def __init__(self):
        self.under_way = self.most = 0

    def submit(self, function, *arguments):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        return self

    def done(self):
        return False

    def result(self, future, function, arguments):
        self.under_way -= 1
        return function(*arguments)


# -- the order ---------------------------------------------------------------------------------------------------------


def test_results_are_in_order_and_few_calls_are_pending():
    workers = Immediate()
    assert list(pool.in_order(workers, pow, ((n, 2) for n in range(100)))) == [n * n for n in range(100)]
    assert workers.most == pool.AHEAD * workers.size


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_an_error_of_the_tasks_follows_the_results_before_it(count):
    def tasks():
        yield from ((n,) for n in range(count))
        raise NonprojError("broken")

    seen = []
    with pytest.raises(NonprojError, match="broken"):
        for result in pool.in_order(Immediate(), abs, tasks()):
            seen.append(result)  # noqa: PERF402 (what came before the error counts)
    assert seen == list(range(count))


def test_processes_run_in_parallel_and_return_errors():
    with pool.Processes(2) as workers:
        pids = set(pool.in_order(workers, _slow_pid, ((0.05,) for _ in range(12))))
        with pytest.raises(ZeroDivisionError):
            list(pool.in_order(workers, divmod, [(1, 1), (1, 0)]))
    assert len(pids) == 2
    assert os.getpid() not in pids


def _slow_pid(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def test_a_dead_process_is_reported_in_one_line():
    with pytest.raises(ClusterError, match="a worker process died"), pool.Processes(2) as workers:
        list(pool.in_order(workers, os._exit, [(1,), (1,)]))


# -- processes ---------------------------------------------------------------------------------------------------------


def test_processes_write_what_one_process_writes(here, capsys):
    words = ["parse", "toy.nonproj", str(here / "in.conll"), "--jobs", "2", "--stats", "two.jsonl", "--stats-comments"]
    assert main([*words, "-o", "two.conll"]) == 0
    assert Path("two.conll").read_bytes() == Path("one.conll").read_bytes()
    ours, theirs = (
        [json.loads(line) for line in Path(name).read_text().splitlines()] for name in ("two.jsonl", "one.jsonl")
    )
    assert len(ours) == 90
    for one, other in zip(ours, theirs, strict=True):
        assert Path(one.pop("path")).name == Path(other.pop("path")).name
        assert one == other


def test_processes_evaluate_as_one_process_does(here, capsys):
    figures = []
    for words in ([], ["--jobs", "2"]):
        assert main(["evaluate", "-m", "toy.nonproj", "in.conll", "--json", *words]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    assert all(figure.pop("speed")["words_per_second"] > 0 for figure in figures)
    assert figures[0] == figures[1]
    assert figures[0]["sentences"] == 90


def test_processes_report_the_same_error(here, capsys, monkeypatch):
    """In a late piece, after which there are others; the file that is written is not left behind."""
    text = treebank(60)
    lines = text.split("\n")
    lines.insert(next(n for n in range(200, 400) if not lines[n]), "1\tto\tfew")
    Path("bad.conll").write_text("\n".join(lines), encoding="utf-8")
    errors, before = [], set(here.iterdir())
    for words in ([], ["--jobs", "2"]):
        assert main(["parse", "toy.nonproj", "bad.conll", "-o", "out.conll", *words]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert "3 columns, 10 expected" in errors[0]
    assert set(here.iterdir()) == before


def test_sentences_before_an_error_are_written(here, monkeypatch, capsysbinary):
    """To a pipe, from a pipe or a file, by one process or by two."""
    data = Path("in.conll").read_bytes() + b"1\ta\n\n"
    Path("bad.conll").write_bytes(data)
    outputs = []
    for words in (["-"], ["-", "--jobs", "2"], ["bad.conll"], ["bad.conll", "--jobs", "2"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(["parse", "toy.nonproj", *words]) == 2
        outputs.append(capsysbinary.readouterr())
    assert outputs[0] == outputs[1]
    assert outputs[2] == outputs[3]
    assert outputs[0].out == outputs[2].out
    assert outputs[0].out.count(b"\n1\t") == 90


@pytest.mark.parametrize("number", ["0", "-2", "two", "1.5", "100000"])
def test_the_number_of_processes_is_validated(number, capsys):
    with pytest.raises(SystemExit) as left:
        main(["parse", "m", "a", f"--jobs={number}"])
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert f"{number} is not a number from 1 to 1024, or -1" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "a", "b", "--jobs", "2"], "--jobs applies to parsing and needs --model"),
        (["parse", "m", "a", "--jobs", "2", "--scheduler", "tcp://a:1"], "not allowed with"),
    ],
)
def test_worker_options_exclude_each_other_and_need_a_model(words, message, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err


def test_interrupted_processes_end_without_a_traceback(folder, tmp_path):
    """As in a terminal, where the interrupt reaches the workers too."""
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    source = tmp_path / "long.conll"
    source.write_text(treebank(30_000), encoding="utf-8")
    words = ["parse", str(folder / "toy.nonproj"), str(source), "-o", str(tmp_path / "out"), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "nonproj", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        preexec_fn=heed,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if any(path.stat().st_size for path in tmp_path.glob(".nonproj-*")):
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"nonproj: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["long.conll"]
    while running(process.pid):
        assert time.monotonic() < deadline, "workers are left"
        time.sleep(0.05)


def running(group: int) -> list[str]:
    """The processes of a group that have not ended, whether or not somebody has taken note of their end."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(") ")[2].split()[:3]
            states += [path.parent.name] * (int(its_group) == group and state != "Z")
    return states


# -- the model of a worker ---------------------------------------------------------------------------------------------


def test_a_worker_loads_a_model_once_and_rejects_a_different_one(folder, tmp_path):
    path = tmp_path / "a.nonproj"
    path.write_bytes((folder / "toy.nonproj").read_bytes())
    decoding = Model.load(path).config.decoding
    reference = parsing.ModelRef.of(path, decoding)
    parser, new = parsing.parser_of(reference)
    assert new
    assert parsing.parser_of(parsing.ModelRef.of(path, decoding)) == (parser, False)
    other = Model.load(path, mmap=False)
    other.weights["parser"][7] += 1
    other.save(path)
    changed = parsing.ModelRef.of(path, decoding)
    fresh, new = parsing.parser_of(changed)
    assert new
    assert fresh.model.weights["parser"][7] == parser.model.weights["parser"][7] + 1
    with pytest.raises(ModelError, match="a different model on the worker .*; all workers must see the same file"):
        parsing.parser_of(reference)
    path.unlink()
    parsing.parser_of(changed)
    with pytest.raises(ModelError, match="a.nonproj: no such file on the worker .* shared filesystem"):
        parsing.parser_of(reference)


# -- a cluster ---------------------------------------------------------------------------------------------------------


def test_a_cluster_writes_what_one_process_writes(here, cluster, capsys):
    words = ["parse", "toy.nonproj", "in.conll", "--scheduler", cluster.scheduler_address]
    assert main([*words, "--stats-comments", "-o", "two.conll"]) == 0
    assert Path("two.conll").read_bytes() == Path("one.conll").read_bytes()
    Path("bad.conll").write_text(treebank(60) + "1\ta\n\n", encoding="utf-8")
    errors = []
    for extra in ([], words[3:]):
        assert main(["parse", "toy.nonproj", "bad.conll", "-o", "no.conll", *extra]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert not Path("no.conll").exists()


def test_the_sentences_of_a_killed_worker_are_parsed_by_another(here, cluster):
    """It is killed as soon as the first sentence is there, with its queue full."""
    reference = parsing.ModelRef.of("toy.nonproj", Model.load("toy.nonproj").config.decoding)
    stream = io.StringIO(newline="")
    with pool.Cluster(cluster.scheduler_address) as workers:
        workers.client.wait_for_workers(2, timeout=100)
        pids = workers.client.run(os.getpid)
        assert len(pids) == 2
        done = parsing.parse_text(workers, reference, "in.conll", stream, TextOptions(comments=True))
        count = len([next(done)])
        os.kill(min(pids.values()), signal.SIGKILL)
        count += sum(1 for _ in done)
    assert count == 90
    assert stream.getvalue().encode() == Path("one.conll").read_bytes()


def test_a_call_that_the_scheduler_gives_up_is_resubmitted(cluster, tmp_path):
    with pool.Cluster(cluster.scheduler_address) as workers:
        workers.client.run_on_scheduler(_allow, 0)
        try:
            marker = tmp_path / "died"
            assert list(pool.in_order(workers, _die_once, [(str(marker),)])) == ["alive"]
            assert marker.exists()
        finally:
            workers.client.run_on_scheduler(_allow, 3)


def _allow(failures: int, dask_scheduler=None) -> None:
    """Tell a scheduler after how many deaths it gives a call up."""
    dask_scheduler.allowed_failures = failures


def _die_once(marker: str) -> str:
    """Kill the process that runs this, the first time."""
    if os.path.exists(marker):
        return "alive"
    Path(marker).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "dead"


def test_workers_with_a_different_version(here, cluster, capsys, monkeypatch):
    monkeypatch.setattr(pool, "__version__", "99.0")
    assert main(["parse", "toy.nonproj", "in.conll", "-o", "no", "--scheduler", cluster.scheduler_address]) == 2
    error = capsys.readouterr().err
    assert "; scheduler and workers need nonproj 99.0, as on this machine\n" in error
    assert error.count("\n") == 1


def test_unreachable_scheduler(here, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(pool, "_PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:1", "nowhere://a"):
        assert main(["parse", "toy.nonproj", "in.conll", "-o", "no", "--scheduler", address]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"nonproj: {address}: no Dask scheduler answers (")
        assert error.count("\n") == 1


def test_without_dask(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["parse", "toy.nonproj", "in.conll", "-o", "no", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "nonproj: Dask is not installed; run: pip install 'nonproj[cluster]'\n"
