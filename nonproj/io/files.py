"""Files: read from disk, pipe or gzip archive; written through a temporary file and a rename.

Devices, pipes and open descriptors such as ``/dev/stdout`` are written to directly, and never replaced or truncated.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeAlias

from nonproj.errors import Advice, DataError, FileError
from nonproj.io.kinds import A_MODEL, is_model
from nonproj.io.temporary import Rename, open_temporary, reason, replacing
from nonproj.io.terminal import escaping


class OpenedInput(NamedTuple):
    """An opened input: see `open_input`.

    Attributes
    ----------
    stream : BinaryIO or TextIO
    name : str
        The path, or ``<stdin>``, ``<stream>``.
    closing : context manager
        Closes the stream if `open_input` opened it.
    """

    stream: Any
    name: str
    closing: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


Source: TypeAlias = "str | Path | BinaryIO | TextIO | OpenedInput"
StreamError: TypeAlias = "OSError | EOFError | OverflowError | UnicodeDecodeError | zlib.error"

_GZIP = b"\x1f\x8b"

_DESCRIPTORS = re.compile(r"/dev/fd|/proc/[0-9]+(/task/[0-9]+)?/fd")


def open_input(source: Source) -> OpenedInput:
    """Open a file for reading, unless it is open already.

    Parameters
    ----------
    source : str, Path, stream or OpenedInput
        A file, ``-`` for standard input, an open stream of bytes or text, or the result of this function.

    Returns
    -------
    OpenedInput
        The stream, its name, and a context that closes it if it was opened here.

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
    if isinstance(source, OpenedInput):
        return source
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return OpenedInput(source, name if isinstance(name, str) else "<stream>")
    if str(source) == "-":
        return OpenedInput(getattr(sys.stdin, "buffer", sys.stdin), "<stdin>")
    try:
        stream = open(os.fspath(source), "rb")  # noqa: SIM115 (closed by the context)
    except OSError as error:
        raise FileError(str(source), reason(error)) from None
    return OpenedInput(stream, str(source), stream)


def text_lines(stream: BinaryIO | TextIO, limit: int = sys.maxsize - 1) -> Iterator[str]:
    """Return the lines of a stream as `byte_lines` does, decoded from UTF-8."""
    return _lines(stream, limit) if hasattr(stream, "encoding") else map(bytes.decode, byte_lines(stream, limit))


def byte_lines(stream: BinaryIO | TextIO, limit: int = sys.maxsize - 1) -> Iterator[bytes]:
    """Return the lines of a stream unchanged; gzip-compressed files or pipes are decompressed.

    Raises
    ------
    OverflowError
        A line is longer than ``limit`` bytes, or characters of a text stream; the arguments are the limit, and the part
        of the line that was read.

    Examples
    --------
    >>> list(byte_lines(io.BufferedReader(io.BytesIO(gzip.compress(b"one\\r\\ntwo")))))
    [b'one\\r\\n', b'two']
    """
    if hasattr(stream, "encoding"):
        return map(str.encode, _lines(stream, limit))
    return _lines(unpacked(stream), limit)


def unpacked(stream: BinaryIO) -> BinaryIO:
    """Return a stream of bytes, decompressed if it is gzip."""
    if not hasattr(stream, "peek"):
        return stream
    first = stream.peek(2)[:2]
    if first == _GZIP[:1]:  # a pipe may not have provided more yet
        first = stream.read(2)
        stream = io.BufferedReader(_Ahead(first, stream))
    return io.BufferedReader(gzip.GzipFile(fileobj=stream)) if first == _GZIP else stream


class _Ahead(io.RawIOBase):
    """A stream that begins with bytes that were already read from another one."""

    def __init__(self, first: bytes, rest: BinaryIO):
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes into a buffer; return their number."""
        data = self._first[: len(buffer)] or self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        self._first = self._first[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


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
    first = error.object if isinstance(error, UnicodeDecodeError) else error.args[-1] if error.args else None
    if not number and type(first) is bytes and is_model(first):
        return FileError(name, A_MODEL)
    if isinstance(error, UnicodeDecodeError):
        number += 1 + error.object.count(b"\n", 0, error.start)
        byte = f"byte 0x{error.object[error.start]:02x}"
        return DataError(name, number, f"{byte} is not UTF-8; recode the file to UTF-8 first")
    if isinstance(error, OverflowError):
        advice = Advice("--max-line", "; --max-line sets this limit")
        return DataError(name, number + 1, f"a line of more than {error.args[0]} bytes", advice)
    if isinstance(error, EOFError):
        return DataError(name, number + 1, "the gzip data end here, incomplete")
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return DataError(name, number + 1, f"the gzip data are corrupt here ({error})")
    return FileError(name, reason(error))


def identity(path: str | Path, standard: int) -> object:
    """Return a value that is equal for all names of a file or an open descriptor; None for other devices or pipes.

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


def check_folder(path: str | Path) -> None:
    """Raise `FileError` if no file can be created in the folder of a path, as `open_binary` does temporarily.

    Examples
    --------
    >>> check_folder("/proc/none")
    Traceback (most recent call last):
    nonproj.errors.FileError: /proc/none: cannot be written: no such file
    """
    try:
        with replacing(Path(_follow(path)), lambda temporary, _: temporary.unlink()):
            pass
    except OSError as error:
        raise unwritable(path, error) from None


def _is_descriptor(target: str) -> bool:
    return _DESCRIPTORS.fullmatch(os.path.dirname(target)) is not None


def _follow(path: str | Path) -> str:
    """Resolve symbolic links in a path, except those in a folder of open descriptors."""
    path = os.fspath(path)
    for _ in range(40):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if _DESCRIPTORS.fullmatch(folder) or not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return path


def _open_direct(target: str) -> BinaryIO:
    """Open a descriptor of this process at its current position, and any other device or pipe by its path."""
    folder, name = os.path.split(target)
    own = {"/dev/fd", os.path.realpath("/proc/self/fd"), os.path.realpath("/proc/thread-self/fd")}
    if folder in own and name.isdecimal():
        return open(os.dup(int(name)), "wb")
    return open(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb")


class _Named(io.FileIO):
    """A file whose write errors include its name, except for a pipe closed by its reader."""

    def __init__(self, opened: BinaryIO, path: str | Path):
        super().__init__(os.dup(opened.fileno()), "wb")
        opened.close()
        self._path = str(path)

    def write(self, data: Any) -> int:
        """Write data; return the number of bytes."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.EBADF):  # the reader has left, or standard output is closed
                raise
            raise FileError(self._path, f"cannot be written: {reason(error)}") from None


@contextlib.contextmanager
def open_binary(path: str | Path, rename: Rename = os.replace) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete and flushed to disk.

    Data are written to a temporary file (see `replacing`), or directly to a device, a pipe or an open descriptor, which
    is never replaced or truncated.  ``rename`` is as in `replacing`.

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
            temporary = None if direct else stack.enter_context(replacing(Path(target), rename))
            opened = open_temporary(temporary) if temporary else _open_direct(target)
            raw = stack.enter_context(io.BufferedWriter(_Named(opened, path)))
        except OSError as error:
            raise unwritable(path, error) from None
        yield raw
        if not direct:
            try:  # a full disk is often reported only at this point
                raw.flush()
                os.fsync(raw.fileno())
            except OSError as error:
                raise unwritable(path, error) from None


def unwritable(path: str | Path, error: OSError) -> FileError:
    """Return the error for a file that cannot be written."""
    folder = os.path.dirname(os.fspath(path))
    absent = isinstance(error, FileNotFoundError) and not os.path.isdir(folder or os.curdir)
    return FileError(str(path), f"cannot be written: {f'there is no folder {folder!r}' if absent else reason(error)}")


@contextlib.contextmanager
def open_output(path: str | Path, rename: Rename = os.replace) -> Iterator[TextIO]:
    """Open a text file for writing; like `open_binary`, it appears when it is complete.

    Parameters
    ----------
    path : str or Path
        ``-`` for standard output; a name ending in ``.gz`` is compressed.
    rename : callable
        As in `nonproj.io.temporary.replacing`.

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
        open_binary(path, rename) as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else contextlib.nullcontext(raw) as packed,
        _as_text(packed) as stream,
    ):
        yield stream


@contextlib.contextmanager
def _as_text(packed: Any) -> Iterator[TextIO]:
    """Yield a text stream over a stream of bytes, in UTF-8 and without translating line endings, and leave it open.

    On a terminal, control characters are escaped.
    """
    stream = io.TextIOWrapper(packed, encoding="utf-8", newline="")
    try:
        yield escaping(stream)
        stream.flush()
    finally:
        with contextlib.suppress(OSError, FileError):  # this flushes again, which fails if the flush above failed
            stream.detach()


def _standard_output() -> Iterator[TextIO]:
    """Yield standard output as text."""
    sys.stdout.flush()
    if not hasattr(sys.stdout, "buffer"):
        yield sys.stdout
        return
    try:
        with _as_text(sys.stdout.buffer) as stream:
            yield stream
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise FileError("<stdout>", f"cannot be written: {reason(error)}") from None
        raise
