"""Linear and integer programs of parsing: LP relaxations, that of dual decomposition among them, and the exact program.

Koo et al. (2010), section 7.2, compare them with dual decomposition.  The rows are those of
`nonproj.programs.tree_polytope` and `nonproj.programs.part_polytope`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import check_problem
from nonproj.parts.space import gold_parts, tree_score
from nonproj.programs.part_polytope import (
    FAMILIES,
    Copies,
    check_families,
    grandparent_limits,
    grandparent_paths,
    grandparent_rows,
    sibling_pairs,
    sibling_paths,
)
from nonproj.programs.solver import Program
from nonproj.programs.tree_polytope import commodities, multi_commodity, one_head, single_commodity
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.types import GRANDPARENT, MODELS, SIBLING, ArcSpace, Decoded, PartIndex, PartScores

RELAXATIONS = ("single", "multi", "compact")
"""Relaxations of the arborescence polytope; ``compact`` also takes the convex hull of each head automaton."""

SIBLINGS = ("paths", "pairs")
"""Rows that tie transitions to arcs."""


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
        Rows that tie grandparent parts to arcs, for ``single`` and ``multi``; see
        `nonproj.programs.part_polytope.grandparent_rows`.
    integer : bool
        Whether arcs must be 0 or 1: then the optimum is the best tree (for enough families).  The smallest program,
        ``single``, is usually the fastest.
    single_root : bool
        Whether exactly one word is headed by the root.
    tolerance : float
        A gap of at most ``tolerance * (1 + |score|)`` counts as closed, and a value within ``tolerance`` of an integer
        as integral.
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
    """A solution of the linear program, aligned with the scores of the parts.

    Attributes
    ----------
    arc, sibling, grandparent : ndarray of shape (A,), (S,) and (G,), float64
        Values from 0 to 1.
    value : float
        The objective.
    status : str
        As of `Program.solve`.
    columns, rows, nodes : int
        Size of the program; branch-and-bound nodes.
    """

    arc: np.ndarray
    sibling: np.ndarray
    grandparent: np.ndarray
    value: float
    status: str
    columns: int
    rows: int
    nodes: int


def linear_program(
    arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: LinearOptions = DEFAULTS
) -> tuple[Decoded, Fractional]:
    """Solve a linear relaxation of parsing, or the integer program itself.

    Parameters
    ----------
    arcs : ArcSpace
        The candidate arcs; they must contain a tree.
    index : PartIndex
        The parts over them.
    scores : PartScores
        Of float64.
    model : int
        ``ARC``, ``SIBLING`` or ``GRANDPARENT``.
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
        If the model or an option is unknown, the arcs contain no tree, the index is another model's, or an array of
        scores does not have one finite entry for each part.
    ImportError
        If HiGHS is not installed.

    Notes
    -----
    LP(S), LP(M) and ILP of Koo et al. (2010), section 7.2 and table 2, are ``single``, ``multi`` and ``integer``.  They
    and the projection are from Martins, Smith and Xing (2009), "Concise integer linear programming formulations for
    dependency parsing".  For grandparents see Riedel et al. (2012), section 3.2, and for the compact program Rush and
    Collins (2012), section 9.5: its optimum is the lowest bound that dual decomposition can reach with multipliers on
    both the modifier and the grandparent variables of each arc.  In a sibling model it equals LP(M) with paths.

    The solver's tolerance is about 1e-7 for each row.  At the time limit, ``bound`` is infinite or, for an integer
    program, that of branch and bound.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> scores = PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> decoded, fractional = linear_program(arcs, index, scores, 1)
    >>> decoded[:5], fractional.arc.tolist()
    ((array([-1,  0,  1], dtype=int32), 9.0, 9.0, True, True), [1.0, 0.0, 0.0, 1.0])
    """
    if model not in range(len(MODELS)):
        raise ValueError(f"model is {model!r}; 0 (arc), 1 (sibling) or 2 (grandparent) is expected")
    scores = check_problem(arcs, index, scores, model)
    _check_options(options)
    # Raises a clearer error than an infeasible program would.
    maximum_arborescence_sparse(arcs, np.zeros(len(arcs.head)), options.single_root)
    program = Program(options.seconds)
    add_tree(program, arcs, scores.arc, options.relaxation, options.single_root)
    copies = _add_parts(program, arcs, index, scores, model, options)
    if options.integer:
        # Integral arcs make the other columns integral.
        program.set_integer(np.arange(len(arcs.head)))
    status = program.solve()
    fractional = _read(program, scores, copies, status)
    return _project(program, arcs, index, scores, fractional, options), fractional


def add_tree(program: Program, arcs: ArcSpace, costs, relaxation: str = "multi", single_root: bool = False) -> None:
    """Add the arcs to an empty program, as columns ``0 .. A - 1``, then the flows and their rows.

    Parameters
    ----------
    program : Program
        Without columns.
    arcs : ArcSpace
        The candidate arcs.
    costs : array-like of shape (A,), float64
        Their scores.
    relaxation : str
        One of `RELAXATIONS`; ``compact`` has the flows of ``multi``.
    single_root : bool
        Whether exactly one word is headed by the root.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space
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


def _add_parts(program, arcs, index, scores, model, options) -> Copies:
    """Add sibling and grandparent parts to the program; return the parts of these columns, which are the last."""
    n_siblings, n_grandparents = len(scores.sibling), len(scores.grandparent)
    first = program.n_columns
    if options.relaxation == "compact" and model == GRANDPARENT:
        copies, rows = grandparent_paths(arcs, index, first)
        grandparent = np.append(scores.grandparent, 0.0)  # part -1, none, scores 0
        program.add_columns(scores.sibling[copies.sibling] + grandparent[copies.grandparent], 0.0, copies.upper)
        program.add_rows(rows)
        return copies
    copies = Copies(
        np.concatenate([np.arange(n_siblings), np.full(n_grandparents, -1)]),
        np.concatenate([np.full(n_siblings, -1), np.arange(n_grandparents)]),
        np.concatenate([np.ones(n_siblings), grandparent_limits(arcs, index) if model == GRANDPARENT else []]),
    )
    program.add_columns(np.concatenate([scores.sibling, scores.grandparent]), 0.0, copies.upper)
    if model >= SIBLING:
        pairs = options.siblings == "pairs" and options.relaxation != "compact"
        program.add_rows((sibling_pairs if pairs else sibling_paths)(arcs, index, first))
    if model == GRANDPARENT:
        program.add_rows(grandparent_rows(arcs, index, first + n_siblings, options.families))
    return copies


def _read(program, scores, copies, status) -> Fractional:
    """Return the value of each part; all zero if there is no solution."""
    x = program.values
    if len(x) != program.n_columns or not np.isfinite(x).all():
        x = np.zeros(program.n_columns)
    of_parts = x[len(x) - len(copies.sibling) :]
    parts = [
        np.bincount(part[part >= 0], of_parts[part >= 0], len(values))
        for part, values in zip(copies[:2], scores[1:], strict=True)
    ]
    arc = x[: len(scores.arc)]
    value = float(arc @ scores.arc + parts[0] @ scores.sibling + parts[1] @ scores.grandparent)
    return Fractional(arc, *parts, value, status, program.n_columns, program.n_rows, program.nodes)


def _project(program, arcs, index, scores, fractional, options) -> Decoded:
    """Project a solution to a tree; return it with its certificate."""
    heads = maximum_arborescence_sparse(arcs, fractional.arc, options.single_root)
    score = tree_score(arcs, index, scores, heads)
    tree = gold_parts(arcs, index, heads)
    agreed = fractional.status == "optimal" and all(
        np.allclose(found, wanted, rtol=0.0, atol=options.tolerance)
        for found, wanted in zip(fractional[:3], tree, strict=True)
    )
    if fractional.status == "optimal" or options.integer:
        bound = program.bound
    else:
        bound = np.inf
    # The solver's optimum may be below the tree's score by its tolerance; the bound must not be.
    bound = max(bound, score)
    certified = bound - score <= options.tolerance * (1.0 + abs(score))
    return Decoded(heads, score, bound, agreed, certified, program.iterations, 0.0)
