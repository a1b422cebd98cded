"""Linear and mixed integer programs that can grow by columns and rows, solved by HiGHS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj_systems.programs.constraints import ConstraintRows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Entries(NamedTuple):
    """Entries of a sparse matrix, each with its column, its row and its value."""

    columns: ArrayLike
    rows: ArrayLike
    values: ArrayLike


class Program:
    """A linear or mixed integer program to maximise: a thin layer over ``highspy``.

    Columns and rows are numbered from 0 in the order in which they are added.

    Parameters
    ----------
    seconds : float
        Wall-clock limit of each `solve`.

    Raises
    ------
    ImportError
        If ``highspy`` is not installed.
    ValueError
        From its methods, if a cost is not finite, a lower bound exceeds its upper bound, or a column or row does not
        exist.

    Notes
    -----
    Signs are those of a maximisation: the reduced cost of a column is its cost minus ``duals @ A[:, column]``, and the
    dual of a row with no lower bound is at least 0.  At an optimum, the reduced cost is at most 0 for a column at its
    lower bound and at least 0 for one at its upper bound.  A new column can improve the objective only if its reduced
    cost is positive (Riedel, Smith and McCallum 2012, section 4.1).

    Examples
    --------
    >>> program = Program()
    >>> program.add_columns([1.0, 2.0], upper=np.inf)
    0
    >>> row, column, lower, upper = np.array([0, 0]), np.array([0, 1]), np.array([-np.inf]), np.array([1.0])
    >>> program.add_rows(ConstraintRows(row, column, np.ones(2), lower, upper))
    0
    >>> program.solve(), program.objective, program.values.tolist(), program.duals.tolist()
    ('optimal', 2.0, [0.0, 1.0], [2.0])
    """

    def __init__(self, seconds: float = np.inf):
        import highspy  # takes a tenth of a second, and few systems need it

        self._api: Any = highspy  # whose types do not fit its use
        self._highs = self._api.Highs()
        self._highs.silent()
        self._highs.changeObjectiveSense(self._api.ObjSense.kMaximize)
        # Integer programs are solved to optimality, and reproducibly.
        for option, value in (("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("threads", 1), ("random_seed", 0)):
            self._highs.setOptionValue(option, value)
        self._highs.setOptionValue("time_limit", float(seconds))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._highs.getNumCol()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._highs.getNumRow()

    def add_columns(
        self, costs: ArrayLike, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, entries: Entries | None = None
    ) -> int:
        """Append columns, with costs float64[C] and bounds; return the number of the first.

        ``entries`` are in existing rows; their columns count from 0 among the new ones.
        """
        costs, first = np.ascontiguousarray(costs, np.float64), self.n_columns
        if not np.isfinite(costs).all():  # HiGHS accepts such costs and reports a wrong optimum
            wrong = int(np.isfinite(costs).argmin())
            raise ValueError(f"costs[{wrong}] is {costs[wrong]}; costs must be finite")
        bounds = _bounds(len(costs), lower, upper)
        start, index, value = _compress(len(costs), *(entries or Entries([], [], [])))
        self._check(self._highs.addCols(len(costs), costs, *bounds, len(index), start, index, value), "columns")
        return first

    def add_rows(self, rows: ConstraintRows) -> int:
        """Append rows over existing columns; return the number of the first."""
        first = self.n_rows
        start, index, value = _compress(len(rows.lower), rows.row, rows.column, rows.value)
        bounds = _bounds(len(rows.lower), rows.lower, rows.upper)
        self._check(self._highs.addRows(len(rows.lower), *bounds, len(index), start, index, value), "rows")
        return first

    def set_integer(self, columns: ArrayLike) -> None:
        """Restrict some columns to integers."""
        columns = np.ascontiguousarray(columns, np.int32)
        kinds = np.full(len(columns), int(self._api.HighsVarType.kInteger), np.uint8)
        self._check(self._highs.changeColsIntegrality(len(columns), columns, kinds), "integer columns")

    def solve(self) -> str:
        """Solve the program, starting from the last basis if there is one.

        Return ``optimal``, ``infeasible``, ``unbounded``, or ``stopped`` (by the time limit or numerical trouble).
        """
        self._highs.run()
        states = self._api.HighsModelStatus
        names = {states.kOptimal: "optimal", states.kModelEmpty: "optimal", states.kInfeasible: "infeasible"}
        names |= dict.fromkeys((states.kUnbounded, states.kUnboundedOrInfeasible), "unbounded")
        return names.get(self._highs.getModelStatus(), "stopped")

    @property
    def objective(self) -> float:
        """The objective of the last solution."""
        return self._highs.getInfo().objective_function_value

    @property
    def bound(self) -> float:
        """Upper bound on the optimum: a linear program's objective, or the bound of branch and bound."""
        info = self._highs.getInfo()
        return info.objective_function_value if info.mip_node_count < 0 else info.mip_dual_bound

    @property
    def values(self) -> np.ndarray:
        """The value of each column, float64[n_columns]."""
        return np.array(self._highs.getSolution().col_value, np.float64) + 0.0

    @property
    def duals(self) -> np.ndarray:
        """The dual of each row, float64[n_rows]; empty after an integer program."""
        return np.array(self._highs.getSolution().row_dual, np.float64)

    @property
    def iterations(self) -> int:
        """Simplex and interior-point iterations of the last `solve`."""
        info = self._highs.getInfo()
        return max(0, info.simplex_iteration_count) + max(0, info.ipm_iteration_count)

    @property
    def nodes(self) -> int:
        """Branch-and-bound nodes of the last `solve`; 0 for a linear program."""
        return max(0, self._highs.getInfo().mip_node_count)

    def _check(self, status: Any, what: str) -> None:
        """Raise an error if HiGHS rejected its input."""
        if status == self._api.HighsStatus.kError:
            raise ValueError(f"HiGHS rejects these {what}: a value is out of range")


def _bounds(size: int, lower: ArrayLike, upper: ArrayLike) -> list[np.ndarray]:
    """Return both bounds as float64[size]; raise an error if a lower one exceeds its upper one."""
    bounds = [np.array(np.broadcast_to(np.asarray(bound, np.float64), size)) for bound in (lower, upper)]
    right = bounds[0] <= bounds[1]
    if not right.all():
        wrong = int(right.argmin())
        raise ValueError(f"bounds {wrong} are {bounds[0][wrong]} and {bounds[1][wrong]}; lower <= upper is expected")
    return bounds


def _compress(
    size: int, outer: ArrayLike, inner: ArrayLike, value: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Convert triplets to compressed rows (or columns): int32 starts, int32 indices, float64 values."""
    outer = np.asarray(outer, np.int64)
    order = np.argsort(outer, kind="stable")
    start = np.searchsorted(outer[order], np.arange(size)).astype(np.int32)
    return start, np.asarray(inner, np.int32)[order], np.asarray(value, np.float64)[order]
