"""Grammars, forests and the tagger against their definitions, and their combination against the optimum."""

import itertools
import math
import random

import naive_constituency as naive
import numpy as np
import pytest

from nonproj.errors import SizeError
from nonproj_systems.constituency import chart
from nonproj_systems.constituency.chart import TaggedWords, build_forest
from nonproj_systems.constituency.forest import best_derivation, marginals, pruned, restricted, variables_of
from nonproj_systems.constituency.grammar import (
    coarser,
    compile_grammar,
    count_rules,
    relative_frequencies,
    smoothed_by_parent,
)
from nonproj_systems.constituency.heads import head_child
from nonproj_systems.constituency.integer_program import joint_program
from nonproj_systems.constituency.joint import JointOptions, decode, joint_problem, objective
from nonproj_systems.constituency.parser import tree_of
from nonproj_systems.constituency.spans import probable_symbols
from nonproj_systems.constituency.symbols import TAG, Annotation, Rule, Symbol, rules_of, without_loops
from nonproj_systems.constituency.tagger import Trellis, best_tags, count_transitions, score_of
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Halving
from nonproj_systems.relaxation.subgradient import Subgradient

TAGS = ["NN", "VB", "IN"]
ROOT = Symbol("upper", "TOP")


def random_rules(rng, tied, annotation=None):
    """Return the rules of a few random trees, with random scores."""
    annotation = annotation or Annotation(vertical=1, tags=False, heads=False)
    trees = []
    for _ in range(3):
        tree = naive.random_tree(rng, rng.randint(2, 4), ["A", "B"])
        for i, tag in enumerate(naive.TAGS):
            tree = renamed(tree, tag, TAGS[i % 3])
        trees.append(without_loops(naive.Node("TOP", (tree,))))
    counts = count_rules(trees, annotation)
    return {rule: np.exp(float(-rng.randint(0, 3)) if tied else rng.uniform(-4, 0)) for rule in counts}


def renamed(tree, old, new):
    """Return a tree with another name of a tag."""
    if tree.word is not None:
        return naive.Node(new if tree.label == old else tree.label, word=tree.word)
    return naive.Node(tree.label, tuple(renamed(child, old, new) for child in tree.children))


def random_sentence(rng, grammar, n, tied):
    """Return words with random tags, and the naive twin's view of them."""
    tags = [i for i, symbol in enumerate(grammar.symbols) if symbol.kind == TAG]
    position, symbol, score, tagged = [], [], [], []
    for i in range(n):
        tagged.append({})
        for tag in sorted(rng.sample(tags, rng.randint(1, len(tags)))):
            value = float(-rng.randint(0, 3)) if tied else rng.uniform(-3, 0)
            tagged[i][grammar.symbols[tag]] = (len(position), value)
            position.append(i)
            symbol.append(tag)
            score.append(value)
    words = TaggedWords(np.array(position), np.array(symbol), np.arange(len(position)), np.array(score))
    return words, tagged


def random_trellis(rng, grammar, words, n, tied):
    """Return a trellis over the variables of words, with random scores."""
    names = sorted({symbol.label for symbol in grammar.symbols if symbol.kind == TAG})
    tag = np.array([names.index(grammar.symbols[symbol].label) for symbol in words.symbol])
    size = len(names) + 1
    draw = np.random.default_rng(rng.randint(0, 2**31))
    emission = draw.integers(-3, 1, len(tag)).astype(float) if tied else draw.uniform(-3, 0, len(tag))
    transition = draw.integers(-3, 1, (size,) * 3).astype(float) if tied else draw.uniform(-3, 0, (size,) * 3)
    first = np.searchsorted(words.position, np.arange(n + 1))
    return Trellis(first.astype(np.int64), tag.astype(np.int64), emission, transition)


def instances(count, seed, tied, enumerated=True):
    """Yield random grammars with sentences that they derive, and all trees of these, which are at most 100."""
    rng, found = random.Random(seed), 0
    while found < count:
        probabilities = random_rules(rng, tied)
        grammar = compile_grammar(probabilities)
        n = rng.randint(1, 4)
        words, tagged = random_sentence(rng, grammar, n, tied)
        forest = build_forest(grammar, n, words)
        if not enumerated and forest.n_items:
            found += 1
            yield rng, grammar, n, words, forest, []
        if not enumerated or derivations(forest) > 100:
            continue
        rules = [(tuple(rule.parent), tuple(map(tuple, rule.children)), np.log(p)) for rule, p in probabilities.items()]
        twin_words = [{tuple(symbol): entry for symbol, entry in word.items()} for word in tagged]
        everything = naive.all_trees(rules, tuple(ROOT), twin_words)
        assert (forest.n_items > 0) == (len(everything) > 0)
        if everything:
            found += 1
            yield rng, grammar, n, words, forest, everything


def derivations(forest):
    """Return the number of derivations of the root."""
    if not forest.n_items:
        return 0.0
    flat = forest._replace(score=np.zeros(forest.n_edges))
    return np.exp(marginals(flat, np.zeros(forest.variable.max() + 1))[0])


# -- symbols and grammars ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizontal", [0, 1, 2])
def test_rules_equal_their_definition(horizontal):
    rng = random.Random(horizontal)
    for _ in range(100):
        tree = naive.random_tree(rng, rng.randint(1, 9))
        found = [(tuple(rule.parent), tuple(map(tuple, rule.children)))
                 for rule in rules_of(tree, Annotation(horizontal=horizontal, heads=True))]  # fmt: skip
        assert sorted(found) == sorted(naive.markov_rules(tree, horizontal, head_child))


def test_smoothed_rules_are_probabilities():
    rng = random.Random(7)
    trees = [naive.Node("TOP", (naive.random_tree(rng, rng.randint(1, 6)),)) for _ in range(30)]
    counts = count_rules(map(without_loops, trees), Annotation())
    for probabilities in (relative_frequencies(counts), smoothed_by_parent(counts, 2.0)):
        totals = {}
        for rule, probability in probabilities.items():
            totals[rule.parent] = totals.get(rule.parent, 0.0) + probability
        assert np.allclose(list(totals.values()), 1.0)
        used = {child for rule in probabilities for child in rule.children if child.kind != TAG}
        assert used <= set(totals), "every symbol can be expanded"
    assert set(counts) < set(smoothed_by_parent(counts, 2.0))


def test_smoothing_mixes_both_estimates():
    trees = ["(S (NP (NN a)) (VP (VB b) (NP (NN c) (NN d))))", "(S (NP (NN a)) (VP (VB b)))"]
    counts = count_rules([naive_parse(text) for text in trees], Annotation())
    found = {(rule.parent, rule.children[0]): p for rule, p in smoothed_by_parent(counts, 3.0).items()}
    unary = Symbol("upper", "NP", "S"), Symbol("tag", "NN", "NP")
    assert found[unary] == pytest.approx((2 + 3 * 2 / 3) / (2 + 3))
    below_vp = Symbol("upper", "NP", "VP"), Symbol("tag", "NN", "NP")
    assert found[below_vp] == pytest.approx((0 + 3 * 2 / 3) / (1 + 3))


def naive_parse(text):
    """Return the tree of a text with short brackets."""
    from nonproj_systems.constituency.brackets import parse_tree

    return parse_tree(text)


# -- forests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [False, True])
def test_the_best_derivation_is_the_best_of_all_trees(tied):
    for rng, grammar, n, words, forest, everything in instances(120, 11, tied):
        bonus = np.array([float(rng.randint(-2, 2)) if tied else rng.uniform(-2, 2) for _ in words.position])
        value, edges = best_derivation(forest, bonus)
        scored = [(score + sum(bonus[v] for v in tags), tags, text) for score, tags, text in everything]
        assert value == pytest.approx(max(score for score, _, _ in scored))
        used = tuple(np.flatnonzero(variables_of(forest, edges, len(bonus))))
        text = str(tree_of(grammar, forest, edges, list(map(str, range(n)))))
        best = [(tags, text) for score, tags, text in scored if math.isclose(score, value, rel_tol=1e-6)]
        assert (used, text) in best, "the tree and its tags have the score that is reported"


@pytest.mark.parametrize("tied", [False, True])
def test_marginals_equal_sums_over_derivations(tied):
    for rng, _, _, words, forest, _ in instances(60, 12, tied):
        bonus = np.array([rng.uniform(-2, 2) for _ in words.position])
        total, found = marginals(forest, bonus)
        every, mass = naive.all_derivations(forest), np.zeros(forest.n_edges)
        weights = np.exp([score + sum(bonus[forest.variable[e]] for e in edges if forest.variable[e] >= 0)
                          for score, edges in every])  # fmt: skip
        for weight, (_, edges) in zip(weights, every, strict=True):
            mass[list(edges)] += weight
        assert total == pytest.approx(np.log(weights.sum()))
        assert np.allclose(found, mass / weights.sum())


def test_pruning_keeps_what_is_probable():
    for rng, _, _, words, forest, _ in instances(60, 13, False):
        bonus = np.zeros(len(words.position))
        threshold = 10 ** rng.uniform(-4, 0)
        small = pruned(forest, bonus, threshold)
        assert best_derivation(small, bonus)[0] == pytest.approx(best_derivation(forest, bonus)[0])
        wanted = marginals(forest, bonus)[1] >= threshold
        wanted[best_derivation(forest, bonus)[1]] = True
        expected = sorted(
            round(score, 9) for score, edges in naive.all_derivations(forest) if wanted[list(edges)].all()
        )
        assert sorted(round(score, 9) for score, _ in naive.all_derivations(small)) == expected
    assert restricted(forest, np.zeros(forest.n_edges, np.bool_)) is None


def test_spans_are_pruned_by_max_marginals():
    for rng, grammar, n, words, forest, _ in instances(60, 15, False):
        best = {}
        for score, edges in naive.all_derivations(forest):
            for e in edges:
                item = forest.items_of(e)
                key = tuple(forest.items[item, [1, 2, 0]])
                best[key] = max(best.get(key, -np.inf), score)
        threshold = 10 ** rng.uniform(-3, 0)
        kept = {key for key, score in best.items() if score >= max(best.values()) + np.log(threshold) - 1e-4}
        found = probable_symbols(grammar, n, words, threshold)
        assert set(zip(*map(np.ndarray.tolist, np.nonzero(found)), strict=True)) == {tuple(map(int, k)) for k in kept}
    assert probable_symbols(grammar, n, words._replace(score=np.full(len(words.score), -np.inf)), 0.5) is None


def test_a_coarse_grammar_restricts_symbols():
    rng, compared = random.Random(14), 0
    while compared < 60:
        counts = dict.fromkeys(random_rules(rng, False, Annotation(heads=True)), 1.0)
        coarse = compile_grammar(relative_frequencies(coarser(counts)))
        grammar = compile_grammar(relative_frequencies(counts), coarse)
        words, _ = random_sentence(rng, grammar, 3, False)
        free = build_forest(grammar, 3, words)
        if not 0 < derivations(free) <= 100:
            continue
        compared += 1
        number = {symbol: i for i, symbol in enumerate(coarse.symbols)}
        symbols = [number[Symbol(TAG, grammar.symbols[symbol].label)] for symbol in words.symbol]
        outline = build_forest(coarse, 3, words._replace(symbol=np.array(symbols)))
        allowed = np.zeros((3, 4, len(coarse.symbols)), np.bool_)
        allowed[tuple(outline.items[:, [1, 2, 0]].T)] = True
        same = build_forest(grammar, 3, words, allowed)
        scores = sorted(round(score, 9) for score, _ in naive.all_derivations(free))
        assert sorted(round(score, 9) for score, _ in naive.all_derivations(same)) == scores
        item = rng.randrange(outline.n_items - 1)
        allowed[tuple(outline.items[item, [1, 2, 0]])] = False
        fewer = build_forest(grammar, 3, words, allowed)
        keep = allowed[free.items[:, 1], free.items[:, 2], grammar.tables.coarse[free.items[:, 0]]]
        kept = [
            round(score, 9)
            for score, edges in naive.all_derivations(free)
            if all(keep[free.items_of(e)] for e in edges)
        ]
        found = naive.all_derivations(fewer) if fewer.n_items else []
        assert sorted(round(score, 9) for score, _ in found) == sorted(kept)


def test_sentences_that_are_too_long(monkeypatch):
    monkeypatch.setattr(chart, "MAX_CELLS", 10)
    grammar = compile_grammar(random_rules(random.Random(0), False))
    words, _ = random_sentence(random.Random(0), grammar, 4, False)
    message = f"a sentence of 4 words has 10 spans, too many for {len(grammar.symbols)} symbols; split it"
    with pytest.raises(SizeError, match=message):
        build_forest(grammar, 4, words)


# -- the tagger --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [False, True])
def test_the_best_tags_are_the_best_of_all(tied):
    draw = np.random.default_rng(21)
    for _ in range(200):
        n, size = draw.integers(1, 6), draw.integers(1, 4)
        candidates = [np.sort(draw.choice(size, draw.integers(1, size + 1), replace=False)) for _ in range(n)]
        first = np.concatenate([[0], np.cumsum([len(each) for each in candidates])])
        tag = np.concatenate(candidates)
        if tied:
            emission, extra = draw.integers(-3, 1, (2, len(tag))).astype(float)
            transition = draw.integers(-3, 1, (size + 1,) * 3).astype(float)
        else:
            emission, extra = draw.normal(size=(2, len(tag)))
            transition = draw.normal(size=(size + 1,) * 3)
        trellis = Trellis(first, tag, emission, transition)
        value, chosen = best_tags(trellis, extra)
        tables = [{tag[v]: emission[v] + extra[v] for v in range(first[i], first[i + 1])} for i in range(n)]
        every = [naive.tag_score(tags, tables, transition) for tags in itertools.product(*tables)]
        assert value == pytest.approx(max(every))
        assert naive.tag_score(tag[chosen], tables, transition) == pytest.approx(value)
        assert score_of(trellis, chosen) + extra[chosen].sum() == pytest.approx(value)


def test_transitions_equal_deleted_interpolation():
    rng = random.Random(22)
    for _ in range(10):
        size = rng.randint(2, 4)
        sentences = [[rng.randrange(size) for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(1, 12))]
        found, expected = count_transitions(sentences, size), naive.interpolated(sentences, size)
        for a, b, c in itertools.product(range(size + 1), repeat=3):
            assert np.exp(found[a, b, c]) == pytest.approx(expected(a, b, c))


# -- trees and tags jointly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [False, True])
def test_certified_trees_are_optimal(tied):
    """Enumeration = integer program = certified value; every dual value is an upper bound."""
    statuses = []
    for rng, grammar, n, words, forest, everything in instances(120, 31, tied):
        trellis = random_trellis(rng, grammar, words, n, tied)
        tables = [dict(zip(trellis.tag[a:b], trellis.emission[a:b], strict=True))
                  for a, b in itertools.pairwise(trellis.first)]  # fmt: skip
        optimum = max(
            score + naive.tag_score(trellis.tag[list(tags)], tables, trellis.transition)
            for score, tags, _ in everything
        )
        program = joint_program(forest, trellis)
        assert program.value == pytest.approx(optimum)
        assert objective(forest, trellis, program.edges) == pytest.approx(optimum)
        for options in (JointOptions(), JointOptions(max_iterations=2), JointOptions(max_iterations=2, max_nodes=0)):
            found = decode(forest, trellis, options)
            statuses.append(found.status)
            assert found.value <= optimum + 1e-9
            assert found.bound >= optimum - 1e-9
            assert min(found.root.trace.dual) >= optimum - 1e-9
            assert objective(forest, trellis, found.edges) == pytest.approx(found.value)
            assert found.certified or not options.max_nodes
            if found.certified:
                assert found.value == pytest.approx(optimum)
    assert {"agreed", "searched", "open"} <= set(statuses)


def test_the_fractional_example():
    """Appendix A of Rush et al. (2010): two trees and two taggings agree on average, but no tree with a tagging."""
    upper, lower, a, b = Symbol("upper", "X"), Symbol("lower", "X"), Symbol(TAG, "A"), Symbol(TAG, "B")
    free = [
        Rule(ROOT, (upper,)),
        Rule(upper, (lower,)),
        Rule(lower, (a, upper)),
        Rule(lower, (a, b)),
        Rule(lower, (b, a)),
    ]
    costly = [Rule(lower, (a, a)), Rule(lower, (b, b)), Rule(lower, (b, upper))]
    grammar = compile_grammar(dict.fromkeys(free, 1.0) | dict.fromkeys(costly, np.exp(-1.0)))
    places = [grammar.symbols.index(a), grammar.symbols.index(b)]
    words = TaggedWords(np.repeat(np.arange(3), 2), np.array(places * 3), np.arange(6), np.zeros(6))
    transition = np.full((3, 3, 3), -1.0)
    for before, middle, last in ("AAA", "ABB", "**A", "*AA", "*AB"):
        transition["AB*".index(before), "AB*".index(middle), "AB*".index(last)] = 0.0
    transition[:, :, 2] = 0.0
    trellis = Trellis(np.array([0, 2, 4, 6]), np.array([0, 1] * 3), np.zeros(6), transition)
    forest = build_forest(grammar, 3, words)
    relaxed = joint_program(forest, trellis, integer=False)
    assert (relaxed.value, relaxed.integral) == (pytest.approx(0.0), False)
    gap = decode(forest, trellis, JointOptions(max_nodes=0))
    assert (gap.status, gap.certified, gap.value) == ("open", False, -1.0)
    assert 0.0 <= gap.bound < 0.5
    found = decode(forest, trellis)
    assert (found.status, found.value) == ("searched", -1.0)
    assert -1.0 <= found.bound <= -1.0 + 1e-11, "rounded outward"
    assert found.nodes > 0


@pytest.mark.parametrize("tied", [False, True])
def test_the_dual_bound_is_that_of_the_linear_program(tied):
    """No dual value is below the optimum of the relaxation (Rush et al. 2010, theorem 6.1)."""
    tight = []
    for rng, grammar, n, words, forest, _ in instances(60, 32, tied, False):
        trellis = random_trellis(rng, grammar, words, n, tied)
        relaxed, optimum = joint_program(forest, trellis, integer=False), joint_program(forest, trellis)
        found = decode(forest, trellis, JointOptions(max_nodes=0))
        assert min(found.root.trace.dual) >= relaxed.value - 1e-9
        assert relaxed.value >= optimum.value - 1e-9
        tight.append(relaxed.value <= optimum.value + 1e-9)
        assert decode(forest, trellis).value == pytest.approx(optimum.value)
    assert any(tight)


def test_the_first_iterations_are_those_of_the_papers_algorithm():
    """Figure 1 of Rush et al. (2010) with the steps of its appendix B, written out."""
    for rng, grammar, n, words, forest, _ in instances(40, 33, False, False):
        trellis = random_trellis(rng, grammar, words, n, False)
        u, step, last, duals = np.zeros(len(trellis.tag)), 0.5, np.inf, []
        for _ in range(20):
            tree, derivation = best_derivation(forest, -u)
            tagging, chosen = best_tags(trellis, u)
            y, z = variables_of(forest, derivation, len(u)), np.zeros(len(u))
            z[chosen] = 1.0
            duals.append(tree + tagging)
            if (y == z).all():
                break
            step = step / 2 if duals[-1] > last else step
            last = duals[-1]
            u = u + step * (y - z)
        problem = joint_problem(forest, trellis)
        found = solve(problem, Subgradient(Halving(0.5)), limits=Limits(20))
        assert found.trace.dual == pytest.approx(duals)
