"""Non-projective arcs, crossed arcs, and the value of a tree that pays for them, from the definitions."""

import functools
import math


def crossing_arcs(heads):
    """The modifiers whose arc passes over a word that does not depend on its head, directly or not."""
    found = []
    for m in range(1, len(heads)):
        between = range(min(heads[m], m) + 1, max(heads[m], m))
        if any(heads[m] not in path(heads, word) for word in between):
            found.append(m)
    return found


def path(heads, word):
    """The words from a word up to the root."""
    found = [word]
    while word != 0:
        word = heads[word]
        found.append(word)
    return found


def crossed_arcs(heads):
    """The modifiers whose arc shares a point with another arc of the tree that is an end of neither.

    Arcs are drawn above the words, those from the root, which is before all words, included.
    """
    return list(_crossed_arcs(tuple(heads)))


@functools.lru_cache(20_000)
def _crossed_arcs(heads):
    arcs = [(heads[m], m) for m in range(1, len(heads))]
    return [arc[1] for arc in arcs if any(cross(arc, other) for other in arcs)]


def cross(one, other):
    """Whether the second arc starts under the first one and ends beyond it."""
    under = [end for end in other if min(one) < end < max(one)]
    beyond = [end for end in other if not min(one) <= end <= max(one)]
    return len(under) == len(beyond) == 1


def value(heads, score, costs=None):
    """The score of a tree, less the costs[h, m] of its crossed arcs."""
    return score - math.fsum(costs[heads[m], m] for m in crossed_arcs(heads)) if costs else score
