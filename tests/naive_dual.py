"""Head automata and the dual decomposition's oracles from the definitions, by enumeration and in plain Python."""

import functools
import itertools
from typing import NamedTuple

import numpy as np
from naive_trees import (
    END,
    START,
    candidates,
    grandparent_number,
    grandsibling_number,
    pairs_of,
    sibling_number,
    tree_array,
    trisibling_number,
)


def half_numbers(parts, g, h, side, modifiers):
    """The numbers of a head's parts on one side but for arcs and grandparents; g is its head, None without one."""
    path, numbers = [START, *[m for m in candidates(parts.arcs, h, side) if m in modifiers], END], []
    if "sibling" in parts.names:
        numbers += [sibling_number(parts, h, side, a, b) for a, b in itertools.pairwise(path)]
    if "grandsibling" in parts.names and g is not None:
        numbers += [grandsibling_number(parts, g, h, side, a, b) for a, b in itertools.pairwise(path)]
    if "trisibling" in parts.names:
        triples = zip(path, path[1:], path[2:], strict=False)
        numbers += [trisibling_number(parts, h, side, *three) for three in triples]
    return numbers


class HeadChoice(NamedTuple):
    """A choice in Z_h: the arcs to its modifiers, the arc to its grandparent or None, and the score of other parts."""

    chosen: list[int]
    grandparent: int | None
    score: float

    def value(self, z_score, grandparent_score):
        """Its score."""
        above = 0.0 if self.grandparent is None else grandparent_score[self.grandparent]
        return above + self.score + sum(z_score[a] for a in self.chosen)


def choices(parts, scores, h):
    """All of Z_h: every subset of modifiers, with every grandparent that is not among them."""
    pairs = pairs_of(parts.arcs)
    outward = candidates(parts.arcs, h, 0) + candidates(parts.arcs, h, 1)
    with_grandparent = "grandparent" in parts.names and h > 0
    for up in [a for a, (_, m) in enumerate(pairs) if m == h] if with_grandparent else [None]:
        for marks in itertools.product([False, True], repeat=len(outward)):
            modifiers = list(itertools.compress(outward, marks))
            if up is not None and pairs[up][0] in modifiers:
                continue
            g = None if up is None else pairs[up][0]
            numbers = [] if up is None else [grandparent_number(parts, g, h, m) for m in modifiers]
            numbers += [number for side in (0, 1) for number in half_numbers(parts, g, h, side, modifiers)]
            yield HeadChoice([pairs.index((h, m)) for m in modifiers], up, float(scores[numbers].sum()))


def best_relaxed(parts, scores, z_score, grandparent_score):
    """The argmax over Z: its value, z and z_grandparent as float arrays."""
    total, (z, z_grandparent) = 0.0, np.zeros((2, len(z_score)))
    for h in range(len(parts.arcs.start) - 1):
        valued = [(choice.value(z_score, grandparent_score), choice) for choice in choices(parts, scores, h)]
        value, best = max(valued, key=lambda pair: pair[0])
        total += value
        z[best.chosen] = 1
        if best.grandparent is not None:
            z_grandparent[best.grandparent] = 1
    return total, z, z_grandparent


def structure_numbers(parts, z, z_grandparent):
    """The numbers of the parts beyond arcs of a structure in Z."""
    pairs = pairs_of(parts.arcs)
    chosen = {pair for pair, mark in zip(pairs, z, strict=True) if mark}
    grandparent = {m: h for (h, m), mark in zip(pairs, z_grandparent, strict=True) if mark}
    numbers = []
    for h in range(len(parts.arcs.start) - 1):
        modifiers = {m for head, m in chosen if head == h}
        if "grandparent" in parts.names and h in grandparent:
            numbers += [grandparent_number(parts, grandparent[h], h, m) for m in modifiers]
        for side in (0, 1):
            numbers += half_numbers(parts, grandparent.get(h), h, side, modifiers)
    return sorted(numbers)


def relaxed_value(parts, scores, tau, z, z_grandparent):
    """The score of a structure in Z: that of its parts, an arc's score divided between its two automata by tau."""
    value = scores[: len(z)] @ (tau * z + (1 - tau) * z_grandparent)
    return value + sum(scores[p] for p in structure_numbers(parts, z, z_grandparent))


class Automata:
    """Every automaton decoded anew at each call, by Viterbi, ties to the first: an oracle of multipliers [u] or [u, v].

    With parts of third order by enumeration: the first among equal ones is then that whose last modifier, last but one
    and so on are farthest inward.

    Without sibling parts every modifier is chosen for itself, where it scores more than 0.  ``moved`` lists for each
    call how many automata have other multipliers than at the call before: those have to be decoded.
    """

    def __init__(self, parts, scores, beta, tau):
        self.scores = scores
        self.sibling_number = functools.cache(functools.partial(sibling_number, parts))
        self.grandparent_number = functools.cache(functools.partial(grandparent_number, parts))
        self.half_numbers = functools.cache(functools.partial(half_numbers, parts))
        self.third = bool({"grandsibling", "trisibling"} & set(parts.names))
        self.siblings, self.grandparents = "sibling" in parts.names, "grandparent" in parts.names
        self.n_nodes = len(parts.arcs.start) - 1
        pairs = pairs_of(parts.arcs)
        self.arc = {pair: a for a, pair in enumerate(pairs)}
        self.into = [[h for h, m in pairs if m == i] for i in range(self.n_nodes)]
        self.sides = [[candidates(parts.arcs, h, side) for side in (0, 1)] for h in range(self.n_nodes)]
        tau = tau if self.grandparents else 1.0
        arc_scores = scores[: len(pairs)]
        self.z_score, self.grandparent_score = (1 - beta) * tau * arc_scores, (1 - beta) * (1 - tau) * arc_scores
        self.before = None
        self.moved = []

    def __call__(self, multipliers):
        n_arcs = len(self.arc)
        u, v = multipliers[:n_arcs], multipliers[n_arcs:] if self.grandparents else np.zeros(n_arcs)
        self.moved.append(self.count_moved(u, v))
        self.before = u.copy(), v.copy()
        total, (z, z_grandparent) = 0.0, np.zeros((2, n_arcs))
        for h in range(self.n_nodes):
            value, g, modifiers = self.best(h, self.z_score + u, self.grandparent_score + v)
            total += value
            z[[self.arc[h, m] for m in modifiers]] = 1
            if g is not None:
                z_grandparent[self.arc[g, h]] = 1
        return total, np.concatenate([z, z_grandparent]) if self.grandparents else z, None

    def count_moved(self, u, v):
        """The number of automata with a changed multiplier; all of them at first."""
        if self.before is None:
            return self.n_nodes
        heads = {h for (h, _), a in self.arc.items() if u[a] != self.before[0][a]}
        return len(heads | {m for (_, m), a in self.arc.items() if v[a] != self.before[1][a]})

    def best(self, h, z_score, grandparent_score):
        """The choice of one automaton: its value, grandparent (None without one) and modifiers."""
        best = (-np.inf, None, [])
        half = self.path if self.siblings else self.positive
        half = self.enumerated if self.third else half
        for g in self.into[h] if self.grandparents and h > 0 else [None]:
            halves = [half(h, side, g, z_score) for side in (0, 1)]
            value = halves[0][0] + halves[1][0] + (0.0 if g is None else grandparent_score[self.arc[g, h]])
            if value > best[0]:
                best = (value, g, halves[0][1] + halves[1][1])
        return best

    def positive(self, h, side, g, z_score):
        """Each modifier on one side, all but g, that scores more than 0: their score, and the modifiers."""
        gains = {m: self.gain(h, m, g, z_score) for m in self.sides[h][side] if m != g}
        modifiers = [m for m, gain in gains.items() if gain > 0.0]
        return sum(gains[m] for m in modifiers), modifiers

    def path(self, h, side, g, z_score):
        """Viterbi from START to END over the modifiers on one side, all but g: its value and modifiers."""
        row = [START, *self.sides[h][side], END]
        states = [b for b, m in enumerate(row) if g is None or m != g]
        best, back = {0: 0.0}, {}
        for b in states[1:]:
            first = self.sibling_number(h, side, START, row[b])
            values = {a: best[a] + self.scores[first + a] for a in states if a < b}
            back[b] = max(values, key=values.get)
            best[b] = values[back[b]] + (0.0 if row[b] == END else self.gain(h, row[b], g, z_score))
        modifiers, b = [], back[states[-1]]
        while b > 0:
            modifiers.append(row[b])
            b = back[b]
        return best[states[-1]], modifiers

    def enumerated(self, h, side, g, z_score):
        """The best of all choices of modifiers on one side, all but g: its value and modifiers."""
        best, row = None, self.sides[h][side]
        for marks in itertools.product([False, True], repeat=len(row)):
            modifiers = list(itertools.compress(row, marks))
            if g in modifiers:
                continue
            value = sum(self.gain(h, m, g, z_score) for m in modifiers)
            value += sum(self.scores[self.half_numbers(g, h, side, tuple(modifiers))])
            inward = [position for position, mark in enumerate(marks, 1) if mark][::-1]
            if best is None or value > best[0] or (value == best[0] and inward < best[2]):
                best = value, modifiers, inward
        return best[:2]

    def gain(self, h, m, g, z_score):
        """Gain of choosing modifier m: the score of its arc, and that of its grandparent part under g."""
        grandparent = 0.0 if g is None else self.scores[self.grandparent_number(g, h, m)]
        return z_score[self.arc[h, m]] + grandparent


def tree_oracle(parts, scores, options, prefer=None):
    """An oracle of trees at multipliers [u] or [u, v], by enumeration.

    Where several trees may be best, ``prefer(scores of arcs)`` returns the heads of the one that is wanted: it must be
    one of them.
    """
    arcs, copies = parts.arcs, 2 if "grandparent" in parts.names else 1
    n = len(arcs.start) - 2
    trees = tree_array(n, options.single_root, options.projective)
    marks = (trees[:, arcs.modifier] == arcs.head).astype(float)
    over_arcs = marks.sum(axis=1) == n
    trees, marks = trees[over_arcs].tolist(), marks[over_arcs]

    def tree(multipliers):
        theta = options.beta * scores[: len(arcs.head)] + multipliers.reshape(copies, -1).sum(axis=0)
        values = marks @ theta
        best = trees.index(prefer(theta).tolist()) if prefer else int(values.argmax())
        assert values[best] == values.max(), "the preferred tree is not a best one"
        return float(values[best]), np.tile(marks[best], copies), trees[best]

    return tree
