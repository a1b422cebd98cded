"""The programs of the bundle method, by HiGHS: the minimum of a model near the best multipliers.

The model is ``costs . d + sum over oracles of max over their rows r of (heights[r] - slopes[r] . d)``, of steps ``d``.
A quadratic program penalises long steps.  HiGHS' quadratic solver sometimes reports a wrong optimum, so every solution
is checked by its duality gap; if the check fails, a linear program finds the minimum within a box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ITERATIONS = 100
"""Maximum number of HiGHS iterations for a quadratic program, per row and column."""

GAP = 0.01
"""Largest accepted duality gap of a quadratic program, as a share of the predicted decrease."""


class OutOfTimeError(Exception):
    """The time limit was reached within HiGHS."""


class Model(NamedTuple):
    """A model of the dual around the best multipliers.

    Attributes
    ----------
    costs : ndarray of shape (n,)
    lower : ndarray of shape (n,)
        Lower bounds of the steps, at most 0.
    slopes : ndarray of shape (r, n)
    heights : ndarray of shape (r,)
    oracle : ndarray of shape (r,), int64
        The oracle of each row, in ascending order; each oracle has a row.
    """

    costs: np.ndarray
    lower: np.ndarray
    slopes: np.ndarray
    heights: np.ndarray
    oracle: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """The first row of each oracle."""
        return np.flatnonzero(np.diff(self.oracle, prepend=-1))

    def value(self, steps: np.ndarray) -> float:
        """Return the value of the model at some steps."""
        found = np.maximum.reduceat(self.heights - self.slopes @ steps, self.first)
        return float(self.costs @ steps + found.sum())


class Lowest(NamedTuple):
    """The minimum of a model.

    Attributes
    ----------
    steps : ndarray of shape (n,)
    weights : ndarray of shape (r,)
        Weights of the rows: at least 0, with sum 1 for each oracle.
    slope : float
        Maximum decrease of the model per unit of distance beyond.
    """

    steps: np.ndarray
    weights: np.ndarray
    slope: float


def minimise(model: Model, size: float, seconds: float) -> Lowest | None:
    """Return the minimum of the model plus ``|steps|^2 / (2 size)``, or else of the model in a box of about that size.

    Parameters
    ----------
    model : Model
    size : float
    seconds : float
        Elapsed time for HiGHS.

    Returns
    -------
    Lowest or None
        None if HiGHS fails.

    Raises
    ------
    OutOfTimeError

    Examples
    --------
    The absolute value of ``d - 1``, as the maximum of two rows:

    >>> model = Model(np.zeros(1), np.array([-9.0]), np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.zeros(2, int))
    >>> minimise(model, 4.0, 10.0).steps.round(6).tolist(), minimise(model, 0.5, 10.0).steps.round(6).tolist()
    ([1.0], [0.5])
    """
    # The length of a plain step along the subgradient at the centre.
    steepest = np.maximum.reduceat(model.heights, model.first).sum()
    active = [
        int(rows[model.heights[rows].argmax()]) for rows in np.split(np.arange(len(model.oracle)), model.first[1:])
    ]
    gradient = model.costs - model.slopes[active].sum(0)
    unit = size * float(np.abs(np.where((model.lower >= 0.0) & (gradient > 0.0), 0.0, gradient)).max(initial=0.0))
    if unit == 0.0:
        weights = np.zeros(len(model.oracle))
        weights[active] = 1.0
        return Lowest(np.zeros(len(model.costs)), weights, 0.0)
    found = _solve(model, unit, unit * unit / size, True, seconds)
    if found is not None:
        weights, steps = found
        slope = model.costs - weights @ model.slopes
        steps = np.maximum(-size * slope, model.lower)  # the best steps for these weights: more exact than HiGHS'
        lower_bound = float(slope @ steps + weights @ model.heights)
        here = model.value(steps)
        if here - lower_bound <= GAP * max(steepest - here, 0.0) + 1e-12 * (1.0 + abs(here)):
            return Lowest(steps, weights, float(np.linalg.norm(steps)) / size)
    found = _solve(model, unit, unit, False, seconds)
    if found is None:
        return None
    weights, steps = found
    steps = np.maximum(steps, model.lower)
    return Lowest(steps, weights, max(steepest - model.value(steps), 0.0) / unit)


def _solve(
    model: Model, unit: float, worth: float, quadratic: bool, seconds: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve the quadratic program, or the linear one within a box, in units of steps and of values.

    Return the weights of the rows and the steps, or None.
    """
    import highspy  # only this method needs it

    api: Any = highspy  # whose types do not fit its use
    n, rows, first, n_oracles = len(model.costs), len(model.heights), model.first, len(model.first)
    base = np.maximum.reduceat(model.heights, first)
    program_model = api.HighsModel()
    program, hessian = program_model.lp_, program_model.hessian_
    program.num_col_, program.num_row_ = n + n_oracles, rows
    program.col_cost_ = np.concatenate([model.costs * (unit / worth), np.ones(n_oracles)])
    box = np.inf if quadratic else 1.0
    program.col_lower_ = np.concatenate([np.maximum(model.lower / unit, -box), np.full(n_oracles, -np.inf)])
    program.col_upper_ = np.concatenate([np.full(n, box), np.full(n_oracles, np.inf)])
    number = np.searchsorted(model.oracle[first], model.oracle)
    program.row_lower_ = (model.heights - base[number]) / worth
    program.row_upper_ = np.full(rows, np.inf)
    matrix = np.zeros((rows, n + n_oracles))
    matrix[:, :n], matrix[np.arange(rows), n + number] = model.slopes * (unit / worth), 1.0
    row, column = np.nonzero(matrix)
    program.a_matrix_.format_ = api.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
    program.a_matrix_.index_, program.a_matrix_.value_ = column.astype(np.int32), matrix[row, column]
    if quadratic:
        hessian.dim_, hessian.format_ = n + n_oracles, api.HessianFormat.kTriangular
        hessian.start_ = np.minimum(np.arange(n + n_oracles + 1), n).astype(np.int32)
        hessian.index_, hessian.value_ = np.arange(n, dtype=np.int32), np.ones(n)
    solver = api.Highs()
    solver.silent()
    options: dict[str, Any] = {"threads": 1, "time_limit": float(seconds)}
    for name, value in (options | {"qp_iteration_limit": ITERATIONS * (n + n_oracles + rows)}).items():
        solver.setOptionValue(name, value)
    solver.passModel(program_model)
    solver.run()
    status, solution = solver.getModelStatus(), solver.getSolution()
    if status == api.HighsModelStatus.kTimeLimit:
        raise OutOfTimeError
    steps = np.array(solution.col_value, np.float64)[:n] * unit
    weights = np.maximum(np.array(solution.row_dual, np.float64), 0.0)
    if status != api.HighsModelStatus.kOptimal or len(steps) < n or not np.isfinite(steps).all():
        return None
    totals = np.bincount(number, weights, n_oracles)
    if not (np.isfinite(totals) & (totals > 0.0)).all():
        return None
    return weights / totals[number], steps
