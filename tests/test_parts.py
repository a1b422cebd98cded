"""Arcs and parts: the layout against its definition, and trees as lists of parts."""

import naive_trees as naive
import numpy as np
import pytest

from nonproj.parts.space import arc_space, arc_space_from_mask, full_arc_space, gold_parts, part_index, tree_score
from nonproj.types import ARC, GRANDPARENT, SIBLING, PartScores


def random_mask(rng, n):
    return rng.random((n + 1, n + 1)) < rng.choice([0.3, 0.6, 1.0])


def random_scores(rng, arcs, index, integer):
    sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
    draw = (lambda k: rng.integers(-2, 3, k).astype(float)) if integer else rng.standard_normal
    return PartScores(*[draw(int(k)) for k in sizes])


@pytest.mark.parametrize("seed", range(20))
def test_arcs_are_sorted_and_outward(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 9))
    mask = random_mask(rng, n)
    arcs = arc_space_from_mask(mask)
    expected = [(m, h) for m in range(1, n + 1) for h in range(n + 1) if mask[h, m] and h != m]
    assert list(zip(arcs.modifier.tolist(), arcs.head.tolist(), strict=True)) == expected
    assert all(array.dtype == np.int32 and array.flags.c_contiguous for array in arcs)
    assert arcs.start[0] == 0
    assert arcs.start[-1] == len(expected)
    for m in range(n + 1):
        assert (arcs.modifier[arcs.start[m] : arcs.start[m + 1]] == m).all()
        assert arcs.start[m + 1] - arcs.start[m] == sum(1 for k, _ in expected if k == m)
    assert sorted(arcs.out.tolist()) == list(range(len(expected)))
    for h in range(n + 1):
        for side in (0, 1):
            outward = arcs.out[arcs.out_start[2 * h + side] : arcs.out_start[2 * h + side + 1]]
            assert (arcs.head[outward] == h).all()
            assert arcs.modifier[outward].tolist() == naive.candidates(arcs, h, side)


@pytest.mark.parametrize("seed", range(10))
def test_order_of_the_list_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    expected = arc_space_from_mask(random_mask(rng, 6))
    order = rng.permutation(len(expected.head))
    arcs = arc_space(expected.head[order], expected.modifier[order].tolist(), 6)
    for got, want in zip(arcs, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_full_space_has_n_squared_arcs():
    for n in range(6):
        arcs = full_arc_space(n)
        assert len(arcs.head) == n * n
        assert (arcs.head != arcs.modifier).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_part_counts_follow_the_definition(seed, model):
    arcs = arc_space_from_mask(random_mask(np.random.default_rng(seed), 6))
    index = part_index(arcs, model)
    siblings = grandparents = 0
    for h in range(7):
        assert index.sibling_start[2 * h] == siblings
        assert index.grandparent_start[h] == grandparents
        left, right = len(naive.candidates(arcs, h, 0)), len(naive.candidates(arcs, h, 1))
        if model >= SIBLING:
            siblings += sum(len(list(naive.itertools.combinations(range(k + 2), 2))) for k in (left, right))
        if model >= GRANDPARENT:
            grandparents += sum(1 for m in arcs.modifier if m == h) * (left + right)
    assert index.sibling_start[-1] == siblings
    assert index.grandparent_start[-1] == grandparents
    assert index.sibling_start.dtype == index.grandparent_start.dtype == np.int32


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_score_and_indicators_of_every_tree(n, model, integer):
    rng = np.random.default_rng(100 * n + 10 * model + integer)
    arcs = arc_space_from_mask(random_mask(rng, n) | (np.arange(n + 1)[:, None] == 0))
    index = part_index(arcs, model)
    scores = random_scores(rng, arcs, index, integer)
    for tree in naive.all_trees(n):
        expected = naive.score_of_tree(tree, arcs, index, scores)
        assert tree_score(arcs, index, scores, tree) == pytest.approx(expected, abs=1e-12)
        numbers = naive.part_numbers(tree, arcs, index)
        if numbers is None:
            with pytest.raises(ValueError, match="of the tree is not among the"):
                gold_parts(arcs, index, tree)
            continue
        gold = gold_parts(arcs, index, tree)
        for kind, listed in numbers.items():
            indicator = getattr(gold, kind)
            assert indicator.dtype == np.int8
            assert len(indicator) == len(getattr(scores, kind))
            assert np.flatnonzero(indicator).tolist() == sorted(listed)


def test_trees_have_different_parts():
    arcs = full_arc_space(4)
    index = part_index(arcs, GRANDPARENT)
    seen = {tuple(np.concatenate(gold_parts(arcs, index, tree)).tolist()) for tree in naive.all_trees(4)}
    assert len(seen) == len(naive.all_trees(4))


def test_enumeration_counts_trees_as_cayley_does():
    for n in range(1, 6):
        assert len(naive.all_trees(n)) == (n + 1) ** (n - 1)
        assert len(naive.all_trees(n, single_root=True)) == n ** (n - 1)


@pytest.mark.parametrize(
    ("heads", "modifiers", "message"),
    [
        ([1], [1], "arc 1 -> 1 is not an arc"),
        ([1], [0], "arc 1 -> 0 is not an arc"),
        ([4], [1], "arc 4 -> 1 is not an arc"),
        ([-1], [2], "arc -1 -> 2 is not an arc"),
        ([0, 2, 0], [1, 1, 1], "arc 0 -> 1 is given twice"),
        ([0, 1], [1], "heads has 2 entries and modifiers 1"),
        ([0.5], [1], "heads must be a vector of integers"),
    ],
)
def test_wrong_arcs_are_named(heads, modifiers, message):
    with pytest.raises(ValueError, match=message):
        arc_space(heads, modifiers, 3)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="mask must be an array of bool"):
        arc_space_from_mask(np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"mask has shape \(2, 3\)"):
        arc_space_from_mask(np.ones((2, 3), bool))
    with pytest.raises(ValueError, match="n_words is -1"):
        full_arc_space(-1)
    arcs = full_arc_space(2)
    with pytest.raises(ValueError, match="model is 3"):
        part_index(arcs, 3)
    index = part_index(arcs, ARC)
    with pytest.raises(ValueError, match="heads must have 3 entries"):
        gold_parts(arcs, index, [-1, 0])
    with pytest.raises(ValueError, match="scores.arc has shape"):
        tree_score(arcs, index, PartScores(np.zeros(3), np.zeros(0), np.zeros(0)), [-1, 0, 1])


def test_a_missing_arc_is_named():
    arcs = arc_space([0, 1], [1, 2], 2)
    with pytest.raises(ValueError, match="arc 0 -> 2 of the tree is not among the 2 arcs"):
        gold_parts(arcs, part_index(arcs, GRANDPARENT), [-1, 0, 0])
