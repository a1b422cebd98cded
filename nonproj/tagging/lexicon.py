"""Probabilities of a form's tags out of context: a dictionary, and a guesser by suffixes for rare and new forms.

The guesser interpolates the tags of rare words with the same suffix, from short suffixes to long ones (Brants 2000,
section 2.3); the tags seen with the lower-cased form and with the form itself are interpolated on top.  Forms and
suffixes are known by hashes of 32 bits, so a lexicon is a few arrays of numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import LONGEST, hash_suffixes, hash_texts, place_share
from nonproj.types import Float64s, Int32s, Int64s

SUFFIX = 7
"""Maximum length of the guesser's suffixes, in characters."""

RARE = 10
"""Maximum count of forms from which the guesser learns: frequent forms are unlike new ones (Brants 2000)."""


class TagCounts(NamedTuple):
    """The counts of tags for each key, a hash.

    Attributes
    ----------
    key : ndarray, int32
        Sorted.
    start : ndarray, int32
        The entries of key ``k`` are ``start[k]:start[k + 1]``.
    tag : ndarray, int16
        The tag of each entry.
    count : ndarray, int32
        The count of each entry.
    """

    key: np.ndarray
    start: np.ndarray
    tag: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides that of tuples


class Lexicon(NamedTuple):
    """The tags of forms, of lower-cased forms and of suffixes, counted."""

    form: TagCounts
    lower: TagCounts
    suffix: TagCounts

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays `LEXICON`, from which `check_lexicon` restores the lexicon."""
        return dict(zip(LEXICON, itertools.chain(*self), strict=True))


LEXICON = {
    f"{kind}_{field}": (dtype, shape)
    for kind in Lexicon._fields
    for field, dtype, shape in (
        ("key", "int32", f"{kind}s"), ("start", "int32", "*"), ("tag", "int16", f"{kind}_tags"),
        ("count", "int32", f"{kind}_tags"),
    )
}  # fmt: skip
"""The arrays of a `Lexicon` in a model, for schemas."""


class Smoothing(NamedTuple):
    """Weights of the backed-off distribution, as counts, and limits of the candidates.

    Attributes
    ----------
    suffix, lower, form : float
        The weights of the distributions of a shorter suffix, of the suffixes, and of the lower-cased form, in words.
    threshold : float
        Minimum probability of a candidate, as a fraction of the likeliest one's.
    limit : int
        The largest number of candidates.
    """

    suffix: float = 8.0
    lower: float = 1.0
    form: float = 2.0
    threshold: float = 3e-4
    limit: int = 20


class Keys(NamedTuple):
    """The hashes of forms, as in the arrays of a lexicon.

    Attributes
    ----------
    form, lower : ndarray of shape (n,), int32
        Hashes of the forms as they are, and in lower case.
    suffix : ndarray of shape (n, longest), int32
        Hashes of the suffixes, short ones first.
    sizes : ndarray of shape (n,), int64
        The suffixes of form ``i`` are ``suffix[i, :sizes[i]]``.
    """

    form: np.ndarray
    lower: np.ndarray
    suffix: np.ndarray
    sizes: np.ndarray

    @property
    def inside(self) -> np.ndarray:
        """Mask of the suffixes, bool[n, longest]."""
        found: np.ndarray = np.arange(self.suffix.shape[1]) < self.sizes[:, None]
        return found


def form_keys(forms: Sequence[str]) -> Keys:
    """Return the hashes of forms, and of their suffixes of 0 to `SUFFIX` characters, each with the form's kind."""
    lowers = [form.lower() for form in forms]
    suffix = hash_suffixes([_kind(*pair) for pair in zip(forms, lowers, strict=True)], lowers, SUFFIX)
    sizes = np.minimum([len(lower) for lower in lowers], SUFFIX).astype(np.int64) + 1
    return Keys(hash_texts(forms).view(np.int32), hash_texts(lowers).view(np.int32), suffix.view(np.int32), sizes)


def _kind(form: str, lower: str) -> str:
    """Return a character for the case of a form, and whether it has digits and hyphens."""
    if form == lower:
        kind = "a" if form.isalpha() else "d" if any(map(str.isdigit, form)) else "-"
    elif form[1:] == lower[1:]:
        kind = "A"
    else:
        kind = "B" if form.isupper() else "b"
    return kind + "|"


class Counter:
    """Counts the tags of a treebank's forms and suffixes in any selection of its words.

    Parameters
    ----------
    keys : Keys
        Keys of the distinct forms.
    form : ndarray of int64
        The number of the form of each word.
    tag : ndarray of int64
        The number of the tag of each word.
    known : Lexicon, optional
        Lexicon to whose counts these are added.
    """

    def __init__(self, keys: Keys, form: np.ndarray, tag: np.ndarray, known: Lexicon | None = None):
        self.known = known
        self.n_tags = int(tag.max(initial=0)) + 1
        self.pairs, self.pair_of = np.unique(form * self.n_tags + tag, return_inverse=True)
        self.pair_form, pair_tag = np.divmod(self.pairs, self.n_tags)
        self.n_forms = len(keys.form)
        flat = keys.suffix[keys.inside].astype(np.int64)
        begin = np.cumsum([0, *keys.sizes])[self.pair_form]
        repeat = keys.sizes[self.pair_form]
        self.owner = np.repeat(np.arange(len(self.pairs)), repeat)
        offset = np.arange(len(self.owner)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
        self.form = _Entries(keys.form.astype(np.int64)[self.pair_form], pair_tag)
        self.lower = _Entries(keys.lower.astype(np.int64)[self.pair_form], pair_tag)
        self.suffix = _Entries(flat[np.repeat(begin, repeat) + offset], pair_tag[self.owner])

    def count(self, words: np.ndarray) -> Lexicon:
        """Return the lexicon of the words for which ``words``, bool[n_words], is true."""
        count = np.bincount(self.pair_of[words], minlength=len(self.pairs))
        total = np.bincount(self.pair_form, count, self.n_forms)[self.pair_form]
        rare = np.where(total <= RARE, count, 0)[self.owner]
        found = Lexicon(self.form.count(count), self.lower.count(count), self.suffix.count(rare))
        return found if self.known is None else joined(self.known, found)


def joined(one: Lexicon, other: Lexicon) -> Lexicon:
    """Return a lexicon with the sums of the counts of two."""
    tables = []
    for both in zip(one, other, strict=True):
        keys, starts, tags, counts = zip(*both, strict=True)
        key = np.concatenate(
            [np.repeat(key.astype(np.int64), np.diff(start)) for key, start in zip(keys, starts, strict=True)]
        )
        tag, count = (np.concatenate(arrays).astype(np.int64) for arrays in (tags, counts))
        tables.append(_Entries(key, tag).count(count))
    return Lexicon(*tables)


class _Entries:
    """The distinct (key, tag) pairs of a list of such pairs."""

    def __init__(self, key: np.ndarray, tag: np.ndarray):
        self.key, number = np.unique(key, return_inverse=True)
        entries, self.entry = np.unique(number << 32 | tag, return_inverse=True)
        self.entry_key, self.tag = entries >> 32, (entries & 0xFFFF).astype(np.int16)

    def count(self, count: np.ndarray) -> TagCounts:
        """Return the total count of each entry, without those of 0; ``count`` has one number for each listed pair."""
        total = np.bincount(self.entry, count, len(self.tag)).astype(np.int32)
        seen = total > 0
        size = np.bincount(self.entry_key[seen], minlength=len(self.key))
        start = np.cumsum([0, *size[size > 0]], dtype=np.int32)
        return TagCounts(self.key[size > 0].astype(np.int32), start, self.tag[seen], total[seen])


def find_keys(sorted_keys: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the index of each key among sorted ones, or -1, int32 of the same shape."""
    if not len(sorted_keys):
        return np.full(keys.shape, -1, np.int32)
    place = np.searchsorted(sorted_keys, keys)
    place[place == len(sorted_keys)] = 0
    return np.where(sorted_keys[place] == keys, place, -1).astype(np.int32)


def find_forms(lexicon: Lexicon, keys: Keys) -> np.ndarray:
    """Return the index of each form, lower-cased form and suffix in a lexicon, or -1, int32[n_forms, 2 + longest]."""
    found = np.empty((len(keys.form), 2 + keys.suffix.shape[1]), np.int32)
    found[:, 0] = find_keys(lexicon.form.key, keys.form)
    found[:, 1] = find_keys(lexicon.lower.key, keys.lower)
    found[:, 2:] = np.where(keys.inside, find_keys(lexicon.suffix.key, keys.suffix), -1)
    return found


class CandidateTags(NamedTuple):
    """The likely tags of some forms, likeliest first: those of form ``i`` are ``tag[i, :count[i]]``.

    Attributes
    ----------
    count : ndarray of shape (n_forms,), int32
    tag : ndarray of shape (n_forms, limit), int32
    p : ndarray of shape (n_forms, limit), float64
        Their probabilities.
    seen : ndarray of shape (n_forms, 2), int32
        Counts of the form and of the lower-cased form.
    group : ndarray of shape (n_forms,), int32
        A hash of the form's likely groups, such as UPOS: its ambiguity class.
    """

    count: np.ndarray  # type: ignore[assignment]  # hides that of tuples
    tag: np.ndarray
    p: np.ndarray
    seen: np.ndarray
    group: np.ndarray


def list_candidates(
    lexicon: Lexicon, found: np.ndarray, groups: np.ndarray, allowed: list[np.ndarray], smoothing: Smoothing
) -> CandidateTags:
    """Return the likely tags of forms.

    Parameters
    ----------
    lexicon : Lexicon
    found : ndarray of shape (n_forms, 2 + longest), int32
        From `find_forms`.
    groups : ndarray of shape (n_tags,), int32
        The group of each tag, for ambiguity classes.
    allowed : list of ndarray, int32
        For each form the tags that it may have; empty for all.
    smoothing : Smoothing
    """
    start = np.cumsum([0, *map(len, allowed)], dtype=np.int64)
    flat = np.concatenate([np.empty(0, np.int32), *allowed])
    return CandidateTags(*_list_candidates(lexicon, found, groups, start, flat, smoothing))


@kernel
def _list_candidates(
    lexicon: Lexicon, found: Int32s, groups: Int32s, allowed_start: Int64s, allowed: Int32s, smoothing: Smoothing
) -> tuple[Int32s, Int32s, Float64s, Int32s, Int32s]:
    """Return the arrays of `CandidateTags` for each form."""
    n, n_tags, limit = found.shape[0], groups.shape[0], smoothing.limit
    count, tag, chosen = np.zeros(n, np.int32), np.zeros((n, limit), np.int32), np.zeros((n, limit))
    seen, group, p = np.zeros((n, 2), np.int32), np.zeros(n, np.int32), np.empty(n_tags)
    for i in range(n):
        for t in range(n_tags):
            p[t] = 1e-6 / n_tags
        for k in found[i, 2:]:
            if k >= 0:
                _interpolate(p, lexicon.suffix, k, smoothing.suffix)
        if found[i, 1] >= 0:
            seen[i, 1] = _interpolate(p, lexicon.lower, found[i, 1], smoothing.lower)
        if found[i, 0] >= 0:
            seen[i, 0] = _interpolate(p, lexicon.form, found[i, 0], smoothing.form)
        group[i] = _hash_groups(p, groups)
        if allowed_start[i] < allowed_start[i + 1]:
            total = 0.0
            for k in range(allowed_start[i], allowed_start[i + 1]):
                p[allowed[k]] = -p[allowed[k]] - 1e-12
                total -= p[allowed[k]]
            for t in range(n_tags):
                p[t] = -p[t] / total if p[t] < 0.0 else 0.0
        count[i] = keep_best(p, smoothing.threshold * p.max(), tag[i], chosen[i])
    return count, tag, chosen, seen, group


@kernel
def _interpolate(p: Float64s, table: TagCounts, k: int, weight: float) -> int:
    """Mix the entries of key ``k`` into a distribution with the weight of ``weight`` words; return their count."""
    total, start, tag, count = 0, table.start, table.tag, table.count
    for e in range(start[k], start[k + 1]):
        total += count[e]
    scale = 1.0 / (total + weight)
    for t in range(p.shape[0]):
        p[t] *= weight * scale
    for e in range(start[k], start[k + 1]):
        p[tag[e]] += count[e] * scale
    return total


@kernel
def _hash_groups(p: Float64s, groups: Int32s) -> int:
    """Return a hash of the groups with a tag whose probability is at least a tenth of the highest."""
    highest, key, seen = p.max(), np.int64(1), np.zeros(groups.shape[0], np.uint8)
    for t in range(p.shape[0]):
        if p[t] >= 0.1 * highest and not seen[groups[t]]:
            seen[groups[t]] = 1
            key += np.int64(place_share(groups[t] % LONGEST, 1))
    return int(key & 0x7FFFFFFF)


@kernel
def keep_best(values: Float64s, lowest: float, numbers: Int32s | Int64s, best: Float64s) -> int:
    """Write the largest values and their numbers, largest first, up to the arrays' size; return their count.

    Values less than ``lowest`` are left out.
    """
    n, room = 0, numbers.shape[0]
    for t in range(values.shape[0]):
        x = values[t]
        if x >= lowest and (n < room or x > best[n - 1]):
            k = n if n < room else n - 1
            while k > 0 and best[k - 1] < x:
                best[k], numbers[k] = best[k - 1], numbers[k - 1]
                k -= 1
            best[k], numbers[k] = x, t
            n = min(n + 1, room)
    return n


def check_lexicon(arrays: dict[str, np.ndarray], n_tags: int, name: str) -> Lexicon:
    """Return a lexicon from `LEXICON` in a model; raise `ModelError` unless kernels can read it."""
    tables = [[arrays[f"{kind}_{field}"] for field in TagCounts._fields] for kind in Lexicon._fields]
    lexicon = Lexicon(*(TagCounts(*table) for table in tables))
    for key, start, tag, count in lexicon:
        if len(start) != len(key) + 1 or start[0] != 0 or start[-1] != len(tag):
            raise ModelError(f"the lexicon of the {name} has arrays of different lengths")
        if (start[1:] < start[:-1]).any() or (key[1:] <= key[:-1]).any():
            raise ModelError(f"the lexicon of the {name} is not sorted")
        if len(tag) and not (tag.min() >= 0 and tag.max() < n_tags and count.min() >= 0):
            raise ModelError(f"the lexicon of the {name} has entries out of range")
    return lexicon
