"""Files: read from disk, pipe or gzip archive; written through a temporary file and a rename."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from nonproj.errors import DataError, FileError


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
    return (error.strerror or str(error) or type(error).__name__).lower()


def open_input(source: str | Path | BinaryIO | TextIO) -> tuple:
    """Open a file for reading, unless it is open already.

    Parameters
    ----------
    source : str, Path or stream
        A file, ``-`` for standard input, or an open stream of bytes or text.

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


def byte_lines(stream: BinaryIO | TextIO) -> Iterator[bytes]:
    """Return the lines of a stream unchanged; a file or pipe compressed by gzip is unpacked.

    Examples
    --------
    >>> list(byte_lines(io.BufferedReader(io.BytesIO(gzip.compress(b"one\\r\\ntwo")))))
    [b'one\\r\\n', b'two']
    """
    if hasattr(stream, "encoding"):
        return map(str.encode, stream)
    if hasattr(stream, "peek") and stream.peek(2)[:1] == b"\x1f":  # no text starts with this byte, gzip data does
        stream = io.BufferedReader(gzip.GzipFile(fileobj=stream))
    return iter(stream)


def stream_error(error: Exception, name: str, number: int) -> DataError | FileError:
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
    if isinstance(error, EOFError):
        return DataError(name, number + 1, "the gzip data end here, incomplete")
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return DataError(name, number + 1, f"the gzip data are corrupt here ({error})")
    return FileError(name, reason(error))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to ``path`` if the body succeeds, and else removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as temporary:
    ...         _ = temporary.write_text("one")
    ...     os.listdir(folder)
    ['a.txt']
    """
    temporary = path.with_name(f".{os.getpid()}.{path.name}")  # the suffix stays: writers of images go by it
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete and flushed to disk.

    Data go to a temporary file (see `replacing`).  A device or a pipe is written directly.

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
    path = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if path.is_dir():
        raise FileError(str(path), f"cannot be written: {reason(IsADirectoryError())}")
    direct = path.exists() and not path.is_file()
    with contextlib.nullcontext(path) if direct else replacing(path) as temporary:
        try:
            raw = open(temporary, "wb")  # noqa: SIM115 (closed below)
        except FileNotFoundError:
            raise FileError(str(path), f"cannot be written: there is no folder {str(path.parent)!r}") from None
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None
        with raw:
            yield raw
            if not direct:
                _sync(raw, path)


def _sync(raw: BinaryIO, path: Path) -> None:
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
