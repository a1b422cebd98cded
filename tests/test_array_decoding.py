"""decode_scores: arrays against enumeration from their definition, batches against single sentences, and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive_trees import all_trees, is_projective
from pages import run_page
from problems import KINDS, draw_scores

import nonproj
from nonproj.array_decoding import decode_scores


def value(tree, arcs, siblings, grandparents):
    """The score of a tree from the definition of the arrays."""
    n, total = len(tree) - 1, math.fsum(arcs[tree[m], m] for m in range(1, len(tree)))
    for h in range(n + 1):
        for side in (range(h - 1, 0, -1), range(h + 1, n + 1)):
            before = h
            for m in (m for m in side if tree[m] == h):
                total += siblings[h, before, m] if siblings is not None else 0.0
                before = m
    if grandparents is not None:
        total += math.fsum(grandparents[tree[tree[m]], tree[m], m] for m in range(1, n + 1) if tree[m] > 0)
    return total


def best(n, arcs, siblings, grandparents, single_root, projective):
    """The values of all trees, best first."""
    trees = [tree for tree in all_trees(n) if not single_root or sum(h == 0 for h in tree[1:]) == 1]
    trees = [tree for tree in trees if not projective or is_projective(tree)]
    return sorted((value(tree, arcs, siblings, grandparents) for tree in trees), reverse=True)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("higher", [(), ("siblings",), ("grandparents",), ("siblings", "grandparents")])
def test_equals_enumeration(higher, single_root, projective):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 5))
        arcs, *cubes = (draw_scores(rng, KINDS[seed % 2], (n + 1,) * axes) for axes in (2, *(3 for _ in higher)))
        cubes = dict(zip(higher, cubes, strict=True))
        expected = best(n, arcs, cubes.get("siblings"), cubes.get("grandparents"), single_root, projective)
        found = decode_scores(arcs, **cubes, single_root=single_root, projective=projective, k=3)
        np.testing.assert_allclose([tree.score for tree in found.trees], expected[:3], atol=1e-8)
        alone = decode_scores(arcs, **cubes, single_root=single_root, projective=projective)
        assert alone.scores == pytest.approx(expected[0]) and alone.certified and alone.trees is None
        assert alone.bounds == pytest.approx(expected[0], abs=1e-6)
        tree = alone.heads.tolist()
        assert value(tree, arcs, cubes.get("siblings"), cubes.get("grandparents")) == pytest.approx(expected[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("higher", [False, True])
def test_a_batch_is_its_sentences(higher, dtype):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 12)
    arcs = (10 * rng.normal(size=(12, 10, 10))).astype(dtype)
    cube = (10 * rng.normal(size=(12, 10, 10, 10))).astype(dtype) if higher else None
    found = decode_scores(arcs, cube, lengths=lengths, marginals=True)
    for b, n in enumerate(lengths.tolist()):
        own = slice(n + 1), slice(n + 1)
        alone = decode_scores(arcs[b][own], cube[b][(*own, slice(n + 1))] if higher else None, marginals=True)
        assert found.heads[b].tolist() == alone.heads.tolist() + [-1] * (9 - n)
        assert found.scores[b] == pytest.approx(alone.scores)
        np.testing.assert_allclose(found.marginals[b][own], alone.marginals, atol=1e-12)
        np.testing.assert_allclose(found.marginals[b].sum(axis=0), [0.0] + [1.0] * n + [0.0] * (9 - n), atol=1e-9)
    assert found.heads.dtype == np.int32 and found.certified.all()


def test_forbidden_arcs_are_left_out():
    scores = np.zeros((4, 4))
    scores[0, 2:] = scores[1, 3] = -np.inf
    for cube in (None, np.zeros((4, 4, 4))):
        assert decode_scores(scores, cube).heads.tolist() == [-1, 0, 1, 2]


def test_tensors_are_read_in_place():
    torch = pytest.importorskip("torch")
    scores = torch.randn(3, 6, 6, dtype=torch.float32)
    assert np.shares_memory(np.asarray(scores), scores.numpy())
    expected = decode_scores(scores.numpy().astype(np.float64))
    assert decode_scores(scores).heads.tolist() == expected.heads.tolist()


def test_public_names():
    assert nonproj.decode_scores is decode_scores


def with_entry(shape, place, number):
    """Zeros but for one number."""
    found = np.zeros(shape)
    found[place] = number
    return found


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            (np.zeros((2, 3)),),
            r"arc_scores has shape \(2, 3\); \(N, N\) or \(B, N, N\) with N = words",
        ),
        ((np.zeros((3, 3)), np.zeros((2, 2, 2))), r"siblings has shape \(2, 2, 2\), which does not fit \(3, 3\)"),
        (
            (with_entry((2, 3, 3), (1, 0, 1), np.nan),),
            r"arc_scores\[1, 0, 1\] is nan; a finite score is expected, or minus infinity",
        ),
        ((with_entry((2, 3, 3), (1, slice(None), 1), -np.inf),), "sentence 1: no tree spans the words"),
        (
            (np.zeros((3, 3)), with_entry((3, 3, 3), (0, 1, 2), np.inf)),
            r"siblings\[0, 1, 2\] is inf; a finite score is expected",
        ),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        decode_scores(*arguments)


def test_wrong_lengths_and_numbers_of_trees_are_refused():
    for lengths in ([3], [1, 1], [-1], [1.0]):
        with pytest.raises(ValueError, match=r"lengths is .*; 1 integers from 0 to 2 are expected"):
            decode_scores(np.zeros((3, 3)), lengths=lengths)
    with pytest.raises(ValueError, match="k is 0; 1 or more is expected"):
        decode_scores(np.zeros((3, 3)), k=0)


def test_the_page_on_scores_of_ones_own(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    run_page("own-scores.md", tmp_path, monkeypatch)
