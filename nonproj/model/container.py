"""The model file: JSON values and arrays, safe to load from untrusted sources and memory-mapped.

The file is in the `safetensors <https://github.com/huggingface/safetensors>`_ format, which many tools read: the length
of a header (u64, little-endian), the header, and the arrays, raw, little-endian, in C order, without gaps.  The header
is JSON in UTF-8, padded with blanks so that the arrays begin at a multiple of 64 bytes::

    {"__metadata__": {"nonproj": "7", "checksum": "...", "digests": "{...}", "labels": "[...]", ...},
     "parser": {"dtype": "I16", "shape": [8388608], "data_offsets": [0, 16777216]}, ...}

Metadata are strings: the version of the format, BLAKE2b of the header without these 64 digits, that of each array, and
the values, each as JSON.  Arrays whose size is a multiple of 64 bytes, such as all weight tables, come first, so they
are aligned to cache lines; all others are aligned to the size of their items.

This reader is our own: it maps the file, leaves the arrays writable and checks more than the safetensors library.
Nothing in the file is executed.  A file may be compressed as a whole, with gzip: then it is read, up to `MAX_UNPACKED`
bytes, instead of mapped.  Everything needed to locate the arrays is checked here; the meaning of
arrays and values is checked by their users.  The digests of the arrays are checked on request only, because reading all
arrays would take the time that mapping saves.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.files import open_binary, unpacked, unwritable
from nonproj.io.kinds import MODEL_MAGIC, is_model
from nonproj.io.strings import NAME, fits
from nonproj.io.temporary import reason

FORMAT = 7
"""The version of the format that is written."""

READ = (7,)
"""The versions that are read: each one since release 1.0, which wrote version 7."""

_START = 8
_BEGINNINGS = tuple(MODEL_MAGIC + str(version).encode() + b'","checksum":"' for version in READ)
_DIGITS = slice(len(_BEGINNINGS[0]), len(_BEGINNINGS[0]) + 64)
"""The place of the checksum in a header."""

_VERSION = re.compile(re.escape(MODEL_MAGIC) + rb'([0-9]{1,9})"')

DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64", "int16", "int32", "int64", "uint8")}
"""The allowed dtypes of arrays."""

_CODES = {"float32": "F32", "float64": "F64", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8"}
_NAMES = {code: name for name, code in _CODES.items()}

MAX_HEADER, MAX_NODES, MAX_DEPTH = 100_000_000, 1 << 22, 12
"""Limits of a header: size in bytes, as in safetensors, number of objects and lists, and depth of nesting."""

MAX_UNPACKED = 1 << 30
"""Limit of the size of a compressed file's contents, in bytes."""

_METADATA = "__metadata__"
_ALIGNMENT = 64
_MAX_ARRAYS = 10_000
_MAX_DIMENSION = 1 << 40
_BYTES = "<bytes>"
_CONTROL = re.compile(b"\xc2[\x80-\x9f]")
_ESCAPED = re.compile(r'\\[^"t/]')


class Contents(NamedTuple):
    """The contents of a file: the header's values without the descriptions of the arrays, and the arrays by name."""

    values: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(path: str | Path, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    path : str or Path
    values : mapping of str to JSON values
        Keys other than ``nonproj``, ``checksum`` and ``digests``; strings without control characters other than
        tabs.
    arrays : mapping of str to ndarray
        Names other than ``__metadata__``.

    Raises
    ------
    FileError
        The file cannot be written.
    ValueError
        An array has a dtype that is not in `DTYPES`, or the header would be too large.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/m", {"order": 3}, {"weights": np.ones(2)})
    ...     values, arrays = read(folder + "/m")
    >>> values, arrays["weights"].tolist()
    ({'order': 3}, [1.0, 1.0])
    """
    blocks = chunks(values, arrays)
    with open_binary(path) as stream:
        try:
            stream.writelines(blocks)
        except OSError as error:
            raise unwritable(path, error) from None


def chunks(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[Any]:
    """Return an iterator over a file's contents, without copying the arrays; parameters and errors as for `write`."""
    stored = {}
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise ValueError(f"weights[{name!r}] is {array.dtype}, one of {', '.join(DTYPES)} expected")
        stored[name] = np.ascontiguousarray(array, DTYPES[array.dtype.name]).reshape(array.shape)
    order = sorted(stored, key=lambda name: _rank(stored[name]))
    header = _encode(values, stored, order)
    if len(header) > MAX_HEADER:
        raise ValueError(f"a header of {len(header)} bytes; the maximum is {MAX_HEADER}")
    return chain([header], (stored[name].reshape(-1).view(np.uint8).data for name in order))


def _rank(array: np.ndarray) -> int:
    """Return the sort key of an array: every array begins at a multiple of the size of its items."""
    return -_ALIGNMENT if array.nbytes % _ALIGNMENT == 0 else -array.itemsize


def _encode(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], order: list[str]) -> bytes:
    """Return the encoded header, preceded by its length."""
    ends = dict(zip(order, accumulate(arrays[name].nbytes for name in order), strict=True))
    digests = {name: _digest(array) for name, array in arrays.items()}
    metadata = {"nonproj": str(FORMAT), "checksum": "0" * 64, "digests": _json(digests)}
    content: dict[str, Any] = {_METADATA: metadata | {name: _json(value) for name, value in values.items()}}
    for name, array in arrays.items():
        offsets = [ends[name] - array.nbytes, ends[name]]
        content[name] = {"dtype": _CODES[array.dtype.name], "shape": array.shape, "data_offsets": offsets}
    header = _json(content).encode()
    header = header.ljust(-(-(_START + len(header)) // _ALIGNMENT) * _ALIGNMENT - _START)
    length = len(header).to_bytes(_START, "little")
    return length + header[: _DIGITS.start] + _checksum(length, header) + header[_DIGITS.stop :]


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _digest(array: np.ndarray) -> str:
    little = np.ascontiguousarray(array, DTYPES[array.dtype.name])
    return hashlib.blake2b(little.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()


def _checksum(length: bytes | bytearray, header: bytes | bytearray) -> bytes:
    """Return the digits of a header's checksum, which are not covered by it."""
    digest = hashlib.blake2b(length, digest_size=32)
    digest.update(header[: _DIGITS.start])
    digest.update(header[_DIGITS.stop :])
    return digest.hexdigest().encode()


def checksum_of(stream: BinaryIO) -> bytes:
    """Return the checksum stored in a file, which covers all of its contents, as 64 digits; it is not verified."""
    return unpacked(stream).read(_START + _DIGITS.stop)[_START:][_DIGITS]


def read(path: str | Path, mapped: bool = True, verified: bool = False) -> Contents:
    """Read a model file; return its values and arrays.

    Parameters
    ----------
    path : str or Path
    mapped : bool
        Map the arrays instead of reading them: pages are read on first access and shared by all processes that use the
        same file.  Either way the arrays are writable, and changes stay in memory.
    verified : bool
        Check the digest of every array.

    Raises
    ------
    ModelError
        The file cannot be read, is not a model, is incomplete or damaged, or has another format.
    """
    return _decode(_contents(path, mapped), str(path), verified)


def from_bytes(data: bytes) -> Contents:
    """Return the contents of a file given as bytes; errors as for `read`."""
    return _decode(bytearray(data), _BYTES)


def _contents(path: str | Path, mapped: bool) -> bytearray | mmap.mmap:
    """Map a file copy-on-write, or read it."""
    if not isinstance(path, str | Path):
        raise TypeError(f"the name of a model is of type {type(path).__name__}, a path is expected")
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path}: not a model: not a regular file")
        with open(path, "rb") as stream:
            source = unpacked(stream)
            beginning = source.read(_ALIGNMENT)
            if not is_model(beginning):
                raise ModelError(f"{path}: not a model of nonproj")
            if mapped and source is stream:
                return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
            data = bytearray(beginning)
            data += source.read() if source is stream else source.read(MAX_UNPACKED)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ModelError(f"{path}: damaged: it cannot be decompressed") from None
    except OSError as error:
        raise ModelError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # a null byte in the name; a file that shrinks while being opened
        raise ModelError(f"{path}: {error}") from None
    if source is not stream and len(data) > MAX_UNPACKED:
        raise ModelError(f"{path}: decompressed, it is larger than {MAX_UNPACKED} bytes")
    return data


def _decode(data: bytearray | mmap.mmap, path: str, verified: bool = False) -> Contents:
    """Return the values of the header, and arrays that are views of ``data``."""
    header, start = _header(data, path)
    try:
        content = _loaded(header.decode(), path)
    except UnicodeDecodeError:
        raise ModelError(f"{path}: damaged: the header is not UTF-8") from None
    metadata = content.pop(_METADATA) if type(content) is dict else None
    if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
        raise ModelError(f"{path}: not a model: the header has no metadata, or some that are not text")
    values = {name: _value(text, path) for name, text in metadata.items() if name not in ("nonproj", "checksum")}
    if not _is_shallow(values):
        raise ModelError(f"{path}: damaged: the header is nested more than {MAX_DEPTH} deep")
    digests = values.pop("digests", None)
    names = digests.keys() if type(digests) is dict and {type(text) for text in digests.values()} <= {str} else None
    if names != content.keys() or len(content) > _MAX_ARRAYS:
        raise ModelError(f"{path}: not a model: the header has no digests of up to {_MAX_ARRAYS} arrays")
    arrays = _arrays(data, content, start, path)
    for name, array in arrays.items():
        if verified and _digest(array) != digests[name]:
            raise ModelError(f"{path}: damaged: the array '{name}' does not match its checksum")
    return Contents(values, arrays)


def _header(data: bytearray | mmap.mmap, path: str) -> tuple[bytes | bytearray, int]:
    """Return the header and its end, after checking its checksum."""
    found = _VERSION.match(data[_START : 2 * _ALIGNMENT])
    if not found:
        raise ModelError(f"{path}: not a model of nonproj")
    version, length = int(found[1]), int.from_bytes(data[:_START], "little")
    if version > FORMAT:
        hint = f"this version of nonproj reads formats up to {FORMAT}, install a newer one"
        raise ModelError(f"{path}: format {version}; {hint}")
    if version not in READ:
        raise ModelError(f"{path}: format {version}, of an earlier version of nonproj; train the model again")
    end = _START + length
    if length > MAX_HEADER:
        raise ModelError(f"{path}: damaged: a header of {length} bytes; the maximum is {MAX_HEADER}")
    if end > len(data):
        raise ModelError(f"{path}: incomplete: {len(data)} bytes, the header alone has {end}")
    header = data[_START:end]
    if not header.startswith(_BEGINNINGS) or header[_DIGITS] != _checksum(data[:_START], header):
        raise ModelError(f"{path}: damaged: the header does not match its checksum")
    return header, end


def _value(text: str, path: str) -> Any:
    """Return the value of a JSON text; its strings have no surrogates and no control characters other than tabs."""
    pairs = text.replace(r"\\", "") if "\\" in text else ""  # backslashes occur only in strings; match them in pairs
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b"\x7f"
    if b"\x7f" in data or _CONTROL.search(data) or _ESCAPED.search(pairs):
        raise ModelError(f"{path}: damaged: the header has a control character or a lone surrogate")
    return _loaded(text, path)


def _loaded(text: str, path: str) -> Any:
    """Return the value of a JSON text of limited size."""
    if text.count("[") + text.count("{") > MAX_NODES:
        raise ModelError(f"{path}: damaged: the header has more than {MAX_NODES} objects and lists")
    try:
        return json.loads(text)
    except RecursionError:
        raise ModelError(f"{path}: damaged: the header is nested more than {MAX_DEPTH} deep") from None
    except ValueError:
        raise ModelError(f"{path}: damaged: the header is not JSON") from None


def _is_shallow(content: dict[str, Any]) -> bool:
    """Return whether the nesting of objects and lists is within the limit, without recursion."""
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH + 1):
        inner = [node.values() if type(node) is dict else node for node in level]
        mixed = [children for children in inner if not {dict, list}.isdisjoint(map(type, children))]
        level = [child for children in mixed for child in children if type(child) in (dict, list)]
        if not level:
            return True
    return False


class _Entry(NamedTuple):
    """The header's description of an array: its bytes are ``begin`` to ``end`` after the header."""

    begin: int
    end: int
    name: str
    dtype: str
    shape: list[int]


def _arrays(data: bytearray | mmap.mmap, content: dict[str, Any], start: int, path: str) -> dict[str, np.ndarray]:
    """Return the arrays by name; they must be contiguous and fill the file."""
    entries = [_entry(name, entry, path) for name, entry in content.items()]
    position = 0
    for entry in sorted(entries):
        if entry.begin != position or (start + position) % DTYPES[entry.dtype].itemsize:
            raise ModelError(f"{path}: the array '{entry.name}' has an invalid offset")
        position = entry.end
    if start + position > len(data):
        raise ModelError(f"{path}: incomplete: {len(data)} bytes of {start + position}")
    if start + position < len(data):
        raise ModelError(f"{path}: damaged: {len(data) - start - position} bytes belong to no array")
    return {entry.name: _array(data, entry, start, path) for entry in entries}


def _entry(name: str, entry: object, path: str) -> _Entry:
    """Return the header's description of an array, after checking it."""
    if not fits(name, NAME) or not isinstance(entry, dict):
        raise ModelError(f"{path}: an array without a name or description")
    code, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if type(code) is not str or code not in _NAMES:
        raise ModelError(f"{path}: the array '{name}' has another dtype than {', '.join(_NAMES)}")
    if type(shape) is not list or len(shape) > 4 or not all(type(d) is int and 0 <= d <= _MAX_DIMENSION for d in shape):
        raise ModelError(f"{path}: the array '{name}' has an invalid shape")
    if type(offsets) is not list or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
        raise ModelError(f"{path}: the array '{name}' has an invalid offset")
    begin, end = offsets
    if end - begin != prod(shape) * DTYPES[_NAMES[code]].itemsize:
        raise ModelError(f"{path}: the array '{name}' has an invalid shape")
    return _Entry(begin, end, name, _NAMES[code], shape)


def _array(data: bytearray | mmap.mmap, entry: _Entry, start: int, path: str) -> np.ndarray:
    dtype, size = DTYPES[entry.dtype], prod(entry.shape)
    try:
        array = np.frombuffer(data, dtype, size, start + entry.begin) if size else np.empty(0, dtype)
        return array.reshape(entry.shape).astype(entry.dtype, copy=False)
    except ValueError:
        raise ModelError(f"{path}: the array '{entry.name}' has an invalid shape") from None
