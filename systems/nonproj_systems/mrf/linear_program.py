"""The local polytope of a field as a linear program, and as an integer program, by HiGHS: references for all bounds.

Wainwright et al. (2005), "MAP estimation via agreement on trees"; Rush and Collins (2012), section 5.
"""

from __future__ import annotations

import numpy as np

from nonproj_systems.mrf.model import MRF
from nonproj_systems.programs.solver import Program
from nonproj_systems.programs.tree_polytope import ConstraintRows


def solve_program(
    field: MRF, integer: bool = False, seconds: float = np.inf
) -> tuple[str, float, float, np.ndarray | None]:
    """Solve the linear program over the local polytope, or the integer program.

    Parameters
    ----------
    field : MRF
    integer : bool
        Whether the indicators of labels must be 0 or 1.
    seconds : float
        Wall-clock limit.

    Returns
    -------
    status : str
        As from `Program.solve`.
    value, bound : float
        The optimum (of a stopped integer program: the best value and bound known).
    labels : ndarray of shape (V,), int64, or None
        The labels, if all variables are integral.

    Raises
    ------
    ImportError
        If ``highspy`` is not installed.

    Examples
    --------
    A triangle with two labels, whose edges prefer different ones: the linear program takes half of each label.

    >>> triangle = MRF(np.zeros((3, 2)), [[0, 1], [1, 2], [0, 2]], -np.eye(2))
    >>> [solve_program(triangle, integer)[:2] for integer in (False, True)]
    [('optimal', 0.0), ('optimal', -1.0)]
    """
    program, graph = Program(seconds), field.graph
    allowed = np.isfinite(graph.unary)
    program.add_columns(np.where(allowed, graph.unary, 0.0), 0.0, allowed.astype(np.float64))
    tables = [field.table(e).ravel() for e in range(field.n_edges)]
    pairs = np.concatenate([np.empty(0), *tables])
    if len(pairs):
        possible = pairs > field.penalty
        program.add_columns(np.where(possible, pairs, 0.0), 0.0, possible.astype(np.float64))
    program.add_rows(_rows(field))
    if integer:
        program.set_integer(np.arange(len(graph.unary)))
    status = program.solve()
    if status == "infeasible":
        return status, -np.inf, -np.inf, None
    value, shares = program.objective, program.values[: len(graph.unary)]
    if len(shares) < len(graph.unary):
        return status, -np.inf, program.bound, None
    labels = np.array([shares[a:b].argmax() for a, b in zip(graph.first, graph.first[1:], strict=False)])
    integral = (np.abs(shares - np.round(shares)) < 1e-6).all()
    return status, float(value), float(program.bound), labels if integral else None


def _rows(field: MRF) -> ConstraintRows:
    """Return the rows: the states of a node sum to 1, the pairs of an edge to the states of its nodes."""
    graph, sizes = field.graph, field.n_states
    n_unary = len(graph.unary)
    row = [np.repeat(np.arange(field.n_nodes), sizes)]
    column, value = [np.arange(n_unary)], [np.ones(n_unary)]
    n_rows, at = field.n_nodes, n_unary
    for i, j in graph.ends.tolist():
        cells = at + np.arange(sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
        for node, lines in ((i, cells), (j, cells.T)):
            numbers = n_rows + np.arange(sizes[node])
            row += [np.repeat(numbers, lines.shape[1]), numbers]
            column += [lines.ravel(), graph.first[node] + np.arange(sizes[node])]
            value += [np.ones(lines.size), -np.ones(sizes[node])]
            n_rows += sizes[node]
        at += cells.size
    rhs = np.zeros(n_rows)
    rhs[: field.n_nodes] = 1.0
    return ConstraintRows(*(np.concatenate(each) for each in (row, column, value)), rhs, rhs)
