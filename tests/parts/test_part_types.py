"""The automata of part types: the tables of siblings against the compiled automata, products, and a type of our own."""

import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import (
    FORMS,
    KINDS,
    check_laws,
    draw_automata,
    draw_problem,
    fill_automata,
    scale_arcs,
    tree_paths,
    trees_over,
)

from nonproj.automata.general import best_paths, check_automata, general_automata, product
from nonproj.automata.relaxed import decode_relaxed
from nonproj.dual.decoding import branch_and_bound, dual_decomposition, dual_trace
from nonproj.dual.options import DualOptions
from nonproj.dual.problem import TablesProblem
from nonproj.dual.subgradient import ARC_WORK, STOPPED, WORD_WORK
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.automaton import head_automata, moves
from nonproj.parts.base import PartType
from nonproj.parts.registry import PART_TYPES, register
from nonproj.parts.space import part_space
from nonproj.types import PartRows


def test_arcs_alone_accept_everything():
    parts, scores = draw_problem(np.random.default_rng(0), 5, "arc", "continuous", False)
    paths = best_paths(parts.arcs, general_automata(parts, scores), scores)
    assert paths.z.tolist() == (scores > 0).tolist()


def test_a_part_type_without_automata_is_named():
    parts, scores = draw_problem(np.random.default_rng(0), 3, "grandparent", "continuous", False)
    with pytest.raises(NotImplementedError, match="part type grandparent has no head automata in general form"):
        general_automata(parts, scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(20))
def test_sibling_tables_choose_as_the_compiled_automata_do(seed, kind):
    """To the last bit, including ties; the automata are those of siblings, because arcs add none."""
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(1, 9)), ["arc", "sibling"], kind, bool(seed % 2))
    automata = general_automata(parts, scores)
    bigrams = PART_TYPES["sibling"].automata(parts.arcs, parts.start("sibling"), scores)
    for found, expected in zip(automata, bigrams, strict=True):
        assert found.tolist() == expected.tolist()
    relaxed = decode_relaxed(parts, scores, 1.0)
    paths = best_paths(parts.arcs, automata, scores[parts.range("arc")])
    assert paths.z.tolist() == relaxed.z.tolist()
    assert float(sum(paths.values.tolist())) == pytest.approx(relaxed.value, rel=1e-14)


def by_tables(parts, scores, options):
    """The problem over tables instead of compiled automata."""
    return TablesProblem(parts.arcs, general_automata(parts, scores), scores[: len(parts.arcs.head)].copy(), options)


def test_a_budget_limits_the_iterations_of_general_automata():
    stopped = 0
    for seed in range(10):
        parts, scores = draw_problem(np.random.default_rng(seed), 9, "sibling", "continuous", pruned=False)
        endless, least = DualOptions(max_iterations=10**9), WORD_WORK * 10 + ARC_WORK * 81
        problem = by_tables(parts, scores, endless)
        found = problem.bound(endless, 20 * least).descent
        assert 1 <= found.iterations <= 21
        assert problem.bound(endless, 1).descent.iterations == 1
        stopped += found.outcome == STOPPED
    assert stopped >= 5


# -- products ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(8))
def test_a_product_scores_as_both_of_its_factors_do(seed, forbidden, kind):
    rng = np.random.default_rng(seed)
    arcs, one, scores = draw_automata(rng, 3, kind, bool(seed % 2), forbidden)
    other = fill_automata(rng, arcs, kind, forbidden)
    both = product(arcs, one, other)
    check_automata(arcs, both)
    assert np.diff(both.state_start).tolist() == (np.diff(one.state_start) * np.diff(other.state_start)).tolist()
    trees = trees_over(arcs)
    assert trees
    for tree in trees:
        values = tree_paths(arcs, one, scores, tree).values + tree_paths(arcs, other, 0.0 * scores, tree).values
        np.testing.assert_allclose(tree_paths(arcs, both, scores, tree).values, values, rtol=1e-12, atol=1e-12)


# -- a part type without a compiled automaton --------------------------------------------------------------------------


class ModifierCount(PartType):
    """The number of modifiers of a head on a side, 0 to 3 or more: part ``start[0] + 4 * q + number``."""

    name = "modifier_count"
    slots = ("h",)
    most = 3

    def number(self, arcs, first):
        return np.array([first, first + 4 * (len(arcs.out_start) - 1)])

    def rows(self, arcs, start):
        h = np.repeat(np.arange(len(arcs.start) - 1, dtype=np.int32), 8)
        return PartRows(h[:, None], np.zeros((len(h), 3), np.uint8))

    def used(self, arcs, start, z, z_grandparent):
        totals = np.concatenate([[0], np.cumsum(z[arcs.out])])[arcs.out_start]
        return start[0] + 4 * np.arange(len(totals) - 1) + np.minimum(np.diff(totals), self.most)

    def restrict(self, arcs, start, keep):
        return np.arange(start[0], start[1])

    def automata(self, arcs, start, scores):
        automata = head_automata(arcs, 4)
        for q in range(len(arcs.out_start) - 1):
            take, _ = moves(automata, q)
            take[:, [0, 1, 2, 3], [1, 2, 3, 3]] = 0.0
        automata.final[:] = scores[start[0] : start[1]]
        return automata


@pytest.fixture
def modifier_count():
    """The part type above, registered for one test."""
    yield register(ModifierCount())
    del PART_TYPES["modifier_count"]


def score_with_counts(tree, parts, scores):
    """The score of a tree by the definition: the parts that the twin knows, and counts of modifiers."""
    total = naive_trees.score_of_tree(tree, parts, scores)
    for h in range(len(tree)):
        left, right = sum(tree[m] == h for m in range(1, h)), sum(tree[m] == h for m in range(h + 1, len(tree)))
        for side, count in enumerate((left, right)):
            total += scores[parts.range("modifier_count").start + 4 * (2 * h + side) + min(count, 3)]
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS[::3])
@pytest.mark.parametrize("name", [["arc", "modifier_count"], ["arc", "sibling", "modifier_count"]], ids="+".join)
def test_a_set_without_compiled_automata_equals_enumeration(modifier_count, name, form, kind):
    certified, chosen = 0, seeds(30, least=12)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned=bool(seed % 2))
        scores = scale_arcs(parts, scores, 2)
        options, trees = DualOptions(300, rule=seed % 2, **form), trees_over(parts.arcs, **form)
        if not trees:
            with pytest.raises(ValueError, match="no tree|no projective tree"):
                dual_decomposition(parts, scores, options)
            continue
        decoded = dual_decomposition(parts, scores, options)
        assert decoded.tree.tolist() in trees
        assert decoded.score == pytest.approx(score_with_counts(decoded.tree.tolist(), parts, scores), abs=1e-9)
        best = max(score_with_counts(tree, parts, scores) for tree in trees)
        check_laws(decoded, parts, scores, best)
        assert decode_relaxed(parts, scores, 1.0).value >= decoded.score - 1e-9
        found = branch_and_bound(parts, scores, options)
        check_laws(found, parts, scores, best)
        assert found.certified
        certified += decoded.certified
    assert certified >= len(chosen) / 3


def test_what_has_no_automata_is_named(modifier_count):
    parts = part_space(full_arc_space(2), ["arc", "modifier_count"])
    with pytest.raises(ValueError, match="the automata of arc, modifier_count are not compiled; they leave no trace"):
        dual_trace(parts, np.zeros(len(parts)))
