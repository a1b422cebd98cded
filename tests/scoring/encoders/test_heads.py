"""The layers behind an encoder equal their naive twin; stranger's arrays are refused."""

import numpy as np
import pytest
from naive_heads import arc_score, label_score, part_score
from problems import draw_arcs

from nonproj.errors import ModelError
from nonproj.linear.state import load
from nonproj.parts.space import part_space
from nonproj.scoring.encoders.heads import TRILINEAR, BiaffineLayers, EncodedSentence, sizes_of


def random_arrays(rng: np.random.Generator, hidden: int, n_labels: int) -> dict[str, np.ndarray]:
    """Return arrays of random numbers."""
    shapes = sizes_of(hidden, n_labels)
    return {name: rng.normal(0.0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("name", ["arc", "sibling", "grandparent", "third"])
def test_scores_equal_their_definitions(name):
    rng, tree = np.random.default_rng(3), [-1, 2, 0, 2, 3]
    own, vectors = random_arrays(rng, 5, 3), rng.normal(size=(5, 5)).astype(np.float32)
    parts, encoded = part_space(draw_arcs(rng, 4), name), EncodedSentence(BiaffineLayers(own), vectors)
    plain, rows = {key: array.astype(np.float64).tolist() for key, array in own.items()}, vectors.tolist()
    of_arcs = encoded.of_arcs
    expected = [[arc_score(plain, rows, h, m) for m in range(5)] for h in range(5)]
    np.testing.assert_allclose(of_arcs, expected, rtol=1e-4, atol=1e-4)
    expected = [[label_score(plain, rows, tree[m], m, label) for label in range(3)] for m in range(1, 5)]
    np.testing.assert_allclose(encoded.labels(np.array(tree)), expected, rtol=1e-4, atol=1e-4)
    for part_type, start in zip(parts.types, parts.starts, strict=True):
        name, nodes = part_type.name, part_type.rows(parts.arcs, start).nodes
        scores, known = encoded.parts(name, nodes), name in TRILINEAR
        if name == "arc":
            expected = [of_arcs[h][m] for h, m in nodes.tolist()]
        else:
            expected = [part_score(plain, name, rows, row) if known else 0.0 for row in nodes.tolist()]
            assert np.any(scores) == known
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(sizes_of(4, 3)))
def test_arrays_of_strangers_are_checked(name):
    own = random_arrays(np.random.default_rng(5), 4, 3)
    assert load(BiaffineLayers, ({}, own), 3, 4).arrays.keys() == own.keys()
    infinite = own[name].copy()
    infinite.flat[-1] = np.nan
    for changed, fault in (
        ({}, f"has no array '{name}'"),
        ({name: np.concatenate([own[name], own[name]])}, "array '"),
        ({name: infinite}, f"'{name}' has numbers beyond 10000"),
    ):
        others = {key: array for key, array in own.items() if key != name}
        with pytest.raises(ModelError, match=fault):
            load(BiaffineLayers, ({}, others | changed), 3, 4)
