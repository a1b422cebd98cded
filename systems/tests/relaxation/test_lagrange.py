"""The subgradient method on problems without trees."""

import numpy as np
import pytest

from nonproj_systems.relaxation.steps import AppendixA, Decaying, Polyak, Progress
from nonproj_systems.relaxation.subgradient import relax


def test_appendix_a_shrinks_its_step_only_when_the_dual_rises():
    rule = AppendixA()
    duals = [10.0, 8.0, 9.0, 7.0, 7.5]
    steps = [rule(Progress(dual, 4.0, 4.0, False, 1.0)) for dual in duals]
    assert steps == [6.0, 6.0, 3.0, 3.0, 2.0]


def test_polyak_divides_the_gap_by_the_norm_and_decays_after_its_patience():
    rule = Polyak(scale=1.5, patience=2, decay=0.5)
    assert rule(Progress(10.0, 2.0, 4.0, False, 3.0)) == pytest.approx(1.5 * 6 / 3)
    assert rule(Progress(10.0, 2.0, 4.0, True, 3.0)) == pytest.approx(1.5 * 6 / 3)
    assert rule(Progress(10.0, 2.0, 4.0, True, 3.0)) == pytest.approx(0.75 * 6 / 3)
    assert rule(Progress(4.0, 2.0, 4.0, False, 3.0)) == pytest.approx(1e-6 * 5)


def choosers():
    """Return two oracles that choose one of three items, and their objective."""
    h, f = np.array([3.0, 2.0, 0.0]), np.array([0.0, 2.0, 3.0])

    def chooser(scores):
        def choose(multipliers):
            best = int(np.argmax(scores + multipliers))
            return float((scores + multipliers)[best]), np.eye(3)[best], best

        return choose

    return chooser(h), chooser(f), lambda item: float((h + f)[item])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_raise(wrong):
    left, right, objective = choosers()
    for name, oracles in (
        ("left", (lambda u: (wrong, *left(u)[1:]), right)),
        ("right", (left, lambda u: (wrong, *right(u)[1:]))),
    ):
        with pytest.raises(ValueError, match=f"the maximum of the {name} oracle is {wrong}; a finite number"):
            relax(*oracles, objective, 3, rule=Decaying(1.0))
    with pytest.raises(ValueError, match=f"the step rule returned {wrong}; a finite step is expected"):
        relax(left, right, objective, 3, rule=lambda progress: wrong)
    if wrong != -np.inf:
        with pytest.raises(ValueError, match=f"the objective is {wrong}; a number is expected, or minus infinity"):
            relax(left, right, lambda item: wrong, 3, rule=Decaying(1.0))


def test_a_forbidden_solution_is_the_last_resort_and_never_certified():
    left, right, objective = choosers()
    allowed = relax(left, right, lambda item: -np.inf if item == 0 else objective(item), 3, rule=Decaying(1.0))
    assert (allowed.solution, allowed.primal_value, allowed.agreed) == (1, 4.0, True)
    assert allowed.trace["primal"][0] == -np.inf  # the left oracle's first choice is forbidden
    none = relax(left, right, lambda item: -np.inf, 3, rule=Decaying(1e-3), max_iterations=5, tolerance=10.0)
    assert (none.solution, none.primal_value, none.dual_bound) == (0, -np.inf, pytest.approx(6.0, abs=0.1))
    assert not none.certified and none.iterations == 5
