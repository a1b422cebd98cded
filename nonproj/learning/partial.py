"""Learning from partial trees: only some of their heads and labels are given.

Heads that are not given are latent.  The perceptron compares the best structure that is consistent with the given
heads, under the current weights, with the prediction, in which only words with a given head have a cost (a latent
structured perceptron: Yu and Joachims 2009; Fernandes and Brefeld 2011).  Both are of the relaxed set Z, or both are
trees: where nothing is given nearby, they are then equal, and nothing is learnt from the parser's guesses.  The pruner
maximises the probability of all consistent trees, and its gradient is the difference of two marginals.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.automata.relaxed import relaxed_indicators
from nonproj.dual.decoding import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj.errors import DataError, one_line
from nonproj.io.partial import allowed_arcs, given_words, is_partial, line_of, with_given
from nonproj.parts.space import restrict
from nonproj.trees.arborescence import best_arborescence_dense
from nonproj.trees.checks import FOUND
from nonproj.types import Bools, Float64s, Int32s, PartSpace, Sentence

LISTED = 10
"""Maximum number of lines that a warning lists."""

log = logging.getLogger("nonproj")


def with_trees(sentences: Sequence[Sentence], source: str) -> list[Sentence]:
    """Return training sentences with whole or partial trees; log the share of given heads if any is partial.

    Parameters
    ----------
    sentences : sequence of Sentence
    source : str
        As for `nonproj.io.partial.with_given`.

    Raises
    ------
    DataError
        As `nonproj.io.partial.with_given`, or no sentence has any head.
    """
    found = [with_given(sentence, source) for sentence in sentences]
    counts = [int(given_words(sentence).sum()) for sentence in found]
    if found and not any(counts):
        place = "HEAD" if source != "misc" else "Head= in MISC"
        message = f"{place} is absent for all words of all sentences; training needs gold heads"
        raise DataError(found[0].path, line_of(found[0], 1), message)
    partial = [count for sentence, count in zip(found, counts, strict=True) if is_partial(sentence)]
    if partial:
        text = "%d of %d sentences are partial, %d heads given; %d sentences have no head"
        log.info(text, len(partial), len(found), sum(partial), partial.count(0))
    return found


def held_out_trees(sentences: Sequence[Sentence], source: str) -> list[Sentence]:
    """Return held-out sentences with whole or partial trees, without those that have no head; warn if all have none."""
    found = [with_given(sentence, source) for sentence in sentences]
    kept = [sentence for sentence in found if sentence.tree is None or given_words(sentence).any()]
    if len(kept) < len(found):
        log.warning("%d of %d held-out sentences have no head, and do not count", len(found) - len(kept), len(found))
    return kept


def allowed_by(sentences: Sequence[Sentence], source: str) -> list[Bools | None]:
    """Return the arcs that can be in the tree of each partial sentence, bool[N, N]; None for whole trees.

    Sentences without a head also get None.
    """
    given = map(given_words, sentences)
    partial = [heads.any() and not heads.all() for heads in given]
    return [allowed_arcs(s, source) if own else None for s, own in zip(sentences, partial, strict=True)]


def learnable(sentences: Sequence[Sentence], source: str, single_root: bool) -> list[Sentence]:
    """Return the sentences whose given heads a tree can have; warn of those that need several roots, with their lines.

    Raises
    ------
    DataError
        No tree has the given heads of a sentence, or all sentences need several roots.
    """
    several = [needs_several_roots(sentence, source) for sentence in sentences]
    if not single_root or not any(several):
        return list(sentences)
    left_out = list(itertools.compress(sentences, several))
    path, lines = left_out[0].path, [line_of(each, max([1, *root_words(each)[:2]])) for each in left_out[:LISTED]]
    if len(left_out) == len(sentences):
        raise DataError(path, lines[0], "all sentences need several roots, but trees have one (treebank.root)")
    pairs = zip(left_out, lines, strict=False)
    places = ", ".join(f"{line}" if each.path == path else f"{one_line(each.path)}:{line}" for each, line in pairs)
    text = "%s: %d of %d sentences need several roots, and are left out (treebank.root); lines %s"
    if len(left_out) == 1:
        text = "%s: %d of %d sentences needs several roots, and is left out (treebank.root); line %s"
    log.warning(text, one_line(path), len(left_out), len(sentences), places + ", …" * (len(left_out) > LISTED))
    return [sentence for sentence, own in zip(sentences, several, strict=True) if not own]


def root_words(sentence: Sentence) -> list[int]:
    """Return the numbers of the words whose given head is the root."""
    return [] if sentence.tree is None else np.flatnonzero(sentence.tree == 0).tolist()


def needs_several_roots(sentence: Sentence, source: str) -> bool:
    """Return whether only trees with several roots have the given heads; raise `DataError` if no tree has them."""
    allowed, roots = allowed_by([sentence], source)[0], root_words(sentence)
    if allowed is None or len(roots) > 1:
        return len(roots) > 1
    scores, heads = np.where(allowed, 0.0, -np.inf), np.empty(len(allowed), np.int32)
    one, several = (best_arborescence_dense(scores, single, heads) == FOUND for single in (True, False))
    if not several:
        raise DataError(sentence.path, sentence.line, "no tree obeys the given and forbidden heads")
    return not one


def best_tree(scores: Float64s, allowed: Bools, single_root: bool) -> Int32s:
    """Return the best tree of allowed arcs, int32[N], by the scores of arcs, float64[N, N].

    Examples
    --------
    >>> best_tree(np.zeros((3, 3)), np.array([[False, False, True], [False] * 3, [False, True, False]]), False)
    array([-1,  2,  0], dtype=int32)
    """
    heads = np.empty(len(scores), np.int32)
    best_arborescence_dense(np.where(allowed, scores, -np.inf), single_root, heads)
    return heads


class Completion(NamedTuple):
    """The structures that are consistent with the given heads and labels of a sentence.

    Attributes
    ----------
    parts : PartSpace
        The parts over the candidate arcs that are allowed.
    numbers : ndarray of int64
        The numbers of these among the sentence's parts.
    given : ndarray of bool
        Mask of the arcs that are given: the only ones into their words that are allowed.
    """

    parts: PartSpace
    numbers: np.ndarray
    given: np.ndarray

    def relaxed(self, scores: Float64s, tau: float) -> Float64s:
        """Return the indicators of the best consistent structure in Z, float64[P]: heads choose the given arcs.

        ``scores``, float64[P], are those of all parts of the sentence, and ``tau`` is as for `decode_relaxed`.
        """
        own, marks = scores[self.numbers], np.zeros(len(scores))
        own[: len(self.given)][self.given] += (1.0 + 2.0 * np.abs(own).sum()) / tau
        marks[self.numbers] = relaxed_indicators(self.parts, own, tau)
        return marks

    def best(self, scores: Float64s, options: DualOptions) -> Int32s:
        """Return the best consistent tree, int32[N], given the scores of all parts of the sentence, float64[P].

        If ``options.projective`` is set, but no projective tree is consistent, it is the best non-projective one.
        """
        own = scores[self.numbers]
        try:
            return dual_decomposition(self.parts, own, options).tree
        except ValueError:
            if not options.projective:
                raise
            return dual_decomposition(self.parts, own, options._replace(projective=False)).tree


def completion_of(parts: PartSpace, allowed: Bools) -> Completion:
    """Return the completion of a sentence with these parts and allowed arcs, bool[N, N].

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "arc")
    >>> allowed = np.array([[False, False, True], [False, False, True], [False, True, False]])
    >>> found = completion_of(parts, allowed)
    >>> found.numbers, found.best(np.array([9.0, 1.0, 0.0, 2.0]), DualOptions())
    (array([1, 2, 3]), array([-1,  2,  0], dtype=int32))
    """
    fewer, numbers = restrict(parts, allowed[parts.arcs.head, parts.arcs.modifier])
    return Completion(fewer, numbers, allowed.sum(axis=0)[fewer.arcs.modifier] == 1)
