"""Problems in parts: oracles over shared variables, and linear constraints between them.

The problem is to maximise the sum of ``f_i(x_i)``, where oracle ``i`` sees some of the shared variables ``x``, all
oracles agree on the variables that they share, and linear constraints hold.  Lagrangian relaxation (Rush and Collins
2012, section 3.1) is the case of one oracle and constraints, dual decomposition (section 3.2) that of several oracles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Oracle(Protocol):
    """Maximises one part of the objective plus scores times the variables that it sees.

    The maximum may be rounded: bounds are rounded outward.  An oracle whose own terms are large but cancel has an
    attribute ``magnitude``: at least the sum of their absolute values in any solution.
    """

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, the variables that attain it (shape of ``scores``), and the solution itself."""


class Constraints(NamedTuple):
    """Linear constraints on the shared variables; made by `at_most`, `at_least` and `equal_to`.

    Attributes
    ----------
    matrix : ndarray or sparse matrix of shape (m, n)
    rhs : ndarray of shape (m,)
        The right-hand sides: ``matrix @ x`` is at most them, or equal to them.
    equal : ndarray of shape (m,), bool
        Mask of the constraints that are equalities.  The multipliers of the others are projected to be non-negative.
    """

    matrix: Any
    rhs: np.ndarray
    equal: np.ndarray


def _constraints(matrix: Any, rhs: ArrayLike, equal: bool) -> Constraints:
    """Return validated constraints of one kind."""
    matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.atleast_2d(np.asarray(matrix, np.float64))
    rhs = np.atleast_1d(np.asarray(rhs, np.float64))
    if rhs.shape != (matrix.shape[0],):
        raise ValueError(f"{matrix.shape[0]} constraints have right-hand sides of shape {rhs.shape}")
    entries = matrix.data if hasattr(matrix, "tocsr") else matrix
    if not (np.isfinite(entries).all() and np.isfinite(rhs).all()):
        raise ValueError("a coefficient or right-hand side is not finite; finite constraints are expected")
    return Constraints(matrix, rhs, np.full(len(rhs), equal))


def at_most(matrix: Any, rhs: ArrayLike) -> Constraints:
    """Return the constraints ``matrix @ x <= rhs``; the matrix may be sparse.

    Examples
    --------
    >>> at_most([[1, 1, 0]], [1]).equal
    array([False])
    """
    return _constraints(matrix, rhs, False)


def at_least(matrix: Any, rhs: ArrayLike) -> Constraints:
    """Return the constraints ``matrix @ x >= rhs``, as ``-matrix @ x <= -rhs``."""
    found = _constraints(matrix, rhs, False)
    return Constraints(-found.matrix, -found.rhs, found.equal)


def equal_to(matrix: Any, rhs: ArrayLike) -> Constraints:
    """Return the constraints ``matrix @ x == rhs``."""
    return _constraints(matrix, rhs, True)


class Problem:
    """Oracles, the shared variables that each of them sees, and linear constraints.

    Parameters
    ----------
    oracles : sequence of Oracle
        Each maximises ``f_i(x_i) + scores . x_i`` for any scores.
    n_variables : int
        Number of shared variables.
    views : sequence of array-like of int, optional
        For each oracle the shared variables that it sees, in its own order, without duplicates; by default all of them.
    constraints : Constraints or sequence of Constraints
        Linear constraints on the shared variables.

    Attributes
    ----------
    variable, oracle_of : ndarray of shape (C,), int64
        The shared variable and the oracle of each copy: each oracle has its own copy of each variable that it sees, and
        the copies are numbered oracle by oracle.
    offsets : ndarray of int64
        ``offsets[i]`` is the first copy of oracle ``i``.
    reference : ndarray of shape (n_variables,), int64
        The copy that the others have to agree with: that of the first oracle that sees the variable.
    tied : ndarray of int64
        The other copies, each of which has a multiplier.
    n_multipliers : int
        Multipliers of agreement in the order of ``tied``, then one for each linear constraint.
    nonnegative : ndarray of shape (n_multipliers,), bool
        The multipliers of inequalities.

    Raises
    ------
    ValueError
        If the views or constraints do not match the variables.

    Notes
    -----
    The Lagrangian is the sum of ``f_i(x_i)`` and ``u . (reference - tied) + v . (rhs - matrix @ reference)``, with
    ``v`` at least 0 for inequalities.  Its maximum over all ``x_i`` bounds the problem from above, for any multipliers.

    Examples
    --------
    >>> from nonproj_systems.relaxation.oracles import Enumerated
    >>> first = Enumerated(np.eye(3), [3.0, 2.0, 0.0])
    >>> second = Enumerated(np.eye(2), [2.0, 3.0])
    >>> problem = Problem([first, second], 3, views=[[0, 1, 2], [1, 2]])
    >>> problem.n_multipliers, problem.tied.tolist(), problem.variable[problem.tied].tolist()
    (2, [3, 4], [1, 2])
    """

    def __init__(
        self,
        oracles: Sequence[Oracle],
        n_variables: int,
        views: Sequence[Any] | None = None,
        constraints: Constraints | Sequence[Constraints] = (),
    ):
        self.oracles, self.n_variables = tuple(oracles), int(n_variables)
        views = [np.arange(self.n_variables)] * len(self.oracles) if views is None else views
        self.views = tuple(np.asarray(view, np.int64).reshape(-1) for view in views)
        self.constraints = _stack(constraints, self.n_variables)
        _check_views(self.views, len(self.oracles), self.n_variables)
        self.variable = np.concatenate(self.views)
        self.oracle_of = np.repeat(np.arange(len(self.views)), [len(view) for view in self.views])
        self.offsets = np.cumsum([0, *map(len, self.views)])
        seen, self.reference = np.unique(self.variable, return_index=True)
        if len(seen) < self.n_variables:
            missing = np.setdiff1d(np.arange(self.n_variables), seen)[0]
            raise ValueError(f"no oracle sees variable {missing}; each variable must be seen by one")
        self.tied = np.setdiff1d(np.arange(len(self.variable)), self.reference)
        self._tied_to = self.reference[self.variable[self.tied]]
        self.n_agreement, self.n_multipliers = len(self.tied), len(self.tied) + len(self.constraints.rhs)
        self.nonnegative = np.concatenate([np.zeros(self.n_agreement, np.bool_), ~self.constraints.equal])
        self._linear = self.n_multipliers > self.n_agreement
        self.constant_terms = np.concatenate([np.zeros(self.n_agreement), self.constraints.rhs])
        self.seen_by = np.bincount(self.variable, minlength=self.n_variables)
        self.most_terms = int(self.seen_by.max(initial=1)) + len(self.constraints.rhs)
        self._absolute_matrix = abs(self.constraints.matrix)

    def part(self, i: int) -> slice:
        """Return the copies of oracle ``i``."""
        return slice(self.offsets[i], self.offsets[i + 1])

    def scores(self, multipliers: np.ndarray) -> np.ndarray:
        """Return the multipliers' contribution to the scores of all copies, float64[C]."""
        found, u = np.zeros(len(self.variable)), multipliers[: self.n_agreement]
        found[self.tied] = -u
        found += np.bincount(self._tied_to, weights=u, minlength=len(found))
        if self._linear:
            found[self.reference] -= self.constraints.matrix.T @ multipliers[self.n_agreement :]
        return found

    def absolute_scores(self, multipliers: np.ndarray) -> np.ndarray:
        """Return the sum of the absolute terms of each copy's score, given the absolute values of multipliers."""
        found, u = np.zeros(len(self.variable)), multipliers[: self.n_agreement]
        found[self.tied] = u
        found += np.bincount(self._tied_to, weights=u, minlength=len(found))
        if self._linear:
            found[self.reference] += self._absolute_matrix.T @ multipliers[self.n_agreement :]
        return found

    def differences(self, copies: np.ndarray) -> np.ndarray:
        """Return the linear part of `residual`, whose transpose is `scores`."""
        found = copies[self._tied_to] - copies[self.tied]
        return np.concatenate([found, -(self.constraints.matrix @ copies[self.reference])]) if self._linear else found

    def residual(self, copies: np.ndarray) -> np.ndarray:
        """Return the disagreement of copies and the slack of the constraints: a subgradient of the dual.

        float64[n_multipliers]: reference minus tied copies, then right-hand sides minus left-hand sides.  Slack within
        rounding of 0 is 0.
        """
        if not self._linear:
            return self.differences(copies)
        found = self.differences(copies) + self.constant_terms
        slack, rhs = found[self.n_agreement :], self.constraints.rhs
        slack[np.abs(slack) <= 1e-9 * (1.0 + np.abs(rhs))] = 0.0
        return found

    def constant(self, multipliers: np.ndarray) -> float:
        """Return the constant part of the Lagrangian."""
        return float(multipliers[self.n_agreement :] @ self.constraints.rhs) if self._linear else 0.0

    def project(self, multipliers: np.ndarray) -> np.ndarray:
        """Return the nearest feasible multipliers: those of inequalities are at least 0."""
        return np.where(self.nonnegative, np.maximum(multipliers, 0.0), multipliers) if self._linear else multipliers

    def projected(self, multipliers: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Return the residual without slack of inequalities whose multiplier is 0: it is 0 at an optimal solution."""
        if not self._linear:
            return residual
        return np.where(self.nonnegative & (multipliers <= 0.0) & (residual > 0.0), 0.0, residual)

    def feasible(self, residual: np.ndarray) -> bool:
        """Return whether the residual is that of a solution that satisfies all constraints."""
        return not ((residual < 0.0) | ((residual > 0.0) & ~self.nonnegative)).any()

    def average(self, copies: np.ndarray) -> np.ndarray:
        """Return the mean of each variable's copies, float64[n_variables]."""
        return np.bincount(self.variable, weights=copies, minlength=self.n_variables) / self.seen_by

    def check_multipliers(self, multipliers: ArrayLike | None) -> np.ndarray:
        """Return a copy of the multipliers; raise a ValueError with the reason if they give no bound."""
        if multipliers is None:
            return np.zeros(self.n_multipliers)
        multipliers = np.array(multipliers, np.float64)
        if multipliers.shape != (self.n_multipliers,):
            raise ValueError(f"the multipliers have the shape {multipliers.shape}; {(self.n_multipliers,)} is expected")
        if not np.isfinite(multipliers).all():
            raise ValueError("a multiplier is not finite; finite multipliers are expected")
        if (multipliers[self.nonnegative] < 0.0).any():
            raise ValueError("the multiplier of an inequality is negative; it must be at least 0 for a bound")
        return multipliers

    def fixed(self, values: Mapping[int, int], bonus: float) -> Problem:
        """Return the problem with a bonus for each copy of some variables that has a given value, 0 or 1.

        The bonus is a Lagrange multiplier of ``x = value``, so the bound is valid whether or not the value is chosen.
        """
        scores, constants = np.zeros(len(self.variable)), np.zeros(len(self.oracles))
        for variable, value in values.items():
            scores[self.variable == variable] = bonus if value else -bonus
        for i in range(len(self.oracles)):
            constants[i] = -np.maximum(scores[self.part(i)], 0.0).sum()
        oracles = [Shifted(each, scores[self.part(i)], constants[i]) for i, each in enumerate(self.oracles)]
        return Problem(oracles, self.n_variables, self.views, self.constraints)


class Shifted:
    """An oracle whose scores and values are shifted by constants.

    Parameters
    ----------
    oracle : Oracle
    scores : ndarray of float64
    constant : float
    """

    def __init__(self, oracle: Oracle, scores: np.ndarray, constant: float):
        self._scores, self._constant = scores, constant
        self.magnitude = getattr(oracle, "magnitude", 0.0) + float(np.abs(scores).sum()) + abs(constant)
        self.oracle = oracle

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, the variables that attain it, and the solution."""
        value, chosen, solution = self.oracle(scores + self._scores)
        return value + self._constant, chosen, solution


def carry(old: Problem, new: Problem, multipliers: np.ndarray) -> np.ndarray:
    """Return the multipliers of a problem as those of one that extends it; new multipliers are 0.

    Multipliers of agreement belong to an oracle and a variable, those of constraints to their rows; the oracles of the
    old problem are the first of the new one, and its constraints the first rows.

    Examples
    --------
    >>> from nonproj_systems.relaxation.oracles import Enumerated
    >>> oracles = [Enumerated(np.eye(2), [1.0, 0.0]), Enumerated(np.eye(2), [0.0, 1.0])]
    >>> pair = Problem(oracles, 2)
    >>> more = Problem([*oracles, Enumerated(np.eye(2), [0.0, 0.0])], 2, constraints=at_most([[1, 1]], [1]))
    >>> carry(pair, more, np.array([0.5, -0.5]))
    array([ 0.5, -0.5,  0. ,  0. ,  0. ])
    """
    found = np.zeros(new.n_multipliers)
    keys = {(old.oracle_of[c], old.variable[c]): k for k, c in enumerate(old.tied.tolist())}
    for k, c in enumerate(new.tied.tolist()):
        known = keys.get((new.oracle_of[c], new.variable[c]))
        if known is not None:
            found[k] = multipliers[known]
    rows = multipliers[old.n_agreement :]
    found[new.n_agreement : new.n_agreement + len(rows)] = rows
    return found


def _check_views(views: tuple[np.ndarray, ...], n_oracles: int, n_variables: int) -> None:
    """Raise a ValueError unless there is a valid view for each oracle."""
    if not n_oracles or len(views) != n_oracles:
        raise ValueError(f"there are {n_oracles} oracles and {len(views)} views; one view for each oracle is expected")
    for i, view in enumerate(views):
        if len(view) and not (view.min() >= 0 and view.max() < n_variables):
            raise ValueError(f"the view of oracle {i} has a variable outside 0 to {n_variables - 1}")
        if len(np.unique(view)) < len(view):
            raise ValueError(f"the view of oracle {i} has a variable twice")


def _stack(constraints: Constraints | Sequence[Constraints], n_variables: int) -> Constraints:
    """Return all constraints combined."""
    given = [constraints] if isinstance(constraints, Constraints) else list(constraints)
    given = [each for each in given if len(each.rhs)]
    for each in given:
        if each.matrix.shape[1] != n_variables:
            raise ValueError(f"constraints are over {each.matrix.shape[1]} variables; {n_variables} are expected")
    if not given:
        return Constraints(np.zeros((0, n_variables)), np.zeros(0), np.zeros(0, np.bool_))
    if len(given) == 1:
        return given[0]
    if any(hasattr(each.matrix, "tocsr") for each in given):
        from scipy import sparse

        matrix = sparse.vstack([sparse.csr_array(each.matrix) for each in given]).tocsr()
    else:
        matrix = np.vstack([each.matrix for each in given])
    return Constraints(matrix, *(np.concatenate([each[k] for each in given]) for k in (1, 2)))
