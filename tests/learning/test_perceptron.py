"""One update against enumeration: gold less predicted, over Z or tree by tree; and convergence."""

import naive_trees
import numpy as np
import pytest
from instances import seeds
from naive_crossing import crossing_arcs
from problems import HIGHER_ORDER, marked, naive_relaxed
from updates import BITS, draw_update, twin_scores

from nonproj.dual.decoding import dual_decomposition
from nonproj.learning.hyperparameters import CROSSING


def with_margins(scores, example, margin):
    """Add the margins to the scores of arcs."""
    crossing = crossing_arcs(example.heads.tolist())
    for a, (h, m) in enumerate(naive_trees.pairs_of(example.parts.arcs)):
        weight = CROSSING.weight if m in crossing else 1.0
        scores[a] += margin / 2 if example.heads[m] != h else -margin / 2 * weight
    return scores


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


@pytest.mark.parametrize(("tau", "margin"), [(0.5, 0.0), (0.25, 3.0)])
@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("seed", range(4))
def test_an_update_over_z_equals_enumeration(seed, name, tau, margin):
    perceptron, example, *more = draw_update(seed, name, 1 + seed, tau=tau, margin=margin)
    perceptron.step = 7
    scores, places = twin_scores(perceptron, example, *more)
    check_update(perceptron, example, places, naive_relaxed(example.parts, with_margins(scores, example, margin), tau))


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_arc_factored_update_equals_enumeration(seed, single_root, margin):
    perceptron, example, *more = draw_update(seed, "arc", 4, single_root=single_root, margin=margin)
    scores, places = twin_scores(perceptron, example, *more)
    score = naive_trees.tree_scorer(example.parts, with_margins(scores, example, margin))
    best = max((tree for tree in naive_trees.all_trees(4, single_root)), key=lambda tree: (score(tree), tree))
    assert score(best) > -np.inf
    check_update(perceptron, example, places, marked(example.parts, naive_trees.part_numbers(best, example.parts)))


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_an_update_over_trees_equals_enumeration(name):
    """With `relaxed` off the prediction is the best tree of the whole model, wherever decoding proves that it is."""
    proved, chosen = 0, seeds(12, least=6)
    for seed in chosen:
        perceptron, example, *more = draw_update(seed, name, 4, relaxed=False, margin=1.0)
        scores, places = twin_scores(perceptron, example, *more)
        scores = with_margins(scores, example, 1.0)
        if dual_decomposition(example.parts, scores, perceptron.options).certified:
            proved += 1
            best = max(naive_trees.all_trees(4), key=naive_trees.tree_scorer(example.parts, scores))
            numbers = naive_trees.part_numbers(best, example.parts)
            check_update(perceptron, example, places, marked(example.parts, numbers))
    assert proved >= len(chosen) / 2
