"""Naive twin of learning from partial trees: everything by enumeration of the trees that obey the given heads."""

import naive_trees
import numpy as np


def obeying(n, given, forbidden=(), single_root=False):
    """All trees of n words with the given heads (-1: not given; that of node 0 is ignored), without forbidden arcs."""
    return [
        tree
        for tree in naive_trees.all_trees(n, single_root)
        if all(given[m] in (-1, tree[m]) for m in range(1, n + 1))
        and not any((tree[m], m) in forbidden for m in range(1, n + 1))
    ]


def completed(parts, scores, trees):
    """The best of some trees under scores of parts."""
    return max(trees, key=naive_trees.tree_scorer(parts, scores))


def costs(pairs, given, margin):
    """Costs of arcs in the prediction: a right one scores less, a wrong one more, if its word's head is given."""
    return np.array([0.0 if given[m] < 0 else margin / 2 * (-1 if given[m] == h else 1) for h, m in pairs])


def forcing(pairs, given):
    """Bonus of each arc so that structures in Z have the given arcs and no others into their words."""
    return 1e6 * costs(pairs, given, -2.0)


def log_likelihood(scores, trees):
    """The log of the sum of exp(score) over some trees, by scores of arcs, and the probability of each arc."""
    return naive_trees.log_partition(scores, trees=trees)
