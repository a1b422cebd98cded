"""The subgradient method for two subproblems, from the paper: Koo et al. (2010), figures 1 and 2 and appendix A.1."""

from types import SimpleNamespace

import numpy as np

GRACE = 10
"""Iterations after the gap has closed, in which a tie may end."""


class Paper:
    """The first gap, over one more than the number of times the dual has risen."""

    def __init__(self):
        self.gap, self.last, self.rises = None, np.inf, 0

    def __call__(self, dual, primal, best, stalled, norm):
        if self.gap is None:
            self.gap = dual - (primal if primal > -np.inf else best)
        self.rises += dual > self.last
        self.last = dual
        return self.gap / (1 + self.rises)


class Polyak:
    """The gap to the best tree over the number of disagreements, times a scale that decays where the bound stalls."""

    def __init__(self):
        self.scale, self.stalls = 1.7, 0

    def __call__(self, dual, primal, best, stalled, norm):
        self.stalls = self.stalls + 1 if stalled else 0
        if self.stalls == 20:
            self.stalls, self.scale = 0, 0.7 * self.scale
        return max(self.scale * (dual - best) / norm, 1e-6 * (1.0 + abs(best)))


def relax(tree, automata, score, size, rule, max_iterations=250, tolerance=1e-9):
    """Minimise the dual over ``size`` multipliers; return what was found, and a trace of each iteration.

    ``tree`` and ``automata`` take what is added to the scores of the variables that both see, and return the maximum,
    these variables and the structure; ``score`` is that of a tree.
    """
    u, trace = np.zeros(size), {"dual": [], "primal": [], "step": []}
    found = SimpleNamespace(solution=None, primal_value=-np.inf, dual_bound=np.inf, agreed=False, certified=False)
    found.iterations, found.trace, grace = 0, trace, GRACE
    while found.iterations < max_iterations:
        value, y, heads = tree(u)
        below, z, _ = automata(-u)
        dual, primal = value + below, score(heads)
        if primal > found.primal_value or found.iterations == 0:
            found.solution, found.primal_value = heads, primal
        stalled = dual >= found.dual_bound
        found.dual_bound = min(found.dual_bound, dual)
        found.iterations += 1
        for name, number in (("dual", dual), ("primal", primal), ("step", 0.0)):
            trace[name].append(number)
        norm = float(((y - z) ** 2).sum())
        if norm == 0.0:
            found.solution, found.primal_value, found.agreed, found.certified = heads, primal, True, True
            break
        best = found.primal_value
        if best > -np.inf and found.dual_bound - best <= tolerance * (1.0 + abs(best)):
            found.certified, grace = True, grace - 1
            if grace < 0:
                break
        step = rule(dual, primal, best, stalled, norm)
        if step == 0.0:
            break
        trace["step"][-1] = step
        u = u - step * (y - z)
    found.dual_bound = max(found.dual_bound, found.primal_value)  # rounding may make a closed gap negative
    return found
