"""Check the proofs of nonproj, with integers and Python's standard library alone; this file needs no other.

    python check_proofs.py PROOFS [PARSED]

``PROOFS`` is a file that ``nonproj parse --proofs`` wrote, a JSON object a line, or ``-``; a name that ends in ``.gz``
is decompressed.  With ``PARSED``, the CoNLL output of the same run, its trees are compared with those proved.  The exit
code is 0 if every claim holds, 1 if one does not, 2 if a file cannot be read.

**What is claimed.**  A proof has a sentence's candidate arcs, the scores of their parts, and one or more trees.  The
score of a tree is the sum over its parts; its value is the score, less ``price`` if arcs cross.  For a tree with
``"within": w`` the claim is: no other tree over these arcs, but those listed before it, has a value that is higher by
more than ``w``.  Values are multiples of one number, so where the gap is less than that number, the tree is optimal.

**What is taken on trust.**  That the scores are those of the model, and, unless ``outside`` says ``"nothing"``, that
the best tree has no arc outside the candidates.

**How it is proved.**  Give the automaton of each word a share ``u`` of the score of each arc that leaves it and a share
``v`` of each arc that enters it, and an arborescence the rest of each arc's score.  Any tree is an arborescence and a
path through each automaton, and its score is the sum of theirs; so for any shares the best arborescence and the best
paths, found separately, together bound all trees (Koo et al. 2010, section 5: Lagrangian relaxation).  One bound need
not be tight.  ``search`` divides the trees, over and over, into those with an arc and those without it, or into those
whose arcs cross and those whose do not, and names the shares that bound each set that is left (branch and bound).

A number in the file stands for the 64-bit float that it is read as.  From there on all arithmetic is in integers: all
numbers of a proof are multiples of one power of two.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import itertools
import json
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TextIO

FORMAT, VERSION = "nonproj proof", 1

Arc = tuple[int, int]  # head and modifier
Shares = tuple[list[int], list[int]]


class Verdict(NamedTuple):
    """What is proved of a sentence: ``exact`` if its trees are optimal, else they are ``within`` a gap.

    ``claimed`` says whether every tree came with a claim; ``outside`` why arcs are no candidates.
    """

    name: str
    exact: bool
    within: float
    claimed: bool
    outside: str


class Refused(Exception):
    """A proof does not prove what it claims."""


def require(holds: object, reason: str) -> None:
    """Raise `Refused` unless a condition holds."""
    if not holds:
        raise Refused(reason)


# -- the problem -------------------------------------------------------------------------------------------------------


class Units:
    """Numbers as integers, in units of 2 to the power of ``-bits``, which is fine enough for all that are given."""

    def __init__(self, numbers: Iterable[Any]):
        self.bits = max((ratio(number)[1].bit_length() - 1 for number in numbers), default=0)

    def integers(self, numbers: Iterable[Any]) -> list[int]:
        """Return numbers in units."""
        return [above << self.bits - (below.bit_length() - 1) for above, below in map(ratio, numbers)]

    def number(self, units: int) -> float:
        """Return the float that is nearest to so many units."""
        return units / (1 << self.bits)


def ratio(number: Any) -> tuple[int, int]:
    """Return a number as an exact fraction, whose denominator is a power of two."""
    require(type(number) in (int, float) and math.isfinite(number), f"{number!r} is not a number")
    top, bottom = number.as_integer_ratio()
    return top, bottom


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
        self.arcs = [(h, m) for m, heads in enumerate(candidates, 1) for h in heads]
        possible = all(type(h) is int and 0 <= h < size and h != m for h, m in self.arcs)
        in_order = self.arcs == sorted(set(self.arcs), key=lambda arc: arc[::-1])
        require(possible and in_order, "the candidates are not arcs in order")
        self.place = {arc: i for i, arc in enumerate(self.arcs)}
        self.entering = [[(h, m) for h in heads] for m, heads in enumerate([[], *candidates])]
        leaving = [[arc for arc in self.arcs if arc[0] == h] for h in range(size)]
        self.sides = [
            ([a for a in own[::-1] if a[1] < h], [a for a in own if a[1] > h]) for h, own in enumerate(leaving)
        ]
        self.single_root, self.projective = record["single_root"] is True, record["projective"] is True
        given = {name: units.integers(numbers) for name, numbers in record["scores"].items()}
        (self.price,) = units.integers([record["price"]])
        self.unit = math.gcd(self.price, *(score for scores in given.values() for score in scores)) or 1
        require(self.price >= 0 and not (self.price and self.projective), "the price is negative or without effect")
        require(set(given) <= set(self.TYPES), "a type of part is unknown")
        self.own = given.pop("arc")
        require(len(self.own) == len(self.arcs), "there is not one score for each arc")
        self.higher = set(given)
        # Each node has two sides, and a tree has at most one part of a type for each word and for the end of each side.
        self.most = sum(3 * size * max(0, max(scores, default=0)) for scores in given.values())
        left = {name: iter(scores) for name, scores in given.items()}
        self.tables = [self.tables_of(h, left) for h in range(size)]
        require(all(next(scores, None) is None for scores in left.values()), "there are more scores than parts")

    def tables_of(self, h: int, left: dict[str, Iterator[int]]) -> dict[str, Any]:
        """Return the scores of an automaton, by side and, for some parts, by the arc that enters it; they are next."""

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

        It is without the score of the arc at m; r is None where s is the beginning.
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

    def score(self, heads: tuple[int, ...]) -> int:
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

    def value(self, heads: tuple[int, ...]) -> int:
        """Return the score of a tree, less the price if arcs cross."""
        return self.score(heads) - (0 if is_projective(heads) else self.price)

    def is_tree(self, heads: tuple[int, ...]) -> bool:
        """Return whether heads are a tree of the kind that is asked for, over the candidates."""
        if len(heads) != self.size - 1 or any(arc not in self.place for arc in arcs_of(heads)):
            return False
        if cycles_of({m: h for h, m in arcs_of(heads)}):
            return False
        return (heads.count(0) == 1 or not self.single_root) and (is_projective(heads) or not self.projective)


def arcs_of(heads: tuple[int, ...]) -> list[Arc]:
    """Return the arcs of a tree."""
    return [(h, m) for m, h in enumerate(heads, 1)]


def is_projective(heads: tuple[int, ...]) -> bool:
    """Return whether no two arcs cross."""
    spans = [sorted(arc) for arc in arcs_of(heads)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


# -- bounds ------------------------------------------------------------------------------------------------------------


def bound(problem: Problem, kept: frozenset[Arc], shares: Shares, projective: bool) -> int | None:
    """Return a bound on the scores of all trees over the arcs that are kept; None if there is no tree."""
    best, only = best_tree(problem, kept, shares, projective), only_arcs(kept)
    if best is None:
        return None
    return best + sum(best_path(problem, h, kept, only, shares) for h in range(problem.size))


def bounds_with(
    problem: Problem, kept: frozenset[Arc], shares: Shares, projective: bool, arcs: list[Arc]
) -> Iterator[int]:
    """Yield a bound on the scores of all trees with one of some arcs, for each of these arcs, unless there is no tree.

    The automata of both its ends must take the arc, and all others are as free as without it.
    """
    only = only_arcs(kept)
    free = [best_path(problem, h, kept, only, shares) for h in range(problem.size)]
    for h, m in arcs:
        having = kept - {arc for arc in problem.entering[m] if arc[0] != h}
        best = best_tree(problem, having, shares, projective)
        if best is not None:
            both = sum(best_path(problem, end, having, only | {(h, m)}, shares) for end in (h, m))
            yield best + sum(free) - free[h] - free[m] + both


def best_tree(problem: Problem, kept: frozenset[Arc], shares: Shares, projective: bool) -> int | None:
    """Return the score of the best tree over the arcs that are kept, without the automata's shares; None if none is."""
    u, v = shares
    rest = {arc: problem.own[i] - u[i] - v[i] for i, arc in enumerate(problem.arcs) if arc in kept}
    return (best_projective if projective else best_arborescence)(problem.size, rest, problem.single_root)


def only_arcs(kept: frozenset[Arc]) -> set[Arc]:
    """Return the arcs that are the only ones into their word, which all trees have."""
    into: dict[int, list[Arc]] = {}
    for arc in kept:
        into.setdefault(arc[1], []).append(arc)
    return {arcs[0] for arcs in into.values() if len(arcs) == 1}


def best_path(problem: Problem, h: int, kept: frozenset[Arc], only: set[Arc], shares: Shares) -> int:
    """Return the score of the best path through the automaton of a node, with one of the arcs that can enter it."""
    if h == 0:
        return sum(best_side(problem, h, side, None, kept, only, shares[0]) for side in (0, 1))
    return max(
        shares[1][problem.place[above]]
        + sum(best_side(problem, h, side, above, kept, only, shares[0]) for side in (0, 1))
        for above in problem.entering[h]
        if above in kept and above[::-1] not in only
    )


def best_side(
    problem: Problem, h: int, side: int, above: Arc | None, kept: frozenset[Arc], only: set[Arc], u: list[int]
) -> int:
    """Return the score of the best path on one side, by Viterbi.

    The head of h is none of its modifiers; words that have no other head are modifiers.
    """
    arcs, triples = problem.sides[h][side], "trisibling" in problem.higher
    taken = [k for k, arc in enumerate(arcs, 1) if arc in kept and not (above and arc[1] == above[0])]
    best: dict[tuple[int | None, int], int] = {(None, 0): 0}  # by the last position and, for triples, the one before
    for m in taken:
        own, found = u[problem.place[arcs[m - 1]]], dict[tuple[int | None, int], int]()
        for (r, s), value in best.items():
            state, reached = (s if triples else None, m), value + own + problem.step(h, side, above, r, s, m)
            found[state] = max(reached, found.get(state, reached))
        best = found if arcs[m - 1] in only else best | found
    return max(value + problem.step(h, side, above, r, s, len(arcs) + 1) for (r, s), value in best.items())


def fee_of(size: int, scores: dict[Arc, int]) -> int:
    """Return more than the scores of any two trees over these arcs differ by; half of it is more than any score."""
    return 2 + 2 * size * max(map(abs, scores.values()), default=0)


def best_arborescence(size: int, scores: dict[Arc, int], single_root: bool) -> int | None:
    """Return the score of the best arborescence (Chu and Liu 1965, Edmonds 1967); None if there is none.

    For a single root each arc from the root pays a fee, and one fee is given back, so that a tree with several such
    arcs scores less than any with one.
    """
    fee = fee_of(size, scores)
    total = paid = fee if single_root else 0
    arcs: list[tuple[Any, Any, int]] = [(h, m, score - (0 if h else paid)) for (h, m), score in scores.items()]
    while True:
        best: dict[Any, tuple[Any, int]] = {}
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
        name = {node: cycle for cycle in cycles for node in cycle}
        arcs = [(name.get(h, h), name.get(m, m), score - best[m][1]) for h, m, score in arcs]
        arcs = [arc for arc in arcs if arc[0] != arc[1]]
        size -= len(name) - len(cycles)


def cycles_of(head: dict[Any, Any]) -> list[tuple[Any, ...]]:
    """Return the cycles, each a tuple of its nodes, in which each node but the root, 0, has one head."""
    cycles, walked = [], {0: None}
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

    ``closed[h, end]`` and ``opened[h, end]`` are scores of the best trees over the words from h to ``end``, whose root
    is h: any of them, and those in which ``end`` depends on h and has no modifiers beyond.  Arcs that are absent cost
    more than any tree without them.
    """
    fee, first = fee_of(size, scores), int(single_root)
    closed, opened = {(node, node): 0 for node in range(size)}, dict[Arc, int]()
    for width in range(1, size - first):
        for i in range(first, size - width):
            j = i + width
            inner = max(closed[i, k] + closed[j, k + 1] for k in range(i, j))
            for arc in ((i, j), (j, i)):
                opened[arc] = inner + scores.get(arc, -fee)
            closed[i, j] = max(opened[i, k] + closed[k, j] for k in range(i + 1, j + 1))
            closed[j, i] = max(opened[j, k] + closed[k, i] for k in range(i, j))
    total = closed.get((0, size - 1), -fee)
    if single_root:
        total = max(scores.get((0, m), -fee) + closed[m, 1] + closed[m, size - 1] for m in range(1, size))
    return total if total > -fee // 2 else None


# -- the proof ---------------------------------------------------------------------------------------------------------


def bound_of_excluded(problem: Problem, excluded: list[int]) -> int:
    """Return a bound on the scores of all trees with one of these arcs, which score so much less than the best ones."""
    best = [max(problem.own[problem.place[arc]] for arc in arcs) for arcs in problem.entering[1:]]
    return sum(best) + problem.most - min(best[problem.arcs[i][1] - 1] - problem.own[i] for i in excluded)


def highest_bound(
    problem: Problem, excluded: list[int], shares: list[Shares], search: list[Any], listed: set[tuple[int, ...]]
) -> int | None:
    """Return a bound on the values of all trees that are not listed; None if there are no others.

    First come the trees with an excluded arc; the search is about the others.
    ``search`` is a list of steps, each for one set of trees, from all of them on: ``[h, m]`` divides the set into the
    trees with this arc and those without it, ``"crossing"`` into those whose arcs cross and those whose do not, and a
    number bounds it, by the shares of this number.  The steps for the first part come before those for the second.
    ``{"without": arcs, "shares": number}`` bounds the trees with one of these arcs, given by their numbers, and leaves
    those without any.
    """
    require(all(type(i) is int and 0 <= i < len(problem.arcs) for i in excluded), "an excluded arc is unknown")
    bounds = [bound_of_excluded(problem, excluded)] if excluded else []
    waiting = [(frozenset(problem.arcs) - {problem.arcs[i] for i in excluded}, "")]
    for step in search:
        require(waiting, "the search goes on after its end")
        kept, kind = waiting.pop()
        if type(step) is int:
            require(0 <= step < len(shares), f"there are no shares number {step}")
            found = bound_of_set(problem, kept, kind, shares[step], listed)
            bounds += [] if found is None else [found]
        elif type(step) is dict:
            places, number = step["without"], step["shares"]
            require(type(number) is int and 0 <= number < len(shares), f"there are no shares number {number}")
            known = all(type(i) is int and 0 <= i < len(problem.arcs) for i in places)
            require(known, "an arc that is left out is unknown")
            arcs, projective = [problem.arcs[i] for i in places], problem.projective or kind == "projective"
            require(kept.issuperset(arcs), "an arc is left out that no tree has")
            paid = problem.price if kind == "crossing" else 0
            bounds += [each - paid for each in bounds_with(problem, kept, shares[number], projective, arcs)]
            waiting.append((kept - set(arcs), kind))
        elif step == "crossing":
            require(not kind, "a set of trees is divided twice by whether arcs cross")
            waiting += [(kept, "projective"), (kept, "crossing")]
        else:
            h, m = step
            require((h, m) in kept, f"a set of trees is divided by {h!r} -> {m!r}, which none of them has")
            waiting += [(kept - {(h, m)}, kind), (kept - {arc for arc in problem.entering[m] if arc[0] != h}, kind)]
    require(not waiting, "the search does not reach its end")
    return max(bounds, default=None)


def bound_of_set(
    problem: Problem, kept: frozenset[Arc], kind: str, shares: Shares, listed: set[tuple[int, ...]]
) -> int | None:
    """Return a bound on the values of the trees over the arcs that are kept, but those listed; None if none is left.

    It is exact where each word has one arc, so that there is only one tree.
    """
    projective = problem.projective or kind == "projective"
    if len(kept) == problem.size - 1 == len({m for _, m in kept}):
        heads = tuple(h for h, _ in sorted(kept, key=lambda arc: arc[1]))
        if not problem.is_tree(heads) or heads in listed or (projective and not is_projective(heads)):
            return None
        return problem.value(heads)
    found = bound(problem, kept, shares, projective)
    return found - problem.price if found is not None and kind == "crossing" else found


def check(record: dict[str, Any]) -> Verdict:
    """Return what a proof proves; raise `Refused` if it does not prove what it claims."""
    require(record["format"] == FORMAT and record["version"] == VERSION, f"it is not a {FORMAT} of version {VERSION}")
    trees, pairs = record["trees"], record["multipliers"]
    numbers = [record["price"], *(number for scores in record["scores"].values() for number in scores)]
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
    for tree, value in zip(trees, values, strict=True):
        stated, own = tree["score"], units.number(value)
        require(type(stated) is float and stated == own, f"the value of a tree is {own}, not {stated!r}")
    others = highest_bound(problem, record["excluded"], shares, record["search"], set(listed))
    exact, largest = True, 0
    for rank, (tree, value) in enumerate(zip(trees, values, strict=True), 1):
        gap = max([value, *values[rank:], value if others is None else others]) - value
        if tree["within"] is not None:
            (within,) = units.integers([tree["within"]])
            require(gap <= within, f"another tree may be better by {units.number(gap)}, not {tree['within']}")
            exact, largest = exact and gap < problem.unit, max(largest, gap)
    claimed = all(tree["within"] is not None for tree in trees)
    return Verdict(shown(record["name"]), exact, units.number(largest), claimed, shown(record["outside"]))


def shown(text: Any) -> str:
    """Return a text from a file without characters that could not be printed, or would change what is seen."""
    return "".join(character if character.isprintable() else "?" for character in str(text))


def check_line(line: str) -> tuple[list[list[int]], Verdict]:
    """Return the trees of a line and what it proves; raise `Refused` if anything is wrong with it."""
    try:
        record = json.loads(line)
        digest = record.pop("digest")
        own = hashlib.sha256(json.dumps(record).encode()).hexdigest()
        require(own == digest, "it was altered after it was written")
        return [tree["heads"] for tree in record["trees"]], check(record)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise Refused(f"it is malformed: {error!r}") from None


# -- files -------------------------------------------------------------------------------------------------------------


def parsed_trees(lines: Iterable[str]) -> Iterator[list[int | None]]:
    """Yield the heads of each tree of a CoNLL file; None for those of words without a head."""
    heads: list[int | None] = []
    for line in [*lines, ""]:
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) > 6 and columns[0].isdigit():
            heads.append(int(columns[6]) if columns[6].isdigit() else None)
        elif not line.strip() and heads:
            yield heads
            heads = []


def compare(trees: list[list[int]], parsed: Iterator[list[int | None]]) -> None:
    """Raise `Refused` unless the next trees of a CoNLL file are these, as far as they have heads."""
    for heads in trees:
        theirs = next(parsed, [])
        same = len(theirs) == len(heads) and all(h in (None, own) for own, h in zip(heads, theirs, strict=True))
        require(same, "the parsed file has another tree")


def describe(verdict: Verdict) -> str:
    """Return what is proved, in words."""
    if not verdict.claimed:
        return "no proof is claimed"
    proved = "optimal" if verdict.exact else f"optimal within {verdict.within:.2g}"
    over = "all arcs" if verdict.outside == "nothing" else f"its candidate arcs; the others are {verdict.outside}"
    return f"{proved}, over {over}"


def open_text(name: str) -> contextlib.AbstractContextManager[TextIO]:
    """Open a file for reading; ``-`` is standard input."""
    if name == "-":
        return contextlib.nullcontext(sys.stdin)
    if name.endswith(".gz"):
        return gzip.open(name, "rt", encoding="utf-8", errors="replace")
    return open(name, encoding="utf-8", errors="replace")


def main(arguments: list[str] | None = None) -> int:
    """Check a file, print a line for each sentence and a summary, and return the exit code."""
    names, counts = sys.argv[1:] if arguments is None else arguments, {"optimal": 0, "near": 0, "open": 0, "refused": 0}
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may have bytes that are no characters
    if len(names) not in (1, 2) or names[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if names[:1] in (["-h"], ["--help"]) else 2
    try:
        with contextlib.ExitStack() as files:
            lines = files.enter_context(open_text(names[0]))
            parsed = parsed_trees(files.enter_context(open_text(names[1]))) if len(names) > 1 else None
            for number, line in enumerate(lines, 1):
                try:
                    trees, verdict = check_line(line)
                    if parsed is not None:
                        compare(trees, parsed)
                    kind = "open" if not verdict.claimed else "optimal" if verdict.exact else "near"
                    print(f"{names[0]}:{number}: {verdict.name}: {describe(verdict)}")
                except Refused as error:
                    kind = "refused"
                    print(f"{names[0]}:{number}: refused: {error}")
                counts[kind] += 1
            if parsed is not None and next(parsed, None) is not None:
                counts["refused"] += 1
                print(f"{names[1]}: refused: it has trees without a proof")
    except (OSError, EOFError) as error:
        print(f"check_proofs: {error}", file=sys.stderr)
        return 2
    summary = "{optimal} optimal, {near} optimal within a tolerance, {open} without a claim, {refused} refused"
    print(summary.format(**counts))
    return 1 if counts["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
