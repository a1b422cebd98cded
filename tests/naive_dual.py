"""Head automata and the dual decomposition's oracles from the definitions, by enumeration and in plain Python."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from naive_trees import END, START, all_trees, candidates, is_projective

from nonproj.types import GRANDPARENT


def choices(arcs, index, scores, model, h, taken, raised):
    """All of Z_h: (value, arcs out that are taken, arc in that is raised or None), every subset of modifiers."""
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    sides = [candidates(arcs, h, 0), candidates(arcs, h, 1)]
    outward = sides[0] + sides[1]
    ups = [a for a, (_, m) in enumerate(pairs) if m == h] if model == GRANDPARENT and h > 0 else [None]
    for up in ups:
        for picked in itertools.product([False, True], repeat=len(outward)):
            chosen = [m for m, wanted in zip(outward, picked, strict=True) if wanted]
            if up is not None and pairs[up][0] in chosen:
                continue
            value = 0.0 if up is None else raised[up]
            for side in (0, 1):
                row = [START, *sides[side], END]
                path = [START, *[m for m in sides[side] if m in chosen], END]
                for previous, following in itertools.pairwise(path):
                    a, b = row.index(previous), row.index(following)
                    value += scores.sibling[index.sibling_start[2 * h + side] + b * (b - 1) // 2 + a]
            for m in chosen:
                value += taken[pairs.index((h, m))]
                if up is not None:
                    i = ups.index(up)
                    start = index.grandparent_start[h]
                    value += scores.grandparent[start + i * len(outward) + outward.index(m)]
            yield value, [pairs.index((h, m)) for m in chosen], up


def best_relaxed(arcs, index, scores, model, taken, raised):
    """The argmax over Z: its value, z and z_up as float arrays."""
    z, up = np.zeros(len(arcs.head)), np.zeros(len(arcs.head))
    total = 0.0
    for h in range(len(arcs.start) - 1):
        value, chosen, raised_arc = max(
            choices(arcs, index, scores, model, h, taken, raised), key=lambda choice: choice[0]
        )
        total += value
        z[chosen] = 1
        if raised_arc is not None:
            up[raised_arc] = 1
    return total, z, up


def relaxed_value(arcs, index, scores, tau, relaxed):
    """The score of a structure in Z, read off its indicators."""
    value = (relaxed.sibling @ scores.sibling) + (relaxed.grandparent @ scores.grandparent)
    return value + scores.arc @ (tau * relaxed.chosen + (1 - tau) * relaxed.chosen_up)


def oracles(arcs, index, scores, model, beta, tau, trees):
    """The two oracles of figures 1 and 2 for `nonproj.relaxation.subgradient.relax`; the trees are enumerated."""
    n_arcs = len(arcs.head)
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    marks = [np.array([1.0 if tree[m] == h else 0.0 for h, m in pairs]) for tree in trees]
    twice = model == GRANDPARENT
    tau = tau if twice else 1.0

    def tree(weights):
        theta = beta * scores.arc + weights.reshape(-1, n_arcs).sum(axis=0)
        values = [float(mark @ theta) for mark in marks]
        best = int(np.argmax(values))
        return values[best], np.tile(marks[best], 2 if twice else 1), trees[best]

    def automata(weights):
        taken = (1 - beta) * tau * scores.arc + weights[:n_arcs]
        raised = (1 - beta) * (1 - tau) * scores.arc + (weights[n_arcs:] if twice else 0.0)
        value, z, up = best_relaxed(arcs, index, scores, model, taken, raised)
        return value, np.concatenate([z, up]) if twice else z, None

    return tree, automata, n_arcs * (2 if twice else 1)


class Automata:
    """Every automaton decoded anew at each call, by Viterbi, ties to the first: an oracle of prices [u] or [u, v].

    ``moved`` lists for each call how many automata saw other prices than at the call before: what has to be decoded.
    """

    def __init__(self, arcs, index, scores, model, beta, tau):
        self.index, self.scores, self.grandparents = index, scores, model == GRANDPARENT
        self.n_nodes = len(arcs.start) - 1
        pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
        self.arc = {pair: a for a, pair in enumerate(pairs)}
        self.into = [[h for h, m in pairs if m == i] for i in range(self.n_nodes)]
        self.sides = [[candidates(arcs, h, side) for side in (0, 1)] for h in range(self.n_nodes)]
        tau = tau if self.grandparents else 1.0
        self.taken, self.raised = (1 - beta) * tau * scores.arc, (1 - beta) * (1 - tau) * scores.arc
        self.before = None
        self.moved = []

    def __call__(self, prices):
        n_arcs = len(self.arc)
        u, v = prices[:n_arcs], prices[n_arcs:] if self.grandparents else np.zeros(n_arcs)
        self.moved.append(self.count_moved(u, v))
        self.before = u.copy(), v.copy()
        total, z, up = 0.0, np.zeros(n_arcs), np.zeros(n_arcs)
        for h in range(self.n_nodes):
            value, k, modifiers = self.best(h, self.taken + u, self.raised + v)
            total += value
            z[[self.arc[h, m] for m in modifiers]] = 1
            if k is not None:
                up[self.arc[k, h]] = 1
        return total, np.concatenate([z, up]) if self.grandparents else z, None

    def count_moved(self, u, v):
        """How many automata see a price that is not what it was; all of them at first."""
        if self.before is None:
            return self.n_nodes
        heads = {h for (h, _), a in self.arc.items() if u[a] != self.before[0][a]}
        return len(heads | {m for (_, m), a in self.arc.items() if v[a] != self.before[1][a]})

    def best(self, h, taken, raised):
        """The choice of one automaton: its value, grandparent (None without one) and modifiers."""
        best = (-np.inf, None, [])
        for k in self.into[h] if self.grandparents and h > 0 else [None]:
            halves = [self.half(h, side, k, taken) for side in (0, 1)]
            value = halves[0][0] + halves[1][0] + (0.0 if k is None else raised[self.arc[k, h]])
            if value > best[0]:
                best = (value, k, halves[0][1] + halves[1][1])
        return best

    def half(self, h, side, k, taken):
        """Viterbi from START to END over the modifiers on one side, all but k: its value and modifiers."""
        row = [START, *self.sides[h][side], END]
        states = [b for b, m in enumerate(row) if k is None or m != k]
        best, back = {0: 0.0}, {}
        for b in states[1:]:
            first = self.index.sibling_start[2 * h + side] + b * (b - 1) // 2
            values = {a: best[a] + self.scores.sibling[first + a] for a in states if a < b}
            back[b] = max(values, key=values.get)
            best[b] = values[back[b]] + self.weight(h, row[b], k, taken)
        modifiers, b = [], back[states[-1]]
        while b > 0:
            modifiers.append(row[b])
            b = back[b]
        return best[states[-1]], modifiers

    def weight(self, h, m, k, taken):
        """What taking modifier m adds to the transition: its arc, and its chain from the grandparent."""
        if m == END:
            return 0.0
        outward = self.sides[h][0] + self.sides[h][1]
        row = self.index.grandparent_start[h] + (0 if k is None else self.into[h].index(k)) * len(outward)
        return taken[self.arc[h, m]] + (0.0 if k is None else self.scores.grandparent[row + outward.index(m)])


@functools.cache
def trees_of(n, single_root, projective):
    """All trees of n words of one form, as an array with a row of heads for each."""
    return np.array([tree for tree in all_trees(n, single_root) if not projective or is_projective(tree)])


class Tree:
    """The best tree at prices [u] or [u, v], by enumeration: an oracle.

    Where several trees are best, ``prefer(theta)`` returns the heads of the one that is wanted: it must be one of them.
    """

    def __init__(self, arcs, scores, model, options, prefer):
        self.weights, self.copies = options.beta * scores.arc, 2 if model == GRANDPARENT else 1
        trees = trees_of(len(arcs.start) - 2, options.single_root, options.projective)
        marks = (trees[:, arcs.modifier] == arcs.head).astype(float)
        over_arcs = marks.sum(axis=1) == len(arcs.start) - 2
        self.trees, self.marks, self.prefer = trees[over_arcs].tolist(), marks[over_arcs], prefer

    def __call__(self, prices):
        theta = self.weights + prices.reshape(self.copies, -1).sum(axis=0)
        values = self.marks @ theta
        heads = self.prefer(theta).tolist()
        best = self.trees.index(heads)
        assert values[best] == values.max(), "the preferred tree is not a best one"
        return float(values[best]), np.tile(self.marks[best], self.copies), heads
