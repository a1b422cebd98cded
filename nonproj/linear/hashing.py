"""The hash of features and of strings.

Both are *multilinear* (Lemire and Kaser 2014, section 2): the sum, modulo 2**32, of the upper halves of coefficient
times number modulo 2**64.  A feature's numbers are the attributes that its template names, and its coefficients come
from a hash of the template's text.  A string's numbers are its characters, and its coefficients belong to their places.
The highest bits of a hash are a place in a table.  All coefficients are constants, so a model means the same on every
machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Int32s, Int64s, Uint32s, Uint64s

LONGEST = 2048
"""Maximum number of characters of a string that its hash depends on, besides its length."""

_PLACES: Any = np.frombuffer(hashlib.shake_128(b"nonproj: places").digest(8 * LONGEST), "<u8") | np.uint64(1)
_LENGTH, _NUMBER = np.uint64(0x8B1D_52C7_93E6_40AF), np.uint64(0xC6A4_A793_5BD1_E995)


class Window(NamedTuple):
    """Templates over the attributes of adjacent items, such as characters, as `hash_window` reads them.

    Attributes
    ----------
    salt : ndarray of shape (T,), uint32
    end : ndarray of shape (T,), uint64
        The terms of template ``t`` are those before ``end[t]`` that belong to no earlier one.
    cell : ndarray, uint32
        The number of each term's attribute among those of the whole window.
    coefficient : ndarray, uint64
    """

    salt: np.ndarray
    end: np.ndarray
    cell: np.ndarray
    coefficient: np.ndarray


def coefficient(text: str) -> int:
    """Return a fixed odd number of 64 bits for a text.

    Examples
    --------
    >>> coefficient("arc/h.pos m.pos") & 1, coefficient("a") == coefficient("b")
    (1, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1


@kernel
def share(factor: np.uint64, number: int | np.uint32 | np.uint64) -> np.uint32:
    """Return the share of one number in a hash: the upper half of a product modulo 2**64."""
    return np.uint32((factor * np.uint64(number)) >> np.uint64(32))


@kernel
def place_share(place: int, number: int | np.uint32) -> np.uint32:
    """Return the share, in a string's hash, of a number at one of its first `LONGEST` places."""
    return share(_PLACES[place], number)


@kernel
def length_share(length: int) -> np.uint32:
    """Return the share of a string's length in its hash."""
    return share(_LENGTH, length)


@kernel
def hash_codes(codes: Uint32s, first: int, last: int, most: int) -> np.uint32:
    """Return the hash of the string ``codes[first:last]``, by its length and its first ``most`` characters."""
    key = length_share(last - first)
    for i in range(min(last - first, most)):
        key = np.uint32(key + place_share(i, codes[first + i]))
    return key


def hash_texts(texts: Sequence[str]) -> np.ndarray:
    """Return the hashes of strings, uint32.

    Examples
    --------
    >>> hash_texts(["hus", "", "hus"]).tolist()
    [4134714257, 0, 4134714257]
    """
    codes, ends = code_points_of(texts)
    keys = np.empty(len(texts), np.uint32)
    _hash_texts(codes, ends, keys)
    return keys


class CodePoints(NamedTuple):
    """The characters of strings: code points, uint32, and the places where strings begin and end, int64."""

    codes: np.ndarray
    ends: np.ndarray


def code_points_of(texts: Sequence[str]) -> CodePoints:
    """Return the characters of strings.

    Examples
    --------
    >>> [array.tolist() for array in code_points_of(["på", "", "i"])]
    [[112, 229, 105], [0, 2, 2, 3]]
    """
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return CodePoints(codes, np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1))


@kernel
def _hash_texts(codes: Uint32s, ends: Int64s, keys: Uint32s) -> None:
    """Write the hash of each string."""
    for i in range(keys.shape[0]):
        keys[i] = hash_codes(codes, ends[i], ends[i + 1], LONGEST)


def hash_prefixes(texts: Sequence[str], longest: int) -> np.ndarray:
    """Return the hashes of the first 1 to ``longest`` characters of strings, of all if there are fewer, uint32.

    Examples
    --------
    >>> bool((hash_prefixes(["hus", "på"], 3) == hash_texts(["h", "hu", "hus", "p", "på", "på"]).reshape(2, 3)).all())
    True
    """
    return hash_texts([text[:k] for text in texts for k in range(1, longest + 1)]).reshape(-1, longest)


def hash_suffixes(beginnings: Sequence[str], texts: Sequence[str], longest: int) -> np.ndarray:
    """Return the hashes of a beginning and the last 0 to ``longest`` characters of a string, uint32; 0 if it has fewer.

    Examples
    --------
    >>> found = hash_suffixes(["N ", ""], ["hus", "på"], 3)
    >>> bool((found[0] == hash_texts(["N ", "N s", "N us", "N hus"])).all()), found[1, [0, 3]].tolist()
    (True, [0, 0])
    """
    keys = np.zeros((len(texts), longest + 1), np.uint32)
    _hash_suffixes(code_points_of(beginnings), code_points_of(texts), keys)
    return keys


@kernel
def _hash_suffixes(beginnings: CodePoints, texts: CodePoints, keys: Uint32s) -> None:
    """Write the hashes of each beginning with the suffixes of its string."""
    (before, starts), (codes, ends) = beginnings, texts
    for i in range(keys.shape[0]):
        size = starts[i + 1] - starts[i]
        first = np.uint32(hash_codes(before, starts[i], starts[i + 1], LONGEST) - length_share(size))
        for k in range(min(keys.shape[1], ends[i + 1] - ends[i] + 1)):
            key = np.uint32(first + length_share(size + k))
            for j in range(min(k, LONGEST - size)):
                key = np.uint32(key + place_share(size + j, codes[ends[i + 1] - k + j]))
            keys[i, k] = key


def hash_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return hashes of non-negative integers, uint32.

    Examples
    --------
    >>> len(set(hash_numbers(np.arange(1000)).tolist()))
    1000
    """
    found: np.ndarray = (numbers.astype(np.uint64) * _NUMBER >> np.uint64(32)).astype(np.uint32)
    return found


@kernel
def hash_window(window: Window, atoms: Uint32s, shift: np.uint32, places: Int32s) -> None:
    """Write the place of each template's feature; ``atoms`` are the attributes of a window, item by item."""
    salt, end, cell, factor = window.salt, window.end, window.cell, window.coefficient
    k = np.uint64(0)
    for t in range(salt.shape[0]):
        key = salt[t]
        while k < end[t]:
            key = np.uint32(key + share(factor[k], atoms[cell[k]]))
            k += np.uint64(1)
        places[t] = key >> shift


REACH = 2
"""Number of words on either side whose attributes templates of `hash_words` may name."""


@kernel
def hash_words(window: Window, atoms: Uint32s, width: int, shift: np.uint32, places: Int32s) -> None:
    """Write the places of the features of all words; ``atoms`` has `REACH` words without attributes at both ends."""
    for i in range(places.shape[0]):
        hash_window(window, atoms[i * width : (i + 2 * REACH + 1) * width], shift, places[i])


@kernel
def add_shares(
    atoms: Uint32s,
    template: Int32s,
    offset: Int32s,
    attribute: Int32s,
    factor: Uint64s,
    window: int,
    own: Uint32s,
    shares: Uint32s,
) -> None:
    """Add the shares of each item's attributes to its hashes.

    Parameters
    ----------
    atoms
        The attributes of each item, uint32[n, n_attributes].
    template, offset, attribute, factor
        Template, offset and attribute of each term, and its coefficient.
    window
        The largest offset.
    own
        The hashes of the first templates, which are about the item alone, uint32[n, first].
    shares
        Hashes of the other templates at each offset, uint32[n, 2 * window + 1, others].
    """
    first = own.shape[1]
    for i in range(atoms.shape[0]):
        for k in range(template.shape[0]):
            part, t = share(factor[k], atoms[i, attribute[k]]), template[k]
            if t < first:
                own[i, t] = np.uint32(own[i, t] + part)
            else:
                cell = shares[i, window + offset[k]]
                cell[t - first] = np.uint32(cell[t - first] + part)
