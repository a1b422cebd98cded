"""Lanes of planted code: in the cache of compiled kernels, by another user of the machine, and beside the data."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from nonproj.kernels import folders
from nonproj.kernels.cache import ENDING, KernelFiles
from nonproj.pipeline.compiling import helper
from nonproj.workers.processes import Processes
from research.attack.campaign import BreachError, Lane, UnavailableError
from research.attack.properties import require

VICTIM, ATTACKER, GROUP = 61_001, 61_002, 61_003
"""A user, another one, and a group of both."""

VARIABLES = {"NONPROJ_CACHE": "", "XDG_CACHE_HOME": "nonproj", "HOME": ".cache/nonproj", "TMPDIR": ""}
"""Variables that name a folder, and the folder of all compiled code within it; `tempfile` reads the last."""

MODES = (0o755, 0o755, 0o711, 0o775, 0o757, 0o777, 0o1777, 0o1775, 0o2775)

EXECUTED, TALKATIVE, USED, LEFT = 66, 67, 0, 1


class _Code:
    """Ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (EXECUTED,)


class Cache(Lane):
    """Another user plants compiled code before and after a user's first process, in folders of all owners and modes."""

    name = "cache"

    def __init__(self, folder: Path):
        super().__init__(folder)
        if os.geteuid():
            raise UnavailableError("only root can act as two users")
        folder.chmod(0o711)
        self.digest = folders.source_digest()
        files = KernelFiles(_as_user, folder / "made")
        (folder / "made").mkdir(mode=0o700)
        files.save("key", _Code())
        (made,) = (folder / "made").rglob(f"*{ENDING}")
        self.file, self.code = made.relative_to(folder / "made"), made.read_bytes()
        self.notes = {"planted": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Make folders, and let the user start twice, between attempts of the other."""
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "tmp").mkdir()
        (work / "tmp").chmod(0o1777)
        user, variable = rng.choice((0, VICTIM)), rng.choice(list(VARIABLES))
        clean = rng.random() < 0.2  # nobody else can do anything
        named, says = _folders(rng, work, user, clean)
        self.current = {"case.txt": f"{variable}={named}, user {user}:\n{says}\n".encode()}
        target = (
            named / VARIABLES[variable] / (f"nonproj-{user}" if variable == "TMPDIR" else "") / self.digest / self.file
        )
        codes, before, after = [], _can_plant(rng), _can_plant(rng)
        for plant in (before, after):
            _as_user(ATTACKER, lambda plant=plant: plant(work, target, self.code))
            codes.append(_as_user(user, lambda: self._start(variable, named)))
        self.notes["planted"] += target.is_file() and target.read_bytes() == self.code
        require(EXECUTED not in codes, "planted code was executed")
        require(TALKATIVE not in codes, "more than one line about the cache")
        require(set(codes) <= {USED, LEFT}, f"a process ended with {codes}")
        require(not clean or codes == [USED, USED], "a folder that nobody else could write to was not used")
        return "the folder is used" if codes[-1] == USED else "the folder is not used"

    def _start(self, variable: str, named: Path) -> int:
        """Find the cache, load and save a kernel, as a new process does; return whether the named folder is used."""
        said: list[logging.LogRecord] = []
        handler = logging.Handler()
        handler.emit = said.append  # type: ignore[method-assign]
        log = logging.getLogger("nonproj")
        log.addHandler(handler)
        log.propagate = False
        for name in VARIABLES:
            os.environ.pop(name, None)
        tempfile.tempdir = str(named if variable == "TMPDIR" else self.folder / "work" / "tmp")
        os.environ[variable if variable != "TMPDIR" else "NONPROJ_CACHE"] = (
            "/dev/null" if variable == "TMPDIR" else str(named)
        )
        folders.source_digest = lambda user=None: self.digest  # type: ignore[assignment]
        os.umask(0o002)
        folder = folders.cache_folder()
        if folder is not None:
            files = KernelFiles(_as_user, folder)
            files.load("key")
            files.save("key", "code")
            files.load("key")
        used = folder is not None and folder.is_relative_to(os.path.realpath(named)) and folder.name == self.digest
        return TALKATIVE if len(said) > 1 else USED if used else LEFT


def _folders(rng: random.Random, work: Path, user: int, clean: bool) -> tuple[Path, str]:
    """Make folders within each other, some by links; return the last, and a description."""
    place, lines = work, []
    for level in range(rng.randint(1, 4)):
        owner = user if clean else rng.choice((0, user, user, ATTACKER))
        group = rng.choice((GROUP, owner))
        mode = 0o755 if clean else rng.choice(MODES)
        place = place / f"folder{level}"
        if not clean and rng.random() < 0.3:
            (work / f"real{level}").mkdir()
            place.symlink_to(os.path.relpath(work / f"real{level}", place.parent.resolve()))
            os.chown(place, rng.choice((0, user, ATTACKER)), -1, follow_symlinks=False)
        else:
            place.mkdir()
        os.chown(place, owner, group)
        place.chmod(mode)
        lines.append(f"{place}: {mode:o} {owner}:{group}, link of {os.lstat(place).st_uid}")
    return place, "\n".join(lines)


def _can_plant(rng: random.Random) -> Callable[[Path, Path, bytes], int]:
    """Return an attack: replace a folder above the file, if possible; then write the file and its folders."""
    level, replace, link = rng.randrange(8), rng.random() < 0.7, rng.random() < 0.2

    def plant(work: Path, target: Path, code: bytes) -> int:
        os.umask(0)
        above = [path for path in reversed(target.parents) if path.is_relative_to(work) and path != work] + [target]
        if replace:
            with contextlib.suppress(OSError):
                above[level % len(above)].rename(work / "tmp" / f"taken{os.getpid()}")
        with contextlib.suppress(OSError):
            if link:
                (work / "tmp" / "mine").mkdir(exist_ok=True)
                above[level % len(above)].symlink_to(work / "tmp" / "mine")
        with contextlib.suppress(OSError):
            target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            target.write_bytes(code)
            target.chmod(0o644)
        return 0

    return plant


def _as_user(user: int, function: Callable[[], int]) -> int:
    """Return the result of a function, from 0 to 255, in a copy of this process that belongs to a user."""
    pid = os.fork()
    if not pid:
        code = 70
        try:
            os.setgroups([] if user == 0 else [GROUP])
            os.setgid(user)
            os.setuid(user)
            code = function()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# -- beside the data ---------------------------------------------------------------------------------------------------


def compile_ahead(data: Path) -> None:
    """Start the helper that compiles kernels; without a model, it ends when all is imported."""
    with helper("nonproj.pipeline.compiling"):
        pass


def work(data: Path) -> None:
    """Start a worker process that is not forked."""
    with Processes(1) as processes:
        require(processes.submit(pow, 2, 10).result() == 1024, "a worker cannot compute")


STARTS: dict[str, Callable[[Path], None]] = {"compiling": compile_ahead, "processes": work}
"""Functions that start another Python process, by the module that does so."""


def modules() -> list[str]:
    """Return the names of all modules that might be imported, those of this program included."""
    found = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)
    return sorted(found | {"sitecustomize", "usercustomize"})


def plant(data: Path, names: list[str]) -> Path:
    """Write a file for each of these modules; return the path of the file that they write if they are imported."""
    for name in names:
        (data / f"{name}.py").write_text(f"open({str(data / 'mark')!r}, 'w').write(__name__)\n", encoding="utf-8")
    return data / "mark"


class Imports(Lane):
    """Starts each helper in a folder with files that have the names of modules."""

    name, starts = "imports", STARTS

    def case(self, rng: random.Random, number: int) -> str:
        """Start one helper."""
        data, path, before = self.folder / "data", list(sys.path), Path.cwd()
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        name, known = rng.choice(list(self.starts)), modules()
        names = known if rng.random() < 0.5 else rng.sample(known, rng.randint(1, 20))
        mark = plant(data, names)
        self.current = {"case.txt": f"{name}: {' '.join(names)}\n".encode()}
        os.chdir(data)
        sys.path[:] = [*rng.choice(([], [""], ["."], [str(data)])), *path]
        try:
            self.starts[name](data)
        finally:
            sys.path[:] = path
            os.chdir(before)
            if mark.exists():  # whatever happened after that
                raise BreachError(f"{mark.read_text()} was imported from the current folder")
        return name
