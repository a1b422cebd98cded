"""Tags and trees jointly, from the definition: enumeration for a few words, an integer program for ten."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from naive_integer import Program, add_flow, add_grandparents, add_siblings, add_third
from naive_scoring import places
from naive_trees import (
    END,
    NUMBERS,
    START,
    all_trees,
    is_projective,
    pairs_of,
    parts_of_tree,
)


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
