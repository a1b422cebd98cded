"""Compiled kernels on disk, shared by all environments of a user that have the same sources and versions.

Numba names a kernel's file by the folder of its source, so each environment compiles anew, and keeps an index that
concurrent writers overwrite.  Here a file is named by the module, the function and a digest of its argument types, of
the processor and of its source.  It is complete when it appears, and it repeats the contents of its name, so a process
can only find what it would have written itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

ENDING = ".nbc"
_dumps: Callable[[object], bytes] = dumps


class KernelCache(FunctionCache):
    """Replaces numba's cache of a function.

    Parameters
    ----------
    function : callable
        The compiled function.
    folder : Path
        The folder of all kernels; its name covers everything they depend on besides their own source.
    """

    def __init__(self, function: Callable[..., Any], folder: Path):
        # The attributes of numba's class, whose methods compute keys and serialize compiled code.
        self._name, self._py_func = repr(function), function
        self._impl, self._cache_path, self._enabled = _Packing(function, folder), str(folder), True
        self._cache_file: Any = KernelFiles(function, folder)


class KernelFiles:
    """The files of a kernel: one for each key, made of the argument types and the processor.

    Parameters
    ----------
    function, folder
        As for `KernelCache`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = KernelFiles(KernelFiles.save, Path(folder))
    ...     files.save(("int64", "float64"), "code")
    ...     print(files.load(("int64", "float64")), files.load(("int64", "int64")))
    code None
    """

    def __init__(self, function: Callable[..., Any], folder: Path):
        self._path, line = inspect.getfile(function), function.__code__.co_firstlineno
        package = function.__module__.rpartition(".")[0] or "others"
        self._start = folder / package / f"{Path(self._path).stem}.{function.__qualname__}-{line}"

    def load(self, key: object) -> object | None:
        """Return the data saved for a key, or None; a damaged file counts as missing."""
        with contextlib.suppress(Exception), open(self._file(key), "rb") as stream:
            saved, data = pickle.load(stream)
            if saved == key:
                found: object = data
                return found
        return None

    def save(self, key: object, data: object) -> None:
        """Save the data for a key; if the disk is full, later processes compile again."""
        path = self._file(key)
        temporary = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_dumps((key, data)))
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def flush(self) -> None:
        """Remove everything that was saved."""
        for path in self._start.parent.glob(f"{self._start.name}.*{ENDING}"):
            path.unlink(missing_ok=True)

    def _file(self, key: object) -> Path:
        text = f"{key} {_digest_of(self._path)}"
        return self._start.with_name(f"{self._start.name}.{hashlib.sha256(text.encode()).hexdigest()[:16]}{ENDING}")


class _Packing(CompileResultCacheImpl):
    """Serializes compiled code."""

    def __init__(self, function: Callable[..., Any], folder: Path):
        self._lineno, self._locator = function.__code__.co_firstlineno, _Place(inspect.getfile(function), folder)


class _Place:
    """Numba's interface for the location of a cache."""

    def __init__(self, file: str, folder: Path):
        self._py_file, self._folder = file, folder

    def ensure_cache_path(self) -> None:
        """`KernelFiles.save` makes the folder."""

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)


@cache
def _digest_of(path: str) -> str:
    """Return a digest of a file's contents, or of its path if there is no such file."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = os.fsencode(path)
    return hashlib.sha256(content).hexdigest()
