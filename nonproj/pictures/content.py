"""The contents of a picture: the words of a sentence, the arcs of its tree above, and arcs of another tree below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import DataError
from nonproj.io.checks import cycle_of
from nonproj.io.graphs import Graph
from nonproj.io.terminal import visible
from nonproj.types import Sentence

PLAIN, RIGHT, LABEL, WRONG, OTHER, ENHANCED = "plain", "right", "label", "wrong", "other", "enhanced"
"""Kinds of arcs: of a single tree; as in the other tree; with another label there; with another head there; differing
arcs of the other tree; and arcs of an enhanced graph that are not in the tree."""

_CONFIDENCE = re.compile(r"(?:^|\|)Confidence=([01](?:\.\d*)?|\.\d+)(?:\||$)")


class TreeArc(NamedTuple):
    """An arc from ``head`` (0 is the root) to ``modifier`` with its label and its kind: see `PLAIN`."""

    head: int
    modifier: int
    label: str
    kind: str = PLAIN


class Picture(NamedTuple):
    """The contents of a picture of one sentence of ``n`` words.

    Attributes
    ----------
    forms, tags : list of str
        The words, and the tags below them; an empty string for a word without tag.
    above, below : list of TreeArc
        The tree; and the arcs of the other tree, or of the enhanced graph, that are not in it.
    confidence : list of float, or None
        The probability that each word's head is correct.
    """

    forms: list[str]
    tags: list[str]
    above: list[TreeArc]
    below: list[TreeArc]
    confidence: list[float] | None = None

    def visible(self) -> Picture:
        """Return the picture with control characters in its texts escaped: see `nonproj.io.terminal.visible`."""
        above, below = ([arc._replace(label=visible(arc.label)) for arc in arcs] for arcs in (self.above, self.below))
        forms, tags = (list(map(visible, texts)) for texts in (self.forms, self.tags))
        return Picture(forms, tags, above, below, self.confidence)


def picture_of(
    sentence: Sentence,
    heads: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    other: Sentence | None = None,
    confidence: Iterable[float] | None = None,
    graph: Graph | None = None,
) -> Picture:
    """Return the picture of a sentence and its tree.

    Parameters
    ----------
    sentence : Sentence
    heads : array-like of shape (n,), int, optional
        The tree; by default that of the sentence.  A word whose head is -1 has no arc.
    labels : sequence of n str, optional
        By default those of the sentence.
    other : Sentence, optional
        Sentence with another tree, such as the gold tree; words may lack heads.
    confidence : sequence of n float, optional
        By default the attribute ``Confidence`` of MISC.
    graph : list, optional
        The enhanced graph, `nonproj.io.graphs.Graph`, if there is no other tree.

    Raises
    ------
    DataError
        There is no tree.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> picture_of(from_words(["Det", "regner"]), [2, 0], ["nsubj", "root"]).above
    [TreeArc(head=2, modifier=1, label='nsubj', kind='plain'), TreeArc(head=0, modifier=2, label='root', kind='plain')]
    """
    tree = (heads_of(sentence) if heads is None else np.asarray(heads)).tolist()
    names = list(sentence.labels if labels is None else labels)
    below: list[TreeArc] = []
    if other is None:
        above, three = arcs_of(tree, names), enumerate(zip(graph or (), tree, names, strict=False), 1)
        arcs = ((word, arc, pair) for word, (own, *pair) in three for arc in own)
        below = [TreeArc(arc[0], word, arc[1], ENHANCED) for word, arc, pair in arcs if [*arc] != pair]
    else:
        above, below = compared(tree, names, partial_heads(other).tolist(), other.labels)
    tags = [shown(row[3]) or shown(row[4]) for row in sentence.rows]
    sure = confidence_of(sentence) if confidence is None else [float(share) for share in confidence]
    return Picture(sentence.forms, tags, above, below, sure)


def heads_of(sentence: Sentence) -> np.ndarray:
    """Return the heads of a sentence, int32[n]; a word whose HEAD is absent (``_``) has the head -1.

    Raises
    ------
    DataError
        All heads are absent, or some form a cycle.

    Examples
    --------
    >>> row = ["1", "Regn", "_", "_", "_", "_", "0", "root", "_", "_"]
    >>> heads_of(Sentence([row, ["2", "i", *row[2:6], "_", "_", "_", "_"]]))
    array([ 0, -1], dtype=int32)
    """
    heads = partial_heads(sentence)
    if max(heads, default=-1) < 0:
        raise DataError(sentence.path, sentence.line, "HEAD is absent (_) for all words; a picture needs a tree")
    return heads


def partial_heads(sentence: Sentence) -> np.ndarray:
    """Return the heads of a sentence, as `heads_of` does, but without an error if all are absent.

    Examples
    --------
    >>> partial_heads(Sentence([["1", "Regn", "_", "_", "_", "_", "_", "_", "_", "_"]]))
    array([-1], dtype=int32)
    """
    if sentence.heads is not None:
        return sentence.heads
    heads = [int(row[6]) if row[6].isdecimal() else -1 for row in sentence.rows]
    if cycle := cycle_of([-1, *heads]):
        raise DataError(sentence.path, sentence.line, f"the heads above word {cycle[0]} form a cycle, not a tree")
    return np.array(heads, np.int32)


def arcs_of(heads: Sequence[int], labels: Sequence[str]) -> list[TreeArc]:
    """Return the arcs of a tree, given the head of each word; a word whose head is -1 has none."""
    pairs = enumerate(zip(heads, labels, strict=True), 1)
    return [TreeArc(head, word, shown(label)) for word, (head, label) in pairs if head >= 0]


def compared(
    heads: Sequence[int], labels: Sequence[str], other_heads: Sequence[int], other_labels: Sequence[str]
) -> tuple[list[TreeArc], list[TreeArc]]:
    """Compare a tree with another; return its arcs, with their kinds, and the other's arcs that differ.

    Labels are compared if both trees have them; an arc of a word without an arc in the other tree has the kind of a
    single tree.

    Examples
    --------
    >>> compared([2, 0], ["a", "root"], [2, 0], ["b", "root"])[1]
    [TreeArc(head=2, modifier=1, label='b', kind='other')]
    """
    above, below = [], {arc.modifier: arc._replace(kind=OTHER) for arc in arcs_of(other_heads, other_labels)}
    for arc in arcs_of(heads, labels):
        other, kind = below.get(arc.modifier), PLAIN
        if other is not None:
            kind = RIGHT if arc.label == other.label or not (arc.label and other.label) else LABEL
            kind = WRONG if arc.head != other.head else kind
        above.append(arc._replace(kind=kind))
        if kind == RIGHT:
            del below[arc.modifier]
    return above, list(below.values())


def confidence_of(sentence: Sentence) -> list[float] | None:
    """Return the attribute ``Confidence`` of each word's MISC, 0 to 1; None unless all words have it.

    Examples
    --------
    >>> row = ["1", "Regn", "_", "_", "_", "_", "0", "root", "_", "Confidence=0.97|SpaceAfter=No"]
    >>> confidence_of(Sentence([row]))
    [0.97]
    """
    found = [match for match in (_CONFIDENCE.search(row[9]) for row in sentence.rows) if match]
    return [min(float(match[1]), 1.0) for match in found] if found and len(found) == len(sentence.rows) else None


def shown(column: str) -> str:
    """Return a column for display: an empty string if it is absent (``_``)."""
    return "" if column == "_" else column
