"""Block coordinate descent on the dual, as MPLP (Globerson and Jaakkola 2007; Rush and Collins 2012, section 8).

A block is the multipliers of one variable, or of a group of variables exactly one of which is 1.  It is minimised
exactly by sharing max-marginals evenly among the oracles.  The dual never rises, but may stop above its minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.solver import Iteration


class CoordinateDescent:
    """Method: block coordinate descent with max-marginals.

    Parameters
    ----------
    groups : sequence of array-like of int, optional
        Groups of variables exactly one of which is 1 in every solution, such as the labels of a position; larger blocks
        usually end at lower bounds.  Each oracle sees all or none of a group.  Other variables are blocks of their own.
    simultaneous : bool
        Whether to move all blocks at once, by a share that keeps the dual from rising: one call per oracle each time.
        Otherwise the blocks are updated in turn, each with the others' new multipliers.

    Notes
    -----
    Needs oracles with ``max_marginals`` and variables of 0 and 1; linear constraints are not supported.
    """

    average: np.ndarray | None = None

    def __init__(self, groups: Sequence[Any] = (), simultaneous: bool = False):
        self.groups, self.simultaneous, self.size = groups, simultaneous, 1.0

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Check the oracles and list the blocks."""
        evaluator.require("coordinate descent", "max_marginals", constraints=False)
        self._evaluator, problem = evaluator, evaluator.problem
        groups = [np.asarray(group, np.int64) for group in self.groups]
        grouped = np.concatenate(groups) if groups else np.empty(0, np.int64)
        if len(np.unique(grouped)) < len(grouped):
            raise ValueError("a variable is in two groups; groups must be disjoint")
        singles = [np.array([j]) for j in np.setdiff1d(np.arange(problem.n_variables), grouped)]
        position = [{j: k for k, j in enumerate(view.tolist())} for view in problem.views]
        self._blocks = []
        for group in groups + singles:
            seen = [i for i in range(len(position)) if any(j in position[i] for j in group.tolist())]
            if any(j not in position[i] for i in seen for j in group.tolist()):
                raise ValueError(f"an oracle sees only some of the group {group.tolist()}; all or none is expected")
            if len(seen) > 1:
                self._blocks.append([(i, np.array([position[i][j] for j in group.tolist()])) for i in seen])
        counts = np.bincount([i for block in self._blocks for i, _ in block], minlength=len(position))
        self._shares = [1.0 / max(counts[i] for i, _ in block) for block in self._blocks]

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers after one sweep over the blocks; None if none moved."""
        problem, before = self._evaluator.problem, iteration.evaluation.multipliers
        scores = problem.scores(before)
        parts = [scores[problem.part(i)] for i in range(len(problem.oracles))]  # views: they move with the scores
        known: dict[int, np.ndarray] = {}
        moves = []
        for block, share in zip(self._blocks, self._shares, strict=True):
            for i, _ in block:
                if i not in known:
                    known[i] = self._evaluator.ask("max_marginals", i, parts[i])
            changes = _even([_advantages(known[i], where) for i, where in block])
            for (i, where), change in zip(block, changes, strict=True):
                if self.simultaneous:
                    moves.append((i, where, share * change))
                elif change.any():
                    parts[i][where] += change
                    del known[i]
        for i, where, change in moves:
            parts[i][where] += change
        after = -scores[problem.tied]
        return (
            None if np.abs(after - before).max(initial=0.0) <= 1e-12 * (1 + np.abs(before).max(initial=0.0)) else after
        )


def _advantages(max_marginals: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the max-marginals of the values of a block; those of 1 relative to 0 for a single variable."""
    zero, one = max_marginals[where].T
    if len(where) == 1:
        return np.where(np.isfinite(one), one, -np.inf) - zero if np.isfinite(zero).all() else np.full(1, np.inf)
    return one


def _even(advantages: list[np.ndarray]) -> np.ndarray:
    """Return changes of sum 0 that give all oracles the same advantages.

    If a value is impossible for an oracle, no finite change can change that, so the others get an advantage
    of at most -1 for it, and of at least 1 if the value 0 is impossible.
    """
    found = np.array(advantages)
    if found.shape[1] > 1:  # only differences within a group matter
        found -= found.max(axis=1, keepdims=True)
    finite = np.isfinite(found)
    if finite.all():
        return found.mean(axis=0) - found
    changes = np.zeros(found.shape)
    for k, column in enumerate(found.T):
        here, free = finite[:, k], ~finite[:, k]
        mean = column[here].mean() if here.any() else 0.0
        if free.any() and here.any():
            low, high = (column[free] < 0).any(), (column[free] > 0).any()
            mean = mean if low and high else min(mean, -1.0) if low else max(mean, 1.0)
        changes[here, k] = mean - column[here]
        if free.any():
            changes[free, k] = -changes[here, k].sum() / np.count_nonzero(free)
    return changes
