"""Lane of writes that fail: each single one, once; a full disk, a limit of file sizes, and read-only folders."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import random
import resource
import shutil
import signal
import subprocess
from pathlib import Path

from research.attack import material
from research.attack.campaign import BreachError, ExhaustedError, Lane, UnavailableError
from research.attack.forked import Ended, call, check_error
from research.attack.properties import require

SCENARIOS = {
    "parse": ["parse", "toy.nonproj", "in.conll", "-o", "out.conll"],
    "parse onto the input": ["parse", "toy.nonproj", "in.conll", "-o", "in.conll"],
    "parse to gzip": ["parse", "toy.nonproj", "in.conll", "-o", "out.conll.gz"],
    "parse to standard output": ["parse", "toy.nonproj", "in.conll"],
    "parse with statistics": ["parse", "toy.nonproj", "in.conll", "-o", "out.conll", "--stats", "stats.json"],
    "evaluate": ["evaluate", "-m", "toy.nonproj", "in.conll", "--json"],
    "train": ["train", "train.conll", "-o", "new.nonproj", *material.SMALL, "--epochs", "2"],
    "resume": ["train", "train.conll", "-o", "old.nonproj", *material.SMALL, "--epochs", "2", "--resume"],
}
"""Commands, run with a fault in each of their operations on files."""

ERRORS = {"ENOSPC": (errno.ENOSPC, 0), "half of it, then ENOSPC": (errno.ENOSPC, 1), "EIO": (errno.EIO, 0)}
"""Failure of an operation: the error, and whether half of the data is written first."""

_SHIM = Path(__file__).with_name("shim.c")


class Writes(Lane):
    """Counts the operations of each command, then lets each fail with each error; then full disks."""

    name = "writes"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.shim = load_shim(folder)
        self.work = folder / "work"
        material.train(folder / "toy.nonproj", "--set", "features.bits=12", sentences=12)
        (folder / "in.conll").write_text(material.toy_treebank(60, 9), encoding="utf-8")
        self._make_checkpoint()
        self.expected: dict[str, dict[str, bytes]] = {}
        self.plan = list(self._operations()) + list(self._disks())
        self.notes = {"operations": dict(self.counts)}

    def _make_checkpoint(self) -> None:
        """Train one epoch, and keep its checkpoint for the scenario that resumes."""
        self._prepare(())
        words = [word if word != "new.nonproj" else "old.nonproj" for word in SCENARIOS["train"]]

        def stop() -> None:
            from nonproj.components.checkpoint import Checkpoint

            finish = Checkpoint._save

            def save(checkpoint, *arguments):
                finish(checkpoint, *arguments)
                if len(arguments) > 3:  # after an epoch, not after a component
                    os._exit(0)

            Checkpoint._save = save

        ended = call(words, self.work, stop)
        path = self.work / "old.nonproj.checkpoint"
        require(ended.code == 0 and path.exists(), f"no checkpoint: {ended.error}")
        shutil.copy(path, self.folder)

    def _prepare(self, names=("old.nonproj.checkpoint",)) -> dict[str, bytes]:
        """Fill the working folder, and return its content."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for name in ("toy.nonproj", "in.conll", "train.conll", *names):
            shutil.copy(self.folder / name, self.work / name)
        return self._content()

    def _content(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.work.iterdir()}

    def _operations(self):
        """Yield each operation of each command with each error."""
        self.counts = {}
        for name, words in SCENARIOS.items():
            self._prepare()
            counter = self.folder / "count"

            def count(counter=counter) -> None:
                self.shim.shim_arm(-1, 0, 0)
                self._at_end(counter)

            ended = call(words, self.work, count, limit=900.0)
            require(ended.code == 0, f"{name} fails unharmed: {ended.error}")
            self.counts[name] = int(counter.read_text())
            self.expected[name] = self._content() | {"<stdout>": ended.output}
            for operation in range(1, self.counts[name] + 1):
                for error in ERRORS:
                    yield functools.partial(self._fail, name, operation, error)

    def _at_end(self, path: Path) -> None:
        """Have the number of operations written to a file at the end of this process."""
        leave = os._exit

        def note(code: int) -> None:
            path.write_text(str(self.shim.shim_count()))
            leave(code)

        os._exit = note

    def _disks(self):
        """Yield full disks of several sizes, limits of file sizes, and folders that cannot be written to."""
        for name in SCENARIOS:
            for kilobytes in (4, 16, 40, 80, 160, 400):
                yield functools.partial(self._full_disk, name, kilobytes)
            for size in (0, 1, 100, 5000, 70_000):
                yield functools.partial(self._size_limit, name, size)
            yield functools.partial(self._read_only, name)
        yield self._full_device

    def case(self, rng: random.Random, number: int) -> str:
        """Run the next case of the plan."""
        if number >= len(self.plan):
            raise ExhaustedError
        chosen = self.plan[number]
        self.current = {"case.txt": repr(getattr(chosen, "args", "full device")).encode()}
        return chosen()

    def _fail(self, name: str, operation: int, error: str) -> str:
        """Let one operation of a command fail."""
        before = self._prepare()
        number, partly = ERRORS[error]
        ended = call(SCENARIOS[name], self.work, lambda: self.shim.shim_arm(operation, number, partly))
        return self._check(name, before, ended)

    def _check(self, name: str, before: dict[str, bytes], ended: Ended) -> str:
        """Check that a command succeeded, or reported that it could not write and left everything unchanged."""
        after, expected = self._content(), self.expected[name]
        hidden = [other for other in after if other.startswith(".")]
        require(not hidden, f"temporary files are left: {hidden}")
        for path in ("toy.nonproj", "train.conll"):
            require(after.get(path) == before.get(path), f"{path} has changed")
        require(ended.code in (0, 2), f"exit code {ended.code}: {ended.error[-1500:]}")
        if ended.code == 0:  # where nothing was lost, such as a permission that is not passed on
            rest = {other for other in expected if other != "<stdout>" and "nonproj" not in other}
            require(all(after.get(other) == expected[other] for other in rest), f"success, but {sorted(after)}")
            require(_same_output(ended.output, expected["<stdout>"], name), "success, but another output")
            require(set(after) == set(expected) - {"<stdout>"}, f"success, but the files are {sorted(after)}")
            return "succeeded all the same"
        check_error(ended)
        for other, data in after.items():
            if "checkpoint" in other or other in ("new.nonproj", "old.nonproj"):
                _check_model(self.work / other)
            else:
                require(data in (before.get(other), expected.get(other)), f"{other} is half-written")
        require(set(before) - set(after) <= {"old.nonproj.checkpoint"}, f"lost: {set(before) - set(after)}")
        require(
            name != "resume" or {"old.nonproj", "old.nonproj.checkpoint"} & set(after), "model and checkpoint are lost"
        )
        return "reported in one line"

    def _full_disk(self, name: str, kilobytes: int) -> str:
        """Run a command on a disk that is almost full."""
        before, files = self._prepare(), self.work.with_name("files")
        shutil.rmtree(files, ignore_errors=True)
        self.work.rename(files)
        self.work.mkdir()
        total = kilobytes + sum(-(-len(data) // 4096) * 4 for data in before.values())
        options = f"size={total}k"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", self.work], capture_output=True, check=False
        )
        if done.returncode:
            return "no right to mount"
        try:
            for path in files.iterdir():
                shutil.copy(path, self.work)
            ended = call(SCENARIOS[name], self.work)
            outcome = self._check(name, before, ended)
        finally:
            subprocess.run(["umount", "-l", self.work], check=True)
        return f"full disk: {outcome}"

    def _size_limit(self, name: str, size: int) -> str:
        """Run a command that may write no file larger than this."""
        before = self._prepare()

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        ended = call(SCENARIOS[name], self.work, limit, output="/dev/null")
        return (
            f"limit of file sizes: {self._check(name, before, ended._replace(output=self.expected[name]['<stdout>']))}"
        )

    def _read_only(self, name: str) -> str:
        """Run a command in a folder of somebody else."""
        if os.geteuid() != 0:
            return "no right to change the user"
        before = self._prepare()
        self.work.chmod(0o755)

        def drop() -> None:
            os.setgid(65534)
            os.setuid(65534)

        self.folder.chmod(0o755)
        ended = call(SCENARIOS[name], self.work, drop)
        return f"read-only folder: {self._check(name, before, ended)}"

    def _full_device(self) -> str:
        """Write parses and reports to a device that is always full."""
        for name in ("parse to standard output", "evaluate"):
            self._prepare()
            check_error(call(SCENARIOS[name], self.work, output="/dev/full"))
        for words in (["-o", "/dev/full"], ["-o", "out.conll", "--stats", "/dev/full"]):
            self._prepare()
            check_error(call(["parse", "toy.nonproj", "in.conll", *words], self.work))
            require(not (self.work / "out.conll").exists(), "out.conll is there without its statistics")
        return "full device: reported in one line"


def _same_output(found: bytes, expected: bytes, name: str) -> bool:
    """Return whether two outputs are equal; reports have times in them."""
    return found == expected or (name == "evaluate" and len(found.splitlines()) == len(expected.splitlines()))


def _check_model(path: Path) -> None:
    from nonproj.errors import ModelError
    from nonproj.model.model import Model

    try:
        Model.load(path, verified=True)
    except ModelError as error:
        raise BreachError(f"{path.name} is damaged: {error}") from None


def load_shim(folder: Path) -> ctypes.CDLL:
    """Return the library that makes operations fail, which must be preloaded; see `preload`."""
    path = os.environ.get("LD_PRELOAD", "")
    if "shim.so" not in path:
        raise UnavailableError("no C compiler, so no write can be made to fail; set CC")
    return ctypes.CDLL(path)


def preload(folder: Path) -> dict[str, str]:
    """Compile the library, and return the environment variables for a process; empty without a compiler."""
    library = folder / "shim.so"
    for compiler in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        with contextlib.suppress(OSError):
            command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(_SHIM), "-ldl"]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return {"LD_PRELOAD": str(library)}
    return {}
