"""Joint decoding of tags and trees against enumeration and an integer program."""

from __future__ import annotations

import naive_joint
import naive_trees
import numpy as np
import pytest
from instances import seeds
from joint_problems import draw_joint
from problems import KINDS

from nonproj.dual.decoding import branch_and_bound
from nonproj.dual.options import APPENDIX_A, DEFAULTS, DualOptions
from nonproj_systems.joint_tags.chain import best_tags, max_marginals, new_chain_table
from nonproj_systems.joint_tags.decoding import decode_jointly
from nonproj_systems.joint_tags.oracles import joint_oracles
from nonproj_systems.joint_tags.space import TYPES, joint_problem, joint_score, joint_space, used_parts
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import OncePrimal, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

TRIPLES, FOURS = (*TYPES, "trisibling"), (*TYPES, "grandsibling", "trisibling")
SETS = [pytest.param(TYPES, id="second"), pytest.param(TRIPLES, id="trisibling"), pytest.param(FOURS, id="third")]
QUICK = [SETS[0], *(pytest.param(*each.values, id=each.id, marks=pytest.mark.thorough) for each in SETS[1:])]
"""The sets for tests that take long: every day, only the first."""

CASES = [pytest.param(DEFAULTS, id="polyak"), pytest.param(DualOptions(rule=APPENDIX_A, beta=0.3, tau=0.7), id="paper")]


def check_joint_laws(found, problem, optimum):
    """Assert the properties of every result: primal <= optimum <= dual, and a certificate means equality."""
    slack = 1e-8 * (1 + abs(optimum))
    found, tags = found
    assert naive_trees.is_tree(found.tree.tolist())
    assert joint_score(problem, found.tree, tags) == pytest.approx(found.score, abs=1e-8)
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
    for seed in range(16):
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
        loose, exact = decode_jointly(problem, options, 0), decode_jointly(problem, options)
        check_joint_laws(loose, problem, optimum)
        check_joint_laws(exact, problem, optimum)
        assert exact.decoded.certified
        assert exact.decoded.score == pytest.approx(optimum, abs=1e-7)
        certified, searched = certified + loose.decoded.certified, searched + (exact.decoded.nodes > 0)
        count += 1
    assert certified > count // 2
    assert searched > 0


@pytest.mark.parametrize("types", QUICK)
@pytest.mark.parametrize("most, count", [(2, 3), pytest.param(3, 2, marks=pytest.mark.thorough)])
def test_five_words_equal_enumeration(most, count, types):
    for seed in range(count):
        problem = draw_joint(np.random.default_rng(100 + seed), 5, "continuous", most=most, types=types)
        optimum, best = naive_joint.best_jointly(problem.space.first, problem.parts, problem.scores, problem.chain)
        found = decode_jointly(problem)
        check_joint_laws(found, problem, optimum)
        assert (tuple(found.decoded.tree.tolist()), tuple(found.tags.tolist())) in best


@pytest.mark.parametrize("types", QUICK)
def test_decoding_equals_the_integer_program(types):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n, kind = 5 + seed if types == TYPES else 4, "continuous" if seed % 3 else "integer"
        problem = draw_joint(rng, n, kind, most=2, chain_scale=0.5, types=types)
        space = problem.space
        program = naive_joint.integer_program(space.first, space.word, problem.parts, problem.scores, problem.chain)
        optimum = program.solve(("arc",))
        found = decode_jointly(problem)
        check_joint_laws(found, problem, optimum)
        assert found.decoded.certified


@pytest.mark.thorough
def test_eight_words_equal_the_integer_program():
    """With arcs that decide more than other parts, as in real sentences; else HiGHS takes minutes."""
    problem = draw_joint(np.random.default_rng(0), 8, "continuous", most=2, chain_scale=0.5)
    space = problem.space
    problem.scores[: len(space.arc)] *= 4.0
    program = naive_joint.integer_program(space.first, space.word, problem.parts, problem.scores, problem.chain)
    found = decode_jointly(problem)
    check_joint_laws(found, problem, program.solve(("arc",)))
    assert found.decoded.certified


@pytest.mark.parametrize("types", QUICK)
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


def test_tag_sequences_equal_enumeration():
    for seed in seeds(40):
        rng = np.random.default_rng(seed)
        n, kind = int(rng.integers(1, 6)), KINDS[seed % 2]
        problem = draw_joint(rng, n, kind)
        first, chain = problem.space.first, problem.chain
        naive = naive_joint.tag_max_marginals(first, chain)
        np.testing.assert_allclose(max_marginals(chain, first), naive)
        tags, own = np.empty(n + 1, np.int32), chain.own.copy()
        value = best_tags(chain, own, first, new_chain_table(chain), tags)
        assert value == pytest.approx(naive[0])
        assert naive_joint.chain_score(tags.tolist(), first, chain) == pytest.approx(value)
        several = np.flatnonzero(np.diff(first) > 1)
        if len(several):
            i = several[0]
            own[first[i] + tags[i]], excluded = -np.inf, tags[i]
            value = best_tags(chain, own, first, new_chain_table(chain), tags)
            others = [t for t in naive_joint.all_tags(first) if t[i] != excluded]
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
    return solve(relaxed, Subgradient(OncePrimal(rule)), repair=made.repair, limits=limits)


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
        assert found.decoded.tree.tolist() == alone.tree.tolist()
        assert found.decoded.score == pytest.approx(alone.score)
        assert found.decoded.bound == pytest.approx(alone.bound)
