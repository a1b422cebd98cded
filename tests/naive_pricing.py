"""What price and cut needs, from the definitions: bounds template by template, sets of words, implied chains."""

from __future__ import annotations

import itertools

import numpy as np


def chains(n_nodes):
    """All chains (g, h, m) of three words, of which only g may be the root."""
    words = range(1, n_nodes)
    return [(g, h, m) for g in range(n_nodes) for h in words for m in words if len({g, h, m}) == 3]


def places(hashed, chain, order_of):
    """For each template, the places that are looked up for three words, their order being that of other three."""
    g, h, m = order_of
    codes = (0, 1 + (m > h), 3 + 4 * (h > g) + 2 * (m > h) + (m > g))
    plain = hashed.plain
    result = []
    for t in range(plain.shares.shape[2]):
        key = sum(int(plain.shares[slot, word, t]) for slot, word in enumerate(chain)) % 2**32
        result.append([(key >> int(plain.shift)) ^ codes[c] for c in plain.codes])
    return result


def template_scores(hashed, weights, chain, order_of):
    """The score of each template."""
    return [sum(float(weights[p]) for p in row) for row in places(hashed, chain, order_of)]


def types_of(hashed, t, slot):
    """How many words of one slot a template tells apart."""
    return len(set(hashed.plain.shares[slot, :-2, t].tolist()))


def upper_bound(hashed, weights, chain):
    """The least of three bounds, in each of which one word of a chain is replaced, for each template by the best.

    Templates that do not tell the words of some slot apart are not bounded: they have their score.
    """
    n_nodes, n_templates = hashed.plain.shares.shape[1] - 2, hashed.plain.shares.shape[2]
    loose = [t for t in range(n_templates) if all(types_of(hashed, t, slot) > 1 for slot in range(3))]
    own = template_scores(hashed, weights, chain, chain)
    bounds = []
    for slot in range(3):
        others = [tuple(w if i == slot else x for i, x in enumerate(chain)) for w in range(n_nodes)]
        scores = np.array([template_scores(hashed, weights, other, chain) for other in others])
        bounds.append(scores[:, loose].max(axis=0).sum())
    return sum(own[t] for t in range(n_templates) if t not in loose) + min(bounds)


def starved(arcs, tolerance):
    """All sets of words that less than one unit enters, as frozensets."""
    n_nodes = len(arcs)
    found = []
    for size in range(1, n_nodes):
        for members in itertools.combinations(range(1, n_nodes), size):
            outside = [h for h in range(n_nodes) if h not in members]
            if arcs[np.ix_(outside, members)].sum() < 1.0 - tolerance:
                found.append(frozenset(members))
    return found


def missing(arcs, added, tolerance):
    """Chains that are not added although their arcs sum to more than 1."""
    found = []
    for g, h, m in chains(len(arcs)):
        if (
            (g, h, m) not in added
            and min(arcs[g, h], arcs[h, m]) > tolerance
            and arcs[g, h] + arcs[h, m] > 1 + tolerance
        ):
            found.append((g, h, m))
    return found
