"""Model 1 with a dependency parser: certified trees equal the integer program and enumeration; errors; the command."""

import itertools
from unittest.mock import Mock

import naive_lexicalised as naive
import numpy as np
import pytest

from nonproj.dual.options import DualOptions
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import tree_score
from nonproj_systems.constituency.brackets import parse_tree
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.forest import best_derivation
from nonproj_systems.constituency.joint_dependencies import JointParser, make_instance
from nonproj_systems.constituency.lexicalised import LexicalisedParser
from nonproj_systems.constituency.split import read_split
from nonproj_systems.relaxation.branch_and_bound import branch_and_bound
from nonproj_systems.relaxation.primal import from_oracle
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Halving, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

pytest.importorskip("highspy")

TREES = [
    "(S (NP (NN dog)) (VP (VB see) (NP (NN cat))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NN tree)))) (VP (VB run)))",
    "(S (NP (NN cat)) (VP (VB run) (PP (IN in) (NP (DT the) (NN tree)))))",
    "(S (VP (VB see) (NP (NP (NN dog)) (PP (IN of) (NP (NN cat))))))",
    "(S (NP (NN dog) (NN cat)) (VP (VB see) (S (NP (NN tree)) (VP (VB run)))))",
]
TAGS = ("NN", "VB", "NN", "IN", "NN"), ("DT", "NN", "VB", "NN"), ("VB", "NN", "IN", "NN"), ("NN", "VB", "NN", "NN")
OPTIONS = DualOptions(projective=True, single_root=True)


@pytest.fixture(scope="module")
def parser():
    return LexicalisedParser(Collins.train(map(parse_tree, TREES), 1), (0.0,))


@pytest.fixture(scope="module")
def graphs(parser):
    return [parser.chart([tag.lower() for tag in tags], tags) for tags in TAGS]


@pytest.mark.parametrize("heads", [[0, 1, 1, 3], [0, 1, 2, 3]], ids=str)
def test_the_hard_combination_has_the_dependencies_of_the_parser_for_given_tags(heads):
    other = "(S (VP (VB see) (NP (NN cat)) (PP (IN in) (NP (NN tree)))))"
    parser = LexicalisedParser(Collins.train(map(parse_tree, [*TREES, other]), 1), (0.0,))
    dependencies = Mock()
    given = dependencies.with_request.return_value
    given.parse.return_value.decoded.heads = np.array(heads)
    found = JointParser(parser, dependencies).hard(["see", "dog", "in", "tree"], ["VB", "NN", "IN", "NN"])
    assert found.heads.tolist() == heads
    assert dependencies.with_request.call_args.kwargs == {"tags": "none"}


def random_instance(graphs, seed):
    """Return an instance with random scores: continuous for even seeds, small integers for odd ones."""
    rng = np.random.default_rng(seed)
    graph = graphs[seed // 2 % len(graphs)]
    n = len(TAGS[seed // 2 % len(graphs)])
    draw = (lambda size: rng.integers(-2, 3, size).astype(float)) if seed % 2 else (lambda size: rng.normal(size=size))
    graph = graph._replace(score=draw(len(graph.score)))
    allowed = rng.random((n + 1, n + 1)) < 0.9
    arcs = graph.variable[best_derivation(graph, np.zeros((n + 1) ** 2))[1]]
    allowed.ravel()[arcs[arcs >= 0]] = True
    types = "arc" if seed % 4 == 3 else "grandparent"
    return make_instance(graph, allowed, lambda parts: draw(len(parts)), types, OPTIONS)


def enumerate_values(instance):
    """Return the objectives of all derivations."""
    every = naive.derivations(instance.graph, instance.graph.n_items - 1)
    return [instance.objective(np.array(edges)) for edges in itertools.islice(every, 100_000)]


@pytest.mark.parametrize("block", range(10))
def test_certified_equals_integer_program_and_enumeration(graphs, block):
    from nonproj_systems.constituency.dependency_program import joint_optimum

    certified = 0
    for seed in range(22 * block, 22 * block + 22):
        instance = random_instance(graphs, seed)
        rule = Polyak() if seed % 4 > 1 else Halving()
        repair = from_oracle(instance.objective)
        found = solve(instance.problem, Subgradient(rule), repair=repair, limits=Limits(60))
        best = joint_optimum(instance)
        values = enumerate_values(instance) if seed % 5 == 0 else [best]
        if len(values) < 100_000:
            assert max(values) == pytest.approx(best, abs=1e-6)
        assert min(found.trace.dual) >= best - 1e-6  # weak duality, at every iteration
        assert found.primal_value <= best + 1e-6
        assert found.primal_value == pytest.approx(instance.objective(found.solution))
        if not found.certified:
            found = branch_and_bound(instance.problem, Subgradient(Polyak()), repair=repair, limits=Limits(60))
        else:
            certified += 1
        assert found.certified and found.primal_value == pytest.approx(best, abs=1e-6)
    assert certified >= 11


def test_the_linear_relaxation_lies_between_optimum_and_dual(graphs):
    from nonproj_systems.constituency.dependency_program import joint_optimum

    for seed in range(400, 412):
        instance = random_instance(graphs, seed)
        found = solve(instance.problem, Subgradient(Polyak()), repair=from_oracle(instance.objective))
        assert joint_optimum(instance) - 1e-6 <= joint_optimum(instance, integer=False)
        assert found.dual_bound >= joint_optimum(instance) - 1e-6


def test_oracles_are_exact_and_consistent(graphs):
    for seed in range(500, 540):
        instance = random_instance(graphs, seed)
        arcs, rng = instance.parts.arcs, np.random.default_rng(seed)
        scores = rng.normal(size=len(arcs.head))
        value, chosen, edges = instance.phrases(scores)
        heads = instance.tree(edges)
        np.testing.assert_array_equal(chosen, (heads[arcs.modifier] == arcs.head).astype(float))
        assert value == pytest.approx(instance.graph.score[edges].sum() + scores @ chosen)
        graph, extended = instance.graph, np.append(scores, 0.0)
        every = list(naive.derivations(graph, graph.n_items - 1))
        totals = [sum(graph.score[e] + extended[graph.variable[e]] for e in edges) for edges in every]
        assert value == pytest.approx(max(totals))
        value, chosen, heads = instance.dependencies(scores)
        total = instance.scores.copy()
        total[: len(scores)] += scores
        assert value == pytest.approx(tree_score(instance.parts, total, heads))
        trees = {tuple(instance.tree(np.array(edges))) for edges in every}
        assert value >= max(tree_score(instance.parts, total, np.array(tree)) for tree in trees) - 1e-9


def test_an_arc_of_one_side_is_forbidden_to_the_other(graphs):
    """Only the arcs of one tree are allowed: the joint problem has this tree alone."""
    graph, n = graphs[1], len(TAGS[1])
    allowed = np.zeros((n + 1, n + 1), np.bool_)
    heads = [2, 3, 0, 3]
    allowed[heads, np.arange(1, n + 1)] = True
    instance = make_instance(graph, allowed, lambda parts: np.zeros(len(parts)), "grandparent", OPTIONS)
    arcs = instance.parts.arcs
    assert sorted(zip(arcs.modifier.tolist(), arcs.head.tolist(), strict=True)) == list(enumerate(heads, 1))
    everything = np.ones((n + 1, n + 1), np.bool_)
    instance = make_instance(graph, everything, lambda parts: np.zeros(len(parts)), "arc", OPTIONS)
    assert len(instance.parts.arcs.head) < len(full_arc_space(n).head)
    assert make_instance(graph, np.zeros((n + 1, n + 1), np.bool_), lambda parts: None, "arc", OPTIONS) is None


def test_real_sentences(treebanks):
    """Real charts with random scores of dependencies: every certified value is the integer program's optimum."""
    from nonproj_systems.constituency.dependency_program import joint_optimum

    trees = read_split(treebanks / "wsj-brackets")["train"][:150]
    parser, rng = LexicalisedParser(Collins.train(trees), (1e-2,)), np.random.default_rng(0)
    chosen = [tree for tree in trees if 4 <= len(tree.words()) <= 12][:3]
    assert len(chosen) == 3
    for tree in chosen:
        graph, n = parser.chart(tree.words(), tree.tags()), len(tree.words())
        everything = np.ones((n + 1, n + 1), np.bool_)
        instance = make_instance(graph, everything, lambda parts: rng.normal(size=len(parts)), "grandparent", OPTIONS)
        found = solve(instance.problem, Subgradient(Halving()), repair=from_oracle(instance.objective))
        best = joint_optimum(instance)
        assert min(found.trace.dual) >= best - 1e-6 >= found.primal_value - 2e-6
        assert not found.certified or found.primal_value == pytest.approx(best, abs=1e-6)
        assert parser.tree(instance.graph, found.solution, tree.words(), tree.tags()).words() == tree.words()
