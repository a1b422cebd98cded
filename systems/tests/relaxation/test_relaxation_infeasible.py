"""Problems without solutions, and limits of time: each run ends with the corresponding status."""

import itertools

import numpy as np
import pytest

from nonproj_systems.relaxation.oracles import Enumerated
from nonproj_systems.relaxation.problem import Problem, at_least, equal_to
from nonproj_systems.relaxation.solver import DIVERGED, LIMIT, Limits, solve
from nonproj_systems.relaxation.subgradient import Subgradient


def draw_infeasible(seed):
    """A problem of six binary variables and constraints without solutions, even fractional ones."""
    random = np.random.default_rng(seed)
    rows = np.array(list(itertools.product([0, 1], repeat=6)))[random.permutation(64)[:20]]
    scores = random.standard_normal(20) * (1, 100)[seed % 2]
    above = at_least(np.ones((1, 6)), [7]) if seed % 3 else equal_to(random.integers(-1, 2, (2, 6)), [9, 9])
    return Problem([Enumerated(rows, scores), Enumerated(rows[:8], scores[:8])], 6, constraints=above)


def test_the_default_steps_end_at_their_limit_with_a_falling_bound():
    for seed in range(6):
        found = solve(draw_infeasible(seed), Subgradient(), limits=Limits(300))
        assert found.status in (LIMIT, DIVERGED) and found.dual_bound < found.trace.dual[0] - 1e3


# -- limits of time ----------------------------------------------------------------------------------------------------


def small():
    every = np.eye(3)
    return Problem([Enumerated(every, [3.0, 2.0, 0.0]), Enumerated(every, [0.0, 2.5, 3.0])], 3)


@pytest.mark.parametrize("name", ["seconds", "wall_seconds"])
def test_both_clocks_end_a_run(name):
    found = solve(small(), Subgradient(), limits=Limits(**{name: 0.0}))
    assert found.status == LIMIT and found.iterations == 1
    with pytest.raises(ValueError, match=f"{name} is nan; a number of at least 0 is expected"):
        solve(small(), Subgradient(), limits=Limits(**{name: np.nan}))
