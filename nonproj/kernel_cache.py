"""Compiled kernels on disk, shared by all environments of a user that have the same sources and versions.

Numba names a kernel's file by the folder of its source, so that each environment compiles anew, and keeps an index that
processes which write at the same time overwrite.  Here a file is named by the module, the function and a digest of the
types of its arguments, of the processor and of its source.  It is complete when it appears, and it repeats what its
name says, so a process can only find what itself would have written.
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
    """Takes the place of numba's cache of a function.

    Parameters
    ----------
    function : callable
        The function that is compiled.
    folder : Path
        Of all kernels; its name stands for whatever they depend on beside their own source.
    """

    def __init__(self, function: Callable[..., Any], folder: Path):
        # The attributes of numba's class, whose methods compute keys and pack and unpack what was compiled.
        self._name, self._py_func = repr(function), function
        self._impl, self._cache_path, self._enabled = _Packing(function, folder), str(folder), True
        self._cache_file: Any = KernelFiles(function, folder)


class KernelFiles:
    """The files of a kernel: one for each key, which are the types of its arguments and the processor.

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
        """Return what was saved for a key, or None; a damaged file is as good as none."""
        with contextlib.suppress(Exception), open(self._file(key), "rb") as stream:
            saved, data = pickle.load(stream)
            if saved == key:
                found: object = data
                return found
        return None

    def save(self, key: object, data: object) -> None:
        """Write what was compiled for a key; without space for it, later processes compile again."""
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
        """Forget everything that was saved."""
        for path in self._start.parent.glob(f"{self._start.name}.*{ENDING}"):
            path.unlink(missing_ok=True)

    def _file(self, key: object) -> Path:
        text = f"{key} {_digest_of(self._path)}"
        return self._start.with_name(f"{self._start.name}.{hashlib.sha256(text.encode()).hexdigest()[:16]}{ENDING}")


class _Packing(CompileResultCacheImpl):
    """Packs and unpacks what was compiled."""

    def __init__(self, function: Callable[..., Any], folder: Path):
        self._lineno, self._locator = function.__code__.co_firstlineno, _Place(inspect.getfile(function), folder)


class _Place:
    """What numba asks about the place of a cache."""

    def __init__(self, file: str, folder: Path):
        self._py_file, self._folder = file, folder

    def ensure_cache_path(self) -> None:
        """`KernelFiles.save` makes the folder."""

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)


@cache
def _digest_of(path: str) -> str:
    """Return a digest of a file's content, and of its path where there is no such file."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = os.fsencode(path)
    return hashlib.sha256(content).hexdigest()
