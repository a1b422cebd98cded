"""A program of columns and rows that can grow, over the solver HiGHS: it knows no trees."""

from __future__ import annotations

import numpy as np

from nonproj.programs.tree_polytope import Rows


class Program:
    """A linear or mixed integer program, to be maximised, that can grow: a thin layer over ``highspy``.

    Columns and rows are numbered from 0 in the order in which they were added.  After a change the next `solve` starts
    from the last basis.

    Parameters
    ----------
    seconds : float
        Wall-clock limit of each `solve`.

    Raises
    ------
    ImportError
        If ``highspy`` is not installed.
    ValueError
        From its methods, if a cost is not finite, bounds cross, or a row or column does not exist.

    Notes
    -----
    Duals belong to the maximisation: the reduced cost of a column is its cost minus ``duals @ A[:, column]``.  At an
    optimum it is at most 0 for a column at its lower bound and at least 0 for one at its upper; a row that could only
    be broken upwards has a dual of at least 0.  A column that is not in the program yet would improve it only if its
    reduced cost were positive (Riedel, Smith and McCallum 2012, section 4.1).

    Examples
    --------
    >>> program = Program()
    >>> program.add_columns([1.0, 2.0], upper=np.inf)
    0
    >>> program.add_rows(Rows(np.array([0, 0]), np.array([0, 1]), np.ones(2), np.array([-np.inf]), np.array([1.0])))
    0
    >>> program.solve(), program.objective, program.values.tolist(), program.duals.tolist()
    ('optimal', 2.0, [0.0, 1.0], [2.0])
    """

    def __init__(self, seconds: float = np.inf):
        self._api = _highspy()
        self._highs = self._api.Highs()
        self._highs.silent()
        self._highs.changeObjectiveSense(self._api.ObjSense.kMaximize)
        # An integer program shall be solved to the end, and the same way every time.
        for option, value in (("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("threads", 1), ("random_seed", 0)):
            self._highs.setOptionValue(option, value)
        self._highs.setOptionValue("time_limit", float(seconds))

    @property
    def n_columns(self) -> int:
        """Columns so far."""
        return self._highs.getNumCol()

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return self._highs.getNumRow()

    def add_columns(self, costs, lower=0.0, upper=1.0, entries: tuple | None = None) -> int:
        """Append columns.

        Parameters
        ----------
        costs : array-like of shape (C,), float64
        lower, upper : float or array-like of shape (C,)
            Bounds.
        entries : tuple of (column, row, value), or None
            Entries in rows that exist: ``column`` counts from 0 among the new columns.

        Returns
        -------
        int
            The number of the first new column.
        """
        costs, first = _costs(costs), self.n_columns
        bounds = _bounds(len(costs), lower, upper)
        start, index, value = _compress(len(costs), *(entries or ([], [], [])))
        self._check(self._highs.addCols(len(costs), costs, *bounds, len(index), start, index, value), "columns")
        return first

    def add_rows(self, rows: Rows) -> int:
        """Append rows over columns that exist; return the number of the first."""
        first = self.n_rows
        start, index, value = _compress(len(rows.lower), rows.row, rows.column, rows.value)
        bounds = _bounds(len(rows.lower), rows.lower, rows.upper)
        self._check(self._highs.addRows(len(rows.lower), *bounds, len(index), start, index, value), "rows")
        return first

    def change_costs(self, columns, costs) -> None:
        """Change the costs of some columns."""
        columns = np.ascontiguousarray(columns, np.int32)
        costs = np.array(np.broadcast_to(_costs(costs), len(columns)))
        self._check(self._highs.changeColsCost(len(columns), columns, costs), "costs")

    def change_bounds(self, columns, lower, upper) -> None:
        """Change the bounds of some columns."""
        columns = np.ascontiguousarray(columns, np.int32)
        bounds = _bounds(len(columns), lower, upper)
        self._check(self._highs.changeColsBounds(len(columns), columns, *bounds), "bounds")

    def change_row_bounds(self, rows, lower, upper) -> None:
        """Change the bounds of some rows."""
        rows = np.ascontiguousarray(rows, np.int32)
        bounds = _bounds(len(rows), lower, upper)
        self._check(self._highs.changeRowsBounds(len(rows), rows, *bounds), "bounds of rows")

    def remove_rows(self, rows) -> None:
        """Remove rows; those behind them move up."""
        rows = np.ascontiguousarray(rows, np.int32)
        self._check(self._highs.deleteRows(len(rows), rows), "rows")

    def remove_columns(self, columns) -> None:
        """Remove columns; those behind them move up."""
        columns = np.ascontiguousarray(columns, np.int32)
        self._check(self._highs.deleteCols(len(columns), columns), "columns")

    def set_integer(self, columns, integer: bool = True) -> None:
        """Ask for integers, or no longer, in some columns."""
        columns = np.ascontiguousarray(columns, np.int32)
        kinds = self._api.HighsVarType
        kind = np.full(len(columns), int(kinds.kInteger if integer else kinds.kContinuous), np.uint8)
        self._check(self._highs.changeColsIntegrality(len(columns), columns, kind), "integers")

    def solve(self) -> str:
        """Solve, from the last basis where there is one.

        Returns
        -------
        str
            ``optimal``, ``infeasible``, ``unbounded``, or ``stopped`` (by the limit of time, or in numerical trouble).
        """
        self._highs.run()
        states = self._api.HighsModelStatus
        names = {
            states.kOptimal: "optimal",
            states.kModelEmpty: "optimal",
            states.kInfeasible: "infeasible",
            states.kUnbounded: "unbounded",
            states.kUnboundedOrInfeasible: "unbounded",
        }
        return names.get(self._highs.getModelStatus(), "stopped")

    @property
    def objective(self) -> float:
        """The objective of the last solution."""
        return self._highs.getInfo().objective_function_value

    @property
    def bound(self) -> float:
        """No solution is better: the objective of a linear program, the bound of branch and bound of an integer one."""
        info = self._highs.getInfo()
        return info.objective_function_value if info.mip_node_count < 0 else info.mip_dual_bound

    @property
    def values(self) -> np.ndarray:
        """The solution, float64 of ``n_columns``."""
        return np.array(self._highs.getSolution().col_value, np.float64) + 0.0

    @property
    def activities(self) -> np.ndarray:
        """``A x``, float64 of ``n_rows``."""
        return np.array(self._highs.getSolution().row_value, np.float64)

    @property
    def duals(self) -> np.ndarray:
        """The dual of each row, float64 of ``n_rows``; empty after an integer program."""
        return np.array(self._highs.getSolution().row_dual, np.float64)

    @property
    def reduced_costs(self) -> np.ndarray:
        """The reduced cost of each column, float64 of ``n_columns``; empty after an integer program."""
        return np.array(self._highs.getSolution().col_dual, np.float64)

    @property
    def iterations(self) -> int:
        """Iterations of the last `solve`, of the simplex or of the interior point method."""
        info = self._highs.getInfo()
        return max(0, info.simplex_iteration_count) + max(0, info.ipm_iteration_count)

    @property
    def nodes(self) -> int:
        """Nodes of branch and bound of the last `solve`; 0 for a linear program."""
        return max(0, self._highs.getInfo().mip_node_count)

    def _check(self, status, what: str) -> None:
        """Raise an error where HiGHS refused what it was given."""
        if status == self._api.HighsStatus.kError:
            raise ValueError(f"HiGHS refuses these {what}: a number is out of range")


def _highspy():
    """Import HiGHS only where it is used."""
    try:
        import highspy
    except ImportError:
        raise ImportError("linear programs need HiGHS: pip install nonproj[programs]") from None
    return highspy


def _costs(costs) -> np.ndarray:
    """Return costs as float64, or name the one that is not finite: HiGHS takes it, and calls nonsense optimal."""
    costs = np.ascontiguousarray(costs, np.float64)
    if not np.isfinite(costs).all():
        wrong = int(np.isfinite(costs).argmin())
        raise ValueError(f"costs[{wrong}] is {costs.flat[wrong]}; costs must be finite")
    return costs


def _bounds(size: int, lower, upper) -> list[np.ndarray]:
    """Return two bounds, each as float64[size], or say where they cross."""
    bounds = [np.array(np.broadcast_to(np.asarray(bound, np.float64), size)) for bound in (lower, upper)]
    right = bounds[0] <= bounds[1]
    if not right.all():
        wrong = int(right.argmin())
        raise ValueError(f"bounds {wrong} are {bounds[0][wrong]} and {bounds[1][wrong]}; the lower first is expected")
    return bounds


def _compress(size: int, outer, inner, value) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return triplets as compressed rows (or columns): int32 starts, int32 indices, float64 values."""
    outer = np.asarray(outer, np.int64)
    order = np.argsort(outer, kind="stable")
    start = np.searchsorted(outer[order], np.arange(size)).astype(np.int32)
    return start, np.asarray(inner, np.int32)[order], np.asarray(value, np.float64)[order]
