"""Trees and their parts from the definitions, in plain Python and by enumeration; for a few words only."""

import functools
import itertools
import math

import numpy as np

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
    return [list(t) for t in _all_trees(n) if not single_root or t.count(0) == 1]


@functools.cache
def tree_array(n, single_root=False, projective=False):
    """All trees over n words of one form, as an array with a row of heads for each; do not change it."""
    return np.array([tree for tree in all_trees(n, single_root) if not projective or is_projective(tree)])


@functools.cache
def _all_trees(n):
    choices = [[h for h in range(n + 1) if h != m] for m in range(1, n + 1)]
    trees = ((-1, *heads) for heads in itertools.product(*choices))
    return [t for t in trees if is_tree(t)]


def is_projective(heads):
    """Return whether every word between a head and its modifier descends from that head."""
    return _is_projective(tuple(heads))


@functools.lru_cache(20_000)
def _is_projective(heads):
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
    """Return the parts of a tree: 'arc' (h, m), 'sibling' (h, side, previous, next), 'grandparent' (g, h, m),
    'grandsibling' (g, h, side, previous, next), 'trisibling' (h, side, last but one, previous, next).

    Side is 0 (left) or 1 (right).  The sibling parts of a side go through its modifiers outward, from START to END.
    """
    return _parts_of_tree(tuple(heads))


@functools.lru_cache(20_000)
def _parts_of_tree(heads):
    n_nodes = len(heads)
    parts = {name: [] for name in ("arc", "sibling", "grandparent", "grandsibling", "trisibling")}
    parts["arc"] = [(heads[m], m) for m in range(1, n_nodes)]
    for h in range(n_nodes):
        left = [m for m in range(h - 1, 0, -1) if heads[m] == h]
        right = [m for m in range(h + 1, n_nodes) if heads[m] == h]
        for side, modifiers in enumerate((left, right)):
            path = [START, *modifiers, END]
            for previous, following in itertools.pairwise(path):
                parts["sibling"].append((h, side, previous, following))
                if h != 0:
                    parts["grandsibling"].append((heads[h], h, side, previous, following))
            for three in zip(path, path[1:], path[2:], strict=False):
                parts["trisibling"].append((h, side, *three))
    for m in range(1, n_nodes):
        h = heads[m]
        if h != 0:
            parts["grandparent"].append((heads[h], h, m))
    return parts


def pairs_of(arcs):
    """The arcs as (head, modifier), in the order of their numbers."""
    return list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))


def candidates(arcs, h, side):
    """The candidate modifiers of h on one side, outward."""
    modifiers = [m for g, m in pairs_of(arcs) if g == h and (m > h) == bool(side)]
    return sorted(modifiers, key=lambda m: abs(m - h))


def sibling_number(parts, h, side, previous, following):
    """The number of a sibling part."""
    outward = [START, *candidates(parts.arcs, h, side), END]
    a, b = outward.index(previous), outward.index(following)
    return int(parts.start("sibling")[2 * h + side]) + b * (b - 1) // 2 + a


def grandparent_number(parts, g, h, m):
    """The number of a grandparent part."""
    into = [head for head, modifier in pairs_of(parts.arcs) if modifier == h]
    outward = candidates(parts.arcs, h, 0) + candidates(parts.arcs, h, 1)
    return int(parts.start("grandparent")[h]) + into.index(g) * len(outward) + outward.index(m)


def grandsibling_number(parts, g, h, side, previous, following):
    """The number of a grand-sibling part: for each arc into h the transitions on the left, then those on the right."""
    into = [head for head, modifier in pairs_of(parts.arcs) if modifier == h]
    sizes = [math.comb(len(candidates(parts.arcs, h, each)) + 2, 2) for each in (0, 1)]
    outward = [START, *candidates(parts.arcs, h, side), END]
    a, b = outward.index(previous), outward.index(following)
    first = int(parts.start("grandsibling")[h]) + into.index(g) * sum(sizes)
    return first + side * sizes[0] + math.comb(b, 2) + a


def trisibling_number(parts, h, side, one, two, three):
    """The number of a tri-sibling part."""
    outward = [START, *candidates(parts.arcs, h, side), END]
    a, b, c = outward.index(one), outward.index(two), outward.index(three)
    return int(parts.start("trisibling")[2 * h + side]) + math.comb(c, 3) + math.comb(b, 2) + a


NUMBERS = {
    "sibling": sibling_number,
    "grandparent": grandparent_number,
    "grandsibling": grandsibling_number,
    "trisibling": trisibling_number,
}


def part_numbers(heads, parts):
    """The numbers of a tree's parts by type, {'arc': [...], ...}; None if an arc is absent."""
    return tree_numbers(parts)(heads)


def tree_numbers(parts):
    """A function like `part_numbers` of the heads alone, which looks each part up once."""
    arcs = {pair: a for a, pair in enumerate(pairs_of(parts.arcs))}
    number = {name: functools.cache(functools.partial(NUMBERS[name], parts)) for name in NUMBERS if name in parts.names}

    def find(heads):
        listed = parts_of_tree(heads)
        if any(arc not in arcs for arc in listed["arc"]):
            return None
        found = {"arc": [arcs[arc] for arc in listed["arc"]]}
        return found | {name: [of(*part) for part in listed[name]] for name, of in number.items()}

    return find


def score_of_tree(heads, parts, scores):
    """The sum of the scores of a tree's parts; minus infinity if an arc is absent."""
    return tree_scorer(parts, scores)(heads)


def tree_scorer(parts, scores):
    """A function like `score_of_tree` of the heads alone, for many trees."""
    find, values = tree_numbers(parts), np.asarray(scores, float).tolist()

    def score(heads):
        numbers = find(heads)
        if numbers is None:
            return -math.inf
        return math.fsum(values[p] for listed in numbers.values() for p in listed)

    return score


def arc_score(heads, scores):
    """Return the sum of scores[h][m] over a tree's arcs."""
    return math.fsum(float(scores[heads[m]][m]) for m in range(1, len(heads)))


def labelled_trees(n, n_labels, single_root=False):
    """All pairs of a tree and labels, one for each word."""
    for heads in all_trees(n, single_root):
        for labels in itertools.product(range(n_labels), repeat=n):
            yield heads, labels


def log_partition(scores, single_root=False, trees=None):
    """The logarithm of the sum of exp(score) over trees, by default all, and the probability of each arc, [N, N]."""
    trees, p = all_trees(len(scores) - 1, single_root) if trees is None else trees, np.zeros(np.shape(scores))
    values = [arc_score(tree, scores) for tree in trees]
    top = max(values)
    if top == -math.inf:
        return top, p
    total = math.fsum(math.exp(value - top) for value in values)
    for tree, value in zip(trees, values, strict=True):
        p[tree[1:], range(1, len(tree))] += math.exp(value - top) / total
    return top + math.log(total), p


def difference(trees, score, head, word):
    """The score of the best of some trees without an arc, less that of the best with it."""
    without = [score(tree) for tree in trees if tree[word] != head]
    having = [score(tree) for tree in trees if tree[word] == head]
    return max(without, default=float("-inf")) - max(having, default=float("-inf"))
