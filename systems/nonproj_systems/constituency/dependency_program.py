"""The joint problem of lexicalised trees and dependencies as an integer program, solved by HiGHS: a reference."""

from __future__ import annotations

import numpy as np

from nonproj_systems.constituency.forest import Forest
from nonproj_systems.constituency.joint_dependencies import Instance
from nonproj_systems.programs.constraints import ConstraintRows
from nonproj_systems.programs.linear_program import add_tree
from nonproj_systems.programs.part_rows import part_rows, upper_bounds
from nonproj_systems.programs.solver import Program


def joint_optimum(instance: Instance, integer: bool = True) -> float:
    """Return the optimum of the joint problem, or of its linear relaxation.

    The program has a column for each arc, each part of the dependency parser and each edge of the forest.  An item is
    derived as often as it is used, and the goal once (Rush et al. 2010, section 5.1); the edges with an arc sum to the
    value of the arc.

    Parameters
    ----------
    instance : Instance
    integer : bool
        False: the linear relaxation, with the flow of arborescences and the paths of head automata.

    Raises
    ------
    ValueError
        The program is infeasible.
    """
    parts, graph = instance.parts, instance.graph
    arcs, n_arcs = parts.arcs, len(parts.arcs.head)
    program = Program()
    add_tree(program, arcs, instance.scores[:n_arcs], "multi", True)
    first = program.n_columns - n_arcs
    blocks = []
    for part_type, start in zip(parts.types[1:], parts.starts[1:], strict=True):
        program.add_columns(instance.scores[start[0] : start[-1]], 0.0, upper_bounds(part_type, arcs, start))
        blocks.append(part_rows(part_type, arcs, start, first + int(start[0])))
    edges = program.add_columns(graph.score)
    for rows in [*blocks, _flow(graph, edges), _agreement(graph, edges, n_arcs)]:
        program.add_rows(rows)
    if integer:
        program.set_integer(np.concatenate([np.arange(n_arcs), np.arange(edges, program.n_columns)]))
    if program.solve() != "optimal":
        raise ValueError("the integer program has no optimal solution")
    return float(program.objective)


def _flow(graph: Forest, first: int) -> ConstraintRows:
    """Return a row for each item: edges that derive it minus edges that use it; 1 for the goal."""
    n_items, n_edges = graph.n_items, graph.n_edges
    derived = np.repeat(np.arange(n_items), np.diff(graph.first))
    edge = np.arange(n_edges)
    item = np.concatenate([derived, graph.left, graph.right])
    value = np.concatenate([np.ones(n_edges), -np.ones(2 * n_edges)])
    kept = item >= 0
    column = np.concatenate([edge, edge, edge])[kept] + first
    balance = np.zeros(n_items)
    balance[-1] = 1.0
    return ConstraintRows(item[kept].astype(np.int64), column, value[kept], balance, balance)


def _agreement(graph: Forest, first: int, n_arcs: int) -> ConstraintRows:
    """Return a row for each arc: the edges that use it minus the arc."""
    edge = np.flatnonzero(graph.variable >= 0)
    row = np.concatenate([graph.variable[edge].astype(np.int64), np.arange(n_arcs)])
    column = np.concatenate([edge + first, np.arange(n_arcs)])
    value = np.concatenate([np.ones(len(edge)), -np.ones(n_arcs)])
    return ConstraintRows(row, column, value, np.zeros(n_arcs), np.zeros(n_arcs))
