"""Trees and tags jointly, by dual decomposition of a grammar and a trigram tagger (Rush et al. 2010, section 4.1).

The problem is to maximise the score of a tree plus the tagger's score of its tags.  Shared variables are pairs of a
position and a tag; one oracle is the best derivation of the forest (CKY), the other the tagger's Viterbi algorithm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj_systems.constituency.forest import Forest, best_derivation, variables_of
from nonproj_systems.constituency.tagger import Trellis, best_tags, score_of
from nonproj_systems.relaxation.branch_and_bound import branch_and_bound
from nonproj_systems.relaxation.primal import Proposal
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, RelaxationResult, solve
from nonproj_systems.relaxation.steps import Halving, OncePrimal, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

AGREED, CLOSED, SEARCHED, OPEN = "agreed", "closed", "searched", "open"
"""Status of a sentence: the oracles agree; the gap is closed; proven by branch and bound; a gap remains."""


class JointOptions(NamedTuple):
    """Limits of the search.

    Attributes
    ----------
    max_iterations : int
        K: iterations of the subgradient method.
    max_nodes : int
        Maximum number of branch-and-bound nodes if a gap remains; 0: none.
    node_iterations : int
        Iterations in each node.
    first_step : float
        The first step; it is halved whenever the dual rises (Rush et al. 2010, appendix B).
    """

    max_iterations: int = 50
    max_nodes: int = 200
    node_iterations: int = 50
    first_step: float = 0.5


class Decoded(NamedTuple):
    """A tree and its certificate.

    Attributes
    ----------
    edges : ndarray of int64
        The derivation, from the root down, left before right.
    value, bound : float
        The score of tree and tags, and an upper bound on that of all others.
    certified : bool
        Whether the tree is proven optimal.
    status : str
        ``AGREED``, ``CLOSED``, ``SEARCHED`` or ``OPEN``.
    iterations : int
        Iterations of the subgradient method until the proof, or all of them.
    nodes : int
        Nodes of branch and bound.
    root : RelaxationResult
        The subgradient method's own result.
    """

    edges: np.ndarray
    value: float
    bound: float
    certified: bool
    status: str
    iterations: int
    nodes: int
    root: RelaxationResult


class GrammarOracle:
    """The best derivation of a forest, as an oracle of `nonproj_systems.relaxation`.

    Parameters
    ----------
    forest : Forest
    n_variables : int
    """

    def __init__(self, forest: Forest, n_variables: int):
        self.forest, self.n_variables = forest, n_variables

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, indicators of its variables, and the edges of the derivation."""
        value, edges = best_derivation(self.forest, scores)
        return value, variables_of(self.forest, edges, self.n_variables), edges


class TaggerOracle:
    """The best tag sequence of a trellis, as an oracle of `nonproj_systems.relaxation`.

    Parameters
    ----------
    trellis : Trellis
    """

    def __init__(self, trellis: Trellis):
        self.trellis = trellis

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, indicators of its variables, and their numbers."""
        value, chosen = best_tags(self.trellis, scores)
        variables = np.zeros(len(scores))
        variables[chosen] = 1.0
        return value, variables, chosen


def joint_problem(forest: Forest, trellis: Trellis) -> Problem:
    """Return the problem of a forest and a trellis over the same variables."""
    n_variables = len(trellis.tag)
    return Problem([GrammarOracle(forest, n_variables), TaggerOracle(trellis)], n_variables)


def objective(forest: Forest, trellis: Trellis, edges: np.ndarray) -> float:
    """Return the score of a derivation plus that of its tags; minus infinity without edges."""
    if not len(edges):
        return -np.inf
    used = forest.variable[edges]
    return float(forest.score[edges].sum()) + score_of(trellis, np.sort(used[used >= 0]))


def decode(forest: Forest, trellis: Trellis, options: JointOptions = JointOptions()) -> Decoded:  # noqa: B008
    """Return the best tree by the sum of the grammar's and the tagger's scores.

    Parameters
    ----------
    forest : Forest
        With a derivation.
    trellis : Trellis
        Over the same variables, numbered by position.
    options : JointOptions

    Returns
    -------
    Decoded

    Examples
    --------
    The first tag of the only word is better for the grammar, the second for the tagger, and better overall:

    >>> def ints(*values): return np.array(values, np.int32)
    >>> forest = Forest(ints(0, 1, 2, 4), ints(-1, -1, 0, 1), ints(-1, -1, -1, -1), ints(0, 1, -1, -1),
    ...                 np.array([0.0, -1.0, 0.0, 0.0]), ints(0, 0, 0, 0), np.array([[0, 0, 1], [1, 0, 1], [2, 0, 1]]))
    >>> trellis = Trellis(np.array([0, 2]), np.array([0, 1]), np.array([-5.0, -1.0]), np.zeros((3, 3, 3)))
    >>> found = decode(forest, trellis)
    >>> found.edges, found.value, round(found.bound, 9), found.status
    (array([3, 1]), -2.0, -2.0, 'agreed')
    """
    problem = joint_problem(forest, trellis)

    def repair(proposal: Proposal) -> tuple[float, Any]:
        edges = proposal.solutions[0]
        return objective(forest, trellis, edges), edges

    method, limits = Subgradient(Halving(options.first_step)), Limits(options.max_iterations)
    root = solve(problem, method, repair=repair, limits=limits)
    bound, value, edges = root.dual_bound, root.primal_value, root.solution
    if root.certified or not options.max_nodes:
        status = AGREED if root.agreed else CLOSED if root.certified else OPEN
        return Decoded(edges, value, bound, root.certified, status, iterations_of(root), 0, root)
    found = branch_and_bound(
        problem,
        Subgradient(OncePrimal(Polyak())),
        repair=repair,
        limits=Limits(options.node_iterations),
        node_limits=Limits(options.node_iterations),
        max_nodes=options.max_nodes,
        start=root.best_multipliers,
    )
    if found.primal_value > value:
        value = found.primal_value
        edges = found.solution[0] if isinstance(found.solution, tuple) else found.solution
    bound = max(min(bound, found.dual_bound), value)
    certified = root.certified or found.certified
    status = SEARCHED if certified else OPEN
    return Decoded(edges, value, bound, certified, status, iterations_of(root), found.nodes, root)


def iterations_of(root: RelaxationResult, tolerance: float = 1e-9) -> int:
    """Return the number of iterations until bound and solution met; all iterations if they did not."""
    gap = np.asarray(root.trace.best_dual) - np.asarray(root.trace.best_primal)
    closed = np.flatnonzero(gap <= tolerance * (1.0 + np.abs(root.primal_value)))
    return int(closed[0]) + 1 if len(closed) and root.certified else root.iterations
