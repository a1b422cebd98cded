"""Compiled kernels on disk, shared by all environments of a user that have the same sources and versions.

Numba names a kernel's file by the folder of its source, so each environment compiles anew, and keeps an index that
concurrent writers overwrite.  Here a file is named by the module, the function and a digest of its argument types, of
the processor and of its source.  It is complete when it appears, and it contains the whole digest, so a process can
only find the contents that it would have written itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import logging
import os
import pickle
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import llvmlite.binding
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from nonproj.kernels.folders import ENDING, Folders
from nonproj.kernels.shipped import TARGET
from nonproj.kernels.trust import UntrustedError, check_trusted

_NOWHERE = Path(os.devnull)  # a folder without files, in which none can be made
_binding: Any = llvmlite.binding
_rebuild: Callable[..., Any] = CompileResult._rebuild
_dumps: Callable[[object], bytes] = dumps


class KernelCache:
    """The cache of a function's compiled code, with the interface that numba's dispatchers expect.

    Parameters
    ----------
    function : callable
        The compiled function.
    find : callable
        Returns the folders for numba's current settings, which a compilation may change.
    """

    def __init__(self, function: Callable[..., Any], find: Callable[[], Folders]):
        self._function, self._find = function, find

    @property
    def cache_path(self) -> str:
        """The folder of the function's compiled code."""
        return str(self._find().own)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled code for some argument types, or None.

        Numba's own cache first imports the whole compiler, which takes a fifth of a second; machine code needs only
        reference counting.
        """
        rtsys.initialize(target_context)
        own, shipped = self._find()
        files, key = KernelFiles(self._function, own or _NOWHERE), self._key(signature, target_context.codegen())
        with uninterrupted():
            found: Any = files.load(key)
            if found is None and shipped:
                found = files.load_trusted(shipped, (signature, TARGET, key[2]))
            return found and _rebuild(target_context, *found)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save the compiled code for some argument types, unless it contains addresses in this process."""
        if not compiled.library.has_dynamic_globals:
            files = KernelFiles(self._function, self._find().own or _NOWHERE)
            with uninterrupted():
                files.save(self._key(signature, compiled.codegen), _pack(compiled))

    def _key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """Return argument types, processor, and a digest of the function."""
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        digest = hashlib.sha256(self._function.__code__.co_code + _dumps(cells)).hexdigest()
        return signature, codegen.magic_tuple(), digest


def _pack(compiled: Any) -> tuple[Any, ...]:
    """Return the saved form: empty functions replace the bitcode for linking, of which only the names are needed."""
    (name, kind, (machine_code, _)), function, *rest = compiled._reduce()
    names = function.llvm_func_name, function.llvm_cpython_wrapper_name
    empty = _binding.parse_assembly("".join(f'define void @"{each}"() {{ ret void }}\n' for each in names))
    return (name, kind, (machine_code, empty.as_bitcode())), function, *rest


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end: LLVM ignores exceptions in its callbacks, and would execute incomplete code."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    received: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        before(*received[0])


class KernelFiles:
    """The files of a kernel: one for each key, made of the argument types and the processor.

    Parameters
    ----------
    function : callable
        The compiled function.
    folder : Path
        The folder of all kernels.

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
        self._name = Path(package) / f"{Path(self._path).stem}.{function.__qualname__}-{line}"
        self._folder = folder

    def load(self, key: object) -> object | None:
        """Return the data saved for a key, or None; a damaged file counts as missing.

        Files that others can change are reported.
        """
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

    def load_trusted(self, folder: Path, key: object) -> object | None:
        """Return the data for a key in another folder, which is trusted, or None."""
        digest = self._digest(key)
        with contextlib.suppress(OSError), open(self._file(digest, folder), "rb") as stream:
            return _read(stream, digest, key)
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

    def _digest(self, key: object) -> bytes:
        """Return the digest of a key and the function's source file: part of the file's name, and its first bytes."""
        return hashlib.sha256(f"{key} {_digest_of(self._path)}".encode()).digest()

    def _file(self, digest: bytes, folder: Path) -> Path:
        return folder / f"{self._name}.{digest.hex()[:16]}{ENDING}"

    def _report(self, error: UntrustedError) -> None:
        """Warn that files are not used, once for each folder."""
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


@cache
def _digest_of(path: str) -> str:
    """Return a digest of a file's contents, or of its path if there is no such file."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = os.fsencode(path)
    return hashlib.sha256(content).hexdigest()
