"""Parallel work by local processes."""

import io
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import tqdm
from command import ENDS, Terminal, die_once, run_python, running, start, wait_until, work_until_end
from instances import seeds
from toy import treebank

from nonproj.cli.main import main
from nonproj.errors import ClusterError, ModelError, NonprojError
from nonproj.model.model import Model
from nonproj.workers import copies, parsing, pool, processes

WORD = "1\tRegn\t_\tN\tNC\t_\t0\tROOT\t_\t_\n"


class Immediate:
    """A worker that runs a call when its result is requested, and counts pending calls."""

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


@pytest.fixture(scope="module")
def workers():
    """Two processes."""
    with processes.Processes(2) as workers:
        yield workers


def test_processes_run_in_parallel_and_return_errors(workers, tmp_path):
    pids = set(pool.in_order(workers, _meet, [(str(tmp_path),)] * 12))
    assert len(pids) == 2 and os.getpid() not in pids
    with pytest.raises(ZeroDivisionError):
        list(pool.in_order(workers, divmod, [(1, 1), (1, 0)]))


def _meet(folder: str) -> int:
    """Wait until another process runs this, too, and return the number of this one."""
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(os.listdir(folder)) < 2:
        assert time.monotonic() < deadline
    return os.getpid()


@pytest.mark.parametrize("deaths", [2, pytest.param(processes.DEATHS, marks=pytest.mark.thorough)])
def test_a_call_that_kills_every_process_is_reported_in_one_line(deaths, monkeypatch):
    monkeypatch.setattr(processes, "DEATHS", deaths)
    message = "one call kills every worker process, perhaps for lack of memory; fewer --jobs need less"
    with pytest.raises(ClusterError, match=message), processes.Processes(2) as workers:
        list(pool.in_order(workers, os._exit, [(1,), (1,)]))


def test_another_process_repeats_the_call_of_a_dead_one(workers, tmp_path):
    tasks = [(str(tmp_path / str(n)),) for n in seeds(6, least=3)]
    assert list(pool.in_order(workers, die_once, tasks)) == ["alive"] * len(tasks)


class Unsendable(Exception):
    """An error that cannot be made again from its arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def _fail() -> None:
    raise Unsendable("lost", "found")


def _make_function():
    return lambda: 1


def test_what_cannot_be_sent_is_an_error_and_not_a_hang(workers):
    for function in (lambda: 1, _make_function):
        with pytest.raises(Exception, match="pickle|local object"):
            list(pool.in_order(workers, function, [()]))
    with pytest.raises(ClusterError, match="Unsendable: lost found"):
        list(pool.in_order(workers, _fail, [()]))
    assert list(pool.in_order(workers, abs, [(-1,)])) == [1]


# -- processes ---------------------------------------------------------------------------------------------------------


def test_processes_write_what_one_process_writes(here, toy_folder, monkeypatch):
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    words = ["parse", "toy.nonproj", str(here / "in.conll"), "--jobs", "2", "--stats", "two.jsonl", "--stats-comments"]
    assert main([*words, "-o", "two.conll"]) == 0
    assert Path("two.conll").read_bytes() == Path("one.conll").read_bytes()
    ours, theirs = Path("two.jsonl").read_text(), Path("one.jsonl").read_text()
    assert ours.replace(str(here), str(toy_folder)) == theirs and theirs.count("\n") == 90


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


def test_a_worker_that_nobody_listens_to_ends_without_a_word():
    code = "from multiprocessing import Pipe; from nonproj.workers.copies import _send\n"
    code += "ours, theirs = Pipe()\ntheirs.close()\n_send(ours, b'reply')\nprint('still here')"
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("", "")


ENDINGS = [
    (signal.SIGKILL, -9, b"", False),  # sent to everyone, it needs no help of ours
    *(pytest.param(*end, everyone, marks=pytest.mark.thorough) for end in ENDS for everyone in (False, True)),
]


@pytest.mark.parametrize(("number", "code", "message", "everyone"), ENDINGS)
def test_processes_end_with_their_parent(toy_folder, tmp_path, number, code, message, everyone):
    """In a terminal, an interrupt reaches the workers too."""
    source = tmp_path / "long.conll"
    source.write_text(treebank(1000) * 30, encoding="utf-8")
    words = ["parse", str(toy_folder / "toy.nonproj"), str(source), "-o", str(tmp_path / "out"), "--jobs", "2"]
    process = start(*words)
    wait_until(lambda: any(path.name.startswith(".") and path.stat().st_size for path in tmp_path.iterdir()), process)
    wait_until(lambda: len(running(process.pid)) == 3, process)
    everybody = running(process.pid)
    (os.killpg if everyone else os.kill)(process.pid, number)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (code, message)
    if number != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir()] == ["long.conll"]
    assert work_until_end(everybody) < 2, "workers went on"
    assert work_until_end(running(process.pid)) < 2, "a worker that was started meanwhile went on"
    assert running(process.pid) == []


# -- forked workers --------------------------------------------------------------------------------------------------


def test_workers_are_copies_of_a_process_that_has_parsed(here, monkeypatch):
    """They find its parser: the model is loaded once, and no new interpreter is started."""
    loaded, load = [], parsing._model
    monkeypatch.setattr(parsing, "_model", lambda reference: loaded.append(os.getpid()) or load(reference))
    monkeypatch.setattr(processes, "WorkerProcess", lambda: pytest.fail("a new interpreter"))
    forked, fork = [], copies.ForkedProcess
    monkeypatch.setattr(copies, "ForkedProcess", lambda work: forked.append(fork(work)) or forked[-1])
    assert main(["parse", "toy.nonproj", "in.conll", "-o", "two.conll", "--stats-comments", "--jobs", "2"]) == 0
    assert (loaded, len(forked)) == ([os.getpid()], 2)
    assert Path("two.conll").read_bytes() == Path("one.conll").read_bytes()
    for process in forked:
        with pytest.raises(ChildProcessError):  # it has ended, and notice was taken
            os.waitpid(process.pid, 0)


def test_a_bar_on_a_terminal_does_not_keep_workers_from_being_copied(here, monkeypatch):
    monkeypatch.setattr(tqdm.tqdm, "monitor", None)
    before, seen = set(threading.enumerate()), []
    monkeypatch.setattr(processes, "can_fork", lambda: seen.append(set(threading.enumerate()) - before) or True)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert main(["parse", "toy.nonproj", "in.conll", "-o", "two.conll", "--jobs", "2"]) == 0
    assert "B/s" in sys.stderr.getvalue()
    (started,) = seen
    assert not [thread.name for thread in started if not thread.name.startswith(pool.OWN_THREADS)]


def test_a_single_piece_needs_no_worker(here, monkeypatch):
    monkeypatch.setattr(processes.Processes, "submit", lambda *_: pytest.fail("a worker"))
    Path("short.conll").write_text(treebank(3), encoding="utf-8")
    assert main(["parse", "toy.nonproj", "short.conll", "-o", "out", "--jobs", "2"]) == 0


def test_a_process_with_foreign_threads_is_not_copied():
    """They may hold locks that nobody releases in the copy."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="foreign")
    thread.start()
    with processes.Processes(2) as workers:
        assert workers.rehearse(abs, -1) == 1
        assert not copies.can_fork()
        assert set(pool.in_order(workers, _command, [()] * 2)) == {b"-P"}
    stop.set()
    thread.join()


def _command() -> bytes:
    """The first argument of the interpreter that runs this."""
    return Path("/proc/self/cmdline").read_bytes().split(b"\0")[1]


def test_copies_keep_no_files_open(tmp_path):
    """Else the lock of a temporary file, or a pipe's end, would outlive the main process."""
    code = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
from nonproj.workers import pool, processes
from test_parallel import _descriptors
kept = open({str(tmp_path / "a")!r}, "w")
with processes.Processes(2) as workers:
    print([workers.rehearse(len, "abc"), *pool.in_order(workers, _descriptors, [()] * 2)])
"""
    assert run_python(code).stdout == "[3, 4, 4]\n"


def _descriptors() -> int:
    """The number of open descriptors besides that of the list: standard input to error, and the socket."""
    return len(os.listdir("/proc/self/fd")) - 1


# -- the model of a worker ---------------------------------------------------------------------------------------------


def test_a_worker_loads_a_model_once_and_rejects_a_different_one(toy_folder, tmp_path):
    path = tmp_path / "a.nonproj"
    path.write_bytes((toy_folder / "toy.nonproj").read_bytes())
    decoding = Model.load(path).config.decoding
    reference = parsing.ModelRef.of(path, decoding)
    parser = parsing.parser_of(reference)
    assert parsing.parser_of(parsing.ModelRef.of(path, decoding)) is parser
    other = Model.load(path, mmap=False)
    other.weights["parser"][7] += 1
    other.save(path)
    changed = parsing.ModelRef.of(path, decoding)
    fresh = parsing.parser_of(changed)
    assert fresh.model.weights["parser"][7] == parser.model.weights["parser"][7] + 1
    with pytest.raises(ModelError, match="a different model on the worker .*; all workers need the same file"):
        parsing.parser_of(reference)
    path.unlink()
    parsing.parser_of(changed)
    with pytest.raises(ModelError, match="a.nonproj: no such file on the worker .* shared filesystem"):
        parsing.parser_of(reference)
