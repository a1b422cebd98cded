"""Forged and damaged model files: a ModelError, or harmless, and never much memory."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import random
import time
import tracemalloc

import numpy as np
import pytest
from instances import seeds

from nonproj.cli.main import main
from nonproj.errors import ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.templates import attributes_of, load_templates
from research.attack import forgery

START = 8


@pytest.fixture(scope="module")
def model() -> Model:
    generator = np.random.default_rng(0)
    tables = {"pruner": 1024, "parser": 2048, "labeler": 4096}
    weights = {name: generator.normal(size=size).astype(np.float32) for name, size in tables.items()}
    weights |= {"arcs": np.arange(6, dtype=np.int32).reshape(2, 3), "none": np.zeros((0, 3)), "x": np.array([1], "u1")}
    templates = load_templates(parts="sibling")
    vocabularies = {name: ["hus", "æble", "\t", '"\\'] for name in [*attributes_of(templates), "feat"]}
    return Model(Config(parts="sibling"), vocabularies, templates, ["subj", "obj"], weights, {"multi_root": False})


@pytest.fixture
def path(model, tmp_path):
    path = tmp_path / "a.nonproj"
    model.save(path)
    return path


def test_model_files_are_not_pickles(path):
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(path.read_bytes())


def test_every_truncation_is_detected(path):
    content = path.read_bytes()
    generator = random.Random(0)
    for size in [*range(0, 130), *(generator.randrange(len(content)) for _ in range(200)), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ModelError):
            Model.load(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ModelError):
        Model.load(path)


def test_every_flipped_bit_of_the_header_is_detected(path):
    content = bytearray(path.read_bytes())
    end = START + int.from_bytes(content[:START], "little")
    generator = random.Random(1)
    for place in [*range(128), *(generator.randrange(START, end) for _ in range(300))]:
        bit = 1 << generator.randrange(8)
        content[place] ^= bit
        path.write_bytes(content)
        with pytest.raises(ModelError):
            Model.load(path)
        content[place] ^= bit


def rewrite(path, change) -> None:
    """Change the header of a model file, and make its length, offsets and checksum right again."""
    content = path.read_bytes()
    parts = forgery.take_apart(content)
    data = forgery.put_together(parts.header, parts.arrays)
    behind = data[START + int.from_bytes(data[:START], "little") :]
    changed = change(parts.header)  # offsets that it changes remain
    text = changed if isinstance(changed, bytes) else forgery.text_of(parts.header if changed is None else changed)
    path.write_bytes(forgery.signed(text, behind))


def array(of, **changes):
    def change(header):
        header["arrays"][of].update(changes)

    return change


def renamed(of, name):
    def change(header):
        header["arrays"][name] = header["arrays"].pop(of)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda h: b"[" * 7000,
        lambda h: b"\xff\xfe",
        lambda h: b"1" * 6000,
        lambda h: [],
        lambda h: h.pop("labels") and None,
        lambda h: h["arrays"]["parser"].pop("digest") and None,
        lambda h: h["arrays"]["parser"].pop("data_offsets") and None,
        lambda h: h.update(vocabularies=[]),
        lambda h: h["vocabularies"].update(form=[1]),
        lambda h: h["vocabularies"].pop("form") and None,
        lambda h: h.update(labels=["a"] * 257),
        lambda h: h.update(labels=["x" * 3_000_000]),
        lambda h: h.update(labels=["x" * 201]),
        lambda h: h.update(labels=[""]),
        lambda h: h["vocabularies"].update(form=["x" * 3_000_000]),
        lambda h: h["vocabularies"].update(form=["\ud800"]),
        lambda h: h["vocabularies"].update(form=["a\x85b"]),
        lambda h: h["vocabularies"].update(form=["a\nb"]),
        lambda h: h["vocabularies"].update(form={}),
        lambda h: h["meta"].update(seconds=10**400),
        lambda h: h["meta"].update(seconds=1 << 63),
        lambda h: h["meta"].update(version="x" * 3_000_000),
        lambda h: h["meta"].update({"a\nb": 1}),
        lambda h: h["meta"].update(a="\x1b[2J"),
        lambda h: h["meta"].update(log=[{"\n": 1}]),
        lambda h: h["meta"].update(log=[{}] * 100_001),
        lambda h: h["meta"].update({str(i): {} for i in range(1001)}),
        lambda h: h["meta"].update({str(i): 1 for i in range(10_001)}),
        lambda h: h["config"]["treebank"].update(name="x" * 3_000_000),
        lambda h: h["config"]["treebank"].update(train="\udce6"),
        lambda h: h["components"].update(tagger=json.loads("[" * 100 + "]" * 100)),
        lambda h: h.update(more=json.loads("[" * 900 + "]" * 900)),
        lambda h: h.update(labels=[]),
        lambda h: h.update(meta=1),
        lambda h: h.update(arrays={}),
        lambda h: h.update(arrays=[]),
        lambda h: h["arrays"].update(again=h["arrays"]["parser"]),
        lambda h: h["arrays"].update(more={"dtype": "I16", "shape": [0], "data_offsets": [-2, -2], "digest": ""}),
        lambda h: h["arrays"].update({f"a{i}": h["arrays"]["none"] for i in range(10_001)}),
        lambda h: h["templates"]["arc"].update(part="label"),
        lambda h: h["templates"]["pruner"].update(part="label"),
        lambda h: h["templates"]["arc"].update(templates=["h.nothing"]),
        lambda h: h["templates"].pop("label") and None,
        lambda h: h["config"].update(colour=1),
        lambda h: h["config"].update(seed=-1),
        array("parser", dtype="object"),
        array("parser", dtype="\x1b[2J" * 100_000),
        array("parser", dtype=["F32"]),
        array("parser", dtype="F64"),
        array("parser", dtype="BF16"),
        array("parser", dtype="float32"),
        array("parser", shape=[1000]),
        array("labeler", shape=[2048]),
        array("parser", shape=[]),
        array("parser", shape=[-2048]),
        array("parser", shape=[2048.0]),
        array("parser", shape=[True]),
        array("parser", shape="2048"),
        array("arcs", shape=[0, 1 << 62]),
        array("arcs", shape=[(1 << 31) - 1, (1 << 31) - 1]),
        array("x", shape=[(1 << 40) - 1] * 4),
        array("parser", data_offsets=[0, 8192]),
        array("parser", data_offsets=[-64, 8128]),
        array("parser", data_offsets=[1 << 80, (1 << 80) + 8192]),
        array("parser", data_offsets=[4096.0, 12288.0]),
        array("parser", data_offsets=[4096]),
        array("parser", data_offsets="ab"),
        array("parser", digest=1),
        renamed("parser", "labeler"),
        renamed("parser", ""),
        renamed("parser", "\x1b[2J\ud800"),
        renamed("parser", "parsers"),
        renamed("labeler", "x" * 2_000_000),
        lambda h: h.update(labels=["a\tb"]),
        lambda h: h.update(labels=["a\n2\tb"]),
        lambda h: h.update(labels=["a\rb"]),
        lambda h: h.update(labels=["\ud800"]),
        lambda h: h["vocabularies"].update({"\x1b[2J\n" * 500_000: []}),
        lambda h: h["meta"].update(log="x"),
        lambda h: h["meta"].update(log=[1]),
        lambda h: h["meta"].update(log=[{"uas": [1]}]),
        lambda h: h["meta"].update(log=[{"uas": 1.0}, None]),
        lambda h: h["meta"].update(seconds=[[]]),
        lambda h: h["meta"].update(pruning={"a": {"b": 1}}),
        lambda h: h["meta"].update(scale=[1.0]),
        lambda h: h["meta"].update(scale={"parser": float("nan")}),
        lambda h: h["meta"].update(scale={"parser": float("inf")}),
        lambda h: h["templates"]["arc"].update(templates=["h.pos m.pos"] * 200_000),
        lambda h: h["templates"]["arc"].update(templates=["h.pos " * 200_000]),
        lambda h: h["templates"]["arc"].update(templates=["h.pos", "x" * 3_000_000]),
        lambda h: h["templates"]["arc"].update(templates=[f"h.pos{' ' * i}between.pos" for i in range(1, 40)]),
        lambda h: h["templates"]["label"].update(templates=["h.feat m.feat"] * 40),
        lambda h: h["templates"]["arc"].update(codes=["direction"] * 300),
        lambda h: h["templates"]["arc"].update({"x" * 3_000_000: 1}),
        lambda h: h["config"].update({"x" * 3_000_000: 1}),
        lambda h: h["config"].update(parts=["x" * 3_000_000]),
        lambda h: h["config"]["decoding"].update(step="x" * 3_000_000),
    ],
)
def test_forged_headers(path, change):
    rewrite(path, change)
    began = time.process_time()
    with pytest.raises(ModelError) as caught:
        Model.load(path)
    assert time.process_time() - began < 2.0
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    assert len(message) < 2000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["parser", "pruner", "labeler"])
def test_weights_that_are_not_finite(name, value, model, path):
    table = np.zeros(4096, np.float32)
    table[1234] = value
    dataclasses.replace(model, weights=model.weights | {name: table}).save(path)
    with pytest.raises(ModelError, match=f"{path}: cannot be used: the weights of '{name}' are not finite"):
        Model.load(path)


@pytest.mark.parametrize(
    ("name", "claim"),
    [("parser", {}), ("pruner", {}), ("labeler", {}), ("pruner", {"done": {}}), ("labeler", {"done": {}})],
)
def test_a_table_that_is_missing(name, claim, model, path):
    """A model that claims to be a checkpoint needs its tables, too."""
    rest = {other: table for other, table in model.weights.items() if other != name}
    dataclasses.replace(model, weights=rest, meta=model.meta | claim).save(path)
    text = "one of the arrays labeler, parser, pruner is missing"
    with pytest.raises(ModelError, match=f"{path}: cannot be used: {text}"):
        Model.load(path)


def test_a_checkpoint_is_not_parsed_with(model):
    tables = {name: model.weights[name] for name in ("pruner", "labeler")}
    meta = model.meta | {"done": {"pruner": True, "labeler": True}}
    checkpoint = Model.from_bytes(dataclasses.replace(model, weights=tables, meta=meta).to_bytes())
    with pytest.raises(ModelError, match="a checkpoint, not a model"):
        Parser(checkpoint)


def test_a_report_escapes_what_a_model_says(path, capsys):
    strange = {"a\u2028b": "\u202e[2J", "log": [{"\u2028": "\ue000"}]}
    rewrite(path, lambda header: header.update(meta=strange))
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert r"a\u2028b" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert main(["inspect", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["training"] == strange


def test_rewriting_itself_changes_nothing(model, path):
    rewrite(path, lambda header: None)
    loaded = Model.load(path)
    assert (loaded.config, loaded.vocabularies, loaded.labels) == (model.config, model.vocabularies, model.labels)
    for name, weights in model.weights.items():
        np.testing.assert_array_equal(loaded.weights[name], weights)


def test_random_forgeries_are_rejected_or_harmless_and_small(path):
    """Values anywhere in the header are replaced: either a ModelError, or arrays that lie within the file."""
    original, generator, refused = path.read_bytes(), random.Random(2), 0
    values = [None, True, -1, 0, 3, 1 << 40, 1 << 70, 0.5, "", "x", [], [1], {}, {"a": 1}]

    def change(header):
        while True:
            keys = list(header) if isinstance(header, dict) else list(range(len(header)))
            key = generator.choice(keys)
            if isinstance(header[key], dict | list) and header[key] and generator.random() < 0.8:
                header = header[key]
            else:
                header[key] = generator.choice(values)
                return

    tracemalloc.start()
    chosen = seeds(400, least=100)
    for _ in chosen:
        path.write_bytes(original)
        rewrite(path, change)
        try:
            loaded = Model.load(path)
            assert sum(array.nbytes for array in loaded.weights.values()) <= os.path.getsize(path)
        except ModelError:
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > len(chosen) / 4
    assert peak < 20e6
