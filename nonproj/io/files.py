"""Files: read from disk, pipe or gzip archive; written through a temporary file and a rename.

Devices, pipes and open descriptors such as ``/dev/stdout`` are written to directly, and never replaced or truncated.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import io
import os
import platform
import re
import secrets
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias

from nonproj.errors import DataError, FileError

Opened: TypeAlias = "tuple[Any, str, contextlib.AbstractContextManager[Any]]"
"""What `open_input` returns: a stream of bytes or text, its name, and a context that closes it."""

Source: TypeAlias = "str | Path | BinaryIO | TextIO | Opened"
StreamError: TypeAlias = "OSError | EOFError | OverflowError | UnicodeDecodeError | zlib.error"

_DESCRIPTORS = re.compile(r"/dev/fd|/proc/[0-9]+(/task/[0-9]+)?/fd")
_OF_THIS_MACHINE = f".nonproj-{zlib.crc32(platform.node().encode()):08x}-"
_TEMPORARY = re.compile(re.escape(_OF_THIS_MACHINE) + "[0-9a-f]{16}")

_temporaries: set[Path] = set()
"""The temporary files of this process."""

_making = threading.Lock()
"""Held while a temporary file is made, opened or renamed; and by an ending process, whose other threads then wait."""


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


def open_input(source: Source) -> Opened:
    """Open a file for reading, unless it is open already.

    Parameters
    ----------
    source : str, Path, stream or tuple
        A file, ``-`` for standard input, an open stream of bytes or text, or the result of this function.

    Returns
    -------
    tuple
        The stream; its name; and a context that closes it if it was opened here.

    Raises
    ------
    FileError
        The file cannot be opened.

    Examples
    --------
    >>> stream, name, closing = open_input(io.BytesIO(b"one"))
    >>> name
    '<stream>'
    """
    if isinstance(source, tuple):
        return source
    left_open = contextlib.nullcontext()
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return source, name if isinstance(name, str) else "<stream>", left_open
    if str(source) == "-":
        return getattr(sys.stdin, "buffer", sys.stdin), "<stdin>", left_open
    try:
        stream = open(os.fspath(source), "rb")  # noqa: SIM115 (closed by the context)
    except OSError as error:
        raise FileError(str(source), reason(error)) from None
    return stream, str(source), stream


def text_lines(stream: BinaryIO | TextIO, limit: int = sys.maxsize - 1) -> Iterator[str]:
    """Return the lines of a stream as `byte_lines` does, decoded from UTF-8."""
    return _lines(stream, limit) if hasattr(stream, "encoding") else map(bytes.decode, byte_lines(stream, limit))


def byte_lines(stream: BinaryIO | TextIO, limit: int = sys.maxsize - 1) -> Iterator[bytes]:
    """Return the lines of a stream unchanged; a file or pipe compressed by gzip is unpacked.

    Raises
    ------
    OverflowError
        A line is longer than ``limit`` bytes, or characters of a text stream; the arguments are the limit, and as much
        of the line as was read.

    Examples
    --------
    >>> list(byte_lines(io.BufferedReader(io.BytesIO(gzip.compress(b"one\\r\\ntwo")))))
    [b'one\\r\\n', b'two']
    """
    if hasattr(stream, "encoding"):
        return map(str.encode, _lines(stream, limit))
    return _lines(unpacked(stream), limit)


def unpacked(stream: BinaryIO) -> BinaryIO:
    """Return a stream of bytes, unpacked if it is compressed by gzip."""
    if hasattr(stream, "peek") and stream.peek(2)[:1] == b"\x1f":  # no text starts with this byte, gzip data does
        return io.BufferedReader(gzip.GzipFile(fileobj=stream))
    return stream


def _lines(stream: Any, limit: int) -> Iterator[Any]:
    for line in iter(partial(stream.readline, limit + 1), "" if hasattr(stream, "encoding") else b""):
        if len(line) > limit:
            raise OverflowError(limit, line if isinstance(line, bytes) else line.encode())
        yield line


def stream_error(error: StreamError, name: str, number: int) -> DataError | FileError:
    """Return the error for a stream that could not be read beyond line ``number``.

    Examples
    --------
    >>> print(stream_error(EOFError(), "a.conll.gz", 7))
    a.conll.gz:8: the gzip data end here, incomplete
    """
    if isinstance(error, UnicodeDecodeError):
        number += 1 + error.object.count(b"\n", 0, error.start)
        byte = f"byte 0x{error.object[error.start]:02x}"
        return DataError(name, number, f"{byte} is not UTF-8; recode the file to UTF-8 first")
    if isinstance(error, OverflowError):
        return DataError(name, number + 1, f"a line of more than {error.args[0]} bytes; --max-line sets this limit")
    if isinstance(error, EOFError):
        return DataError(name, number + 1, "the gzip data end here, incomplete")
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return DataError(name, number + 1, f"the gzip data are corrupt here ({error})")
    return FileError(name, reason(error))


def identity(path: str | Path, standard: int) -> object:
    """Return a value that is equal for all names of a file or an open descriptor; None for another device or pipe.

    Parameters
    ----------
    path : str or Path
        It need not exist; ``-`` is the descriptor ``standard``.
    """
    path = f"/dev/fd/{standard}" if str(path) == "-" else path
    if os.path.isfile(path):
        facts = os.stat(path)
        return facts.st_dev, facts.st_ino
    target = _follow(path)
    return target if _is_descriptor(target) or not os.path.exists(target) else None


def is_direct(path: str | Path) -> bool:
    """Return whether output to this path is written directly: an open descriptor, a device or a pipe.

    Examples
    --------
    >>> is_direct("/dev/stdout"), is_direct(os.devnull), is_direct("none.txt")
    (True, True, False)
    """
    target = _follow(path)
    return _is_descriptor(target) or (os.path.exists(target) and not os.path.isfile(target))


def _is_descriptor(target: str) -> bool:
    return _DESCRIPTORS.fullmatch(os.path.dirname(target)) is not None


def _follow(path: str | Path) -> str:
    """Return the path behind symbolic links, but not behind those of a folder of open descriptors."""
    path = os.fspath(path)
    for _ in range(40):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if _DESCRIPTORS.fullmatch(folder) or not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return path


def _open_direct(target: str) -> BinaryIO:
    """Open a descriptor of this process where it is in its file, and any other device or pipe by its path."""
    folder, name = os.path.split(target)
    own = {"/dev/fd", os.path.realpath("/proc/self/fd"), os.path.realpath("/proc/thread-self/fd")}
    if folder in own and name.isdecimal():
        return open(os.dup(int(name)), "wb")
    return open(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new empty file in the same folder, renamed to ``path`` if the body succeeds, else removed.

    Its name is random and ends like that of ``path``.  A file that is replaced passes its mode on and, where the system
    permits it, its owner; its other hard links keep the old content.  The new file is locked meanwhile, and those of
    runs on this machine that were killed are removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as temporary:
    ...         _ = temporary.write_text("one")
    ...     os.listdir(folder)
    ['a.txt']
    """
    _remove_stale(path.parent)
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
                os.replace(temporary, path)
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        _temporaries.discard(temporary)
        os.close(descriptor)


def remove_temporaries() -> None:
    """Remove the temporary files of this process, which is about to end, whatever its other threads are doing."""
    _making.acquire(timeout=1.0)  # not for ever, where a file system hangs; never released
    for path in list(_temporaries):
        with contextlib.suppress(OSError):
            path.unlink()


def _temporary(path: Path) -> tuple[Path, int]:
    """Create and lock a temporary file for `replacing`; return its path and descriptor."""
    suffix = path.suffix if len(path.suffix) < 16 else ""  # writers of images go by it
    mode = 0o600 if path.exists() else 0o666  # the old file may have been private
    while True:
        temporary = path.with_name(f"{_OF_THIS_MACHINE}{secrets.token_hex(8)}{suffix}")
        _temporaries.add(temporary)  # before it exists, so that it is removed whenever the process ends
        try:
            with _making:
                descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        except OSError:
            _temporaries.discard(temporary)
            raise
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else another run removed it before it was locked
            return temporary, descriptor
        _temporaries.discard(temporary)
        os.close(descriptor)


def _open_temporary(path: Path) -> BinaryIO:
    """Open a temporary file for writing, without making it anew."""
    with _making:
        return open(path, "r+b")


def _remove_stale(folder: Path) -> None:
    """Remove the temporary files of this user and this machine that no living process has locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for path in [entry.path for entry in entries if _TEMPORARY.match(entry.name)]:
            with (
                contextlib.suppress(OSError),
                open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream,
            ):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                facts = os.fstat(stream.fileno())
                if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                    os.unlink(path)


@contextlib.contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete and flushed to disk.

    Data go to a temporary file (see `replacing`), but directly to a device, a pipe or an open descriptor, which is
    never replaced or truncated.

    Raises
    ------
    FileError
        The file cannot be opened or completed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_binary(folder + "/a") as stream:
    ...         _ = stream.write(b"one")
    ...         before = os.path.exists(folder + "/a")
    ...     print(before, Path(folder, "a").read_bytes(), os.listdir(folder))
    False b'one' ['a']
    """
    target, direct = _follow(path), is_direct(path)
    with contextlib.ExitStack() as stack:
        try:
            if os.path.isdir(target):
                raise IsADirectoryError
            temporary = None if direct else stack.enter_context(replacing(Path(target)))
            raw = stack.enter_context(_open_temporary(temporary) if temporary else _open_direct(target))
        except FileNotFoundError:
            message = f"cannot be written: there is no folder {os.path.dirname(os.fspath(path))!r}"
            raise FileError(str(path), message) from None
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None
        yield raw
        if not direct:
            _sync(raw, path)


def _sync(raw: BinaryIO, path: str | Path) -> None:
    """Flush to disk, because a full disk often reports the error only now."""
    try:
        raw.flush()
        os.fsync(raw.fileno())
    except OSError as error:
        raise FileError(str(path), f"cannot be written: {reason(error)}") from None


@contextlib.contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a text file for writing; like `open_binary`, it appears when it is complete.

    Parameters
    ----------
    path : str or Path
        ``-`` for standard output; a name that ends in ``.gz`` is compressed.

    Yields
    ------
    TextIO
        UTF-8; line endings are not translated.

    Raises
    ------
    FileError
        The file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_output(folder + "/a.txt") as stream:
    ...         _ = stream.write("one")
    ...     print(Path(folder, "a.txt").read_text())
    one
    """
    if str(path) == "-":
        yield from _standard_output()
        return
    compressed = str(path).endswith(".gz")
    with (
        open_binary(path) as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else contextlib.nullcontext(raw) as packed,
    ):
        stream = io.TextIOWrapper(packed, encoding="utf-8", newline="")
        try:
            yield stream
            stream.flush()
        finally:
            with contextlib.suppress(OSError):  # detaching flushes again, which fails if the flush above failed
                stream.detach()


def _standard_output() -> Iterator[TextIO]:
    """Yield standard output as UTF-8 without translating line endings, and leave it open."""
    sys.stdout.flush()
    if not hasattr(sys.stdout, "buffer"):
        yield sys.stdout
        return
    stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield stream
        stream.flush()
    finally:
        with contextlib.suppress(BrokenPipeError):
            stream.detach()
