"""Parallel work by the workers of a Dask cluster."""

import builtins
import contextlib
import io
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from command import die_once, run, start, wait_until
from toy import treebank

from nonproj import __version__
from nonproj.cli.main import main
from nonproj.errors import ClusterError
from nonproj.evaluation.certificates import TextOptions
from nonproj.model.model import Model
from nonproj.workers import cluster as dask_cluster
from nonproj.workers import parsing, pool
from nonproj.workers.cluster import Cluster
from nonproj.workers.partial import JobLog


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
    with dask_cluster.Cluster(cluster.scheduler_address) as workers:
        workers.client.wait_for_workers(2, timeout=100)
        pids = workers.client.run(os.getpid)
        assert len(pids) == 2
        options = TextOptions(comments=True)
        tasks = ((None, task) for task in parsing.tasks_of("in.conll", options))
        for _, parsed in parsing.parse_tasks(workers, reference, tasks, options):
            if not stream.tell():
                os.kill(min(pids.values()), signal.SIGKILL)
            stream.write(parsed.text)
    assert stream.getvalue().encode() == Path("one.conll").read_bytes()


def test_a_cluster_goes_on_behind_errors_and_resumes(here, cluster, capsys, monkeypatch):
    blocks = Path("in.conll").read_text(encoding="utf-8").split("\n\n")
    blocks[30] = "1\tto\tfew"
    Path("bad.conll").write_bytes("\n\n".join(blocks).replace("hus", "h\u00e5s", 1).encode("latin-1", "replace"))
    words = ["parse", "toy.nonproj", "bad.conll", "--on-error", "skip"]
    assert main([*words, "-o", "calm"]) == 1
    report = capsys.readouterr().err
    words += ["--scheduler", cluster.scheduler_address, "-o"]
    assert main([*words, "out"]) == 1
    assert Path("out").read_bytes() == Path("calm").read_bytes()
    append, kept = JobLog.append, []
    monkeypatch.setattr(JobLog, "append", lambda *args: append(*args) or kept.append(1) or 1 / (len(kept) != 2))
    with pytest.raises(ZeroDivisionError):
        main([*words, "resumed", "--resume"])
    assert main([*words, "resumed", "--resume"]) == 1
    assert Path("resumed").read_bytes() == Path("calm").read_bytes()
    assert capsys.readouterr().err == 2 * report


def test_a_call_that_the_scheduler_gives_up_is_resubmitted(cluster, tmp_path):
    with dask_cluster.Cluster(cluster.scheduler_address) as workers:
        workers.client.run_on_scheduler(_allow, 0)
        try:
            assert list(pool.in_order(workers, die_once, [(str(tmp_path / "died"),)])) == ["alive"]
        finally:
            workers.client.run_on_scheduler(_allow, 3)
    assert (tmp_path / "died").exists()


def _allow(failures: int, dask_scheduler=None) -> None:
    """Tell a scheduler after how many deaths it gives a call up."""
    dask_scheduler.allowed_failures = failures


def test_workers_with_a_different_version(here, cluster, capsys, monkeypatch):
    """Found by each call, too, because workers may join later."""
    message = f" has nonproj {__version__}, this machine has nonproj 99.0; install the same version on all"
    with dask_cluster.Cluster(cluster.scheduler_address) as workers:
        monkeypatch.setattr(dask_cluster, "__version__", "99.0")
        with pytest.raises(ClusterError, match=re.escape(message)):
            list(pool.in_order(workers, pow, [(2, 3)]))
    assert main(["parse", "toy.nonproj", "in.conll", "-o", "no", "--scheduler", cluster.scheduler_address]) == 2
    error = capsys.readouterr().err
    assert error.endswith(f"{message}\n") and error.count("\n") == 1


def test_waiting_for_a_call_is_interrupted_at_once(cluster, tmp_path):
    """One Ctrl-C is enough, however long the call: this one does not end before."""
    looks = itertools.count()

    def heed():
        if next(looks) == 3:
            raise KeyboardInterrupt

    end = tmp_path / "end"
    with dask_cluster.Cluster(cluster.scheduler_address, heed=heed) as workers:
        with pytest.raises(KeyboardInterrupt):
            list(pool.in_order(workers, _wait_for, [(str(end),)]))
        end.touch()


def _wait_for(path: str) -> None:
    """Wait until a file is there."""
    while not os.path.exists(path):
        time.sleep(0.02)


def refusal(address: str, reason: str) -> str:
    """Error where there is no scheduler."""
    return f"nonproj: {address}: no Dask scheduler answers within 0.4 s ({reason})\n"


TLS = "tls:// needs certificates, configured in Dask as distributed.comm.tls"


UNREACHABLE = [
    ("tcp://127.0.0.1:1", "connection refused"),
    pytest.param("tls://127.0.0.1:1", TLS, marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("address", "reason"), UNREACHABLE)
def test_unreachable_scheduler(address, reason, here):
    """In a separate process, because Dask used to hang and to print messages at exit."""
    pytest.importorskip("distributed")
    words = ["parse", "toy.nonproj", "in.conll", "-o", "no", "--scheduler", address, "--scheduler-timeout", "0.4"]
    process = run(*words, timeout=50)
    assert (process.returncode, process.stderr) == (2, refusal(address, reason))


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.0 400 Bad request\r\n\r\n"])
def test_another_kind_of_server_is_recognised(greeting, here, capsys):
    """One waits to be spoken to, as HTTP servers do, another talks."""
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(greeting)

        connections = []
        threading.Thread(target=serve, daemon=True).start()
        words = ["--scheduler", address, "--scheduler-timeout", "0.4"]
        assert main(["parse", "toy.nonproj", "in.conll", "-o", "no", *words]) == 2
        server.shutdown(socket.SHUT_RDWR)
    assert capsys.readouterr().err == refusal(address, "the server at this address is not a scheduler")


@pytest.mark.parametrize("name", ["CommClosedError", "ClosedClientError", "RuntimeError", "CancelledError"])
def test_what_dask_raises_when_something_is_closed_is_a_lost_connection(name):
    client = pytest.importorskip("distributed.client")
    kind = getattr(client, name, None) or getattr(builtins, name, CancelledError)
    cluster = Cluster.__new__(Cluster)
    cluster.address = "tcp://127.0.0.1:1"
    with pytest.raises(ClusterError, match="lost the connection"), cluster._translating():
        raise kind("ConnectionPool is closed")


@pytest.mark.thorough
def test_a_scheduler_that_dies_is_reported_in_one_line(here):
    pytest.importorskip("distributed")
    program = """
import sys
from distributed import LocalCluster
options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
with LocalCluster(protocol="tcp", **options) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""
    Path("long.conll").write_text(treebank(1000) * 30, encoding="utf-8")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", program], **streams) as scheduler:
        address = scheduler.stdout.readline().decode().strip()
        words = ["toy.nonproj", "long.conll", "-o", "out", "--stats", "stats"]
        process = start("parse", *words, "--scheduler", address, "--scheduler-timeout", "3")
        wait_until(temporary_files, process)
        scheduler.kill()
        _, error = process.communicate(timeout=100)
    text = "lost the connection to the scheduler"
    assert (process.returncode, error.decode()) == (2, f"nonproj: {address}: {text}\n")
    assert not temporary_files()


def temporary_files() -> list[Path]:
    """The temporary files here that have been written to."""
    return [path for path in Path().iterdir() if path.name.startswith(".") and path.stat().st_size]
