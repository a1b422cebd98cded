"""Runs a lane in a separate process and detects crashes and hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from research.attack.campaign import ROOT, Progress, Results, results_path

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_START = 1200.0
"""Seconds that a lane may take to prepare its material."""

_LAST = 5.0
"""Seconds before the end of its time after which a lane begins no case."""

UNAVAILABLE = 75
"""Exit code of a lane that lacks something."""


class Task(NamedTuple):
    """A run of a lane.

    Attributes
    ----------
    name, seed : str and int
        Name and seed of the lane.
    patience : float
        Seconds that a case may take.
    out : Path
        Folder of the results.
    program : str
        The package that ``python -m`` runs.
    """

    name: str
    seed: int
    patience: float
    out: Path
    program: str = "research.attack"


def supervise(task: Task, seconds: float, limit: float = float("inf")) -> Results:
    """Run a lane for some time, starting it again after each crash or hang, which count as failures.

    Parameters
    ----------
    task : Task
    seconds : float
        Time for cases, of each start.
    limit : float
        Time limit, preparations included; a case that runs beyond it is ended and not counted.

    Returns
    -------
    Results
    """
    name, seed, out = task.name, task.seed, task.out
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    path, deadline = results_path(out, name, seed), began + limit
    if not path.exists() or Results.load(path, name, seed).tried == 0:
        Results(name, seed, Results.load(path, name, seed).source).save(path)
    while (left := min(deadline, began + seconds) - time.monotonic()) > 0:
        folder = Path(tempfile.mkdtemp(prefix=f"attack-{name}-", dir=_memory()))
        try:
            died = _attempt(task, left, deadline, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if died is None:
            break
        results = Results.load(path, name, seed)
        number, what = died
        results.failures.append({"case": number, "what": what, "files": []})
        results.tried, results.next = results.tried + 1, max(number + 1, results.next)
        results.save(path)
        if number < 0:  # it cannot even start
            break
    return Results.load(path, name, seed)


def _attempt(task: Task, seconds: float, deadline: float, folder: Path) -> tuple[int, str] | None:
    """Run a lane once; return the number of the case at which it died, and how, or None."""
    name, patience = task.name, task.patience
    words = [task.program, name, "--seconds", f"{seconds:.1f}", "--seed", str(task.seed), "--out", str(task.out)]
    if deadline < float("inf"):  # the last case, and ending, take a moment
        words += ["--until", str(deadline - min(_LAST, 0.1 * seconds))]
    progress = Progress(folder / "progress", new=True)
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    environment = os.environ | _ONE_THREAD | {"PYTHONFAULTHANDLER": "1", "PYTHONPATH": path, "TMPDIR": str(folder)}
    if name == "writes":
        from research.attack.writes import preload

        environment |= preload(folder)
    with open(folder / "error", "wb") as error:
        command = [sys.executable, "-P", "-m", *words, "--inside", str(folder)]
        process = subprocess.Popen(command, env=environment, stderr=error, start_new_session=True)
    hung = late = False
    try:
        while process.poll() is None and not (hung or late):
            time.sleep(0.2)
            number, running = progress.read()
            hung = running > (patience if number >= 0 else _START)
            late = not hung and time.monotonic() > deadline
    finally:
        orderly = process.poll() == 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        left = _end_all(folder)
    if late:
        return None
    if orderly and left:
        return progress.read()[0], f"{left} processes are left behind"
    if process.returncode == 0 and not hung:
        return None
    said = (folder / "error").read_text(encoding="utf-8", errors="replace")[-1500:]
    if process.returncode == UNAVAILABLE:
        sys.stderr.write(said)
        return None
    how = f"no end after {patience:.0f} s" if hung else f"the process ended with {process.returncode}"
    return progress.read()[0], f"{how}\n{said}"


def _end_all(folder: Path) -> int:
    """Kill the remaining processes of a lane, including separate sessions; return their number."""
    mark, killed = f"TMPDIR={folder}\0".encode(), 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes() + b"\0":
                os.kill(int(path.parent.name), signal.SIGKILL)
                killed += 1
    return killed


def _memory() -> str | None:
    """Return a folder in memory, if there is one: nothing that lanes write must last."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
