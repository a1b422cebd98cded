"""Dual decomposition against enumeration, against the readable loop step by step, and the laws of its bounds."""

from functools import partial

import naive_dual
import naive_trees
import numpy as np
import pytest
from test_automata import draw_problem

from nonproj.dual.decomposition import DualOptions, dual_decomposition, dual_trace
from nonproj.dual.subgradient import APPENDIX_A, POLYAK
from nonproj.parts.space import arc_space_from_mask, full_arc_space, part_index, tree_score
from nonproj.relaxation.subgradient import AppendixA, Polyak, relax
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.trees.projective import maximum_projective_tree_sparse
from nonproj.types import ARC, GRANDPARENT, SIBLING, PartScores

RULES = {APPENDIX_A: AppendixA, POLYAK: Polyak}


def trees_over(arcs, single_root=False, projective=False):
    """All trees over the given arcs."""
    pairs = set(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    return [
        tree
        for tree in naive_trees.all_trees(len(arcs.start) - 2, single_root)
        if all((tree[m], m) in pairs for m in range(1, len(tree)))
        and (not projective or naive_trees.is_projective(tree))
    ]


def check_laws(decoded, arcs, index, scores, optimum):
    """Whatever else is tested: primal <= optimum <= dual, and a certificate means equality."""
    slack = 1e-8 * (1 + abs(optimum))
    assert naive_trees.is_tree(decoded.heads.tolist())
    assert tree_score(arcs, index, scores, decoded.heads) == pytest.approx(decoded.score, abs=1e-9)
    assert decoded.score <= optimum + slack
    assert decoded.score <= decoded.bound
    assert optimum <= decoded.bound + slack
    assert decoded.certified or not decoded.agreed
    if decoded.certified:
        assert decoded.score == pytest.approx(optimum, abs=1e-8)
        assert decoded.bound == pytest.approx(optimum, abs=1e-7)
    assert 0 <= decoded.recomputed <= 1


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("form", ["any", "single_root", "projective", "single_root projective"])
@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_equals_enumeration(model, form, kind):
    options = DualOptions(max_iterations=400, single_root="single_root" in form, projective="projective" in form)
    certified = tried = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 6)) if seed % 4 else 4
        arcs, index, scores = draw_problem(rng, n, model, kind, pruned=bool(seed % 2))
        trees = trees_over(arcs, options.single_root, options.projective)
        if not trees:
            with pytest.raises(ValueError, match="no tree|no projective tree"):
                dual_decomposition(arcs, index, scores, model, options)
            continue
        rule = seed % 3 == 0
        optimum = max(naive_trees.score_of_tree(tree, arcs, index, scores) for tree in trees)
        decoded, trace = dual_trace(arcs, index, scores, model, options._replace(rule=APPENDIX_A if rule else POLYAK))
        # Every dual value is a bound by itself, not only the one returned.
        assert (trace.dual >= optimum - 1e-8 * (1 + abs(optimum))).all()
        check_laws(decoded, arcs, index, scores, optimum)
        assert decoded.heads.tolist() in trees
        certified += decoded.certified
        tried += 1
    # Random scores make the relaxation loose (section 7.2), but not always; without this the test could be empty.
    assert tried >= 40
    assert certified >= (tried if model == ARC else 0.4 * tried)


@pytest.mark.parametrize("rule", [APPENDIX_A, POLYAK])
@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("beta, tau", [(0.001, 0.5), (0.5, 0.5), (0.3, 0.9), (0.5, 0.2)])
def test_kernel_equals_the_readable_loop_step_by_step(model, rule, beta, tau):
    longest = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 4, model, "continuous", pruned=bool(seed % 2))
        options = DualOptions(max_iterations=60, beta=beta, tau=tau, rule=rule)
        decoded, trace = dual_trace(arcs, index, scores, model, options)
        trees = trees_over(arcs)
        tree, automata, size = naive_dual.oracles(arcs, index, scores, model, beta, tau, trees)
        twin = relax(
            tree,
            automata,
            lambda heads, parts=(arcs, index, scores): naive_trees.score_of_tree(heads, *parts),
            size,
            rule=RULES[rule](),
            max_iterations=60,
        )
        assert decoded.iterations == twin.iterations
        np.testing.assert_allclose(trace.dual, twin.trace["dual"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(trace.primal, twin.trace["primal"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(trace.step, twin.trace["step"], rtol=1e-6, atol=1e-9)
        assert decoded.heads.tolist() == list(twin.solution)
        assert (decoded.agreed, decoded.certified) == (twin.agreed, twin.certified)
        assert decoded.bound == pytest.approx(twin.dual_bound)
        longest = max(longest, decoded.iterations)
    assert longest > 5


EXACT_RISES = 15


def exact_problem(rng, n, model, spread, form):
    """A problem over integers on which every step of appendix A is exact, for beta = 1/16 and tau = 1/2.

    720720 is divisible by 1 to 16, so the first gap over one more than the rises is an integer up to 15 rises; and 32
    parts it twice.  Where a step makes two choices tie, as such steps often do, they tie to the last bit.
    """
    mask = rng.random((n + 1, n + 1)) < rng.choice([0.5, 1.0])
    mask[np.arange(n), np.arange(1, n + 1)] = True  # a chain is a tree of every form
    arcs = arc_space_from_mask(mask)
    index = part_index(arcs, model)
    sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
    scores = PartScores(*[32 * 720720.0 * rng.integers(-spread, spread + 1, size) for size in sizes])
    scores = scores._replace(arc=rng.choice([1.0, 30.0]) * scores.arc)  # without the 30 most end without a certificate
    options = DualOptions(
        60, 1 / 16, 0.5, single_root="single_root" in form, projective="projective" in form, rule=APPENDIX_A
    )
    return arcs, index, scores, options


@pytest.mark.parametrize("spread", [2, 1000])
@pytest.mark.parametrize("form", ["any", "single_root", "projective", "single_root projective"])
@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_kernel_equals_the_eager_loop_bit_by_bit_where_arithmetic_is_exact(model, form, spread):
    """Ties included: the same duals, primals and steps, and just those automata decoded whose multipliers moved."""
    whole = lazy = longest = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        arcs, index, scores, options = exact_problem(rng, int(rng.integers(1, 7)), model, spread, form)
        decoded, trace = dual_trace(arcs, index, scores, model, options)
        automata = naive_dual.Automata(arcs, index, scores, model, options.beta, options.tau)
        decode = maximum_projective_tree_sparse if options.projective else maximum_arborescence_sparse
        twin = relax(
            naive_dual.Tree(arcs, scores, model, options, partial(decode, arcs, single_root=options.single_root)),
            automata,
            lambda heads, parts=(arcs, index, scores): naive_trees.score_of_tree(heads, *parts),
            len(arcs.head) * (2 if model == GRANDPARENT else 1),
            rule=AppendixA(),
            max_iterations=options.max_iterations,
        )
        rises = np.cumsum(np.diff(twin.trace["dual"], prepend=np.inf) > 0)
        exact = int(np.searchsorted(rises, EXACT_RISES, side="right")) + 1
        for name in ("dual", "primal", "step"):
            assert getattr(trace, name)[:exact].tolist() == twin.trace[name][:exact]
        assert trace.decoded[:exact].tolist() == automata.moved[:exact]
        if exact > twin.iterations:
            assert decoded.iterations == twin.iterations
            assert decoded.heads.tolist() == twin.solution
            assert decoded[1:5] == (twin.primal_value, twin.dual_bound, twin.agreed, twin.certified)
            whole += 1
        lazy += (trace.decoded < len(arcs.start) - 1).any()
        longest = max(longest, min(exact, decoded.iterations))
    assert whole >= 3
    assert lazy >= 5
    assert longest >= 15


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_the_first_iteration_decodes_all_automata_and_later_ones_fewer(model):
    long = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 9, model, "continuous", pruned=True)
        decoded, trace = dual_trace(arcs, index, scores, model, DualOptions(max_iterations=80))
        assert trace.decoded[0] == 10
        assert trace.decoded.max() <= 10
        assert decoded.recomputed == pytest.approx(trace.decoded.sum() / (10 * decoded.iterations))
        if decoded.iterations > 3:
            assert trace.decoded[1:].min() < 10
            long += 1
    assert long >= 5


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_without_higher_order_scores_it_is_the_arborescence(model, single_root, seed):
    rng = np.random.default_rng(seed)
    arcs = full_arc_space(8)
    index = part_index(arcs, model)
    arc = rng.standard_normal(len(arcs.head)) - 5.0 * (arcs.head == 0)
    scores = PartScores(arc, np.zeros(index.sibling_start[-1]), np.zeros(index.grandparent_start[-1]))
    # All of the scores with the arborescence: the automata then tie on everything, and the gap is closed at once.
    decoded = dual_decomposition(arcs, index, scores, model, DualOptions(beta=1.0, single_root=single_root))
    expected = maximum_arborescence_sparse(arcs, arc, single_root)
    assert decoded.certified
    assert decoded.iterations <= 20
    assert decoded.heads.tolist() == expected.tolist()


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_neither_beta_nor_tau_nor_the_rule_changes_a_certified_optimum(model):
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 8, model, "continuous", pruned=True)
        scores = scores._replace(arc=3 * scores.arc)
        best = [
            dual_decomposition(arcs, index, scores, model, DualOptions(1000, beta, tau, rule=rule))
            for beta, tau, rule in [(0.001, 1.0, APPENDIX_A), (0.5, 0.5, POLYAK), (0.9, 0.1, APPENDIX_A)]
        ]
        certified = [decoded for decoded in best if decoded.certified]
        assert len({tuple(decoded.heads.tolist()) for decoded in certified}) <= 1
        found += len(certified)
    assert found >= 20


@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_a_constant_on_all_arcs_into_a_word_only_shifts_the_score(model):
    both = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, 7, model, "continuous", pruned=True)
        scores = scores._replace(arc=4 * scores.arc)
        shifted = scores._replace(arc=scores.arc + 7.0 * (arcs.modifier == 3))
        before = dual_decomposition(arcs, index, scores, model, DualOptions(2000))
        after = dual_decomposition(arcs, index, shifted, model, DualOptions(2000))
        if before.certified and after.certified:
            assert before.heads.tolist() == after.heads.tolist()
            assert after.score == pytest.approx(before.score + 7.0)
            both += 1
        assert after.bound >= before.score + 7.0 - 1e-8
        assert before.bound >= after.score - 7.0 - 1e-8
    assert both >= 8


def test_early_stopping_returns_the_best_tree_seen():
    """With fewer iterations the score is that of the best tree among the same first iterations."""
    rng = np.random.default_rng(1)
    checked = 0
    for _ in range(20):
        arcs, index, scores = draw_problem(rng, 9, GRANDPARENT, "continuous", pruned=True)
        _, trace = dual_trace(arcs, index, scores, GRANDPARENT, DualOptions(max_iterations=40))
        for k in range(1, len(trace.dual)):
            decoded = dual_decomposition(arcs, index, scores, GRANDPARENT, DualOptions(max_iterations=k))
            assert decoded.score == pytest.approx(trace.primal[:k].max())
            assert decoded.bound == pytest.approx(trace.dual[:k].min())
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_certificates_are_true_at_the_settings_of_the_paper(model):
    """Nearly all of the arc scores with the automata (appendix A.2), and arcs that matter more than what is between."""
    certified = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        kind = "continuous" if seed % 2 else "integer"
        arcs, index, scores = draw_problem(rng, int(rng.integers(1, 5)), model, kind, bool(seed % 3))
        scores = scores._replace(arc=4 * scores.arc)
        optimum = max(naive_trees.score_of_tree(tree, arcs, index, scores) for tree in trees_over(arcs))
        decoded = dual_decomposition(arcs, index, scores, model, DualOptions(250, 0.001, rule=APPENDIX_A))
        check_laws(decoded, arcs, index, scores, optimum)
        certified += decoded.certified
    assert certified >= 50


@pytest.mark.parametrize("rule", [APPENDIX_A, POLYAK])
@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(10))
def test_a_tree_that_all_want_is_agreed_on_at_once(seed, model, rule):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    heads = np.array([-1, *[rng.integers(0, m) for m in range(1, n + 1)]])
    arcs = full_arc_space(n)
    index = part_index(arcs, model)
    higher = np.zeros(index.sibling_start[-1]), np.zeros(index.grandparent_start[-1])
    scores = PartScores(np.where(heads[arcs.modifier] == arcs.head, 1.0, -1.0), *higher)
    decoded = dual_decomposition(arcs, index, scores, model, DualOptions(beta=0.25, rule=rule))
    assert decoded.heads.tolist() == heads.tolist()
    assert decoded[1:] == (n, n, True, True, 1, 1.0, 0)


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(10))
def test_all_scores_times_a_power_of_two_take_the_same_steps(seed, model):
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, 8, model, "continuous", pruned=True)
    large = PartScores(*[1024.0 * values for values in scores])
    options = DualOptions(50, 0.001, tolerance=0.0, rule=APPENDIX_A)
    decoded, trace = dual_trace(arcs, index, scores, model, options)
    scaled, scaled_trace = dual_trace(arcs, index, large, model, options)
    assert scaled.heads.tolist() == decoded.heads.tolist()
    assert scaled[1:] == (1024.0 * decoded.score, 1024.0 * decoded.bound, *decoded[3:])
    assert scaled_trace.dual.tolist() == (1024.0 * trace.dual).tolist()
    assert scaled_trace.step.tolist() == (1024.0 * trace.step).tolist()


def test_ties_end_with_a_certificate():
    """All scores zero: every tree is best, and the first one is known to be."""
    for model in (SIBLING, GRANDPARENT):
        arcs = full_arc_space(5)
        index = part_index(arcs, model)
        zeros = PartScores(*[np.zeros(k) for k in (25, index.sibling_start[-1], index.grandparent_start[-1])])
        decoded = dual_decomposition(arcs, index, zeros, model)
        assert decoded.certified
        assert (decoded.score, decoded.bound) == (0.0, 0.0)


def test_errors_name_what_is_wrong():
    arcs = full_arc_space(2)
    index = part_index(arcs, SIBLING)
    good = PartScores(np.zeros(4), np.zeros(15), np.zeros(0))
    with pytest.raises(ValueError, match="model is 3; 0 .arc., 1 .sibling. or 2 .grandparent. is expected"):
        dual_decomposition(arcs, index, good, 3)
    with pytest.raises(ValueError, match=r"scores.arc has shape \(3,\); one score for each of 4 parts"):
        dual_decomposition(arcs, index, good._replace(arc=np.zeros(3)), SIBLING)
    with pytest.raises(ValueError, match=r"index.sibling_start is not that of model 0 \(arc\) over these arcs"):
        dual_decomposition(arcs, index, good, ARC)
    with pytest.raises(ValueError, match=r"scores.sibling\[4\] is nan; scores must be finite"):
        dual_decomposition(arcs, index, good._replace(sibling=np.where(np.arange(15) == 4, np.nan, 0.0)), SIBLING)


@pytest.mark.parametrize(
    "option, message",
    [
        ({"max_iterations": 0}, "max_iterations is 0; 1 or more is expected"),
        ({"beta": 1.5}, "beta is 1.5; a share from 0 to 1 is expected"),
        ({"tau": float("nan")}, "tau is nan; a share from 0 to 1 is expected"),
        ({"tolerance": -1e-9}, "tolerance is -1e-09; 0 or more is expected"),
        ({"rule": 2}, "rule is 2; 0 .paper. or 1 .polyak. is expected"),
    ],
)
def test_options_out_of_range_are_named(option, message):
    arcs = full_arc_space(2)
    index = part_index(arcs, SIBLING)
    with pytest.raises(ValueError, match=message):
        dual_decomposition(arcs, index, PartScores(np.zeros(4), np.zeros(15), np.zeros(0)), 1, DualOptions(**option))


@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
@pytest.mark.parametrize("projective", [False, True])
def test_a_sentence_without_words_is_the_root_alone(model, projective):
    arcs = full_arc_space(0)
    index = part_index(arcs, model)
    ends = np.full(index.sibling_start[-1], 0.25)
    decoded = dual_decomposition(
        arcs, index, PartScores(np.zeros(0), ends, np.zeros(0)), model, DualOptions(projective=projective)
    )
    assert decoded.heads.tolist() == [-1]
    assert (decoded.score, decoded.bound, decoded.agreed) == (ends.sum(), ends.sum(), True)


def test_a_first_gap_of_zero_ends_the_paper_s_rule_at_once():
    """The automata of all-zero scores choose nothing and no word agrees, yet the first tree is known to be best."""
    arcs = full_arc_space(5)
    for model in (SIBLING, GRANDPARENT):
        index = part_index(arcs, model)
        zeros = PartScores(*[np.zeros(k) for k in (25, index.sibling_start[-1], index.grandparent_start[-1])])
        decoded = dual_decomposition(arcs, index, zeros, model, DualOptions(rule=APPENDIX_A))
        assert decoded.certified
        assert not decoded.agreed
        assert decoded.iterations == 1
