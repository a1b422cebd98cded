"""Parse, price and cut: the linear program of grandparent models, grown column by column and row by row.

Riedel, Smith and McCallum (2012), algorithm 1.  The program starts with a few arcs and chains of three words.  It is
solved; its duals tell what a chain that is not in it would have to score to be worth anything; upper bounds of scores
tell which chains may; only these are scored, and only those that do are added.  In the end the solution is that of the
program with all columns and all rows.  Scores and their bounds come from outside: see `nonproj.price_and_cut`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.decode.arborescence import maximum_arborescence
from nonproj.decode.polytope import Rows, rows_of
from nonproj.decode.program import Program
from nonproj.types import Decoded


class Bounds(NamedTuple):
    """No chain ``g -> h -> m`` scores more than ``over_g[h, m]``, nor more than ``over_m[g, h]``.

    Both float64[N, N]; infinity is always valid.
    """

    over_g: np.ndarray
    over_m: np.ndarray


class PricingOptions(NamedTuple):
    """How the program grows; the optimum does not depend on it.

    Attributes
    ----------
    heads : int
        Candidate heads of each word to begin with.
    batch : int
        Chains into a word, at most, that are scored before the duals are asked again.
    single_root : bool
        Whether exactly one word is headed by the root.
    tolerance : float
        Reduced costs and violations up to this, relative to the largest score, count as none.
    everything : bool
        Score all chains and begin with all columns: the reference.
    """

    heads: int = 2
    batch: int = 2
    single_root: bool = False
    tolerance: float = 1e-7
    everything: bool = False
    lazy_rows: bool = True


class Counts(NamedTuple):
    """What the program needed: chains that exist and that were scored; columns and rows; rounds of each kind."""

    chains: int
    scored: int
    added: int
    arcs: int
    rows: int
    cuts: int
    solves: int
    simplex: int


def price_and_cut(arc, bounds: Bounds, score: Callable, options: PricingOptions = PricingOptions()):
    program = _Growing(np.ascontiguousarray(arc, np.float64), bounds, score, options)
    program.begin()
    while True:
        program.solve()
        if program.cut():
            continue
        if not program.price():
            break
    return program.result()


class _Growing:
    def __init__(self, arc, bounds, score, options):
        n = len(arc)
        self.n = n
        self.arc, self.bounds, self.score, self.options = arc, bounds, score, options
        finite = arc[np.isfinite(arc)]
        self.scale = max(1e-300, float(np.abs(finite).max(initial=0.0))) or 1.0
        self.program = Program()
        self.exact = np.full((n, n, n), np.nan)
        self.exists = np.zeros((n, n, n), bool)
        self.arc_column = np.full((n, n), -1, np.int64)
        self.gp_row = np.full((n, n), -1, np.int64)
        self.chain = np.zeros((0, 3), np.int64)
        self.chain_column = np.zeros(0, np.int64)
        self.chain_row = np.zeros(0, np.int64)
        self.cut_sets = np.zeros((0, n), bool)
        self.cut_rows = np.zeros(0, np.int64)
        self.scored = self.solves = self.simplex = 0
        rows = n - 1 + options.single_root
        self.program.add_rows(Rows(*[np.zeros(0, np.int64)] * 2, np.zeros(0), np.ones(rows), np.ones(rows)))

    # arcs and chains

    def add_arcs(self, h, m):
        key = np.unique(h * self.n + m)
        h, m = key // self.n, key % self.n
        new = self.arc_column[h, m] < 0
        h, m = h[new], m[new]
        if not len(h):
            return
        count = np.arange(len(h))
        cut, crossing = np.nonzero(self.cut_sets[:, m] & ~self.cut_sets[:, h])
        column, row = [count, crossing], [m - 1, self.cut_rows[cut]]
        if self.options.single_root:
            roots = np.flatnonzero(h == 0)
            column.append(roots)
            row.append(np.full(len(roots), self.n - 1))
        column, row = np.concatenate(column), np.concatenate(row)
        first = self.program.add_columns(self.arc[h, m] / self.scale, entries=(column, row, np.ones(len(row))))
        self.arc_column[h, m] = first + count
        inner = h > 0
        columns = self.arc_column[h, m][inner]
        k = len(columns)
        first = self.program.add_rows(Rows(np.arange(k), columns, np.full(k, -1.0), np.zeros(k), np.zeros(k)))
        self.gp_row[h[inner], m[inner]] = first + np.arange(k)

    def evaluate(self, chains):
        """Score."""
        new = np.isnan(self.exact[tuple(chains.T)])
        chains = chains[new]
        if len(chains):
            key = np.unique((chains[:, 0] * self.n + chains[:, 1]) * self.n + chains[:, 2])
            chains = np.stack([key // self.n**2, key // self.n % self.n, key % self.n], 1)
            self.exact[tuple(chains.T)] = self.score(np.ascontiguousarray(chains, np.int32))
            self.scored += len(chains)

    def add_chains(self, chains):
        chains = chains[~self.exists[tuple(chains.T)]]
        if not len(chains):
            return
        self.evaluate(chains)
        g, h, m = chains.T
        self.add_arcs(np.concatenate([g, h]), np.concatenate([h, m]))
        costs = self.exact[g, h, m] / self.scale
        count = len(chains)
        first = self.program.add_columns(
            costs, entries=(np.arange(count), self.gp_row[h, m], np.ones(count))
        )
        self.exists[g, h, m] = True
        columns = first + np.arange(count)
        self.chain = np.concatenate([self.chain, chains])
        self.chain_column = np.concatenate([self.chain_column, columns])
        self.chain_row = np.concatenate([self.chain_row, np.full(count, -1)])
        if not self.options.lazy_rows:
            self.add_chain_rows(np.arange(len(self.chain) - count, len(self.chain)))

    def add_chain_rows(self, which):
        k = len(which)
        above = self.arc_column[self.chain[which, 0], self.chain[which, 1]]
        columns = np.stack([self.chain_column[which], above], 1).reshape(-1)
        first = self.program.add_rows(
            Rows(np.repeat(np.arange(k), 2), columns, np.tile([1.0, -1.0], k), np.full(k, -np.inf), np.zeros(k))
        )
        self.chain_row[which] = first + np.arange(k)

    def begin(self):
        n = self.n
        words = np.arange(1, n)
        if self.options.everything:
            g, h, m = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
            keep = (h > 0) & (m > 0) & (g != h) & (g != m) & (h != m)
            self.add_arcs(np.zeros(n - 1, np.int64), words)
            self.add_chains(np.stack([g[keep], h[keep], m[keep]], 1))
            return
        optimistic = self.arc.copy()
        over = self.bounds.over_g.copy()
        over[0] = 0.0
        optimistic += np.where(np.isfinite(over), over, 0.0)
        np.fill_diagonal(optimistic, -np.inf)
        best = np.argsort(-optimistic[:, 1:], axis=0, kind="stable")[: self.options.heads]
        tree = maximum_arborescence(optimistic, self.options.single_root)
        chosen = np.zeros((n, n), bool)
        chosen[best, words[None]] = True
        chosen[tree[1:], words] = True
        np.fill_diagonal(chosen, False)
        g, h, m = np.nonzero(chosen[:, :, None] & chosen[None, :, :] & ~np.eye(n, dtype=bool)[:, None, :])
        chains = np.stack([g, h, m], 1)
        # From the root every word can be reached: with these columns there is always a solution.
        h, m = np.nonzero(chosen)
        h, m = h[h > 0], m[h > 0]
        self.add_arcs(np.zeros(n - 1, np.int64), words)
        self.add_chains(np.unique(np.concatenate([chains, np.stack([0 * h, h, m], 1)]), axis=0))

    def solve(self):
        status = self.program.solve()
        assert status == "optimal", status
        self.solves += 1
        self.simplex += self.program.iterations
        x = self.program.values
        self.z = np.zeros((self.n, self.n))
        used = self.arc_column >= 0
        self.z[used] = x[self.arc_column[used]]
        self.chain_values = x[self.chain_column]

    def cut(self):
        tolerance = 1e-6
        sets = np.zeros((self.n, self.n), bool)
        count = _violated_sets(self.z, tolerance, sets)
        if count:
            sets = np.unique(sets[:count], axis=0)
            entries = []
            for members in sets:
                entering = np.zeros((self.n, self.n), bool)
                entering[np.ix_(~members, members)] = True
                columns = self.arc_column[entering & (self.arc_column >= 0)]
                entries.append((columns, np.ones(len(columns))))
            first = self.program.add_rows(rows_of(entries, 1.0, np.inf))
            self.cut_rows = np.concatenate([self.cut_rows, first + np.arange(len(sets))])
            self.cut_sets = np.concatenate([self.cut_sets, sets])
        if not self.options.lazy_rows:
            return count > 0
        above = self.z[self.chain[:, 0], self.chain[:, 1]]
        broken = np.flatnonzero((self.chain_row < 0) & (self.chain_values > above + tolerance))
        if len(broken):
            self.add_chain_rows(broken)
        missing = _implied(self.z, self.exists, tolerance)
        if len(missing):
            self.add_chains(missing.astype(np.int64))
        return count + len(broken) + len(missing) > 0

    def budgets(self):
        """lambda[h, m] tightened."""
        n, duals = self.n, self.program.duals * self.scale
        price = np.zeros((n, n))
        price[:, 1:] += duals[: n - 1]
        if self.options.single_root:
            price[0] += duals[n - 1]
        for members, dual in zip(self.cut_sets, duals[self.cut_rows], strict=True):
            if dual != 0.0:
                price[np.ix_(~members, members)] += dual
        rows = self.chain_row >= 0
        mu = np.zeros(len(self.chain))
        mu[rows] = duals[self.chain_row[rows]]
        self.mu = mu
        np.subtract.at(price, (self.chain[:, 0], self.chain[:, 1]), mu)
        return price - self.arc

    def price(self):
        tolerance = self.options.tolerance * self.scale
        if self.options.everything:
            return False
        limit = self.budgets()
        mu = np.zeros((self.n,) * 3)
        mu[tuple(self.chain.T)] = self.mu
        while True:
            chains, need = _candidates(
                limit, self.bounds.over_g, self.bounds.over_m, self.exact, self.exists, mu, tolerance
            )
            if not len(chains):
                return False
            known = ~np.isnan(self.exact[tuple(chains.T)])
            if known.any():
                self.add_chains(chains[known].astype(np.int64))
                return True
            order = np.lexsort((-need, chains[:, 2]))
            chains = chains[order]
            rank = np.arange(len(chains)) - np.searchsorted(chains[:, 2], chains[:, 2])
            self.evaluate(chains[rank < self.options.batch].astype(np.int64))

    def result(self):
        n = self.n
        heads = maximum_arborescence(self.z, self.options.single_root)
        words = np.arange(1, n)
        inner = words[heads[1:] > 0]
        chains = np.stack([heads[heads[inner]], heads[inner], inner], 1).astype(np.int64)
        self.evaluate(chains)
        score = float(self.arc[heads[1:], words].sum() + self.exact[tuple(chains.T)].sum())
        value = self.program.objective * self.scale
        bound = max(value, score)
        agreed = bool(np.abs(self.z - np.round(self.z)).max() < 1e-6)
        certified = bound - score <= 1e-6 * (1 + abs(score))
        counts = Counts(
            (n - 1) * (n - 2) * (n - 2) if n > 2 else 0, self.scored, len(self.chain),
            int((self.arc_column >= 0).sum()), self.program.n_rows, len(self.cut_rows), self.solves, self.simplex,
        )
        self.value = value
        return Decoded(heads, score, bound, agreed, certified, self.simplex, 0.0), counts


@kernel
def _violated_sets(z, tolerance, sets):
    """Write sets of words that less than one unit of arcs enters; return how many."""
    n = z.shape[0]
    count = 0
    flow = np.zeros((n, n))
    queue = np.empty(n, np.int64)
    parent = np.empty(n, np.int64)
    covered = np.zeros(n, np.bool_)
    for target in range(1, n):
        if covered[target]:
            continue
        flow[:, :] = 0.0
        total = 0.0
        while True:
            parent[:] = -1
            parent[0] = 0
            queue[0] = 0
            first, last = 0, 1
            while first < last and parent[target] < 0:
                v = queue[first]
                first += 1
                for w in range(1, n):
                    if parent[w] < 0 and z[v, w] - flow[v, w] + flow[w, v] > 1e-9:
                        parent[w] = v
                        queue[last] = w
                        last += 1
            if parent[target] < 0:
                break
            room = np.inf
            w = target
            while w != 0:
                v = parent[w]
                room = min(room, z[v, w] - flow[v, w] + flow[w, v])
                w = v
            w = target
            while w != 0:
                v = parent[w]
                back = min(room, flow[w, v])
                flow[w, v] -= back
                flow[v, w] += room - back
                w = v
            total += room
            if total >= 1.0 - tolerance:
                break
        if total < 1.0 - tolerance:
            for w in range(n):
                inside = parent[w] < 0
                sets[count, w] = inside
                covered[w] |= inside
            count += 1
    return count


@kernel
def _implied(z, exists, tolerance):
    """List chains that are not there, whose two arcs sum to more than 1 (ArcGP)."""
    n = z.shape[0]
    found = np.empty((n * n, 3), np.int32)
    count = 0
    for h in range(1, n):
        for g in range(n):
            if z[g, h] > tolerance:
                for m in range(1, n):
                    if m != g and z[h, m] > tolerance and z[g, h] + z[h, m] > 1.0 + tolerance and not exists[g, h, m]:
                        if count < n * n:
                            found[count, 0] = g
                            found[count, 1] = h
                            found[count, 2] = m
                            count += 1
    return found[:count].copy()


@kernel
def _candidates(limit, over_g, over_m, exact, exists, mu, tolerance):
    """List chains that may improve the program."""
    n = limit.shape[0]
    top = np.full((n, n), -np.inf)
    for h in range(1, n):
        for m in range(1, n):
            if h == m:
                continue
            if over_g[h, m] <= limit[h, m]:
                top[h, m] = over_g[h, m]
            for g in range(n):
                if g != h and g != m:
                    if exists[g, h, m]:
                        value = exact[g, h, m] - mu[g, h, m]
                    elif np.isnan(exact[g, h, m]):
                        value = min(over_g[h, m], over_m[g, h])
                    else:
                        value = exact[g, h, m]
                    top[h, m] = max(top[h, m], value)
    found = np.empty((16, 3), np.int32)
    needs = np.empty(16)
    count = 0
    need = np.empty(n)
    for g in range(n):
        for h in range(1, n):
            if g == h:
                continue
            spare = limit[g, h] - (top[g, h] if g > 0 else 0.0)
            spare = max(spare, 0.0)
            total = 0.0
            for m in range(1, n):
                need[m] = 0.0
                if m != h and m != g and not exists[g, h, m] and top[h, m] > limit[h, m]:
                    if np.isnan(exact[g, h, m]):
                        value = min(over_g[h, m], over_m[g, h])
                    else:
                        value = exact[g, h, m]
                    need[m] = max(0.0, value - limit[h, m] - tolerance)
                    total += need[m]
            while total > spare:
                worst = 0
                need[0] = 0.0
                for m in range(1, n):
                    if need[m] > need[worst]:
                        worst = m
                if worst == 0:
                    break
                if count == needs.shape[0]:
                    longer = np.empty((2 * count, 3), np.int32)
                    longer[:count] = found
                    found = longer
                    more = np.empty(2 * count)
                    more[:count] = needs
                    needs = more
                found[count, 0] = g
                found[count, 1] = h
                found[count, 2] = worst
                needs[count] = need[worst]
                count += 1
                total -= need[worst]
                need[worst] = 0.0
    return found[:count].copy(), needs[:count].copy()
