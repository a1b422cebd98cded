"""The layers behind an encoder equal their naive twin; stranger's arrays are refused."""

from __future__ import annotations

import numpy as np
import pytest
from naive_heads import arc_score, label_score, part_score

from nonproj.errors import ModelError
from nonproj.linear.state import load
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.space import part_space
from nonproj.scoring.encoders.heads import TRILINEAR, BiaffineLayers, EncodedSentence, sizes_of


def random_arrays(rng: np.random.Generator, hidden: int, n_labels: int) -> dict[str, np.ndarray]:
    """Return arrays of random numbers."""
    shapes = sizes_of(hidden, n_labels)
    return {name: rng.normal(0.0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}


def random_parts(rng: np.random.Generator, n: int, name: str):
    """Return the parts over random arcs of a sentence of n words; each word can have the root as its head."""
    mask = rng.random((n + 1, n + 1)) < 0.5
    mask[0] = True
    mask[:, 0] = False
    np.fill_diagonal(mask, False)
    return part_space(arc_space_from_mask(mask), name)


@pytest.mark.parametrize("name", ["arc", "sibling", "grandparent", "third"])
def test_scores_equal_their_definitions(name):
    rng = np.random.default_rng(3)
    own, vectors = random_arrays(rng, 5, 3), rng.normal(size=(5, 5)).astype(np.float32)
    parts, encoded = random_parts(rng, 4, name), EncodedSentence(BiaffineLayers(own), vectors)
    plain = {key: array.astype(np.float64).tolist() for key, array in own.items()}
    of_arcs = encoded.of_arcs
    expected = [[arc_score(plain, vectors.tolist(), h, m) for m in range(5)] for h in range(5)]
    np.testing.assert_allclose(of_arcs, expected, rtol=1e-4, atol=1e-4)
    for part_type, start in zip(parts.types, parts.starts, strict=True):
        nodes = part_type.rows(parts.arcs, start).nodes
        scores = encoded.parts(part_type.name, nodes)
        if part_type.name == "arc":
            expected = [of_arcs[h][m] for h, m in nodes.tolist()]
        else:
            known = part_type.name in TRILINEAR
            name, own_vectors = part_type.name, vectors.tolist()
            expected = [part_score(plain, name, own_vectors, row) if known else 0.0 for row in nodes.tolist()]
            assert np.any(scores) == known
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


def test_scores_of_labels_equal_their_definition():
    rng = np.random.default_rng(4)
    own, vectors, tree = random_arrays(rng, 4, 3), rng.normal(size=(4, 4)).astype(np.float32), np.array([-1, 2, 0, 2])
    encoded = EncodedSentence(BiaffineLayers(own), vectors)
    plain = {key: array.astype(np.float64).tolist() for key, array in own.items()}
    expected = [[label_score(plain, vectors.tolist(), tree[m], m, label) for label in range(3)] for m in range(1, 4)]
    np.testing.assert_allclose(encoded.labels(tree), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(sizes_of(4, 3)))
def test_arrays_of_strangers_are_checked(name):
    own = random_arrays(np.random.default_rng(5), 4, 3)
    found = load(BiaffineLayers, ({}, own), 3, 4)
    assert found.arrays.keys() == own.keys()
    with pytest.raises(ModelError, match=f"has no array '{name}'"):
        load(BiaffineLayers, ({}, {key: array for key, array in own.items() if key != name}), 3, 4)
    wrong = own | {name: np.concatenate([own[name], own[name]])}
    with pytest.raises(ModelError, match="array '"):
        load(BiaffineLayers, ({}, wrong), 3, 4)
    infinite = own[name].copy()
    infinite.flat[-1] = np.nan
    with pytest.raises(ModelError, match=f"'{name}' has numbers beyond 10000"):
        load(BiaffineLayers, ({}, own | {name: infinite}), 3, 4)
