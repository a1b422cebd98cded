"""The container of all models: what is written is read, and anything else is refused in one line."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile

import numpy as np
import pytest

from nonproj import container
from nonproj.errors import FileError, ModelError
from nonproj.model import Model
from nonproj.systems import models
from nonproj.systems.constituency.collins import Collins
from nonproj.systems.constituency.model import Model as Phrases
from nonproj.systems.translation.model import TranslationModel

LOADERS = [Phrases.load, Collins.load, TranslationModel.load, Model.load, Model.verify]


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


def test_round_trip(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.zeros(0), "c": np.ones(3, ">f4")}
    values = {"words": ["ä", "\\", '"', "\\n", "a\tb", "\U0001f600"], "x": 0.1}
    models.write(tmp_path / "m", "toy", 2, values, arrays)
    found, read = models.read(tmp_path / "m", "toy", 2)
    assert found == values
    assert {name: (array.dtype, array.tolist()) for name, array in read.items()} == {
        name: (array.dtype.newbyteorder("="), array.tolist()) for name, array in arrays.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    read["a"][0, 0] = 9  # changes stay in memory
    assert models.read(tmp_path / "m", "toy", 2)[1]["a"][0, 0] == 0


def test_models_of_another_kind_or_version(tmp_path):
    path = tmp_path / "m"
    models.write(path, "toy", 1, {}, {"a": np.ones(1)})

    def load(kind, version):
        return lambda path: models.read(path, kind, version)

    assert refused(load("toy", 2), path) == "a model for toy of version 1, 2 expected; train it again"
    assert refused(load("other", 1), path) == "a model for toy, one for other expected"
    assert refused(Model.load, path) == "a model for toy, not of a parser"
    container.write(path, {"config": {}}, {})
    assert refused(load("toy", 1), path) == "a model of a parser, one for toy expected"


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
def test_nested_headers_are_refused(load, tmp_path):
    """Nesting never becomes a RecursionError, wherever it is: too deep for the reader of JSON, or only for others."""
    path = tmp_path / "m"
    for depth in (13, 100, 900, 100_000):
        text = b'{"kind":' + b"[" * depth + b"]" * depth + b"}"
        assert refused(load, path, signed(text)) == "damaged: the header is nested more than 12 deep"
        text = b'{"arrays":[],"config":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        assert refused(load, path, signed(text)) == "damaged: the header is nested more than 12 deep"
    assert "more than 4194304 objects and lists" in refused(load, path, signed(b"[" + b"[]," * (1 << 22) + b"[]]"))


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
def test_archives_and_arrays_of_numpy_are_refused(load, tmp_path):
    """Archives that inflate, and headers of arrays that are Python: neither is opened."""
    path = tmp_path / "m"
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
    assert refused(load, tmp_path / "nothing")
    assert refused(load, tmp_path) == "this is a folder, a file is expected"


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
@pytest.mark.parametrize(
    "text",
    [b'{"a":"\\ud800"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\\u0000"}', b'{"a":"\\n"}', b'{"\\r":1}', b'{"a":"\x7f"}']
    + [b'{"a":"\xc2\x85"}', b'{"a":"\\\\\\u001b"}', b'{"a":"\x1b"}', b"\xff", b"1" * 6000, b"[]", b"{}", b""],
)
def test_headers_with_control_characters_and_other_nonsense(load, text, tmp_path):
    message = refused(load, tmp_path / "m", signed(text))
    assert message.startswith(("damaged: the header ", "not a model: "))


def test_backslashes_are_read_in_pairs(tmp_path):
    for text in ("\\", "\\n", "\\\\", "\\\\u0041", "a\\\tb", '\\"', "\\ud800"):
        container.write(tmp_path / "m", {"a": text}, {})
        assert container.read(tmp_path / "m").values == {"a": text}


def test_arrays_are_those_of_the_file(tmp_path):
    """What a system reads is verified: its models are small, and it looks at all of them."""
    models.write(tmp_path / "m", "toy", 1, {}, {"a": np.arange(1000)})
    content = bytearray((tmp_path / "m").read_bytes())
    content[-1] ^= 1
    read = refused(lambda path: models.read(path, "toy", 1), tmp_path / "x", bytes(content))
    assert read == "damaged: the array 'a' does not match its checksum"


def test_what_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"weights\['a'\] is object"):
        models.write(tmp_path / "m", "toy", 2, {}, {"a": np.array([{}], object)})
    monkeypatch.setattr(container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match="a header of .* bytes; at most 1000 are allowed"):
        models.write(tmp_path / "m", "toy", 2, {"a": "b" * 1000}, {})
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        models.write(tmp_path / "no" / "m", "toy", 2, {}, {})
