"""A proximal bundle method: the dual from below by all oracles' solutions so far, and a quadratic program by HiGHS.

The solutions of an oracle bound its maximum from below at any multipliers.  The sum of these bounds is a model of the
dual; its minimum, with a penalty on the distance from the best multipliers, is where the dual is evaluated next
(Lemaréchal 2001, "Lagrangian relaxation").
"""

from __future__ import annotations

import numpy as np

from nonproj.relaxation.evaluation import Evaluator
from nonproj.relaxation.solver import Iteration

SERIOUS = 0.1
"""A step is kept if the dual falls by at least this share of the fall that the model promises."""


class Bundle:
    """Method: proximal bundle, with a model of its own for each oracle.

    Parameters
    ----------
    step : float
        Weight of the model against the squared distance to the best multipliers; adapted.
    capacity : int
        Solutions kept for each oracle.  Those that the last quadratic program used are kept in any case.
    tolerance : float
        The method ends when the model promises a fall of at most ``tolerance * (1 + |bound|)``.

    Raises
    ------
    ImportError
        When a run starts, if ``highspy`` is not installed.

    Notes
    -----
    Any oracle will do, and any constraints.  The dual converges to the optimum of the linear programming
    relaxation, and the weights of the solutions in the quadratic program give an approximate solution of it.
    """

    def __init__(self, step: float = 1.0, capacity: int = 50, tolerance: float = 1e-8):
        if not step > 0:
            raise ValueError(f"step is {step}; a number above 0 is expected")
        self.step, self.capacity, self.tolerance = step, capacity, tolerance
        self.size, self.average = step, None

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Begin with an empty model."""
        _highspy()
        self._evaluator, self.size, self.average = evaluator, float(self.step), None
        n = len(evaluator.problem.oracles)
        self._cuts: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(n)]
        self._used: list[list[float]] = [[] for _ in range(n)]
        self._best, self._centre, self._model = np.inf, multipliers, -np.inf

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers where the model is lowest; None where it promises nothing."""
        evaluation = iteration.evaluation
        self._add(evaluation.multipliers, evaluation.copies)
        if evaluation.dual < self._best:
            promised = self._best - self._model
            serious = not np.isfinite(promised) or self._best - evaluation.dual >= SERIOUS * promised
            good = np.isfinite(promised) and self._best - evaluation.dual >= 0.5 * promised
            if serious:
                self._best, self._centre = evaluation.dual, evaluation.multipliers
            self.size *= 2.0 if good else 1.0
        else:
            self.size *= 0.7
        self.size = min(max(self.size, 1e-4), 1e6)
        while True:
            solved = self._minimise()
            if solved is not None:
                break
            self.size *= 0.3
            if self.size < 1e-6:
                return None
        after, self._model = solved
        if self._best - self._model <= self.tolerance * (1.0 + abs(self._best)):
            return None
        return after

    def _add(self, multipliers: np.ndarray, copies: np.ndarray) -> None:
        """Add the oracles' solutions to the model."""
        problem = self._evaluator.problem
        scores = problem.scores(multipliers)
        for i, cuts in enumerate(self._cuts):
            part = problem.part(i)
            own = self._evaluator.value(i) - float(scores[part] @ copies[part])
            if any(known == own and np.array_equal(chosen, copies[part]) for chosen, known in cuts):
                continue
            cuts.append((copies[part].copy(), own))
            self._used[i].append(1.0)
            while len(cuts) > self.capacity:
                idle = min(range(len(cuts) - 1), key=self._used[i].__getitem__)
                if self._used[i][idle] > 1e-9:
                    break
                del cuts[idle], self._used[i][idle]

    def _minimise(self) -> tuple[np.ndarray, float] | None:
        """Return the multipliers of the lowest model with its penalty, and the model there; None if HiGHS fails.

        The columns are the steps from the centre and a value for each oracle; each solution is a row.
        """
        problem, size = self._evaluator.problem, len(self._centre)
        rows, lower = [], []
        at_centre = problem.scores(self._centre)
        for i, cuts in enumerate(self._cuts):
            for chosen, own in cuts:
                copies = np.zeros(len(problem.variable))
                copies[problem.part(i)] = chosen
                row = np.zeros(size + len(self._cuts))
                row[:size], row[size + i] = -problem.differences(copies), 1.0
                rows.append(row)
                lower.append(own + float(at_centre[problem.part(i)] @ chosen))
        found = _quadratic_program(
            np.concatenate([problem.constant_terms, np.ones(len(self._cuts))]),
            np.where(problem.nonnegative, -self._centre, -np.inf),
            np.array(rows),
            np.array(lower),
            1.0 / self.size,
        )
        if found is None:
            return None
        steps, duals = found
        after = problem.project(self._centre + steps)
        model, scores, k = problem.constant(after), problem.scores(after), 0
        average = np.zeros(len(problem.variable))
        for i, cuts in enumerate(self._cuts):
            weights = np.maximum(duals[k : k + len(cuts)], 0.0)
            self._used[i], k = weights.tolist(), k + len(cuts)
            part = problem.part(i)
            model += max(own + float(scores[part] @ chosen) for chosen, own in cuts)
            total = weights.sum() or 1.0
            average[part] = sum(weight / total * chosen for weight, (chosen, _) in zip(weights, cuts, strict=True))
        self.average = problem.average(average)
        return after, model


def _quadratic_program(costs, lower_steps, matrix, lower_rows, curvature):
    """Minimise ``costs . x + curvature / 2 * |steps|^2`` where ``matrix @ x >= lower_rows``; ``x`` begins with steps.

    Return the steps and the duals of the rows, or None without an optimum.
    """
    api = _highspy()
    size, model = len(lower_steps), api.HighsModel()
    program, hessian = model.lp_, model.hessian_
    program.num_col_, program.num_row_ = len(costs), len(lower_rows)
    program.col_cost_ = costs
    program.col_lower_ = np.concatenate([lower_steps, np.full(len(costs) - size, -np.inf)])
    program.col_upper_ = np.full(len(costs), np.inf)
    program.row_lower_, program.row_upper_ = lower_rows, np.full(len(lower_rows), np.inf)
    row, column = np.nonzero(matrix)
    program.a_matrix_.format_ = api.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.searchsorted(row, np.arange(len(lower_rows) + 1)).astype(np.int32)
    program.a_matrix_.index_, program.a_matrix_.value_ = column.astype(np.int32), matrix[row, column]
    hessian.dim_, hessian.format_ = len(costs), api.HessianFormat.kTriangular
    hessian.start_ = np.minimum(np.arange(len(costs) + 1), size).astype(np.int32)
    hessian.index_, hessian.value_ = np.arange(size, dtype=np.int32), np.full(size, curvature)
    solver = api.Highs()
    solver.silent()
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != api.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    steps = np.array(solution.col_value, np.float64)[:size]
    return (steps, np.array(solution.row_dual, np.float64)) if np.isfinite(steps).all() else None


def _highspy():
    """Import HiGHS, which is an optional dependency."""
    try:
        import highspy
    except ImportError:
        raise ImportError("the bundle method needs HiGHS: pip install nonproj[programs]") from None
    return highspy
