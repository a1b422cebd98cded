"""Pruning by the max-marginals of a coarser grammar, without a forest: memory grows with the square of the length."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s
from nonproj_systems.constituency.chart import TaggedWords
from nonproj_systems.constituency.grammar import Grammar, Tables


def probable_symbols(grammar: Grammar, n: int, words: TaggedWords, threshold: float) -> np.ndarray | None:
    """Return the symbols over spans whose best tree is nearly as probable as the best tree of all.

    Parameters
    ----------
    grammar : Grammar
    n : int
        Number of words.
    words : TaggedWords
        Each symbol at most once for a position.
    threshold : float
        Share of the best tree's probability.

    Returns
    -------
    ndarray of shape (n, n + 1, S), bool, or None
        By begin, end and symbol; None if there is no tree.
    """
    n_symbols = len(grammar.symbols)
    inside = np.full((n, n + 1, n_symbols), -np.inf, np.float32)
    inside[words.position, words.position + 1, words.symbol] = words.score
    _inside(grammar.tables, inside)
    best = inside[0, n, grammar.root]
    if best == -np.inf:
        return None
    outside = np.full((n, n + 1, n_symbols), -np.inf, np.float32)
    outside[0, n, grammar.root] = 0.0
    _outside(grammar.tables, inside, outside)
    slack = 1e-5 * (1.0 + abs(best))
    return inside + outside >= best + np.log(max(threshold, 1e-300)) - slack


@kernel
def _inside(tables: Tables, inside: Float32s) -> None:
    """Set the score of the best tree of each symbol over each span, given the words, shorter spans first."""
    first, parents, rights, scores = (
        tables.first_binary,
        tables.binary_parent,
        tables.binary_right,
        tables.binary_score,
    )
    first_unary, unary_parents, unary_scores = tables.first_unary, tables.unary_parent, tables.unary_score
    n, n_symbols = inside.shape[0], inside.shape[2]
    for length in range(1, n + 1):
        for begin in range(n - length + 1):
            end = begin + length
            target = inside[begin, end]
            for split in range(begin + 1, end):
                left, right = inside[begin, split], inside[split, end]
                for symbol in range(n_symbols):
                    if left[symbol] == -np.inf:
                        continue
                    for rule in range(first[symbol], first[symbol + 1]):
                        value = left[symbol] + right[rights[rule]] + scores[rule]
                        if value > target[parents[rule]]:
                            target[parents[rule]] = value
            built = target.copy()
            for symbol in range(n_symbols):
                if built[symbol] == -np.inf:
                    continue
                for rule in range(first_unary[symbol], first_unary[symbol + 1]):
                    value = built[symbol] + unary_scores[rule]
                    if value > target[unary_parents[rule]]:
                        target[unary_parents[rule]] = value


@kernel
def _outside(tables: Tables, inside: Float32s, outside: Float32s) -> None:
    """Set the score of the best tree around each symbol over each span, given that of the root."""
    first, parents, rights, scores = (
        tables.first_binary,
        tables.binary_parent,
        tables.binary_right,
        tables.binary_score,
    )
    first_unary, unary_parents, unary_scores = tables.first_unary, tables.unary_parent, tables.unary_score
    n, n_symbols = inside.shape[0], inside.shape[2]
    for length in range(n, 0, -1):
        for begin in range(n - length + 1):
            end = begin + length
            above = outside[begin, end]
            for symbol in range(n_symbols):
                for rule in range(first_unary[symbol], first_unary[symbol + 1]):
                    value = above[unary_parents[rule]] + unary_scores[rule]
                    if value > above[symbol]:
                        above[symbol] = value
            for split in range(begin + 1, end):
                left, right = inside[begin, split], inside[split, end]
                around_left, around_right = outside[begin, split], outside[split, end]
                for symbol in range(n_symbols):
                    if left[symbol] == -np.inf:
                        continue
                    for rule in range(first[symbol], first[symbol + 1]):
                        value, other = above[parents[rule]] + scores[rule], rights[rule]
                        if value + right[other] > around_left[symbol]:
                            around_left[symbol] = value + right[other]
                        if value + left[symbol] > around_right[other]:
                            around_right[other] = value + left[symbol]
