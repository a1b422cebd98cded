"""The file of a model: JSON values and arrays, safe to load from untrusted sources and memory-mapped.

The file, all numbers little-endian::

    0    8 bytes    "\\x93nonproj"
    8    u64        format, 4
    16   u64        bytes of the header
    24   u64        bytes of the file
    32   32 bytes   BLAKE2b of bytes 0 to 31 and the header
    64   header     JSON in UTF-8: an object, of which "arrays" describes the arrays
    ...  arrays     raw, in C order, each at a multiple of 64 bytes, in the header's order, zeros between them

The header gives the name, dtype, shape, offset and BLAKE2b digest of each array.  Nothing in the file is executed or
decompressed.  Everything that is needed to find the arrays is checked; what they and the other values mean is checked
by those who use them.  The digests of the arrays are checked on request only, because reading all arrays would take
the time that mapping saves.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import FileError, ModelError
from nonproj.io.files import open_binary
from nonproj.io.temporary import reason
from nonproj.strings import NAME, fits

MAGIC = b"\x93nonproj"
"""The first bytes of a model file; no text starts with them."""

FORMAT = 4
"""The version of the format that is written and read; models of earlier versions must be trained again."""

DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64", "int16", "int32", "int64", "uint8")}
"""The dtypes that arrays may have."""

MAX_HEADER, MAX_NODES, MAX_DEPTH = 1 << 28, 1 << 22, 12
"""Limits of a header: its bytes, the number of objects and lists in it, and how deep they are nested."""

_PRELUDE = struct.Struct("<8sQQQ")
_START = 64
_ALIGNMENT = 64
_MAX_ARRAYS = 10_000
_MAX_DIMENSION = 1 << 40
_BYTES = "<bytes>"
_CONTROL = re.compile("[\x7f-\x9f]")
_ESCAPED = re.compile(r'\\[^"t/]')


class Contents(NamedTuple):
    """What is in a file: the header's values without the description of the arrays, and these by name."""

    values: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(path: str | Path, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file, which is replaced only when the new content is complete.

    Parameters
    ----------
    path : str or Path
    values : mapping of str to JSON values
        None of them is called ``arrays``; strings without control characters other than tabs.
    arrays : mapping of str to ndarray

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
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None


def chunks(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[Any]:
    """Return an iterator over the content of a file, the arrays without a copy; parameters and errors as `write`."""
    stored = {}
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise ValueError(f"weights[{name!r}] is {array.dtype}, one of {', '.join(DTYPES)} expected")
        stored[name] = np.ascontiguousarray(array, DTYPES[array.dtype.name]).reshape(array.shape)
    header, offsets, size = _encode(values, stored)
    if len(header) > MAX_HEADER:
        raise ValueError(f"a header of {len(header)} bytes; at most {MAX_HEADER} are allowed")
    return _chunks(header, stored, offsets, size)


def _chunks(header: bytes, arrays: Mapping[str, np.ndarray], offsets: list[int], size: int) -> Iterator[Any]:
    prelude = _PRELUDE.pack(MAGIC, FORMAT, len(header), size)
    position = _START + len(header)
    yield prelude + _checksum(prelude, header) + header
    for array, offset in zip(arrays.values(), offsets, strict=True):
        yield bytes(offset - position)
        yield array.reshape(-1).view(np.uint8).data
        position = offset + array.nbytes


def _encode(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[bytes, list[int], int]:
    """Return the header, the offset of each array and the size of the file."""
    entries: list[dict[str, Any]] = [
        {"name": name, "dtype": array.dtype.name, "shape": array.shape, "digest": _digest(array), "offset": 1 << 60}
        for name, array in arrays.items()
    ]
    content = {"arrays": entries, **values}
    length = len(_json(content))  # offsets depend on the length of the header, so it is padded for large ones
    position, offsets = _START + length, []
    for entry, array in zip(entries, arrays.values(), strict=True):
        entry["offset"] = -(-position // _ALIGNMENT) * _ALIGNMENT
        offsets.append(entry["offset"])
        position = entry["offset"] + array.nbytes
    return _json(content).ljust(length), offsets, position


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(array: np.ndarray) -> str:
    little = np.ascontiguousarray(array, DTYPES[array.dtype.name])
    return hashlib.blake2b(little.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()


def _checksum(prelude: bytes | bytearray, header: bytes | bytearray) -> bytes:
    return hashlib.blake2b(prelude + header, digest_size=32).digest()


def read(path: str | Path, mapped: bool = True, verified: bool = False) -> Contents:
    """Read a file.

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
        The file cannot be read, is no such file, is incomplete or damaged, or has another format.
    """
    return _decode(_contents(path, mapped), str(path), verified)


def from_bytes(data: bytes) -> Contents:
    """Return what the bytes of a file contain; errors as for `read`."""
    return _decode(bytearray(data), _BYTES)


def _contents(path: str | Path, mapped: bool) -> bytearray | mmap.mmap:
    """Map a file copy-on-write, or read it."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path}: not a model: not a regular file")
        with open(path, "rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise ModelError(f"{path}: not a model of nonproj")
            if mapped:
                return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
            stream.seek(0)
            return bytearray(stream.read())
    except OSError as error:
        raise ModelError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # a null byte in the name; a file that shrinks while it is opened
        raise ModelError(f"{path}: {error}") from None


def _decode(data: bytearray | mmap.mmap, path: str, verified: bool = False) -> Contents:
    """Return the values of the header, and arrays that are views of ``data``."""
    values, position = _header(data, path)
    entries, arrays = values.pop("arrays", None), {}
    if type(entries) is not list or len(entries) > _MAX_ARRAYS:
        raise ModelError(f"{path}: not a model: the header has no list of up to {_MAX_ARRAYS} arrays")
    for entry in entries:
        name, array, position = _array(data, entry, position, path)
        if name in arrays:
            raise ModelError(f"{path}: the array '{name}' occurs twice")
        if verified and _digest(array) != entry["digest"]:
            raise ModelError(f"{path}: damaged: the array '{name}' does not match its checksum")
        arrays[name] = array
    if position != len(data):
        raise ModelError(f"{path}: {len(data) - position} bytes belong to no array")
    return Contents(values, arrays)


def _header(data: bytearray | mmap.mmap, path: str) -> tuple[dict[str, Any], int]:
    """Return the header and its end, after checking its checksum."""
    if data[: len(MAGIC)] != MAGIC:
        raise ModelError(f"{path}: not a model of nonproj")
    if len(data) < _START:
        raise ModelError(f"{path}: incomplete: {len(data)} bytes")
    prelude = data[: _PRELUDE.size]
    _, version, length, size = _PRELUDE.unpack(prelude)
    if version > FORMAT:
        raise ModelError(
            f"{path}: format {version}; this version of nonproj reads formats up to {FORMAT}, a newer one is needed"
        )
    if 1 <= version < FORMAT:
        raise ModelError(f"{path}: format {version}, of an earlier version of nonproj; train the model again")
    if len(data) < size:
        raise ModelError(f"{path}: incomplete: {len(data)} bytes of {size}")
    header = data[_START : _START + length] if length < min(size, MAX_HEADER + 1) else b""
    if version < 1 or len(data) > size or _checksum(prelude, header) != data[_PRELUDE.size : _START]:
        raise ModelError(f"{path}: damaged: the header does not match its checksum")
    return _parsed(header, path), _START + length


def _parsed(header: bytes | bytearray, path: str) -> dict[str, Any]:
    """Return the JSON object in a header: shallow, without surrogates and control characters other than tabs."""
    if header.count(b"[") + header.count(b"{") > MAX_NODES:
        raise ModelError(f"{path}: damaged: the header has more than {MAX_NODES} objects and lists")
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise ModelError(f"{path}: damaged: the header is not UTF-8") from None
    pairs = text.replace(r"\\", "") if "\\" in text else ""  # backslashes are in strings only, and read in pairs
    if _ESCAPED.search(pairs) or _CONTROL.search(text):
        raise ModelError(f"{path}: damaged: the header has a control character or half of a surrogate pair")
    try:
        content = json.loads(text)
    except RecursionError:
        content = None
    except ValueError:
        raise ModelError(f"{path}: damaged: the header is not JSON") from None
    if content is None or not _is_shallow(content):
        raise ModelError(f"{path}: damaged: the header is nested more than {MAX_DEPTH} deep")
    if type(content) is not dict:
        raise ModelError(f"{path}: not a model: the header is not an object")
    return content


def _is_shallow(content: object) -> bool:
    """Return whether objects and lists are nested less deep than the limit, without recursion."""
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH + 1):
        inner = (node.values() if type(node) is dict else node for node in level if type(node) in (dict, list))
        level = [child for children in inner for child in children if type(child) in (dict, list)]
        if not level:
            return True
    return False


def _array(data: bytearray | mmap.mmap, entry: object, position: int, path: str) -> tuple[str, np.ndarray, int]:
    """Return the name of an array, the array and its end; it must start at or just after ``position``."""
    if not isinstance(entry, dict):
        raise ModelError(f"{path}: an array without a name")
    name, dtype, shape, offset = (entry.get(key) for key in ("name", "dtype", "shape", "offset"))
    if type(name) is not str or not fits(name, NAME) or type(entry.get("digest")) is not str:
        raise ModelError(f"{path}: an array without a name or digest")
    if type(dtype) is not str or dtype not in DTYPES:
        raise ModelError(f"{path}: the array '{name}' has the dtype {dtype}, one of {', '.join(DTYPES)} expected")
    if type(shape) is not list or len(shape) > 4 or not all(type(d) is int and 0 <= d <= _MAX_DIMENSION for d in shape):
        raise ModelError(f"{path}: the array '{name}' has an invalid shape")
    size = prod(shape)
    if type(offset) is not int or offset % _ALIGNMENT or not position <= offset < position + _ALIGNMENT:
        raise ModelError(f"{path}: the array '{name}' has an invalid offset")
    end = offset + size * DTYPES[dtype].itemsize
    if end > len(data):
        raise ModelError(f"{path}: the array '{name}' extends beyond the file")
    try:
        array = np.frombuffer(data, DTYPES[dtype], size, offset) if size else np.empty(0, DTYPES[dtype])
        return name, array.reshape(shape).astype(dtype, copy=False), end
    except ValueError:
        raise ModelError(f"{path}: the array '{name}' has an invalid shape") from None
