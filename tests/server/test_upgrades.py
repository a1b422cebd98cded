"""Upgrades of a running server: reloaded models, without a lost request."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from command import ROOT, heed, running
from serving import DATA, GOLDEN, HTTP, Stream, put, said, serving, wait_until

get, post = functools.partial(httpx.get, **HTTP), functools.partial(httpx.post, **HTTP)


def answer_of(model: Path) -> str:
    """The answer of a server that has just been started with a model."""
    with serving(model) as server:
        return post(f"{server.url}/process", data=DATA).text


# -- reloading ---------------------------------------------------------------------------------------------------------


def test_a_reload_changes_the_answers_and_loses_none(path, other):
    with serving(path, "--jobs", "2") as server, Stream(server.url) as stream:
        stream.wait_for(20)
        workers = set(running(server.process.pid))
        put(other, path)
        stream.wait_for(20)
        before = len(stream.answers)
        server.process.send_signal(signal.SIGHUP)
        while not said(server, "serving the reloaded toy"):
            state = get(f"{server.url}/health")
            assert (state.status_code, state.json()["status"]) == (200, "ok")
        wait_until(lambda: set(running(server.process.pid)) & workers == {server.process.pid}, server)
        stream.wait_for(20)
        metrics = get(f"{server.url}/metrics").text
    old, new = stream.answers[0], stream.answers[-1]
    assert old.startswith("{") and new.startswith("{")
    assert old != new and "second" in new
    assert set(stream.answers) == {old, new}
    assert set(stream.answers[:before]) == {old}, "the file alone changes nothing"
    assert 'nonproj_reloads_total{result="succeeded"} 1.0' in metrics


@pytest.mark.thorough
def test_a_broken_model_leaves_the_old_one_serving(path, other):
    with serving(path) as server, Stream(server.url) as stream:
        for broken in (b"", GOLDEN.read_bytes()[:5000], b"nonsense" * 1000, None):
            path.unlink(missing_ok=True)
            if broken is not None:
                path.write_bytes(broken)
            failed = said(server, "reloading failed")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda failed=failed: said(server, "reloading failed") > failed, server)
            assert get(f"{server.url}/health").status_code == 200
            stream.wait_for(4)
        assert len(set(stream.answers)) == 1
        lines = [message for message in server.messages if "reloading failed" in message]
        assert all(f"still serving the models loaded before: {path}: " in line for line in lines)
        assert not said(server, "Traceback")
        put(other, path)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: said(server, "serving the reloaded toy"), server)
        stream.wait_for(10)
    assert len(set(stream.answers)) == 2


@pytest.mark.thorough
def test_the_last_of_many_reloads_wins(path, other):
    """Signals at the start and during a reload are not forgotten, and do not add up."""
    with serving(path) as server, Stream(server.url) as stream:
        stream.wait_for(2)
        for number in range(10):
            put(other if number % 2 else GOLDEN, path)
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        wanted = answer_of(other).replace('"other"', '"toy"')
        wait_until(lambda: stream.answers[-1] == wanted, server)
    assert len(set(stream.answers)) == 2
    assert said(server, "reloading toy") <= 3, "what is wanted during a reload is one reload"


@pytest.mark.thorough
def test_a_new_worker_that_dies_leaves_the_old_ones(path, other):
    with serving(path, "--jobs", "2") as server, Stream(server.url) as stream:
        old = set(running(server.process.pid))
        put(other, path)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: set(running(server.process.pid)) - old, server)
        for pid in set(running(server.process.pid)) - old:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: said(server, "reloading failed"), server)
        assert said(server, "still serving the models loaded before: a worker process died while loading the models")
        stream.wait_for(10)
        wait_until(lambda: set(running(server.process.pid)) == old, server)
    assert len(set(stream.answers)) == 1


@pytest.mark.thorough
def test_a_signal_during_the_start_is_obeyed_when_the_server_is_ready(path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nonproj", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=heed) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "loading toy ...\n"
        process.send_signal(signal.SIGHUP)
        lines = [process.stderr.readline() for _ in range(3)]
        process.terminate()
        rest = process.communicate()[1]  # to its end: the server's last message needs an open pipe
    assert sorted(line.split(" at ")[0].strip() for line in lines) == [
        "reloading toy ...",
        "serving the reloaded toy",
        "serving toy",
    ]
    assert process.returncode == 0 and rest.endswith("stopped\n")


@pytest.mark.thorough
def test_memory_does_not_grow_with_reloads(path):
    """Neither processes nor open files, nor copies of models remain."""
    with serving(path) as server:

        def reload() -> tuple[int, int]:
            count = said(server, "serving the reloaded toy")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: said(server, "serving the reloaded toy") > count, server)
            wait_until(lambda: len(running(server.process.pid)) == 2, server)
            pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
            return len(os.listdir(f"/proc/{server.process.pid}/fd")), pages * os.sysconf("SC_PAGE_SIZE")

        first = [reload() for _ in range(3)][-1]
        last = [reload() for _ in range(8)][-1]
        wait_until(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) <= first[0], server)
    assert last[1] < first[1] + 8 * GOLDEN.stat().st_size


@pytest.mark.thorough
def test_a_closed_terminal_stops_the_server(path):
    controller, terminal = os.openpty()

    def take_terminal() -> None:
        heed()
        os.setsid()
        import fcntl
        import termios

        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    command = [sys.executable, "-m", "nonproj", "serve", str(path), "--port", "0"]
    options = {"stdin": terminal, "stdout": terminal, "stderr": subprocess.PIPE, "preexec_fn": take_terminal}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, text=True, **options) as process:
        os.close(terminal)
        assert process.stderr is not None
        assert any(line.startswith("serving") for line in iter(process.stderr.readline, ""))
        os.close(controller)
        assert process.stderr.read().endswith("stopped\n")
    assert process.returncode == 0
