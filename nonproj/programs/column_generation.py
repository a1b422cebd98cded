"""Parse, price and cut: the linear program of grandparent models, grown column by column and row by row.

Riedel, Smith and McCallum (2012), algorithm 1.  The program starts with a few arcs and chains of three words.  It is
solved; its duals tell what a chain outside it would have to score to be worth anything; upper bounds of scores tell
which chains may; only these are scored, and only those that do are added.  In the end the solution is that of the
program with all columns and all rows.  Scores and bounds come from outside: see `nonproj.programs.price_and_cut`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nonproj.programs.pricing import ADDED, SCORED, UNKNOWN, missing_chains, promising_chains, starved_sets
from nonproj.programs.solver import Program
from nonproj.programs.tree_polytope import Rows, at_most, rows_of
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.types import Decoded

_CUT = 1e-6
"""Violations of rows up to this count as none; the solver's own tolerance is 1e-7."""


class PricingOptions(NamedTuple):
    """How the program grows; the optimum does not depend on ``heads``.

    Attributes
    ----------
    heads : int
        Candidate heads of each word to begin with, beside the root and the head in the best tree of arcs.
    single_root : bool
        Whether exactly one word is headed by the root.
    tolerance : float
        Reduced costs up to this, relative to the largest score of an arc or initial chain, count as none.
    """

    heads: int = 2
    single_root: bool = False
    tolerance: float = 1e-7


class Counts(NamedTuple):
    """What a program needed.

    Attributes
    ----------
    chains, scored, added : int
        Chains that exist, that were scored, and that became columns.
    arcs, rows : int
        Arcs that became columns; rows in the end.
    cuts : int
        Sets of words with a row of their own.
    solves, iterations : int
        How often the program was solved, and iterations of the simplex method over all of them.
    looked_up : int
        Look-ups of weights that bounds took, one for each template and triple of types; 0 where bounds were given.
    """

    chains: int
    scored: int
    added: int
    arcs: int
    rows: int
    cuts: int
    solves: int
    iterations: int
    looked_up: int = 0


DEFAULTS = PricingOptions()


def price_and_cut(arc, upper, score: Callable, options: PricingOptions = DEFAULTS) -> tuple[Decoded, Counts]:
    """Solve the linear program of a grandparent model over all arcs, scoring few chains.

    Parameters
    ----------
    arc : array-like of shape (N, N), float64
        ``arc[h, m]`` of the arc ``h -> m``; the diagonal and column 0 are ignored.
    upper : array-like of shape (N, N, N), float64
        Upper bounds of the scores of chains ``[g, h, m]``; infinity is always valid.  Entries that are no chain are
        ignored.
    score : callable
        ``score(chains)`` returns the scores, float64[C], of int32[C, 3] chains; no chain is asked for twice.
    options : PricingOptions

    Returns
    -------
    Decoded
        The tree that the solution is, or is projected to: the maximum spanning arborescence with the values of the arcs
        as scores.  ``bound`` is the optimum of the program with all arcs, all chains, and the rows OneHead, OneGP,
        ArcGP, GPArc and NoGP of Riedel et al. (2012) over the arborescence polytope, ``agreed`` says that the solution
        is integral.
    Counts
        How much of the program was needed.

    Raises
    ------
    ValueError
        If an array is not of its shape, or a score or bound is NaN, or not finite where it must be.
    ImportError
        If HiGHS is not installed.
    ArithmeticError
        If HiGHS fails.

    Examples
    --------
    >>> arc = [[0, 4, 1, 1], [0, 0, 3, 1], [0, 2, 0, 3], [0, 1, 1, 0]]
    >>> upper = np.full((4, 4, 4), 0.5)
    >>> decoded, counts = price_and_cut(arc, upper, lambda chains: np.where(chains[:, 2] == 3, 0.5, 0.0))
    >>> decoded.heads.tolist(), decoded.score, decoded.certified, counts.chains, counts.scored
    ([-1, 0, 1, 2], 10.5, True, 12, 9)
    """
    growing = _Growing(arc, upper, score, options)
    growing.begin()
    while True:
        growing.solve()
        if not growing.cut() and not growing.price():
            return growing.result()


def full_program(
    arc, score: Callable, options: PricingOptions = DEFAULTS, lazy_rows: bool = False
) -> tuple[Decoded, Counts]:
    """Solve the same program by brute force: all chains are scored, and all columns and rows are in it from the start.

    Parameters
    ----------
    arc, score, options
        As for `price_and_cut`.
    lazy_rows : bool
        Whether rows of GPArc wait until they are violated.  (Rows that cut off sets of words always do; those of ArcGP
        and NoGP are implied by the others.)

    Examples
    --------
    >>> full_program(np.ones((4, 4)), lambda chains: np.ones(len(chains)))[0].bound
    5.0
    """
    size = (len(arc),) * 3
    growing = _Growing(arc, np.full(size, np.inf), score, options)
    growing.eager = not lazy_rows
    growing.start(np.argwhere(_chains(len(arc))))
    growing.add_arcs(*np.nonzero(~np.eye(len(arc), dtype=bool)))
    while True:
        growing.solve()
        if not growing.cut():
            return growing.result()


def _chains(n_nodes: int) -> np.ndarray:
    """Return where in [g, h, m] there are chains."""
    other, word = ~np.eye(n_nodes, dtype=bool), np.arange(n_nodes) > 0
    return other[:, :, None] & other[None] & other[:, None] & word[:, None] & word


class _Growing:
    """The program and what it consists of: which arc, chain or set of words has which column or row."""

    def __init__(self, arc, upper, score: Callable, options: PricingOptions):
        self.arc, self.worth = _check(arc, upper, options)
        self.n_nodes = n_nodes = len(self.arc)
        self.score, self.options = score, options
        self.scale = 1.0
        self.state = np.full((n_nodes,) * 3, UNKNOWN, np.uint8)
        self.arc_column = np.full((n_nodes, n_nodes), -1, np.int64)
        self.arc_row = np.full((n_nodes, n_nodes), -1, np.int64)
        self.chains = np.zeros((0, 3), np.int64)
        self.chain_column, self.chain_row = np.zeros((2, 0), np.int64)
        self.sets, self.set_row = np.zeros((0, n_nodes), bool), np.zeros(0, np.int64)
        self.scored = self.solves = self.iterations = 0
        self.eager = False
        self.program = Program()
        heads = np.ones(n_nodes - 1 + options.single_root)
        self.program.add_rows(Rows(*np.zeros((2, 0), np.int64), np.zeros(0), heads, heads))

    # -- columns

    def add_arcs(self, h: np.ndarray, m: np.ndarray) -> None:
        """Add arcs that are not there, with their rows OneGP."""
        wanted = np.zeros(self.arc_column.shape, bool)
        wanted[h, m] = True
        wanted[:, 0] = False
        h, m = np.nonzero(wanted & (self.arc_column < 0))
        if not len(h):
            return
        number, roots, inner = np.arange(len(h)), np.flatnonzero(h == 0), np.flatnonzero(h)
        if not self.options.single_root:
            roots = roots[:0]
        entered, crossing = np.nonzero(self.sets[:, m] & ~self.sets[:, h])
        column = np.concatenate([number, roots, crossing])
        row = np.concatenate([m - 1, np.full(len(roots), self.n_nodes - 1), self.set_row[entered]])
        first = self._columns(self.arc[h, m], column, row)
        self.arc_column[h, m] = first + number
        entries = (np.arange(len(inner)), first + inner, np.full(len(inner), -1.0))
        self.arc_row[h[inner], m[inner]] = entries[0] + self.program.add_rows(
            Rows(*entries, *np.zeros((2, len(inner))))
        )

    def add_chains(self, chains: np.ndarray) -> None:
        """Add chains that are not there, with their arcs; score those that are not scored yet."""
        chains = chains[self.state[tuple(chains.T)] != ADDED].astype(np.int64)
        if not len(chains):
            return
        self.evaluate(chains)
        g, h, m = chains.T
        self.add_arcs(np.concatenate([g, h]), np.concatenate([h, m]))
        number = np.arange(len(chains))
        first = self._columns(self.worth[g, h, m], number, self.arc_row[h, m])
        self.state[g, h, m] = ADDED
        self.chains = np.concatenate([self.chains, chains])
        self.chain_column = np.concatenate([self.chain_column, first + number])
        self.chain_row = np.concatenate([self.chain_row, np.full(len(chains), -1)])
        if self.eager:
            self.tie(np.arange(len(self.chains) - len(chains), len(self.chains)))

    def _columns(self, scores: np.ndarray, column: np.ndarray, row: np.ndarray) -> int:
        """Add columns with ones in some rows.  No bound above: the rows have it, and its dual would be missed."""
        return self.program.add_columns(scores / self.scale, 0.0, np.inf, (column, row, np.ones(len(row))))

    def evaluate(self, chains: np.ndarray) -> None:
        """Score chains that are not scored yet; no chain comes twice."""
        chains = chains[self.state[tuple(chains.T)] == UNKNOWN]
        if len(chains):
            scores = np.asarray(self.score(np.ascontiguousarray(chains, np.int32)), np.float64)
            if scores.shape != (len(chains),) or not np.isfinite(scores).all():
                raise ValueError(f"score must return one finite number for each of {len(chains)} chains")
            self.worth[tuple(chains.T)] = scores
            self.state[tuple(chains.T)] = SCORED
            self.scored += len(chains)

    # -- rows

    def tie(self, which: np.ndarray) -> None:
        """Add the rows GPArc that tie some chains to their upper arcs; OneGP ties them to their lower ones."""
        if not len(which):
            return
        above = self.arc_column[self.chains[which, 0], self.chains[which, 1]]
        first = self.program.add_rows(at_most(self.chain_column[which], above, 1.0))
        self.chain_row[which] = first + np.arange(len(which))

    def add_sets(self, sets: np.ndarray) -> None:
        """Add a row for each set of words: an arc must enter it."""
        entering = ~sets[:, :, None] & sets[:, None] & (self.arc_column >= 0)
        columns = [self.arc_column[arcs] for arcs in entering]
        first = self.program.add_rows(rows_of([(c, np.ones(len(c))) for c in columns], 1.0, np.inf))
        self.set_row = np.concatenate([self.set_row, first + np.arange(len(sets))])
        self.sets = np.concatenate([self.sets, sets])

    # -- the loop

    def begin(self) -> None:
        """Add arcs that promise most, the best tree of them, and all chains that they form."""
        n_nodes = self.n_nodes
        best = self.worth.max(axis=0, initial=-np.inf)
        hopes = self.arc + np.where(np.isfinite(best), best, 0.0)
        np.fill_diagonal(hopes, -np.inf)
        chosen = np.zeros((n_nodes, n_nodes), bool)
        order = np.argsort(-hopes, axis=0, kind="stable")[: self.options.heads]
        np.put_along_axis(chosen, order, True, axis=0)
        chosen[maximum_arborescence(hopes, self.options.single_root)[1:], np.arange(1, n_nodes)] = True
        # From the root every word can be reached, as in Riedel et al. (2012), section 4.2.
        from_root = np.zeros((n_nodes, 1, 1), bool)
        from_root[:1] = True
        self.start(np.argwhere(_chains(n_nodes) & chosen & (chosen[:, :, None] | from_root)))

    def start(self, chains: np.ndarray) -> None:
        """Add the arcs from the root and the first chains."""
        self.evaluate(chains)
        # The solver's tolerances are absolute.
        known = np.append(self.worth[tuple(chains.T)], self.arc)
        self.scale = float(np.abs(known).max()) or 1.0
        self.add_arcs(np.zeros(self.n_nodes - 1, np.int64), np.arange(1, self.n_nodes))
        self.add_chains(chains)

    def solve(self) -> None:
        """Solve, and read the values of arcs and chains."""
        status = self.program.solve()
        if status != "optimal":
            raise ArithmeticError(f"HiGHS did not solve a program of {self.program.n_columns} columns: {status}")
        self.solves += 1
        self.iterations += self.program.iterations
        values = self.program.values
        self.arcs = np.where(self.arc_column >= 0, values[self.arc_column] if len(values) else 0.0, 0.0)
        self.values = values[self.chain_column]

    def cut(self) -> bool:
        """Add rows that the solution violates, and chains that it implies; say whether there were any."""
        sets = starved_sets(self.arcs, _CUT)
        known = (sets[:, None] == self.sets[None]).all(axis=2).any(axis=1)
        if not known.all():
            self.add_sets(sets[~known])
        over = self.values > self.arcs[self.chains[:, 0], self.chains[:, 1]] + _CUT
        broken = np.flatnonzero(over & (self.chain_row < 0))
        self.tie(broken)
        missing = missing_chains(self.arcs, self.state, _CUT)
        self.add_chains(missing)
        return bool(not known.all() or len(broken) or len(missing))

    def price(self) -> bool:
        """Score chains until those that may be worth something are known; add those that are; say if there were any."""
        limit, values = self._duals()
        while True:
            chains = promising_chains(limit, self.worth, self.state, values)
            known = self.state[tuple(chains.T)] == SCORED
            if known.all():
                self.add_chains(chains)
                return len(chains) > 0
            self.evaluate(chains)

    def _duals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the last argument of `promising_chains`."""
        duals, n_nodes = self.program.duals * self.scale, self.n_nodes
        limit = np.zeros((n_nodes, n_nodes))
        limit[:, 1:] = duals[: n_nodes - 1]
        if self.options.single_root:
            limit[0] += duals[n_nodes - 1]
        for members, dual in zip(self.sets, duals[self.set_row], strict=True):
            if dual != 0.0:
                limit[np.ix_(~members, members)] += dual
        tied = np.where(self.chain_row >= 0, duals[self.chain_row], 0.0)
        g, h, m = self.chains.T
        np.subtract.at(limit, (g, h), tied)
        values = np.full((n_nodes, n_nodes), -np.inf)
        np.maximum.at(values, (h, m), self.worth[g, h, m] - tied)
        return limit - self.arc + self.options.tolerance * self.scale, values

    def result(self) -> tuple[Decoded, Counts]:
        """Project the solution to a tree and say what is known about it."""
        heads = maximum_arborescence(self.arcs, self.options.single_root)
        words = np.arange(1, self.n_nodes)
        inner = words[heads[1:] > 0]
        chains = np.stack([heads[heads[inner]], heads[inner], inner], axis=1).astype(np.int64)

        self.evaluate(chains)
        score = float(self.arc[heads[1:], words].sum() + self.worth[tuple(chains.T)].sum())
        # The solver's optimum is right up to its tolerance; no bound is below a tree's score.
        bound = max(self.program.objective * self.scale, score)
        values = np.concatenate([self.arcs.reshape(-1), self.values])
        agreed = bool(np.abs(values - np.rint(values)).max(initial=0.0) < _CUT)
        certified = agreed or bound - score <= _CUT * (1.0 + abs(score))
        n = self.n_nodes - 1
        counts = Counts(
            chains=n * max(n - 1, 0) ** 2,
            scored=self.scored,
            added=len(self.chains),
            arcs=int((self.arc_column >= 0).sum()),
            rows=self.program.n_rows,
            cuts=len(self.sets),
            solves=self.solves,
            iterations=self.iterations,
        )
        return Decoded(heads, score, bound, agreed, certified, self.iterations, 0.0), counts


def _check(arc, upper, options: PricingOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays as they are worked with: own copies, 0 where no arc is, minus infinity where no chain is."""
    arc, upper = np.array(arc, np.float64), np.asarray(upper, np.float64)
    if arc.ndim != 2 or arc.shape[0] != arc.shape[1] or not len(arc):
        raise ValueError(f"arc has the shape {arc.shape}; (N, N) is expected")
    if upper.shape != (len(arc),) * 3:
        raise ValueError(f"upper has the shape {upper.shape}; {(len(arc),) * 3} is expected")
    np.fill_diagonal(arc, 0.0)
    arc[:, 0] = 0.0
    if not np.isfinite(arc).all():
        raise ValueError("arc has a score that is not finite")
    upper = np.where(_chains(len(arc)), upper, -np.inf)
    if np.isnan(upper).any():
        raise ValueError("upper has a bound that is NaN")
    if options.heads < 0:
        raise ValueError(f"heads is {options.heads}; 0 or more is expected")
    if not 0.0 <= options.tolerance < np.inf:
        raise ValueError(f"tolerance is {options.tolerance}; 0 or more is expected")
    return arc, upper
