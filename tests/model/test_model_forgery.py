"""Forged and damaged model files: a ModelError, or harmless, and never much memory."""

import dataclasses
import functools
import json
import operator
import os
import random
import time
import tracemalloc
from itertools import product

import numpy as np
import pytest
from containers import a_model
from instances import seeds

from nonproj.cli.main import main
from nonproj.errors import ModelError
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from research.attack import forgery

START = 8


@pytest.fixture(scope="module")
def model() -> Model:
    more = {"arcs": np.arange(6, dtype=np.int32).reshape(2, 3), "none": np.zeros((0, 3)), "x": np.array([1], "u1")}
    return a_model({"parser": np.ones(2048, np.float32)} | more)


@pytest.fixture
def path(model, tmp_path):
    path = tmp_path / "a.nonproj"
    model.save(path)
    return path


def test_every_truncation_and_flipped_bit_of_the_header_is_detected(path):
    content, generator = path.read_bytes(), random.Random(0)
    end = START + int.from_bytes(content[:START], "little")
    sizes = [*range(130), *(generator.randrange(len(content)) for _ in seeds(200)), len(content) - 1]
    damaged = [*(content[:size] for size in sizes), content + b"\0"]
    for place in [*range(128), *(generator.randrange(START, end) for _ in seeds(300))]:
        flipped = content[place] ^ 1 << generator.randrange(8)
        damaged.append(content[:place] + bytes([flipped]) + content[place + 1 :])
    for each in damaged:
        path.write_bytes(each)
        with pytest.raises(ModelError):
            Model.load(path)


def rewrite(path, change) -> None:
    """Change the header of a model file, and make its length, offsets and checksum right again."""
    content = path.read_bytes()
    parts = forgery.take_apart(content)
    data = forgery.put_together(parts.header, parts.arrays)
    behind = data[START + int.from_bytes(data[:START], "little") :]
    changed = change(parts.header)  # offsets that it changes remain
    text = changed if isinstance(changed, bytes) else forgery.text_of(parts.header if changed is None else changed)
    path.write_bytes(forgery.signed(text, behind))


def renamed(of, name):
    return lambda arrays: {other: entry for other, entry in arrays.items() if other != of} | {name: arrays[of]}


def more(**values):
    return lambda old: old | values


LONG, REMOVED = "x" * 3_000_000, object()
FORGED = {
    "labels": (REMOVED, [], [""], ["a"] * 257, ["x" * 201], [LONG], ["a\tb"], ["a\n2\tb"], ["a\rb"], ["\ud800"]),
    "vocabularies": ([], more(**{"\x1b[2J\n" * 500_000: []})),
    "vocabularies/form": (REMOVED, {}, [1], [LONG], ["\ud800"], ["a\x85b"], ["a\nb"]),
    "meta": (1, more(**{"a\nb": 1}), more(**{str(i): {} for i in range(1001)}))
    + (more(**{str(i): 1 for i in range(10_001)}),),
    "meta/a": ("\x1b[2J",),
    "meta/seconds": (10**400, 1 << 63, [[]]),
    "meta/version": (LONG,),
    "meta/log": ("x", [1], [{"\n": 1}], [{}] * 100_001, [{"uas": [1]}], [{"uas": 1.0}, None]),
    "meta/pruning": ({"a": {"b": 1}},),
    "meta/scale": ([1.0], {"parser": float("nan")}, {"parser": float("inf")}),
    "config": (more(colour=1), more(seed=-1), more(**{LONG: 1}), more(parts=[LONG])),
    "config/treebank/name": (LONG,),
    "config/treebank/train": ("\udce6",),
    "config/decoding/step": (LONG,),
    "components/tagger": (json.loads("[" * 100 + "]" * 100),),
    "more": (json.loads("[" * 900 + "]" * 900),),
    "templates/label": (REMOVED,),
    "templates/label/templates": (["h.feat m.feat"] * 40,),
    "templates/pruner/part": ("label",),
    "templates/arc": (more(part="label"), more(codes=["direction"] * 300), more(**{LONG: 1})),
    "templates/arc/templates": (["h.nothing"], ["h.pos m.pos"] * 200_000, ["h.pos " * 200_000], ["h.pos", LONG])
    + ([f"h.pos{' ' * i}between.pos" for i in range(1, 40)],),
    "arrays": ({}, [], lambda arrays: arrays | {"again": arrays["parser"]})
    + (lambda arrays: arrays | {f"a{i}": arrays["none"] for i in range(10_001)},)
    + (more(more={"dtype": "I16", "shape": [0], "data_offsets": [-2, -2], "digest": ""}), renamed("labeler", LONG))
    + tuple(renamed("parser", name) for name in ("labeler", "", "\x1b[2J\ud800", "parsers")),
    "arrays/parser/dtype": ("object", "\x1b[2J" * 100_000, ["F32"], "F64", "BF16", "float32"),
    "arrays/parser/shape": ([1000], [], [-2048], [2048.0], [True], "2048"),
    "arrays/labeler/shape": ([2048],),
    "arrays/arcs/shape": ([0, 1 << 62], [(1 << 31) - 1, (1 << 31) - 1]),
    "arrays/x/shape": ([(1 << 40) - 1] * 4,),
    "arrays/parser/data_offsets": (REMOVED, [0, 8192], [-64, 8128], [4096.0, 12288.0], [4096], "ab")
    + ([1 << 80, (1 << 80) + 8192],),
    "arrays/parser/digest": (REMOVED, 1),
}
"""Values by their place in the header: functions are called with the old one."""


def forge(place, value):
    def change(header):
        *keys, last = place.split("/")
        owner = functools.reduce(operator.getitem, keys, header)
        if value is REMOVED:
            del owner[last]
        else:
            owner[last] = value(owner[last]) if callable(value) else value

    return change


WHOLE = [lambda _, text=text: text for text in (b"[" * 7000, b"\xff\xfe", b"1" * 6000, [])]
EACH = [(forge(place, value), place) for place, values in FORGED.items() for value in values]


@pytest.mark.parametrize("change", [*WHOLE, *(pytest.param(change, id=place) for change, place in EACH)])
def test_forged_headers(path, change):
    rewrite(path, change)
    began = time.process_time()
    with pytest.raises(ModelError) as caught:
        Model.load(path)
    assert time.process_time() - began < 2.0
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and message.isprintable() and len(message) < 2000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["parser", "pruner", "labeler"])
def test_weights_that_are_not_finite(name, value, model, path):
    table = np.zeros(4096, np.float32)
    table[1234] = value
    dataclasses.replace(model, weights=model.weights | {name: table}).save(path)
    with pytest.raises(ModelError, match=f"{path}: cannot be used: the weights of '{name}' are not finite"):
        Model.load(path)


@pytest.mark.parametrize(("name", "claim"), [("parser", {}), *product(("pruner", "labeler"), ({}, {"done": {}}))])
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
    assert r"a\u2028b" in text and all(line.isprintable() for line in text.split("\n"))
    assert main(["inspect", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["training"] == strange


def test_random_forgeries_are_rejected_or_harmless_and_small(path):
    """Values anywhere are replaced: either a ModelError, or arrays that lie within the file."""
    parts, generator, refused = forgery.take_apart(path.read_bytes()), random.Random(2), 0
    chosen, peak = seeds(400, part=8), 0
    for _ in chosen:
        path.write_bytes(forgery.forge(generator, parts))
        tracemalloc.start()
        try:
            loaded = Model.load(path)
            assert sum(array.nbytes for array in loaded.weights.values()) <= os.path.getsize(path)
        except ModelError:
            refused += 1
        peak = max(peak, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert refused > len(chosen) / 4
    assert peak < 20e6
