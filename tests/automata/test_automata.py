"""The compiled head automata against enumeration of everything a head may choose."""

import naive_dual
import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import ALL_SETS, ARC_GRANDPARENT, HIGHER_ORDER, KINDS, SUBSETS, draw_problem

from nonproj.automata.relaxed import decode_relaxed
from nonproj.parts.arcs import arc_space, arc_space_from_mask, full_arc_space
from nonproj.parts.space import indicators, part_space, tree_indicators, tree_score

WITH_GRANDPARENTS = ["grandparent", pytest.param(ARC_GRANDPARENT, id="arc+grandparent"), "third"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("name", [*HIGHER_ORDER, *SUBSETS])
@pytest.mark.parametrize("seed", seeds(25))
def test_decode_relaxed_equals_enumeration(seed, name, pruned, kind):
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned)
    tau = float(rng.choice([0.0, 0.3, 0.5, 1.0])) if "grandparent" in parts.names else 1.0
    relaxed = decode_relaxed(parts, scores, tau)
    arc_scores = scores[parts.range("arc")]
    value, z, z_grandparent = naive_dual.best_relaxed(parts, scores, tau * arc_scores, (1 - tau) * arc_scores)
    assert relaxed.value == pytest.approx(value, abs=1e-9)
    of_structure = naive_dual.relaxed_value(parts, scores, tau, relaxed.z, relaxed.z_grandparent)
    assert of_structure == pytest.approx(value, abs=1e-9)
    if kind == "continuous" and tau not in (0.0, 1.0):
        assert relaxed.z.tolist() == z.tolist()
        assert relaxed.z_grandparent.tolist() == z_grandparent.tolist()


@pytest.mark.parametrize("name", WITH_GRANDPARENTS)
@pytest.mark.parametrize("seed", seeds(20))
def test_every_word_has_one_grandparent_which_it_does_not_head(seed, name):
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, 7, name, "continuous", True)
    relaxed = decode_relaxed(parts, scores, 0.5)
    pairs = naive_trees.pairs_of(parts.arcs)
    chosen = {pair for pair, mark in zip(pairs, relaxed.z, strict=True) if mark}
    grandparents = [pair for pair, mark in zip(pairs, relaxed.z_grandparent, strict=True) if mark]
    assert [h for _, h in grandparents] == list(range(1, 8))
    assert not chosen & {(h, g) for g, h in grandparents}


@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("seed", seeds(10))
def test_with_a_bonus_on_the_arcs_of_one_tree_every_head_chooses_that_tree(seed, name):
    """The argmax over Z is then the tree, with all its parts and its score."""
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, 6, name, "continuous", True)
    heads = np.arange(-1, 6).astype(np.int32)
    if not set(zip(heads[1:].tolist(), range(1, 7), strict=True)) <= set(naive_trees.pairs_of(parts.arcs)):
        mask = np.zeros((7, 7), bool)
        mask[parts.arcs.head, parts.arcs.modifier] = True
        mask[np.arange(6), np.arange(1, 7)] = True
        parts = part_space(arc_space_from_mask(mask), name)
        scores = rng.standard_normal(len(parts))
    gold = tree_indicators(parts, heads)
    scores[parts.range("arc")] += 100.0 * (2 * gold[parts.range("arc")] - 1)
    relaxed = decode_relaxed(parts, scores, 0.5)
    assert relaxed.z.tolist() == gold[parts.range("arc")].tolist()
    assert indicators(parts, relaxed.z, relaxed.z_grandparent).tolist() == gold.tolist()
    assert relaxed.value == pytest.approx(tree_score(parts, scores, heads))


def test_errors_name_what_is_wrong():
    parts = part_space(full_arc_space(2), "sibling")
    with pytest.raises(ValueError, match=r"scores has shape \(18,\); one for each part is expected: arc 4, sibling 15"):
        decode_relaxed(parts, np.zeros(18), 0.5)
    with pytest.raises(ValueError, match="the set of part types is arcs alone; they have no head automata"):
        decode_relaxed(part_space(full_arc_space(2), "arc"), np.zeros(4), 0.5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["arc", "sibling", "grandparent"])
def test_scores_that_are_not_finite_are_named(name, wrong):
    parts = part_space(full_arc_space(3), "grandparent")
    scores = np.zeros(len(parts))
    place = parts.range(name).start + 2
    scores[place] = wrong
    with pytest.raises(ValueError, match=rf"scores\[{place}\] \({name} 2\) is {wrong}; scores must be finite"):
        decode_relaxed(parts, scores, 0.5)


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_a_word_without_arcs_into_it_is_named_where_it_needs_a_grandparent(name):
    parts = part_space(arc_space([0, 1], [1, 2], 3), name)
    scores = np.zeros(len(parts))
    if name == "sibling":
        assert decode_relaxed(parts, scores, 1.0).value == 0.0
    else:
        with pytest.raises(ValueError, match="no arc into word 3"):
            decode_relaxed(parts, scores, 0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*HIGHER_ORDER, *SUBSETS])
@pytest.mark.parametrize("seed", seeds(15))
def test_ties_go_to_the_first_grandparent_and_previous_sibling(seed, name, kind):
    """Sums of small integers and halves are exact, so even choices that tie are those of the naive Viterbi."""
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(1, 9)), name, kind, bool(seed % 2))
    relaxed = decode_relaxed(parts, scores, 0.5)
    copies = 2 if "grandparent" in parts.names else 1
    value, choice, _ = naive_dual.Automata(parts, scores, 0.0, 0.5)(np.zeros(copies * len(parts.arcs.head)))
    assert relaxed.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.concatenate([relaxed.z, relaxed.z_grandparent])[: len(choice)].tolist() == choice.tolist()
    if copies == 1:
        assert not relaxed.z_grandparent.any()


@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("seed", seeds(10))
def test_indicators_mark_the_parts_of_the_chosen_arcs(seed, name):
    """Chosen arcs imply transitions in each half-automaton and grandparent parts through each word, and no others."""
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, 7, name, "integer", bool(seed % 2))
    relaxed = decode_relaxed(parts, scores, 0.5)
    marks = indicators(parts, relaxed.z, relaxed.z_grandparent)
    n_arcs = len(parts.arcs.head)
    assert marks[:n_arcs].tolist() == relaxed.z.tolist()
    expected = naive_dual.structure_numbers(parts, relaxed.z, relaxed.z_grandparent)
    assert (n_arcs + np.flatnonzero(marks[n_arcs:])).tolist() == expected


@pytest.mark.parametrize("name", [*ALL_SETS, *SUBSETS])
def test_indicators_do_not_need_a_decoder(name):
    """Any subset of modifiers with any grandparent of each word, decoded or not."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts, _ = draw_problem(rng, int(rng.integers(1, 7)), name, "continuous", bool(seed % 2))
        arcs = parts.arcs
        z = (rng.random(len(arcs.head)) < 0.5).astype(np.int8)
        z_grandparent = np.zeros(len(z), np.int8)
        z_grandparent[rng.integers(arcs.start[1:-1], arcs.start[2:])] = 1
        numbers = np.flatnonzero(z).tolist() + naive_dual.structure_numbers(parts, z, z_grandparent)
        assert np.flatnonzero(indicators(parts, z, z_grandparent)).tolist() == numbers


@pytest.mark.parametrize("name", WITH_GRANDPARENTS)
def test_a_word_may_not_choose_its_grandparent_as_modifier(name):
    """Two words want each other as grandparent and modifier at once; forbidden, however much it would score."""
    parts = part_space(full_arc_space(2), name)
    scores = np.zeros(len(parts))
    scores[:4] = [0.0, 10.0, 0.0, 10.0]  # 0 -> 1, 2 -> 1, 0 -> 2, 1 -> 2
    for g, h in ((2, 1), (1, 2)):
        scores[naive_trees.grandparent_number(parts, g, h, g)] = 1000.0
    relaxed = decode_relaxed(parts, scores, 0.5)
    # Half of one arc for each word, as modifier under the root or as grandparent; the root comes first.
    assert relaxed.value == 10.0
    assert relaxed.z.tolist() == [0, 1, 0, 1]
    assert relaxed.z_grandparent.tolist() == [1, 0, 1, 0]
