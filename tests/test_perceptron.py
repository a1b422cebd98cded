"""One update against enumeration: gold less predicted, over Z or tree by tree; and what it converges to."""

import io

import naive_dual
import naive_scoring as naive
import naive_trees
import numpy as np
import pytest
from test_score import draw_arcs
from test_scoring import draw_sentence
from toy import treebank

from nonproj.dual.decomposition import DualOptions, dual_decomposition
from nonproj.io import conll
from nonproj.learning.perceptron import Example, Perceptron, relaxed_parts
from nonproj.parts.space import arc_space_from_mask, full_arc_space, gold_parts, part_index
from nonproj.scoring.scorer import PART_TYPES, Scorer
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import Encoder
from nonproj.types import ARC, GRANDPARENT, SIBLING, PartScores

BITS = 12
FILES = load_templates()


def draw_tree(rng, n):
    """A random tree, crossing arcs and several roots included."""
    heads = np.full(n + 1, -1, np.int32)
    order = [0, *(1 + rng.permutation(n)).tolist()]
    for position in range(1, n + 1):
        heads[order[position]] = order[rng.integers(position)]
    return heads


def draw(seed, model, n, **options):
    """A perceptron of random weights, a sentence with its example, and the rest that the twin needs."""
    rng = np.random.default_rng(seed)
    sentence, heads = draw_sentence(rng, n), draw_tree(rng, n)
    encoder = Encoder.from_sentences([sentence], attributes_of(FILES), 1)
    arcs = draw_arcs(rng, n)
    mask = np.zeros((n + 1, n + 1), bool)
    mask[arcs.head, arcs.modifier] = True
    mask[heads[1:], np.arange(1, n + 1)] = True
    arcs = arc_space_from_mask(mask)
    margin, relaxed = options.pop("margin", 0.0), options.pop("relaxed", True)
    perceptron = Perceptron(Scorer(FILES, encoder.attributes, model), BITS, margin, DualOptions(**options), relaxed)
    # Multiples of 1/64 are exact in float32, and ties between sums of dozens of them are rare.
    perceptron.weights[:] = rng.integers(-64, 65, 1 << BITS) / 64
    return perceptron, Example(encoder.encode(sentence), heads, arcs, part_index(arcs, model)), sentence, encoder


def twin_scores(perceptron, example, sentence, encoder, margin):
    """The scores of all parts by the twin, with the margin; and the places of each part."""
    arcs, heads = example.arcs, example.heads
    places, scores = [], []
    for part in PART_TYPES:
        listed = naive.listed(part, arcs) if PART_TYPES.index(part) <= perceptron.scorer.model else []
        found = [naive.places(sentence, encoder.alphabets, FILES[part], words, BITS, side) for words, side in listed]
        places.append(found)
        scores.append(np.array([sum(float(perceptron.weights[i]) for i in p) for p in found]))
    wrong = [heads[m] != h for h, m in zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True)]
    scores[0] = scores[0] + np.where(wrong, margin / 2, -margin / 2)
    return PartScores(*scores), places


def indicators(numbers, scores):
    """The parts of these numbers as vectors."""
    vectors = [np.zeros(len(values)) for values in scores]
    for vector, part in zip(vectors, PART_TYPES, strict=True):
        vector[numbers[part]] = 1
    return vectors


def naive_relaxed(example, scores, model, tau):
    """The best choice of every head, as vectors over the parts; tau splits an arc where there are grandparents."""
    arcs, index = example.arcs, example.index
    share = tau if model == GRANDPARENT else 1.0
    _, z, up = naive_dual.best_relaxed(arcs, index, scores, model, share * scores.arc, (1 - share) * scores.arc)
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    vectors = [share * z + (1 - share) * up, np.zeros(len(scores.sibling)), np.zeros(len(scores.grandparent))]
    for p, ((h, s, m), side) in enumerate(naive.listed("sibling", arcs)):
        n_nodes = len(arcs.start) - 1
        taken = [k for k in naive_trees.candidates(arcs, h, side) if z[pairs.index((h, k))]]
        path = [n_nodes, *taken, n_nodes + 1]
        vectors[1][p] = (s, m) in zip(path[:-1], path[1:], strict=True)
    if model == GRANDPARENT:
        for p, ((g, h, m), _) in enumerate(naive.listed("grandparent", arcs)):
            vectors[2][p] = up[pairs.index((g, h))] and z[pairs.index((h, m))]
    return vectors


def check_update(perceptron, example, places, predicted):
    """Update, and compare weights, total, step and the mistakes with gold less predicted."""
    numbers = naive_trees.part_numbers(example.heads.tolist(), example.arcs, example.index)
    delta = [g - p for g, p in zip(indicators(numbers, predicted), predicted, strict=True)]
    moved = np.zeros(1 << BITS)
    for change, found in zip(delta, places, strict=True):
        for value, part in zip(change, found, strict=True):
            np.add.at(moved, part, value)
    before, step = perceptron.weights.copy(), perceptron.step
    assert perceptron.update(example) == (delta[0] > 0).sum()
    np.testing.assert_allclose(perceptron.weights, before + moved, atol=1e-5)
    np.testing.assert_allclose(perceptron.total, step * moved, atol=1e-9)
    assert perceptron.step == step + 1
    return delta


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("model, tau", [(SIBLING, 0.5), (SIBLING, 0.25), (GRANDPARENT, 0.5), (GRANDPARENT, 0.25)])
@pytest.mark.parametrize("seed", range(4))
def test_an_update_over_z_equals_enumeration(seed, model, tau, margin):
    perceptron, example, sentence, encoder = draw(seed, model, 1 + seed, tau=tau, margin=margin)
    perceptron.step = 7
    scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
    check_update(perceptron, example, places, naive_relaxed(example, scores, model, tau))


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_arc_factored_update_equals_enumeration(seed, single_root, margin):
    perceptron, example, sentence, encoder = draw(seed, ARC, 4, single_root=single_root, margin=margin)
    scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
    trees = [
        (naive_trees.score_of_tree(tree, example.arcs, example.index, scores), tree)
        for tree in naive_trees.all_trees(4, single_root)
    ]
    value, best = max(trees)
    assert value > -np.inf
    numbers = naive_trees.part_numbers(best, example.arcs, example.index)
    check_update(perceptron, example, places, indicators(numbers, scores))


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_an_update_over_trees_equals_enumeration(model):
    """With `relaxed` off the prediction is the best tree of the whole model, wherever decoding proves that it is."""
    proved = 0
    for seed in range(12):
        perceptron, example, sentence, encoder = draw(seed, model, 4, relaxed=False, margin=1.0)
        scores, places = twin_scores(perceptron, example, sentence, encoder, 1.0)
        decoded = dual_decomposition(example.arcs, example.index, scores, model, perceptron.options)
        if not decoded.certified:
            continue
        proved += 1
        best = max(
            naive_trees.all_trees(4),
            key=lambda tree: naive_trees.score_of_tree(tree, example.arcs, example.index, scores),  # noqa: B023
        )
        numbers = naive_trees.part_numbers(best, example.arcs, example.index)
        check_update(perceptron, example, places, indicators(numbers, scores))
    assert proved >= 6


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_parts_of_z_carry_its_value(seed, model, tau):
    """The parts' indicators times their scores are no less than any tree's score."""
    _, example, _, _ = draw(seed, model, 4)
    rng = np.random.default_rng(seed)
    arcs, index = example.arcs, example.index
    sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
    scores = PartScores(*[rng.standard_normal(size) for size in sizes])
    relaxed = relaxed_parts(arcs, index, scores, model, tau)
    value = sum(float(p @ s) for p, s in zip(relaxed, scores, strict=True))
    trees = [naive_trees.score_of_tree(tree, arcs, index, scores) for tree in naive_trees.all_trees(4)]
    assert value >= max(trees) - 1e-9


def toy_examples(model, count=20):
    sentences = list(conll.read(io.StringIO(treebank(count))))
    encoder = Encoder.from_sentences(sentences, attributes_of(FILES), 1)
    examples = []
    for sentence in sentences:
        arcs = full_arc_space(len(sentence))
        examples.append(Example(encoder.encode(sentence), sentence.heads, arcs, part_index(arcs, model)))
    return Scorer(FILES, encoder.attributes, model), examples


@pytest.mark.parametrize("relaxed", [True, False])
@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_what_can_be_separated_is_learnt_without_a_mistake(model, relaxed):
    """After an epoch without a mistake the weights stand still, and each gold tree is what is decoded."""
    scorer, examples = toy_examples(model)
    perceptron = Perceptron(scorer, 16, 0.0, DualOptions(), relaxed)
    for _ in range(25):
        before = perceptron.weights.copy()
        if not sum(perceptron.update(example) for example in examples) and (perceptron.weights == before).all():
            break
    else:
        pytest.fail("not learnt in 25 epochs")
    assert perceptron.weights.any()
    for example in examples:
        featurised = scorer.featurise(example.tokens, example.arcs, example.index, 1 << 16)
        scores = scorer.score(featurised, perceptron.weights)
        gold = gold_parts(example.arcs, example.index, example.heads)
        for g, p in zip(gold, perceptron._decode(example, scores), strict=True):
            assert g.tolist() == p.tolist()


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_an_update_lets_gold_gain_on_what_was_predicted(margin):
    """By the squared norm of what moved: score(gold) - score(predicted) grows by |F'(gold - predicted)|^2."""
    for seed in range(5):
        perceptron, example, sentence, encoder = draw(seed, GRANDPARENT, 4, margin=margin)
        scores, places = twin_scores(perceptron, example, sentence, encoder, margin)
        before = perceptron.weights.astype(float)
        delta = check_update(perceptron, example, places, naive_relaxed(example, scores, GRANDPARENT, 0.5))
        moved = perceptron.weights - before
        gained = sum(
            value * sum(moved[i] for i in part)
            for change, found in zip(delta, places, strict=True)
            for value, part in zip(change, found, strict=True)
        )
        assert gained == pytest.approx(float(moved @ moved), rel=1e-4)


def test_a_right_decoding_moves_nothing_but_the_step():
    perceptron, example, _, _ = draw(1, SIBLING, 3)
    for _ in range(200):
        before, step = perceptron.weights.copy(), perceptron.step
        if not perceptron.update(example) and (perceptron.weights == before).all():
            break
    else:
        pytest.fail("one sentence was not learnt")
    assert perceptron.step == step + 1
    averaged = perceptron.averaged()
    total = perceptron.total.copy()
    perceptron.update(example)
    assert (perceptron.total == total).all()
    # A further step of the same weights draws the mean towards them.
    now, moved = perceptron.averaged(), perceptron.total != 0
    assert (np.abs(now - perceptron.weights)[moved] <= np.abs(averaged - perceptron.weights)[moved] + 1e-7).all()
