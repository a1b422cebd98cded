"""Check the proofs of nonproj, with integers and Python's standard library alone; this file needs no other.

PROOFS is a file that ``nonproj parse --proofs`` wrote, a JSON object a line.  PARSED is the output of the same run,
CoNLL-X or CoNLL-U, whose words, tags and trees are compared with those of the proofs.  ``-`` is standard input, and
compressed files are decompressed.  The exit code is 0 if every claim holds, 1 if one does not, 2 if a file cannot be
read.

**What is claimed.** A proof has a sentence's candidate arcs, the scores of their parts, and one or more trees.  The
score of a tree is the sum over its parts; its value is the score, less the cost, of ``costs``, of each arc that is
crossed: by an arc of the tree with one end between its own ends, and one that is neither there nor one of them.  For a
tree with ``"within": w`` the claim is: no other tree over these arcs, but those listed before it, has a value that is
higher by more than ``w``.  If the proof is ``projective``, only trees without crossing arcs count, and with
``single_root`` only those with one word under the root.  Values are multiples of one number, so where the gap is less
than that number, the tree is optimal.

**What is taken on trust.**  That the scores are those that the model gives the words and tags under the options; model
and words are named by their SHA-256.  That no better tree has an arc that was pruned, and that forbidden arcs were
meant to be forbidden.  Where ``outside`` says ``"nothing"``, all arcs must be candidates.

**How it is proved.**  Give the automaton of each word a share ``u`` of the score of each arc that leaves it and a share
``v`` of each arc that enters it, and an arborescence the rest of each arc's score.  Any tree is an arborescence and a
path through each automaton, and its score is the sum of theirs; so for any shares the best arborescence and the best
paths, found separately, together bound all trees (Koo et al. 2010, section 5: Lagrangian relaxation).  One bound need
not be tight.  ``search`` divides the trees, over and over, into those with an arc and those without it, into those
whose arcs cross and those whose do not, or into those in which an arc is crossed and those in which it is not, and
names the shares that bound each set that is left (branch and bound).  Costs are not negative, so a bound of scores is
one of values; where it is known that arcs cross, the least that they pay is subtracted from it.

A number in the file stands for the 64-bit float that it is read as.  From there on all arithmetic is in integers: all
numbers of a proof are multiples of one power of two.

**Limits.**  What is beyond them is refused: lines of 32,000,000 bytes, decompressed; sentences of 10,000 words, or of
500 where projective trees are bounded; a ``within`` above 1e-8 times the sum of the tree's absolute value and, for each
word, the largest absolute score.  Time is not limited.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import itertools
import json
import math
import operator
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

FORMAT, VERSION = "nonproj proof", 4

MAX_LINE, MAX_WORDS, MAX_PROJECTIVE, WITHIN = 32_000_000, 10_000, 500, 10**8
"""Limits of a line's bytes and a sentence's words, and the reciprocal of the largest relative ``within``."""

FIELDS: dict[str, tuple[type, ...]] = {
    **{"format": (str,), "version": (int,), "name": (str,), "outside": (str,), "candidates": (list,)},
    **{"words": (str, type(None)), "model": (str, type(None)), "options": (dict,)},
    **{"single_root": (bool,), "projective": (bool,), "costs": (list, type(None))},
    **{"scores": (dict,), "trees": (list,), "excluded": (list,), "multipliers": (list,), "search": (list,)},
}
ABOUT = ("projective", "single_root", "outside", "words", "model", "options")
TREE: dict[str, tuple[type, ...]] = {"heads": (list,), "score": (float,), "within": (float, type(None))}
STEP: dict[str, tuple[type, ...]] = {"without": (list,), "shares": (int,)}

HEAD, OTHER_ID = re.compile(b"_|0|[1-9][0-9]{0,5}"), re.compile(b"[0-9]+[-.][0-9]+")

OUTSIDE = ("nothing", "pruned", "forbidden", "pruned or forbidden")
"""Reasons why arcs are not candidates."""

Arc = tuple[int, int]  # head and modifier
Heads = tuple[int, ...]
Shares = tuple[list[int], list[int]]


class Verdict(NamedTuple):
    """The verdict on a sentence's proof.

    The ``status`` is ``"optimal"``, ``"near"`` if the trees are optimal ``within`` a gap, or ``"open"`` if one of them
    came without a claim.  ``about`` has the fields `ABOUT` of the proof, whether crossed arcs have ``costs``, and the
    numbers of its ``trees``, of its candidate ``arcs`` and of all ``possible`` arcs.
    """

    name: str
    status: str
    within: float
    about: dict[str, Any]


class Kind(NamedTuple):
    """Restriction of trees over some arcs: to projective ones, or to those with crossed arcs.

    For the latter, ``crossed`` are arcs that all trees have and that are crossed in those that count; else None.
    """

    projective: bool
    crossed: frozenset[Arc] | None = None


class Refused(Exception):
    """A proof does not prove what it claims."""


def require(holds: object, reason: str) -> None:
    """Raise `Refused` unless a condition holds."""
    if not holds:
        raise Refused(reason)


def require_fields(value: Any, fields: dict[str, tuple[type, ...]]) -> None:
    """Raise `Refused` unless a value is an object with these keys, and no others, whose values have these types."""
    require(type(value) is dict, f"an object with the keys {', '.join(fields)} is expected")
    wrong = fields.keys() ^ value.keys() | {name for name in fields if type(value.get(name)) not in fields[name]}
    require(not wrong, f"keys are missing, unknown or of the wrong type: {', '.join(sorted(wrong))}")


def require_numbers(numbers: list[Any], end: int, what: str) -> None:
    """Raise `Refused` unless these are integers from 0 to below ``end``."""
    require(all(type(number) is int and 0 <= number < end for number in numbers), f"{what} is unknown")


# -- the problem -------------------------------------------------------------------------------------------------------


class Units:
    """Conversion of numbers to integers, in units of ``2 ** -bits``, the largest in which all given ones are exact."""

    def __init__(self, numbers: Iterable[Any]):
        self.bits = max((ratio(number)[1].bit_length() - 1 for number in numbers), default=0)

    def integers(self, numbers: Iterable[Any]) -> list[int]:
        """Return numbers as integers, in these units."""
        return [above << self.bits - (below.bit_length() - 1) for above, below in map(ratio, numbers)]

    def number(self, units: int) -> float:
        """Return the float nearest to a number of units."""
        return units / (1 << self.bits)


def ratio(number: Any) -> tuple[int, int]:
    """Return a number as an exact fraction, whose denominator is a power of two."""
    require(type(number) in (int, float) and math.isfinite(number), f"{number!r} is not a number")
    return float(number).as_integer_ratio()


class Problem:
    """The arcs of a sentence and the scores of their parts, in units.

    Node 0 is the root.  ``arcs`` are sorted by modifier and head.  ``sides[h]`` has the arcs that leave ``h``, to the
    left and to the right, outward; position 0 of a side is its beginning, position ``k`` its ``k``-th arc, and the
    position after the last arc its end.  A path through the automaton of ``h`` is a choice of one arc that enters it
    and of positions on both sides.
    """

    TYPES = ("arc", "sibling", "grandparent", "grandsibling", "trisibling")

    def __init__(self, record: dict[str, Any], units: Units):
        candidates = record["candidates"]
        self.size = size = len(candidates) + 1
        require(size <= MAX_WORDS + 1, f"a sentence of {size - 1} words; at most {MAX_WORDS} are checked")
        self.arcs = [(h, m) for m, heads in enumerate(candidates, 1) for h in heads]
        possible = {(h, m) for h, m in self.arcs if type(h) is int and 0 <= h < size and h != m}
        require(self.arcs == sorted(possible, key=lambda arc: arc[::-1]), "the candidates are not arcs in order")
        self.place = {arc: i for i, arc in enumerate(self.arcs)}
        self.entering = [[(h, m) for h in heads] for m, heads in enumerate([[], *candidates])]
        out: list[list[Arc]] = [[] for _ in range(size)]
        for arc in self.arcs:
            out[arc[0]].append(arc)
        self.sides = [([a for a in own[::-1] if a[1] < h], [a for a in own if a[1] > h]) for h, own in enumerate(out)]
        outside = OUTSIDE[:1] if len(self.arcs) == (size - 1) ** 2 else OUTSIDE[1:]
        require(record["outside"] in outside, f"{len(self.arcs)} candidate arcs do not leave {record['outside']!r}")
        self.single_root, self.projective = record["single_root"], record["projective"]
        given = {name: units.integers(numbers) for name, numbers in record["scores"].items()}
        costs = units.integers(record["costs"] or [0] * len(self.arcs))
        require(len(costs) == len(self.arcs), "there is not one cost for each arc")
        require(
            min(costs, default=0) >= 0 and not (self.projective and any(costs)), "a cost is negative or without effect"
        )
        self.costs = dict(zip(self.arcs, costs, strict=True))
        self.unit = math.gcd(*costs, *(score for scores in given.values() for score in scores)) or 1
        self.largest = max((abs(score) for scores in given.values() for score in scores), default=0)
        require("arc" in given and set(given) <= set(self.TYPES), "arcs have no scores, or a type of part is unknown")
        self.own = given.pop("arc")
        require(len(self.own) == len(self.arcs), "there is not one score for each arc")
        self.higher = set(given)
        # Each node has two sides, and a tree has at most one part of a type for each word and for the end of each side.
        self.most = sum(3 * size * max(0, max(scores, default=0)) for scores in given.values())
        left = {name: iter(scores) for name, scores in given.items()}
        self.tables = [self.tables_of(h, left) for h in range(size)]
        require(all(next(scores, None) is None for scores in left.values()), "there are more scores than parts")

    def tables_of(self, h: int, left: dict[str, Iterator[int]]) -> dict[str, Any]:
        """Read the scores of the next automaton, by side and, for some parts, by the arc that enters its head."""

        def take(name: str, count: int) -> list[int]:
            scores = list(itertools.islice(left.get(name, ()), count))
            require(name not in left or len(scores) == count, f"there are fewer scores of {name} than parts")
            return scores

        sizes, above = [len(side) for side in self.sides[h]], self.entering[h]
        steps = [(k + 1) * (k + 2) // 2 for k in sizes]
        return {
            "sibling": [take("sibling", count) for count in steps],
            "grandparent": {arc: [take("grandparent", k) for k in sizes] for arc in above},
            "grandsibling": {arc: [take("grandsibling", count) for count in steps] for arc in above},
            "trisibling": [take("trisibling", k * (k + 1) * (k + 2) // 6) for k in sizes],
        }

    def step(self, h: int, side: int, above: Arc | None, r: int | None, s: int, m: int) -> int:
        """Return the score of passing from position s, which came after r, to position m, under the arc ``above``.

        The score of the arc at m is left out; r is None where s is the beginning.
        """
        tables, pair, total = self.tables[h], m * (m - 1) // 2 + s, 0
        if "sibling" in self.higher:
            total += tables["sibling"][side][pair]
        if "trisibling" in self.higher and r is not None:
            total += tables["trisibling"][side][m * (m - 1) * (m - 2) // 6 + s * (s - 1) // 2 + r]
        if above and "grandparent" in self.higher and m <= len(self.sides[h][side]):
            total += tables["grandparent"][above][side][m - 1]
        if above and "grandsibling" in self.higher:
            total += tables["grandsibling"][above][side][pair]
        return total

    def score(self, heads: Heads) -> int:
        """Return the score of a tree, the sum over all of its parts."""
        total = sum(self.own[self.place[h, m]] for m, h in enumerate(heads, 1))
        for h in range(self.size):
            above = (heads[h - 1], h) if h else None
            for side, arcs in enumerate(self.sides[h]):
                r, s = None, 0
                for m in [*(k for k, arc in enumerate(arcs, 1) if heads[arc[1] - 1] == h), len(arcs) + 1]:
                    total += self.step(h, side, above, r, s, m)
                    r, s = s, m
        return total

    def value(self, heads: Heads) -> int:
        """Return the score of a tree, minus the costs of its crossed arcs."""
        crossed = {arc for pair in crossings(arcs_of(heads)) for arc in pair}
        return self.score(heads) - sum(self.costs[arc] for arc in crossed)

    def is_tree(self, heads: Heads) -> bool:
        """Return whether heads are a tree of the requested kind over the candidates."""
        arcs = arcs_of(heads)
        wrong = (self.single_root and heads.count(0) != 1) or (self.projective and any(crossings(arcs)))
        known = len(heads) == self.size - 1 and self.place.keys() >= {*arcs}
        return known and not wrong and not cycles_of({m: h for h, m in arcs})


def arcs_of(heads: Heads) -> list[Arc]:
    """Return the arcs of a tree."""
    return [(h, m) for m, h in enumerate(heads, 1)]


def crossings(arcs: Iterable[Arc]) -> Iterator[tuple[Arc, Arc]]:
    """Yield the pairs of arcs that cross."""
    begun: dict[int, list[Arc]] = {}
    for arc in arcs:
        begun.setdefault(min(arc), []).append(arc)
    for one in itertools.chain(*begun.values()):
        inside = (other for place in range(min(one) + 1, max(one)) for other in begun.get(place, ()))
        yield from ((one, other) for other in inside if max(other) > max(one))


# -- bounds ------------------------------------------------------------------------------------------------------------


def bounds_with(problem: Problem, kept: frozenset[Arc], kind: Kind, shares: Shares, arcs: list[Arc]) -> Iterator[int]:
    """Yield, for each of some arcs, a bound on the values of all trees with this arc, unless there are none.

    The automata of both its ends must take the arc; all others are unconstrained.
    """
    only = only_arcs(kept)
    free = [best_path(problem, h, kept, only, shares) for h in range(problem.size)]
    rest = sum(free) - (least_paid(problem, kept, kind) or 0)
    for h, m in arcs:
        having = kept - {arc for arc in problem.entering[m] if arc[0] != h}
        best = best_tree(problem, having, shares, kind.projective)
        if best is not None:
            both = sum(best_path(problem, end, having, only | {(h, m)}, shares) for end in (h, m))
            yield best + rest - free[h] - free[m] + both


def best_tree(problem: Problem, kept: frozenset[Arc], shares: Shares, projective: bool) -> int | None:
    """Return the score of the best tree over the kept arcs, without the automata's shares; None if there is no tree."""
    u, v = shares
    rest = {arc: problem.own[i] - u[i] - v[i] for i, arc in enumerate(problem.arcs) if arc in kept}
    return (best_projective if projective else best_arborescence)(problem.size, rest, problem.single_root)


def only_arcs(kept: frozenset[Arc]) -> set[Arc]:
    """Return the arcs that are the only ones into their word, which all trees have."""
    count = Counter(m for _, m in kept)
    return {(h, m) for h, m in kept if count[m] == 1}


def best_path(problem: Problem, h: int, kept: frozenset[Arc], only: set[Arc], shares: Shares) -> int:
    """Return the score of the best path through the automaton of a node, with one of the arcs that can enter it."""
    into = [arc for arc in problem.entering[h] if arc in kept and arc[::-1] not in only] if h else [None]
    return max(
        (shares[1][problem.place[above]] if above else 0)
        + sum(best_side(problem, h, side, above, kept, only, shares[0]) for side in (0, 1))
        for above in into
    )


def best_side(
    problem: Problem, h: int, side: int, above: Arc | None, kept: frozenset[Arc], only: set[Arc], u: list[int]
) -> int:
    """Return the score of the best path on one side, by Viterbi.

    The head of h cannot be its modifier; words that have no other head must be.
    """
    arcs, triples, pairs = problem.sides[h][side], "trisibling" in problem.higher, problem.higher - {"grandparent"}
    taken = [k for k, arc in enumerate(arcs, 1) if arc in kept and not (above and arc[1] == above[0])]
    # By the position before the last one, if triples are scored, and the last one, if pairs are.
    best: dict[tuple[int | None, int], int] = {(None, 0): 0}
    for m in taken:
        own, found = u[problem.place[arcs[m - 1]]], {} if arcs[m - 1] in only else dict(best)
        for (r, s), value in best.items():
            state, new = (s if triples else r, m if pairs else 0), value + own + problem.step(h, side, above, r, s, m)
            found[state] = max(new, found.get(state, new))
        best = found
    return max(value + problem.step(h, side, above, r, s, len(arcs) + 1) for (r, s), value in best.items())


def fee_of(size: int, scores: dict[Arc, int]) -> int:
    """Return an upper bound on the difference between two trees' scores; half of it is above the score of any tree."""
    return 2 + 2 * size * max(map(abs, scores.values()), default=0)


def best_arborescence(size: int, scores: dict[Arc, int], single_root: bool) -> int | None:
    """Return the score of the best arborescence (Chu and Liu 1965, Edmonds 1967); None if there is none.

    For a single root each arc from the root pays a fee, and one fee is given back, so that a tree with several such
    arcs scores less than any with one.
    """
    fee, unused = fee_of(size, scores), itertools.count(size)
    total = paid = fee if single_root else 0
    arcs: list[tuple[int, int, int]] = [(h, m, score - (0 if h else paid)) for (h, m), score in scores.items()]
    while True:
        best: dict[int, tuple[int, int]] = {}
        for h, m, score in arcs:
            if m not in best or score > best[m][1]:
                best[m] = h, score
        if len(best) < size - 1:
            return None
        total += sum(score for _, score in best.values())
        cycles = cycles_of({m: h for m, (h, _) in best.items()})
        if not cycles:
            return total if total > -fee // 2 else None
        # Each cycle becomes one node; an arc that enters it takes the place of one of its own.
        name = {node: number for number, cycle in zip(unused, cycles, strict=False) for node in cycle}
        arcs = [(name.get(h, h), name.get(m, m), score - best[m][1]) for h, m, score in arcs]
        arcs = [arc for arc in arcs if arc[0] != arc[1]]
        size -= len(name) - len(cycles)


def cycles_of(head: dict[int, int]) -> list[tuple[int, ...]]:
    """Return the cycles, each a tuple of nodes, of a graph in which each node but the root, 0, has one head."""
    cycles, walked = list[tuple[int, ...]](), {0: 0}
    for start in head:
        path, node = [], start
        while node not in walked:
            walked[node] = start
            path.append(node)
            node = head[node]
        if walked[node] == start:
            cycles.append(tuple(path[path.index(node) :]))
    return cycles


def best_projective(size: int, scores: dict[Arc, int], single_root: bool) -> int | None:
    """Return the score of the best projective tree (Eisner 1996); None if there is none.

    Complete spans are the best trees over the words from their root to an end; in incomplete ones the end depends on
    the root and has no modifiers beyond.  Their scores are in lists, from the narrowest to the widest: ``right[i]`` has
    the complete ones from i to its right, ``into[i]`` those from words on its right to i, ``left`` and ``back`` the
    same with sides exchanged, ``opened`` the incomplete ones from i to its right and to its left.  Arcs that are absent
    cost more than any tree without them.
    """
    require(size <= MAX_PROJECTIVE + 1, f"projective trees of {size - 1} words; at most {MAX_PROJECTIVE} are checked")
    fee, first = fee_of(size, scores), int(single_root)
    right, left, into, back = ([[0] for _ in range(size)] for _ in range(4))
    opened: tuple[list[list[int]], list[list[int]]] = [[] for _ in range(size)], [[] for _ in range(size)]
    for width in range(1, size - first):
        for i in range(first, size - width):
            j = i + width
            inner = highest_sum(right[i], left[j])
            opened[0][i].append(inner + scores.get((i, j), -fee))
            opened[1][j].append(inner + scores.get((j, i), -fee))
            right[i].append(highest_sum(opened[0][i], back[j]))
            left[j].append(highest_sum(into[i], opened[1][j]))
            into[i].append(left[j][-1])
            back[j].append(right[i][-1])
    roots = range(1, size) if single_root else ()
    ends = (scores.get((0, m), -fee) + left[m][m - 1] + right[m][size - 1 - m] for m in roots)
    total = max(ends, default=right[0][-1])
    return total if total > -fee // 2 else None


def highest_sum(first: list[int], second: list[int]) -> int:
    """Return the highest sum of a number of the first list and the one at the mirrored place of the second."""
    return max(map(operator.add, first, reversed(second)))


# -- the proof ---------------------------------------------------------------------------------------------------------


def bound_of_excluded(problem: Problem, excluded: list[int]) -> int:
    """Return a bound on the scores of all trees with at least one of these arcs."""
    best = [max(problem.own[problem.place[arc]] for arc in arcs) for arcs in problem.entering[1:]]
    return sum(best) + problem.most - min(best[problem.arcs[i][1] - 1] - problem.own[i] for i in excluded)


def highest_bound(
    problem: Problem, excluded: list[int], shares: list[Shares], search: list[Any], listed: set[Heads]
) -> int | None:
    """Return a bound on the values of all trees that are not listed; None if there are no others.

    Trees with an excluded arc are bounded first; the search covers the others.
    ``search`` is a list of steps, each for one set of trees, the first for all: ``[h, m]`` divides the set into the
    trees with this arc and those without it, ``"crossing"`` into those whose arcs cross and those whose do not,
    ``["crossed", h, m]`` into those in which this arc is crossed, those in which it is not, and those without it, and a
    number bounds it, by the shares with this number.  The steps for the first part come before those for the second.
    ``{"without": arcs, "shares": number}`` bounds the trees with one of these arcs, given by their numbers, and leaves
    those without any.
    """
    require_numbers(excluded, len(problem.arcs), "an excluded arc")
    bounds = [bound_of_excluded(problem, excluded)] if excluded else []
    # Each set of trees has a chain of lost arcs: those lost at its own division, then those of the divided set.
    start = [problem.arcs[i] for i in excluded], None
    waiting: list[tuple[Any, Kind]] = [(start, Kind(problem.projective))]
    for step in search:
        require(waiting, "the search goes on after its end")
        lost, kind = waiting.pop()
        kept = kept_arcs(problem, lost)
        if type(step) is int:
            require_numbers([step], len(shares), f"the number of shares, {step},")
            bounds += bounds_of_set(problem, kept, kind, shares[step], listed)
        elif type(step) is dict:
            require_fields(step, STEP)
            require_numbers([step["shares"]], len(shares), f"the number of shares, {step['shares']},")
            require_numbers(step["without"], len(problem.arcs), "an arc that is left out")
            arcs = [problem.arcs[i] for i in step["without"]]
            require(kept.issuperset(arcs), "an arc is left out that no tree has")
            bounds += bounds_with(problem, kept, kind, shares[step["shares"]], arcs)
            waiting.append(((arcs, lost), kind))
        elif step == "crossing":
            require(kind == (False, None), "a set of trees is divided twice by whether arcs cross")
            waiting += [(lost, Kind(True)), (lost, Kind(False, frozenset()))]
        else:
            known = type(step) is list and step[:-2] in ([], ["crossed"]) and [*map(type, step[-2:])] == [int, int]
            require(known, "a step of the search is unknown")
            *crossed, h, m = step
            require((h, m) in kept, f"a set of trees is divided by {h} -> {m}, which none of them has")
            others = [arc for arc in problem.entering[m] if arc[0] != h]
            waiting.append((([(h, m)], lost), kind))
            if crossed:
                crossing = [arc for pair in crossings(kept) if (h, m) in pair for arc in pair if arc != (h, m)]
                waiting.append(((others + crossing, lost), kind))
                kind = kind._replace(crossed=frozenset({(h, m)}.union(kind.crossed or ())))
            waiting.append(((others, lost), kind))
    require(not waiting, "the search does not reach its end")
    return max(bounds, default=None)


def kept_arcs(problem: Problem, lost: Any) -> frozenset[Arc]:
    """Return the arcs that the trees of a set may have, given a chain of the arcs that it has lost."""
    kept = set(problem.arcs)
    while lost:
        arcs, lost = lost
        kept.difference_update(arcs)
    return frozenset(kept)


def least_paid(problem: Problem, kept: frozenset[Arc], kind: Kind) -> int | None:
    """Return the least payment of the trees of a kind over the arcs that are kept; None if there are none.

    Crossed arcs pay their costs, as does an arc that crosses one; if no arc is known, the cheapest crossing pair pays.
    """
    if kind.crossed is None or not any(problem.costs.values()):
        return 0
    crossed = kind.crossed.union(*crossings(only_arcs(kept)))
    due, pairs = problem.costs | dict.fromkeys(crossed, 0), [*crossings(kept)]
    sums = [[due[a] + due[b] for a, b in pairs if arc in (None, a, b)] for arc in crossed or [None]]
    return sum(problem.costs[arc] for arc in crossed) + max(map(min, sums)) if all(sums) else None


def bounds_of_set(problem: Problem, kept: frozenset[Arc], kind: Kind, shares: Shares, listed: set[Heads]) -> list[int]:
    """Return a bound on the values of the trees over the kept arcs that are not listed; empty if there are none.

    It is exact where each word has one arc, so that there is only one tree.
    """
    if len(kept) == problem.size - 1 == len({m for _, m in kept}):
        heads = tuple(h for h, _ in sorted(kept, key=lambda arc: arc[1]))
        return [problem.value(heads)] if problem.is_tree(heads) and heads not in listed else []
    best, paid = best_tree(problem, kept, shares, kind.projective), least_paid(problem, kept, kind)
    if best is None or paid is None:
        return []
    only = only_arcs(kept)
    return [best + sum(best_path(problem, h, kept, only, shares) for h in range(problem.size)) - paid]


def check(record: dict[str, Any]) -> Verdict:
    """Return the verdict on a proof; raise `Refused` if it does not prove its claim."""
    trees, pairs = record["trees"], record["multipliers"]
    for tree in trees:
        require_fields(tree, TREE)
        require_numbers(tree["heads"], len(record["candidates"]) + 1, "a head")
    numbers = [*(record["costs"] or ()), *itertools.chain(*record["scores"].values())]
    numbers += [number for pair in pairs for share in pair if share for number in share]
    numbers += [tree["within"] for tree in trees if tree["within"] is not None]
    units = Units(numbers)
    problem = Problem(record, units)
    none = [0] * len(problem.arcs)
    shares = [(units.integers(none if u is None else u), units.integers(none if v is None else v)) for u, v in pairs]
    require(all(len(share) == len(none) for pair in shares for share in pair), "the shares are not one for each arc")
    listed = [tuple(tree["heads"]) for tree in trees]
    require(listed and len(set(listed)) == len(listed), "no tree is listed, or one is listed twice")
    require(all(map(problem.is_tree, listed)), "what is listed is not a tree over the candidates")
    values = [problem.value(heads) for heads in listed]
    require([tree["score"] for tree in trees] == [*map(units.number, values)], "the value of a tree is not its score")
    others = highest_bound(problem, record["excluded"], shares, record["search"], set(listed))
    exact, largest = True, 0
    for rank, (tree, value) in enumerate(zip(trees, values, strict=True), 1):
        gap = max([value, *values[rank:], value if others is None else others]) - value
        if tree["within"] is not None:
            (within,) = units.integers([tree["within"]])
            most = abs(value) + (problem.size - 1) * problem.largest
            require(WITHIN * within <= most, f"a tolerance of {tree['within']} is above {units.number(most) / WITHIN}")
            require(gap <= within, f"another tree may be better by {units.number(gap)}, not {tree['within']}")
            exact, largest = exact and gap < problem.unit, max(largest, gap)
    status = "open" if any(tree["within"] is None for tree in trees) else "optimal" if exact else "near"
    more = {"costs": bool(record["costs"]), "trees": len(trees), "arcs": len(none), "possible": (problem.size - 1) ** 2}
    return Verdict(record["name"], status, units.number(largest), {name: record[name] for name in ABOUT} | more)


def shown(text: Any) -> str:
    """Return a text from a file without characters that cannot be printed or change the display."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def check_line(line: str) -> tuple[list[list[int]], Verdict]:
    """Return the trees of a line and the verdict on it; raise `Refused` if anything is wrong with it."""
    try:
        require(line.isascii(), "it has a character that is not ASCII")
        record = json.loads(line, object_pairs_hook=without_duplicates, parse_constant=ratio)
        digest, text = record.pop("digest"), json.dumps(record)
        require(digest == hashlib.sha256(text.encode()).hexdigest(), "it was altered after it was written")
        version = (record["format"], record["version"]) == (FORMAT, VERSION)
        require(version, f"it is not a {FORMAT} of version {VERSION}")
        require_fields(record, FIELDS)
        return [tree["heads"] for tree in record["trees"]], check(record)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise Refused(f"it is malformed, or too large: {error!r}") from None


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise `Refused` if it repeats a key, which JSON readers treat differently."""
    found = dict(pairs)
    require(len(found) == len(pairs), f"a key stands twice among {', '.join(found)}")
    return found


# -- files -------------------------------------------------------------------------------------------------------------


class Unreadable(Exception):
    """A file cannot be read; the message has its name."""


def lines_of(name: str) -> Iterator[bytes | None]:
    """Yield the lines of a file, decompressed, or of standard input, ``-``; None for one that is too long."""
    try:
        with open(0 if name == "-" else name, "rb", closefd=name != "-") as stream:
            packed = name.endswith(".gz") or stream.peek(2)[:2] == b"\x1f\x8b"
            lines = gzip.GzipFile(fileobj=stream) if packed else stream
            while line := lines.readline(MAX_LINE + 1):
                is_long = len(line) > MAX_LINE
                while is_long and line and not line.endswith(b"\n"):
                    line = lines.readline(MAX_LINE)
                yield None if is_long else line
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def parsed_trees(name: str) -> Iterator[tuple[list[int | None], str]]:
    """Yield the heads of each tree of a CoNLL file, None where it has none, and the digest of its words and tags."""
    heads, words = list[int | None](), hashlib.sha256()
    for number, line in enumerate(itertools.chain(lines_of(name), [b""]), 1):
        columns = (line or b"").removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\t")
        if line is None or (line.strip() and not (columns[0].startswith(b"#") or OTHER_ID.fullmatch(columns[0]))):
            if columns[0] != b"%d" % (len(heads) + 1) or not HEAD.fullmatch(b"".join(columns[6:7])):
                given = [column[:20].decode(errors="replace") for column in (columns[0], *columns[6:7])]
                expected = f"{len(heads) + 1} and the number of a word, 0 or _ are expected"
                raise Unreadable(f"{name}:{number}: ID and HEAD are {given}; {expected}")
            words.update(b"\t".join(columns[1:6]) + b"\n")
            heads.append(None if columns[6] == b"_" else int(columns[6]))
        elif heads and not line.strip():
            yield heads, words.hexdigest()
            heads, words = [], hashlib.sha256()


def compare(trees: list[list[int]], words: str | None, parsed: Iterator[tuple[list[int | None], str]]) -> int:
    """Return the number of heads that a CoNLL file lacks; raise `Refused` unless its next words and trees are these."""
    lacking = 0
    for heads in trees:
        theirs, digest = next(parsed, ([], ""))
        require(theirs, "the parsed file has no more trees")
        require(digest == words, "the parsed file has other words or tags, in its columns FORM to FEATS")
        same = len(theirs) == len(heads) and all(h in (None, own) for own, h in zip(heads, theirs, strict=True))
        require(same, "the parsed file has another tree")
        lacking += theirs.count(None)
    return lacking


def checked(options: argparse.Namespace) -> Iterator[tuple[str, Verdict | str, int]]:
    """Yield the place of each proof, its verdict or why it is refused, and the number of heads that PARSED lacks."""
    parsed, model = parsed_trees(options.parsed) if options.parsed else iter(()), None
    if options.model:
        with open(options.model, "rb") as stream:
            model = hashlib.file_digest(stream, "sha256").hexdigest()
    for number, line in enumerate(lines_of(options.proofs), 1):
        place = f"{options.proofs}:{number}"
        try:
            require(line is not None, f"a line of more than {MAX_LINE:,} bytes is not checked")
            trees, verdict = check_line((line or b"").decode("ascii", "replace"))
            require(model in (None, verdict.about["model"]), "it is of another model")
            yield place, verdict, compare(trees, verdict.about["words"], parsed) if options.parsed else 0
        except Refused as error:
            yield place, str(error)[:200], 0
    if next(parsed, None) is not None:
        yield options.parsed, "it has trees without a proof", 0


def kind_of(about: dict[str, Any]) -> str:
    """Return the kind of trees in a proof, in words."""
    trees = "projective trees" if about["projective"] else "all trees"
    roots = "a single root" if about["single_root"] else "one or more roots"
    return f"{trees} with {roots}" + (", less the costs of crossed arcs" if about["costs"] else "")


def describe(verdict: Verdict) -> str:
    """Return a verdict in words."""
    if verdict.status == "open":
        return "no proof is claimed"
    proved, over = "optimal" if verdict.status == "optimal" else f"optimal within {verdict.within:.2g}", "all arcs"
    best = ", the best {trees}".format_map(verdict.about) if verdict.about["trees"] > 1 else ""
    if verdict.about["outside"] != "nothing":
        over = "its candidate arcs, {arcs} of {possible}; the others are {outside}".format_map(verdict.about)
    return f"{proved}{best} among {kind_of(verdict.about)}, over {over}"


def facts_of(about: dict[str, Any]) -> list[str]:
    """Return the kind of trees in a proof, and its assumptions, in words."""
    options = ", ".join(f"{name} {value}" for name, value in about["options"].items())
    source = f"of the model {about['model']}, with {options}" if about["model"] else "which were given without a model"
    trusted = [f"the scores, {source}"]
    if about["outside"] != "nothing":
        trusted.append(f"that no better tree has other arcs; they are {about['outside']}")
    return [f"best among {kind_of(about)}", *(f"taken on trust: {each}" for each in trusted)]


def report(options: argparse.Namespace) -> bool:
    """Print a line for each proof, and a summary; return whether none is refused."""
    counts, facts, largest, lacking = Counter[str](), Counter[str](), 0.0, 0
    for place, verdict, without in checked(options):
        found, text = dict[str, Any](status="refused", reason=verdict), f"refused: {verdict}"
        if isinstance(verdict, Verdict):
            found, text = verdict._asdict(), f"{verdict.name}: {describe(verdict)}"
            largest, lacking = max(largest, verdict.within), lacking + without
            facts.update(facts_of(verdict.about) if verdict.status != "open" else [])
        counts[found["status"]] += 1
        print(json.dumps({"place": place} | found) if options.json else shown(f"{place}: {text}"))
    if not options.json:
        near = f"{counts['near']} optimal within a tolerance" + f" of at most {largest:.2g}" * bool(counts["near"])
        print(f"{counts['optimal']} optimal, {near}, {counts['open']} without a claim, {counts['refused']} refused")
        facts.update({f"words of {options.parsed} without a head there": lacking} if lacking else {})
        for fact, count in facts.most_common():
            print(shown(f"{count} {fact}"))
    return not counts["refused"]


def main(arguments: list[str] | None = None) -> int:
    """Check a file and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proofs", metavar="PROOFS", help="the proofs, a line each")
    parser.add_argument("parsed", metavar="PARSED", nargs="?", help="the parsed sentences")
    parser.add_argument("--model", metavar="FILE", help="the model, whose SHA-256 is compared with that of the proofs")
    parser.add_argument("--json", action="store_true", help="print the verdicts as lines of JSON, and no summary")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # where its encoding lacks a character
    try:
        return 0 if report(parser.parse_args(arguments)) else 1
    except (OSError, Unreadable) as error:
        print(shown(f"check_proofs: {error}"), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
