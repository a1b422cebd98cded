"""Compiled kernels on disk: shared by copies of the same source, safe from writers at the same time and from damage."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nonproj
from nonproj.kernels.cache import ENDING, KernelFiles, uninterrupted

PROGRAM = """
import numpy as np
from nonproj.trees.projective import is_projective
from nonproj.kernels.kernel import compiling
print("ready", flush=True)
input()
print(is_projective(np.array([-1, 0, 1], np.int32)), compiling.seconds > 0)
"""


@pytest.fixture
def copies(tmp_path, monkeypatch) -> list[Path]:
    """Two folders with a copy of the package, as in two environments."""
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path / "cache"))
    folders = [tmp_path / "one", tmp_path / "two" / "site-packages"]
    for number, folder in enumerate(folders):
        shutil.copytree(Path(nonproj.__file__).parent, folder / "nonproj", ignore=shutil.ignore_patterns("__pycache__"))
        for path in folder.rglob("*.py"):
            os.utime(path, (10**9 + number, 10**9 + number))
    return folders


def call(*folders: Path) -> list[tuple[str, ...]]:
    """Output of separate processes that call a kernel of these copies, once all are ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=folder, **pipes) for folder in folders]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * len(folders)
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [tuple(process.communicate(timeout=300)) for process in processes]


def files(tmp_path: Path) -> dict[Path, int]:
    """The files of the cache and when they were written."""
    return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_environments_with_the_same_source_share_their_kernels(copies, tmp_path):
    one, two = copies
    assert call(one) == [("True True\n", "")]
    before = files(tmp_path)
    assert call(two) == [("True False\n", "")]
    assert files(tmp_path) == before
    with open(two / "nonproj" / "trees" / "checks.py", "a", encoding="utf-8") as stream:
        stream.write("# other code\n")
    assert call(two) == [("True True\n", "")]


@pytest.mark.thorough
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_processes_that_compile_at_the_same_time_do_each_other_no_harm(copies, tmp_path):
    outputs = call(*copies)
    assert ("True True\n", "") in outputs
    assert set(outputs) <= {("True True\n", ""), ("True False\n", "")}  # the slower one may find what the other wrote
    kept = files(tmp_path)
    assert {path.suffix for path in kept} == {ENDING}
    assert call(copies[0]) == [("True False\n", "")]
    assert files(tmp_path) == kept


@pytest.fixture
def kernel_files(tmp_path) -> KernelFiles:
    """The files of some function."""
    return KernelFiles(files, tmp_path)


def test_writers_at_the_same_time_lose_nothing(kernel_files):
    together = threading.Barrier(8)

    def write(first: int) -> None:
        together.wait()
        for number in range(first, 200, 8):
            kernel_files.save(("types", number), f"code {number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert [kernel_files.load(("types", number)) for number in range(200)] == [f"code {n}" for n in range(200)]


def test_a_damaged_file_is_written_again(kernel_files, tmp_path):
    kernel_files.save("key", "code")
    (path,) = tmp_path.rglob(f"*{ENDING}")
    whole = path.read_bytes()
    for content in (b"", whole[:-3], b"no pickle"):
        path.write_bytes(content)
        assert kernel_files.load("key") is None
    kernel_files.save("key", "code")
    assert kernel_files.load("key") == "code"


def test_without_space_nothing_is_kept_and_nothing_fails(tmp_path):
    (tmp_path / "file").touch()
    found = KernelFiles(files, tmp_path / "file")
    found.save("key", "code")
    assert found.load("key") is None


INTERRUPTED = """
import signal
from nonproj.parts.arcs import full_arc_space

def interrupt(number, frame):
    raise KeyboardInterrupt

full_arc_space(3)
signal.signal(signal.SIGALRM, interrupt)
for number in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * (number % 100))
        while True:
            full_arc_space(3)
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_ctrl_c_in_a_kernel_is_a_keyboard_interrupt():
    """It was a SystemError, or crashed the process."""
    done = subprocess.run([sys.executable, "-P", "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_delivered_when_code_is_complete():
    """Else an exception in a function that LLVM calls is lost, and a kernel that does nothing is called."""
    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for processes in background
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)
        assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
