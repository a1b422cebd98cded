"""Problems for the tests of relaxations: random parts, and sentences as a tree and head automata, all listed."""

import naive_dual
import numpy as np
from naive_trees import pairs_of
from problems import draw_problem, trees_over

from nonproj_systems.relaxation.oracles import Enumerated
from nonproj_systems.relaxation.problem import Problem, at_most, equal_to
from nonproj_systems.relaxation.steps import AppendixA, Constant, Decaying, Halving, OncePrimal, PerIncrease, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

METHODS = {
    "constant": lambda: Subgradient(Constant(0.05)),
    "1/sqrt(k)": lambda: Subgradient(Decaying(1.0)),
    "1/k": lambda: Subgradient(Decaying(2.0, power=1.0)),
    "1/(t+1)": lambda: Subgradient(PerIncrease(size=1.0)),
    "halving": lambda: Subgradient(Halving(size=0.5)),
    "appendix A": lambda: Subgradient(OncePrimal(AppendixA())),
    "polyak": lambda: Subgradient(OncePrimal(Polyak())),
    "target level": Subgradient,
}
"""Every step rule."""

CONVERGENT = {
    "1/sqrt(k)": (3000, 5e-2),
    "1/k": (1000, 1e-2),
    "1/(t+1)": (1000, 1e-2),
}
"""Step rules that converge to the optimum of the linear program: the number of iterations and the tolerance."""


def draw_parts(seed, n_parts=3, n=6, size=4, n_solutions=6, rows=False):
    """Random parts over some of n variables of 0 and 1, with one common solution; and rows that it satisfies."""
    rng = np.random.default_rng(seed)
    common = rng.integers(0, 2, n)
    views = [np.sort(rng.permutation(n)[:size]) for _ in range(n_parts)]
    views[0] = np.concatenate([views[0], np.setdiff1d(np.arange(n), np.concatenate(views))])
    parts = []
    for view in views:
        solutions = np.unique(np.vstack([rng.integers(0, 2, (n_solutions, len(view))), common[view]]), axis=0)
        parts.append((solutions.tolist(), rng.standard_normal(len(solutions)).tolist(), view.tolist()))
    found = []
    if rows:
        for equal in (False, False, True):
            coefficients = rng.integers(-1, 3, n)
            found.append((coefficients.tolist(), float(coefficients @ common), equal))
    return parts, found


def problem_of(parts, n, rows=()):
    """The problem of parts and rows."""
    constraints = [(equal_to if equal else at_most)([row], [limit]) for row, limit, equal in rows]
    oracles = [Enumerated(solutions, scores) for solutions, scores, _ in parts]
    return Problem(oracles, n, [view for _, _, view in parts], constraints)


def draw_sentence(seed, name, n=3, beta=0.5, tau=0.5):
    """A random sentence as parts: its trees, then the choices of each head; ``(parts, n_variables, space, scores)``.

    The variables are the arcs to modifiers, and, with grandparents, a second copy of the arcs, to grandparents.
    """
    space, scores = draw_problem(np.random.default_rng(seed), n, name, "continuous", pruned=bool(seed % 2))
    pairs, grandparents = pairs_of(space.arcs), "grandparent" in name
    n_arcs, arc_scores = len(pairs), scores[: len(pairs)]
    tau = tau if grandparents else 1.0
    marks = [[int(tree[m] == h) for h, m in pairs] for tree in trees_over(space.arcs)]
    copies = 2 if grandparents else 1
    tree_scores = [float(beta * np.dot(mark, arc_scores)) for mark in marks]
    parts = [([mark * copies for mark in marks], tree_scores, list(range(copies * n_arcs)))]
    for h in range(n + 1):
        view = [a for a, pair in enumerate(pairs) if pair[0] == h]
        view += [n_arcs + a for a, pair in enumerate(pairs) if grandparents and pair[1] == h]
        solutions, values = [], []
        for choice in naive_dual.choices(space, scores, h):
            up = [] if choice.grandparent is None else [n_arcs + choice.grandparent]
            solutions.append([int(a in choice.chosen + up) for a in view])
            values.append(choice.value((1 - beta) * tau * arc_scores, (1 - beta) * (1 - tau) * arc_scores))
        parts.append((solutions, [float(value) for value in values], view))
    return parts, copies * n_arcs, space, scores
