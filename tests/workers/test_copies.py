"""Calls in copies of this process: results, errors, messages; copies that die, and processes that cannot be copied."""

import logging
import os
import signal
import sys
import threading
import time

import pytest
from command import run_python, work_until_end

from nonproj.errors import ClusterError, ConfigError
from nonproj.workers import copies
from nonproj.workers.copies import Copy, run_apart, spread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there are processes copied")


@pytest.fixture(autouse=True)
def forking(monkeypatch):
    """Copy this process, whatever threads other tests have left."""
    monkeypatch.setattr(copies, "can_fork", lambda: True)


def test_a_call_runs_beside_this_process_and_its_result_waits():
    started, found = time.monotonic(), []
    with Copy(lambda: (time.sleep(0.2), found.append(1), os.getpid(), b"1" * (1 << 24))[2:]) as copy:
        assert time.monotonic() - started < 0.2
        time.sleep(0.3)
        pid, large = copy.result()
    assert pid != os.getpid() and len(large) == 1 << 24
    assert found == []  # what a call changes is lost


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_calls_are_spread_over_processes(count):
    made = spread([lambda k=k: (k, os.getpid()) for k in range(7)], count)
    assert [k for k, _ in made] == list(range(7))
    assert made[0][1] == os.getpid() and len({pid for _, pid in made}) == min(count, 7)


def test_errors_are_those_of_the_call():
    class Local(Exception):
        """Cannot be pickled."""

    def fail(error):
        raise error

    with Copy(lambda: 1 // 0) as copy, pytest.raises(ZeroDivisionError):
        copy.result()
    with pytest.raises(ConfigError, match="parts"):
        spread([lambda: 1, lambda: fail(ConfigError("parts", "unknown"))], 2)
    with pytest.raises(ClusterError, match="Local: why"):
        run_apart(lambda: fail(Local("why")))


def test_messages_are_logged_and_standard_error_is_lost(caplog, capfd):
    def call():
        log.info("%d of %s", 3, "four", extra={"component": "tagger"})
        sys.stderr.write("a bar\n")
        sys.stderr.flush()

    log = logging.getLogger("nonproj")
    with caplog.at_level(logging.INFO, "nonproj"), Copy(call) as copy:
        log.info("meanwhile")
        copy.result()
    assert [record.getMessage() for record in caplog.records] == ["meanwhile", "3 of four"]
    assert caplog.records[1].component == "tagger"
    assert "a bar" not in capfd.readouterr().err


def test_the_call_of_a_copy_that_dies_is_made_here(caplog):
    with caplog.at_level(logging.INFO, "nonproj"), Copy(lambda: (time.sleep(0.3), os.getpid())[1]) as copy:
        os.kill(copy._process.pid, signal.SIGKILL)
        assert copy.result() == os.getpid()
    assert "a worker process died" in caplog.text


def test_a_process_that_cannot_be_copied_makes_the_call_itself(monkeypatch):
    monkeypatch.setattr(copies, "can_fork", lambda: False)
    made = []
    with Copy(lambda: made.append(os.getpid())) as copy:
        assert made == []
        copy.result()
    assert made == [os.getpid()]
    monkeypatch.undo()
    thread = threading.Thread(target=(stop := threading.Event()).wait)
    thread.start()
    assert run_apart(os.getpid) == os.getpid()
    stop.set()
    thread.join()


def test_copies_end_with_their_context(monkeypatch):
    forked, fork = [], copies.ForkedProcess
    monkeypatch.setattr(copies, "ForkedProcess", lambda work: forked.append(fork(work)) or forked[-1])
    with pytest.raises(KeyError), Copy(lambda: time.sleep(100)):
        raise KeyError
    with pytest.raises(ZeroDivisionError):
        spread([lambda: 1 // 0, lambda: time.sleep(100)], 2)
    assert len(forked) == 2 and not any(os.path.exists(f"/proc/{process.pid}") for process in forked)


def test_a_copy_ends_with_this_process():
    code = """
import os, time
from nonproj.workers.copies import Copy
print(Copy(lambda: time.sleep(100))._process.pid, flush=True)
os._exit(0)
"""
    assert work_until_end([int(run_python(code).stdout)]) < 2
