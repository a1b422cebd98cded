"""A small model, and what every reader of models must refuse, and how."""

import io
import json
import zipfile

import numpy as np
import pytest

from nonproj.errors import ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.templates import attributes_of, load_templates
from research.attack import forgery

STRANGE = ["hus", "a\tb", "\\n", "\\ud800", '"\\', "😀", "", "a\u2028b"]
"""Strings that a format might stumble over."""


def a_model(tables=None, strings=STRANGE) -> Model:
    """A model with these arrays, and random tables for the others it needs."""
    generator = np.random.default_rng(1)
    sizes = {"pruner": 1024, "parser": 4096, "labeler": 4096}
    tables = {name: generator.normal(size=size).astype(np.float32) for name, size in sizes.items()} | (tables or {})
    templates = load_templates(parts="sibling")
    vocabularies = {name: list(strings) for name in [*attributes_of(templates), "feat"]}
    config = Config.from_dict({"parts": "sibling", "training": {"epochs": 3}})
    return Model(config, vocabularies, templates, ["subj", "æ"], tables, {"log": [{"uas": 0.5, "las": None}]})


def signed(text: str) -> bytes:
    """A file of which one value is this JSON text; the checksum is right."""
    return forgery.put_together({"arrays": {}, "kind": forgery.Text(text)}, {})


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
        for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            assert refused(load, path, signed(text)) == "damaged: the header is nested more than 12 deep"
            behind = forgery.text_of({"arrays": {}})[:-1] + b',"a":' + text.encode() + b"}"
            said = refused(load, path, forgery.signed(behind))
            assert said.startswith(("damaged: the header is nested", "not a model"))
    many = "[" + "[]," * (1 << 22) + "[]]"
    assert "more than 4194304 objects and lists" in refused(load, path, signed(many))


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
    '{"a":"\\ud800"}',
    '{"a":"\ud800"}',
    '{"a":"\\u0000"}',
    '{"a":"\\n"}',
    '{"\\r":1}',
    '{"a":"\x7f"}',
    '"\x85"',
]
NONSENSE += ['{"a":"\\\\\\u001b"}', '{"a":"\x1b"}', '"\\ud83d\\ude00"', "1" * 6000, "{", "", "NaN,"]
"""Values with control characters, and invalid values."""


def check_nonsense(load, path, text: str) -> None:
    """An invalid value is explained in one line."""
    assert refused(load, path, signed(text)).startswith("damaged: the header ")
    escaped = "".join(f"\\u{ord(character):04x}" for character in text)
    header = forgery.text_of({"arrays": {}, "kind": forgery.Text()}).replace(b'd":""', f'd":"{escaped}"'.encode())
    assert refused(load, path, forgery.signed(header)).startswith("damaged: the header ")
