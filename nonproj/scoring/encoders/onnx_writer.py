"""Graphs in the ONNX format, as bytes: the few messages of its protobuf schema that an encoder needs.

A message is a sequence of fields; a field is a varint of its number and kind, then its value: a varint (kind 0), or a
length and bytes (kind 2), or a float of four bytes (kind 5).  Numbers of fields are those of `onnx.proto3
<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3>`_.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

IR_VERSION = 8
"""The version of the format."""

OPERATORS, CONTRIBUTED = 17, "com.microsoft"
"""The version of the standard operators, and the domain of ONNX Runtime's own."""

_TYPES = {"float32": 1, "uint8": 2}
_FLOAT, _INTEGER = 1, 2
_VARINT, _BYTES, _FIXED = 0, 2, 5
_EXTERNAL = 1


def varint(number: int) -> bytes:
    """Return a number from 0 in groups of seven bits, the lowest first; all but the last have the highest bit set.

    Examples
    --------
    >>> varint(300)
    b'\\xac\\x02'
    """
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """Return a field of a message.

    Examples
    --------
    >>> field(1, 5), field(2, "ab")
    (b'\\x08\\x05', b'\\x12\\x02ab')
    """
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | _FIXED) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | _BYTES) + varint(len(content)) + content


def node(operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> bytes:
    """Return an operator with one output; an empty name stands for an omitted optional input.

    Examples
    --------
    >>> node("Add", ["a", "b"], "c")
    b'\\n\\x01a\\n\\x01b\\x12\\x01c"\\x03Add'
    """
    parts = [field(1, name) for name in inputs] + [field(2, output), field(4, operator)]
    for name, value in attributes.items():
        place, kind = (3, _INTEGER) if isinstance(value, int) else (2, _FLOAT)
        parts.append(field(5, field(1, name) + field(place, value) + field(20, kind)))
    return b"".join(parts) + (field(7, domain) if domain else b"")


def tensor(name: str, array: np.ndarray, inside: bool = True) -> bytes:
    """Return a constant, float32 or uint8; if not ``inside``, only its description: the session gets it by name.

    Examples
    --------
    >>> tensor("a", np.array([7], np.uint8))
    b'\\x08\\x01\\x10\\x02B\\x01aJ\\x01\\x07'
    """
    sizes = b"".join(field(1, size) for size in array.shape)
    described = sizes + field(2, _TYPES[array.dtype.name]) + field(8, name)
    if not inside:
        return described + field(13, field(1, "location") + field(2, name)) + field(14, _EXTERNAL)
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return described + field(9, little.tobytes())


def value(name: str, shape: Sequence[int | str]) -> bytes:
    """Return the description of an input or output, float32; sizes that vary are given by name.

    Examples
    --------
    >>> value("a", ["n"])
    b'\\n\\x01a\\x12\\x0b\\n\\t\\x08\\x01\\x12\\x05\\n\\x03\\x12\\x01n'
    """
    sizes = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, _TYPES["float32"]) + field(2, sizes)))


def model(
    nodes: Iterable[bytes],
    constants: Iterable[bytes],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str]],
) -> bytes:
    """Return a model in the ONNX format.

    Parameters
    ----------
    nodes : iterable of bytes
        From `node`, in an order in which each comes after those whose output it uses.
    constants : iterable of bytes
        From `tensor`.
    inputs, outputs : mapping of str to sequence of int or str
        The shape of each, for `value`.

    Examples
    --------
    >>> model([node("Relu", ["x"], "y")], [], {"x": [2]}, {"y": [2]})[:6]  # version 8, then a graph of 57 bytes
    b'\\x08\\x08:9\\n\\x0c'
    """
    parts = [field(1, each) for each in nodes] + [field(2, "encoder")] + [field(5, each) for each in constants]
    parts += [field(11, value(name, shape)) for name, shape in inputs.items()]
    parts += [field(12, value(name, shape)) for name, shape in outputs.items()]
    domains = [field(8, field(1, name) + field(2, version)) for name, version in (("", OPERATORS), (CONTRIBUTED, 1))]
    return field(1, IR_VERSION) + field(7, b"".join(parts)) + b"".join(domains)
