"""Linear and integer programs of parsing: LP relaxations, including that of dual decomposition, and the exact program.

The rows of trees are in `nonproj_systems.programs.tree_polytope`, those of parts in
`nonproj_systems.programs.part_rows`, and the solver in `nonproj_systems.programs.solver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.automata.compiled import has_compiled_automata
from nonproj.parts.base import PartType
from nonproj.parts.space import check_scores, tree_indicators, tree_score
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.types import ArcSpace, Decoded, PartSpace
from nonproj_systems.programs.automaton_polytope import Copies, automaton_paths
from nonproj_systems.programs.constraints import ConstraintRows, rows_of
from nonproj_systems.programs.part_rows import (
    FAMILIES,
    check_families,
    grandparent_rows,
    part_rows,
    transitions,
    upper_bounds,
)
from nonproj_systems.programs.solver import Program
from nonproj_systems.programs.tree_polytope import commodities, multi_commodity, one_head, single_commodity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RELAXATIONS, SIBLINGS = ("single", "multi", "compact"), ("paths", "pairs")
"""Relaxations of the arborescence polytope, and rows that tie transitions to arcs; see `LinearOptions`."""


class LinearOptions(NamedTuple):
    """Options of the linear or integer program.

    Attributes
    ----------
    relaxation : str
        ``single``: single-commodity flow, LP(S).  ``multi``: multi-commodity flow, LP(M), whose vertices are integral
        in an arc model.  ``compact``: as ``multi``, with the convex hull of each head automaton; dual decomposition
        minimises the dual of this program.
    siblings : str
        ``paths``: the transitions of a head form a path, the convex hull of the sibling automaton.  ``pairs``: each
        transition is the conjunction of its arcs, which is looser.  ``compact`` always uses paths.
    families : tuple of str
        Rows that tie grandparent parts to arcs (`FAMILIES`), for ``single`` and ``multi``.
    integer : bool
        Whether arcs must be 0 or 1: then the optimum is the best tree.  ``single`` is usually the fastest.
    single_root : bool
        Whether exactly one word is headed by the root.
    tolerance : float
        A gap up to ``tolerance * (1 + |score|)`` counts as closed, a value this near to an integer as integral.
    seconds : float
        Wall-clock limit.
    """

    relaxation: str = "multi"
    siblings: str = "paths"
    families: tuple[str, ...] = FAMILIES
    integer: bool = False
    single_root: bool = False
    tolerance: float = 1e-6
    seconds: float = np.inf


DEFAULTS = LinearOptions()


class Fractional(NamedTuple):
    """A solution of the linear program.

    ``values``, float64[P]: the value of each part, from 0 to 1.  ``value``: the objective.  ``status``: as from
    `Program.solve`.  ``columns``, ``rows``, ``nodes``: size of the program, and branch-and-bound nodes.
    """

    values: np.ndarray
    value: float
    status: str
    columns: int
    rows: int
    nodes: int


def linear_program(
    parts: PartSpace, scores: ArrayLike, options: LinearOptions = DEFAULTS
) -> tuple[Decoded, Fractional]:
    """Solve a linear relaxation of parsing, or the integer program itself.

    Parameters
    ----------
    parts : PartSpace
        The parts over the candidate arcs, which must contain a tree.
    scores : array-like of shape (P,), float64
        The scores of all parts.
    options : LinearOptions

    Returns
    -------
    Decoded
        The tree of the solution or, if that is fractional, its projection: the maximum spanning arborescence with the
        arcs' values as scores.  ``bound`` is the program's optimum, ``agreed`` says whether the solution equals the
        tree, part by part, and ``iterations`` counts simplex iterations.
    Fractional
        The solution itself.

    Raises
    ------
    ValueError
        If an option is unknown, the arcs contain no tree, or there is not one finite score for each part.
    ImportError
        If HiGHS is not installed.

    Notes
    -----
    LP(S), LP(M) and ILP of Koo et al. (2010), section 7.2 and table 2, are ``single``, ``multi`` and ``integer``.  They
    and the projection are from Martins, Smith and Xing (2009), "Concise integer linear programming formulations for
    dependency parsing".  For grandparents see Riedel et al. (2012), section 3.2, and for the compact program Rush and
    Collins (2012), section 9.5: its optimum is the lowest bound that dual decomposition can reach with multipliers on
    both the modifier and the grandparent variables of each arc.  For other sets it equals LP(M) with paths.

    The solver's tolerance is about 1e-7 for each row.  At the time limit, ``bound`` is infinite or, for an integer
    program, that of branch and bound.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> scores = np.zeros(len(parts))
    >>> scores[:4] = [1.0, 2.0, 4.0, 8.0]
    >>> decoded, fractional = linear_program(parts, scores)
    >>> decoded[:5], fractional.values[:4].tolist()
    ((array([-1,  0,  1], dtype=int32), 9.0, 9.0, True, True), [1.0, 0.0, 0.0, 1.0])
    """
    checked, arcs = check_scores(parts, scores, finite=True), parts.arcs
    _check_options(options)
    # Raises a clearer error than an infeasible program would.
    maximum_arborescence_sparse(arcs, np.zeros(len(arcs.head)), options.single_root)
    program = Program(options.seconds)
    add_tree(program, arcs, checked[: len(arcs.head)], options.relaxation, options.single_root)
    copies = _add_parts(program, parts, checked, options)
    if options.integer:
        # Integral arcs make the other columns integral.
        program.set_integer(np.arange(len(arcs.head)))
    fractional = _read(program, parts, checked, copies, program.solve())
    return _project(program, parts, checked, fractional, options), fractional


def add_tree(
    program: Program, arcs: ArcSpace, costs: ArrayLike, relaxation: str = "multi", single_root: bool = False
) -> None:
    """Add the arcs to an empty program, as columns ``0 .. A - 1``, then the flows and their rows.

    ``costs``, float64[A], are the scores of the arcs; for the other parameters see `LinearOptions`.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> program = Program()
    >>> add_tree(program, full_arc_space(2), [1.0, 5.0, 2.0, 5.0])
    >>> program.solve(), program.objective
    ('optimal', 7.0)
    """
    n_arcs, n_words = len(arcs.head), len(arcs.start) - 2
    program.add_columns(costs)
    program.add_rows(one_head(arcs, single_root))
    if relaxation == "single":
        program.add_columns(np.zeros(n_arcs), 0.0, float(n_words))
        program.add_rows(single_commodity(arcs, n_arcs))
    else:
        program.add_columns(np.zeros(len(commodities(arcs).arc)))
        program.add_rows(multi_commodity(arcs, n_arcs))


def _check_options(options: LinearOptions) -> None:
    """Raise an error if an option is unknown or out of range."""
    for name, known in (("relaxation", RELAXATIONS), ("siblings", SIBLINGS)):
        if getattr(options, name) not in known:
            raise ValueError(f"{name} is {getattr(options, name)!r}; one of {', '.join(known)} is expected")
    check_families(options.families)
    if not 0.0 <= options.tolerance < np.inf:
        raise ValueError(f"tolerance is {options.tolerance}; 0 or more is expected")
    if not options.seconds > 0.0:
        raise ValueError(f"seconds is {options.seconds}; more than 0 is expected")


def _add_parts(program: Program, parts: PartSpace, scores: np.ndarray, options: LinearOptions) -> Copies | None:
    """Add the parts beyond arcs to the program; return its last columns as `Copies`, or None if they are parts."""
    several = "sibling" in parts.names and len(parts.names) > 2
    if options.relaxation == "compact" and several and has_compiled_automata(parts.types):
        copies, rows = automaton_paths(parts, program.n_columns)
        costs = np.where(copies.parts < 0, 0.0, scores[copies.parts]).sum(axis=1)
        program.add_columns(costs, 0.0, copies.upper)
        program.add_rows(rows)
        return copies
    first, blocks = program.n_columns - len(parts.arcs.head), []
    for part_type, start in zip(parts.types[1:], parts.starts[1:], strict=True):
        program.add_columns(scores[start[0] : start[-1]], 0.0, upper_bounds(part_type, parts.arcs, start))
        blocks.append(_constraints(part_type, parts.arcs, start, first + int(start[0]), options))
    for rows in blocks:
        program.add_rows(rows)
    return None


def _constraints(
    part_type: PartType, arcs: ArcSpace, start: np.ndarray, first: int, options: LinearOptions
) -> ConstraintRows:
    """Return the rows of a part type, in the variant selected by the options."""
    if part_type.name == "sibling" and options.siblings == "pairs" and options.relaxation != "compact":
        return sibling_pairs(arcs, start, first)
    if part_type.name == "grandparent":
        return grandparent_rows(arcs, start, first, options.families)
    return part_rows(part_type, arcs, start, first)


def sibling_pairs(arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return rows that, for integers, make each transition 1 if its arcs are used and none between them is, else 0.

    The rows of `part_rows`, which has these parameters and the part type, are tighter.  A transition is at most
    ``z`` of each of its arcs and ``1 - z`` of each arc between them, and at least 1 minus the sum of ``1 - z`` over its
    arcs and ``z`` over those between: the linearisation of Martins et al. (2009) for pairs of arcs.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.sibling import Sibling
    >>> arcs = full_arc_space(1)
    >>> len(sibling_pairs(arcs, Sibling().number(arcs, 1), first=1).lower)
    9
    """
    entries, lower, upper = [], [], []
    for q in range(len(start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].astype(np.int64)
        k, base = len(out), first + int(start[q] - start[0])
        for transition, (a, b) in enumerate(zip(*transitions(k), strict=True)):
            part = base + transition
            used = [out[p - 1] for p in (a, b) if 0 < p <= k]
            between = out[a : b - 1]
            entries += [([part, arc], [1.0, -1.0]) for arc in used]
            entries += [([part, arc], [1.0, 1.0]) for arc in between]
            entries.append(([part, *used, *between], [1.0] + [-1.0] * len(used) + [1.0] * len(between)))
            lower += [-np.inf] * (len(used) + len(between)) + [1.0 - len(used)]
            upper += [0.0] * len(used) + [1.0] * len(between) + [np.inf]
    return rows_of(entries, lower, upper)


def _read(program: Program, parts: PartSpace, scores: np.ndarray, copies: Copies | None, status: str) -> Fractional:
    """Return the value of each part; all zero if there is no solution."""
    x = program.values
    if len(x) != program.n_columns or not np.isfinite(x).all():
        x = np.zeros(program.n_columns)
    n_arcs = len(parts.arcs.head)
    values = np.zeros(len(parts))
    values[:n_arcs] = x[:n_arcs]
    if copies is None:
        values[n_arcs:] = x[len(x) - (len(parts) - n_arcs) :]
    else:
        of_copies = x[len(x) - len(copies.upper) :]
        for part in copies.parts.T:
            values += np.bincount(part[part >= 0], of_copies[part >= 0], len(parts))
    return Fractional(values, float(values @ scores), status, program.n_columns, program.n_rows, program.nodes)


def _project(
    program: Program, parts: PartSpace, scores: np.ndarray, fractional: Fractional, options: LinearOptions
) -> Decoded:
    """Project a solution to a tree; return it with its certificate."""
    heads = maximum_arborescence_sparse(parts.arcs, fractional.values[: len(parts.arcs.head)], options.single_root)
    score = tree_score(parts, scores, heads)
    tree = tree_indicators(parts, heads)
    agreed = fractional.status == "optimal" and np.allclose(fractional.values, tree, rtol=0.0, atol=options.tolerance)
    # The solver's optimum may be below the tree's score by its tolerance; the bound must not be.
    bound = max(program.bound if fractional.status == "optimal" or options.integer else np.inf, score)
    certified = bound - score <= options.tolerance * (1.0 + abs(score))
    return Decoded(heads, score, bound, agreed, certified, program.iterations, 0.0)
