"""Random parsing problems, trees and features, and properties of every solution: shared by several test files."""

import itertools

import naive_automata
import naive_crossing
import naive_dual
import naive_trees
import numpy as np
import pytest
from toy import draw_sentence

from nonproj.automata.general import HalfWorkspace, Paths, _path_arrays, check_automata, decode_paths
from nonproj.dual.domain import with_scale
from nonproj.dual.options import DEFAULTS, SEARCH
from nonproj.dual.problem import TablesProblem
from nonproj.dual.search import search
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.automaton import head_automata
from nonproj.parts.space import part_space, tree_score
from nonproj.scoring.templates import attributes_of, part_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.tagging.tagset import TagSet
from nonproj.types import Sentence

ARC_GRANDPARENT = ("arc", "grandparent")
SECOND_ORDER = ["sibling", "grandparent", pytest.param(ARC_GRANDPARENT, id="arc+grandparent")]
HIGHER_ORDER = [*SECOND_ORDER, "third"]
"""Sets of part types with compiled automata, as parameters of a test."""

SUBSETS = [
    pytest.param(("arc", "sibling", "trisibling"), id="trisibling"),
    pytest.param(("arc", "sibling", "grandparent", "grandsibling"), id="grandsibling"),
    pytest.param(("arc", "sibling", "grandparent", "trisibling"), id="grandparent+trisibling"),
]
"""The other sets of third order with compiled automata."""

FORMS = [
    pytest.param(dict.fromkeys(form.split(), True), id=form or "any")
    for form in ("", "single_root", "projective", "single_root projective")
]
"""Restrictions of trees, as options."""

ALL_SETS = ["arc", *HIGHER_ORDER]
KINDS = ("continuous", "integer")


def draw_scores(rng, kind, size):
    """Random scores: continuous, or small integers, which tie."""
    return rng.integers(-2, 3, size).astype(float) if kind == "integer" else rng.standard_normal(size)


def draw_arcs_of_words(rng, n, pruned):
    """A random arc space that contains a tree."""
    mask = rng.random((n + 1, n + 1)) < 0.5 if pruned else np.ones((n + 1, n + 1), bool)
    mask[draw_tree(rng, n)[1:], range(1, n + 1)] = True
    return arc_space_from_mask(mask)


def draw_problem(rng, n, parts, kind, pruned):
    """A random arc space that contains a tree, as a part space, and scores of its parts."""
    space = part_space(draw_arcs_of_words(rng, n, pruned), parts)
    return space, draw_scores(rng, kind, len(space))


def scale_arcs(parts, scores, factor):
    """Scores with those of arcs multiplied by a factor."""
    scaled = scores.copy()
    scaled[parts.range("arc")] *= factor
    return scaled


def trees_over(arcs, single_root=False, projective=False):
    """All trees over the given arcs."""
    n = len(arcs.start) - 2
    trees, words = naive_trees.tree_array(n, single_root, projective), np.arange(1, n + 1)
    there = np.zeros((n + 1, n + 1), bool)
    there[arcs.head, arcs.modifier] = True
    return trees[there[trees[:, 1:], words].all(axis=1)].tolist()


def best_score(parts, scores, trees):
    """The highest score of these trees, by the definition."""
    return max(map(naive_trees.tree_scorer(parts, scores), trees))


UNIT = 2.0**90


def exact_values(parts, scores, trees):
    """The scores of trees as integers, in units of 2**-90, without rounding."""
    find, values = naive_trees.tree_numbers(parts), [int(score * UNIT) for score in scores.tolist()]
    return [sum(values[p] for listed in find(tree).values() for p in listed) for tree in trees]


def draw_costs(rng, kind, size):
    """Random costs, of which many are zero, small or large beside scores; integers tie."""
    costs = rng.integers(0, 4, size).astype(float) if kind == "integer" else np.abs(rng.standard_normal(size))
    costs[rng.random(size) < rng.choice([0.0, 0.3, 0.8])] = 0.0
    return costs * float(rng.choice([1.0, 2.0, 100.0]))


def by_arc(arcs, costs):
    """The costs of arcs by head and modifier."""
    return dict(zip(naive_trees.pairs_of(arcs), costs.tolist(), strict=True))


def all_values(parts, scores, costs, trees):
    """The value of each tree, by its heads: its score, less the costs of its crossed arcs if there are any."""
    score, costs = naive_trees.tree_scorer(parts, scores), None if costs is None else by_arc(parts.arcs, costs)
    return {tuple(tree): naive_crossing.value(tree, score(tree), costs) for tree in trees}


def check_ranked(found, values, k):
    """Assert that these are the best trees, certified, with their values."""
    expected = sorted(values.values(), reverse=True)[:k]
    np.testing.assert_allclose([tree.score for tree in found], expected, rtol=1e-9, atol=1e-7)
    assert len({tuple(tree.tree) for tree in found}) == len(found) == min(k, len(values))
    for tree in found:
        assert tree.certified and tree.score == pytest.approx(values[tuple(tree.tree.tolist())], abs=1e-7)
        assert tree.score <= tree.bound <= tree.score + 1e-6


def centre(parts, scores):
    """Scores on which the decoder starts from multipliers of zero, and the scale of its tolerance.

    A constant is added to all arcs into a word, such that the two best are as far above as below zero; but no further
    above than the decoder moves them.
    """
    scores, n_arcs = scores.copy(), len(parts.arcs.head)
    into = [scores[:n_arcs][parts.arcs.modifier == m] for m in range(1, len(parts.arcs.start) - 1)]
    halves = [(np.sort(own)[-1] - np.sort(own)[-2]) / 2 if len(own) > 1 else 0.0 for own in into]
    most = max(16.0 * np.abs(scores[n_arcs:]).max(initial=0.0), min(filter(None, halves), default=0.0))
    for m, (own, half) in enumerate(zip(into, halves, strict=True), 1):
        scores[:n_arcs][parts.arcs.modifier == m] += min(half, most) - own.max()
    below = [np.abs(own - own.max()).max() for own in into]
    return scores, max(*below, np.abs(scores[n_arcs:]).max(initial=0.0))


def check_laws(decoded, parts, scores, optimum):
    """Assert the properties of every result: primal <= optimum <= dual, and a certificate means equality."""
    slack = 1e-8 * (1 + abs(optimum))
    assert naive_trees.is_tree(decoded.tree.tolist())
    assert tree_score(parts, scores, decoded.tree) == pytest.approx(decoded.score, abs=1e-9)
    assert decoded.score <= optimum + slack
    assert decoded.score <= decoded.bound
    assert optimum <= decoded.bound + slack
    assert decoded.certified or not decoded.agreed
    if decoded.certified:
        assert decoded.score == pytest.approx(optimum, abs=1e-8)
        assert decoded.bound == pytest.approx(optimum, abs=1e-7)
    assert 0 <= decoded.recomputed <= 1


def draw_automata(rng, n, kind, pruned, forbidden):
    """A random arc space, automata of one to three states over it, and arc scores."""
    parts, scores = draw_problem(rng, n, "arc", kind, pruned)
    return parts.arcs, fill_automata(rng, parts.arcs, kind, forbidden), scores


def fill_automata(rng, arcs, kind, forbidden):
    """Random automata of one to three states."""
    automata = head_automata(arcs, rng.integers(1, 4, len(arcs.out_start) - 1))
    for values in (automata.initial, automata.final, automata.take, automata.skip):
        values[:] = draw_scores(rng, kind, len(values))
        values[rng.random(len(values)) < forbidden] = -np.inf
    return automata


def as_functions(arcs, automata):
    """Automata as the naive twin wants them: the tables are read by their documented places."""
    place = {}
    for q, (first, end) in enumerate(itertools.pairwise(arcs.out_start)):
        place |= {(q // 2, int(m)): (q, j) for j, m in enumerate(arcs.modifier[arcs.out[first:end]])}

    def number(q):
        return int(automata.state_start[q + 1] - automata.state_start[q])

    def move(h, s, t, m):
        q, j = place[h, m]
        return automata.move_start[q] + (j * number(q) + s) * number(q) + t

    return naive_automata.Automaton(
        number,
        lambda *where: float(automata.take[move(*where)]),
        lambda *where: float(automata.skip[move(*where)]),
        lambda q, s: float(automata.initial[automata.state_start[q] + s]),
        lambda q, s: float(automata.final[automata.state_start[q] + s]),
    )


def tree_paths(arcs, automata, scores, heads):
    """The best paths on which the automata take the arcs of a tree and no others; their values sum to its score."""
    automata = check_automata(arcs, automata)
    forced = (np.array(heads)[arcs.modifier] == arcs.head).astype(np.int8)
    arrays = _path_arrays(arcs, automata)
    work, paths = HalfWorkspace(*arrays[:3]), Paths(*arrays[3:])
    decode_paths(arcs, automata, np.ascontiguousarray(scores), forced, np.ones(len(heads), np.bool_), work, paths)
    if forced.sum() != len(heads) - 1:
        paths.values[:] = -np.inf
    return paths


def draw_tree(rng, n):
    """A random tree, crossing arcs and several roots included."""
    heads = np.full(n + 1, -1, np.int32)
    order = [0, *(1 + rng.permutation(n)).tolist()]
    for position in range(1, n + 1):
        heads[order[position]] = order[rng.integers(position)]
    return heads


def draw_arcs(rng, n):
    """Some arcs, with at least one into each word."""
    mask = rng.random((n + 1, n + 1)) < 0.6
    for m in range(1, n + 1):
        mask[m - 1, m] = True
    return arc_space_from_mask(mask)


def draw_features(seed, spec, n):
    """A random sentence, an encoder that knows some of its words, and compiled templates."""
    rng = np.random.default_rng(seed)
    sentence = draw_sentence(rng, n)
    known = [draw_sentence(rng, 5), Sentence(sentence.rows[::2])]
    encoder = TokenEncoder.from_sentences(known, attributes_of({"any": spec}), rare=1)
    return rng, sentence, encoder, part_templates(spec, encoder.attributes)


def marked(parts, numbers):
    """1 for the parts of these numbers, else 0."""
    vector = np.zeros(len(parts))
    for listed in numbers.values():
        vector[listed] = 1
    return vector


def naive_relaxed(parts, scores, tau):
    """The indicators of every head's best choice; tau splits an arc if there are grandparents."""
    share = tau if "grandparent" in parts.names else 1.0
    arc = scores[parts.range("arc")]
    _, z, z_grandparent = naive_dual.best_relaxed(parts, scores, share * arc, (1 - share) * arc)
    vector = np.zeros(len(parts))
    vector[naive_dual.structure_numbers(parts, z, z_grandparent)] = 1
    vector[parts.range("arc")] = share * z + (1 - share) * z_grandparent
    return vector


def draw_candidates(rng, n):
    """A random sentence with its best tags, and the rows of its words with all candidate tags."""
    sentence, others = draw_sentence(rng, n), draw_sentence(rng, 3 * n).rows
    counts, rows = np.append(1, rng.integers(1, 4, n)), []
    for i, row in enumerate(sentence.rows):
        rows += [row, *([*row[:2], *others[3 * i + k][2:6], *row[6:]] for k in range(counts[i + 1] - 1))]
    return sentence, counts, rows


def draw_tags(rng, n):
    """A set of random tags, some without features."""
    found = {}
    while len(found) < n:
        feats = [f"{a}={rng.integers(2)}" for a in ("Case", "Number", "Tense") if rng.random() < 0.6]
        found[str(rng.choice(["N", "V"])), str(rng.choice(["n1", "n2"])), "|".join(feats) or "_"] = None
    return TagSet(list(found))


def decode_tables(arcs, automata, scores, options=DEFAULTS, limits=SEARCH):
    """The best tree under arc scores and head automata given as tables."""
    automata, scores = check_automata(arcs, automata), np.asarray(scores, float)
    tables = automata.initial, automata.final, automata.take, automata.skip
    options = with_scale(options, scores, *[values[np.isfinite(values)] for values in tables])
    return search(TablesProblem(arcs, automata, scores, options), options, limits)[0]
