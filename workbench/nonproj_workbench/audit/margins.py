"""The exact difference of the scores of the best tree without and with an annotated arc.

An annotated arc is suspicious if all trees with it score far less than the best tree.  Both trees are decoded over the
same candidate arcs, those left by pruning and all annotated ones, and both have certificates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.decoding import decode_trusted
from nonproj.dual.options import SEARCH, DualOptions, SearchOptions
from nonproj.parts.arcs import with_arcs
from nonproj.parts.space import restrict
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import crossing_costs, number, prune, score
from nonproj.trees.projective import is_projective
from nonproj.types import Bools, Float64s, Int32s, PartSpace, Sentence


class TreeDifferences(NamedTuple):
    """Differences of best trees, by word; entry 0 is that of the root and not used.

    Attributes
    ----------
    score : ndarray of shape (N,), float64
        The score of the best tree without the given arc into a word, less that of the best tree with it; NaN for words
        that were not asked for, infinite if one of these trees does not exist.
    certified : ndarray of shape (N,), bool
        Whether both trees are proven to be the best.
    """

    score: Float64s
    certified: Bools


def arc_differences(
    parts: PartSpace,
    scores: Float64s,
    tree: Int32s,
    wanted: Bools,
    options: DualOptions,
    search: SearchOptions = SEARCH,
    crossing: CrossingCosts | None = None,
) -> TreeDifferences:
    """Return the score of the best tree without an arc minus that of the best tree with it, for arcs of a given tree.

    Parameters
    ----------
    parts : PartSpace
        Over candidate arcs, among them those of the tree.
    scores : ndarray of shape (P,), float64
    tree : ndarray of shape (N,), int32
        The annotated tree.
    wanted : ndarray of shape (N,), bool
        The words whose arcs are compared.
    options : DualOptions
        Options that admit the given tree.
    search
        As for `nonproj.dual.decoding.k_best`.
    crossing : CrossingCosts, optional
        Costs of crossed arcs.

    Notes
    -----
    The difference is that of two max-marginals of the arc.  One of the two trees is the best of all; the other is
    decoded over the arcs without the given one, or without its competitors.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "arc")  # 0 -> 1, 2 -> 1, 0 -> 2, 1 -> 2
    >>> tree, wanted = np.array([-1, 2, 0], np.int32), np.array([False, True, True])
    >>> arc_differences(parts, np.array([1.0, 2.0, 4.0, 9.0]), tree, wanted, DualOptions()).score
    array([nan,  4.,  4.])
    """
    arcs = parts.arcs
    best = decode_trusted(parts, scores, options, search, 1, crossing)[0]
    found = TreeDifferences(np.full(len(tree), np.nan), np.zeros(len(tree), np.bool_))
    for m in np.flatnonzero(wanted).tolist():
        chosen = best.tree[m] == tree[m]
        own = (arcs.modifier == m) & (arcs.head == tree[m])
        keep = ~own if chosen else own | (arcs.modifier != m)
        fewer, numbers = restrict(parts, keep)
        sign = -1.0 if chosen else 1.0
        try:
            costs = crossing and crossing.over(fewer.arcs)
            other = decode_trusted(fewer, scores[numbers], options, search, 1, costs)[0]
        except ValueError:  # there is no such tree
            found.score[m], found.certified[m] = sign * np.inf, best.certified
            continue
        found.score[m] = sign * (best.score - other.score)
        found.certified[m] = best.certified and other.certified
    return found


def head_differences(parser: Parser, sentence: Sentence, tree: Int32s, wanted: Bools) -> TreeDifferences:
    """Return the result of `arc_differences` for a tagged sentence, under the scores of a parser.

    The candidate arcs are the parser's and those of the annotated tree.  If the latter is not projective or has several
    roots, such trees are admitted, even if the parser never returns them.
    """
    batch = parser.with_request(tags="none", constraints="none").run([sentence], until=prune)
    batch = score(number(batch._replace(arcs=[with_arcs(batch.arcs[0], tree[1:], np.arange(1, len(tree)))])))
    [parts], [scores], request = batch.spaces, batch.scores, batch.request
    costs = next(iter(crossing_costs(batch, [0])), None)
    options = request.options
    options = options._replace(projective=options.projective and is_projective(tree))
    options = options._replace(single_root=options.single_root and np.count_nonzero(tree == 0) == 1)
    return arc_differences(parts, scores, tree, wanted, options, request.search, None if options.projective else costs)
