"""Head automata with any states, against enumeration of choices and state sequences; siblings and valency as such."""

import itertools
import math

import naive_automata
import naive_trees
import numpy as np
import pytest
from test_automata import draw_problem
from test_dual import trees_over

from nonproj.automata.compiled import decode_relaxed
from nonproj.automata.general import best_paths, check_automata, head_automata, moves, tree_paths
from nonproj.automata.tables import bigram_automata, tabulate_automata, valency_automata
from nonproj.dual.decomposition import DualOptions, dual_decomposition, dual_trace
from nonproj.dual.oracles import AutomataOracle, TreeOracle, parse_with_automata
from nonproj.dual.subgradient import APPENDIX_A, POLYAK
from nonproj.parts.space import arc_space, full_arc_space, part_index, tree_score
from nonproj.relaxation.subgradient import AppendixA, Polyak, relax
from nonproj.types import ARC, SIBLING, PartScores

RULES = {APPENDIX_A: AppendixA, POLYAK: Polyak}


def draw_scores(rng, kind, size):
    """Random scores: continuous, or small integers, which tie."""
    return rng.integers(-2, 3, size).astype(float) if kind == "integer" else rng.standard_normal(size)


def draw_automata(rng, n, kind, pruned, forbidden):
    """A random arc space, automata of one to three states over it, and arc scores."""
    arcs, _, scores = draw_problem(rng, n, ARC, kind, pruned)
    automata = head_automata(arcs, rng.integers(1, 4, len(arcs.out_start) - 1))
    for values in (automata.initial, automata.final, automata.take, automata.skip):
        values[:] = draw_scores(rng, kind, len(values))
        values[rng.random(len(values)) < forbidden] = -np.inf
    return arcs, automata, scores.arc


def as_functions(arcs, automata):
    """The same automata as the naive twin wants them: the tables are read by their documented places."""
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


# -- Viterbi -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_best_paths_equal_enumeration(seed, forbidden, kind):
    rng = np.random.default_rng(seed)
    arcs, automata, scores = draw_automata(rng, int(rng.integers(1, 5)), kind, bool(seed % 2), forbidden)
    twin = as_functions(arcs, automata)
    paths = best_paths(arcs, automata, scores)
    values, chosen = naive_automata.best_relaxed(twin, arcs, scores)
    np.testing.assert_allclose(paths.values, values, rtol=1e-12, atol=1e-12)
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    accepting = [h for h, value in enumerate(values) if value > -math.inf]
    assert forbidden or len(accepting) == len(values)
    if kind == "continuous":
        ours = {pair for pair, mark in zip(pairs, paths.chosen, strict=True) if mark}
        assert {pair for pair in ours if pair[0] in accepting} == {pair for pair in chosen if pair[0] in accepting}
    # The path that is returned has the value that is returned.
    for h in accepting:
        value = math.fsum(scores[a] for a in np.flatnonzero((arcs.head == h) & (paths.chosen == 1)))
        for q in (2 * h, 2 * h + 1):
            row = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]
            states = [int(paths.first[q]), *paths.state[row].tolist()]
            value += naive_automata.path_score(twin, q, arcs.modifier[row].tolist(), paths.chosen[row] == 1, states)
        assert value == pytest.approx(values[h], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_tree_paths_equal_enumeration(seed, forbidden):
    rng = np.random.default_rng(seed)
    arcs, automata, scores = draw_automata(rng, 3, "continuous", bool(seed % 2), forbidden)
    twin = as_functions(arcs, automata)
    trees = naive_trees.all_trees(3)
    assert len(trees) == 16
    for tree in trees:
        paths = tree_paths(arcs, automata, scores, tree)
        expected = naive_automata.tree_score(twin, arcs, scores, tree)
        assert paths.values.sum() == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if expected > -math.inf:
            assert paths.chosen.tolist() == [int(tree[m] == h) for h, m in zip(arcs.head, arcs.modifier, strict=True)]


def test_ties_go_to_passing_and_to_the_lowest_state():
    arcs = full_arc_space(2)
    automata = head_automata(arcs, 3)
    for values in automata[1:3] + automata[4:]:
        values[:] = 0.0
    paths = best_paths(arcs, automata, np.zeros(4))
    assert not paths.chosen.any() and not paths.state.any() and not paths.first.any()


# -- the bigram sibling model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("seed", range(20))
def test_bigrams_choose_as_the_sibling_automata_do(seed, kind):
    """To the last bit, ties included."""
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, int(rng.integers(1, 9)), SIBLING, kind, bool(seed % 2))
    relaxed = decode_relaxed(arcs, index, scores, SIBLING, 1.0)
    paths = best_paths(arcs, bigram_automata(arcs, index, scores.sibling), scores.arc)
    assert paths.chosen.tolist() == relaxed.chosen.tolist()
    assert float(sum(paths.values.tolist())) == pytest.approx(relaxed.value, rel=1e-14)


@pytest.mark.parametrize("rule", [APPENDIX_A, POLYAK])
@pytest.mark.parametrize("beta", [0.001, 0.5])
def test_bigrams_in_the_loop_are_the_dual_decomposition_step_by_step(beta, rule):
    longest = agreed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 5, SIBLING, "continuous", bool(seed % 2))
        options = DualOptions(max_iterations=60, beta=beta, rule=rule)
        decoded, trace = dual_trace(arcs, index, scores, SIBLING, options)
        automata = bigram_automata(arcs, index, scores.sibling)
        found = relax(
            TreeOracle(arcs, beta * scores.arc),
            AutomataOracle(arcs, automata, (1 - beta) * scores.arc),
            lambda heads, parts=(arcs, index, scores): tree_score(*parts, heads),
            len(arcs.head),
            rule=RULES[rule](),
            max_iterations=60,
        )
        np.testing.assert_allclose(found.trace["dual"], trace.dual, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.trace["primal"], trace.primal, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.trace["step"], trace.step, rtol=1e-6, atol=1e-9)
        ours = parse_with_automata(arcs, automata, scores.arc, options)
        assert ours.heads.tolist() == decoded.heads.tolist() == found.solution.tolist()
        assert (ours.score, ours.bound) == pytest.approx((decoded.score, decoded.bound), rel=1e-9, abs=1e-9)
        assert (ours.agreed, ours.certified, ours.iterations) == decoded[3:6]
        assert ours.recomputed == pytest.approx(decoded.recomputed)
        longest, agreed = max(longest, decoded.iterations), agreed + decoded.agreed
    assert longest > 20 and agreed >= 5


@pytest.mark.parametrize("form", ["any", "single_root", "projective", "single_root projective"])
def test_bigrams_over_trees_of_each_form(form):
    certified = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 5, SIBLING, ["continuous", "integer"][seed % 2], pruned=False)
        scores = scores._replace(arc=4 * scores.arc)  # most relaxations are tight then
        options = DualOptions(max_iterations=400, single_root="single_root" in form, projective="projective" in form)
        decoded = dual_decomposition(arcs, index, scores, SIBLING, options)
        ours = parse_with_automata(arcs, bigram_automata(arcs, index, scores.sibling), scores.arc, options)
        assert ours.heads.tolist() in trees_over(arcs, options.single_root, options.projective)
        assert tree_score(arcs, index, scores, ours.heads) == pytest.approx(ours.score, abs=1e-9)
        # Rounding may part the two where integers tie, but never their certificates.
        assert ours.score <= decoded.bound + 1e-8 and decoded.score <= ours.bound + 1e-8
        if ours.certified and decoded.certified:
            assert ours.score == pytest.approx(decoded.score, abs=1e-7)
            certified += 1
    assert certified >= 10


# -- valency -----------------------------------------------------------------------------------------------------------


def valency_score(arcs, take, stop, scores, heads):
    """The score of a tree by counting each head's modifiers outward."""
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    total, most = 0.0, stop.shape[1] - 1
    for h in range(len(heads)):
        for side in (0, 1):
            modifiers = [m for m in naive_trees.candidates(arcs, h, side) if heads[m] == h]
            for before, m in enumerate(modifiers):
                a = pairs.index((h, m))
                total += scores[a] + take[a, min(before, most)]
            total += stop[2 * h + side, min(len(modifiers), most)]
    return total


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_valency_in_the_dual_decomposition_equals_enumeration(forbidden, kind):
    certified = rejected = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, most = int(rng.integers(1, 6)), int(rng.integers(0, 4))
        arcs, _, scores = draw_problem(rng, n, ARC, kind, bool(seed % 2))
        take = draw_scores(rng, kind, (len(arcs.head), most + 1))
        stop = draw_scores(rng, kind, (2 * n + 2, most + 1))
        # Having none is always allowed, so that each automaton accepts something, though perhaps no tree.
        stop[:, 1:][rng.random((2 * n + 2, most)) < forbidden] = -np.inf
        options = DualOptions(max_iterations=300, rule=seed % 2, beta=float(rng.choice([0.001, 0.5, 1.0])))
        ours = parse_with_automata(arcs, valency_automata(arcs, take, stop), scores.arc, options)
        trees = trees_over(arcs)
        optimum = max(valency_score(arcs, take, stop, scores.arc, tree) for tree in trees)
        assert ours.heads.tolist() in trees
        mine = valency_score(arcs, take, stop, scores.arc, ours.heads.tolist())
        assert ours.score == pytest.approx(mine, rel=1e-9, abs=1e-9)
        assert ours.bound >= optimum - 1e-8
        assert ours.certified or not ours.agreed
        if ours.certified:
            assert ours.score == pytest.approx(optimum, abs=1e-7)
        certified += ours.certified
        rejected += ours.score == -np.inf
    assert certified >= 10
    assert forbidden or not rejected


def test_the_first_trees_may_all_be_rejected():
    """Every word likes the root best, which may have one only: the loop goes on until a tree is accepted."""
    arcs = full_arc_space(3)
    stop = np.zeros((8, 3))
    stop[1, 2] = -np.inf
    scores = np.where(arcs.head == 0, 5.0, 0.1 * arcs.head + 0.01 * arcs.modifier)
    for rule in RULES:
        ours = parse_with_automata(arcs, valency_automata(arcs, np.zeros((9, 3)), stop), scores, DualOptions(rule=rule))
        assert ours.heads.tolist().count(0) == 1
        assert np.isfinite(ours.score) and ours.score <= ours.bound


def test_without_an_accepted_tree_the_score_is_minus_infinity():
    """The root may have no modifier at all, so no tree is accepted, though each automaton accepts something."""
    arcs = full_arc_space(2)
    stop = np.zeros((6, 2))
    stop[1, 1] = -np.inf
    ours = parse_with_automata(arcs, valency_automata(arcs, np.zeros((4, 2)), stop), np.ones(4))
    assert naive_trees.is_tree(ours.heads.tolist())
    assert ours.score == -np.inf and not ours.certified and not ours.agreed


@pytest.mark.parametrize("seed", range(6))
def test_scores_that_do_not_look_at_the_count_are_arc_scores(seed):
    rng = np.random.default_rng(seed)
    arcs, _, scores = draw_problem(rng, 6, ARC, "continuous", bool(seed % 2))
    take = np.repeat(rng.standard_normal((len(arcs.head), 1)), 4, axis=1)
    automata = valency_automata(arcs, take, np.zeros((14, 4)))
    both = scores.arc + take[:, 0]
    assert best_paths(arcs, automata, scores.arc).values.sum() == pytest.approx(both[both > 0].sum())
    ours = parse_with_automata(arcs, automata, scores.arc, DualOptions(max_iterations=1000))
    exact = dual_decomposition(arcs, part_index(arcs, ARC), PartScores(both, np.zeros(0), np.zeros(0)), ARC)
    assert ours.score <= exact.score + 1e-9 <= ours.bound + 2e-9
    assert ours.bound == pytest.approx(exact.score, abs=1e-3)  # without higher-order scores the relaxation is tight


# -- oracles and errors ------------------------------------------------------------------------------------------------


def test_functions_are_tabulated_outward():
    arcs = arc_space([0, 0, 2, 2, 0], [1, 2, 1, 3, 3], 3)
    automata = tabulate_automata(arcs, 2, lambda h, s, t, m: 1000 * h + 100 * m + 10 * s + t, lambda q, s: 10 * q + s)
    assert moves(automata, 1)[0].tolist() == [[[100 * m, 100 * m + 1], [100 * m + 10, 100 * m + 11]] for m in (1, 2, 3)]
    assert moves(automata, 4)[0].tolist() == [[[2100, 2101], [2110, 2111]]]
    assert automata.final.tolist() == [10 * q + s for q in range(8) for s in (0, 1)]


@pytest.mark.parametrize("seed", range(5))
def test_a_lazy_oracle_says_what_a_fresh_one_says(seed):
    rng = np.random.default_rng(seed)
    arcs, automata, scores = draw_automata(rng, 6, "continuous", False, 0.0)
    lazy, multipliers = AutomataOracle(arcs, automata, scores), np.zeros(len(scores))
    lazy(multipliers)
    for _ in range(10):
        decoded, touched = lazy.decoded, rng.integers(len(scores), size=3)
        multipliers[touched] += rng.standard_normal(3)
        value, z, _ = lazy(multipliers)
        fresh_value, fresh_z, _ = AutomataOracle(arcs, automata, scores)(multipliers)
        assert (value, z.tolist()) == (fresh_value, fresh_z.tolist())
        assert lazy.decoded - decoded == len(np.unique(arcs.head[touched]))
    lazy(multipliers)
    assert lazy.decoded == decoded + len(np.unique(arcs.head[touched]))
    assert lazy.calls == 12


def test_errors_name_what_is_wrong():
    arcs = full_arc_space(2)
    automata = valency_automata(arcs, np.zeros((4, 2)), np.zeros((6, 2)))
    with pytest.raises(ValueError, match=r"take has shape \(4, 2\) and stop \(5, 2\); \(4, V \+ 1\) and \(6, V \+ 1\)"):
        valency_automata(arcs, np.zeros((4, 2)), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="n_states is 0; 6 positive integers are expected, or one for all"):
        head_automata(arcs, 0)
    with pytest.raises(ValueError, match=r"sibling has shape \(3,\); a score for each sibling part"):
        bigram_automata(arcs, part_index(arcs, SIBLING), np.zeros(3))
    with pytest.raises(ValueError, match=r"scores has shape \(3,\); one score for each of 4 arcs is expected"):
        best_paths(arcs, automata, np.zeros(3))
    with pytest.raises(ValueError, match=r"heads has shape \(2,\); \(3,\) is expected"):
        tree_paths(arcs, automata, np.zeros(4), [-1, 0])
    with pytest.raises(ValueError, match="max_iterations is 0; 1 or more"):
        parse_with_automata(arcs, automata, np.zeros(4), DualOptions(max_iterations=0))
    with pytest.raises(ValueError, match="rule is 2; 0 .paper. or 1 .polyak. is expected"):
        parse_with_automata(arcs, automata, np.zeros(4), DualOptions(rule=2))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_arc_scores_and_multipliers_must_be_finite(wrong):
    arcs = full_arc_space(2)
    automata, scores = head_automata(arcs, 1), np.array([0.0, wrong, 0.0, 0.0])
    for call in (
        lambda: parse_with_automata(arcs, automata, scores),
        lambda: best_paths(arcs, automata, scores),
        lambda: tree_paths(arcs, automata, scores, [-1, 0, 0]),
        lambda: AutomataOracle(arcs, automata, scores),
        lambda: TreeOracle(arcs, scores),
    ):
        with pytest.raises(ValueError, match=rf"^scores\[1\] is {wrong}; scores of arcs must be finite"):
            call()
    for oracle in (AutomataOracle(arcs, automata, np.zeros(4)), TreeOracle(arcs, np.zeros(4))):
        with pytest.raises(ValueError, match=rf"^multipliers\[1\] is {wrong}; scores of arcs must be finite"):
            oracle(scores)
        with pytest.raises(ValueError, match=r"^multipliers has shape \(3,\); one score for each of 4 arcs"):
            oracle(np.zeros(3))


def test_an_arc_that_automata_forbid_is_as_if_it_were_not_there():
    """Minus infinity as the paper's g: the best tree is that over the other arcs."""

    def parse(arcs, scores, g, forbidden):
        def move(h, s, t, m):
            return -np.inf if (h, m) in forbidden else g[h, s, t, m]

        automata = tabulate_automata(arcs, 3, move, lambda q, s: 0.1 * s)
        return parse_with_automata(arcs, automata, scores, DualOptions(max_iterations=1000))

    both = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arcs = full_arc_space(4)
        kept = (rng.random(len(arcs.head)) < 0.6) | (arcs.head == 0)
        scores, g = rng.standard_normal(len(kept)), rng.standard_normal((5, 3, 3, 5))
        forbidden = set(zip(arcs.head[~kept].tolist(), arcs.modifier[~kept].tolist(), strict=True))
        assert forbidden
        whole = parse(arcs, scores, g, forbidden)
        part = parse(arc_space(arcs.head[kept], arcs.modifier[kept], 4), scores[kept], g, set())
        assert {(int(h), m) for m, h in enumerate(whole.heads) if m} & forbidden == set()
        assert whole.score <= part.bound + 1e-9 and part.score <= whole.bound + 1e-9
        if whole.certified and part.certified:
            assert whole.score == pytest.approx(part.score, abs=1e-6)
            both += 1
    assert both >= 5


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_function_that_is_no_score_is_named(wrong):
    arcs = full_arc_space(2)
    automata = tabulate_automata(arcs, 1, lambda h, s, t, m: wrong if (h, m) == (0, 2) else -np.inf, lambda q, s: 0.0)
    with pytest.raises(ValueError, match=rf"automata.take\[1\] is {wrong}; numbers or minus infinity are expected"):
        parse_with_automata(arcs, automata, np.zeros(4))


def test_broken_automata_are_named():
    arcs = full_arc_space(2)
    automata = head_automata(arcs, 2)
    for name, message in (
        ("state_start", r"automata.state_start has shape \(6,\); \(7,\) is expected"),
        ("initial", r"automata.initial has shape \(11,\); \(12,\) is expected"),
        ("take", r"automata.take has shape \(15,\); \(16,\) is expected"),
    ):
        with pytest.raises(ValueError, match=message):
            check_automata(arcs, automata._replace(**{name: getattr(automata, name)[:-1]}))
    with pytest.raises(ValueError, match="automata.move_start is not that of such states"):
        check_automata(arcs, automata._replace(move_start=automata.move_start + 1))
    with pytest.raises(ValueError, match="each half-automaton has a state at least"):
        check_automata(arcs, automata._replace(state_start=automata.state_start * 0))
    for wrong in (np.nan, np.inf):
        automata.skip[5] = wrong
        with pytest.raises(ValueError, match=rf"automata.skip\[5\] is {wrong}; numbers or minus infinity"):
            check_automata(arcs, automata)
    automata.skip[5] = -np.inf
    automata.initial[:2] = -np.inf
    with pytest.raises(ValueError, match="the automaton of head 0 accepts no choice of modifiers"):
        parse_with_automata(arcs, automata, np.zeros(4))


def test_a_sentence_without_words():
    arcs = full_arc_space(0)
    automata = head_automata(arcs, 1)
    automata.final[:] = [2.0, 3.0]
    ours = parse_with_automata(arcs, automata, np.zeros(0))
    assert ours.heads.tolist() == [-1] and ours.score == ours.bound == 5.0 and ours.agreed
