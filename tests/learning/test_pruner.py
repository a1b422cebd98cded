"""The first-order model: its gradient by finite differences through the weights, AdaGrad step by step, its descent."""

import math

import naive_partial
import naive_scoring as naive
import naive_trees
import numpy as np
import pytest
from problems import draw_features, draw_tree
from toy import draw_sentence

from nonproj.learning.hyperparameters import PRUNER
from nonproj.learning.pruner import Pruner
from nonproj.parts.arcs import full_arc_space
from nonproj.scoring.templates import attributes_of, load_templates, part_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS = 12
SPEC = load_templates()["pruner"]


class Recorder(Pruner):
    """A pruner that keeps the gradient of the loss instead of following it."""

    def _follow(self, hashed, parts, gradient):
        self.parts, self.gradient = parts, -gradient


def draw_single_root(rng, n):
    """A random tree with one root."""
    return next(tree for _ in range(1000) if ((tree := draw_tree(rng, n)) == 0).sum() == 1)


def a_problem(seed, n, kind=Recorder, single_root=False):
    """A pruner of random weights, the numbers of a sentence, a gold tree, and each arc's places."""
    rng, sentence, encoder, table = draw_features(seed, SPEC, n)
    pruner = kind(table, BITS)
    pruner.weights[:] = rng.integers(-32, 33, 1 << BITS) / 128
    heads, pairs = (draw_single_root if single_root else draw_tree)(rng, n), naive_trees.pairs_of(full_arc_space(n))
    places = [naive.places(sentence, encoder.vocabularies, SPEC, pair, BITS) for pair in pairs]
    return rng, pruner, encoder.encode(sentence), heads, pairs, places


def dense(pairs, places, weights, n):
    scores = np.full((n + 1, n + 1), -np.inf)
    for (h, m), found in zip(pairs, places, strict=True):
        scores[h, m] = sum(float(weights[i]) for i in found)
    return scores


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_loss_and_gradient_are_those_of_all_trees(seed, single_root):
    n = 1 + seed
    _, pruner, tokens, heads, pairs, places = a_problem(seed, n, single_root=single_root)
    scores = dense(pairs, places, pruner.weights, n).tolist()
    log_partition, marginals = naive_trees.log_partition(scores, single_root)
    loss = pruner.update(tokens, heads, single_root)
    assert loss == pytest.approx(log_partition - naive_trees.arc_score(heads.tolist(), scores), abs=1e-6)
    assert loss >= -1e-9
    expected = [marginals[h][m] - (heads[m] == h) for h, m in pairs]
    np.testing.assert_allclose(pruner.gradient, expected, atol=1e-7)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_of_partial_trees_the_likelihood_is_that_of_all_obeying_trees(seed, single_root):
    n = 1 + seed % 4
    rng, pruner, tokens, tree, pairs, places = a_problem(seed, n, single_root=True)
    scores, given = dense(pairs, places, pruner.weights, n), np.where(rng.random(n + 1) < 0.5, tree, -1)
    forbidden = {(0, m) for m in range(1, n + 1) if tree[m] != 0 and given[m] < 0 and rng.random() < 0.3}
    allowed = ~np.eye(n + 1, dtype=bool)
    for h, m in pairs:
        allowed[h, m] = given[m] in (-1, h) and (h, m) not in forbidden
    loss = pruner.update(tokens, given, single_root, allowed)
    every, p = naive_partial.log_likelihood(scores, naive_trees.all_trees(n, single_root))
    obeying = naive_partial.obeying(n, given.tolist(), forbidden, single_root)
    some, of_some = naive_partial.log_likelihood(scores, obeying)
    assert loss == pytest.approx(every - some, abs=1e-6)
    np.testing.assert_allclose(pruner.gradient, [p[pair] - of_some[pair] for pair in pairs], atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_adagrads(seed):
    """Arc after arc, place after place: the square is added first, then the step divided by the root of the sum."""
    _, recorder, tokens, heads, _, places = a_problem(seed, 6)
    _, pruner, *_ = a_problem(seed, 6, Pruner)
    weights, squares = pruner.weights.astype(float), np.zeros(1 << BITS)
    left_out = 0
    for _ in range(3):
        recorder.weights[:] = pruner.weights
        recorder.update(tokens, heads, False)
        for g, found in zip(recorder.gradient.tolist(), places, strict=True):
            left_out += abs(g) <= PRUNER.negligible
            for place in found if abs(g) > PRUNER.negligible else ():
                squares[place] += g * g
                weights[place] -= 0.1 * g / math.sqrt(squares[place] + 1e-8)
        pruner.update(tokens, heads, False)
        np.testing.assert_allclose(pruner.squares, squares, rtol=1e-4)
        np.testing.assert_allclose(pruner.weights, weights, atol=1e-4)
    assert pruner.weights.dtype == pruner.squares.dtype == np.float32
    assert left_out < 3 * 36


@pytest.mark.parametrize("single_root", [False, True])
def test_an_epoch_tells_the_mean_loss_of_a_word_in_the_given_order(single_root):
    rng = np.random.default_rng(3)
    sentences = [draw_sentence(rng, int(rng.integers(1, 9))) for _ in range(10)]
    encoder = TokenEncoder.from_sentences(sentences, attributes_of({"any": SPEC}), 1)
    examples = [(encoder.encode(sentence), draw_single_root(rng, len(sentence))) for sentence in sentences]
    table = part_templates(SPEC, encoder.attributes)
    one, other, means = Pruner(table, BITS), Pruner(table, BITS), []
    for _ in range(4):
        order = rng.permutation(10)[:8]
        total = sum(other.update(*examples[i], single_root) for i in order)
        means.append(one.epoch(examples, order, single_root))
        assert means[-1] == pytest.approx(total / sum(len(sentences[i]) for i in order))
        assert one.weights.tobytes() == other.weights.tobytes()
    assert means[-1] < means[0] and one.epoch(examples, [], single_root) == 0.0
