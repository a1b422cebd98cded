"""Bounds and separation of price and cut, from their definitions."""

import itertools

import numpy as np


def grandparent_parts(n_nodes):
    """All grandparent parts (g, h, m): three different nodes, of which only g may be the root."""
    words = range(1, n_nodes)
    return [(g, h, m) for g in range(n_nodes) for h in words for m in words if len({g, h, m}) == 3]


def places(hashed, part, order_of):
    """The places of each template's weights for a part, with the order codes of another part."""
    g, h, m = order_of
    codes = (0, 1 + (m > h), 3 + 4 * (h > g) + 2 * (m > h) + (m > g))
    plain = hashed.plain
    result = []
    for t in range(plain.shares.shape[2]):
        key = sum(int(plain.shares[slot, word, t]) for slot, word in enumerate(part)) % 2**32
        result.append([(key >> int(plain.shift)) ^ codes[c] for c in plain.codes])
    return result


def template_scores(hashed, weights, part, order_of):
    """The score of each template."""
    return [sum(float(weights[p]) for p in row) for row in places(hashed, part, order_of)]


def types_of(hashed, t, slot):
    """The number of types of a template in one slot."""
    return len(set(hashed.plain.shares[slot, :-2, t].tolist()))


def upper_bound(hashed, weights, part):
    """The minimum over the slots of a bound for which each template takes its best word in the slot.

    Templates with a single type in some slot are not bounded: they have their exact score.
    """
    n_nodes, n_templates = hashed.plain.shares.shape[1] - 2, hashed.plain.shares.shape[2]
    loose = [t for t in range(n_templates) if all(types_of(hashed, t, slot) > 1 for slot in range(3))]
    own = template_scores(hashed, weights, part, part)
    bounds = []
    for slot in range(3):
        others = [tuple(w if i == slot else x for i, x in enumerate(part)) for w in range(n_nodes)]
        scores = np.array([template_scores(hashed, weights, other, part) for other in others])
        bounds.append(scores[:, loose].max(axis=0).sum())
    return sum(own[t] for t in range(n_templates) if t not in loose) + min(bounds)


def violated_cutsets(arcs, tolerance):
    """All sets of words, as frozensets, whose entering arcs sum to less than 1."""
    n_nodes = len(arcs)
    found = []
    for size in range(1, n_nodes):
        for members in itertools.combinations(range(1, n_nodes), size):
            outside = [h for h in range(n_nodes) if h not in members]
            if arcs[np.ix_(outside, members)].sum() < 1.0 - tolerance:
                found.append(frozenset(members))
    return found


def violated_arc_gp(arcs, added, tolerance):
    """Grandparent parts that are not added although their arcs sum to more than 1."""
    found = []
    for g, h, m in grandparent_parts(len(arcs)):
        if (
            (g, h, m) not in added
            and min(arcs[g, h], arcs[h, m]) > tolerance
            and arcs[g, h] + arcs[h, m] > 1 + tolerance
        ):
            found.append((g, h, m))
    return found
