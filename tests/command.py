"""The command line in a separate process, and the processes of a group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "--epochs", "2", "-qq"]


def start(*words: str, **options) -> subprocess.Popen:
    """Start the command in a separate session, with the signals of a terminal."""
    command, environment = [sys.executable, "-m", "nonproj", *words], os.environ | {"PYTHONPATH": str(ROOT)}
    options = {"start_new_session": True, "stderr": subprocess.PIPE, "preexec_fn": heed} | options
    return subprocess.Popen(command, env=environment, **options)


def heed() -> None:
    """Heed signals that are ignored where tests run in the background."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def run(*words: str, **options) -> subprocess.CompletedProcess:
    """Run the command to its end."""
    command, environment = [sys.executable, "-m", "nonproj", *words], os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def wait_until(condition, process: subprocess.Popen) -> None:
    """Wait until a running process has done something."""
    deadline = time.monotonic() + 150
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_work(process: subprocess.Popen, seconds: float) -> None:
    """Wait until a process has used this much more processor time, however busy the machine is, or has ended."""
    before = processor_seconds(process.pid)
    while process.poll() is None and processor_seconds(process.pid) - before < seconds:
        time.sleep(0.01)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used; infinite if it has ended."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
    except OSError:
        return float("inf")
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def slowdown() -> float:
    """Return how many times longer than alone a process takes just now, at least 1: limits of time are multiplied."""
    wall, own = time.monotonic(), time.thread_time()
    while time.thread_time() - own < 0.2:
        pass
    return max(1.0, (time.monotonic() - wall) / (time.thread_time() - own))


def running(group: int) -> list[str]:
    """The processes of a group that have not ended, whether or not somebody has taken note of their end."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(") ")[2].split()[:3]
            states += [path.parent.name] * (int(its_group) == group and state != "Z")
    return states


def die_once(marker: str) -> str:
    """Kill the process that runs this, the first time."""
    if os.path.exists(marker):
        return "alive"
    Path(marker).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "dead"
