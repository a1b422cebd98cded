"""The decoding problem as an integer program: a flow through the search graph that translates each word once."""

from __future__ import annotations

import numpy as np

from nonproj_systems.programs.solver import Program
from nonproj_systems.programs.tree_polytope import ConstraintRows
from nonproj_systems.translation.graph import Graph
from nonproj_systems.translation.instance import Instance


def solve_program(
    instance: Instance, graph: Graph, *, integer: bool = True, seconds: float = np.inf
) -> tuple[str, float, list[int]]:
    """Return the status of HiGHS, the optimum, and the phrases of an optimal derivation, ascending.

    Parameters
    ----------
    instance : Instance
    graph : Graph
        Graph of the relaxed problem, or a tighter one.
    integer : bool
        False for the linear program, whose optimum is the lowest bound by Lagrange multipliers (Chang and Collins
        2011); then there is no derivation.
    seconds : float
        Wall-clock limit.

    Raises
    ------
    ImportError
        If ``highspy`` is not installed.
    """
    n_arcs, n_nodes = len(graph.source), len(graph.arc_start) - 1
    target = np.repeat(np.arange(n_nodes), np.diff(graph.arc_start))
    arcs, option = np.arange(n_arcs), graph.option.astype(np.int64) - 1
    program = Program(seconds)
    program.add_columns(graph.score)
    balance = np.zeros(n_nodes)
    balance[0], balance[-1] = -1.0, 1.0
    row, value = np.concatenate([target, graph.source]), np.repeat([1.0, -1.0], n_arcs)
    program.add_rows(ConstraintRows(row, np.concatenate([arcs, arcs]), value, balance, balance))
    phrase_arcs = arcs[option >= 0]
    start, length = instance.start[option[phrase_arcs]], (instance.end - instance.start)[option[phrase_arcs]]
    first = np.cumsum(length) - length
    words = np.repeat(start - first, length) + np.arange(length.sum())
    ones = np.ones(instance.n_words)
    program.add_rows(ConstraintRows(words, np.repeat(phrase_arcs, length), np.ones(len(words)), ones, ones))
    if integer:
        program.set_integer(arcs)
    status = program.solve()
    if status != "optimal":
        return status, -np.inf, []
    chosen = np.unique(option[(program.values > 0.5) & (option >= 0)]).tolist() if integer else []
    return status, float(program.objective), chosen
