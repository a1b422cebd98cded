"""Arcs and parts: the layout against its definition, and trees as lists of parts."""

from math import comb

import naive_trees as naive
import numpy as np
import pytest
from instances import seeds
from problems import ALL_SETS, KINDS, SUBSETS, draw_problem, draw_scores, trees_over

from nonproj.parts.arcs import arc_space, arc_space_from_mask, full_arc_space
from nonproj.parts.registry import PART_TYPES, part_set, register, set_name
from nonproj.parts.space import part_space, restrict, tree_indicators, tree_score

ARCS_ALONE = part_space(full_arc_space(2), "arc")


def random_mask(rng, n):
    return rng.random((n + 1, n + 1)) < rng.choice([0.3, 0.6, 1.0])


@pytest.mark.parametrize("seed", seeds(20))
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


@pytest.mark.parametrize("seed", seeds(10))
def test_order_of_the_list_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    expected = arc_space_from_mask(random_mask(rng, 6))
    order = rng.permutation(len(expected.head))
    arcs = arc_space(expected.head[order], expected.modifier[order].tolist(), 6)
    for got, want in zip(arcs, expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("name", [*ALL_SETS, *SUBSETS])
def test_parts_are_numbered_by_the_definition(seed, name):
    """Type after type, arcs first; within a type as its module says."""
    parts = part_space(arc_space_from_mask(random_mask(np.random.default_rng(seed), 6)), name)
    arcs, number = parts.arcs, len(parts.arcs.head)
    assert parts.range("arc") == slice(0, number)
    sides = [[len(naive.candidates(arcs, h, side)) for side in (0, 1)] for h in range(7)]
    pairs, triples = ([[comb(k + 2, order) for k in both] for both in sides] for order in (2, 3))
    into = [int((arcs.modifier == h).sum()) for h in range(7)]
    counts = {"sibling": sum(pairs, []), "trisibling": sum(triples, [])}
    counts["grandparent"] = [above * sum(both) for above, both in zip(into, sides, strict=True)]
    counts["grandsibling"] = [above * sum(both) for above, both in zip(into, pairs, strict=True)]
    for part_type in ("sibling", "grandparent", "grandsibling", "trisibling"):
        start, there = parts.start(part_type), part_type in parts.names
        assert start.dtype == np.int64 or not there
        expected = [number, *(number + np.cumsum(counts[part_type]))] if there else []
        assert start.tolist() == expected
        assert parts.range(part_type) == (slice(number, expected[-1]) if there else slice(0, 0))
        number = expected[-1] if there else number
    assert len(parts) == number
    assert parts.names == tuple(part_type.name for part_type in part_set(name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*ALL_SETS, *SUBSETS])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_score_and_indicators_of_every_tree(n, name, kind):
    rng = np.random.default_rng(100 * n + 10 * len(name) + (kind == "integer"))
    parts = part_space(arc_space_from_mask(random_mask(rng, n) | (np.arange(n + 1)[:, None] == 0)), name)
    scores = draw_scores(rng, kind, len(parts))
    for tree in naive.all_trees(n):
        expected = naive.score_of_tree(tree, parts, scores)
        assert tree_score(parts, scores, tree) == pytest.approx(expected, abs=1e-12)
        numbers = naive.part_numbers(tree, parts)
        if numbers is None:
            with pytest.raises(ValueError, match=r"arc \d+ -> \d+ of the tree is not among the \d+ arcs"):
                tree_indicators(parts, tree)
            continue
        gold = tree_indicators(parts, tree)
        assert gold.dtype == np.float64
        assert gold.shape == (len(parts),)
        assert set(gold.tolist()) <= {0.0, 1.0}
        assert np.flatnonzero(gold).tolist() == sorted(p for listed in numbers.values() for p in listed)


@pytest.mark.parametrize("name", [*ALL_SETS, *SUBSETS])
@pytest.mark.parametrize("seed", seeds(20))
def test_a_restricted_problem_scores_its_trees_as_the_whole_does(seed, name):
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(2, 6)), name, "continuous", pruned=False)
    arcs = parts.arcs
    keep = rng.random(len(arcs.head)) < rng.choice([0.0, 0.6, 0.8, 1.0])
    fewer, numbers = restrict(parts, keep)
    assert fewer.names == parts.names
    assert numbers[: len(fewer.arcs.head)].tolist() == np.flatnonzero(keep).tolist()
    assert numbers.shape == (len(fewer),)
    assert len(set(numbers.tolist())) == len(numbers)
    mask = np.zeros((len(arcs.start) - 1,) * 2, bool)
    mask[arcs.head[keep], arcs.modifier[keep]] = True
    expected = part_space(arc_space_from_mask(mask), name)
    for found, wanted in zip((*fewer.arcs, *fewer.starts), (*expected.arcs, *expected.starts), strict=True):
        assert found.tolist() == wanted.tolist() and found.dtype == wanted.dtype
    trees = trees_over(fewer.arcs)
    for tree in trees:
        whole = tree_score(parts, scores, tree)
        assert tree_score(fewer, scores[numbers], tree) == pytest.approx(whole, abs=1e-9)
        of_few, of_all = (np.flatnonzero(tree_indicators(each, tree)) for each in (fewer, parts))
        assert sorted(numbers[of_few]) == of_all.tolist()
    assert len(trees) == sum(all(mask[h, m] for m, h in enumerate(t) if m) for t in trees_over(arcs))


def test_enumeration_counts_trees_as_cayley_does():
    for n in range(1, 6):
        assert len(naive.all_trees(n)) == (n + 1) ** (n - 1)
        assert len(naive.all_trees(n, single_root=True)) == n ** (n - 1)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (arc_space, ([1], [1], 3), "arc 1 -> 1 is not an arc"),
        (arc_space, ([1], [0], 3), "arc 1 -> 0 is not an arc"),
        (arc_space, ([4], [1], 3), "arc 4 -> 1 is not an arc"),
        (arc_space, ([-1], [2], 3), "arc -1 -> 2 is not an arc"),
        (arc_space, ([0, 2, 0], [1, 1, 1], 3), "arc 0 -> 1 is given twice"),
        (arc_space, ([0, 1], [1], 3), "heads has 2 entries and modifiers 1"),
        (arc_space, ([0.5], [1], 3), "heads must be a vector of integers"),
        (arc_space_from_mask, (np.ones((3, 3)),), "mask must be an array of bool"),
        (arc_space_from_mask, (np.ones((2, 3), bool),), r"mask has shape \(2, 3\)"),
        (full_arc_space, (-1,), "n_words is -1"),
        (tree_indicators, (ARCS_ALONE, [-1, 0]), "heads must have 3 entries"),
        (tree_score, (ARCS_ALONE, np.zeros(3), [-1, 0, 1]), r"\(3,\); one for each part is expected: arc 4"),
    ],
)
def test_wrong_arguments_are_named(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call(*arguments)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("siblings", "no set of part types is named siblings; did you mean sibling?"),
        ("xyz", "no set of part types is named xyz; known: arc, sibling, grandparent, third"),
        (["arc", "grandparents"], "no part type named grandparents is registered; did you mean grandparent?"),
        (["arc", "sibling", "arc"], "a part type is repeated: arc, sibling, arc"),
        (["sibling"], "arc is missing; every set of part types has it"),
        ([], "arc is missing; every set of part types has it"),
    ],
)
def test_wrong_sets_are_named(parts, message):
    with pytest.raises(ValueError) as error:
        part_space(full_arc_space(2), parts)
    assert str(error.value) == message


def test_a_set_does_not_depend_on_the_order_of_its_names():
    assert part_set(["sibling", "grandparent", "arc"]) == part_set("grandparent")
    assert set_name(["arc", "sibling", "grandparent"]) == "grandparent"
    assert set_name(["arc", "grandparent"]) == ("arc", "grandparent")


def test_a_name_belongs_to_one_part_type():
    known = dict(PART_TYPES)
    with pytest.raises(ValueError, match="a part type named sibling already exists"):
        register(PART_TYPES["sibling"])
    assert known == PART_TYPES
