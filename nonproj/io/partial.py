"""Partial trees in training: the heads and labels that are given in HEAD and DEPREL, or as decisions in MISC."""

from __future__ import annotations

import dataclasses

import numpy as np

from nonproj.errors import DataError
from nonproj.io.checks import cycle_of
from nonproj.io.columns import DEPREL, HEAD
from nonproj.io.constraints import Constraints, read_constraints
from nonproj.io.copies import with_rows
from nonproj.types import Bools, Sentence


def with_given(sentence: Sentence, source: str) -> Sentence:
    """Return a sentence whose tree has the given heads, and -1 for words without one.

    Parameters
    ----------
    sentence : Sentence
    source : str
        ``head``: HEAD and DEPREL, where they are not ``_``; ``misc``: ``Head=`` and ``Deprel=`` in MISC, which are
        written to HEAD and DEPREL, and everything else there is replaced by ``_``; ``none``: the sentence is returned
        unchanged, as it is by ``head`` if HEAD has no ``_``.

    Raises
    ------
    DataError
        A head is not the number of another word, the given heads form a cycle, or decisions contradict each other.

    Examples
    --------
    >>> rows = [["1", "Det", *"____2_", "_", "_"], ["2", "regner", *"______", "_", "Head=0|Deprel=root"]]
    >>> with_given(Sentence(rows), "head").tree, with_given(Sentence(rows), "misc").tree
    (array([-1,  2, -1], dtype=int32), array([-1, -1,  0], dtype=int32))
    """
    whole = sentence.tree is not None or not any(row[HEAD] == "_" for row in sentence.rows)
    if source == "none" or (source == "head" and whole):
        return sentence
    n = len(sentence)
    tree = np.full(n + 1, -1, np.int32)
    found = read_constraints(sentence, source) or Constraints(np.zeros(0), {})
    for m, head in found.heads.items():
        tree[m] = head
    if cycle := cycle_of(tree.tolist()):
        path = " <- ".join(str(word) for word in [*cycle, cycle[0]])
        raise DataError(sentence.path, line_of(sentence, cycle[0]), f"the given heads form a cycle: {path}")
    if source == "misc":
        columns = [("_" if tree[m] < 0 else str(tree[m]), found.labels.get(m, "_")) for m in range(1, n + 1)]
        rows = [[*row[:HEAD], *own, *row[DEPREL + 1 :]] for row, own in zip(sentence.rows, columns, strict=True)]
        sentence = with_rows(sentence, rows, sentence.tag_margins)
    return dataclasses.replace(sentence, tree=tree)


def given_words(sentence: Sentence) -> Bools:
    """Return a mask of the words that have a head, bool[n].

    Examples
    --------
    >>> given_words(Sentence([["1", "Det", *"________"]], np.array([-1, -1], np.int32)))
    array([False])
    """
    if sentence.tree is None:
        return np.zeros(len(sentence), np.bool_)
    return np.asarray(sentence.tree[1:] >= 0)


def is_partial(sentence: Sentence) -> bool:
    """Return whether a word of a sentence has no head; see `with_given`."""
    return not given_words(sentence).all()


def allowed_arcs(sentence: Sentence, source: str) -> Bools:
    """Return the arcs that can be in the tree of a partial sentence from `with_given`, bool[N, N].

    With the source ``misc``, arcs that ``NotHead=`` forbids are excluded.

    Examples
    --------
    >>> rows = [["1", "Det", *"____2_", "_", "_"], ["2", "regner", *"______", "_", "_"]]
    >>> allowed_arcs(with_given(Sentence(rows), "head"), "head").astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 1, 0]]
    """
    assert sentence.tree is not None
    tree = sentence.tree
    found = read_constraints(sentence, source) if source == "misc" else None
    allowed = ~np.eye(len(tree), dtype=np.bool_) if found is None else found.allowed
    allowed[:, 0] = False
    given = np.flatnonzero(tree >= 0)
    allowed[:, given] = False
    allowed[tree[given], given] = True
    return allowed


def line_of(sentence: Sentence, word: int) -> int:
    """Return the number of the line of a word, from 1, in its file.

    Examples
    --------
    >>> line_of(Sentence([["1", "Det", *"________"]], line=7), 1)
    7
    """
    return sentence.line + (sentence.word_lines[word - 1] if sentence.word_lines else 0)
