"""From a bound to a proof: states ruled out, connected parts, variable elimination, clusters, branch and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nonproj_systems.mrf.clusters import Tight, add_clusters, decode_tight, descend, start_from
from nonproj_systems.mrf.cycles import separate
from nonproj_systems.mrf.elimination import eliminate
from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.moves import search_forests
from nonproj_systems.mrf.passing import Clock, State, pass_messages
from nonproj_systems.mrf.restriction import Restriction, restrict
from nonproj_systems.mrf.trws import improve

DEEPEST = 200
"""Maximum recursion depth of parts and branches; below it a gap may remain."""

SHRUNK = 0.8
"""Maximum share of the nodes that remain after a restriction for the field to be solved anew."""

MOVES = 10
"""Moves of forests at a time."""

LARGE_TABLE, LARGE_WORK = 1 << 20, 1 << 26
"""Limits of variable elimination as the last resort."""

MOST_NODES, MOST_STATES = 20_000, 64
"""Larger fields, and nodes with more states, get no clusters; parts of more than these nodes are not cut out."""


@dataclass
class Found:
    """Bound, value and labels of a field or of a part of it."""

    bound: float
    value: float
    labels: np.ndarray


@dataclass
class Search:
    """Counts and options of one search.

    Attributes
    ----------
    clock : Clock
    clusters : bool
        Whether to add clusters of three nodes if a gap remains.
    exact : bool
        Whether to branch if a gap remains.
    tolerance : float
    iterations, n_clusters, branches, moves : int
        Effort of the search.
    nested : int
        Current depth of nested parts and branches.
    """

    clock: Clock
    clusters: bool = True
    exact: bool = False
    tolerance: float = 1e-9
    iterations: int = 0
    n_clusters: int = 0
    branches: int = 0
    moves: int = 0
    nested: int = 0

    def slack(self, value: float) -> float:
        """Return the gap that counts as closed."""
        return self.tolerance * (1.0 + abs(value))

    def closed(self, found: Found | State, cutoff: float = -np.inf) -> bool:
        """Return whether nothing better than the value, or than a value known elsewhere, can be found."""
        best = max(found.value, cutoff)
        return found.bound - best <= self.slack(best)

    def solve(self, field: MRF, labels: np.ndarray, cutoff: float = -np.inf, depth: int = 0) -> Found:
        """Return bound and labels of a field, solved from scratch; stop when the bound is not above the cutoff."""
        exact = eliminate(field)
        if exact is not None:
            return Found(exact[0], exact[0], exact[1])
        state = pass_messages(
            field, self.clock, labels=labels, max_iterations=200, tolerance=self.tolerance, cutoff=cutoff
        )
        self.iterations += state.iterations
        if self.nested >= DEEPEST:
            return Found(state.bound, state.value, state.labels)
        self.nested += 1
        try:
            return self.refine(field, state, cutoff, depth)
        finally:
            self.nested -= 1

    def refine(self, field: MRF, state: State, cutoff: float = -np.inf, depth: int = 0) -> Found:
        """Return a better bound and labels than those that messages have reached."""
        found = Found(state.bound, state.value, state.labels)
        if self.closed(found, cutoff) or self.clock.over:
            return found
        upper = state.upper
        self.walk(field, found)
        if not self.shrinks(field, found, upper) and self.clusters and self.small(field):
            upper = self.tighten(field, state, found, cutoff, depth)
        if self.closed(found, cutoff) or self.clock.over:
            return found
        if self.shrinks(field, found, upper):
            return self.solve_parts(field, found, self.allowed(field, found, upper), cutoff, depth)
        exact = eliminate(field, LARGE_TABLE, LARGE_WORK) if self.exact else None
        if exact is not None:
            return Found(exact[0], exact[0], exact[1])
        if self.exact:
            return self.branch(field, found, upper, cutoff, depth)
        return found

    def allowed(self, field: MRF, found: Found, upper: np.ndarray) -> np.ndarray:
        """Return the states that better labels may have, and those of the best labels known."""
        allowed = upper > found.value + self.slack(found.value)
        allowed[field.graph.first[:-1] + found.labels] = True
        return allowed & np.isfinite(field.graph.unary)

    def shrinks(self, field: MRF, found: Found, upper: np.ndarray) -> bool:
        """Return whether enough nodes are fixed, and few enough are left, to solve the rest anew."""
        allowed = self.allowed(field, found, upper)
        left = (np.add.reduceat(allowed.astype(np.int64), field.graph.first[:-1]) > 1).sum()
        return left <= SHRUNK * field.n_nodes and left <= 5 * MOST_NODES

    def small(self, field: MRF) -> bool:
        """Return whether clusters are affordable."""
        return field.n_nodes <= MOST_NODES and int(field.n_states.max()) <= MOST_STATES

    def solve_parts(self, field: MRF, found: Found, allowed: np.ndarray, cutoff: float, depth: int) -> Found:
        """Return the best labels of the allowed states, part by part, or the known ones if they are better."""
        constant, labels, parts = restrict(field, allowed)
        bound = value = constant
        for part in parts:
            alone = max(cutoff, found.value) - constant if len(parts) == 1 else -np.inf
            inner = self.solve(part.field, _project(part, found.labels), alone, depth)
            bound, value = bound + inner.bound, value + inner.value
            part.lift(inner.labels, labels)
        better = Found(min(found.bound, max(bound, found.value)), found.value, found.labels)
        if value > found.value:
            better.value, better.labels = value, labels
        return better

    def tighten(self, field: MRF, state: State, found: Found, cutoff: float, depth: int) -> np.ndarray:
        """Add clusters while that helps; update bound and labels; return upper bounds by state."""
        tight, upper = start_from(field, field.graph.unary, state.messages), state.upper
        possible = np.isfinite(field.graph.unary)
        if not possible.all():
            return upper
        rounds = 50 if depth == 0 else 10
        bounds = [descend(tight, 10)]
        for _ in range(rounds):
            new = separate(tight, max(20, field.n_nodes // 2), 1e-7 * (1.0 + found.bound - found.value))
            if new:
                tight = add_clusters(tight, new)
                self.n_clusters += len(new)
            bound = descend(tight, 20)
            bounds.append(bound)
            self.iterations += 20
            found.bound = max(min(found.bound, bound), found.value)
            self.round(field, tight, found)
            np.minimum(upper, bound - _shortfall(tight), out=upper)
            if self.closed(found, cutoff) or self.clock.over or self.shrinks(field, found, upper):
                break
            if len(bounds) > 5 and bounds[-6] - bound < 0.03 * (bound - found.value):
                break
        return upper

    def round(self, field: MRF, tight: Tight, found: Found) -> None:
        """Take labels chosen node by node, to and fro, and improved, if they are better."""
        for forward in (True, False):
            labels = decode_tight(tight, forward)
            value = improve(field.graph, field.graph.unary, labels)
            if value > found.value:
                found.value, found.labels = value, labels
        self.walk(field, found)

    def walk(self, field: MRF, found: Found) -> None:
        """Improve the best labels by moves of whole forests."""
        labels = found.labels.copy()
        self.moves += MOVES
        value = search_forests(field, labels, MOVES, self.moves)
        if value > found.value:
            found.value, found.labels = value, labels

    def branch(self, field: MRF, found: Found, upper: np.ndarray, cutoff: float, depth: int) -> Found:
        """Split the states of the most uncertain node: its state in the best labels, and the others."""
        allowed, first = self.allowed(field, found, upper), field.graph.first
        node = _most_uncertain(field, np.where(allowed, upper, -np.inf))
        own = np.zeros(len(allowed), np.bool_)
        own[first[node] + found.labels[node]] = True
        inside = np.zeros(len(allowed), np.bool_)
        inside[first[node] : first[node + 1]] = True
        bounds = []
        for mask in (own | ~inside, ~own):
            self.branches += 1
            constant, labels, parts = restrict(field, allowed & mask)
            best, bound, value = max(found.value, cutoff), constant, constant
            for part in parts:
                alone = best - constant if len(parts) == 1 else -np.inf
                inner = self.solve(part.field, _project(part, found.labels), alone, depth + 1)
                bound, value = bound + inner.bound, value + inner.value
                part.lift(inner.labels, labels)
            bounds.append(bound)
            if value > found.value:
                found.value, found.labels = value, labels
        return Found(min(found.bound, max(*bounds, found.value)), found.value, found.labels)


def _project(part: Restriction, labels: np.ndarray) -> np.ndarray:
    """Return the labels of a whole field as those of a part; the first state if the part lacks one."""
    pairs = zip(part.states, labels[part.nodes].tolist(), strict=True)
    return np.array([max(int(np.searchsorted(states, x)), 0) if x in states else 0 for states, x in pairs], np.int64)


def _shortfall(tight: Tight) -> np.ndarray:
    """Return by how much each state is worse than the best of its node."""
    best = np.maximum.reduceat(tight.nodes, tight.first[:-1])
    return np.repeat(best, np.diff(tight.first)) - tight.nodes


def _most_uncertain(field: MRF, upper: np.ndarray) -> int:
    """Return the node whose second best state has the highest bound; among equals, that with the most edges."""
    first = field.graph.first
    best = np.repeat(np.maximum.reduceat(upper, first[:-1]), np.diff(first))
    is_best = upper == best
    second = np.maximum.reduceat(np.where(is_best, -np.inf, upper), first[:-1])
    tied = np.add.reduceat(is_best.astype(np.int64), first[:-1]) > 1
    second = np.where(tied, np.maximum.reduceat(upper, first[:-1]), second)
    return int(np.lexsort((np.arange(field.n_nodes), -np.diff(field.graph.start), -second))[0])
