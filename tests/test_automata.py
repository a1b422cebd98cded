"""Head automata against enumeration of everything a head may choose."""

import naive_dual
import numpy as np
import pytest

from nonproj.decode.automata import decode_relaxed
from nonproj.parts import arc_space, arc_space_from_mask, full_arc_space, gold_parts, part_index, tree_score
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
