"""Vectors of words by their pieces, from the folder of a pretrained encoder: only its first layer is read.

A model gets the pieces whose letters are of scripts that its treebank has, the most frequent ones up to a limit, and
the principal components of their rows.  Neither the encoder's other layers nor any other package is needed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np

from nonproj.errors import FileError, ModelError
from nonproj.io.strings import WORD, fits
from nonproj.networks.products import product
from nonproj.scoring.encoders.tokenizer import parse, special_names, steps
from nonproj.scoring.piece_vectors import DEVIATION, PieceVectors

FETCHED = Path("data", "encoders")
"""The folder in which encoders are looked up by name, where ``data_scripts/fetch_encoder.py`` writes them."""

MOST_PIECES = 120_000
DIMENSIONS = 50
"""Maximum number of pieces, and size of a vector: together at most 8 MB."""

_RARE_SCRIPT = 0.001
"""Minimum share of a script in the treebank's letters; pieces of rarer scripts are left out."""

_FREQUENT, _ROUNDS = 16_000, 30
"""Number of pieces from whose rows the principal components are computed, and rounds of iteration."""

_TENSOR = "embeddings.word_embeddings.weight"
_DTYPES = {"F32": np.float32, "F16": np.float16}


def find_folder(name: str) -> Path | None:
    """Return the folder of an encoder, given its path or the name of a fetched one; None if there is none."""
    return next((path for path in (Path(name), FETCHED / name) if path.is_dir()), None)


def read_piece_vectors(folder: Path, forms: Iterable[str]) -> PieceVectors:
    """Return the vectors of words for a treebank with these forms, from an encoder with a unigram tokenizer.

    Raises
    ------
    FileError
        The folder lacks a file, or has an encoder of another kind.
    """
    path = folder / "tokenizer.json"
    try:
        settings = parse(_read(path).decode("utf-8", "replace"))
    except ModelError as error:
        raise FileError(str(path), str(error)) from None
    vocabulary, special = settings["model"]["vocab"], special_names(settings)
    spaces = [step.get("replacement", "▁") for step in steps(settings, "pre_tokenizer") if step["type"] == "Metaspace"]
    if settings["model"]["type"] != "Unigram" or spaces != ["▁"]:
        raise FileError(str(path), "is not a unigram tokenizer of SentencePiece, as that of e5-small is")
    table = _rows(folder / "model.safetensors", len(vocabulary))
    letters = Counter(script for form in forms for script in map(_script, form) if script)
    scripts = {script for script, count in letters.items() if count >= _RARE_SCRIPT * letters.total()} | {""}
    known = [i for i, (text, _) in enumerate(vocabulary) if scripts.issuperset(map(_script, text)) and fits(text, WORD)]
    order = sorted((i for i in known if vocabulary[i][0] not in special), key=lambda i: -vocabulary[i][1])
    chosen = sorted(order[:MOST_PIECES], key=lambda i: vocabulary[i][0])
    rows = table[chosen].astype(np.float32)
    if not np.isfinite(rows).all():
        raise FileError(str(folder), "has rows of pieces that are not finite")
    axes = principal_axes(table[order[:_FREQUENT]].astype(np.float32), DIMENSIONS)
    scores = np.array([vocabulary[i][1] for i in chosen], np.float32)
    rows = product(rows, axes)
    rows -= product(np.full((1, len(rows)), 1.0 / len(rows), np.float32), rows)
    length = sqrt(float(np.square(rows, dtype=np.float64).mean()))
    rounded = np.clip(np.rint(rows * np.float32(DEVIATION / (length or 1.0))), -127, 127).astype(np.int8)
    return PieceVectors([vocabulary[i][0] for i in chosen], scores, rounded)


def principal_axes(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the axes of the first principal components of some rows, float32[rows.shape[1], n].

    Orthogonal iteration with `nonproj.networks.products` gives the same axes on each processor.
    """
    mean = product(np.full((1, len(rows)), 1.0 / len(rows), np.float32), rows)
    centred = rows - mean
    covariance = product(centred.T, centred)
    basis = covariance[:, :n]
    for _ in range(_ROUNDS):
        basis = _orthonormal(product(covariance, basis))
    return basis


def _orthonormal(basis: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the space of some columns, by the modified method of Gram and Schmidt."""
    found = np.ascontiguousarray(basis.T)
    for i, row in enumerate(found):
        row /= np.float32(sqrt(float(product(row[None], row[:, None])[0, 0])) or 1.0)
        found[i + 1 :] -= product(product(found[i + 1 :], row[:, None]), row[None])
    return np.ascontiguousarray(found.T)


@cache
def _script(character: str) -> str:
    """Return the script of a letter, empty for other characters.

    Examples
    --------
    >>> [_script(character) for character in "aя1ா"]
    ['LATIN', 'CYRILLIC', '', 'TAMIL']
    """
    if unicodedata.category(character)[0] not in "LM":
        return ""
    script = unicodedata.name(character, "UNKNOWN").partition(" ")[0]
    return "" if script in ("COMBINING", "MODIFIER") else script


def _rows(path: Path, n_pieces: int) -> np.ndarray:
    """Return the rows of an encoder's pieces in a file in the safetensors format, as a view of the file."""
    try:
        with open(path, "rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(size, 1 << 24)))
        entry = next(value for name, value in header.items() if name.endswith(_TENSOR))
        shape, offset = tuple(map(int, entry["shape"])), 8 + size + entry["data_offsets"][0]
        table = np.memmap(path, _DTYPES[entry["dtype"]], "r", offset, shape)
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
        raise FileError(str(path), f"has no tensor {_TENSOR} of the type F32 or F16") from None
    if table.ndim != 2 or len(table) < n_pieces or table.shape[1] < DIMENSIONS:
        raise FileError(str(path), f"has rows of the shape {shape}; {n_pieces} pieces are expected")
    return table


def _read(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
