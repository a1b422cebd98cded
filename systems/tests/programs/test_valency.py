"""The linear program of a part type of a user's own: examples/valency.py."""

import sys
from pathlib import Path

import numpy as np
import pytest

from nonproj.dual.decoding import dual_decomposition
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space, tree_indicators
from nonproj_systems.programs.linear_program import LinearOptions, linear_program

pytest.importorskip("highspy")

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def valency(monkeypatch):
    """Import the example, which registers its part type; forget the type afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "valency", raising=False)
    yield __import__("valency")
    del PART_TYPES["valency"]


def test_valency_agrees_with_its_integer_program(valency):
    for seed in range(10):
        chance = np.random.default_rng(seed)
        mask = chance.random((8, 8)) < 0.6
        mask[0] = True
        parts = part_space(arc_space_from_mask(mask), ["arc", "valency"])
        scores = chance.normal(size=len(parts))
        exact, solution = linear_program(parts, scores, LinearOptions("single", integer=True))
        assert exact.agreed, "the constraints leave exactly the parts of the tree"
        np.testing.assert_allclose(solution.values, tree_indicators(parts, exact.tree), atol=1e-6)
        decoded = dual_decomposition(parts, scores)
        assert decoded.score <= exact.score + 1e-6 <= decoded.bound + 2e-6
        assert not decoded.certified or decoded.score == pytest.approx(exact.score)
