"""Exact decoding of phrase-based translation: equal to its twin, to the integer program and to enumeration."""

import naive_translation
import numpy as np
import pytest
from instances import seeds
from translations import draw_problem

from nonproj_systems.relaxation.problem import Problem, equal_to
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Decaying
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.translation import decoding, graph, instance, language_model, program, refinement, stack, template

KINDS = ("continuous", "integer")


def for_seeds(count):
    """Run a check of (seed, kind) for many seeds, at most twenty in one test."""

    def decorate(check):
        @pytest.mark.parametrize("kind", KINDS)
        @pytest.mark.parametrize("first", seeds(count)[::20])
        def test(first, kind):
            for seed in seeds(count)[first : first + 20]:
                check(seed, kind)

        return test

    return decorate


def draw(seed, kind, most=5):
    """A random problem, its twin's arguments, and scores of source words."""
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(1, most + 1))
    sizes = n_words, int(rng.integers(0, 8))
    problem, twin = draw_problem(rng, kind, *sizes, limit=int(rng.integers(0, 4)))
    scores = rng.integers(-3, 4, n_words).astype(float) if kind == "integer" else 2 * rng.standard_normal(n_words)
    return rng, problem, twin, scores


def best(problem, found, scores):
    """The maximum and the best derivation of a graph; minus infinity and None if none exists."""
    if not len(found.source):
        return -np.inf, None
    bonus = graph.phrase_bonus(problem.start, problem.end, scores)
    value, counts, derivation = graph.best_derivation(found, bonus, problem.start, problem.end, problem.n_words)
    assert (problem.count(derivation) == counts).all()
    assert instance.score_derivation(problem, derivation) + scores @ counts == pytest.approx(value, abs=1e-9)
    return value, derivation


def same(left, right):
    return left == right or left == pytest.approx(right, abs=1e-9)


@for_seeds(100)
def test_graphs_equal_the_twin(seed, kind):
    rng, problem, twin, scores = draw(seed, kind)
    base, n_words = template.make_graph(problem), problem.n_words
    value, derivation = best(problem, base, scores)
    assert value == pytest.approx(naive_translation.best_relaxed(*twin, scores=scores.tolist()), abs=1e-9)
    score = naive_translation.score_derivation(twin[1], derivation, *twin[2:])
    assert instance.score_derivation(problem, derivation) == pytest.approx(score, abs=1e-9)
    words = sorted(rng.choice(n_words, int(rng.integers(0, n_words + 1)), replace=False).tolist())
    spans = bool(rng.integers(2))
    tighter = refinement.refine(base, problem, words, spans, scores)
    found = naive_translation.best_relaxed(*twin, scores=scores.tolist(), counted=words, spans=spans)
    assert same(best(problem, tighter, scores)[0], found)


@for_seeds(100)
def test_pruning_keeps_what_is_as_good(seed, kind):
    _, problem, twin, scores = draw(seed, kind)
    optimum, base = naive_translation.best_valid(*twin), template.make_graph(problem)
    threshold = optimum + scores.sum() - 1e-9
    bonus = graph.phrase_bonus(problem.start, problem.end, scores)
    pruned = graph.prune(base, bonus, threshold)
    assert len(pruned.source) <= len(base.source)
    assert same(best(problem, pruned, scores)[0], best(problem, base, scores)[0])
    for start in (base, pruned, refinement.refine(pruned, problem, [0], True, scores, threshold)):
        exact = refinement.refine(start, problem, range(problem.n_words), False, scores, threshold)
        assert same(best(problem, exact, np.zeros(problem.n_words))[0], optimum)
    assert refinement.refine(base, problem, [0], max_arcs=len(base.source) // 50) is None


@for_seeds(100)
def test_wide_stacks_find_the_optimum(seed, kind):
    _, problem, twin, _ = draw(seed, kind)
    optimum = naive_translation.best_valid(*twin)
    for beam in (1, 100_000):
        found = stack.decode_by_stacks(problem, beam)
        assert len(found) or optimum == -np.inf or beam == 1
        if len(found):
            assert (problem.count(found) == 1).all()
            value = instance.score_derivation(problem, found)
            assert value <= optimum + 1e-9 and (beam == 1 or value == pytest.approx(optimum, abs=1e-9))


@for_seeds(100)
def test_decoding_equals_enumeration_and_the_integer_program(seed, kind):
    """Half of the problems without beam search; two thirds with few iterations, so that tightening is needed."""
    _, problem, twin, _ = draw(seed, kind)
    optimum = naive_translation.best_valid(*twin)
    beam, iterations = (0, 10)[seed % 2], (100, 10, 10)[seed % 3]
    options = decoding.DecodingOptions(iterations=iterations, beam=beam)
    found = decoding.decode(problem, options)
    for result in found.rounds:
        assert min(result.trace.dual) >= optimum - 1e-9  # weak duality at every iteration
        assert max(result.trace.primal) <= optimum + 1e-9
    if optimum == -np.inf:
        assert (found.status, found.derivation, found.value) == (decoding.INFEASIBLE, [], -np.inf)
        return
    assert found.certified and found.status == decoding.EXACT
    assert found.value == pytest.approx(optimum, abs=1e-9) and found.bound == pytest.approx(optimum, abs=1e-8)
    assert naive_translation.score_derivation(twin[1], found.derivation, *twin[2:]) == pytest.approx(optimum, abs=1e-9)
    assert (problem.count(found.derivation) == 1).all()
    pytest.importorskip("highspy")
    status, value, chosen = program.solve_program(problem, template.make_graph(problem))
    assert (status, value) == ("optimal", pytest.approx(optimum, abs=1e-6))
    assert (problem.count(chosen) == 1).all()


@for_seeds(40)
def test_the_dual_does_not_fall_below_the_linear_program(seed, kind):
    """Without tightening the bound tends to the optimum of the linear program over the same graph."""
    pytest.importorskip("highspy")
    _, problem, _, _ = draw(seed, kind)
    base = template.make_graph(problem)
    status, value, _ = program.solve_program(problem, base, integer=False)
    found = decoding.decode(problem, decoding.DecodingOptions(iterations=400, patience=400, rounds=0))
    if status == "optimal":
        assert value - 1e-6 <= min(found.rounds[0].trace.dual) <= value + 0.2 * (1 + abs(value))


@for_seeds(40)
def test_the_library_solves_the_twin_to_the_same_values(seed, kind):
    """Iteration by iteration, with the same steps: the compiled oracle and its twin."""
    _, problem, twin, _ = draw(seed, kind, most=4)
    n_words = problem.n_words
    rows, limits = equal_to(np.eye(n_words), np.ones(n_words)), Limits(15)
    oracle = decoding.Derivations(problem, template.make_graph(problem))

    def naive(scores):
        """The twin's maximum, with counts and derivation of the compiled oracle, as ties may be broken otherwise."""
        value, counts, derivation = oracle(scores)
        expected = naive_translation.best_relaxed(*twin, scores=scores.tolist())
        own = naive_translation.score_derivation(twin[1], derivation, *twin[2:]) + scores @ counts
        assert own == pytest.approx(expected, abs=1e-9)
        return expected, counts, derivation

    runs = [
        solve(Problem([each], n_words, constraints=rows), Subgradient(Decaying(1.0)), limits=limits)
        for each in (oracle, naive)
    ]
    assert np.allclose(runs[0].trace.dual, runs[1].trace.dual, atol=1e-9)


# -- the tutorial's example --------------------------------------------------------------------------------------------

SENTENCE = ["wir", "müssen", "auch", "diese", "kritik", "ernst", "nehmen"]
LEXICON = [
    (0, 2, "we must"),
    (0, 3, "we must also"),
    (2, 3, "also"),
    (3, 5, "this criticism"),
    (5, 6, "seriously"),
    (6, 7, "take"),
    (5, 7, "take seriously"),
    (3, 4, "these"),
    (4, 5, "criticism"),
    (5, 6, "serious"),
]


def tutorial_example(scores):
    """The tutorial's sentence and lexicon with a small language model of our own."""
    words = ["<unk>", "<s>", "</s>", *sorted({word for _, _, target in LEXICON for word in target.split()})]
    number = {word: k for k, word in enumerate(words)}
    corpus = ["we must also take this criticism seriously", "we must take these seriously", "we must also"] * 2
    lm = language_model.estimate([[number[word] for word in line.split()] for line in corpus], len(words))
    entries = [(s, t, [number[word] for word in target.split()], scores.get(target, -0.1)) for s, t, target in LEXICON]
    return instance.make_instance(7, entries, lm, distortion=-0.1, limit=4), words


def test_the_example_is_decoded_exactly():
    problem, words = tutorial_example({"we must": 6.0})
    oracle = decoding.Derivations(problem, template.make_graph(problem))
    counts = oracle(np.zeros(7))[1]
    assert counts.sum() == 7 and counts[0] > 1 and counts.min() == 0  # some words are repeated, others missing
    rows = equal_to(np.eye(7), np.ones(7))
    step = solve(Problem([oracle], 7, constraints=rows), Subgradient(Decaying(0.5)), limits=Limits(1))
    assert (-step.multipliers).tolist() == (-0.5 * (counts - 1)).tolist()  # equation 28, as scores of source words
    found = decoding.decode(problem, decoding.DecodingOptions(beam=0))
    assert found.certified and (problem.count(found.derivation) == 1).all()
    text = " ".join(words[w] for o in found.derivation for w in problem.target(o))
    assert text == "we must also take this criticism seriously"
    everything = [(int(problem.start[o]), int(problem.end[o]), problem.target(o), 0.0) for o in range(10)]
    scores = [
        instance.score_derivation(problem, derivation) for derivation in naive_translation.derivations(7, everything, 4)
    ]
    assert found.value == pytest.approx(max(scores))


# -- errors ------------------------------------------------------------------------------------------------------------


def test_wrong_phrases_are_refused():
    lm = language_model.estimate([[3, 4]], 5)
    for phrase, message in [
        ((0, 3, [3], 0.0), r"phrase 0:3 has 1 words; a range in 0:2 and words are expected"),
        ((0, 1, [], 0.0), r"phrase 0:1 has 0 words; a range in 0:2 and words are expected"),
        ((0, 1, [1], 0.0), r"phrase 0:1 has words \[1\] and the score 0.0; known words are expected"),
        ((0, 1, [5], 0.0), r"phrase 0:1 has words \[5\] and the score 0.0; known words are expected"),
        ((0, 1, [3], np.nan), r"phrase 0:1 has words \[3\] and the score nan; known words are expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            instance.make_instance(2, [phrase], lm)
    with pytest.raises(instance.SizeError, match="the sentence has 121 tokens; 1 to 120 are expected"):
        instance.make_instance(121, [], lm)
    with pytest.raises(ValueError, match="the beam is 0; 1 or more is expected"):
        stack.decode_by_stacks(instance.make_instance(1, [(0, 1, [3], 0.0)], lm), 0)


def test_a_sentence_without_derivation_is_infeasible():
    lm = language_model.estimate([[3, 4]], 5)
    assert decoding.decode(instance.make_instance(2, [], lm)).status == decoding.INFEASIBLE
    assert decoding.decode(instance.make_instance(2, [(0, 1, [3], 0.0)], lm)).status == decoding.INFEASIBLE


@for_seeds(40)
def test_a_small_limit_of_the_graph_leaves_a_bound(seed, kind):
    """Without space for tightening, rounds only continue: a gap may be left, but the bound is valid."""
    _, problem, twin, _ = draw(seed, kind)
    optimum = naive_translation.best_valid(*twin)
    found = decoding.decode(problem, decoding.DecodingOptions(iterations=5, rounds=3, max_arcs=0))
    assert not found.counted and found.value <= optimum + 1e-9
    assert found.bound >= optimum - 1e-9 or found.status == decoding.INFEASIBLE
    assert (found.status == decoding.EXACT) == found.certified
    if found.certified:
        assert found.value == pytest.approx(optimum, abs=1e-9)
