"""Restarts with sockets passed by a service manager, and reloaded models, without a lost request."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from command import ROOT, heed, processor_seconds, start, wait_until
from serving import DATA, GOLDEN, Stream, nonsense, put, reload, said, serving

from nonproj.cli.main import main
from nonproj.errors import ConfigError
from nonproj.server import systemd
from nonproj.server.systemd import FIRST_DESCRIPTOR, notify, passed_sockets

PASSING = 'export LISTEN_PID=$$ LISTEN_FDS="$1"; shift; exec "$@"'


# -- passed sockets ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def started(path: Path, sockets: list[socket.socket], **variables: str) -> Iterator[subprocess.Popen]:
    """A server to which sockets are passed, as systemd does."""

    def arrange() -> None:
        heed()
        copies = [os.dup(each.fileno()) for each in sockets]
        high = [os.dup2(copy, 100 + number) for number, copy in enumerate(copies)]
        for number, copy in enumerate(high):
            os.dup2(copy, FIRST_DESCRIPTOR + number)

    inherited = [FIRST_DESCRIPTOR + number for number in range(len(sockets))]
    command = ["sh", "-c", PASSING, "sh", str(len(sockets))]
    command += [sys.executable, "-m", "nonproj", "serve", str(path), "--port", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    options = {"preexec_fn": arrange, "pass_fds": inherited, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen, beginning: str) -> str:
    """The next line with this beginning that a server writes; the later ones are read in the background."""
    line = next(line for line in iter(process.stderr.readline, "") if line.startswith(beginning))
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return line


@pytest.mark.thorough
def test_a_restart_with_a_passed_socket_loses_no_request(path, other):
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with Stream(url) as stream:
            for model in (GOLDEN, other, GOLDEN):
                put(model, path)
                with started(path, [listener]) as process:
                    assert wait_for_line(process, "serving") == f"serving toy at {url}/\n"
                    stream.wait_for(10)
                    process.terminate()
                    assert process.wait(60) == 0
            with started(path, [listener]):
                stream.wait_for(10)
                stream.end()
    assert len(set(stream.answers)) == 2 and all(answer.startswith("{") for answer in stream.answers)


PASSED = [
    ("LISTEN_PID", "x", "'x' is not a process ID"),
    ("LISTEN_FDS", "two", "'two' is not a number of sockets"),
    ("LISTEN_FDS", "-1", "'-1' is not a number of sockets"),
    ("LISTEN_FDS", "1", "descriptor {} is not a listening socket; the socket unit needs Accept=no"),
]


@pytest.mark.parametrize(("variable", "value", "message"), PASSED)
def test_what_cannot_be_served_is_refused_in_one_line(variable, value, message, path, monkeypatch, capsys):
    with socket.socket() as unconnected:
        monkeypatch.setattr(systemd, "FIRST_DESCRIPTOR", unconnected.fileno())
        for name, given in {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", variable: value}.items():
            monkeypatch.setenv(name, given)
        assert main(["serve", str(path), "--port", "1"]) == 2
        assert capsys.readouterr().err == f"nonproj: {variable}: {message.format(unconnected.fileno())}\n"


def test_variables_for_another_process_are_ignored():
    environment = {"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a", "HOME": "b"}
    assert passed_sockets(environment) == []
    assert environment == {"HOME": "b"}
    with pytest.raises(ConfigError, match=r"^LISTEN_FDS: descriptor \d+ is not a (stream )?socket"):
        passed_sockets({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "99999"})


# -- notifications -----------------------------------------------------------------------------------------------------


def test_a_service_manager_passes_several_sockets_and_is_told_what_the_server_does(path, tmp_path):
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        socket.socket(socket.AF_UNIX) as unix,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with started(path, [listener, unix], NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
            line = wait_for_line(process, "serving")
            assert line == f"serving toy at {url}/ and unix:{tmp_path / 'socket'}\n"
            assert manager.recv(1000) == b"READY=1\nSTATUS=serving toy"
            with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "socket")), timeout=60) as client:
                answer = client.post("http://localhost/process", data=DATA)
                refused = client.post("http://example.org/process", data=DATA)
            assert (answer.status_code, answer.text) == (200, httpx.post(f"{url}/process", data=DATA, timeout=60).text)
            assert refused.status_code == 421
            process.send_signal(signal.SIGHUP)
            fields = dict(line.split("=", 1) for line in manager.recv(1000).decode().splitlines())
            assert fields["RELOADING"] == "1"
            assert 0 <= time.monotonic_ns() // 1000 - int(fields["MONOTONIC_USEC"]) < 60e6
            assert manager.recv(1000) == b"READY=1\nSTATUS=serving toy"
            path.write_bytes(b"")
            process.send_signal(signal.SIGHUP)
            assert manager.recv(1000).startswith(b"RELOADING=1\n")
            assert manager.recv(1000).startswith(b"READY=1\nSTATUS=reloading failed: ")
            process.terminate()
            assert manager.recv(1000).startswith(b"STOPPING=1\n")
            assert process.wait(60) == 0 and processor_seconds(process.pid) == float("inf")
    assert (tmp_path / "socket").exists(), "it belongs to the service manager"


def test_a_missing_service_manager_is_no_error_and_an_abstract_address_is_found(monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "none"))
    with caplog.at_level("WARNING", "nonproj"):
        notify("READY=1")
    assert "cannot notify the service manager" in caplog.text
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{tmp_path}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{tmp_path}")
        notify("READY=1")
        assert manager.recv(100) == b"READY=1"


# -- reloading ---------------------------------------------------------------------------------------------------------


def test_a_reload_changes_the_answers_and_loses_none(path, other):
    with serving(path, "--jobs", "2") as server, Stream(server.url) as stream:
        stream.wait_for(10)
        workers = server.workers
        put(other, path)
        stream.wait_for(10)
        before = len(stream.answers)
        server.process.send_signal(signal.SIGHUP)
        while not said(server, "serving the reloaded toy"):
            state = server.get("/health")
            assert (state.status_code, state.json()["status"]) == (200, "ok")
        wait_until(lambda: not server.workers & workers, messages=server.messages)
        stream.wait_for(10)
        assert server.metrics()['nonproj_reloads_total{result="succeeded"}'] == 1
    old, new = stream.answers[0], stream.answers[-1]
    assert old.startswith("{") and new.startswith("{") and "second" in new and "second" not in old
    assert set(stream.answers) == {old, new}
    assert set(stream.answers[:before]) == {old}, "the file alone changes nothing"


@pytest.mark.thorough
def test_a_broken_model_leaves_the_old_one_serving(path, other):
    with serving(path) as server, Stream(server.url) as stream:
        for broken in (b"", GOLDEN.read_bytes()[:5000], b"nonsense" * 1000, None):
            path.unlink(missing_ok=True)
            if broken is not None:
                path.write_bytes(broken)
            reload(server, "reloading failed")
            assert server.get("/health").status_code == 200
            stream.wait_for(4)
        assert len(set(stream.answers)) == 1
        lines = [message for message in server.messages if "reloading failed" in message]
        assert all(f"still serving the models loaded before: {path}: " in line for line in lines)
        assert not said(server, "Traceback")
        put(other, path)
        reload(server)
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
        wait_until(lambda: "second" in stream.answers[-1], messages=server.messages)
        assert said(server, "reloading toy") <= 3, "what is wanted during a reload is one reload"
        stream.end()
        server.process.send_signal(signal.SIGHUP)
        assert server.stop() == 0 and server.messages[-1] == "stopped\n" and not said(server, "Traceback")
    assert len(set(stream.answers)) == 2


@pytest.mark.thorough
def test_a_new_worker_that_dies_leaves_the_old_ones(path, other):
    with serving(path, "--jobs", "2") as server, Stream(server.url) as stream:
        old = server.workers
        put(other, path)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.workers - old, messages=server.messages)
        for pid in server.workers - old:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: said(server, "reloading failed"), messages=server.messages)
        assert said(server, "still serving the models loaded before: a worker process died while loading the models")
        stream.wait_for(10)
        wait_until(lambda: server.workers == old, messages=server.messages)
    assert len(set(stream.answers)) == 1


@pytest.mark.thorough
def test_a_signal_during_the_start_is_obeyed_when_the_server_is_ready(path):
    with start("serve", str(path), "--port", "0", text=True) as process:
        assert process.stderr.readline() == "loading toy ...\n"
        process.send_signal(signal.SIGHUP)
        lines = {process.stderr.readline().split(" at ")[0].strip() for _ in range(3)}
        process.terminate()
        rest = process.communicate()[1]  # to its end: the server's last message needs an open pipe
    assert lines == {"reloading toy ...", "serving the reloaded toy", "serving toy"}
    assert process.returncode == 0 and rest.endswith("stopped\n")


@pytest.mark.thorough
def test_memory_does_not_grow_with_reloads(path):
    """Neither processes nor open files, nor copies of models remain."""
    with serving(path) as server:

        def taken() -> tuple[int, int]:
            reload(server)
            wait_until(lambda: len(server.workers) == 1, messages=server.messages)
            pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
            return len(os.listdir(f"/proc/{server.process.pid}/fd")), pages * os.sysconf("SC_PAGE_SIZE")

        first = [taken() for _ in range(3)][-1]
        last = [taken() for _ in range(8)][-1]
        wait_until(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) <= first[0], messages=server.messages)
    assert last[1] < first[1] + 8 * GOLDEN.stat().st_size


@pytest.mark.thorough
def test_a_closed_terminal_stops_the_server(path):
    controller, terminal = os.openpty()

    def take_terminal() -> None:
        heed()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    streams = {"stdin": terminal, "stdout": terminal, "text": True}
    with start("serve", str(path), "--port", "0", preexec_fn=take_terminal, **streams) as process:
        os.close(terminal)
        assert any(line.startswith("serving") for line in iter(process.stderr.readline, ""))
        os.close(controller)
        assert process.stderr.read().endswith("stopped\n")
    assert process.returncode == 0


@pytest.mark.thorough
def test_a_long_request_is_finished_by_the_old_model(path, other):
    long = DATA | {"data": "\n".join(nonsense(400, seed) for seed in range(12))}
    with serving(path, "--timeout", "120") as server:
        found = []
        thread = threading.Thread(target=lambda: found.append(server.parse(long, timeout=200)))
        thread.start()
        wait_until(lambda: server.metrics()['nonproj_workers{state="busy"}'])
        put(other, path)
        reload(server)
        thread.join()
        assert found[0].status_code == 200
        assert "second" not in found[0].text
        assert "second" in server.parse().text
