"""Files written under a temporary name and renamed when complete; an exiting process removes its own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import re
import secrets
import stat
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from nonproj.errors import FileError

_OF_THIS_MACHINE = f".nonproj-{zlib.crc32(platform.node().encode()):08x}-"
_TEMPORARY = re.compile(re.escape(_OF_THIS_MACHINE) + "[0-9a-f]{16}")

Rename: TypeAlias = Callable[[Path, Path], object]

_ATTEMPTS = 10
"""Number of attempts to lock a file."""

_temporaries: set[Path] = set()
"""The temporary files of this process."""

_making = threading.Lock()
"""Lock held while a temporary file is created, opened or renamed; never released by an exiting process."""


def reason(error: OSError) -> str:
    """Return why a file cannot be used.

    Examples
    --------
    >>> reason(FileNotFoundError(2, "No such file or directory"))
    'no such file'
    """
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "this is a folder, a file is expected"
    if isinstance(error, PermissionError):
        return "permission denied"
    if error.errno == errno.EBADF:
        return "this stream is closed"
    return (error.strerror or str(error) or type(error).__name__).lower()


@contextlib.contextmanager
def replacing(path: Path, rename: Rename = os.replace) -> Iterator[Path]:
    """Yield the path of a new empty file in the same folder, renamed to ``path`` if the body succeeds, else removed.

    Its name is random with the same ending as ``path``.  The new file gets the mode of the replaced one and, where the
    system permits it, its owner; other hard links keep the old content.  The new file is locked meanwhile; temporary
    files of killed runs on this machine are removed.

    Parameters
    ----------
    path : Path
    rename : callable
        Renames the first path to the second, or raises an error if the second must not be replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as temporary:
    ...         _ = temporary.write_text("one")
    ...     os.listdir(folder)
    ['a.txt']
    """
    others = _remove_stale(path.parent)
    temporary, descriptor = _temporary(path)
    try:
        yield temporary
        with contextlib.suppress(FileNotFoundError):
            old = os.stat(path)
            with contextlib.suppress(OSError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, old.st_mode & 0o777)
        try:
            with _making:
                rename(temporary, path)
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None
    finally:
        _discard(temporary, descriptor)
        if others:  # perhaps of a process that was about to end, and still had its lock
            _remove_stale(path.parent)


@contextlib.contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Keep other processes on this machine from reserving the same file; for outputs that take hours to make.

    The lock is a file in the same folder, named by a digest of the file's name, and removed like those of
    `replacing`.

    Raises
    ------
    FileError
        Another run has reserved it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, reserved(Path(folder, "a")), reserved(Path(folder, "b")):
    ...     with reserved(Path(folder, "a")):  # doctest: +ELLIPSIS
    ...         pass
    Traceback (most recent call last):
    nonproj.errors.FileError: ...: another run is writing it
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(_OF_THIS_MACHINE + hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest())
    descriptor = _locked(lock, path)
    _temporaries.add(lock)
    try:
        yield
    finally:
        _discard(lock, descriptor)


def _discard(path: Path, descriptor: int) -> None:
    """Remove a locked file, if it has not been renamed, and its lock."""
    with contextlib.suppress(OSError):
        path.unlink()
    _temporaries.discard(path)
    os.close(descriptor)


def _locked(lock: Path, path: Path) -> int:
    """Open and lock a file, which may exist; return its descriptor."""
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # perhaps for a moment by `_remove_stale`
            os.close(descriptor)
            time.sleep(0.01 * attempt)
            continue
        except OSError:  # some file systems have no locks
            return descriptor
        if os.fstat(descriptor).st_nlink:  # otherwise another run removed it before it was locked
            return descriptor
        os.close(descriptor)
    raise FileError(str(path), "another run is writing it")


def remove_temporaries() -> None:
    """Remove the temporary files of this process, which is about to exit, regardless of its other threads."""
    _making.acquire(timeout=1.0)  # with a timeout, in case a file system hangs; never released
    for path in list(_temporaries):
        with contextlib.suppress(OSError):
            path.unlink()


def _temporary(path: Path) -> tuple[Path, int]:
    """Create and lock a temporary file for `replacing`; return its path and descriptor."""
    suffix = path.suffix if len(path.suffix) < 16 else ""  # writers of images use the extension
    mode = 0o600 if path.exists() else 0o666  # the old file may have been private
    while True:
        temporary = path.with_name(f"{_OF_THIS_MACHINE}{secrets.token_hex(8)}{suffix}")
        _temporaries.add(temporary)  # before it is created, so that it is always removed when the process exits
        try:
            with _making:
                descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        except OSError:
            _temporaries.discard(temporary)
            raise
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # otherwise another run removed it before it was locked
            return temporary, descriptor
        _temporaries.discard(temporary)
        os.close(descriptor)


def open_temporary(path: Path) -> BinaryIO:
    """Open the file yielded by `replacing` for writing, without creating it anew."""
    with _making:
        return open(path, "r+b")


def _remove_stale(folder: Path) -> bool:
    """Remove temporary files of this user on this machine that no process has locked; return whether any remain."""
    remaining = False
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for path in [entry.path for entry in entries if _TEMPORARY.match(entry.name)]:
            removed = False
            with (
                contextlib.suppress(OSError),
                open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream,
            ):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                facts = os.fstat(stream.fileno())
                if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                    os.unlink(path)
                    removed = True
            remaining |= not removed
    return remaining
