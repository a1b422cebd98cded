"""Head automata with any states, against enumeration of choices and state sequences."""

import math

import naive_automata
import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import KINDS, as_functions, decode_tables, draw_automata, tree_paths, trees_over

from nonproj.automata.general import best_paths, check_automata, restrict_automata
from nonproj.dual.options import APPENDIX_A, POLYAK, DualOptions
from nonproj.parts.arcs import full_arc_space, subset
from nonproj.parts.automaton import head_automata, moves

# -- Viterbi -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("seed", seeds(12))
def test_best_paths_equal_enumeration(seed, forbidden, kind):
    rng = np.random.default_rng(seed)
    arcs, automata, scores = draw_automata(rng, int(rng.integers(1, 5)), kind, bool(seed % 2), forbidden)
    twin, paths = as_functions(arcs, automata), best_paths(arcs, automata, scores)
    values, chosen = naive_automata.best_relaxed(twin, arcs, scores)
    np.testing.assert_allclose(paths.values, values, rtol=1e-12, atol=1e-12)
    accepting = [h for h, value in enumerate(values) if value > -math.inf]
    assert forbidden or len(accepting) == len(values)
    if kind == "continuous":
        ours = {pair for pair, mark in zip(naive_trees.pairs_of(arcs), paths.z, strict=True) if mark}
        assert {pair for pair in ours if pair[0] in accepting} == {pair for pair in chosen if pair[0] in accepting}
    # The path that is returned has the value that is returned.
    for h in accepting:
        value = math.fsum(scores[a] for a in np.flatnonzero((arcs.head == h) & (paths.z == 1)))
        for q in (2 * h, 2 * h + 1):
            row = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]
            states = [int(paths.first[q]), *paths.state[row].tolist()]
            value += naive_automata.path_score(twin, q, arcs.modifier[row].tolist(), paths.z[row] == 1, states)
        assert value == pytest.approx(values[h], rel=1e-12, abs=1e-12)


def test_ties_go_to_skipping_and_to_the_lowest_state():
    arcs = full_arc_space(2)
    automata = head_automata(arcs, 3)
    for values in automata[1:3] + automata[4:]:
        values[:] = 0.0
    paths = best_paths(arcs, automata, np.zeros(4))
    assert not paths.z.any() and not paths.state.any() and not paths.first.any()


@pytest.mark.parametrize("rule", [APPENDIX_A, POLYAK])
@pytest.mark.parametrize("most", [0, 1])
def test_the_first_trees_may_be_rejected_or_all(most, rule):
    """Every word prefers the root, which may have one modifier, or none, so that no tree is accepted."""
    arcs = full_arc_space(3)
    scores = np.where(arcs.head == 0, 5.0, 0.1 * arcs.head + 0.01 * arcs.modifier)
    automata = head_automata(arcs, 3)
    for q in range(8):
        moves(automata, q)[0][:, [0, 1, 2], [1, 2, 2]] = 0.0  # states count modifiers
    automata.final[:] = 0.0
    automata.final[3:6][most + 1 :] = -np.inf
    ours = decode_tables(arcs, automata, scores, DualOptions(rule=rule))
    assert naive_trees.is_tree(ours.tree.tolist())
    if most:
        assert ours.tree.tolist().count(0) == 1 and -np.inf < ours.score <= ours.bound
    else:
        assert ours.score == -np.inf and not ours.certified and not ours.agreed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_tree_paths_of_whole_and_restricted_automata_equal_enumeration(forbidden, kind):
    for seed in seeds(20):
        rng = np.random.default_rng(seed)
        arcs, automata, scores = draw_automata(rng, 4, kind, bool(seed % 2), forbidden)
        keep = rng.random(len(scores)) < (1.0 if seed % 3 else 0.7)
        twin, few, fewer = as_functions(arcs, automata), subset(arcs, keep), restrict_automata(arcs, automata, keep)
        for tree in trees_over(few):
            paths = tree_paths(few, fewer, scores[keep], tree)
            expected = naive_automata.tree_score(twin, arcs, scores, tree)
            assert paths.values.sum() == pytest.approx(expected, rel=1e-12, abs=1e-12)
            if expected > -math.inf:
                assert paths.z.tolist() == [int(tree[m] == h) for h, m in zip(few.head, few.modifier, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_branch_and_bound_certifies_what_enumeration_finds(forbidden, kind):
    """Any automata of one to three states, also those that reject some trees, or all."""
    tried, searched, chosen = 0, 0, seeds(100, least=12, part=8)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        arcs, automata, scores = draw_automata(rng, int(rng.integers(1, 5)), kind, bool(seed % 2), forbidden)
        options = DualOptions(max_iterations=int(rng.choice([2, 100])), rule=seed % 2, projective=seed % 3 == 0)
        twin, trees = as_functions(arcs, automata), trees_over(arcs, False, options.projective)
        optimum = max((naive_automata.tree_score(twin, arcs, scores, tree) for tree in trees), default=-np.inf)
        try:
            found = decode_tables(arcs, automata, scores, options)
        except ValueError:
            assert not trees or optimum == -np.inf
            continue
        assert found.certified == (optimum > -np.inf)
        assert found.score == pytest.approx(optimum, abs=1e-7)
        assert not found.certified or optimum - 1e-7 <= found.bound <= optimum + 1e-6
        tried, searched = tried + 1, searched + (found.nodes > 0)
    assert tried >= 0.15 * len(chosen) and searched >= 0.04 * len(chosen)


# -- errors ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    arcs = full_arc_space(2)
    automata = head_automata(arcs, 1)
    with pytest.raises(ValueError, match="n_states is 0; 6 positive integers are expected, or one for all"):
        head_automata(arcs, 0)
    with pytest.raises(ValueError, match=r"scores has shape \(3,\); one score for each of 4 arcs is expected"):
        best_paths(arcs, automata, np.zeros(3))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("state_start", lambda array: array[:-1], r" has shape \(6,\); \(7,\) is expected"),
        ("initial", lambda array: array[:-1], r" has shape \(11,\); \(12,\) is expected"),
        ("take", lambda array: array[:-1], r" has shape \(15,\); \(16,\) is expected"),
        ("move_start", lambda array: array + 1, " is not that of such states"),
        ("state_start", lambda array: array * 0, "each half-automaton has a state at least"),
        ("skip", lambda array: array + np.nan, r"\[0\] is nan; numbers or minus infinity are expected"),
        ("take", lambda array: array + np.inf, r"\[0\] is inf; numbers or minus infinity are expected"),
    ],
)
def test_broken_automata_are_named(name, change, message):
    arcs = full_arc_space(2)
    automata = head_automata(arcs, 2)._replace(skip=np.zeros(16), take=np.zeros(16))
    where = "" if message[0] == "e" else f"automata.{name}"
    with pytest.raises(ValueError, match=where + message):
        check_automata(arcs, automata._replace(**{name: change(getattr(automata, name))}))


def test_a_sentence_without_words():
    arcs = full_arc_space(0)
    automata = head_automata(arcs, 1)
    automata.final[:] = [2.0, 3.0]
    ours = decode_tables(arcs, automata, np.zeros(0))
    assert ours.tree.tolist() == [-1] and ours.score == ours.bound == 5.0 and ours.agreed
