"""The linear program of a part type of a user's own: examples/valency.py."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from nonproj.dual.decoding import dual_decomposition
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space, tree_indicators
from nonproj_systems.programs.constraints import rows_of
from nonproj_systems.programs.linear_program import LinearOptions, linear_program
from nonproj_systems.programs.part_rows import part_rows

pytest.importorskip("highspy")

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def valency(monkeypatch):
    """Import the example, which registers its part type; forget the type afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "valency", raising=False)
    example = __import__("valency")
    part_rows.register(example.Valency, valency_rows)
    yield example
    del PART_TYPES["valency"]


def valency_rows(part_type, arcs, start, first):
    """Return rows that let each half-automaton have the one part that its arcs determine.

    Each has one part; the count is at most the number of arcs taken; and where any ``count`` arcs are taken, it is
    ``count`` or more.  The number of rows is cubic in the number of candidates.
    """
    counts, rows = 4, []  # columns, values, lower and upper bound
    for q in range(len(arcs.out_start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].tolist()
        parts = [first + counts * q + count for count in range(counts)]
        rows.append((parts, [1.0] * counts, 1.0, 1.0))
        rows.append((parts + out, [*range(counts)] + [-1.0] * len(out), -np.inf, 0.0))
        for count in range(1, counts):
            for taken in combinations(out, count):
                values = [1.0] * count + [-1.0] * (counts - count)
                rows.append(([*taken, *parts[count:]], values, -np.inf, count - 1.0))
    _, _, lower, upper = zip(*rows, strict=True)
    return rows_of([row[:2] for row in rows], lower, upper)


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
