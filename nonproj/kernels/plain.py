"""Kernels that numba compiles in its usual way, where its private parts do not fit `linking` and `cache`.

Compilation and calls take longer.  Numba's own cache lies in the folder of all kernels, whose name also covers the
sources that numba does not check, and which nobody else can open.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba

from nonproj.kernels.folders import Folders

_config: Any = numba.config
_njit: Callable[..., Any] = numba.njit


def compile_plainly(function: Callable[..., Any], find: Callable[[], Folders]) -> Any:
    """Return a function that numba compiles on first use, cached if numba's cache can be used.

    Parameters
    ----------
    function : callable
        The function.
    find : callable
        Returns the folders for numba's current settings, which a compilation may change.
    """
    folder, before = find().own, _config.CACHE_DIR
    if folder and not folder.stat().st_mode & 0o077:  # numba does not check who can write to its files
        _config.CACHE_DIR = str(folder)
        try:
            compiled = _njit(nogil=True, cache=True)(function)
            if Path(compiled.stats.cache_path).is_relative_to(folder):
                compiled._cache = _SharedCache(compiled._cache, folder, find)
                return compiled
        except Exception:
            pass  # nothing is cached
        finally:
            _config.CACHE_DIR = before
    return _njit(nogil=True)(function)


class _SharedCache:
    """Numba's cache of a function, for one process at a time: numba mixes up the files of concurrent writers."""

    def __init__(self, cache: Any, folder: Path, find: Callable[[], Folders]):
        self._cache, self._folder, self._find = cache, folder, find
        self.load_overload = partial(self._call, cache.load_overload)
        self.save_overload = partial(self._call, cache.save_overload)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method if the folder is still that for numba's settings; a damaged file counts as missing."""
        with contextlib.suppress(Exception):
            if self._find().own == self._folder:
                with open(self._folder / "lock", "ab") as stream:
                    fcntl.flock(stream, fcntl.LOCK_EX)
                    return method(*arguments)
        return None
