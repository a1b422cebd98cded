"""The joint problem of trees and tags as an integer program, solved by HiGHS: a reference for tests and experiments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj_systems.constituency.forest import Forest
from nonproj_systems.constituency.tagger import Trellis
from nonproj_systems.programs.solver import Program
from nonproj_systems.programs.tree_polytope import ConstraintRows


class Solved(NamedTuple):
    """The optimum of a program.

    Attributes
    ----------
    value : float
    edges : ndarray of int64
        Edges of value 1, unordered; at a fractional optimum, those of positive value.
    integral : bool
        Whether all variables are 0 or 1.
    status : str
        Status of HiGHS.
    """

    value: float
    edges: np.ndarray
    integral: bool
    status: str


class _Trigrams(NamedTuple):
    """The arcs of the tagger's lattice: three variables each, -1 and -2 for the boundaries."""

    before: np.ndarray
    middle: np.ndarray
    last: np.ndarray
    score: np.ndarray


def joint_program(forest: Forest, trellis: Trellis, integer: bool = True, seconds: float = np.inf) -> Solved:
    """Return the best tree and tags by an integer program, or the optimum of its linear programming relaxation.

    Each edge of the forest and each trigram of tags has a variable of 0 or 1.  One edge builds the root; an item is
    built as often as it is used; trigrams form a path; the edges of a word with a tag sum to the trigrams that end in
    it (Rush et al. 2010, equation 10).  An integral optimum of the relaxation is the optimum of both.

    Parameters
    ----------
    forest : Forest
    trellis : Trellis
    integer : bool
        False: the relaxation, whose optimum is the minimum of the dual.
    seconds : float
        Limit of HiGHS.
    """
    program, arcs = Program(seconds), _trigrams(trellis)
    program.add_columns(forest.score)
    program.add_columns(arcs.score)
    program.add_rows(_forest_rows(forest))
    program.add_rows(_path_rows(arcs, forest.n_edges))
    program.add_rows(_agreement_rows(forest, arcs, len(trellis.tag)))
    status = program.solve()
    if integer and not _is_integral(program.values):
        program.set_integer(np.arange(program.n_columns))
        status = program.solve()
    values = program.values
    integral = _is_integral(values)
    edges = np.flatnonzero(values[: forest.n_edges] > (0.5 if integral else 1e-6))
    return Solved(float(program.objective), edges, integral, status)


def _is_integral(values: np.ndarray) -> bool:
    """Return whether all values are 0 or 1."""
    return bool((np.abs(values - values.round()) < 1e-6).all())


def _trigrams(trellis: Trellis) -> _Trigrams:
    """Return all trigrams of variables, with -1 for the beginning of the sentence and -2 for its end."""
    first, n, boundary = trellis.first, len(trellis.first) - 1, trellis.transition.shape[0] - 1
    places = [[-1], [-1], *(range(first[i], first[i + 1]) for i in range(n)), [-2]]
    rows = [(a, b, c) for i in range(n + 1) for a in places[i] for b in places[i + 1] for c in places[i + 2]]
    table = np.array(rows, np.int64)
    tags, emissions = np.append(trellis.tag, [boundary, boundary]), np.append(trellis.emission, [0.0, 0.0])
    score = trellis.transition[tags[table[:, 0]], tags[table[:, 1]], tags[table[:, 2]]] + emissions[table[:, 2]]
    return _Trigrams(table[:, 0], table[:, 1], table[:, 2], score)


def _rows(entries: list[tuple[int, int, float]], rhs: np.ndarray) -> ConstraintRows:
    """Return equations from entries (row, column, value) and their right-hand sides."""
    row, column, value = (np.array(each) for each in zip(*entries, strict=True))
    return ConstraintRows(row, column, value.astype(np.float64), rhs, rhs)


def _forest_rows(forest: Forest) -> ConstraintRows:
    """Return the constraints that each item is built as often as it is used, the root once."""
    head = np.repeat(np.arange(forest.n_items), np.diff(forest.first))
    entries = [(int(item), e, 1.0) for e, item in enumerate(head)]
    for child in (forest.left, forest.right):
        entries += [(int(child[e]), int(e), -1.0) for e in np.flatnonzero(child >= 0)]
    rhs = np.zeros(forest.n_items)
    rhs[-1] = 1.0
    return _rows(entries, rhs)


def _path_rows(arcs: _Trigrams, offset: int) -> ConstraintRows:
    """Return the constraints that trigrams form a path: equal numbers enter and leave each pair of variables."""
    pairs: dict[tuple[int, int], int] = {}
    entries = []
    for k, (a, b, c) in enumerate(zip(arcs.before.tolist(), arcs.middle.tolist(), arcs.last.tolist(), strict=True)):
        entries.append((pairs.setdefault((a, b), len(pairs)), offset + k, 1.0))
        if c >= 0:
            entries.append((pairs.setdefault((b, c), len(pairs)), offset + k, -1.0))
    rhs = np.zeros(len(pairs))
    rhs[pairs[-1, -1]] = 1.0
    return _rows(entries, rhs)


def _agreement_rows(forest: Forest, arcs: _Trigrams, n_variables: int) -> ConstraintRows:
    """Return the constraints that tree and tags use the same variables."""
    entries = [(int(forest.variable[e]), int(e), 1.0) for e in np.flatnonzero(forest.variable >= 0)]
    entries += [(int(arcs.last[k]), forest.n_edges + int(k), -1.0) for k in np.flatnonzero(arcs.last >= 0)]
    return _rows(entries, np.zeros(n_variables))
