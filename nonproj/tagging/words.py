"""Forms in the tagger: their attributes, their candidate tags, and their shares of the templates' hashes.

They depend on the form alone, so they are computed once for each distinct form, and a sentence is a list of rows in
their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.linear.concatenation import concatenated_columns
from nonproj.linear.hashing import add_shares, hash_numbers, hash_prefixes, hash_suffixes, hash_texts
from nonproj.scoring.vocabulary import ATTRIBUTES
from nonproj.tagging.lexicon import Lexicon, Smoothing, find_forms, form_keys, list_candidates
from nonproj.tagging.tagset import TagSet
from nonproj.tagging.templates import WINDOW, ChainTemplates

_PREFIXES, _SUFFIXES = 5, 7

TEXT_ATTRIBUTES = ("lower", "shape", *(f"prefix{k + 1}" for k in range(_PREFIXES))) + tuple(
    f"suffix{k + 1}" for k in range(_SUFFIXES)
)
"""Attributes of a form: in lower case, its shape, its affixes in lower case."""

SMOOTHING = Smoothing()
"""Smoothing of the tagger's candidates."""

_UNKNOWN = 1
_LEARNT = ("class", "best", "tag", "count")

WORD_ATTRIBUTES = ("form", *TEXT_ATTRIBUTES, *_LEARNT)
"""Attributes of a word in templates: the form, `TEXT_ATTRIBUTES`, its ambiguity class (the UPOS and XPOS that are
likely for it out of context), the likeliest of these, its likeliest tag, and the count of the form, in bins."""


class FormTable(NamedTuple):
    """Tables of forms; row 0 stands for positions outside the sentence.

    Attributes
    ----------
    own : ndarray of shape (n_forms, n_own), uint32
        Hashes of the templates about the word alone.
    shares : ndarray of shape (n_forms, 2 * WINDOW + 1, n_others), uint32
        A form's shares of the hashes of the other templates, at each offset.
    count : ndarray of shape (n_forms,), int32
        The candidates of form ``i`` are ``tag[i, :count[i]]``.
    tag : ndarray of shape (n_forms, limit), int32
    prior : ndarray of shape (n_forms, limit, n_priors), uint32
        Hashes of a candidate's prior features: its probability out of context, and the form's frequency.
    """

    own: np.ndarray
    shares: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides that of tuples
    tag: np.ndarray
    prior: np.ndarray


def is_symbol(form: str) -> bool:
    """Return whether a form has no letter, no digit and no apostrophe, which stands for letters.

    Examples
    --------
    >>> [is_symbol(form) for form in ("❤️", "…", ":-)", "C++", "’")]
    [True, True, True, False, False]
    """
    return not any(character.isalnum() or character in "'’" for character in form)


def text_atoms(forms: Sequence[str]) -> np.ndarray:
    """Return the hashes of forms in lower case, of their shapes, and of their affixes, uint32[n, 14].

    Affixes are the prefixes of up to five characters, and the suffixes of up to seven, which are empty in shorter
    words.
    """
    lowers, shapes = [form.lower() for form in forms], [ATTRIBUTES["shape"](form, "_", "_", "_", "_") for form in forms]
    suffixes = hash_suffixes([""] * len(forms), lowers, _SUFFIXES)[:, 1:]
    return np.column_stack([hash_texts(lowers), hash_texts(shapes), hash_prefixes(lowers, _PREFIXES), suffixes])


def make_words(
    lexicon: Lexicon,
    forms: list[str],
    tags: TagSet,
    allowed: list[np.ndarray],
    table: ChainTemplates,
    smoothing: Smoothing = SMOOTHING,
) -> FormTable:
    """Return the tables of some forms, without the row of positions outside; see `list_candidates` for ``allowed``."""
    groups = tags.levels[:-1, 1] - 1
    found = list_candidates(lexicon, find_forms(lexicon, form_keys(forms)), groups, allowed, smoothing)
    best, counts = found.tag[:, 0], bin_counts(found.seen)
    of_texts = hash_texts(forms), text_atoms(forms)
    atoms = np.column_stack([*of_texts, found.group, tags.levels[best, 1], best + 1, counts + 1])
    atoms[:, :2][found.seen == 0] = _UNKNOWN
    own, shares = share_words(atoms, table)
    prior = hash_numbers(bin_probabilities(found.p) * 64 + counts[:, None] + 1)
    return FormTable(own, shares, found.count, found.tag, prior[:, :, None])


def tables_of_folds(
    first: FormTable, form: np.ndarray, fold: np.ndarray, make: Callable[[np.ndarray, np.ndarray], FormTable]
) -> tuple[FormTable, np.ndarray]:
    """Return tables with a row for each form in each fold, and each word's row.

    Parameters
    ----------
    first : FormTable
        The row of positions outside the sentence.
    form, fold : ndarray
        The number of each word's form, and its fold.
    make : callable
        Returns the tables of forms, given their numbers and a mask of the words in the other folds.  A lexicon of these
        folds alone makes forms as often unknown in training as in new text.
    """
    parts, rows, used = [first], np.zeros(len(form), np.int32), 1
    for number in np.unique(fold):
        inside = fold == number
        numbers, inverse = np.unique(form[inside], return_inverse=True)
        parts.append(make(numbers, ~inside))
        rows[inside] = used + inverse
        used += len(numbers)
    return FormTable(*concatenated_columns(parts)), rows


def bin_probabilities(p: np.ndarray) -> np.ndarray:
    """Return the bin of each probability, 0 to 24, int64: two bins for each power of two."""
    return np.clip(logarithm(1.0 / np.square(np.maximum(p, 1e-9))), 0, 24)


def logarithm(numbers: np.ndarray) -> np.ndarray:
    """Return the binary logarithms of positive numbers, rounded down, int64; `numpy.log2` need not be exact."""
    return np.frexp(numbers)[1].astype(np.int64) - 1


def bin_counts(seen: np.ndarray) -> np.ndarray:
    """Return the bin, below 64, of the counts of each form and its lower-cased form, int64[n]."""
    form, lower = np.minimum(logarithm(seen + 1.0), 7).T
    return form * 8 + np.where(form < 3, lower, 0)


def share_words(atoms: np.ndarray, table: ChainTemplates) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes ``own`` and the ``shares`` of `FormTable` from attributes, int64[n, n_attributes]."""
    compiled, first = table.compiled, table.compiled.bounds[1]
    salt = (compiled.salt >> np.uint64(32)).astype(np.uint32)
    own = np.tile(salt[:first], (len(atoms), 1))
    shares = np.zeros((len(atoms), 2 * WINDOW + 1, len(salt) - first), np.uint32)
    shares[:, WINDOW] = salt[first:]
    terms = compiled.template, compiled.offset, compiled.attribute, compiled.coefficient
    add_shares((atoms & 0xFFFFFFFF).astype(np.uint32), *terms, WINDOW, own, shares)
    return own, shares


def outside(table: ChainTemplates, limit: int, n_priors: int) -> FormTable:
    """Return the row of positions outside the sentence."""
    own, shares = share_words(np.zeros((1, table.n_attributes), np.int64), table)
    count, tag = np.zeros(1, np.int32), np.zeros((1, limit), np.int32)
    return FormTable(own, shares, count, tag, np.zeros((1, limit, n_priors), np.uint32))
