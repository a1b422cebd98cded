"""Replacing a file that another program may change meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
from collections.abc import Callable
from pathlib import Path

_HERE, _EXCHANGE = -100, 2
"""Arguments of Linux's ``renameat2``: paths begin at the current folder, and both files stay."""


def unless(check: Callable[[Path], None]) -> Callable[[Path, Path], None]:
    """Return a function that renames a file, for `nonproj.io.files.open_output`, unless ``check`` refuses the old one.

    ``check`` takes the path of the old file and raises an error if it must not be replaced.  It is called before the
    renaming and, where the system can exchange two files in one step, again after it; if it refuses then, the old file
    is put back.  So a change by another program in between is not lost.
    """
    return functools.partial(_replace, check)


def _replace(check: Callable[[Path], None], temporary: Path, path: Path) -> None:
    check(path)
    with path.open("rb") as old:
        with contextlib.suppress(OSError):  # so that no other process removes it under the temporary name
            fcntl.flock(old, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if not _exchange(temporary, path):
            os.replace(temporary, path)
            return
        try:
            check(temporary)
        except BaseException:
            os.replace(temporary, path)
            raise


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two files atomically, which Linux can do on most file systems; return whether it succeeded."""
    function = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(first), os.fsencode(second)
    return function is not None and function(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0
