"""Tags and trees jointly, from the definition: enumeration for a few words, an integer program for ten."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from naive_scoring import places
from naive_trees import (
    END,
    NUMBERS,
    START,
    all_trees,
    grandparent_number,
    grandsibling_number,
    is_projective,
    pairs_of,
    parts_of_tree,
    sibling_number,
    trisibling_number,
)
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array


def part_finder(parts):
    """A function from parts over tagged words, as `parts_of_tree` lists them, to numbers; None for absent arcs."""
    pairs = {pair: a for a, pair in enumerate(pairs_of(parts.arcs))}

    @functools.cache
    def find(kind, part):
        if kind == "arc":
            return pairs.get(part)
        return NUMBERS[kind](parts, *part)

    find.names = parts.names
    return find


SIDES = {"sibling": 1, "grandsibling": 2, "trisibling": 1}
"""The place of the side, which is no word, in parts of each type that has one."""


def tagged_part(kind, part, tags, first):
    """A part over words with each word's tagged word in place."""
    return tuple(
        item if item in (START, END) or i == SIDES.get(kind) else int(first[item]) + tags[item]
        for i, item in enumerate(part)
    )


def tagged_parts(heads, tags, first, names):
    """The parts of a tree over words that joint problems of these types have, with each word's tagged word in place."""
    for kind in names:
        for part in parts_of_tree(heads)[kind]:
            yield kind, tagged_part(kind, part, tags, first)


def chain_score(tags, first, chain):
    """The score of a sequence of candidates: its tags, pairs and triples."""
    total = 0.0
    for i in range(1, len(tags)):
        before = tags[i - 2] if i > 1 else 0
        total += chain.own[first[i] + tags[i]] + chain.pair[i, tags[i - 1], tags[i]]
        total += chain.triple[i, before, tags[i - 1], tags[i]]
    return total


def joint_score(heads, tags, first, find, scores, chain):
    """The score of a tree with tags; minus infinity if an arc is absent."""
    numbers = []
    for kind, part in tagged_parts(heads, tags, first, find.names):  # arcs first
        numbers.append(find(kind, part))
        if numbers[-1] is None:
            return -math.inf
    return math.fsum(scores[numbers].tolist()) + chain_score(tags, first, chain)


def all_tags(first):
    """All sequences of candidates; the root has its one."""
    return itertools.product(*(range(b - a) for a, b in itertools.pairwise(first.tolist())))


def scorer(first, parts, scores, chain):
    """A function of the heads of a tree: `joint_score` for all sequences of candidates, with an axis for each node.

    The score of a part depends on the candidates of its own words only: it is looked up once for each choice of them.
    """
    find, sizes = part_finder(parts), np.diff(first).tolist()
    sequences = np.reshape([chain_score(tags, first, chain) for tags in all_tags(first)], sizes)

    @functools.cache
    def values(kind, part):
        own = {item for i, item in enumerate(part) if item not in (START, END) and i != SIDES.get(kind)}
        found = np.empty([size if i in own else 1 for i, size in enumerate(sizes)])
        for tags in np.ndindex(found.shape):
            try:
                number = find(kind, tagged_part(kind, part, tags, first))
            except ValueError:  # over an absent arc
                number = None
            absent = -math.inf if kind == "arc" else math.nan
            found[tags] = absent if number is None else scores[number]
        return found

    def score(heads):
        listed = parts_of_tree(heads)
        total = sum((values("arc", part) for part in listed["arc"]), sequences)
        others = sum(values(kind, part) for kind in parts.names if kind != "arc" for part in listed[kind])
        total = np.where(np.isneginf(total), -math.inf, total + others)
        assert not np.isnan(total).any()  # over existing arcs, all parts exist
        return total

    return score


def best_jointly(first, parts, scores, chain, single_root=False, projective=False):
    """The highest score of any tree with any tags, by enumeration, and all (heads, tags) that have it."""
    score, best, found = scorer(first, parts, scores, chain), -math.inf, []
    for heads in all_trees(len(first) - 2, single_root):
        if projective and not is_projective(heads):
            continue
        values = score(heads)
        if values.max() > best + 1e-9:
            best, found = values.max(), []
        if values.max() >= best - 1e-9:
            found += [(tuple(heads), tuple(tags)) for tags in np.argwhere(values >= best - 1e-9).tolist()]
    return best, found


def tag_max_marginals(first, chain):
    """The score of the best sequence through each tagged word, by enumeration."""
    found = np.full(first[-1], -np.inf)
    for tags in all_tags(first):
        score = chain_score(tags, first, chain)
        for i, tag in enumerate(tags):
            found[first[i] + tag] = max(found[first[i] + tag], score)
    return found


def joint_places(sentence, rows, word, vocabularies, spec, nodes, bits, side=None):
    """The places of a part over tagged words: its own words as in ``rows``, all other words as in the sentence."""
    n_words, n = len(word), len(sentence)
    plain = [int(word[e]) if e < n_words else n + 1 + e - n_words for e in nodes]
    tagged = [None if e == 0 or e >= n_words else rows[e - 1] for e in nodes]
    return places(sentence, vocabularies, spec, plain, bits, side, tagged)


class Program:
    """A program to maximise, whose variables have names."""

    def __init__(self):
        self.numbers, self.costs, self.upper, self.rows = {}, [], [], []

    def add(self, name, cost=0.0, upper=1.0):
        """Add a variable."""
        self.numbers[name] = len(self.costs)
        self.costs.append(cost)
        self.upper.append(upper)

    def row(self, terms, lower, upper):
        """Add a row; terms are (name, coefficient)."""
        self.rows.append(([(self.numbers[name], value) for name, value in terms], lower, upper))

    def solve(self, whole):
        """The optimum if the variables whose names begin with ``whole`` are integers; none without such names."""
        entries = [(r, c, v) for r, (terms, _, _) in enumerate(self.rows) for c, v in terms]
        r, c, v = zip(*entries, strict=True)
        matrix = csr_array((v, (r, c)), shape=(len(self.rows), len(self.costs)))
        limits = LinearConstraint(matrix, [row[1] for row in self.rows], [row[2] for row in self.rows])
        kinds = np.array([int(name[0] in whole) for name in self.numbers])
        bounds = Bounds(np.zeros(len(self.costs)), np.array(self.upper))
        found = milp(
            -np.array(self.costs), integrality=kinds, bounds=bounds, constraints=limits, options={"mip_rel_gap": 0}
        )
        assert found.success, found.message
        return -found.fun


def integer_program(first, word, parts, scores, chain):
    """The joint problem as an integer program."""
    program, arcs = Program(), pairs_of(parts.arcs)
    n = len(first) - 2
    for e in range(len(word)):
        program.add(("tag", e), chain.own[e] if e else 0.0)
    for a in range(len(arcs)):
        program.add(("arc", a), scores[a])
    program.row([(("tag", 0), 1.0)], 1.0, 1.0)
    into = [[a for a, (_, m) in enumerate(arcs) if m == e] for e in range(len(word))]
    for m in range(1, n + 1):
        program.row([(("tag", e), 1.0) for e in range(first[m], first[m + 1])], 1.0, 1.0)
    for e in range(1, len(word)):
        program.row([(("arc", a), 1.0) for a in into[e]] + [(("tag", e), -1.0)], 0.0, 0.0)
    for a, (h, _) in enumerate(arcs):
        program.row([(("arc", a), 1.0), (("tag", h), -1.0)], -np.inf, 0.0)
    add_flow(program, arcs, word, n)
    add_siblings(program, parts, scores, arcs)
    add_grandparents(program, parts, scores, arcs, into)
    add_third(program, parts, scores, arcs, into)
    add_chain(program, first, chain)
    return program


def add_flow(program, arcs, word, n):
    """One unit of flow from the root to each word, along the arcs of the tree."""
    for a in range(len(arcs)):
        program.add(("flow", a), upper=float(n))
        program.row([(("flow", a), 1.0), (("arc", a), -float(n))], -np.inf, 0.0)
    for m in range(1, n + 1):
        enters = [(("flow", a), 1.0) for a, arc in enumerate(arcs) if word[arc[1]] == m]
        leaves = [(("flow", a), -1.0) for a, arc in enumerate(arcs) if word[arc[0]] == m]
        program.row(enters + leaves, 1.0, 1.0)


def add_siblings(program, parts, scores, arcs):
    """The transitions of each tagged word and side are a path over its modifiers, if it is chosen."""
    for e, side in itertools.product(range(len(parts.arcs.start) - 1), (0, 1)):
        chosen = [a for a, (h, m) in enumerate(arcs) if h == e and (m > h) == bool(side)]
        chosen.sort(key=lambda a: abs(arcs[a][1] - arcs[a][0]))
        nodes = [START, *(arcs[a][1] for a in chosen), END]
        names = {}
        for i, j in itertools.combinations(range(len(nodes)), 2):
            number = sibling_number(parts, e, side, nodes[i], nodes[j])
            if scores[number] > -np.inf:
                names[i, j] = ("sibling", number)
                program.add(("sibling", number), scores[number])
        program.row([(v, 1.0) for (i, _), v in names.items() if i == 0] + [(("tag", e), -1.0)], 0.0, 0.0)
        for place, a in enumerate(chosen, 1):
            for end in (0, 1):
                terms = [(v, 1.0) for pair, v in names.items() if pair[end] == place]
                program.row([*terms, (("arc", a), -1.0)], 0.0, 0.0)


def add_grandparents(program, parts, scores, arcs, into):
    """Grandparent parts are conjunctions of two arcs."""
    for below, (h, m) in enumerate(arcs):
        for above in into[h]:
            number = grandparent_number(parts, arcs[above][0], h, m)
            if scores[number] > -np.inf:
                add_conjunction(program, ("grandparent", number), scores[number], (("arc", above), ("arc", below)))


def add_conjunction(program, name, cost, both):
    """A variable that is 1 where both of two others are."""
    program.add(name, cost)
    for each in both:
        program.row([(name, 1.0), (each, -1.0)], -np.inf, 0.0)
    program.row([(name, 1.0), *((each, -1.0) for each in both)], -1.0, np.inf)


def add_third(program, parts, scores, arcs, into):
    """Grand-siblings are conjunctions of a transition and the arc above, tri-siblings of two transitions."""
    for e, side in itertools.product(range(len(parts.arcs.start) - 1), (0, 1)):
        chosen = [m for h, m in arcs if h == e and (m > h) == bool(side)]
        nodes = [START, *sorted(chosen, key=lambda m: abs(m - e)), END]
        names = {}
        for i, j in itertools.combinations(range(len(nodes)), 2):
            name = ("sibling", sibling_number(parts, e, side, nodes[i], nodes[j]))
            if name in program.numbers:
                names[i, j] = name
        for (i, j), name in names.items() if "grandsibling" in parts.names else ():
            for above in into[e]:
                number = grandsibling_number(parts, arcs[above][0], e, side, nodes[i], nodes[j])
                add_conjunction(program, ("grandsibling", number), scores[number], (name, ("arc", above)))
        for (i, j), (k, m) in itertools.product(names, names) if "trisibling" in parts.names else ():
            if j == k:
                number = trisibling_number(parts, e, side, nodes[i], nodes[j], nodes[m])
                add_conjunction(program, ("trisibling", number), scores[number], (names[i, j], names[k, m]))


def add_chain(program, first, chain):
    """Pairs and triples of neighbouring tags, tied to the tags."""
    sizes = np.diff(first).tolist()
    for i in range(1, len(sizes)):
        earlier = sizes[i - 2] if i > 1 else 1
        for b, c in itertools.product(range(sizes[i - 1]), range(sizes[i])):
            program.add(("pair", i, b, c), chain.pair[i, b, c])
            for a in range(earlier):
                program.add(("triple", i, a, b, c), chain.triple[i, a, b, c])
            terms = [(("triple", i, a, b, c), 1.0) for a in range(earlier)]
            program.row([*terms, (("pair", i, b, c), -1.0)], 0.0, 0.0)
        for a, b in itertools.product(range(earlier), range(sizes[i - 1])) if i > 1 else ():
            terms = [(("triple", i, a, b, c), 1.0) for c in range(sizes[i])]
            program.row([*terms, (("pair", i - 1, a, b), -1.0)], 0.0, 0.0)
        for c in range(sizes[i]):
            terms = [(("pair", i, b, c), 1.0) for b in range(sizes[i - 1])]
            program.row([*terms, (("tag", int(first[i]) + c), -1.0)], 0.0, 0.0)
        for b in range(sizes[i - 1]):
            terms = [(("pair", i, b, c), 1.0) for c in range(sizes[i])]
            program.row([*terms, (("tag", int(first[i - 1]) + b), -1.0)], 0.0, 0.0)
