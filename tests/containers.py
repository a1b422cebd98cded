"""What every reader of models must refuse, and how."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile

import numpy as np
import pytest

from nonproj import container
from nonproj.errors import ModelError


def signed(header: bytes, rest: bytes = b"") -> bytes:
    """A file with this header, of which the checksum is right."""
    prelude = struct.pack("<8sQQQ", container.MAGIC, container.FORMAT, len(header), 64 + len(header) + len(rest))
    return prelude + hashlib.blake2b(prelude + header, digest_size=32).digest() + header + rest


def refused(load, path, content: bytes | None = None) -> str:
    """The message of the error that reading a file raises."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and message.isprintable() and len(message) < 500
    return message.removeprefix(f"{path}: ")


def check_nesting(load, path) -> None:
    """Nesting never becomes a RecursionError, wherever it is: too deep for the reader of JSON, or only for others."""
    for depth in (13, 100, 900, 100_000):
        text = b'{"kind":' + b"[" * depth + b"]" * depth + b"}"
        assert refused(load, path, signed(text)) == "damaged: the header is nested more than 12 deep"
        text = b'{"arrays":[],"config":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        assert refused(load, path, signed(text)) == "damaged: the header is nested more than 12 deep"
    assert "more than 4194304 objects and lists" in refused(load, path, signed(b"[" + b"[]," * (1 << 22) + b"[]]"))


def check_other_formats(load, path) -> None:
    """Archives that inflate, and headers of arrays that are Python: neither is opened."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header", json.dumps({"kind": "translation", "version": 1, "values": {}}))
        archive.writestr("bomb.npy", bytes(1 << 26))
    assert path.stat().st_size < 1 << 17
    assert refused(load, path) == "not a model of nonproj"
    stream = io.BytesIO()
    np.save(stream, np.ones(2))
    broken = stream.getvalue().replace(b"'descr'", b"'des\\r'")
    for content in (b"", b"text", stream.getvalue(), broken, b"\x93NUMPY\x01\x00" + b"v\x00{'descr': (" * 9):
        assert refused(load, path, content) == "not a model of nonproj"
    assert refused(load, path.parent / "nothing")
    assert refused(load, path.parent) == "this is a folder, a file is expected"


NONSENSE = [
    b'{"a":"\\ud800"}',
    b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\\u0000"}',
    b'{"a":"\\n"}',
    b'{"\\r":1}',
    b'{"a":"\x7f"}',
] + [b'{"a":"\xc2\x85"}', b'{"a":"\\\\\\u001b"}', b'{"a":"\x1b"}', b"\xff", b"1" * 6000, b"[]", b"{}", b""]
"""Headers with control characters, and what is no header."""


def check_nonsense(load, path, text: bytes) -> None:
    """It is said in one line what is wrong with a header."""
    message = refused(load, path, signed(text))
    assert message.startswith(("damaged: the header ", "not a model: "))
