"""The command line in a separate process, and the processes of a group."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from runpy import run_module, run_path
from typing import NoReturn

from nonproj.kernels.folders import kept_in

ROOT = Path(__file__).resolve().parents[1]
ENDS = [
    (signal.SIGINT, 130, b"nonproj: interrupted\n"),
    (signal.SIGTERM, 143, b"nonproj: terminated\n"),
    (signal.SIGHUP, 129, b"nonproj: hung up\n"),
]
"""Signals, and exit code and message of a command that one of them ends."""
SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "--epochs", "2", "-qq"]


def kept_kernels() -> dict[str, str]:
    """Return the environment variable by which a process with another home finds what is compiled here, if anything."""
    folder = kept_in()
    return {"NONPROJ_CACHE": str(folder.parent)} if folder else {}


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


def run_python(program: str, *words: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess:
    """Run a Python program, which may import this package, to its successful end in a new interpreter."""
    command, environment = [sys.executable, "-P", "-c", program, *words], os.environ | {"PYTHONPATH": str(ROOT)}
    options = {"cwd": cwd, "env": environment | variables, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


CALL_OF_A_KERNEL = """
import numpy as np
from nonproj.trees.projective import is_projective
from nonproj.kernels.folders import is_cached
from nonproj.kernels.kernel import compiling
print(is_cached("projective.is_projective"), is_projective(np.array([-1, 0, 1], np.int32)), compiling.seconds > 0)
"""


def call_kernel(**variables: str) -> tuple[str, str]:
    """Call a kernel in a new process: whether it was cached, its result, whether it was compiled; and messages."""
    done = run_python(CALL_OF_A_KERNEL, **variables)
    return done.stdout.strip(), done.stderr


def run_copy(program: str, *words: str, **streams) -> subprocess.CompletedProcess:
    """Run a program to its end in a copy of this process, which needs no second to import what is imported already.

    Parameters
    ----------
    program : str
        ``nonproj`` or the path of a Python file.
    *words : str
        The arguments.
    **streams
        ``stdin``, ``stdout`` or ``stderr``: an open file, or None for a closed stream.  By default the first is empty,
        and what is written to the others is returned.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as error, open(os.devnull) as empty:
        files = {"stdin": empty, "stdout": output, "stderr": error} | streams
        pid = os.fork()
        if not pid:
            _become(program, words, list(files.values()))
        _, status = os.waitpid(pid, 0)
        said = [(stream.seek(0), stream.read())[1] for stream in (output, error)]
    return subprocess.CompletedProcess([program, *words], os.waitstatus_to_exitcode(status), *said)


def on_terminal(*words: str) -> str:
    """Output of a command on a terminal, by standard output and standard error."""
    controller, terminal = os.openpty()
    with open(controller, "rb", buffering=0) as shown, open(terminal, "w") as stream:
        run_copy("nonproj", *words, stdout=stream, stderr=stream)
        return shown.read(1 << 16).decode().replace("\r\n", "\n")


def _become(program: str, words: tuple[str, ...], files: list) -> NoReturn:
    """Run a program as a new interpreter does, and end this process."""
    code = 1
    try:
        os.setsid()
        heed()
        _replace_streams(files)
        sys.argv = [program, *words]
        run_program = run_module if program == "nonproj" else run_path
        try:
            run_program(program, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        for stream in (sys.stdout, sys.stderr):
            if stream and not stream.closed:
                stream.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _replace_streams(files: list) -> None:
    """Open the standard streams anew; None is a closed one."""
    kept = [None if file is None else os.dup(file.fileno()) for file in files]
    for number, (name, file) in enumerate(zip(("stdin", "stdout", "stderr"), kept, strict=True)):
        stream = None
        if file is None:
            os.close(number)
        else:
            os.dup2(file, number)
            os.close(file)
            errors = "backslashreplace" if name == "stderr" else "strict"
            stream = open(number, "w" if number else "r", encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)


@contextlib.contextmanager
def changed(path: Path, content: bytes) -> Iterator[None]:
    """Give a file other contents until the context ends."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def enter(folder: Path, files: Path, monkeypatch) -> Path:
    """Change to a folder, with links to the files of another one; return it."""
    for path in files.iterdir():
        (folder / path.name).symlink_to(path)
    monkeypatch.chdir(folder)
    return folder


def wait_until(condition, process: subprocess.Popen | None = None, messages: Sequence[str] = ()) -> None:
    """Wait until something has happened, or a running process has done something."""
    deadline = time.monotonic() + 150
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, messages
        time.sleep(0.02)


def wait_for_work(process: subprocess.Popen, seconds: float) -> None:
    """Wait until a process has used this much more processor time, however busy the machine is, or has ended."""
    before = processor_seconds(process.pid)
    while process.poll() is None and processor_seconds(process.pid) - before < seconds:
        time.sleep(0.01)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used; infinite if it has ended."""
    state = _state(Path(f"/proc/{pid}/stat"))
    return sum(map(int, state[11:13])) / os.sysconf("SC_CLK_TCK") if state else float("inf")


def work_until_end(pids: list[int]) -> float:
    """Wait until processes have ended, and return the processor time that they use until then."""
    deadline, used = time.monotonic() + 150, 0.0
    last = {pid: processor_seconds(pid) for pid in pids}
    while last := {pid: seconds for pid, seconds in last.items() if seconds < float("inf")}:
        assert time.monotonic() < deadline, f"processes are left: {list(last)}"
        time.sleep(0.01)
        now = {pid: processor_seconds(pid) for pid in last}
        used += sum(seconds - last[pid] for pid, seconds in now.items() if seconds < float("inf"))
        last = now
    return used


def running(group: int) -> list[int]:
    """The processes of a group that have not ended, whether or not somebody has taken note of their end."""
    found = ((path, _state(path)) for path in Path("/proc").glob("[0-9]*/stat"))
    return [int(path.parent.name) for path, state in found if state and int(state[2]) == group]


def _state(path: Path) -> list[str]:
    """The entries of /proc/PID/stat behind the name; none if the process has ended."""
    with contextlib.suppress(OSError):
        state = path.read_text().rpartition(") ")[2].split()
        return state if state[0] != "Z" else []
    return []


class Terminal(io.StringIO):
    """A text that is shown on a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def die_once(marker: str) -> str:
    """Kill the process that runs this, the first time."""
    if os.path.exists(marker):
        return "alive"
    Path(marker).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "dead"
