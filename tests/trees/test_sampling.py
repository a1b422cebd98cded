"""Sampled trees: their frequencies against the probabilities of all trees, by either way of drawing."""

import math

import numpy as np
import pytest
from naive_trees import all_trees, arc_score, log_partition
from scipy.stats import chisquare

from nonproj.trees import sampling
from nonproj.trees.marginals import marginals
from nonproj.trees.sampling import sample_trees


def probabilities(scores, single_root):
    """The probability of every tree, from the definition."""
    total, trees = log_partition(scores, single_root)[0], all_trees(len(scores) - 1, single_root)
    found = {tuple(tree): math.exp(arc_score(tree, scores) - total) for tree in trees}
    return {tree: p for tree, p in found.items() if p > 0.0}


def draw_scores(seed, n):
    """Random scores, some of them minus infinity, with a tree below the root."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=1.5, size=(n + 1, n + 1))
    if seed % 2:
        scores[rng.random(scores.shape) < 0.25] = -np.inf
        scores[0, 1:] = rng.normal(size=n)
        scores[1, 2:] = rng.normal(size=n - 1)
    return scores


def check_frequencies(found, expected):
    """Compare counts of trees with their probabilities; rare trees count together."""
    counts = dict.fromkeys(expected, 0)
    for tree in found.tolist():
        counts[-1, *tree] += 1  # an impossible tree is a KeyError
    rare = [tree for tree, p in expected.items() if p * len(found) < 8]
    pairs = [(counts[tree], p * len(found)) for tree, p in expected.items() if tree not in rare]
    pairs.append((sum(counts[tree] for tree in rare), sum(expected[tree] for tree in rare) * len(found)))
    pairs = [pair for pair in pairs if pair[1] > 0]
    if len(pairs) > 1:
        observed, wanted = np.array(pairs).T
        assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize(("seed", "by_words"), [*((seed, False) for seed in range(6)), (3, True)])
def test_frequencies_are_the_probabilities(seed, by_words, single_root, monkeypatch):
    """By walks, or word by word, which is slow."""
    if by_words:
        monkeypatch.setattr(sampling, "_walk", lambda *_: False)
    scores = draw_scores(seed, 2 + seed % 3)
    found = sample_trees(scores, 500 if by_words else 4000, single_root=single_root, seed=seed)
    check_frequencies(found, probabilities(scores, single_root))


def test_words_that_like_each_other_do_not_walk_for_ever():
    scores = np.full((5, 5), -200.0)
    scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 0.0
    found = sample_trees(scores, 20)
    assert ((found[:, 0] == 2) | (found[:, 1] == 1)).all()
    assert ((found[:, 2] == 4) | (found[:, 3] == 3)).all()


@pytest.mark.parametrize("single_root", [False, True])
def test_long_sentences_have_their_marginals(single_root):
    scores = np.random.default_rng(0).normal(size=(31, 31))
    found, expected = sample_trees(scores, 3000, single_root=single_root, seed=1), marginals(scores, single_root)[0]
    counts = np.stack([(found == h).mean(axis=0) for h in range(31)])
    assert np.abs(counts - expected[:, 1:]).max() < 0.05
    assert not single_root or ((found == 0).sum(axis=1) == 1).all()


def test_seeds_repeat():
    scores = np.zeros((4, 4))
    assert sample_trees(scores, 5, seed=3).tolist() == sample_trees(scores, 5, seed=3).tolist()
    assert sample_trees(scores, 5, seed=3).tolist() != sample_trees(scores, 5, seed=4).tolist()
    assert sample_trees(scores, 0).shape == (0, 3) and sample_trees(np.zeros((1, 1)), 2).tolist() == [[], []]


def test_batches_are_their_sentences():
    matrices = [draw_scores(seed, n) for seed, n in enumerate((3, 1, 4))]
    padded = np.full((3, 5, 5), np.nan)
    for own, matrix in zip(padded, matrices, strict=True):
        own[: len(matrix), : len(matrix)] = matrix
    rng = np.random.default_rng(7)
    expected = [sample_trees(matrix, 50, single_root=True, seed=rng) for matrix in matrices]
    for scores, lengths in ((matrices, None), (padded, [3, 1, 4])):
        found = sample_trees(scores, 50, single_root=True, lengths=lengths, seed=7)
        assert found.shape == (3, 50, 4)
        for own, trees in zip(found, expected, strict=True):
            assert (own[:, : trees.shape[1]] == trees).all() and (own[:, trees.shape[1] :] == -1).all()
