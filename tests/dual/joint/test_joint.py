"""Joint decoding of tags and trees: compiled code against enumeration, an integer program and `nonproj.relaxation`."""

from __future__ import annotations

import naive_joint
import naive_trees
import numpy as np
import pytest
from problems import KINDS, draw_joint

from nonproj.dual.decoding import FIRST_NODE, branch_and_bound
from nonproj.dual.joint.chain import max_marginals
from nonproj.dual.joint.decoding import decode_jointly, k_best_jointly
from nonproj.dual.joint.oracles import joint_oracles
from nonproj.dual.joint.space import TYPES, joint_problem, joint_score, joint_space, restrict_problem, used_parts
from nonproj.dual.options import APPENDIX_A, DEFAULTS, SEARCH, DualOptions
from nonproj.dual.subgradient import Trace
from nonproj.dual.tags import best_tags, new_chain_table
from nonproj.relaxation.problem import Problem
from nonproj.relaxation.solver import Limits, solve
from nonproj.relaxation.steps import AppendixA, Polyak
from nonproj.relaxation.subgradient import Subgradient

TRIPLES, FOURS = (*TYPES, "trisibling"), (*TYPES, "grandsibling", "trisibling")
SETS = [pytest.param(TYPES, id="second"), pytest.param(TRIPLES, id="trisibling"), pytest.param(FOURS, id="third")]
CASES = [pytest.param(DEFAULTS, id="polyak"), pytest.param(DualOptions(rule=APPENDIX_A, beta=0.3, tau=0.7), id="paper")]


def check_joint_laws(found, problem, optimum):
    """Assert the properties of every result: primal <= optimum <= dual, and a certificate means equality."""
    slack = 1e-8 * (1 + abs(optimum))
    assert naive_trees.is_tree(found.tree.tolist())
    assert joint_score(problem, found.tree, found.tags) == pytest.approx(found.score, abs=1e-8)
    assert found.score <= optimum + slack
    assert optimum <= found.bound + slack
    assert found.score <= found.bound
    assert found.certified or not found.agreed
    if found.certified:
        assert found.score == pytest.approx(optimum, abs=1e-7)
        assert found.bound == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", CASES)
def test_decoding_equals_enumeration(options, kind):
    certified, searched, count = 0, 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, int(rng.integers(1, 5)), kind, pruned=bool(seed % 2))
        space, single = problem.space, seed % 5 == 0
        options = options._replace(single_root=single, projective=seed % 7 == 0)
        arguments = space.first, problem.parts, problem.scores, problem.chain
        optimum, _ = naive_joint.best_jointly(*arguments, single, options.projective)
        if optimum == -np.inf:
            with pytest.raises(ValueError, match="no tree"):
                decode_jointly(problem, options)
            continue
        loose, exact = decode_jointly(problem, options, FIRST_NODE), decode_jointly(problem, options)
        check_joint_laws(loose, problem, optimum)
        check_joint_laws(exact, problem, optimum)
        assert exact.certified
        assert exact.score == pytest.approx(optimum, abs=1e-7)
        certified, searched, count = certified + loose.certified, searched + (exact.nodes > 0), count + 1
    assert certified > count // 2
    assert searched > 0


@pytest.mark.parametrize("types", SETS)
@pytest.mark.parametrize("most, seeds", [(2, 3), (3, 2)])
def test_five_words_equal_enumeration(most, seeds, types):
    for seed in range(seeds):
        problem = draw_joint(np.random.default_rng(100 + seed), 5, "continuous", most=most, types=types)
        optimum, best = naive_joint.best_jointly(problem.space.first, problem.parts, problem.scores, problem.chain)
        found = decode_jointly(problem)
        check_joint_laws(found, problem, optimum)
        assert (tuple(found.tree.tolist()), tuple(found.tags.tolist())) in best


@pytest.mark.parametrize("types", SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_at_every_iteration(kind, types):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, 4, kind, types=types)
        optimum, _ = naive_joint.best_jointly(problem.space.first, problem.parts, problem.scores, problem.chain)
        trace = Trace(np.empty(250), np.empty(250), np.empty(250), np.empty(250, np.int32))
        [found] = k_best_jointly(problem, 1, DEFAULTS, FIRST_NODE, 0.0, trace)
        dual, primal = trace.dual[: found.iterations], trace.primal[: found.iterations]
        assert (dual >= optimum - 1e-8).all()
        assert (primal <= optimum + 1e-8).all()
        assert dual.min() == pytest.approx(found.bound)
        assert primal.max() == pytest.approx(found.score)


@pytest.mark.parametrize("types", SETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.0, 1.5])
def test_the_k_best_trees_with_their_best_tags_equal_enumeration(price, kind, types):
    """Each tree once, with tags that give it its highest score; non-projective trees pay the price."""
    tried = searched = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, int(rng.integers(2, 5)), kind, most=2, pruned=bool(seed % 2), types=types)
        options = DualOptions(single_root=seed % 5 == 0, projective=seed % 7 == 0, max_iterations=(3, 250)[seed % 2])
        best = best_by_tree(problem, options, price)
        if not best:
            with pytest.raises(ValueError, match="no tree"):
                k_best_jointly(problem, 3, options)
            continue
        k = int(rng.choice([1, 3, 8, 1000]))
        found = k_best_jointly(problem, k, options, SEARCH._replace(node_iterations=1 + seed), price)
        np.testing.assert_allclose([each.score for each in found], sorted(best.values())[::-1][:k], atol=1e-7)
        assert len({tuple(each.tree) for each in found}) == len(found) == min(k, len(best))
        for each in found:
            paid = 0.0 if naive_trees.is_projective(each.tree.tolist()) else price
            assert each.certified and each.score <= each.bound <= each.score + 1e-6
            assert each.score == pytest.approx(best[tuple(each.tree.tolist())], abs=1e-7)
            assert joint_score(problem, each.tree, each.tags) - paid == pytest.approx(each.score, abs=1e-7)
        tried, searched = tried + 1, searched + (found[0].nodes > 0)
    assert tried >= 20 and searched >= 5


def best_by_tree(problem, options, price):
    """The value of each tree with its best tags, by enumeration."""
    score, best = naive_joint.scorer(problem.space.first, problem.parts, problem.scores, problem.chain), {}
    for heads in naive_trees.all_trees(len(problem.space.first) - 2, options.single_root):
        projective = naive_trees.is_projective(heads)
        if projective or not options.projective:
            highest = score(heads).max()
            if highest > -np.inf:
                best[tuple(heads)] = highest - (0.0 if projective else price)
    return best


def test_without_work_left_joint_trees_are_returned_under_a_bound():
    short, few = 0, SEARCH._replace(work_per_word=20_000)
    for seed in range(8):
        problem = draw_joint(np.random.default_rng(seed), 7, "continuous", most=2)
        exact, found = k_best_jointly(problem, 5), k_best_jointly(problem, 5, DEFAULTS, few)
        assert 1 <= len(found) <= 5
        for each, best in zip(found, exact, strict=False):
            assert each.score <= best.score + 1e-7 and each.bound >= best.score - 1e-7
            assert not each.certified or each.score == pytest.approx(best.score, abs=1e-7)
        short += not all(each.certified for each in found)
    assert short >= 2


@pytest.mark.parametrize("types", SETS)
def test_decoding_equals_the_integer_program(types):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, kind = 6 + seed if types == TYPES else 5, "continuous" if seed % 3 else "integer"
        problem = draw_joint(rng, n, kind, most=2, chain_scale=0.5, types=types)
        space = problem.space
        program = naive_joint.integer_program(space.first, space.word, problem.parts, problem.scores, problem.chain)
        optimum = program.solve(("arc",))
        found = decode_jointly(problem, DEFAULTS, SEARCH._replace(work_per_word=10**7))
        check_joint_laws(found, problem, optimum)
        assert found.certified


def test_ten_words_equal_the_integer_program():
    """With arcs that decide more than other parts, as in real sentences; else HiGHS takes minutes."""
    problem = draw_joint(np.random.default_rng(0), 10, "continuous", most=2, chain_scale=0.5)
    space = problem.space
    problem.scores[: len(space.arc)] *= 4.0
    program = naive_joint.integer_program(space.first, space.word, problem.parts, problem.scores, problem.chain)
    found = decode_jointly(problem, DEFAULTS, SEARCH._replace(work_per_word=10**7))
    check_joint_laws(found, problem, program.solve(("arc",)))
    assert found.certified and found.nodes > 0


@pytest.mark.parametrize("types", SETS)
def test_integer_program_equals_enumeration(types):
    for seed in range(6):
        problem = draw_joint(np.random.default_rng(seed), 4, KINDS[seed % 2], types=types)
        space = problem.space
        program = naive_joint.integer_program(space.first, space.word, problem.parts, problem.scores, problem.chain)
        optimum, _ = naive_joint.best_jointly(space.first, problem.parts, problem.scores, problem.chain)
        assert program.solve(("arc",)) == pytest.approx(optimum, abs=1e-7)


@pytest.mark.parametrize("types", SETS)
def test_scores_of_all_tags_equal_the_definition(types):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, 3, KINDS[seed % 2], pruned=bool(seed % 3), types=types)
        first, find = problem.space.first, naive_joint.part_finder(problem.parts)
        score = naive_joint.scorer(first, problem.parts, problem.scores, problem.chain)
        for heads in naive_trees.all_trees(3):
            expected = [
                naive_joint.joint_score(heads, tags, first, find, problem.scores, problem.chain)
                for tags in naive_joint.all_tags(first)
            ]
            np.testing.assert_allclose(score(heads).ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("types", SETS)
def test_scores_and_parts_equal_the_definition(types):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, 4, "continuous", pruned=False, types=types)
        first, find = problem.space.first, naive_joint.part_finder(problem.parts)
        trees = naive_trees.all_trees(4)
        heads = trees[rng.integers(len(trees))]
        tags = [int(rng.integers(k)) for k in np.diff(first)]
        expected = naive_joint.joint_score(heads, tags, first, find, problem.scores, problem.chain)
        assert joint_score(problem, heads, tags) == pytest.approx(expected)
        numbers = [find(kind, part) for kind, part in naive_joint.tagged_parts(heads, tags, first, find.names)]
        assert sorted(used_parts(problem, heads, tags).tolist()) == sorted(numbers)


def test_parts_of_two_candidates_of_a_word_are_forbidden_and_no_others():
    problem = draw_joint(np.random.default_rng(3), 3, "continuous", pruned=False)
    first, word, find = problem.space.first, problem.space.word, naive_joint.part_finder(problem.parts)
    used = set()
    for heads in naive_trees.all_trees(3):
        for tags in naive_joint.all_tags(first):
            used |= {find(kind, part) for kind, part in naive_joint.tagged_parts(heads, tags, first, find.names)}
    assert np.isfinite(problem.scores[sorted(used)]).all()
    forbidden = np.flatnonzero(np.isneginf(problem.scores))
    assert len(forbidden) > 0
    assert used.isdisjoint(forbidden.tolist())
    assert word[0] == 0


@pytest.mark.parametrize("types", SETS)
def test_restriction_keeps_the_solutions_over_the_kept_arcs(types):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, 3, "continuous", pruned=False, types=types)
        space, find = problem.space, naive_joint.part_finder(problem.parts)
        keep = rng.random(len(space.arc)) < 0.7
        restricted = restrict_problem(problem, keep)
        scores = {}
        for heads in naive_trees.all_trees(3):
            for tags in naive_joint.all_tags(space.first):
                listed = naive_joint.tagged_parts(heads, tags, space.first, find.names)
                if all(keep[find(kind, part)] for kind, part in listed if kind == "arc"):
                    scores[tuple(heads), tags] = joint_score(problem, heads, tags)
        if restricted is None:
            assert not scores
            continue
        fewer, numbers = restricted
        assert keep[numbers].all()
        for (heads, tags), score in scores.items():
            assert joint_score(fewer, heads, tags) == pytest.approx(score)


def test_tag_sequences_equal_enumeration():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, kind = int(rng.integers(1, 6)), KINDS[seed % 2]
        problem = draw_joint(rng, n, kind)
        first, chain = problem.space.first, problem.chain
        naive = naive_joint.tag_max_marginals(first, chain)
        np.testing.assert_allclose(max_marginals(chain, first), naive)
        tags, allowed = np.empty(n + 1, np.int32), np.ones(len(chain.own), np.bool_)
        value = best_tags(chain, chain.own, first, allowed, new_chain_table(chain), tags)
        assert value == pytest.approx(naive[0])
        assert naive_joint.chain_score(tags.tolist(), first, chain) == pytest.approx(value)
        several = np.flatnonzero(np.diff(first) > 1)
        if len(several):
            i = several[0]
            allowed[first[i] + tags[i]] = False
            value = best_tags(chain, chain.own, first, allowed, new_chain_table(chain), tags)
            others = [t for t in naive_joint.all_tags(first) if allowed[first[i] + t[i]]]
            assert value == pytest.approx(max(naive_joint.chain_score(t, first, chain) for t in others))


def test_wrong_problems_are_refused():
    rng = np.random.default_rng(0)
    problem = draw_joint(rng, 3, "continuous")
    space, parts, chain = problem.space, problem.parts, problem.chain
    with pytest.raises(ValueError, match="4 positive integers are expected, 1 for the root"):
        joint_space(space.words, [2, 1, 1, 1])
    with pytest.raises(ValueError, match="finite scores are expected, one for each part"):
        joint_problem(space, parts, np.full(len(parts), np.nan), chain)
    with pytest.raises(ValueError, match=r"chain\.own has shape"):
        joint_problem(space, parts, np.zeros(len(parts)), chain._replace(own=np.zeros(1)))


def library(problem, options, rule):
    """The joint problem solved by the relaxation library."""
    made = joint_oracles(problem, options)
    relaxed = Problem(made.oracles, made.n_variables, made.views)
    limits = Limits(options.max_iterations, options.tolerance)
    return solve(relaxed, Subgradient(rule), repair=made.repair, limits=limits)


@pytest.mark.parametrize("types", SETS)
@pytest.mark.parametrize("options", CASES)
def test_the_compiled_loop_equals_the_library_step_by_step(options, types):
    seeds, sizes = (8, 4) if types == TYPES else (2, 2)  # the library takes seconds for parts of third order
    for seed in range(seeds):
        n = 2 + seed % sizes
        problem = draw_joint(np.random.default_rng(seed), n, "continuous", types=types)
        trace = Trace(np.empty(60), np.empty(60), np.empty(60), np.empty(60, np.int32))
        options = options._replace(max_iterations=60)
        [found] = k_best_jointly(problem, 1, options, FIRST_NODE, 0.0, trace)
        slow = library(problem, options, AppendixA() if options.rule == APPENDIX_A else Polyak())
        assert slow.iterations == found.iterations
        for name in ("dual", "primal", "step"):
            np.testing.assert_allclose(getattr(trace, name)[: found.iterations], slow.trace[name], atol=1e-9)
        assert (slow.agreed, slow.certified) == (found.agreed, found.certified)
        assert slow.primal_value == pytest.approx(found.score)
        assert slow.dual_bound == pytest.approx(found.bound)
        assert slow.solution[0].tolist() == found.tree.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_bounds_the_optimum_at_every_iteration(kind):
    for seed in range(8):
        problem = draw_joint(np.random.default_rng(seed), 3, kind)
        optimum, _ = naive_joint.best_jointly(problem.space.first, problem.parts, problem.scores, problem.chain)
        found = library(problem, DEFAULTS._replace(max_iterations=40), Polyak())
        assert (np.array(found.trace["dual"]) >= optimum - 1e-8).all()
        assert (np.array(found.trace["primal"]) <= optimum + 1e-8).all()
        if found.certified:
            assert found.primal_value == pytest.approx(optimum, abs=1e-7)


def test_one_candidate_each_is_the_parser_alone():
    for seed in range(10):
        problem = draw_joint(np.random.default_rng(seed), 6, "continuous", most=1, chain_scale=0.0)
        finite = np.where(np.isfinite(problem.scores), problem.scores, 0.0)  # a grandparent below its grandchild
        alone = branch_and_bound(problem.parts, finite)
        found = decode_jointly(problem)
        assert found.tree.tolist() == alone.tree.tolist()
        assert found.score == pytest.approx(alone.score)
        assert found.bound == pytest.approx(alone.bound)
