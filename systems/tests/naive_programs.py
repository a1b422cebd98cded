"""Linear programs of parsing from their definitions, solved by scipy: all rows of the papers over named variables, and
programs over all trees and all choices of the automata."""

import itertools

import naive_dual
import numpy as np
from naive_trees import (
    END,
    START,
    candidates,
    grandparent_number,
    grandsibling_number,
    pairs_of,
    sibling_number,
    trisibling_number,
)
from scipy.optimize import linprog
from scipy.sparse import coo_matrix


class Named:
    """A linear program over named variables."""

    def __init__(self):
        self.costs, self.bounds, self.rows = {}, {}, []

    def variable(self, name, cost=0.0, upper=1.0):
        """Declare a variable, at least 0."""
        self.costs[name], self.bounds[name] = cost, (0.0, upper)

    def row(self, terms, sense, right):
        """Add ``sum of coefficient * variable <sense> right``; terms are (coefficient, name), names may repeat."""
        self.rows.append((terms, sense, right))

    def maximum(self):
        """The optimum; minus infinity if the program is infeasible."""
        number = {name: i for i, name in enumerate(self.costs)}
        sides = {"=": [], "<": []}
        for terms, sense, right in self.rows:
            sign = -1.0 if sense == ">" else 1.0
            sides["=" if sense == "=" else "<"].append(([(sign * c, number[name]) for c, name in terms], sign * right))
        arguments = {}
        for sense, matrix, vector in (("=", "A_eq", "b_eq"), ("<", "A_ub", "b_ub")):
            if sides[sense]:
                entries = [(i, j, c) for i, (terms, _) in enumerate(sides[sense]) for c, j in terms]
                row, column, value = zip(*entries, strict=True)
                arguments[matrix] = coo_matrix((value, (row, column)), (len(sides[sense]), len(number))).tocsr()
                arguments[vector] = [right for _, right in sides[sense]]
        result = linprog([-c for c in self.costs.values()], bounds=list(self.bounds.values()), **arguments)
        if result.status == 2:
            return -np.inf
        assert result.status == 0, result.message
        return -result.fun


def add_trees(program, arcs, arc_scores, relaxation, single_root):
    """Add the arcs and flows of Martins et al. (2009)."""
    pairs, n = pairs_of(arcs), len(arcs.start) - 2
    for arc, score in zip(pairs, arc_scores, strict=True):
        program.variable(("arc", *arc), float(score))
    for m in range(1, n + 1):
        program.row([(1.0, ("arc", *a)) for a in pairs if a[1] == m], "=", 1.0)
    if single_root:
        program.row([(1.0, ("arc", *a)) for a in pairs if a[0] == 0], "=", 1.0)
    kinds = [None] if relaxation == "single" else list(range(1, n + 1))
    for k in kinds:
        size = n if k is None else 1
        for a in pairs:
            program.variable(("flow", k, *a), 0.0, np.inf)
            program.row([(1.0, ("flow", k, *a)), (-size, ("arc", *a))], "<", 0.0)
        if n:
            program.row([(1.0, ("flow", k, *a)) for a in pairs if a[0] == 0], "=", size)
        for t in range(1, n + 1):
            terms = [(1.0, ("flow", k, *a)) for a in pairs if a[1] == t]
            terms += [(-1.0, ("flow", k, *a)) for a in pairs if a[0] == t]
            program.row(terms, "=", 1.0 if k in (None, t) else 0.0)


def add_siblings(program, parts, scores, form):
    """Transitions: ('sibling', h, side, previous, next)."""
    for h, side in itertools.product(range(len(parts.arcs.start) - 1), (0, 1)):
        row = [START, *candidates(parts.arcs, h, side), END]
        transitions = list(itertools.combinations(range(len(row)), 2))
        for a, b in transitions:
            part = h, side, row[a], row[b]
            program.variable(("sibling", *part), float(scores[sibling_number(parts, *part)]))
        if form == "paths":
            for b, m in enumerate(row):
                taken = [(-1.0, ("arc", h, m))] if m not in (START, END) else []
                right = 0.0 if taken else 1.0
                if m != START:
                    entering = [(1.0, ("sibling", h, side, row[a], m)) for a in range(b)]
                    program.row(entering + taken, "=", right)
                if m != END:
                    leaving = [(1.0, ("sibling", h, side, m, row[c])) for c in range(b + 1, len(row))]
                    program.row(leaving + taken, "=", right)
            continue
        for a, b in transitions:
            w = ("sibling", h, side, row[a], row[b])
            ends = [("arc", h, m) for m in (row[a], row[b]) if m not in (START, END)]
            between = [("arc", h, m) for m in row[a + 1 : b]]
            for z in ends:
                program.row([(1.0, w), (-1.0, z)], "<", 0.0)
            for z in between:
                program.row([(1.0, w), (1.0, z)], "<", 1.0)
            lack = [(-1.0, z) for z in ends] + [(1.0, z) for z in between]
            program.row([(1.0, w), *lack], ">", 1.0 - len(ends))


def add_grandparents(program, parts, scores, families):
    """Grandparent parts ('gp', g, p, c), and the families of Riedel et al. (2012), section 3.2, all of them."""
    pairs, n = pairs_of(parts.arcs), len(parts.arcs.start) - 2
    listed = []
    for (g, p), (head, c) in itertools.product(pairs, pairs):
        if head == p:
            listed.append((g, p, c))
            program.variable(("gp", g, p, c), float(scores[grandparent_number(parts, g, p, c)]), float(g != c))
    for g, p, c in listed:
        gp, above, below = ("gp", g, p, c), ("arc", g, p), ("arc", p, c)
        if "ArcGP" in families:
            program.row([(1.0, above), (1.0, below), (-1.0, gp)], "<", 1.0)
        if "GPArc" in families:
            program.row([(1.0, above), (-1.0, gp)], ">", 0.0)
            program.row([(1.0, below), (-1.0, gp)], ">", 0.0)
    for p, c in pairs:
        if "OneGP" in families and p > 0:
            above = [(1.0, ("gp", *part)) for part in listed if part[1:] == (p, c)]
            program.row([*above, (-1.0, ("arc", p, c))], "=", 0.0)
    for g, p in pairs:
        if "NoGP" in families:
            below = [(1.0, ("gp", *part)) for part in listed if part[:2] == (g, p)]
            program.row([*below, (-float(n), ("arc", g, p))], "<", 0.0)


def add_grandsiblings(program, parts, scores):
    """Transitions under a grandparent: ('gs', g, h, side, previous, next); its arc's value flows from START to END."""
    pairs = pairs_of(parts.arcs)
    for h in range(1, len(parts.arcs.start) - 1):
        above = [g for g, m in pairs if m == h]
        for side in (0, 1):
            row = [START, *candidates(parts.arcs, h, side), END]
            for g in above:
                for s, m in itertools.combinations(row, 2):
                    cost = float(scores[grandsibling_number(parts, g, h, side, s, m)])
                    program.variable(("gs", g, h, side, s, m), cost, float(g not in (s, m)))
                for position, word in enumerate(row[:-1]):
                    leaving = [(1.0, ("gs", g, h, side, word, m)) for m in row[position + 1 :]]
                    if word == START:
                        program.row([*leaving, (-1.0, ("arc", g, h))], "=", 0.0)
                    else:
                        entering = [(-1.0, ("gs", g, h, side, s, word)) for s in row[:position]]
                        program.row(leaving + entering, "=", 0.0)
            for position, word in enumerate(row[1:-1], 1):
                entering = [(1.0, ("gs", g, h, side, s, word)) for g in above for s in row[:position]]
                program.row([*entering, (-1.0, ("arc", h, word))], "=", 0.0)


def add_trisiblings(program, parts, scores):
    """Triples ('tri', h, side, r, s, m) as edges from the pair (r, s) to the pair (s, m): a path at most."""
    for h, side in itertools.product(range(len(parts.arcs.start) - 1), (0, 1)):
        row = [START, *candidates(parts.arcs, h, side), END]
        for three in itertools.combinations(row, 3):
            cost = float(scores[trisibling_number(parts, h, side, *three)])
            program.variable(("tri", h, side, *three), cost)
        names = [("tri", h, side, *three) for three in itertools.combinations(row, 3)]
        program.row([(1.0, name) for name in names if name[3] == START], "<", 1.0)
        for pair in itertools.combinations(row[1:-1], 2):
            into = [(1.0, name) for name in names if name[4:] == pair]
            program.row(into + [(-1.0, name) for name in names if name[3:5] == pair], "=", 0.0)
        for m in row[1:-1]:
            ends = [(1.0, name) for name in names if name[5] == m or name[3:5] == (START, m)]
            program.row([*ends, (-1.0, ("arc", h, m))], "=", 0.0)


def relaxed_optimum(parts, scores, options):
    """The optimum of LP(S) or LP(M)."""
    program = Named()
    add_trees(program, parts.arcs, scores[parts.range("arc")], options.relaxation, options.single_root)
    if "sibling" in parts.names:
        add_siblings(program, parts, scores, options.siblings)
    if "grandparent" in parts.names:
        add_grandparents(program, parts, scores, options.families)
    if "grandsibling" in parts.names:
        add_grandsiblings(program, parts, scores)
    if "trisibling" in parts.names:
        add_trisiblings(program, parts, scores)
    return program.maximum()


def hull_optimum(parts, scores, trees):
    """The optimum of the program that dual decomposition relaxes to: mixtures of trees and of each head's choices
    that agree on the arcs (Rush and Collins 2012, section 9.1)."""
    program = Named()
    pairs = pairs_of(parts.arcs)
    agree = {(kind, a): [] for kind in ("z", "z_grandparent") for a in range(len(pairs))}
    for number, tree in enumerate(trees):
        program.variable(("tree", number))
        for a, (h, m) in enumerate(pairs):
            if tree[m] == h:
                agree["z", a].append((-1.0, ("tree", number)))
                agree["z_grandparent", a].append((-1.0, ("tree", number)))
    program.row([(1.0, ("tree", number)) for number in range(len(trees))], "=", 1.0)
    for h in range(len(parts.arcs.start) - 1):
        names = []
        for number, choice in enumerate(naive_dual.choices(parts, scores, h)):
            names.append(("choice", h, number))
            program.variable(names[-1], choice.value(scores, np.zeros(len(pairs))))
            for a in choice.chosen:
                agree["z", a].append((1.0, names[-1]))
            if choice.grandparent is not None:
                agree["z_grandparent", choice.grandparent].append((1.0, names[-1]))
        program.row([(1.0, name) for name in names], "=", 1.0)
    for (kind, _), terms in agree.items():
        if terms and (kind == "z" or "grandparent" in parts.names):
            program.row(terms, "=", 0.0)
    return program.maximum()
