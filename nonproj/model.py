"""A trained parser in one file, which is safe to load from untrusted sources and is memory-mapped.

The file, all numbers little-endian::

    0    8 bytes    "\\x93nonproj"
    8    u64        format, 4
    16   u64        bytes of the header
    24   u64        bytes of the file
    32   32 bytes   BLAKE2b of bytes 0 to 31 and the header
    64   header     JSON in UTF-8: config, templates, vocabularies, labels, meta, components, arrays
    ...  arrays     raw, in C order, each at a multiple of 64 bytes, in the header's order, zeros between them

The header gives the name, dtype, shape, offset and BLAKE2b digest of each array.  Nothing in the file is executed, and
everything in the header is validated.  The digests of the arrays are checked on request only (`Model.verify`), because
reading all arrays would take the time that mapping saves.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ConfigError, FileError, ModelError
from nonproj.io.files import open_binary
from nonproj.io.temporary import reason
from nonproj.model_checks import problem_of
from nonproj.options.config import Config
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.vocabulary import Encoder

MAGIC = b"\x93nonproj"
"""The first bytes of a model file; no text starts with them."""

FORMAT = 4
"""The version of the format that is written and read; models of earlier versions must be trained again."""

LABEL_LINES = "label_lines"
"""The array that says which labels an arc may have, of models that score labels with the arcs."""

DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64", "int16", "int32", "int64", "uint8")}
"""The dtypes that arrays may have."""

_PRELUDE = struct.Struct("<8sQQQ")
_START = 64
_ALIGNMENT = 64
_MAX_HEADER = 1 << 30
_MAX_DIMENSION = 1 << 40
_FIELDS = {"config": dict, "templates": dict, "vocabularies": dict, "labels": list, "meta": dict}
_FIELDS |= {"components": dict, "arrays": list}
_BYTES = "<bytes>"


@dataclass
class Model:
    """A trained parser, or one in training.

    Attributes
    ----------
    config : Config
        The options it was trained with.
    vocabularies : dict of str to list of str
        The vocabulary of each attribute, in the order of their numbers.
    templates : dict of str to dict
        The result of `nonproj.scoring.templates.load_templates`.
    labels : list of str
        The labels, in the order of their numbers.
    weights : dict of str to ndarray
        The tables ``parser``, ``pruner`` and ``labeler``, their sizes powers of two: float32, or int16 to be multiplied
        by the scales in ``meta["scale"]``.  Models that score labels with the arcs have `LABEL_LINES` too
        (`nonproj.scoring.label_lines`).  A checkpoint has other arrays.
    meta : dict
        Training history; JSON values only.
    components : dict of str to dict
        What the tagger, the segmenter, the network and the confidence classifier need beside their arrays, JSON values
        only; the arrays are in ``weights``, as ``tagger.NAME`` and so on.  A parser need not have them.

    Examples
    --------
    >>> from nonproj.scoring.templates import attributes_of, load_templates
    >>> files = load_templates()
    >>> vocabularies = {name: ["a", "b"] for name in [*attributes_of(files), "feat"]}
    >>> weights = dict.fromkeys(("parser", "pruner", "labeler"), np.ones(4096, np.float32))
    >>> model = Model(Config(), vocabularies, files, ["subj"], weights, {})
    >>> Model.from_bytes(model.to_bytes()).weights["parser"].sum()
    np.float32(4096.0)
    """

    config: Config
    vocabularies: dict[str, list[str]]
    templates: dict[str, dict[str, Any]]
    labels: list[str]
    weights: dict[str, np.ndarray]
    meta: dict[str, Any]
    components: dict[str, dict[str, Any]] = field(default_factory=dict)

    def component(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the state of a component, JSON values and arrays, or None if the model has no such component."""
        if name not in self.components:
            return None
        prefix = f"{name}."
        arrays = {key.removeprefix(prefix): array for key, array in self.weights.items() if key.startswith(prefix)}
        return self.components[name], arrays

    def encoder(self) -> Encoder:
        """Return a new encoder of sentences for this model."""
        state = self.component("clusters")
        return Encoder(self.vocabularies, Clusters.from_state(*state) if state else None)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, which is replaced only when the new content is complete.

        Raises
        ------
        FileError
            The file cannot be written.
        ValueError
            An array has a dtype that is not in `DTYPES`.
        """
        chunks = self._chunks()
        with open_binary(path) as stream:
            try:
                stream.writelines(chunks)
            except OSError as error:
                raise FileError(str(path), f"cannot be written: {reason(error)}") from None

    def describe(self) -> dict[str, Any]:
        """Return the configuration, sizes and training history as plain numbers and strings."""
        return {
            "config": self.config.as_dict(),
            "weights": {
                name: {
                    "entries": table.size,
                    "megabytes": table.nbytes / 1e6,
                    "nonzero": float(np.count_nonzero(table) / max(table.size, 1)),
                }
                for name, table in self.weights.items()
            },
            "vocabularies": {name: len(strings) for name, strings in self.vocabularies.items()},
            "labels": len(self.labels),
            "templates": {name: len(spec["templates"]) for name, spec in self.templates.items()},
            "training": self.meta,
        }

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return b"".join(self._chunks())

    @classmethod
    def load(cls, path: str | Path, mmap: bool = True) -> Model:
        """Read a model.

        Parameters
        ----------
        path : str or Path
        mmap : bool
            Map the arrays instead of reading them: pages are read on first access and shared by all processes that use
            the same file.  Either way the arrays are writable, and changes stay in memory.

        Raises
        ------
        ModelError
            The file is not a model, is incomplete or damaged, has another format, or has what no parser could use.
        """
        data = _contents(path, mmap)
        return _decode(data, _header(data, str(path)), str(path))

    @classmethod
    def load_trained(cls, path: str | Path) -> Model:
        """Read a model for parsing; errors as for `load`, and if the file is a checkpoint of training."""
        model = cls.load(path)
        if not model.is_trained:
            raise ModelError(f"{path}: a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
        return model

    @property
    def is_trained(self) -> bool:
        """Whether training is complete; a checkpoint has not all weights."""
        return "parser" in self.weights

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Return the model written by `to_bytes`; errors as for `load`."""
        copy = bytearray(data)
        return _decode(copy, _header(copy, _BYTES), _BYTES)

    @classmethod
    def verify(cls, path: str | Path) -> Model:
        """Load a model and check the digest of every array; errors as for `load`."""
        data = _contents(path, mapped=True)
        header = _header(data, str(path))
        model = _decode(data, header, str(path))
        for entry in header["arrays"]:
            if _digest(model.weights[entry["name"]]) != entry["digest"]:
                raise ModelError(f"{path}: damaged: the weights of '{entry['name']}' do not match their checksum")
        return model

    def _chunks(self) -> Iterator[Any]:
        """Yield the content of the file, the arrays without a copy."""
        arrays = {}
        for name, array in self.weights.items():
            if array.dtype.name not in DTYPES:
                raise ValueError(f"weights[{name!r}] is {array.dtype}, one of {', '.join(DTYPES)} expected")
            arrays[name] = np.ascontiguousarray(array, DTYPES[array.dtype.name]).reshape(array.shape)
        header, offsets, size = self._encode(arrays)
        prelude = _PRELUDE.pack(MAGIC, FORMAT, len(header), size)
        position = _START + len(header)
        yield prelude + _checksum(prelude, header) + header
        for array, offset in zip(arrays.values(), offsets, strict=True):
            yield bytes(offset - position)
            yield array.reshape(-1).view(np.uint8).data
            position = offset + array.nbytes

    def _encode(self, arrays: dict[str, np.ndarray]) -> tuple[bytes, list[int], int]:
        """Return the header, the offset of each array and the size of the file."""
        entries: list[dict[str, Any]] = [
            {"name": name, "dtype": array.dtype.name, "shape": array.shape, "digest": _digest(array), "offset": 1 << 60}
            for name, array in arrays.items()
        ]
        content = {
            "config": self.config.as_dict(),
            "templates": self.templates,
            "labels": self.labels,
            "meta": self.meta,
            "components": self.components,
            "arrays": entries,
            "vocabularies": self.vocabularies,
        }
        length = len(_json(content))  # offsets depend on the length of the header, so it is padded for large ones
        position, offsets = _START + length, []
        for entry, array in zip(entries, arrays.values(), strict=True):
            entry["offset"] = -(-position // _ALIGNMENT) * _ALIGNMENT
            offsets.append(entry["offset"])
            position = entry["offset"] + array.nbytes
        return _json(content).ljust(length), offsets, position


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _digest(array: np.ndarray) -> str:
    little = np.ascontiguousarray(array, DTYPES[array.dtype.name])
    return hashlib.blake2b(little.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()


def _checksum(prelude: bytes | bytearray, header: bytes | bytearray) -> bytes:
    return hashlib.blake2b(prelude + header, digest_size=32).digest()


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


def _header(data: bytearray | mmap.mmap, path: str) -> dict[str, Any]:
    """Return the header, after checking its checksum and the types of its fields."""
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
    header = data[_START : _START + length] if length < min(size, _MAX_HEADER) else b""
    if version < 1 or len(data) > size or _checksum(prelude, header) != data[_PRELUDE.size : _START]:
        raise ModelError(f"{path}: damaged: the header does not match its checksum")
    try:
        content = json.loads(header.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: damaged: the header is not JSON") from None
    if not isinstance(content, dict) or any(type(content.get(name)) is not kind for name, kind in _FIELDS.items()):
        raise ModelError(f"{path}: not a model: the header lacks one of {', '.join(_FIELDS)}")
    return content | {"start": _START + length}


def _decode(data: bytearray | mmap.mmap, header: dict[str, Any], path: str) -> Model:
    """Return the model, with arrays that are views of ``data``."""
    try:
        config = Config.from_dict(header["config"])
    except ConfigError as error:
        raise ModelError(f"{path}: has options unknown to this version: {error}") from None
    position, weights = header["start"], {}
    for entry in header["arrays"]:
        name, array, position = _array(data, entry, position, path)
        if name in weights:
            raise ModelError(f"{path}: the array '{name}' occurs twice")
        weights[name] = array
    if position != len(data):
        raise ModelError(f"{path}: {len(data) - position} bytes belong to no array")
    first = (header["vocabularies"], header["templates"], header["labels"])
    model = Model(config, *first, weights, header["meta"], header["components"])
    problem = problem_of(model)
    if problem:
        raise ModelError(f"{path}: cannot be used: {problem}")
    return model


def _array(data: bytearray | mmap.mmap, entry: object, position: int, path: str) -> tuple[str, np.ndarray, int]:
    """Return the name of an array, the array and its end; it must start at or just after ``position``."""
    if not isinstance(entry, dict):
        raise ModelError(f"{path}: an array without a name")
    name, dtype, shape, offset = (entry.get(key) for key in ("name", "dtype", "shape", "offset"))
    if type(name) is not str or type(entry.get("digest")) is not str:
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
