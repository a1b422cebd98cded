"""The decorator of all compiled functions, and the cache folder of the compiled code.

Numba's cache checks the file of a kernel, but not the files of the kernels that it calls or of the constants that it
compiles in, so an edited helper would leave its callers stale (numba issue 1833).  The folder is therefore named by a
digest of every source that a kernel can reach through imports, of the versions involved and of the flags that change
the generated code.  Kernels of another package, made by the same decorators, have a folder of their own, named by its
sources too.  `nonproj.kernels.cache` names the files in it.

A kernel is compiled on first use.  An optional feature, such as projective trees, is selected by an argument that is
None or True, two types, so each specialisation is compiled without the code that it does not use.  A kernel contains
all that it calls, optimised as a whole (`nonproj.kernels.linking`), so a small function costs nothing at run time.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import logging
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import event

from nonproj.kernels.cache import ENDING, KernelCache
from nonproj.kernels.linking import Kernel
from nonproj.kernels.shipped import digest_of, find_shipped
from nonproj.kernels.trust import OTHER_FOLDER, UntrustedError, follow, make_trusted

_config: Any = numba.config  # whose attributes are made from the environment
_P = ParamSpec("_P")
_R = TypeVar("_R")

_PACKAGE = Path(__file__).parents[1]
_FLAGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "NUMBA_OPT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
_DAY = 86400.0
_MAKES_KERNELS = re.compile(rb"\nfrom nonproj\.kernels\.kernel import .*kernel")
_IMPORT = re.compile(rb"\n(?:from|import) (\.*)([\w.]*)(?: import (\([^)]*\)|.*))?")


TEMPORARY = "nonproj-"
"""The beginning of the name of a folder that is removed at exit; the names of others are digests."""


def source_digest(package: Path = _PACKAGE, user: tuple[str, Path] | None = None) -> str:
    """Return a digest of everything that determines the compiled code, 16 hexadecimal digits.

    Parameters
    ----------
    package : Path
        The folder of nonproj.
    user : (str, Path), optional
        Name and folder of another package, whose kernels may call all of nonproj's.
    """
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    digest.update(" ".join(os.environ.get(flag, "") for flag in _FLAGS).encode())
    packages = {"nonproj": package} | (dict([user]) if user else {})
    for name, text in sorted(_kernel_sources(packages).items()):
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()


def _kernel_sources(packages: dict[str, Path]) -> dict[str, bytes]:
    """Return the source of the modules with kernels and of everything they import, directly or not: name to text.

    A regular expression finds imports ten times as fast as a syntax tree.
    """
    texts, inside = {}, {}  # for each module: its text, and the base package of relative imports
    for package, folder in packages.items():
        for path in folder.rglob("*.py"):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            name = ".".join(parts).removesuffix(".__init__")
            texts[name], inside[name] = b"\n" + path.read_bytes(), parts[:-1]
    found = {}
    waiting = [name for name, text in texts.items() if _MAKES_KERNELS.search(text)]
    while waiting:
        name = waiting.pop()
        if name in texts and name not in found:
            found[name] = texts[name]
            for dots, module, names in _IMPORT.findall(texts[name]):
                above = inside[name][: len(inside[name]) + 1 - len(dots)] if dots else ()
                base = ".".join((*above, *filter(None, [module.decode()])))
                waiting += [base, *(f"{base}.{word}" for word in re.findall(r"\w+", names.decode()))]
    return found


def cache_folder(user: tuple[str, Path] | None = None) -> Path | None:
    """Return the folder of compiled code for the current sources; ``NONPROJ_CACHE`` moves its parent.

    With ``user``, as for `source_digest`, the folder of another package's kernels.

    Numba executes the code in it.  So the user's own folder is used only if others could not change what is in it
    (`nonproj.kernels.trust`).  Otherwise, or if it is not writable, a folder among the temporary files is used that
    nobody else can open, or else a new one, removed at exit; None if nothing can be written.
    """
    digest, problem = source_digest(user=user), None
    try:
        folder = make_trusted(own_folder() / digest)
        if os.access(folder, os.W_OK):
            return _used(folder)
    except UntrustedError as error:
        problem = error
    except (OSError, RuntimeError):
        pass
    shared = shared_folder()
    try:
        if _make_private(shared) and _make_private(shared / digest):
            folder, use = _used(shared / digest), f"kept in {shared}"
        else:
            problem = problem or UntrustedError(f"others can write to {shared}", OTHER_FOLDER)
            folder, use = Path(tempfile.mkdtemp(prefix=TEMPORARY)), "not kept"
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
    except OSError:
        return None
    if problem:
        text = "%s, so compiled code is %s; %s"
        logging.getLogger("nonproj").warning(text, problem, use, problem.remedy)
    return folder


def own_folder() -> Path:
    """Return the parent of the user's folders of compiled code, which need not exist.

    Raises
    ------
    RuntimeError
        There is neither ``HOME`` nor a user of this number.
    """
    base = os.environ.get("NONPROJ_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nonproj"


def shared_folder() -> Path:
    """Return the parent of this user's folders among the temporary files, which need not exist."""
    return Path(tempfile.gettempdir()) / f"nonproj-{os.geteuid()}"


def _used(folder: Path) -> Path:
    """Record that a folder is in use, once a day, as the time of its last change; return it."""
    with contextlib.suppress(OSError):
        if time.time() - os.stat(folder).st_mtime > _DAY:
            os.utime(folder)
    return folder


def _make_private(folder: Path) -> bool:
    """Make a folder unless it exists; return whether it is a folder, not a link, that only this user can open."""
    try:
        follow(folder.parent)
    except UntrustedError:  # others may replace it
        return False
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


_FOLDER = cache_folder()

IGNORED = "NONPROJ_OWN_KERNELS"
"""If this environment variable is not empty, every kernel is compiled for the current processor."""


def shipped_digest() -> str:
    """Return the digest that a package of compiled kernels must have to be used (`nonproj.kernels.shipped`)."""
    return digest_of(_kernel_sources({"nonproj": _PACKAGE}).items())


_SHIPPED = find_shipped(partial(_kernel_sources, {"nonproj": _PACKAGE}), (*_FLAGS, IGNORED))


@cache
def _folder_of(package: str) -> Path | None:
    """Return the folder of the compiled code of a package or module by its name, without dots.

    A module outside any package, such as a script, uses the folder of nonproj: a file there is named by the source of
    its own kernel.
    """
    paths = [Path(path) for path in getattr(sys.modules.get(package), "__path__", ())]
    return cache_folder((package, paths[0])) if paths and paths[0] != _PACKAGE else _FOLDER


def kept_in() -> Path | None:
    """Return the folder where this process caches compiled code; None if it caches or compiles none."""
    return None if _config.DISABLE_JIT else _FOLDER


def count_cached() -> int:
    """Return the number of kernels in the cache."""
    return sum(1 for _ in _FOLDER.glob(f"*/*{ENDING}")) if _FOLDER else 0


def is_cached(name: str) -> bool:
    """Return whether a kernel, such as ``score._score_parts``, is in the cache, for any argument types."""
    folders = [each for each in (_FOLDER, _SHIPPED.folder if _SHIPPED else None) if each]
    return any(any(folder.glob(f"*/{name}-*{ENDING}")) for folder in folders)


NOTICE = "nonproj: compiling kernels, once for each version of nonproj; a first parse takes about a minute"
NOTICE_AFTER = 2.0
"""Seconds of compilation after which a process reports it, once, by a warning of the logger ``nonproj.compiling``: on
standard error, unless logging is configured otherwise."""

SILENT = "NONPROJ_SILENT"
"""If not empty, this environment variable suppresses the warning, because another process gives it."""


_log = logging.getLogger("nonproj.compiling")


class _Compiling(event.Listener):
    """Measures and reports the compilation time of this process, and pauses the garbage collector meanwhile.

    Most of numba's objects stay alive, and scanning them repeatedly takes an eighth of the time.  As a context it
    counts the time spent waiting for another process that compiles.
    """

    def __init__(self) -> None:
        self._depth, self._begin, self._seconds, self._collecting = 0, 0.0, 0.0, False
        self._timer: threading.Timer | None = None
        self._told = mmap.mmap(-1, 1)  # which copies of this process share
        self._told[0] = bool(os.environ.get(SILENT))

    @property
    def active(self) -> bool:
        """Whether a kernel is being compiled."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return self._seconds + (time.monotonic() - self._begin if self.active else 0.0)

    def on_start(self, event: object) -> None:
        """Record the start of a compilation, which may be nested in another one."""
        if not self._depth:
            self._begin, self._collecting = time.monotonic(), gc.isenabled()
            gc.disable()
            if not self.told:
                self._timer = threading.Timer(max(NOTICE_AFTER - self._seconds, 0.0), self._tell)
                self._timer.daemon = True
                self._timer.start()
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Record the end of a compilation."""
        self._depth -= 1
        if not self._depth:
            self._seconds += time.monotonic() - self._begin
            if self._timer:
                self._timer.cancel()
            if self._collecting:
                gc.enable()

    @property
    def told(self) -> bool:
        """Whether the user has been told, by this process or a copy of it; if so, nothing more is reported."""
        return bool(self._told[0])

    def silence(self) -> None:
        """Report nothing more, because the user has been told."""
        self._told[0] = True

    def _tell(self) -> None:
        """Report that kernels are being compiled, once."""
        if not self.told:
            self.silence()
            _log.warning(NOTICE)

    @property
    def silent(self) -> bool:
        """Whether reports are off, as for ``--quiet``."""
        return not _log.isEnabledFor(logging.WARNING)

    def __enter__(self) -> None:
        self.on_start(None)

    def __exit__(self, *_: object) -> None:
        self.on_end(None)


compiling = _Compiling()
_register: Callable[[str, event.Listener], None] = event.register
_register("numba:compile", compiling)


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function lazily, without the global interpreter lock, cached on disk.

    Fast mathematics is off: recurrences start at minus infinity, and agreement must be exact.
    """
    if _config.DISABLE_JIT:
        return function
    compiled: Any = Kernel(function)
    folder = _folder_of(function.__module__.partition(".")[0])
    if folder is not None:
        shipped = _SHIPPED if folder == _FOLDER else None
        compiled._cache = KernelCache(function, folder, shipped)  # as `cache=True` does with numba's own class
    typed: Callable[_P, _R] = compiled  # dispatchers have no argument types
    return typed
