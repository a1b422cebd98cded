"""Price and cut: delayed column and row generation for the linear program of grandparent models.

Riedel, Smith and McCallum (2012), algorithm 1.  The restricted master problem starts with a few arcs and grandparent
parts.  In each round its solution is separated and its duals price the grandparent parts without a column: those whose
optimistic reduced cost, from an upper bound of the score, is positive are scored, and those whose reduced cost is
positive get columns.  At the end the solution is optimal over all columns and rows.  Scores and bounds are given by the
caller; `nonproj_systems.programs.price_and_cut` computes them with a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.trees.arborescence import maximum_arborescence
from nonproj.types import Decoded
from nonproj_systems.programs.constraints import ConstraintRows, at_most, rows_of
from nonproj_systems.programs.pricing import ADDED, SCORED, UNSCORED, promising_parts, violated_arc_gp, violated_cutsets
from nonproj_systems.programs.solver import Entries, Program

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TOLERANCE = 1e-6
"""Maximum violation of a row that counts as none; the solver's own tolerance is 1e-7."""


class PricingOptions(NamedTuple):
    """Options of price and cut.

    Attributes
    ----------
    heads : int
        Initial candidate heads per word, besides the root and the head in the best tree; the optimum is unaffected.
    single_root : bool
        Whether exactly one word is headed by the root.
    tolerance : float
        Reduced costs up to this, relative to the largest absolute initial score, count as zero.
    """

    heads: int = 2
    single_root: bool = False
    tolerance: float = 1e-7


class PricingCounts(NamedTuple):
    """Size of the final program, and work done.

    Attributes
    ----------
    grandparents, scored, added : int
        Grandparent parts of the sentence, those scored, and those with a column.
    arcs, rows, cutsets : int
        Arcs with a column; all rows; rows of cutsets among them.
    solves, iterations : int
        Linear programs solved, and simplex iterations in all of them.
    lookups : int
        Weight look-ups to compute the bounds, one for each template and triple of types; 0 if bounds were given.
    """

    grandparents: int
    scored: int
    added: int
    arcs: int
    rows: int
    cutsets: int
    solves: int
    iterations: int
    lookups: int = 0


DEFAULTS = PricingOptions()


def price_and_cut(
    arc_scores: ArrayLike, upper_bounds: ArrayLike, score: Callable[..., Any], options: PricingOptions = DEFAULTS
) -> tuple[Decoded, PricingCounts]:
    """Solve the linear program of a grandparent model over all arcs, scoring few grandparent parts.

    Parameters
    ----------
    arc_scores : array-like of shape (N, N), float64
        The score of each arc ``[h, m]``; the diagonal and column 0 are ignored.
    upper_bounds : array-like of shape (N, N, N), float64
        Upper bounds, possibly infinite, on the scores of grandparent parts ``[g, h, m]``; other entries are ignored.
    score : callable
        ``score(parts)`` returns the scores, float64[C], of parts int32[C, 3]; it is called at most once for each part.
    options : PricingOptions

    Returns
    -------
    Decoded
        The tree of the solution or, if that is fractional, its projection: the maximum spanning arborescence with the
        arcs' values as scores.  ``bound`` is the optimum of the program with all arcs and grandparent parts, and with
        the rows OneHead, OneGP, ArcGP, GPArc and NoGP of Riedel et al. (2012) over the arborescence polytope;
        ``agreed`` says whether the solution is integral.
    PricingCounts
        Size of the final program, and work done.

    Raises
    ------
    ValueError
        If an array has the wrong shape, a score is not finite, a bound is NaN, or an option is out of range.
    ImportError
        If HiGHS is not installed.
    ArithmeticError
        If HiGHS fails.

    Examples
    --------
    >>> arc_scores = [[0, 4, 1, 1], [0, 0, 3, 1], [0, 2, 0, 3], [0, 1, 1, 0]]
    >>> upper_bounds = np.full((4, 4, 4), 0.5)
    >>> decoded, counts = price_and_cut(arc_scores, upper_bounds, lambda parts: np.where(parts[:, 2] == 3, 0.5, 0.0))
    >>> decoded.tree.tolist(), decoded.score, decoded.certified, counts.grandparents, counts.scored
    ([-1, 0, 1, 2], 10.5, True, 12, 9)
    """
    master = _RestrictedMaster(arc_scores, upper_bounds, score, options)
    master.initialise()
    while True:
        master.solve()
        if not master.separate() and not master.price():
            return master.result()


def full_program(
    arc_scores: ArrayLike, score: Callable[..., Any], options: PricingOptions = DEFAULTS
) -> tuple[Decoded, PricingCounts]:
    """Solve the same program by brute force, with parameters, results and errors as for `price_and_cut`.

    All grandparent parts are scored, and all columns and rows GPArc are present from the start.  Only rows of cutsets
    are added when violated; ArcGP and NoGP are implied by the other rows.

    Examples
    --------
    >>> full_program(np.ones((4, 4)), lambda parts: np.ones(len(parts)))[0].bound
    5.0
    """
    n_nodes = len(np.asarray(arc_scores))
    master = _RestrictedMaster(arc_scores, np.full((n_nodes,) * 3, np.inf), score, options)
    master.lazy_rows = False
    master.add_initial_columns(np.argwhere(_is_part(n_nodes)))
    master.add_arcs(*np.nonzero(~np.eye(n_nodes, dtype=bool)))
    while True:
        master.solve()
        if not master.separate():
            return master.result()


def _is_part(n_nodes: int) -> np.ndarray:
    """Return a mask of the grandparent parts ``[g, h, m]``: three different nodes; only ``g`` may be the root."""
    other, word = ~np.eye(n_nodes, dtype=bool), np.arange(n_nodes) > 0
    return other[:, :, None] & other[None] & other[:, None] & word[:, None] & word


class _RestrictedMaster:
    """The restricted master problem, and the columns and rows of its arcs, grandparent parts and cutsets."""

    def __init__(
        self, arc_scores: ArrayLike, upper_bounds: ArrayLike, score: Callable[..., Any], options: PricingOptions
    ):
        self.arc_scores, self.optimistic = _check(arc_scores, upper_bounds, options)
        self.n_nodes = n_nodes = len(self.arc_scores)
        self.score, self.options = score, options
        self.scale = 1.0
        self.state = np.full((n_nodes,) * 3, UNSCORED, np.uint8)
        self.arc_column = np.full((n_nodes, n_nodes), -1, np.int64)
        self.one_gp_row = np.full((n_nodes, n_nodes), -1, np.int64)
        self.parts = np.zeros((0, 3), np.int64)
        self.part_column, self.gp_arc_row = np.zeros((2, 0), np.int64)
        self.cutsets, self.cutset_row = np.zeros((0, n_nodes), bool), np.zeros(0, np.int64)
        self.scored = self.solves = self.iterations = 0
        self.lazy_rows = True
        self.program = Program()
        heads = np.ones(n_nodes - 1 + options.single_root)
        nothing = np.zeros(0, np.int64)
        self.program.add_rows(ConstraintRows(nothing, nothing, np.zeros(0), heads, heads))

    def add_arcs(self, h: np.ndarray, m: np.ndarray) -> None:
        """Add columns of arcs that have none, with their rows OneGP."""
        wanted = np.zeros(self.arc_column.shape, bool)
        wanted[h, m] = True
        wanted[:, 0] = False
        h, m = np.nonzero(wanted & (self.arc_column < 0))
        if not len(h):
            return
        number, from_root, from_word = np.arange(len(h)), np.flatnonzero(h == 0), np.flatnonzero(h)
        if not self.options.single_root:
            from_root = from_root[:0]
        entered, entering = np.nonzero(self.cutsets[:, m] & ~self.cutsets[:, h])
        column = np.concatenate([number, from_root, entering])
        row = np.concatenate([m - 1, np.full(len(from_root), self.n_nodes - 1), self.cutset_row[entered]])
        first = self._add_columns(self.arc_scores[h, m], column, row)
        self.arc_column[h, m] = first + number
        number = np.arange(len(from_word))
        linking = ConstraintRows(number, first + from_word, np.full(len(number), -1.0), *np.zeros((2, len(number))))
        self.one_gp_row[h[from_word], m[from_word]] = number + self.program.add_rows(linking)

    def add_parts(self, parts: np.ndarray) -> None:
        """Add columns of grandparent parts that have none, and of their arcs; score parts that have no score."""
        parts = parts[self.state[tuple(parts.T)] != ADDED].astype(np.int64)
        if not len(parts):
            return
        self.score_parts(parts)
        g, h, m = parts.T
        self.add_arcs(np.concatenate([g, h]), np.concatenate([h, m]))
        number = np.arange(len(parts))
        first = self._add_columns(self.optimistic[g, h, m], number, self.one_gp_row[h, m])
        self.state[g, h, m] = ADDED
        self.parts = np.concatenate([self.parts, parts])
        self.part_column = np.concatenate([self.part_column, first + number])
        self.gp_arc_row = np.concatenate([self.gp_arc_row, np.full(len(parts), -1)])
        if not self.lazy_rows:
            self.add_gp_arc(np.arange(len(self.parts) - len(parts), len(self.parts)))

    def _add_columns(self, scores: np.ndarray, column: np.ndarray, row: np.ndarray) -> int:
        """Add columns with entries 1 in some rows; return the number of the first."""
        # Without upper bounds: rows imply them, and duals of bounds would be missing from the reduced costs.
        return self.program.add_columns(scores / self.scale, 0.0, np.inf, Entries(column, row, np.ones(len(row))))

    def score_parts(self, parts: np.ndarray) -> None:
        """Score the grandparent parts that have no score yet; ``parts`` must be distinct."""
        parts = parts[self.state[tuple(parts.T)] == UNSCORED]
        if len(parts):
            scores = np.asarray(self.score(np.ascontiguousarray(parts, np.int32)), np.float64)
            if scores.shape != (len(parts),) or not np.isfinite(scores).all():
                raise ValueError(f"score must return one finite number for each of {len(parts)} grandparent parts")
            self.optimistic[tuple(parts.T)] = scores
            self.state[tuple(parts.T)] = SCORED
            self.scored += len(parts)

    def add_gp_arc(self, which: np.ndarray) -> None:
        """Add the rows GPArc of some columns: a grandparent part is at most its upper arc."""
        if not len(which):
            return
        upper = self.arc_column[self.parts[which, 0], self.parts[which, 1]]
        first = self.program.add_rows(at_most(self.part_column[which], upper, 1.0))
        self.gp_arc_row[which] = first + np.arange(len(which))

    def add_cutsets(self, cutsets: np.ndarray) -> None:
        """Add a row for each set of words: at least one arc enters it."""
        entering = ~cutsets[:, :, None] & cutsets[:, None] & (self.arc_column >= 0)
        columns = [self.arc_column[arcs] for arcs in entering]
        first = self.program.add_rows(rows_of([(c, np.ones(len(c))) for c in columns], 1.0, np.inf))
        self.cutset_row = np.concatenate([self.cutset_row, first + np.arange(len(cutsets))])
        self.cutsets = np.concatenate([self.cutsets, cutsets])

    def initialise(self) -> None:
        """Add the arcs with the best optimistic scores, the best tree of arcs, and all grandparent parts over them."""
        n_nodes = self.n_nodes
        best = self.optimistic.max(axis=0, initial=-np.inf)
        arc_scores = self.arc_scores + np.where(np.isfinite(best), best, 0.0)
        np.fill_diagonal(arc_scores, -np.inf)
        chosen = np.zeros((n_nodes, n_nodes), bool)
        order = np.argsort(-arc_scores, axis=0, kind="stable")[: self.options.heads]
        np.put_along_axis(chosen, order, True, axis=0)
        chosen[maximum_arborescence(arc_scores, self.options.single_root)[1:], np.arange(1, n_nodes)] = True
        # All arcs from the root are added (Riedel et al. 2012, section 4.2), so the root is a grandparent everywhere.
        from_root = np.arange(n_nodes)[:, None, None] == 0
        self.add_initial_columns(np.argwhere(_is_part(n_nodes) & chosen & (chosen[:, :, None] | from_root)))

    def add_initial_columns(self, parts: np.ndarray) -> None:
        """Add columns of the arcs from the root and of some grandparent parts."""
        self.score_parts(parts)
        # Costs are scaled because the solver's tolerances are absolute.
        scores = np.append(self.optimistic[tuple(parts.T)], self.arc_scores)
        self.scale = float(np.abs(scores).max()) or 1.0
        self.add_arcs(np.zeros(self.n_nodes - 1, np.int64), np.arange(1, self.n_nodes))
        self.add_parts(parts)

    def solve(self) -> None:
        """Solve the program and read the values of its columns."""
        status = self.program.solve()
        if status != "optimal":
            raise ArithmeticError(f"HiGHS did not solve a program of {self.program.n_columns} columns: {status}")
        self.solves += 1
        self.iterations += self.program.iterations
        values = self.program.values
        self.arc_values = np.where(self.arc_column >= 0, values[self.arc_column] if len(values) else 0.0, 0.0)
        self.part_values = values[self.part_column]

    def separate(self) -> bool:
        """Add violated rows, and columns whose rows ArcGP are violated; return whether there were any."""
        cutsets = violated_cutsets(self.arc_values, _TOLERANCE)
        known = (cutsets[:, None] == self.cutsets[None]).all(axis=2).any(axis=1)
        if not known.all():
            self.add_cutsets(cutsets[~known])
        above_arc = self.part_values > self.arc_values[self.parts[:, 0], self.parts[:, 1]] + _TOLERANCE
        violated = np.flatnonzero(above_arc & (self.gp_arc_row < 0))
        self.add_gp_arc(violated)
        missing = violated_arc_gp(self.arc_values, self.state, _TOLERANCE)
        self.add_parts(missing)
        return bool(not known.all() or len(violated) or len(missing))

    def price(self) -> bool:
        """Score grandparent parts and add those whose reduced cost is positive; return whether there were any."""
        slack, floor = self._dual_slack()
        while True:  # a score may be less than its bound: until all promising parts have a score
            parts = promising_parts(slack, self.optimistic, self.state, floor)
            known = self.state[tuple(parts.T)] == SCORED
            if known.all():
                self.add_parts(parts)
                return len(parts) > 0
            self.score_parts(parts)

    def _dual_slack(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the dual slack of arcs and the floor of the duals of OneGP, as `promising_parts` takes them."""
        duals, n_nodes = self.program.duals * self.scale, self.n_nodes
        slack = np.zeros((n_nodes, n_nodes))
        slack[:, 1:] = duals[: n_nodes - 1]
        if self.options.single_root:
            slack[0] += duals[n_nodes - 1]
        for members, dual in zip(self.cutsets, duals[self.cutset_row], strict=True):
            if dual != 0.0:
                slack[np.ix_(~members, members)] += dual
        gp_arc = np.where(self.gp_arc_row >= 0, duals[self.gp_arc_row], 0.0)
        g, h, m = self.parts.T
        np.subtract.at(slack, (g, h), gp_arc)
        floor = np.full((n_nodes, n_nodes), -np.inf)
        np.maximum.at(floor, (h, m), self.optimistic[g, h, m] - gp_arc)
        return slack - self.arc_scores + self.options.tolerance * self.scale, floor

    def result(self) -> tuple[Decoded, PricingCounts]:
        """Project the solution to a tree; return it with its certificate, and the counts."""
        heads = maximum_arborescence(self.arc_values, self.options.single_root)
        words = np.arange(1, self.n_nodes)
        below = words[heads[1:] > 0]
        parts = np.stack([heads[heads[below]], heads[below], below], axis=1).astype(np.int64)
        self.score_parts(parts)
        score = float(self.arc_scores[heads[1:], words].sum() + self.optimistic[tuple(parts.T)].sum())
        # The solver's optimum may be below the tree's score by its tolerance; the bound must not be.
        bound = max(self.program.objective * self.scale, score)
        values = np.concatenate([self.arc_values.reshape(-1), self.part_values])
        agreed = bool(np.abs(values - np.rint(values)).max(initial=0.0) < _TOLERANCE)
        certified = agreed or bound - score <= _TOLERANCE * (1.0 + abs(score))
        grandparents, arcs = len(words) * max(len(words) - 1, 0) ** 2, int((self.arc_column >= 0).sum())
        size = (grandparents, self.scored, len(self.parts), arcs, self.program.n_rows, len(self.cutsets))
        counts = PricingCounts(*size, self.solves, self.iterations)
        return Decoded(heads, score, bound, agreed, certified, self.iterations, 0.0), counts


def _check(arc_scores: ArrayLike, upper_bounds: ArrayLike, options: PricingOptions) -> tuple[np.ndarray, np.ndarray]:
    """Validate the arguments; return copies, with 0 where there is no arc and minus infinity where there is no part."""
    arc_scores, upper_bounds = np.array(arc_scores, np.float64), np.asarray(upper_bounds, np.float64)
    if arc_scores.ndim != 2 or arc_scores.shape[0] != arc_scores.shape[1] or not len(arc_scores):
        raise ValueError(f"arc_scores has the shape {arc_scores.shape}; (N, N) is expected")
    shape = (len(arc_scores),) * 3
    if upper_bounds.shape != shape:
        raise ValueError(f"upper_bounds has the shape {upper_bounds.shape}; {shape} is expected")
    np.fill_diagonal(arc_scores, 0.0)
    arc_scores[:, 0] = 0.0
    if not np.isfinite(arc_scores).all():
        raise ValueError("arc_scores has an entry that is not finite")
    upper_bounds = np.where(_is_part(len(arc_scores)), upper_bounds, -np.inf)
    if np.isnan(upper_bounds).any():
        raise ValueError("upper_bounds has an entry that is NaN")
    if options.heads < 0:
        raise ValueError(f"heads is {options.heads}; 0 or more is expected")
    if not 0.0 <= options.tolerance < np.inf:
        raise ValueError(f"tolerance is {options.tolerance}; 0 or more is expected")
    return arc_scores, upper_bounds
