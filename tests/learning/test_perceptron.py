"""One update against enumeration: gold less predicted, over Z or tree by tree; and convergence."""

import naive_scoring as naive
import naive_trees
import numpy as np
import pytest
import toy
from instances import seeds
from naive_crossing import crossing_arcs
from problems import ALL_SETS, HIGHER_ORDER, draw_arcs, draw_tree, marked, naive_relaxed
from toy import draw_sentence

from nonproj.automata.relaxed import relaxed_indicators
from nonproj.dual.decoding import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj.learning.hyperparameters import CROSSING
from nonproj.learning.perceptron import PartExample, Perceptron
from nonproj.parts.arcs import arc_space_from_mask, full_arc_space
from nonproj.parts.space import part_space, tree_indicators
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS = 12
FILES = load_templates(parts="third")


def draw(seed, name, n, **options):
    """A perceptron of random weights, a sentence with its example, and the rest that the twin needs."""
    rng = np.random.default_rng(seed)
    sentence, heads = draw_sentence(rng, n), draw_tree(rng, n)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), 1)
    arcs = draw_arcs(rng, n)
    mask = np.zeros((n + 1, n + 1), bool)
    mask[arcs.head, arcs.modifier] = True
    mask[heads[1:], np.arange(1, n + 1)] = True
    arcs = arc_space_from_mask(mask)
    margin, relaxed = options.pop("margin", 0.0), options.pop("relaxed", True)
    perceptron = Perceptron(Scorer(FILES, encoder.attributes, name), BITS, margin, DualOptions(**options), relaxed)
    # Multiples of 1/64 are exact in float32, and ties between sums of dozens of them are rare.
    perceptron.weights[:] = rng.integers(-64, 65, 1 << BITS) / 64
    return perceptron, PartExample(encoder.encode(sentence), heads, part_space(arcs, name)), sentence, encoder


def twin_scores(perceptron, example, sentence, encoder, margin):
    """The scores of all parts by the twin, with the margin; and the places of each part."""
    parts, heads = example.parts, example.heads
    places = []
    for name in parts.names:
        for words, side in naive.listed(name, parts.arcs):
            places.append(naive.places(sentence, encoder.vocabularies, FILES[name], words, BITS, side))
    scores = np.array([sum(float(perceptron.weights[i]) for i in found) for found in places])
    wrong = np.array([heads[m] != h for h, m in naive_trees.pairs_of(parts.arcs)])
    crossing = crossing_arcs(heads.tolist())
    weights = np.array([CROSSING.weight if m in crossing else 1.0 for _, m in naive_trees.pairs_of(parts.arcs)])
    scores[parts.range("arc")] += np.where(wrong, margin / 2, -margin / 2 * weights)
    return scores, places


def check_update(perceptron, example, places, predicted):
    """Update, and compare weights, total, step and the mistakes with gold less predicted."""
    numbers = naive_trees.part_numbers(example.heads.tolist(), example.parts)
    delta = marked(example.parts, numbers) - predicted
    moved = np.zeros(1 << BITS)
    for value, found in zip(delta, places, strict=True):
        np.add.at(moved, found, value)
    before, step = perceptron.weights.copy(), perceptron.step
    assert perceptron.update(example) == (delta[example.parts.range("arc")] > 0).sum()
    np.testing.assert_allclose(perceptron.weights, before + moved, atol=1e-5)
    np.testing.assert_allclose(perceptron.total, step * moved, atol=1e-9)
    assert perceptron.step == step + 1
    return delta


@pytest.mark.parametrize(("tau", "margin"), [(0.5, 0.0), (0.25, 3.0)])
@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("seed", range(4))
def test_an_update_over_z_equals_enumeration(seed, name, tau, margin):
    perceptron, example, sentence, encoder = draw(seed, name, 1 + seed, tau=tau, margin=margin)
    perceptron.step = 7
    scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
    check_update(perceptron, example, places, naive_relaxed(example.parts, scores, tau))


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_arc_factored_update_equals_enumeration(seed, single_root, margin):
    perceptron, example, sentence, encoder = draw(seed, "arc", 4, single_root=single_root, margin=margin)
    scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
    score = naive_trees.tree_scorer(example.parts, scores)
    value, best = max((score(tree), tree) for tree in naive_trees.all_trees(4, single_root))
    assert value > -np.inf
    numbers = naive_trees.part_numbers(best, example.parts)
    check_update(perceptron, example, places, marked(example.parts, numbers))


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_an_update_over_trees_equals_enumeration(name):
    """With `relaxed` off the prediction is the best tree of the whole model, wherever decoding proves that it is."""
    proved, chosen = 0, seeds(12, least=6)
    for seed in chosen:
        perceptron, example, sentence, encoder = draw(seed, name, 4, relaxed=False, margin=1.0)
        scores, places = twin_scores(perceptron, example, sentence, encoder, 1.0)
        decoded = dual_decomposition(example.parts, scores, perceptron.options)
        if not decoded.certified:
            continue
        proved += 1
        best = max(naive_trees.all_trees(4), key=naive_trees.tree_scorer(example.parts, scores))
        numbers = naive_trees.part_numbers(best, example.parts)
        check_update(perceptron, example, places, marked(example.parts, numbers))
    assert proved >= len(chosen) / 2


@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_indicators_of_z_score_at_least_as_high_as_any_tree(seed, name, tau):
    _, example, _, _ = draw(seed, name, 4)
    parts = example.parts
    scores = np.random.default_rng(seed).standard_normal(len(parts))
    best = max(map(naive_trees.tree_scorer(parts, scores), naive_trees.all_trees(4)))
    assert relaxed_indicators(parts, scores, tau) @ scores >= best - 1e-9


def toy_examples(name, count=20):
    sentences = toy.sentences(count)
    encoder = TokenEncoder.from_sentences(sentences, attributes_of(FILES), 1)
    examples = []
    for sentence in sentences:
        parts = part_space(full_arc_space(len(sentence)), name)
        examples.append(PartExample(encoder.encode(sentence), sentence.tree, parts))
    return Scorer(FILES, encoder.attributes, name), examples


@pytest.mark.parametrize("relaxed", [True, False])
@pytest.mark.parametrize("name", ALL_SETS)
def test_what_can_be_separated_is_learnt_without_a_mistake(name, relaxed):
    """After an epoch without an error the weights do not change, and each gold tree is decoded."""
    scorer, examples = toy_examples(name)
    perceptron = Perceptron(scorer, 16, 0.0, DualOptions(), relaxed)
    for _ in range(25):
        before = perceptron.weights.copy()
        if not sum(perceptron.update(example) for example in examples) and (perceptron.weights == before).all():
            break
    else:
        pytest.fail("not learnt in 25 epochs")
    assert perceptron.weights.any()
    for example in examples:
        scores = scorer.score_unlabelled(scorer.features(example.tokens, example.parts, 1 << 16), perceptron.weights)
        gold = tree_indicators(example.parts, example.heads)
        assert gold.tolist() == perceptron._decode(example.parts, scores).tolist()


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_an_update_lets_gold_gain_on_what_was_predicted(margin):
    """By the squared norm of the update: score(gold) - score(predicted) grows by |F'(gold - predicted)|^2."""
    for seed in seeds(5, least=2):
        perceptron, example, sentence, encoder = draw(seed, "grandparent", 4, margin=margin)
        scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
        before = perceptron.weights.astype(float)
        delta = check_update(perceptron, example, places, naive_relaxed(example.parts, scores, 0.5))
        moved = perceptron.weights - before
        gained = sum(value * sum(moved[i] for i in found) for value, found in zip(delta, places, strict=True))
        assert gained == pytest.approx(float(moved @ moved), rel=1e-4)


def test_a_right_decoding_moves_nothing_but_the_step():
    perceptron, example, _, _ = draw(1, "sibling", 3)
    for _ in range(200):
        before, step = perceptron.weights.copy(), perceptron.step
        if not perceptron.update(example) and (perceptron.weights == before).all():
            break
    else:
        pytest.fail("one sentence was not learnt")
    assert perceptron.step == step + 1
    averaged = perceptron.mean()
    total = perceptron.total.copy()
    perceptron.update(example)
    assert (perceptron.total == total).all()
    # A further step of the same weights draws the mean towards them.
    now, moved = perceptron.mean(), perceptron.total != 0
    assert (np.abs(now - perceptron.weights)[moved] <= np.abs(averaged - perceptron.weights)[moved] + 1e-7).all()
