"""Lane of random instances compared with enumeration: certificates, bounds, lists of trees and marginals.

Scores of any scale, or of mixed scales, with some arcs masked by numbers from -1e4 to minus infinity, are decoded by
every decoder that certifies, with few or many iterations per node, with and without costs of crossed arcs.  Proofs are
checked, too.  Expected results come from the rule of forbidden arcs and from all trees, in higher precision.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from nonproj.dual import arrays as arrays_module
from nonproj.dual.arrays import DecodedScores, decode_scores
from nonproj.dual.check_proofs import Refused, check_line
from nonproj.dual.decoding import branch_and_bound, dual_decomposition, k_best
from nonproj.dual.domain import LOW_ARCS
from nonproj.dual.options import SEARCH, DualOptions, SearchOptions
from nonproj.dual.proofs import as_line, search_with_proof
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.trees.domain import LOW
from nonproj.trees.marginals import marginals
from nonproj.types import Decoded
from research.attack import material
from research.attack.campaign import Lane
from research.attack.properties import require

sys.path.append(str(material.ROOT / "tests"))
import naive_crossing  # noqa: E402
import naive_domain  # noqa: E402
import naive_trees  # noqa: E402

MASKS = (*(-(10.0**power) for power in range(4, 39)), float(np.finfo(np.float32).min), -np.inf)
TOLERANCE = 1e-9
SETS = ("arc", "sibling", "grandparent", "third")

KINDS = ("arrays", "arrays", "k best", "parts", "probabilities")
"""Kinds of cases, by number."""


class Exact(Lane):
    """Decodes random instances and compares with all trees."""

    name = "exact"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.notes = {"certified": 0, "not certified": 0, "refused": 0, "proved": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Decode one instance."""
        kind = KINDS[number % len(KINDS)]
        draw = _Draw(np.random.default_rng(rng.getrandbits(64)))
        outcome = {
            "arrays": self.arrays,
            "k best": self.arrays,
            "parts": self.parts,
            "probabilities": self.probabilities,
        }[kind](draw, kind)
        return f"{kind}: {outcome}"

    @staticmethod
    def decode(draw: _Draw, *arguments: Any, **options: Any) -> DecodedScores:
        """Decode arrays with the drawn limit of iterations, which users cannot set."""
        limited = partial(SearchOptions, node_iterations=draw.limits.node_iterations)
        with mock.patch.object(arrays_module, "SearchOptions", limited):
            return decode_scores(*arguments, **options)

    def arrays(self, draw: _Draw, kind: str) -> str:
        """Decode arrays."""
        n, k = draw.words(), draw.size(20) if kind == "k best" else 1
        arrays, labels = {"arc": draw.arcs(n)}, None
        if draw.chance(0.3):
            labels = draw.scores((n + 1, n + 1, draw.size(3)))
            draw.mask(labels)
        for name in ("sibling", "grandparent"):
            if draw.chance(0.6):
                arrays[name] = draw.scores((n + 1,) * 3)
        options = {"single_root": draw.chance(0.5), "projective": draw.chance(0.3)}
        higher = {f"{name}s": values for name, values in arrays.items() if name != "arc"}
        own, costs = arrays["arc"], draw.costs((n + 1, n + 1))
        if costs.any():
            higher["crossing_costs"] = costs
        if labels is not None:
            arrays["arc"] = own + labels.max(axis=2)
        allowed = naive_domain.allowed_trees(n, arrays["arc"], **options)
        used = naive_domain.used_scores(n, arrays, **options)
        try:
            found = self.decode(draw, own, **higher, **options, k=k, label_scores=labels)
        except ValueError as error:
            return self.refused(error, allowed, draw)
        proved = self.decode(draw, own, **higher, **options, k=k, label_scores=labels, proofs=True)
        self.prove(proved.proofs, proved.certified)
        ranked = found.trees if k > 1 else [found]
        trees = [
            (_whole(tree), *((tree.score, tree.bound, tree.certified) if k > 1 else found[1:4])) for tree in ranked
        ]
        is_forbidden = naive_domain.forbidden(arrays["arc"][_are_arcs(n)])
        top = np.array([_highest(np.delete(arrays["arc"][:, m], m), is_forbidden) for m in range(1, n + 1)])
        heads = naive_trees.tree_array(n, **options)
        rest = max((float(np.abs(arrays[name]).max()) for name in arrays if name != "arc"), default=0.0)
        paid = np.where(_crossed(n, **options), costs[heads[:, 1:], np.arange(1, n + 1)], 0.0)
        expected = _Expected(heads, used, allowed, top, paid, rest if draw.mixed else 0.0)
        return self.compare(trees, expected, k)

    def parts(self, draw: _Draw, kind: str) -> str:
        """Decode parts of any order, projective or with costs of crossed arcs."""
        n, name = draw.size(4), draw.one_of(SETS)
        space, table = _part_table(n, name)
        n_arcs = len(space.arcs.head)
        scores = draw.scores(len(space))
        draw.mask(scores[:n_arcs])
        options = DualOptions(draw.iterations, single_root=draw.chance(0.5), projective=draw.chance(0.3))
        chosen = [
            i
            for i, tree in enumerate(naive_trees.all_trees(n))
            if (not options.single_root or tree.count(0) == 1)
            and (not options.projective or naive_trees.is_projective(tree))
        ]
        heads, used = naive_trees.tree_array(n)[chosen], naive_domain.gather(table[chosen], scores)
        is_forbidden = naive_domain.forbidden(scores[:n_arcs])
        bad = np.append([is_forbidden(score) for score in scores[:n_arcs]], [False] * (len(scores) - n_arcs + 1))
        allowed, k, costs = ~bad[table[chosen]].any(axis=1), 1, np.zeros((n + 1, n + 1))
        if draw.chance(0.5):
            costs = draw.costs((n + 1, n + 1), 1.0)
        of_arcs = costs[space.arcs.head, space.arcs.modifier]
        paid = np.where(_crossed(n)[chosen], costs[heads[:, 1:], np.arange(1, n + 1)], 0.0)
        try:
            if draw.chance(0.3):
                k = draw.size(6)
                ranked = k_best(space, scores, k, options, draw.limits, of_arcs)
            elif draw.chance(0.2) and not costs.any():
                ranked = [dual_decomposition(space, scores, options)]
            else:
                ranked = [branch_and_bound(space, scores, options, draw.limits, of_arcs)]
        except ValueError as error:
            return self.refused(error, allowed, draw)
        proved, proof = search_with_proof(space, scores, options, draw.limits, k, "", of_arcs)
        self.prove(as_line(proof), proved[0].certified)
        trees = [(tree.tree, tree.score, tree.bound, tree.certified) for tree in ranked]
        top = np.array([_highest(scores[:n_arcs][space.arcs.modifier == m], is_forbidden) for m in range(1, n + 1)])
        rest = float(np.abs(scores[n_arcs:]).max(initial=0.0)) if draw.mixed else 0.0
        return self.compare(trees, _Expected(heads, used, allowed, top, paid, rest), k)

    def probabilities(self, draw: _Draw, kind: str) -> str:
        """Compute first-order marginals."""
        n, single_root = draw.size(4), draw.chance(0.5)
        arcs = draw.arcs(n)
        expected = naive_domain.marginals(n, arcs, single_root)
        scores = arcs[_are_arcs(n)]
        is_forbidden = naive_domain.forbidden(scores)
        # Beside lower masks, a mask may count as an ordinary score, and the best tree may need it.
        draw.common = draw.common and all(score >= LOW or is_forbidden(score) for score in scores)
        try:
            found = marginals(arcs, single_root)[0]
        except ValueError as error:
            return self.refused(error, np.array([expected is not None]), draw)
        require(expected is not None, "there is no tree, but there are probabilities")
        off = float(np.abs(found - expected).max())
        require(off <= 1e-9, f"a marginal is off by {off}")
        return "equal"

    def prove(self, line: str, certified: bool) -> None:
        """Check that the checker accepts a proof, and that every tree has one if the first is certified."""
        try:
            verdict = check_line(line)[1]
        except Refused as error:
            require(False, f"a proof is refused: {error}")
        else:
            require(verdict.status != "open" or not certified, "a certified tree has no proof")
            self.notes["proved"] += verdict.status != "open"

    def refused(self, error: ValueError, allowed: np.ndarray, draw: _Draw) -> str:
        """Check that there is no tree if none is reported, and that nothing else is refused in the common domain."""
        if "no tree" in str(error) or "no projective tree" in str(error):
            require(not allowed.any(), f"there is a tree: {error}")
            return "no tree"
        require(not draw.common, f"refused: {error}")
        self.notes["refused"] += 1
        return "refused"

    def compare(self, trees: list[Any], expected: _Expected, k: int) -> str:
        """Check trees with scores, bounds and certificates, best first."""
        numbers = np.flatnonzero(expected.allowed)
        require(len(numbers) > 0, "there is no tree, but one is returned")
        numbers = numbers[np.argsort(-expected.values[numbers], kind="stable")]
        seen: set[bytes] = set()
        shown = [int(np.flatnonzero((expected.heads == heads).all(axis=1))[0]) for heads, *_ in trees]
        certain = True
        scores = [score for _, score, *_ in trees]
        require(scores == sorted(scores, reverse=True), f"the scores {scores} are not in order")
        for rank, ((heads, score, bound, certified), number) in enumerate(zip(trees, shown, strict=True)):
            require(bool(expected.allowed[number]), "a tree has a forbidden arc")
            require(heads.tobytes() not in seen, "a tree is listed twice")
            seen.add(heads.tobytes())
            value, best = expected.values[number], expected.values[numbers[rank]]
            tolerance = 2 * TOLERANCE * expected.magnitude(number, numbers[rank])
            tolerance += 4 * math.ulp(abs(score) + expected.paid[number].sum())
            require(abs(value - score) <= tolerance, f"tree {rank} scores {value}, {score} is said")
            require(bound >= score, f"bound {bound} below its score {score}")
            certain = certain and certified
            if certain:
                require(score >= best - tolerance, f"tree {rank} is certified with {score}; {best} is possible")
            if rank == 0 or certain:
                exact = expected.exact(number if value >= best else numbers[rank])
                require(Fraction(bound) >= exact, f"bound {bound} of tree {rank} is below {float(exact)}")
        if certain:
            require(len(trees) == min(k, len(numbers)), f"{len(trees)} trees of {len(numbers)}, {k} wanted")
        return self.count(certain)

    def count(self, certified: bool) -> str:
        """Count a certificate and name the outcome."""
        outcome = "certified" if certified else "not certified"
        self.notes[outcome] += 1
        return outcome


def _are_arcs(n: int) -> np.ndarray:
    """Return a mask of the pairs of nodes that are possible arcs, bool[N, N]."""
    found = ~np.eye(n + 1, dtype=bool)
    found[:, 0] = False
    return found


def _highest(scores: np.ndarray, is_forbidden: Callable[[float], bool]) -> float:
    """Return the highest score that does not forbid its arc, 0 if there is none."""
    return max((float(score) for score in scores if not is_forbidden(score)), default=0.0)


def _whole(found: DecodedScores | Decoded) -> np.ndarray:
    """Return the tree, with an entry for the root."""
    return np.concatenate([[-1], found.heads]).astype(np.int32)


class _Expected:
    """All trees: ``heads`` int[T, N]; ``used``: scores of each tree's parts, first its arcs, by word; ``allowed``: mask
    of the trees; ``top``: best score of an arc into each word; ``paid``: each tree's costs of crossed arcs, by word;
    ``rest``: largest absolute score of parts beyond arcs, for the tolerance.  ``values`` are scores less costs."""

    def __init__(
        self, heads: np.ndarray, used: np.ndarray, allowed: np.ndarray, top: np.ndarray, paid: np.ndarray, rest: float
    ):
        self.heads, self.used, self.allowed, self.top, self.paid = heads, used, allowed, top, paid
        self.scale = LOW_ARCS * rest  # that of arcs that are not very low
        self.values = np.array([math.fsum(row) for row in np.column_stack([used, -paid]).tolist()])

    def exact(self, number: int) -> Fraction:
        """Return the value of a tree without rounding."""
        scores = self.used[number].astype(np.float64).tolist()
        return sum(map(Fraction, scores)) - sum(map(Fraction, self.paid[number].tolist()))

    def magnitude(self, *numbers: int) -> float:
        """Return the scale of the tolerance: sums of some trees' scores, relative to the best arcs, and their costs."""
        relative = self.used[list(numbers)].copy()
        relative[:, : len(self.top)] -= self.top
        paid = float(self.paid[list(numbers)].sum(axis=1).max())
        return self.scale + paid + float(np.abs(relative).sum(axis=1).max())


class _Draw:
    """Random numbers of one instance, of one scale."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.scale = 10.0 ** rng.uniform(-30, 30) if rng.random() < 0.5 else 10.0 ** rng.uniform(-6, 6)
        self.integers, self.mixed = rng.random() < 0.3, rng.random() < 0.3
        self.limits = SEARCH._replace(node_iterations=int(rng.choice([1, 2, 3, 30])))
        self.iterations = int(rng.choice([1, 10, 250]))
        self.masks = [MASKS[i] for i in rng.integers(len(MASKS), size=rng.integers(1, 3))]
        self.share = rng.choice([0.0, 0.2, 0.35, 0.6])
        self.common = 1e-6 <= self.scale <= 1e6 and max(self.masks) <= -1e9 and not self.mixed
        """Whether the instance must not be refused."""

    def size(self, most: int) -> int:
        """Return a random number from 1 to ``most``."""
        return int(self.rng.integers(1, most + 1))

    def words(self) -> int:
        """Return a random number of words, seldom more than four."""
        return int(self.rng.choice(6, p=[0.05, 0.2, 0.4, 0.3, 0.04, 0.01])) + 1

    def chance(self, share: float) -> bool:
        """Return True in this share of the cases."""
        return bool(self.rng.random() < share)

    def one_of(self, items: tuple[str, ...]) -> str:
        """Return one of the items at random."""
        return items[self.rng.integers(len(items))]

    def scores(self, shape: Any) -> np.ndarray:
        """Return random scores: continuous, small integers (with ties), or of mixed scales over 23 powers of ten."""
        if self.mixed and not self.integers:
            highest = self.rng.choice([-12.0, 8.0])
            values = 10.0 ** self.rng.uniform(-15.0, highest, shape)
            return np.where((values > 1.0) | (self.rng.random(shape) < 0.5), -values, values)
        return self.scale * (self.rng.integers(-2, 3, shape) if self.integers else self.rng.normal(size=shape))

    def costs(self, shape: Any, share: float = 0.3) -> np.ndarray:
        """Return random non-negative costs of crossed arcs in this share of the cases, else zeros."""
        found = np.abs(self.scores(shape)) * float(self.rng.choice([0.1, 1.0, 100.0]))
        found[self.rng.random(shape) < self.rng.choice([0.0, 0.4, 0.8])] = 0.0
        return found if self.chance(share) else np.zeros(shape)

    def arcs(self, n: int) -> np.ndarray:
        """Return random scores of arcs, some of them masked."""
        scores = self.scores((n + 1, n + 1))
        if self.chance(0.3):  # a constant per word changes no ranking
            shift = self.scale * 10.0 ** self.rng.integers(-3, 9)
            scores += shift * self.rng.normal(size=n + 1)
            self.common = self.common and shift <= 1e6
        self.mask(scores)
        if self.chance(0.3) and self.scale < 1e30:
            return scores.astype(np.float32).astype(np.float64)
        return scores

    def mask(self, scores: np.ndarray, lowest: float = -np.inf) -> None:
        """Mask some of the scores, in place."""
        chosen = self.rng.random(scores.shape) < self.share
        masks = np.maximum(self.rng.choice(self.masks, scores.shape), lowest)
        scores[chosen] = masks[chosen]


@cache
def _crossed(n: int, single_root: bool = False, projective: bool = False) -> np.ndarray:
    """Return for each tree a mask of the words with a crossed arc, bool[T, n]."""
    trees = naive_trees.tree_array(n, single_root, projective).tolist()
    return np.array([[m in crossed for m in range(1, n + 1)] for crossed in map(naive_crossing.crossed_arcs, trees)])


@cache
def _part_table(n: int, name: str) -> tuple[Any, np.ndarray]:
    """Return the parts over all arcs of n words, and for each tree the numbers of its parts, then -1."""
    space, rows = part_space(full_arc_space(n), name), []
    for tree in naive_trees.all_trees(n):
        numbers = naive_trees.part_numbers(tree, space)
        rows.append([number for listed in numbers.values() for number in listed])
    table = np.full((len(rows), max(map(len, rows))), -1)
    for row, listed in zip(table, rows, strict=True):
        row[: len(listed)] = listed
    return space, table
