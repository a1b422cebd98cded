"""Head automata against enumeration of everything a head may choose."""

import itertools

import naive_dual
import naive_trees
import numpy as np
import pytest

from nonproj.automata.compiled import decode_relaxed
from nonproj.parts.space import arc_space, arc_space_from_mask, full_arc_space, gold_parts, part_index, tree_score
from nonproj.types import GRANDPARENT, SIBLING, PartScores


def draw_problem(rng, n, model, kind, pruned):
    """A random arc space that holds a tree, and scores of its parts."""
    mask = rng.random((n + 1, n + 1)) < 0.5 if pruned else np.ones((n + 1, n + 1), bool)
    order = [0, *(1 + rng.permutation(n)).tolist()]
    for position in range(1, n + 1):
        mask[order[rng.integers(position)], order[position]] = True
    arcs = arc_space_from_mask(mask)
    index = part_index(arcs, model)
    sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
    if kind == "integer":
        return arcs, index, PartScores(*[rng.integers(-2, 3, size).astype(float) for size in sizes])
    return arcs, index, PartScores(*[rng.standard_normal(size) for size in sizes])


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(25))
def test_relaxed_equals_enumeration(seed, model, pruned, kind):
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, int(rng.integers(1, 6)), model, kind, pruned)
    tau = float(rng.choice([0.0, 0.3, 0.5, 1.0])) if model == GRANDPARENT else 1.0
    relaxed = decode_relaxed(arcs, index, scores, model, tau)
    value, z, up = naive_dual.best_relaxed(arcs, index, scores, model, tau * scores.arc, (1 - tau) * scores.arc)
    assert relaxed.value == pytest.approx(value, abs=1e-9)
    assert naive_dual.relaxed_value(arcs, index, scores, tau, relaxed) == pytest.approx(value, abs=1e-9)
    if kind == "continuous" and tau not in (0.0, 1.0):
        assert relaxed.chosen.tolist() == z.tolist()
        assert relaxed.chosen_up.tolist() == up.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_every_word_has_one_grandparent_which_it_does_not_head(seed):
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, 7, GRANDPARENT, "continuous", True)
    relaxed = decode_relaxed(arcs, index, scores, GRANDPARENT, 0.5)
    ups = arcs.modifier[relaxed.chosen_up == 1]
    assert ups.tolist() == list(range(1, 8))
    raised = set(zip(arcs.head[relaxed.chosen_up == 1].tolist(), ups.tolist(), strict=True))
    taken = zip(arcs.head[relaxed.chosen == 1].tolist(), arcs.modifier[relaxed.chosen == 1].tolist(), strict=True)
    assert not raised & {(m, h) for h, m in taken}


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(10))
def test_a_tree_that_stands_out_is_what_every_head_chooses(seed, model):
    """With a bonus on one tree's arcs the argmax over Z is that tree, with all its parts and its score."""
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, 6, model, "continuous", True)
    heads = np.full(7, -1, np.int32)
    for m in range(1, 7):
        heads[m] = m - 1 if (arcs.head[arcs.start[m] : arcs.start[m + 1]] == m - 1).any() else -1
    if (heads[1:] < 0).any():
        mask = np.zeros((7, 7), bool)
        mask[arcs.head, arcs.modifier] = True
        mask[np.arange(6), np.arange(1, 7)] = True
        arcs = arc_space_from_mask(mask)
        index = part_index(arcs, model)
        sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
        scores = PartScores(*[rng.standard_normal(size) for size in sizes])
        heads = np.arange(-1, 6).astype(np.int32)
    gold = gold_parts(arcs, index, heads)
    scores = scores._replace(arc=scores.arc + 100.0 * (2 * gold.arc - 1))
    relaxed = decode_relaxed(arcs, index, scores, model, 0.5)
    assert relaxed.chosen.tolist() == gold.arc.tolist()
    assert relaxed.sibling.tolist() == gold.sibling.tolist()
    assert relaxed.grandparent.tolist() == gold.grandparent.tolist()
    assert relaxed.value == pytest.approx(tree_score(arcs, index, scores, heads))


def test_errors_name_what_is_wrong():
    arcs = full_arc_space(2)
    index = part_index(arcs, SIBLING)
    scores = PartScores(np.zeros(4), np.zeros(3), np.zeros(0))
    with pytest.raises(ValueError, match=r"scores.sibling has shape \(3,\); one score for each of 15 parts"):
        decode_relaxed(arcs, index, scores, SIBLING, 0.5)
    with pytest.raises(ValueError, match="model is 0; 1 .sibling. or 2 .grandparent. is expected"):
        decode_relaxed(arcs, index, scores, 0, 0.5)
    with pytest.raises(ValueError, match=r"index.grandparent_start is not that of model 2 \(grandparent\)"):
        decode_relaxed(arcs, index, scores._replace(sibling=np.zeros(15)), GRANDPARENT, 0.5)
    with pytest.raises(ValueError, match="index.sibling_start is not that of model 1"):
        decode_relaxed(full_arc_space(3), index, scores, SIBLING, 0.5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", PartScores._fields)
def test_scores_that_are_not_finite_are_named(name, wrong):
    arcs = full_arc_space(3)
    index = part_index(arcs, GRANDPARENT)
    sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
    scores = PartScores(*[np.zeros(size) for size in sizes])
    getattr(scores, name)[2] = wrong
    with pytest.raises(ValueError, match=rf"scores.{name}\[2\] is {wrong}; scores must be finite"):
        decode_relaxed(arcs, index, scores, GRANDPARENT, 0.5)


def test_a_word_without_arcs_into_it_is_named():
    arcs = arc_space([0, 1], [1, 2], 3)
    for model in (SIBLING, GRANDPARENT):
        index = part_index(arcs, model)
        sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
        scores = PartScores(*[np.zeros(size) for size in sizes])
        if model == SIBLING:
            assert decode_relaxed(arcs, index, scores, model, 1.0).value == 0.0
        else:
            with pytest.raises(ValueError, match="no arc into word 3"):
                decode_relaxed(arcs, index, scores, model, 0.5)


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(15))
def test_ties_go_to_the_first_grandparent_and_previous_sibling(seed, model, kind):
    """Sums of small integers and halves are exact: even where choices tie, they are those of the naive Viterbi."""
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, int(rng.integers(1, 9)), model, kind, bool(seed % 2))
    relaxed = decode_relaxed(arcs, index, scores, model, 0.5)
    naive = naive_dual.Automata(arcs, index, scores, model, 0.0, 0.5)
    value, choice, _ = naive(np.zeros(len(arcs.head) * (2 if model == GRANDPARENT else 1)))
    assert relaxed.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.concatenate([relaxed.chosen, relaxed.chosen_up])[: len(choice)].tolist() == choice.tolist()


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(10))
def test_indicators_of_parts_are_those_of_the_arcs_chosen(seed, model):
    """Arcs chosen imply the transitions of each half-automaton and the chains through each word, and no others."""
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, 7, model, "integer", bool(seed % 2))
    relaxed = decode_relaxed(arcs, index, scores, model, 0.5)
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    chosen = {pair for pair, mark in zip(pairs, relaxed.chosen, strict=True) if mark}
    ups = {m: h for (h, m), mark in zip(pairs, relaxed.chosen_up, strict=True) if mark}
    siblings, chains = [], []
    for h in range(8):
        outward = [m for side in (0, 1) for m in naive_trees.candidates(arcs, h, side)]
        for side in (0, 1):
            row = naive_trees.candidates(arcs, h, side)
            path = [0, *[b for b, m in enumerate(row, 1) if (h, m) in chosen], len(row) + 1]
            siblings += [index.sibling_start[2 * h + side] + b * (b - 1) // 2 + a for a, b in itertools.pairwise(path)]
        if h in ups:
            first = index.grandparent_start[h] + [g for g, m in pairs if m == h].index(ups[h]) * len(outward)
            chains += [first + j for j, m in enumerate(outward) if (h, m) in chosen]
    assert np.flatnonzero(relaxed.sibling).tolist() == sorted(siblings)
    assert np.flatnonzero(relaxed.grandparent).tolist() == sorted(chains)


def test_a_word_may_not_take_its_grandparent_as_modifier():
    """Two words want each other on both sides at once; forbidden, however much it would score."""
    arcs = full_arc_space(2)
    index = part_index(arcs, GRANDPARENT)
    # Arcs 0 -> 1, 2 -> 1, 0 -> 2, 1 -> 2; the second arc into either word makes the chains 2 -> 1 -> 2 and 1 -> 2 -> 1.
    scores = PartScores(np.array([0.0, 10.0, 0.0, 10.0]), np.zeros(index.sibling_start[-1]), np.zeros(4))
    scores.grandparent[index.grandparent_start[1:3] + 1] = 1000.0
    relaxed = decode_relaxed(arcs, index, scores, GRANDPARENT, 0.5)
    # Half of one arc for each word, as modifier under the root or as grandparent; the root comes first.
    assert relaxed.value == 10.0
    assert relaxed.chosen.tolist() == [0, 1, 0, 1]
    assert relaxed.chosen_up.tolist() == [1, 0, 1, 0]
