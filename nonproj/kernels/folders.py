"""The folder of compiled code, named by everything that the code depends on besides the processor.

Numba's cache checks the file of a kernel, but not the files of the kernels that it calls or of the constants that it
compiles in, so an edited helper would leave its callers stale (numba issue 1833).  The name is therefore a digest of
every source that a kernel can reach through imports, of the versions involved and of numba's settings.  Kernels of
another package, made by the same decorators, have a folder of their own, named by its sources too.
`nonproj.kernels.cache` names the files in it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np

from nonproj.kernels.settings import code_settings
from nonproj.kernels.shipped import find_shipped
from nonproj.kernels.trust import OTHER_FOLDER, UntrustedError, follow, make_trusted

_config: Any = numba.config  # whose attributes are made from the environment
_PACKAGE = Path(__file__).parents[1]
_DAY = 86400.0
_MAKES_KERNELS = re.compile(rb"\nfrom nonproj\.kernels\.kernel import .*kernel")
_IMPORT = re.compile(rb"\n(?:from|import) (\.*)([\w.]*)(?: import (\([^)]*\)|.*))?")

_OWN = "nonproj.kernels."

ENDING = ".nbc"
"""Ending of the name of a kernel's file."""

TEMPORARY = "nonproj-"
"""The beginning of the name of a folder that is removed at exit; the names of others are digests."""

IGNORED = "NONPROJ_OWN_KERNELS"
"""Environment variable: if not empty, every kernel is compiled for the current processor."""

PLAIN = "NONPROJ_PLAIN_KERNELS"
"""Environment variable: if not empty, numba compiles kernels as usual (`nonproj.kernels.plain`)."""


class Folders(NamedTuple):
    """Folders of compiled code.

    Attributes
    ----------
    own : Path, optional
        This user's folder; None if nothing can be written.
    shipped : Path, optional
        The folder of installed kernels, which are used where ``own`` has none.
    """

    own: Path | None
    shipped: Path | None = None


def source_digest(package: Path = _PACKAGE, user: tuple[str, Path] | None = None) -> str:
    """Return a digest of everything that compiled code depends on besides the processor, 16 hexadecimal digits.

    Parameters
    ----------
    package : Path
        The folder of nonproj.
    user : (str, Path), optional
        Name and folder of another package, whose kernels may call all of nonproj's.
    """
    digest = hashlib.blake2b(digest_size=8)
    numpy = ".".join(np.__version__.split(".")[:2])
    versions = sys.implementation.cache_tag, sys.abiflags, numba.__version__, llvmlite.__version__, numpy
    digest.update(f"{versions} {code_settings()} {os.environ.get(PLAIN, '')}".encode())
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
    waiting = [name for name, text in texts.items() if _MAKES_KERNELS.search(text) or name.startswith(_OWN)]
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
    """Update the modification time of a folder in use, at most once a day; return the folder."""
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


def find_folders(package: str = "nonproj") -> Folders:
    """Return the folders of the kernels of a package or module, by its name without dots, for numba's current settings.

    A module outside any package, such as a script, uses the folder of nonproj: a file there is named by the source of
    its own kernel.
    """
    paths = [Path(path) for path in getattr(sys.modules.get(package), "__path__", ())]
    user = (package, paths[0]) if paths and paths[0] != _PACKAGE else None
    return _find(user, code_settings(), bool(os.environ.get(IGNORED)), bool(os.environ.get(PLAIN)))


@cache
def _find(user: tuple[str, Path] | None, settings: str, ignored: bool, plain: bool) -> Folders:
    """Return the folders for some settings, which are found once."""
    other = user or ignored or plain or _config.CPU_NAME or _config.CPU_FEATURES
    return Folders(cache_folder(user), None if other else find_shipped(source_digest))


def kept_in() -> Path | None:
    """Return the folder where this process caches compiled code; None if it caches or compiles none."""
    return None if _config.DISABLE_JIT else find_folders().own


def count_cached() -> int:
    """Return the number of kernels in the cache."""
    folder = find_folders().own
    return sum(1 for _ in folder.glob(f"*/*{ENDING}")) if folder else 0


def is_cached(name: str) -> bool:
    """Return whether a kernel, such as ``score._score_parts``, is in the cache, for any argument types."""
    return any(any(folder.glob(f"*/{name}-*{ENDING}")) for folder in find_folders() if folder)
