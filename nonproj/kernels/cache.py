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
import logging
import os
import pickle
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, ClassVar, cast

import llvmlite.binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from nonproj.kernels.shipped import ShippedKernels
from nonproj.kernels.trust import UntrustedError, check_trusted

ENDING = ".nbc"
_binding: Any = llvmlite.binding
_dumps: Callable[[object], bytes] = dumps


class KernelCache(FunctionCache):
    """Replaces numba's cache of a function.

    Parameters
    ----------
    function : callable
        The compiled function.
    folder : Path
        The folder of all kernels; its name covers everything they depend on besides their own source.
    shipped : ShippedKernels, optional
        Kernels to use where the folder has none.
    """

    def __init__(self, function: Callable[..., Any], folder: Path, shipped: ShippedKernels | None = None):
        # The attributes of numba's class, whose methods compute keys and serialize compiled code.
        self._name, self._py_func = repr(function), function
        self._impl, self._cache_path, self._enabled = _Packing(function, folder), str(folder), True
        self._cache_file: Any = KernelFiles(function, folder, shipped)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for some argument types, or None.

        Numba's own method first imports its whole compiler, which takes a fifth of a second; machine code only needs
        the counts of references.
        """
        rtsys.initialize(target_context)
        return cast("Any", self)._load_overload(sig, target_context)


class KernelFiles:
    """The files of a kernel: one for each key, made of the argument types and the processor.

    Parameters
    ----------
    function, folder, shipped
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

    use_shipped: ClassVar[bool] = True
    """Whether this process uses shipped kernels; else it compiles for its own processor."""

    def __init__(self, function: Callable[..., Any], folder: Path, shipped: ShippedKernels | None = None):
        self._path, line = inspect.getfile(function), function.__code__.co_firstlineno
        package = function.__module__.rpartition(".")[0] or "others"
        name = Path(package) / f"{Path(self._path).stem}.{function.__qualname__}-{line}"
        self._name, self._folder, self._shipped = name, folder, shipped

    @classmethod
    def ignore_shipped(cls) -> None:
        """Compile for this processor from now on."""
        cls.use_shipped = False

    def load(self, key: object) -> object | None:
        """Return the data saved for a key, else those shipped for it, or None; a damaged file counts as missing."""
        found = self._load_own(key)
        shipped = self._shipped if KernelFiles.use_shipped else None
        if found is None and shipped and isinstance(key, tuple) and len(key) == 3:
            other = (key[0], tuple(shipped.target), key[2])  # argument types, processor, digest of the function
            digest = self._digest(other)
            with contextlib.suppress(OSError), open(self._file(digest, shipped.folder), "rb") as stream:
                found = _read(stream, digest, other)
        return found

    def _load_own(self, key: object) -> object | None:
        """Return the data that this user has saved for a key, or None; files that others can change are reported."""
        digest = self._digest(key)
        path = self._file(digest, self._folder)
        try:
            check_trusted(path.parent, os.lstat(path.parent), own=True)
            # A link is an error, and a pipe is empty.
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
                check_trusted(path, os.fstat(stream.fileno()), own=True)
                return _read(stream, digest, key)
        except UntrustedError as error:
            self._report(error)
        except OSError:
            pass
        return None

    def save(self, key: object, data: object) -> None:
        """Save the data for a key; if the disk is full, later processes compile again."""
        digest = self._digest(key)
        path = self._file(digest, self._folder)
        temporary = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            for folder in (self._folder, path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            check_trusted(path.parent, os.lstat(path.parent), own=True)
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(digest + _dumps((key, data)))
            os.replace(temporary, path)
        except UntrustedError as error:
            self._report(error)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def flush(self) -> None:
        """Remove everything that was saved."""
        start = self._folder / self._name
        for path in start.parent.glob(f"{start.name}.*{ENDING}"):
            path.unlink(missing_ok=True)

    def _digest(self, key: object) -> bytes:
        """Return a digest of what a file depends on besides the folder: part of its name, and its first bytes."""
        return hashlib.sha256(f"{key} {_digest_of(self._path)}".encode()).digest()

    def _file(self, digest: bytes, folder: Path) -> Path:
        return folder / f"{self._name}.{digest.hex()[:16]}{ENDING}"

    def _report(self, error: UntrustedError) -> None:
        """Say that files are not used, once for each folder."""
        if self._folder not in _reported:
            _reported.add(self._folder)
            logging.getLogger("nonproj").warning("%s, so compiled code there is not used; remove it", error)


_reported: set[Path] = set()


def _read(stream: BinaryIO, digest: bytes, key: object) -> object | None:
    """Return the data in a file that was written for a key, else None; only a file with its digest is unpickled."""
    with contextlib.suppress(Exception):
        if stream.read(len(digest)) == digest:
            saved, data = pickle.load(stream)
            if saved == key:
                found: object = data
                return found
    return None


class _Packing(CompileResultCacheImpl):
    """Serializes compiled code."""

    def __init__(self, function: Callable[..., Any], folder: Path):
        self._lineno = function.__code__.co_firstlineno
        self._locator = SimpleNamespace(
            _py_file=inspect.getfile(function),
            ensure_cache_path=lambda: None,  # `KernelFiles.save` makes the folder
            get_cache_path=lambda: str(folder),
        )

    def reduce(self, compiled: Any) -> tuple[Any, ...]:
        """Return what is saved: empty functions replace the bitcode for linking, of which only the names are needed."""
        (name, kind, (machine_code, _)), function, *rest = cast("Any", super()).reduce(compiled)
        names = function.llvm_func_name, function.llvm_cpython_wrapper_name
        empty = _binding.parse_assembly("".join(f'define void @"{each}"() {{ ret void }}\n' for each in names))
        return (name, kind, (machine_code, empty.as_bitcode())), function, *rest


@cache
def _digest_of(path: str) -> str:
    """Return a digest of a file's contents, or of its path if there is no such file."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = os.fsencode(path)
    return hashlib.sha256(content).hexdigest()
