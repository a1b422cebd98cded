"""Damages text and gzip archives.  All randomness comes from the generator that is passed in."""

from __future__ import annotations

import gzip
import random
import zlib

BYTES = [b"", b"\n", b"\n\n", b"\r", b"\r\n", b"\t", b" ", b"#", b"# a = b\n", b"-", b".", b"0", b"1", b"9", b"_", b"|"]
BYTES += [b":", b"=", b"\xff", b"\xc3", b"\0", b"\x1b[2J", b"\xef\xbb\xbf", b"1-2", b"1.1", b"0.1", b"\xc3\xa9"]
BYTES += ["\u2028".encode(), "\u0301".encode(), b"\xed\xa0\x80", "\U0001f600".encode(), "\u0661".encode(), b"1_0"]
"""Bytes that are inserted into text."""

VALUES = ["_", "", " ", "0", "1", "2", "3", "99", "-1", "+1", "01", "1e9", "9" * 30, "\u0661", "1-2", "2-9", "3.1"]
VALUES += ["nan"]
VALUES += ["root", "a\rb", "a\u2028b", "A" * 300, "\u0000", "1:root", "2:a|1:b", "x=1|x=2", "SpaceAfter=No", "#", "é"]
VALUES += ["\ufeff"]
"""Values that are put into a column."""


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return a text with one to four changes to its bytes, lines or columns."""
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 4))):
        data = rng.choice(_CHANGES)(rng, data)
    return data


def _replace(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(BYTES) + data[place + rng.randint(0, 2) :]


def _flip(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.randint(1, 40) :]


def _copy(rng: random.Random, data: bytes) -> bytes:
    start, place = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    return data[:place] + data[start : start + rng.randint(1, 60)] + data[place:]


def _truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    x, y = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(4)
    if change == 0:
        lines[x], lines[y] = lines[y], lines[x]
    elif change == 1:
        lines.insert(x, lines[y])
    elif change == 2:
        del lines[x]
    else:
        lines[x] = rng.choice((b"", b" ", b"\t", b"#", b"# text = x", b"\r", lines[y] + lines[x]))
    return b"\n".join(lines)


def _column(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    index = rng.randrange(len(lines))
    columns = lines[index].split(b"\t")
    column, change = rng.randrange(len(columns)), rng.randrange(8)
    if change == 0:
        del columns[column]
    elif change == 1:
        columns.insert(column, columns[rng.randrange(len(columns))])
    else:
        columns[column] = rng.choice(VALUES).encode()
    lines[index] = b"\t".join(columns)
    return b"\n".join(lines)


def _word(rng: random.Random, data: bytes) -> bytes:
    """Change a word where any text is allowed, or its head, so that the file mostly remains readable."""
    lines = data.split(b"\n")
    words = [index for index, line in enumerate(lines) if line.count(b"\t") == 9]
    if not words:
        return data
    index = rng.choice(words)
    columns = lines[index].split(b"\t")
    if rng.random() < 0.2:
        columns[6] = str(rng.randint(0, len(words))).encode()
    else:
        column = rng.choice((1, 2, 3, 4, 5, 7, 8, 9))
        place = rng.randrange(len(columns[column]) + 1)
        columns[column] = columns[column][:place] + rng.choice(VALUES).encode() + columns[column][place:]
    lines[index] = b"\t".join(columns)
    return b"\n".join(lines)


def _sentences(rng: random.Random, data: bytes) -> bytes:
    """Repeat sentences, or put comments or blank lines between them."""
    sentences = data.split(b"\n\n")
    between = rng.choice((b"\n\n", b"\n\n# x = \xc3\xa9\n", b"\n\n\n", b"\n \n", b"\r\n\r\n"))
    return between.join(rng.choice(sentences) for _ in range(rng.randint(1, 4))) + rng.choice((b"", b"\n", b"\n\n"))


_CHANGES = (_word, _word, _word, _word, _sentences, _replace, _flip, _cut, _copy, _truncate, _lines, _lines, _column)
_CHANGES += (_column, _column)


def damage_archive(rng: random.Random, data: bytes) -> bytes:
    """Return a gzip archive of a text, of several members or with bytes after it, mostly damaged."""
    middle = rng.randrange(len(data) + 1)
    members = [data] if rng.random() < 0.6 else [data[:middle], data[middle:]]
    packed = b"".join(gzip.compress(member, rng.choice((0, 1, 9)), mtime=0) for member in members)
    change = rng.randrange(6)
    if change == 0:
        return packed
    if change == 1:
        return packed[: rng.randrange(2, len(packed))]
    if change == 2:
        return packed + rng.choice((b"\0" * 9, b"junk", gzip.compress(b"")[:7], packed[:11]))
    if change == 3:
        return b"\x1f\x8b" + zlib.compress(data)
    for _ in range(rng.choice((1, 1, 2))):
        packed = packed[:2] + _flip(rng, packed[2:])
    return packed
