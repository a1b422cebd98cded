"""Models of fastText from the definition of their format: written number by number, words cut by character."""

from __future__ import annotations

import struct


def fnv(text):
    """The hash of a string: FNV-1a over its bytes, which have a sign."""
    key = 2166136261
    for byte in text.encode():
        signed = byte - 256 if byte > 127 else byte
        key = ((key ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return key


def buckets(word, shortest, longest, count):
    """The buckets of a word's n-grams, all but one of its ends alone."""
    if word == "</s>" or not count:
        return []
    text = f"<{word}>"
    pieces = [text[i : i + k] for i in range(len(text)) for k in range(1, longest + 1) if i + k <= len(text)]
    ends = [text[i : i + k] in ("<", ">") and (i == 0 or i + k == len(text)) for i, k in places(text, longest)]
    kept = [piece for piece, end in zip(pieces, ends, strict=True) if len(piece) >= shortest and not end]
    return [fnv(piece) % count for piece in kept]


def places(text, longest):
    """Where substrings begin, and their numbers of characters."""
    return [(i, k) for i in range(len(text)) for k in range(1, longest + 1) if i + k <= len(text)]


def vector(word, words, matrix, shortest, longest, count):
    """The mean of the rows of a word and its n-grams; None if there is none."""
    rows = [words.index(word)] if word in words else []
    rows += [len(words) + bucket for bucket in buckets(word, shortest, longest, count)]
    return [sum(matrix[row][d] for row in rows) / len(rows) for d in range(len(matrix[0]))] if rows else None


def model(words, matrix, shortest, longest, count, labels=(), version=12, kind=2, quantised=False):
    """The bytes of a file: the program's own order of numbers, and an output matrix of zeros."""
    size = len(matrix[0])
    data = struct.pack("<ii", 793712314, version)
    for number in (size, 5, 5, 1, 5, 1, 2, kind, count, shortest, longest, 100):
        data += struct.pack("<i", number)
    data += struct.pack("<d", 1e-4)
    entries = [(word, 0) for word in words] + [(label, 1) for label in labels]
    data += struct.pack("<iii", len(entries), len(words), len(labels)) + struct.pack("<qq", 99, -1)
    for text, is_label in entries:
        data += text.encode() + b"\0" + struct.pack("<q", 7) + struct.pack("<b", is_label)
    data += struct.pack("<?", quantised)
    for rows in (matrix, [[0.0] * size for _ in words]):
        data += struct.pack("<qq", len(rows), size)
        for row in rows:
            data += struct.pack(f"<{size}f", *row)
        data += struct.pack("<?", False) if rows is matrix else b""
    return data
