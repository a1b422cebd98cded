"""Head automata and the dual decomposition's oracles from the definitions, by enumeration and in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
from naive_trees import END, START, candidates

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
    """The two oracles of figures 1 and 2 for `nonproj.lagrange.relax`; the trees are enumerated."""
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
