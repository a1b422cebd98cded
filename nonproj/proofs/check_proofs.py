"""Check the proofs of nonproj, with integers and Python's standard library alone; this file needs no other.

    python check_proofs.py PROOFS [PARSED]

``PROOFS`` is a file that ``nonproj parse --proofs`` wrote, one JSON object a line, or ``-``; a name that ends in
``.gz`` is decompressed.  With ``PARSED``, the CoNLL output of the same run, the heads of each of its trees are compared
with those proved.  The exit code is 0 if every claim holds, 1 if one does not, 2 if a file cannot be read.

**What is claimed.**  A proof has a sentence's candidate arcs, the scores of their parts, and one or more trees.  The
score of a tree is the sum over its parts; its value is the score, less ``price`` if arcs cross.  For a tree with
``"within": w`` the claim is: no other tree over these arcs, but those listed before it, has a value that is higher by
more than ``w``.  Where all values are multiples of one number and nothing is left below it, the tree is optimal.

**What is taken on trust.**  That the scores are those of the model, and, unless ``outside`` says ``"nothing"``, that
the best tree has no arc outside the candidates.

**How it is proved.**  Give the automaton of each word a share ``u`` of the score of each arc that leaves it and a share
``v`` of each arc that enters it, and an arborescence the rest of each arc's score.  Any tree is an arborescence, and a
path through each automaton, and its score is the sum of theirs; so for any shares the best arborescence and the best
paths, found separately, together bound all trees (Koo et al. 2010, section 5: Lagrangian relaxation).  One bound need
not be tight.  ``search`` divides the trees, over and over, into those with an arc and those without it, or into those
whose arcs cross and those whose do not, and names the shares that bound each set that is left (branch and bound).

A number in the file stands for the 64-bit float that it is read as.  From there on all arithmetic is in integers: all
numbers of a proof are multiples of one power of two.
"""

import contextlib
import gzip
import hashlib
import json
import math
import sys
from collections import namedtuple

FORMAT, VERSION = "nonproj proof", 1

Verdict = namedtuple("Verdict", "name exact within claimed outside")
Verdict.__doc__ = """What is proved of a sentence: ``exact`` if its trees are optimal, else they are ``within`` a gap.

``claimed`` says whether every tree came with a claim; ``outside`` why arcs are no candidates.
"""


class Refused(Exception):
    """A proof does not prove what it claims."""


def require(holds, reason):
    """Raise `Refused` unless a condition holds."""
    if not holds:
        raise Refused(reason)


# -- the problem -------------------------------------------------------------------------------------------------------


class Scores:
    """Numbers of a proof as integers, all in the same unit: 2 to the power of minus ``bits``."""

    def __init__(self, numbers):
        self.bits = max((self.ratio(number)[1].bit_length() - 1 for number in numbers), default=0)

    @staticmethod
    def ratio(number):
        """Return a number as an exact fraction, whose denominator is a power of two."""
        require(type(number) in (int, float) and math.isfinite(number), f"{number!r} is no number")
        return number.as_integer_ratio()

    def integers(self, numbers):
        """Return numbers in units."""
        ratios = map(self.ratio, numbers)
        return [above << self.bits - (below.bit_length() - 1) for above, below in ratios]

    def value(self, units):
        """Return units as the nearest float."""
        return units / (1 << self.bits)


class Problem:
    """The arcs of a sentence and the scores of their parts, in units.

    Node 0 is the root.  ``arcs`` are pairs of head and modifier, by modifier and head.  ``sides[h]`` has the arcs that
    leave ``h``, to the left and to the right, outward; position 0 of a side is its beginning, position ``k`` its
    ``k``-th arc, and the position after the last one its end.  A path through the automaton of ``h`` is a choice of one
    arc that enters it and of positions on both sides.
    """

    TYPES = ("arc", "sibling", "grandparent", "grandsibling", "trisibling")

    def __init__(self, record, scores):
        candidates = record["candidates"]
        self.size = size = len(candidates) + 1
        self.arcs = [(h, m) for m, heads in enumerate(candidates, 1) for h in heads]
        fine = all(type(h) is int and 0 <= h < size and h != m for h, m in self.arcs)
        require(
            fine and self.arcs == sorted(set(self.arcs), key=lambda arc: arc[::-1]), "the candidates are not in order"
        )
        self.number = {arc: i for i, arc in enumerate(self.arcs)}
        self.entering = [[(h, m) for h in heads] for m, heads in enumerate([[], *candidates])]
        leaving = [[m for head, m in self.arcs if head == h] for h in range(size)]
        self.sides = [
            ([(h, m) for m in reversed(leaving[h]) if m < h], [(h, m) for m in leaving[h] if m > h])
            for h in range(size)
        ]
        self.single_root, self.projective = record["single_root"] is True, record["projective"] is True
        (self.price,) = scores.integers([record["price"]])
        require(self.price >= 0, "the price is negative")
        given = record["scores"]
        require(set(given) <= set(self.TYPES), "a kind of part is unknown")
        tables = {name: iter(scores.integers(given.get(name, []))) for name in self.TYPES}
        self.first_order, self.higher = list(tables["arc"]), [name for name in self.TYPES[1:] if name in given]
        require(len(self.first_order) == len(self.arcs), "there is not one score for each arc")
        self.tables = [self.read_tables(h, tables) for h in range(size)]
        require(all(next(table, None) is None for table in tables.values()), "there are more scores than parts")
        self.unit = math.gcd(self.price, *(x for name in given for x in scores.integers(given[name])))

    def read_tables(self, h, tables):
        """Return the scores of the parts of an automaton, for each kind of part by side and grandparent."""

        def take(name, count):
            found = [next(tables[name], None) for _ in range(count if name in self.higher else 0)]
            require(None not in found, f"there are fewer scores of {name} than parts")
            return found

        sizes, above = [len(side) for side in self.sides[h]], self.entering[h]
        steps = [(k + 1) * (k + 2) // 2 for k in sizes]
        return {
            "sibling": [take("sibling", count) for count in steps],
            "trisibling": [take("trisibling", k * (k + 1) * (k + 2) // 6) for k in sizes],
            "grandparent": {arc: [take("grandparent", k) for k in sizes] for arc in above},
            "grandsibling": {arc: [take("grandsibling", count) for count in steps] for arc in above},
        }

    def step(self, h, side, above, r, s, m):
        """Return the score of passing from position s, which came after r, to position m, under the arc ``above``.

        The arc's own score is not included; ``r`` is None at the beginning.
        """
        tables, place, total = self.tables[h], m * (m - 1) // 2 + s, 0
        if "sibling" in self.higher:
            total += tables["sibling"][side][place]
        if "trisibling" in self.higher and r is not None:
            total += tables["trisibling"][side][m * (m - 1) * (m - 2) // 6 + s * (s - 1) // 2 + r]
        if above is not None and "grandparent" in self.higher and m <= len(self.sides[h][side]):
            total += tables["grandparent"][above][side][m - 1]
        if above is not None and "grandsibling" in self.higher:
            total += tables["grandsibling"][above][side][place]
        return total

    def score(self, heads):
        """Return the score of a tree, the sum over all of its parts."""
        total = sum(self.first_order[self.number[h, m]] for m, h in enumerate(heads, 1))
        for h in range(self.size):
            above = (heads[h - 1], h) if h else None
            for side, arcs in enumerate(self.sides[h]):
                chosen = [k for k, (_, m) in enumerate(arcs, 1) if heads[m - 1] == h]
                path = [None, 0, *chosen, len(arcs) + 1]
                total += sum(self.step(h, side, above, *three) for three in zip(path, path[1:], path[2:], strict=False))
        return total

    def value(self, heads):
        """Return the score of a tree, less the price if arcs cross."""
        return self.score(heads) - (0 if is_projective(heads) else self.price)

    def is_tree(self, heads):
        """Return whether heads are a tree of the kind that is asked for, over the candidates."""
        if len(heads) != self.size - 1 or any((h, m) not in self.number for m, h in enumerate(heads, 1)):
            return False
        for node in range(1, self.size):
            for _ in range(self.size):
                node = heads[node - 1] if node else 0
            if node:
                return False  # a cycle
        return (not self.single_root or heads.count(0) == 1) and (not self.projective or is_projective(heads))


def is_projective(heads):
    """Return whether no two arcs cross."""
    spans = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


# -- bounds ------------------------------------------------------------------------------------------------------------


def bound(problem, kept, shares, projective):
    """Return a bound on the scores of all trees over the arcs that are ``kept``; None if there is no tree."""
    u, v = shares
    rest = {arc: problem.first_order[i] - u[i] - v[i] for arc, i in problem.number.items() if arc in kept}
    trees = (best_projective if projective else best_arborescence)(problem.size, rest, problem.single_root)
    if trees is None:
        return None
    paths = [best_path(problem, h, kept, u, v) for h in range(problem.size)]
    return None if None in paths else trees + sum(paths)


def best_path(problem, h, kept, u, v):
    """Return the score of the best path through the automaton of a node; None if no arc can enter it."""
    if h == 0:
        return sum(best_side(problem, h, side, None, kept, u) for side in (0, 1))
    values = []
    for arc in problem.entering[h]:
        if arc in kept:
            sides = sum(best_side(problem, h, side, arc, kept, u) for side in (0, 1))
            values.append(v[problem.number[arc]] + sides)
    return max(values, default=None)


def best_side(problem, h, side, above, kept, u):
    """Return the score of the best path on one side, by Viterbi; the head of ``h`` is none of its modifiers."""
    arcs, triples = problem.sides[h][side], "trisibling" in problem.higher
    taken = [k for k, arc in enumerate(arcs, 1) if arc in kept and (above is None or arc[1] != above[0])]
    best, end = {(None, 0): 0}, len(arcs) + 1  # by the last position and, where triples count, the one before it
    for m in [*taken, end]:
        own, found = (u[problem.number[arcs[m - 1]]] if m < end else 0), {}
        for (r, s), value in best.items():
            state = (s if triples else None), m
            reached = value + own + problem.step(h, side, above, r, s, m)
            if state not in found or reached > found[state]:
                found[state] = reached
        best.update(found)
    return max(found.values())


def fee_of(size, scores):
    """Return more than the scores of any two trees over these arcs differ by; half of it is more than any score."""
    return 2 + 2 * size * max(map(abs, scores.values()), default=0)


def best_arborescence(size, scores, single_root):
    """Return the score of the best arborescence (Chu and Liu 1965, Edmonds 1967); None if there is none.

    For a single root each arc from the root pays a fee, and one fee is given back, so that a tree with several such
    arcs scores less than any with one.
    """
    fee = fee_of(size, scores)
    total, paid = (fee, fee) if single_root else (0, 0)
    arcs = [(h, m, score - (paid if h == 0 else 0)) for (h, m), score in scores.items()]
    while True:
        best = {}
        for h, m, score in arcs:
            if m not in best or score > best[m][1]:
                best[m] = h, score
        if len(best) < size - 1:
            return None
        total += sum(score for _, score in best.values())
        cycles = cycles_of({m: h for m, (h, _) in best.items()})
        if not cycles:
            return total if total > -fee // 2 else None
        # Each cycle becomes one node; entering it takes the place of one of its arcs.
        name = {node: ("cycle", *cycle) for cycle in cycles for node in cycle}
        arcs = [(name.get(h, h), name.get(m, m), score - best[m][1]) for h, m, score in arcs]
        arcs = [arc for arc in arcs if arc[0] != arc[1]]
        size -= len(name) - len(cycles)


def cycles_of(head):
    """Return the cycles in which each node but the root, 0, has one head."""
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


def best_projective(size, scores, single_root):
    """Return the score of the best projective tree (Eisner 1996); None if there is none.

    ``closed[h, end]`` and ``opened[h, end]`` are scores of the best trees over the words from ``h`` to ``end``, whose
    root is ``h``: any of them, and those in which ``end`` depends on ``h`` and has no modifiers beyond.  Arcs that are
    absent cost more than any tree without them.
    """
    fee, first = fee_of(size, scores), int(single_root)
    closed, opened = {(node, node): 0 for node in range(size)}, {}
    for width in range(1, size - first):
        for i in range(first, size - width):
            j = i + width
            inner = max(closed[i, k] + closed[j, k + 1] for k in range(i, j))
            for h, m in ((i, j), (j, i)):
                opened[h, m] = inner + scores.get((h, m), -fee)
            closed[i, j] = max(opened[i, k] + closed[k, j] for k in range(i + 1, j + 1))
            closed[j, i] = max(opened[j, k] + closed[k, i] for k in range(i, j))
    if single_root:
        total = max(scores.get((0, m), -fee) + closed[m, 1] + closed[m, size - 1] for m in range(1, size))
    else:
        total = closed[0, size - 1]
    return total if total > -fee // 2 else None


# -- the proof ---------------------------------------------------------------------------------------------------------


def highest_bound(problem, shares, search, listed):
    """Return a bound on the values of all trees that are not listed; None if there are none.

    ``search`` is a list of steps, each set of trees before its parts: ``[h, m]`` divides it into the trees with this
    arc and those without it, ``"crossing"`` into those whose arcs cross and those whose do not, and a number ends it
    with the shares of this number.
    """
    highest, open_sets, crossing, projective = None, [(frozenset(problem.arcs), None)], "crossing", "projective"
    for step in search:
        require(open_sets, "the search goes on after its end")
        kept, kind = open_sets.pop()
        if type(step) is int:
            require(0 <= step < len(shares), f"there are no shares number {step}")
            found = bound_of_set(problem, kept, kind == projective, shares[step], listed)
            if found is not None:
                found -= problem.price if kind == crossing else 0
                highest = found if highest is None else max(highest, found)
        elif step == crossing:
            require(kind is None, "a set of trees is divided twice by whether arcs cross")
            open_sets += [(kept, projective), (kept, crossing)]
        else:
            h, m = step
            require((h, m) in kept, f"the trees are divided by {h} -> {m}, which none of them has")
            others = {(head, m) for head in range(problem.size) if head != h}
            open_sets += [(kept - {(h, m)}, kind), (kept - others, kind)]
    require(not open_sets, "the search does not reach its end")
    return highest


def bound_of_set(problem, kept, projective, shares, listed):
    """Return a bound on the scores of the trees over the arcs that are kept, None if none is left.

    Where each word has one arc there is one tree, and if it is listed none is left.
    """
    if len(kept) == problem.size - 1 == len({m for _, m in kept}):
        heads = tuple(h for h, _ in sorted(kept, key=lambda arc: arc[1]))
        if not problem.is_tree(heads) or heads in listed or (projective and not is_projective(heads)):
            return None
        return problem.score(heads)
    return bound(problem, kept, shares, problem.projective or projective)


def check(record):
    """Return what a proof proves; raise `Refused` if it does not prove what it claims."""
    require(record.get("format") == FORMAT and record.get("version") == VERSION, f"no {FORMAT} of version {VERSION}")
    given, trees = record["scores"], record["trees"]
    numbers = [number for name in given for number in given[name]]
    numbers += [number for pair in record["multipliers"] for share in pair for number in share or ()]
    numbers += [number for tree in trees for number in (tree["score"], tree["within"] or 0)]
    scores = Scores([*numbers, record["price"]])
    problem = Problem(record, scores)
    shares = [
        tuple(scores.integers(share or [0] * len(problem.arcs)) for share in pair) for pair in record["multipliers"]
    ]
    require(all(len(share) == len(problem.arcs) for pair in shares for share in pair), "shares do not fit the arcs")
    listed = [tuple(tree["heads"]) for tree in trees]
    require(listed and len(set(listed)) == len(listed), "there is no tree, or one is listed twice")
    require(all(map(problem.is_tree, listed)), "what is listed is not a tree over the candidates")
    require(
        problem.price == 0 or not problem.projective, "only projective trees are asked for, but others have a price"
    )
    values = [problem.value(heads) for heads in listed]
    for tree, value in zip(trees, values, strict=True):
        require(
            tree["score"] == scores.value(value), f"a tree has the value {scores.value(value)}, not {tree['score']}"
        )
    remaining = highest_bound(problem, shares, record["search"], set(listed))
    exact, largest = True, 0
    for rank, (tree, value) in enumerate(zip(trees, values, strict=True)):
        above = max(values[rank + 1 :] + ([] if remaining is None else [remaining]), default=value)
        gap = max(above - value, 0)
        if tree["within"] is not None:
            (within,) = scores.integers([tree["within"]])
            require(gap <= within, f"other trees may be better by {scores.value(gap)}, not {tree['within']}")
            exact, largest = exact and gap < max(problem.unit, 1), max(largest, gap)
    claimed = all(tree["within"] is not None for tree in trees)
    return Verdict(record["name"], exact, scores.value(largest), claimed, record["outside"])


def check_line(line):
    """Return the trees of a line of a file and what it proves; raise `Refused` if anything is wrong with it."""
    try:
        record = json.loads(line)
        digest = record.pop("digest")
        text = json.dumps(record, ensure_ascii=False)
        require(hashlib.sha256(text.encode()).hexdigest() == digest, "the line was altered after it was written")
        return [tree["heads"] for tree in record["trees"]], check(record)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise Refused(f"it is malformed: {error!r}") from None


# -- files -------------------------------------------------------------------------------------------------------------


def parsed_trees(lines):
    """Yield the heads of each tree of a CoNLL file; those of words without a head are None."""
    heads = []
    for line in [*lines, ""]:
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) > 6 and columns[0].isdigit():
            heads.append(int(columns[6]) if columns[6].isdigit() else None)
        elif not line.strip() and heads:
            yield heads
            heads = []


def same_as_parsed(trees, parsed):
    """Raise `Refused` unless the next trees of a CoNLL file are the proved ones, as far as they have heads."""
    for heads in trees:
        other = next(parsed, None)
        require(other is not None, "the parsed file has fewer trees")
        same = len(other) == len(heads) and all(theirs in (None, own) for own, theirs in zip(heads, other, strict=True))
        require(same, "the parsed file has another tree")


def describe(verdict):
    """Return a line about what is proved."""
    if not verdict.claimed:
        return "no proof is claimed"
    proved = "optimal" if verdict.exact else f"optimal within {verdict.within:.2g}"
    over = "all arcs" if verdict.outside == "nothing" else f"its candidate arcs; others are {verdict.outside}"
    return f"{proved}, over {over}"


def main(arguments=None):
    """Check a file, print a line for each sentence and a summary, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) not in (1, 2) or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    refused = exact = near = open_ = 0
    try:
        with open_text(arguments[0]) as lines, open_text(arguments[1] if len(arguments) > 1 else None) as others:
            parsed = parsed_trees(others)
            for number, line in enumerate(lines, 1):
                try:
                    trees, verdict = check_line(line)
                    if len(arguments) > 1:
                        same_as_parsed(trees, parsed)
                except Refused as error:
                    refused += 1
                    print(f"{arguments[0]}:{number}: refused: {error}")
                    continue
                open_ += not verdict.claimed
                exact += verdict.claimed and verdict.exact
                near += verdict.claimed and not verdict.exact
                print(f"{arguments[0]}:{number}: {verdict.name}: {describe(verdict)}")
            if len(arguments) > 1 and next(parsed, None) is not None:
                refused += 1
                print(f"{arguments[1]}: refused: it has trees without a proof")
    except (OSError, UnicodeDecodeError, EOFError) as error:
        print(f"check_proofs: {error}", file=sys.stderr)
        return 2
    print(f"{exact} optimal, {near} optimal within a tolerance, {open_} without a claim, {refused} refused")
    return 1 if refused else 0


def open_text(name):
    """Open a file for reading; ``-`` is standard input, None an empty file."""
    if name in (None, "-"):
        return contextlib.nullcontext([] if name is None else sys.stdin)
    return (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
