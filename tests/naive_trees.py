"""Trees and their parts from the definitions, in plain Python and by enumeration; for a few words only."""

from __future__ import annotations

import itertools
import math

START, END = "START", "END"


def is_tree(heads):
    """Return whether every word descends from the root."""
    for m in range(1, len(heads)):
        node, steps = m, 0
        while node != 0:
            node, steps = heads[node], steps + 1
            if steps > len(heads):
                return False
    return True


def all_trees(n, single_root=False):
    """Return all trees over n words as lists of heads, heads[0] == -1, in lexicographic order."""
    choices = [[h for h in range(n + 1) if h != m] for m in range(1, n + 1)]
    trees = [[-1, *heads] for heads in itertools.product(*choices)]
    return [t for t in trees if is_tree(t) and (not single_root or t.count(0) == 1)]


def is_projective(heads):
    """Return whether every word between a head and its modifier descends from that head."""
    for m in range(1, len(heads)):
        h = heads[m]
        for between in range(min(h, m) + 1, max(h, m)):
            node = between
            while node not in (0, h):
                node = heads[node]
            if node != h:
                return False
    return True


def parts_of_tree(heads):
    """Return the parts of a tree: 'arc' (h, m), 'sibling' (h, side, previous, next), 'grandparent' (g, h, m).

    Side is 0 (left) or 1 (right).  The sibling parts of a side go through its modifiers outward, from START to END.
    """
    n_nodes = len(heads)
    parts = {"arc": [(heads[m], m) for m in range(1, n_nodes)], "sibling": [], "grandparent": []}
    for h in range(n_nodes):
        left = [m for m in range(h - 1, 0, -1) if heads[m] == h]
        right = [m for m in range(h + 1, n_nodes) if heads[m] == h]
        for side, modifiers in enumerate((left, right)):
            for previous, following in itertools.pairwise([START, *modifiers, END]):
                parts["sibling"].append((h, side, previous, following))
    for m in range(1, n_nodes):
        h = heads[m]
        if h != 0:
            parts["grandparent"].append((heads[h], h, m))
    return parts


def candidates(arcs, h, side):
    """Return the candidate modifiers of h on one side, outward."""
    pairs = zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True)
    modifiers = [m for g, m in pairs if g == h and (m > h) == bool(side)]
    return sorted(modifiers, key=lambda m: abs(m - h))


def part_numbers(heads, arcs, index):
    """Return the numbers of a tree's parts by kind, or None if an arc is absent.

    Kinds that the model does not have (an index of zeros) have no numbers.
    """
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    parts = parts_of_tree(heads)
    if any(arc not in pairs for arc in parts["arc"]):
        return None
    numbers = {"arc": [pairs.index(arc) for arc in parts["arc"]], "sibling": [], "grandparent": []}
    if max(index.sibling_start) > 0:
        for h, side, previous, following in parts["sibling"]:
            outward = [START, *candidates(arcs, h, side), END]
            a, b = outward.index(previous), outward.index(following)
            numbers["sibling"].append(int(index.sibling_start[2 * h + side]) + b * (b - 1) // 2 + a)
    if max(index.grandparent_start) > 0:
        for g, h, m in parts["grandparent"]:
            into = [x for x, y in pairs if y == h]
            outward = candidates(arcs, h, 0) + candidates(arcs, h, 1)
            i, j = into.index(g), outward.index(m)
            numbers["grandparent"].append(int(index.grandparent_start[h]) + i * len(outward) + j)
    return numbers


def score_of_tree(heads, arcs, index, scores):
    """Return the sum of the scores of a tree's parts, or minus infinity if an arc is absent."""
    numbers = part_numbers(heads, arcs, index)
    if numbers is None:
        return -math.inf
    return math.fsum(float(getattr(scores, kind)[p]) for kind, listed in numbers.items() for p in listed)


def arc_score(heads, scores):
    """Return the sum of scores[h][m] over a tree's arcs."""
    return math.fsum(float(scores[heads[m]][m]) for m in range(1, len(heads)))


def best_score(scores, single_root=False, projective=False):
    """Return the highest arc-factored score of any tree, or minus infinity if there is none."""
    trees = all_trees(len(scores) - 1, single_root)
    return max(arc_score(t, scores) for t in trees if not projective or is_projective(t))


def log_partition(scores, single_root=False):
    """Return the logarithm of the sum over trees of exp(score), and the marginals as a list of rows p[h][m]."""
    trees = [(t, arc_score(t, scores)) for t in all_trees(len(scores) - 1, single_root)]
    top = max(score for _, score in trees)
    marginals = [[0.0] * len(scores) for _ in scores]
    if top == -math.inf:
        return top, marginals
    total = math.fsum(math.exp(score - top) for _, score in trees)
    for tree, score in trees:
        for m in range(1, len(tree)):
            marginals[tree[m]][m] += math.exp(score - top) / total
    return top + math.log(total), marginals
