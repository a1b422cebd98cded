"""Lane of damaged treebanks: each is read, or rejected in one line, and written back unchanged."""

from __future__ import annotations

import gzip
import io
import random
import zlib

from nonproj.errors import DataError, NonprojError
from nonproj.io import broken, conll, splitting
from nonproj.io.checks import ReadingRules
from nonproj.types import Sentence
from research.attack import material, mutators
from research.attack.campaign import BreachError, Lane
from research.attack.properties import check_changes, check_message, check_sentences, require


class Reads(Lane):
    """Reads damaged treebanks, plain or packed, whole or in pieces, under all rules."""

    name = "reads"

    def case(self, rng: random.Random, number: int) -> str:
        """Read one damaged treebank."""
        text = mutators.damage(rng, rng.choice(material.texts()))
        packed = rng.random() < 0.2
        data = mutators.damage_archive(rng, text) if packed else text
        self.current = {"input": data}
        return check_reading(data, draw_rules(rng), rng)


def draw_rules(rng: random.Random) -> ReadingRules:
    """Return random rules of reading."""
    limit = rng.choice((1 << 20, 1 << 20, 1 << 20, 1 << 20, 400, 40))
    return ReadingRules(rng.random() < 0.2, rng.random() < 0.5, limit)


NAMES = ["<stream>", "a.conll", "é/\u2028b", "a\n\x1b[2J\tb", "\udcff", "x" * 4000]
"""Names of the files that are read, as they appear in messages."""


class _Named(io.BytesIO):
    """Bytes with the name of a file."""

    name = "<stream>"


def stream_of(data: bytes, name: str = "<stream>") -> io.BufferedReader:
    """Return the bytes as a stream that is decompressed if necessary, like a file."""
    stream = _Named(data)
    stream.name = name
    return io.BufferedReader(stream)


def read_all(units) -> tuple[list, NonprojError | None]:
    """Return the sentences up to the first error, with the blank lines at the end, and that error."""
    errors: list = []
    found: list = []
    for unit in broken.until_error(units, errors):
        if isinstance(unit, Sentence):
            found.append(unit)
        elif found:
            found[-1].lines.extend(unit.splitlines(keepends=True))
    return found, errors[0] if errors else None


def check_reading(data: bytes, rules: ReadingRules, rng: random.Random) -> str:
    """Read bytes, check all properties, and return the outcome."""
    name = NAMES[0] if rng.random() < 0.8 else rng.choice(NAMES)
    sentences, error = read_all(conll.read(stream_of(data, name), rules))
    check_sentences(sentences)
    if error is not None:
        require(type(error) is DataError and error.path == name, f"{type(error).__name__}: {error}")
        check_message(error, f"{name}:{error.line}: " if name in NAMES[:2] else "")
    if rules.require_heads and not rules.ignore_heads:
        require(all(sentence.heads is not None for sentence in sentences), "a sentence without heads was accepted")
    if rng.random() < 0.3:
        check_pieces(stream_of(data, name), rules, sentences, error, rng.choice((1, 30, 300)))
    plain = unpacked(data)
    check_rewriting(sentences, plain, complete=error is None)
    if sentences and rng.random() < 0.3:
        check_new_trees(sentences, rng)
    if error is None:
        return "read"
    return "rejected after some sentences" if sentences else "rejected"


def unpacked(data: bytes) -> bytes:
    """Return the plain text of what may be a gzip archive: the part that can be decompressed."""
    if data[:2] != b"\x1f\x8b":
        return data
    text, stream = b"", io.BufferedReader(gzip.GzipFile(fileobj=io.BytesIO(data)))
    try:
        while line := stream.readline():
            text += line
    except (EOFError, OSError, zlib.error):
        pass
    return text


def check_rewriting(sentences: list, text: bytes, complete: bool) -> None:
    """Check that sentences written without new trees are the text, or the beginning of it."""
    stream = io.BytesIO()
    conll.write(((sentence, None) for sentence in sentences), stream)
    written = stream.getvalue()
    if complete:
        require(written == text, f"written back: {written!r}")
    else:
        require(text.startswith(written), f"not the beginning of the input: {written!r}")
    stream = io.BytesIO()  # with the trees that it has
    try:
        conll.write(((s, s.heads) for s in sentences), stream)
        require(stream.getvalue() == written, f"with its own trees: {stream.getvalue()!r}")
    except TypeError as error:
        raise BreachError(f"cannot be written: {error}") from None


def check_pieces(stream, rules: ReadingRules, sentences: list, error: NonprojError | None, size: int) -> None:
    """Check that reading in pieces gives the same sentences, lines and errors."""
    pieces = splitting.split(stream, size, rules)
    units = (unit for each in pieces for unit in (each.units(rules) if isinstance(each, splitting.Piece) else [each]))
    found, other = read_all(units)
    facts = [[(s.line, s.rows, s.lines) for s in listed] for listed in (sentences, found)]
    require(facts[0] == facts[1], f"in pieces of {size} bytes: {len(found)} sentences, not {len(sentences)}")
    error = None if "no sentences" in str(error) else error  # which pieces cannot detect
    require(str(error) == str(other), f"in pieces of {size} bytes: {other}; in one: {error}")


def check_new_trees(sentences: list, rng: random.Random) -> None:
    """Check that sentences with other trees are read again, and differ only in the columns of the trees."""
    trees = [draw_heads(rng, len(sentence)) for sentence in sentences]
    labels = [[rng.choice(("a", "root", "x:y")) for _ in sentence.rows] for sentence in sentences]
    deps, stream = rng.choice(("keep", "drop", None)), io.BytesIO()
    heads = [tree[1:] for tree in trees]
    conll.write(zip(sentences, heads, labels, strict=True), stream, deps=deps)
    again, error = read_all(conll.read(stream_of(stream.getvalue()), ReadingRules(require_heads=True)))
    require(error is None, f"the output is rejected: {error}")
    require(len(again) == len(sentences), f"{len(again)} sentences in the output of {len(sentences)}")
    for old, new, tree, names in zip(sentences, again, trees, labels, strict=True):
        require(new.tree.tolist() == tree and new.labels == names, "the output has another tree")
        check_changes(old.lines, new.lines, old, tree, deps)


def draw_heads(rng: random.Random, n_words: int) -> list[int]:
    """Return a random tree as a list of heads."""
    heads, order = [-1] * (n_words + 1), [0]
    for word in rng.sample(range(1, n_words + 1), n_words):
        heads[word] = rng.choice(order)
        order.append(word)
    return heads
