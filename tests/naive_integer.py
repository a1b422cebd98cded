"""Parsing as an integer program, from the definition of its parts, solved by scipy."""

import itertools

import numpy as np
from naive_crossing import cross
from naive_trees import END, START, grandparent_number, grandsibling_number, pairs_of, sibling_number, trisibling_number
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array


class Program:
    """A program to maximise, whose variables have names."""

    def __init__(self):
        self.numbers, self.costs, self.upper, self.rows = {}, [], [], []

    def add(self, name, cost=0.0, upper=1.0):
        """Add a variable."""
        self.numbers[name] = len(self.costs)
        self.costs.append(cost)
        self.upper.append(upper)

    def row(self, terms, lower, upper):
        """Add a row; terms are (name, coefficient)."""
        self.rows.append(([(self.numbers[name], value) for name, value in terms], lower, upper))

    def solve(self, whole):
        """The optimum if the variables whose names begin with ``whole`` are integers; none without such names."""
        entries = [(r, c, v) for r, (terms, _, _) in enumerate(self.rows) for c, v in terms]
        r, c, v = zip(*entries, strict=True)
        matrix = csr_array((v, (r, c)), shape=(len(self.rows), len(self.costs)))
        limits = LinearConstraint(matrix, [row[1] for row in self.rows], [row[2] for row in self.rows])
        kinds = np.array([int(name[0] in whole) for name in self.numbers])
        bounds = Bounds(np.zeros(len(self.costs)), np.array(self.upper))
        given = {"bounds": bounds, "constraints": limits, "options": {"mip_rel_gap": 0}}
        found = milp(-np.array(self.costs), integrality=kinds, **given)
        assert found.success, found.message
        return -found.fun


def best_score(parts, scores, single_root=False, costs=None):
    """The score of the best tree, less the costs of its crossed arcs, as the optimum of an integer program."""
    program, arcs, n_nodes = Program(), pairs_of(parts.arcs), len(parts.arcs.start) - 1
    into = [[a for a, (_, m) in enumerate(arcs) if m == e] for e in range(n_nodes)]
    for a in range(len(arcs)):
        program.add(("arc", a), scores[a])
    for m in range(1, n_nodes):
        program.row([(("arc", a), 1.0) for a in into[m]], 1.0, 1.0)
    if single_root:
        program.row([(("arc", a), 1.0) for a, (h, _) in enumerate(arcs) if h == 0], 1.0, 1.0)
    add_flow(program, arcs, n_nodes - 1)
    if "grandparent" in parts.names:
        add_grandparents(program, parts, scores, arcs, into)
    if "sibling" in parts.names:
        add_siblings(program, parts, scores, arcs, into)
    if costs is not None:
        add_crossings(program, arcs, costs)
    return program.solve(("arc",))


def add_flow(program, arcs, n):
    """One unit of flow from the root to each word, along the arcs of the tree."""
    for a in range(len(arcs)):
        program.add(("flow", a), upper=float(n))
        program.row([(("flow", a), 1.0), (("arc", a), -float(n))], -np.inf, 0.0)
    for m in range(1, n + 1):
        enters = [(("flow", a), 1.0) for a, arc in enumerate(arcs) if arc[1] == m]
        leaves = [(("flow", a), -1.0) for a, arc in enumerate(arcs) if arc[0] == m]
        program.row(enters + leaves, 1.0, 1.0)


def add_crossings(program, arcs, costs):
    """An arc is crossed if it and an arc that crosses it are in the tree."""
    for a in range(len(arcs)):
        program.add(("crossed", a), -costs[a])
    for a, b in itertools.permutations(range(len(arcs)), 2):
        if cross(arcs[a], arcs[b]):
            program.row([(("crossed", a), 1.0), (("arc", a), -1.0), (("arc", b), -1.0)], -1.0, np.inf)


def add_siblings(program, parts, scores, arcs, into):
    """The transitions of each word and side are a path over its modifiers.

    Grand-siblings are conjunctions of a transition and the arc above, tri-siblings of two transitions.
    """
    for e, side in itertools.product(range(len(parts.arcs.start) - 1), (0, 1)):
        chosen = [a for a, (h, m) in enumerate(arcs) if h == e and (m > h) == bool(side)]
        chosen.sort(key=lambda a: abs(arcs[a][1] - arcs[a][0]))
        nodes = [START, *(arcs[a][1] for a in chosen), END]
        names = {}
        for i, j in itertools.combinations(range(len(nodes)), 2):
            number = sibling_number(parts, e, side, nodes[i], nodes[j])
            if scores[number] > -np.inf:
                names[i, j] = ("sibling", number)
                program.add(("sibling", number), scores[number])
        program.row([(v, 1.0) for (i, _), v in names.items() if i == 0], 1.0, 1.0)
        for place, a in enumerate(chosen, 1):
            for end in (0, 1):
                terms = [(v, 1.0) for pair, v in names.items() if pair[end] == place]
                program.row([*terms, (("arc", a), -1.0)], 0.0, 0.0)
        for (i, j), name in names.items() if "grandsibling" in parts.names else ():
            for above in into[e]:
                number = grandsibling_number(parts, arcs[above][0], e, side, nodes[i], nodes[j])
                add_conjunction(program, ("grandsibling", number), scores[number], (name, ("arc", above)))
        for (i, j), (k, m) in itertools.product(names, names) if "trisibling" in parts.names else ():
            if j == k:
                number = trisibling_number(parts, e, side, nodes[i], nodes[j], nodes[m])
                add_conjunction(program, ("trisibling", number), scores[number], (names[i, j], names[k, m]))


def add_grandparents(program, parts, scores, arcs, into):
    """Grandparent parts are conjunctions of two arcs."""
    for below, (h, m) in enumerate(arcs):
        for above in into[h]:
            number = grandparent_number(parts, arcs[above][0], h, m)
            if scores[number] > -np.inf:
                add_conjunction(program, ("grandparent", number), scores[number], (("arc", above), ("arc", below)))


def add_conjunction(program, name, cost, both):
    """A variable that is 1 where both of two others are."""
    program.add(name, cost)
    for each in both:
        program.row([(name, 1.0), (each, -1.0)], -np.inf, 0.0)
    program.row([(name, 1.0), *((each, -1.0) for each in both)], -1.0, np.inf)
