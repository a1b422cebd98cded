"""Runs a lane in a process of its own and notices when that crashes or hangs."""

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

from attack.campaign import Progress, Results, results_path

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_START = 1200.0
"""Seconds that a lane may take to prepare its material."""

UNAVAILABLE = 75
"""Exit code of a lane that lacks something."""


def supervise(name: str, seed: int, seconds: float, out: Path, patience: float, load: int) -> Results:
    """Run a lane for some time, starting it again after each crash or hang, which count as failures.

    Parameters
    ----------
    name, seed : str and int
        Of the lane.
    seconds : float
    out : Path
        Folder of the results.
    patience : float
        Seconds that a case may take.
    load : int
        Words of the lane of load.

    Returns
    -------
    Results
    """
    out.mkdir(parents=True, exist_ok=True)
    path, deadline = results_path(out, name, seed), time.monotonic() + seconds
    if not path.exists() or Results.load(path, name, seed).tried == 0:
        Results(name, seed, Results.load(path, name, seed).source).save(path)
    while (left := deadline - time.monotonic()) > 0:
        folder = Path(tempfile.mkdtemp(prefix=f"attack-{name}-", dir=_memory()))
        try:
            died = _attempt(name, seed, left, out, folder, patience, load)
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


def _attempt(name, seed, seconds, out, folder, patience, load) -> tuple[int, str] | None:
    """Run a lane once; return the number of the case at which it died, and how, or None."""
    words = ["attack", name, "--seconds", f"{seconds:.1f}", "--seed", str(seed), "--out", str(out)]
    words += ["--words", str(load)] if name == "load" else []
    progress = Progress(folder / "progress", new=True)
    environment = os.environ | _ONE_THREAD | {"PYTHONFAULTHANDLER": "1", "TMPDIR": str(folder)}
    if name == "writes":
        from attack.writes import preload

        environment |= preload(folder)
    with open(folder / "error", "wb") as error:
        command = [sys.executable, "-m", *words, "--inside", str(folder)]
        process = subprocess.Popen(command, env=environment, stderr=error, start_new_session=True)
    hung = False
    try:
        while process.poll() is None:
            time.sleep(0.2)
            number, running = progress.read()
            if running > (patience if number >= 0 else _START):
                hung = True
                break
    finally:
        orderly = process.poll() == 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        left = _end_all(folder)
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
    """Kill what a lane has started and not ended, sessions of their own included; return how many that were."""
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
