"""Lane of damaged files of word vectors: each is read, or rejected in one line."""

from __future__ import annotations

import gzip
import random
import struct

import numpy as np

from nonproj.errors import DataError, FileError
from nonproj.scoring.vectors import MOST_DIMENSIONS, WordVectors
from research.attack import mutators
from research.attack.campaign import Lane
from research.attack.properties import check_message, require

WORDS = [
    "the",
    "Haus",
    "New York",
    "ñandú",
    "\u0431\u044b\u043b",
    "\U0001f600",
    "x" * 300,
    "a\x07b",
    "1e5",
    "-1",
    "nan",
]
NUMBERS = ["0", "-1.5", "1e-3", "1e38", "1e39", "nan", "-inf", "x", "1_0", "٣", ""]


class Vectors(Lane):
    """Reads damaged files of word vectors, text or binary, perhaps with gzip."""

    name = "vectors"

    def case(self, rng: random.Random, number: int) -> str:
        """Read one damaged file."""
        data = draw_file(rng)
        if rng.random() < 0.8:
            data = mutators.damage(rng, data)
        if rng.random() < 0.2:
            data = mutators.damage_archive(rng, data) if rng.random() < 0.7 else gzip.compress(data)
        self.current = {"vectors": data}
        path = self.folder / "vectors"
        path.write_bytes(data)
        most, wanted = rng.choice((1, 2, 5, 1000)), rng.sample(WORDS, rng.randrange(4))
        try:
            found = WordVectors.read(path, most, wanted)
        except (DataError, FileError) as error:
            check_message(error, str(path))
            return "rejected"
        require(len(set(found.words)) == len(found.words) == len(found.table) > 0, "words and vectors do not match")
        require(len(found.words) <= most + len(wanted), f"{len(found.words)} words, {most} and {wanted} were asked for")
        require(2 <= found.table.shape[1] <= MOST_DIMENSIONS, f"{found.table.shape[1]} dimensions")
        require(bool(np.isfinite(found.table).all()), "a number is not finite")
        return "read"


def draw_file(rng: random.Random) -> bytes:
    """Return a file in one of the formats, nearly always sound."""
    size, words = rng.choice((2, 3, 10)), rng.sample(WORDS, rng.randrange(1, len(WORDS)))
    kind = rng.random()
    if kind < 0.1:
        return (793712314).to_bytes(4, "little") + rng.randbytes(rng.randrange(200))  # a model of fastText, refused
    if kind < 0.5:
        rows = [struct.pack(f"<{size}f", *(rng.gauss(0, 1) for _ in range(size))) for _ in words]
        end = rng.choice((b"", b"\n"))
        body = b"".join(word.encode() + b" " + row + end for word, row in zip(words, rows, strict=True))
        return b"%d %d\n" % (len(words) + rng.choice((0, 0, 0, 1, 10**9)), size) + body
    draw = lambda: rng.choice(NUMBERS) if rng.random() < 0.02 else f"{rng.gauss(0, 1):.4f}"  # noqa: E731
    lines = [f"{word} {' '.join(draw() for _ in range(size))}" for word in words]
    header = [f"{len(words)} {rng.choice((size, size, size, size + 1, 10**9))}"] * rng.randrange(2)
    return rng.choice(("\n", "\n", "\r\n", " \n")).join([*header, *lines, ""]).encode()
