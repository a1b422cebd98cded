"""Runs the command line in forked processes: importing takes seconds, forking milliseconds."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from research.attack.campaign import BreachError
from research.attack.properties import check_message, require

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_errors: dict[int, int] = {}
"""The read end of each forked process's standard error."""


class Ended(NamedTuple):
    """Result of a command: its exit code, negative for a signal; its output; and seconds."""

    code: int
    output: bytes
    error: str
    seconds: float


def call(words: list[str], folder: Path, before: Callable[[], object] | None = None, **options) -> Ended:
    """Run a command line to its end.

    Parameters
    ----------
    words : list of str
        The arguments.
    folder : Path
        Folder in which it runs.
    before : callable, optional
        Called in the new process first.
    **options
        ``signals``, a list of pairs of a delay in seconds and a signal to send after it; ``limit``, the seconds after
        which the process is killed, which is a breach; ``output``, a path in place of the file for standard output.
    """
    return wait(start(words, folder, before, options.pop("output", None)), folder, **options)


def start(words: list[str], folder: Path, before: Callable[[], object] | None = None, output: str | None = None) -> int:
    """Start a command line in a forked process that leads a session; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()  # not a file: the size of files may be limited
    pid = os.fork()
    if pid:
        os.close(writer)
        os.set_blocking(reader, False)
        _errors[pid] = reader
        return pid
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        flags = os.O_WRONLY | (0 if output else os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(output or folder.parent / "stdout", flags, 0o666), 1)
        os.dup2(writer, 2)
        os.close(writer)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = _run(words, before)
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def _run(words: list[str], before: Callable[[], object] | None) -> int:
    """Run the command as a new interpreter does, and return its exit code."""
    from nonproj.cli.main import main

    sys.argv = ["nonproj", *words]
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    if before:
        before()
    try:
        code = main()
    except SystemExit as error:
        code = error.code
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    return code if isinstance(code, int) else int(code is not None)


def wait(pid: int, folder: Path, signals: list[tuple[float, int]] | None = None, limit: float = 120.0) -> Ended:
    """Send signals to a process, and wait for its end; see `call`."""
    began = time.monotonic()
    for delay, number in signals or []:
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    pause = 0.0005
    while not (found := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() - began > limit:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise BreachError(f"no end after {limit:.0f} s: {_said(_errors.pop(pid))}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    seconds = time.monotonic() - began
    error = _said(_errors.pop(pid))
    path = folder.parent / "stdout"
    return Ended(os.waitstatus_to_exitcode(found[1]), path.read_bytes() if path.exists() else b"", error, seconds)


def _said(reader: int) -> str:
    """Return the standard error of a process, up to the capacity of a pipe."""
    data = b""
    with open(reader, "rb", buffering=0) as stream:
        while block := stream.read(1 << 16):
            data += block
    return data.decode("utf-8", "replace")


def check_error(ended: Ended, code: int = 2) -> None:
    """Check that a command ended with this code and one line on standard error."""
    require(ended.code == code, f"exit code {ended.code}, {code} expected: {ended.error[-1500:]}")
    lines = ended.error.splitlines()
    require(len(lines) == 1 and ended.error.endswith("\n"), f"{len(lines)} lines of error: {ended.error[-1500:]}")
    check_message(lines[0], "nonproj")


def descendants(session: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = path.read_text().rpartition(") ")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


def check_gone(session: int, seconds: float = 5.0) -> None:
    """Check that no process of a session remains after some seconds; remaining ones are killed."""
    deadline = time.monotonic() + seconds
    while (left := descendants(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    require(not left, f"{len(left)} processes are left behind")
