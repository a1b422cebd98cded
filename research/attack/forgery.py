"""Damages models and checkpoints, with recomputed checksums, so that only their contents are wrong."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nonproj.model.container import FORMAT

START, ALIGNMENT = 8, 64
METADATA, ZEROS = "__metadata__", "0" * 64
BEGINNING = f'{{"{METADATA}":{{"nonproj":"{FORMAT}","checksum":"'.encode()
CODES = {"float32": "F32", "float64": "F64", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8"}

STRANGE: list = [None, True, False, -1, 0, 1, 2, 3, 255, 1 << 31, 1 << 40, 1 << 63, 1 << 70, 0.5, -0.0, 1e308, 5e-324]
STRANGE += [float("nan"), float("inf"), "", "x", "a\tb", "\n", "\ud800", "\x1b[2J", "é" * 300, "auto", "F32", "I16"]
STRANGE += [[], [1], [[]], ["a", "a"], {}, {"a": 1}, {"a": {"b": 1}}, "h.pos m.pos", "h.form", "between.pos", [0, 1]]
"""Values that replace those of a header."""

ARRAYS = ["zeros", "ones", "largest", "smallest", "random", "nan", "inf", "tiny", "reversed", "bits", "few", "few"]
"""Replacements of the numbers of an array."""


class Parts(NamedTuple):
    """The content of a model file: its header as JSON, and its arrays by name.

    The header has the values, and ``arrays``: the safetensors entry of each array, and its digest.
    """

    header: dict
    arrays: dict[str, np.ndarray]


class Text(str):
    """A JSON text that is written verbatim in place of a value."""


def take_apart(data: bytes) -> Parts:
    """Return the parts of a model file."""
    start = START + int.from_bytes(data[:START], "little")
    entries = json.loads(data[START:start].decode("utf-8", "surrogatepass"))
    values = {name: json.loads(text) for name, text in entries.pop(METADATA).items() if name != "checksum"}
    digests, arrays = values.pop("digests"), {}
    del values["nonproj"]
    names = {code: name for name, code in CODES.items()}
    for name, entry in entries.items():
        begin, count = start + entry["data_offsets"][0], int(np.prod(entry["shape"]))
        array = np.frombuffer(data, np.dtype(names[entry["dtype"]]).newbyteorder("<"), count, begin)
        arrays[name] = array.reshape(entry["shape"]).copy()
    described = {name: entry | {"digest": digests[name]} for name, entry in entries.items()}
    return Parts({"arrays": described, **values}, arrays)


def put_together(header: object, arrays: dict[str, np.ndarray]) -> bytes:
    """Return a model file with a valid checksum, and with valid offsets where the header still lists offsets."""
    entries = header.get("arrays") if isinstance(header, dict) else None
    order = sorted(arrays, key=lambda name: -arrays[name].itemsize if arrays[name].nbytes % ALIGNMENT else -ALIGNMENT)
    position = 0
    for name in order:
        end, entry = position + arrays[name].nbytes, entries.get(name) if isinstance(entries, dict) else None
        if isinstance(entry, dict) and isinstance(entry.get("data_offsets"), list):
            entry["data_offsets"] = [position, end]
        position = end
    return signed(text_of(header), b"".join(arrays[name].tobytes() for name in order))


def text_of(header: object) -> bytes:
    """Return the text of a header, with zeros for the digits of its checksum."""
    if not isinstance(header, dict):
        return encode(header)
    entries = header.get("arrays")
    described = entries if isinstance(entries, dict) else {}
    stated = {name: entry["digest"] for name, entry in described.items() if _has_digest(entry)}
    digests = stated if isinstance(entries, dict) else entries
    metadata = {"nonproj": str(FORMAT), "checksum": ZEROS, "digests": encode(digests).decode("utf-8", "surrogatepass")}
    for name, value in header.items():
        if name != "arrays":
            text = value if isinstance(value, Text) else encode(value).decode("utf-8", "surrogatepass")
            metadata[name] = str(text)
    return encode({METADATA: metadata} | {name: _without_digest(entry) for name, entry in described.items()})


def _has_digest(entry: object) -> bool:
    return isinstance(entry, dict) and "digest" in entry


def _without_digest(entry: object) -> object:
    return {key: value for key, value in entry.items() if key != "digest"} if isinstance(entry, dict) else entry


def signed(text: bytes, body: bytes = b"") -> bytes:
    """Return a model file of this header, padded and with the right checksum, and the given data."""
    text = text.ljust(-(-(START + len(text)) // ALIGNMENT) * ALIGNMENT - START)
    length, digits = len(text).to_bytes(START, "little"), slice(len(BEGINNING), len(BEGINNING) + len(ZEROS))
    checksum = hashlib.blake2b(length + text[: digits.start] + text[digits.stop :], digest_size=32).hexdigest().encode()
    return length + text[: digits.start] + checksum + text[digits.stop :] + body


def encode(header: object) -> bytes:
    """Return a value's text as nonproj writes it."""
    return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def assemble(parts: Parts) -> bytes:
    """Return the model file of these parts, with right digests where the header still describes the arrays."""
    for name, entry in parts.header["arrays"].items() if isinstance(parts.header.get("arrays"), dict) else ():
        if isinstance(entry, dict) and name in parts.arrays:
            content = np.ascontiguousarray(parts.arrays[name])
            entry["digest"] = hashlib.blake2b(content.tobytes(), digest_size=16).hexdigest()
    return put_together(parts.header, parts.arrays)


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return a model file with damage that a checksum may notice: flipped, lost, inserted or repeated bytes."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, change = rng.randrange(len(data) + 1), rng.randrange(6)
        place = rng.randrange(2 * ALIGNMENT) if rng.random() < 0.3 else place
        if change < 3 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
        elif change == 3:
            data = data[:place]
        elif change == 4:
            data = data[:place] + rng.randbytes(rng.choice((1, 8, 64))) + data[place:]
        else:
            data = data[:place] + data[place + rng.choice((1, 8, 64)) :]
    return data


def forge(rng: random.Random, parts: Parts) -> bytes:
    """Return a model file with different contents and valid checksums."""
    header = json.loads(encode(parts.header).decode("utf-8", "surrogatepass"))
    arrays = dict(parts.arrays)
    change = rng.randrange(10)
    if change == 0:
        data = put_together(header, arrays)
        start = START + int.from_bytes(data[:START], "little")
        text = bytearray(data[START:start])
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
        return signed(bytes(text), data[start:])
    if change <= 4:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            replace_somewhere(rng, header)
    elif change == 5:
        _change_options(rng, header)
    elif change == 6:
        _change_templates(rng, header)
    elif change == 7:
        _change_strings(rng, header)
    else:
        change_array(rng, arrays, header)
    return assemble(Parts(header, arrays))


def forge_component(rng: random.Random, parts: Parts, name: str) -> bytes:
    """Return a model file with valid checksums in which one component has different contents."""
    header = json.loads(encode(parts.header))
    arrays, own = dict(parts.arrays), [array for array in parts.arrays if array.startswith(f"{name}.")]
    change, state = rng.randrange(10), header["components"][name]
    if change <= 2 and state:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            replace_somewhere(rng, state)
    elif change <= 5:
        forge_strings(rng, state)
    elif change == 6:
        _change_strings(rng, header)
    else:
        for _ in range(rng.choice((1, 1, 2))):
            change_array(rng, arrays, header, own)
    return assemble(Parts(header, arrays))


HOSTILE = ["\ud800", "a\rb", "\r", "\n", "a\tb", "\0", "\x85", "\x1b[2J", " ", "a b", "", "x" * 500, "x" * 20_000]
HOSTILE += ["\u0301"]
HOSTILE += ["\u2028", "\u200d", "\ufeff", "ΐ" * 190, "ß", "İ", "=" + "y" * 300, "l\t+x+y\t>>>>", "k\t-a\t", "l\t\t"]
HOSTILE += ["char_classes", "lex_attrs", "da", "spacy", "trained", "unicode", "(", ")", "((", "-LRB-", "<unk>", "TOP"]
"""Strings that replace others."""


def forge_strings(rng: random.Random, node: dict | list) -> None:
    """Replace strings in a JSON document by hostile ones, or repeat an item of a list very often."""
    places = list(_strings_in(node))
    for _ in range(min(rng.choice((1, 1, 2, 5)), len(places))):
        owner, key = rng.choice(places)
        if type(owner) is list and rng.random() < 0.2:
            owner.extend([owner[0]] * rng.choice((1, 30, 3_000)))
        else:
            owner[key] = rng.choice(HOSTILE)


def _strings_in(node: dict | list) -> Iterator[tuple[dict | list, object]]:
    """Yield the strings in a JSON document, each as its owner and key."""
    for key, value in list(node.items()) if isinstance(node, dict) else enumerate(node):
        if isinstance(value, str):
            yield node, key
        elif isinstance(value, dict | list):
            yield from _strings_in(value)


def replace_somewhere(rng: random.Random, node: dict | list) -> None:
    """Replace, remove or repeat a value anywhere in a JSON document."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.85:
            node = node[key]
            continue
        change = rng.randrange(8)
        if change == 0:
            del node[key]
        elif change == 1 and isinstance(node, list):
            node.insert(rng.randrange(len(node) + 1), node[key])
        elif change == 2 and isinstance(node, dict):
            node[rng.choice(("x", "", "\ud800", "a" * 900, "parser"))] = node[key]
        else:
            node[key] = copy.deepcopy(rng.choice(STRANGE))
        return


def _change_options(rng: random.Random, header: dict) -> None:
    """Set options to values that are allowed, mostly extreme ones."""
    decoding, pruner = header["config"]["decoding"], header["config"]["pruner"]
    choices = {
        "max_iterations": (1, 2, 10**9),
        "exact": (True, False),
        "search_limit": (0, 1, 10**9, 1 << 53),
        "full": (True, False),
        "step": ("polyak", "paper"),
        "beta": (0.0, 1.0, 5e-324),
        "tau": (0.0, 1.0, 0.999),
        "projective": (True, False, "auto"),
        "single_root": (True, False, "auto"),
        "threshold": (1.0, 5e-324, 1e-300),
        "tolerance": (0.0, 1e300, 1e-15),
        "max_words": (1, 10_000),
        "cut_words": (2, 1000),
    }
    for name in rng.sample(sorted(choices), rng.randint(1, 4)):
        decoding[name] = rng.choice(choices[name])
    pruner["max_heads"] = rng.choice((1, 2, 10**9))
    header["config"]["parts"] = rng.choice(([*header["config"]["parts"]], ["arc"], ["arc", "grandparent"]))
    header["meta"]["multi_root"] = rng.choice((True, False))
    header["meta"]["projective"] = rng.choice((True, False))


def _change_templates(rng: random.Random, header: dict) -> None:
    """Replace templates by others of the same words, repeat them, or leave only one."""
    spec = header["templates"][rng.choice(sorted(header["templates"]))]
    listed = spec["templates"]
    words = sorted({term for template in listed for term in template.split()})
    change = rng.randrange(5)
    if change == 0:
        spec["templates"] = [rng.choice(listed)]
    elif change == 1:
        spec["templates"] = listed + listed
    elif change == 2:
        terms = [" ".join(rng.choice(words) for _ in range(rng.randint(1, 12))) for _ in range(rng.randint(1, 30))]
        spec["templates"] = terms
    elif change == 3:
        listed[rng.randrange(len(listed))] = rng.choice(
            ("m+9.form", "h-9.pos", "s.pos", "between.pos", "h.feat m.feat", "")
        )
    else:
        spec["codes"] = rng.choice((["none"], ["direction", "distance"], [], ["none"] * 99, ["order"]))


def _change_strings(rng: random.Random, header: dict) -> None:
    """Change labels, vocabularies or the training history."""
    change = rng.randrange(4)
    if change == 0:
        new = ["a b", "_", "", "root", "\u2028", "x" * 9999, "é", "a:b", "\ufeff", "\x00"]
        header["labels"] = [rng.choice(new) for _ in range(rng.choice((1, 2, 255, 256, 257)))]
    elif change == 1:
        name = rng.choice(sorted(header["vocabularies"]))
        header["vocabularies"][name] = rng.choice(([], ["hund"] * 3, [chr(i) for i in range(200)], ["_"], ["\x00", ""]))
    elif change == 2:
        header["meta"]["log"] = rng.choice(([], [{}], [{"epoch": -1}] * 50, [{"uas": float("nan")}]))
    else:
        header["meta"]["scale"] = {name: rng.choice((1e-300, 1e29, 1.0, 5e-324)) for name in ("parser", "pruner")}


def change_array(
    rng: random.Random, arrays: dict[str, np.ndarray], header: dict, names: list[str] | None = None
) -> None:
    """Replace all, one or a few of the numbers of a random array, and sometimes its dtype or shape."""
    name = rng.choice(sorted(names or arrays))
    old, kind = arrays[name], rng.choice(ARRAYS)
    floats = old.dtype.kind == "f"
    limits = np.finfo(old.dtype) if floats else np.iinfo(old.dtype)
    generator = np.random.default_rng(rng.randrange(1 << 32))
    new = old.copy()
    if kind == "zeros" or (kind in ("nan", "inf", "tiny") and not floats):
        new[...] = 0
    elif kind in ("ones", "largest", "smallest", "tiny"):
        new[...] = {"ones": 1, "largest": limits.max, "smallest": limits.min, "tiny": getattr(limits, "tiny", 0)}[kind]
    elif kind in ("nan", "inf"):
        new.flat[rng.randrange(max(new.size, 1)) if new.size else slice(0)] = float(kind)
    elif kind == "few" and new.size:
        extremes = (
            (0, 1, limits.max, limits.min, 7) if not floats else (0.0, -1.0, limits.max, limits.min, 1e30, 1e-300)
        )
        for _ in range(rng.choice((1, 2, 9))):
            new.flat[rng.randrange(new.size)] = rng.choice(extremes)
    elif kind == "reversed":
        new = np.ascontiguousarray(new[::-1])
    else:
        new = generator.integers(0, 256, new.nbytes, np.uint8).view(new.dtype).reshape(new.shape)
        new = np.nan_to_num(new) if floats and kind == "random" else new
    if rng.random() < 0.2:
        new = new[: rng.choice((0, 1, len(new) // 2, len(new) - 1))]
    if rng.random() < 0.1:
        with np.errstate(all="ignore"):
            new = new.astype(rng.choice(("float32", "float64", "int16", "int32", "uint8")))
    arrays[name] = new
    header["arrays"][name] |= {"shape": list(new.shape), "dtype": CODES[new.dtype.name]}
