"""The decorator of all compiled functions, and reports of compilation.

A kernel is compiled on first use.  An optional feature, such as projective trees, is selected by an argument that is
None or True, two types, so each specialisation is compiled without the code that it does not use.  A kernel contains
all that it calls, optimised as a whole (`nonproj.kernels.linking`), so a small function costs nothing at run time.
That needs private parts of numba; where they have changed, numba compiles as usual (`nonproj.kernels.plain`).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import mmap
import os
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

import numba

from nonproj.kernels.folders import PLAIN, find_folders
from nonproj.kernels.plain import compile_plainly

_config: Any = numba.config  # whose attributes are made from the environment
_P = ParamSpec("_P")
_R = TypeVar("_R")

NOTICE = "nonproj: compiling kernels, once for each version of nonproj; a first parse takes about a minute"
NOTICE_AFTER = 2.0
"""Seconds of compilation after which a process reports it, once, by a warning of the logger ``nonproj.compiling``: on
standard error, unless logging is configured otherwise."""

SILENT = "NONPROJ_SILENT"
"""Environment variable: if not empty, the warning is suppressed, because another process gives it."""


_MOST = 200
"""Maximum length of numba's error in the warning about its internals."""

_log = logging.getLogger("nonproj.compiling")


class _Compiling:
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
    def seconds(self) -> float:
        """Time spent so far."""
        return self._seconds + (time.monotonic() - self._begin if self._depth else 0.0)

    def on_start(self, event: object = None) -> None:
        """Record the start of a compilation, which may be nested in another one."""
        if not self._depth:
            self._begin, self._collecting = time.monotonic(), gc.isenabled()
            gc.disable()
            if not self.told:
                self._timer = threading.Timer(max(NOTICE_AFTER - self._seconds, 0.0), self._tell)
                self._timer.daemon = True
                self._timer.start()
        self._depth += 1

    def on_end(self, event: object = None) -> None:
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
        """Whether nothing more is reported: this process or a copy of it has told the user, or must be quiet."""
        return bool(self._told[0]) or not _log.isEnabledFor(logging.WARNING)

    def silence(self) -> None:
        """Report nothing more, because the user has been told."""
        self._told[0] = True

    def _tell(self) -> None:
        """Report that kernels are being compiled, once."""
        if not self.told:
            self.silence()
            _log.warning(NOTICE)

    def __enter__(self) -> None:
        self.on_start(None)

    def __exit__(self, *_: object) -> None:
        self.on_end(None)


compiling = _Compiling()


@cache
def _linker() -> Callable[..., Any] | None:
    """Return the linker of kernels into their callers; None if it does not fit numba's private parts."""
    if os.environ.get(PLAIN):
        return None
    try:
        from nonproj.kernels.linking import link_tested

        return link_tested(find_folders)
    except Exception as error:
        os.environ[PLAIN] = "1"  # for processes that this one starts
        text = "numba %s has other internals (%s), so kernels are compiled and started more slowly"
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST]  # numba's errors have many lines
        logging.getLogger("nonproj").warning(text, numba.__version__, reason)
        return None


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function lazily, without the global interpreter lock, cached on disk.

    Fast mathematics is off: recurrences start at minus infinity, and agreement must be exact.
    """
    if _config.DISABLE_JIT:
        return function
    find = partial(find_folders, function.__module__.partition(".")[0])
    link = _linker()
    typed: Callable[_P, _R] = link(function, find) if link else compile_plainly(function, find)
    return typed  # dispatchers have no argument types


with contextlib.suppress(Exception):  # without numba's events, compilation is not reported
    from numba.core import event

    class _Listener(event.Listener):
        on_start, on_end = compiling.on_start, compiling.on_end

    register: Callable[..., None] = event.register
    register("numba:compile", _Listener())
