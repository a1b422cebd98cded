"""Lists the folders of compiled kernels on disk, and removes them.

Each version of the sources, of Python, numba and numpy has a folder, named by a digest (`nonproj.kernels.kernel`).
Which folders other installations still use is unknown, so each process records the use of its own folder, as the time
of the folder's last change.  Only files with the names of `nonproj.kernels.cache` are removed, and then empty folders;
links are not followed.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nonproj.kernels.cache import ENDING
from nonproj.kernels.kernel import kept_in, own_folder, shared_folder

_DIGEST = re.compile(r"[0-9a-f]{16}")
_KERNEL = re.compile(rf".+\.[0-9a-f]{{16}}{re.escape(ENDING)}")
_PARTIAL = re.compile(rf".+\.[0-9a-f]{{16}}{re.escape(ENDING)}\.tmp\.[0-9a-f]{{16}}")
_HOUR = 3600.0


class KernelFolder(NamedTuple):
    """A folder of compiled kernels.

    Attributes
    ----------
    path : Path
    size : int
        Bytes of its kernels and partial files.
    partial : int
        Bytes of files that a killed process has left incomplete: those older than an hour.
    used : float
        Time of last use, to the day, in seconds since the epoch.
    current : bool
        Whether it is that of this installation.
    """

    path: Path
    size: int
    partial: int
    used: float
    current: bool


def kernel_folders() -> list[KernelFolder]:
    """Return all folders of compiled kernels of this user, the last used first.

    They are in the cache folder, which ``NONPROJ_CACHE`` moves, and among the temporary files, where nonproj uses one
    if the cache folder cannot be written.  A folder that cannot be read counts as missing.
    """
    parents = [shared_folder()]
    with contextlib.suppress(RuntimeError):
        parents.append(own_folder())
    found = {}
    for parent in parents:
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if _DIGEST.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    found[os.path.realpath(entry.path)] = _measure(Path(entry.path), entry.stat().st_mtime)
    return sorted(found.values(), key=lambda folder: (-folder.used, folder.path))


def _measure(path: Path, used: float) -> KernelFolder:
    """Return the description of a folder."""
    size = partial = 0
    for name, descriptor in _files(path):
        with contextlib.suppress(OSError):
            facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            size += facts.st_size
            partial += facts.st_size if _is_abandoned(name, facts) else 0
    kept = kept_in()
    current = kept is not None and os.path.realpath(kept) == os.path.realpath(path)
    return KernelFolder(path, size, partial, used, current)


def remove(folder: KernelFolder, partial_only: bool = False) -> int:
    """Remove the kernels in a folder, and the folder if it is empty then; return the number of bytes removed.

    Parameters
    ----------
    folder : KernelFolder
    partial_only : bool
        Remove only the files that a killed process has left.

    Raises
    ------
    OSError
        Something cannot be removed, for the reason of the first such file; everything else is.
    """
    removed = 0
    problems: list[OSError] = []
    for name, descriptor in _files(folder.path, problems.append):
        try:
            facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not partial_only or _is_abandoned(name, facts):
                os.unlink(name, dir_fd=descriptor)
                removed += facts.st_size
        except FileNotFoundError:  # another process was faster
            pass
        except OSError as error:
            problems.append(error)
    if not partial_only:
        _remove_empty(folder.path)
    if problems:
        raise problems[0]
    return removed


def _files(path: Path, report: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, int]]:
    """Yield the name of each kernel and partial file within a folder, and a descriptor of the folder that has it.

    With descriptors, a folder that is replaced by a link meanwhile is not followed.  ``report`` is called with the
    error of a folder that cannot be read.
    """
    for _, _, names, descriptor in os.fwalk(path, follow_symlinks=False, onerror=report):
        for name in names:
            if _KERNEL.fullmatch(name) or _PARTIAL.fullmatch(name):
                yield name, descriptor


def _is_abandoned(name: str, facts: os.stat_result) -> bool:
    """Return whether a file is one that nobody will complete."""
    return _PARTIAL.fullmatch(name) is not None and time.time() - facts.st_mtime > _HOUR


def _remove_empty(path: Path) -> None:
    """Remove the empty folders within a folder, and itself, if it is empty."""
    for _, names, _, descriptor in os.fwalk(path, topdown=False, follow_symlinks=False):
        for name in names:
            with contextlib.suppress(OSError):  # not empty, or a link
                os.rmdir(name, dir_fd=descriptor)
    with contextlib.suppress(OSError):
        os.rmdir(path)
