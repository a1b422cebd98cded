"""Kinds of files, recognised by their first bytes; output formats; treatments of malformed input."""

from __future__ import annotations

import contextlib
import os

MODEL_MAGIC = b'{"__metadata__":{"nonproj":"'
"""The bytes of a model file after its first 8 bytes."""

A_MODEL = "a model of nonproj; a treebank or a text is expected here"
"""The error for a model given as data."""

FORMATS = ("conllu", "jsonl", "parquet")
"""The formats of parsed sentences: CoNLL text; a line of JSON for each sentence; a row for each word, in Parquet."""

ON_ERROR = ("stop", "skip")
"""Treatment of a malformed unit: raise the error, or skip it."""


def is_model(beginning: bytes) -> bool:
    """Return whether the beginning of a file, 64 bytes or more, is that of a model of any version.

    Examples
    --------
    >>> is_model(bytes(8) + MODEL_MAGIC + b"5"), is_model(b"1\tRegn")
    (True, False)
    """
    return beginning[8:].startswith(MODEL_MAGIC)


def beginning_of(path: str) -> bytes:
    """Return the first 16 KiB of a file, or no bytes if it cannot be read or is not a regular file."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):
            with open(path, "rb") as stream:
                return stream.read(1 << 14)
    return b""
