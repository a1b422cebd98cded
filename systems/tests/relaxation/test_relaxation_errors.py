"""Errors of relaxations, with their messages; and traces."""

import numpy as np
import pytest
from relaxations import METHODS, draw_parts, problem_of

from nonproj_systems.relaxation.oracles import Enumerated
from nonproj_systems.relaxation.problem import Problem, at_most, equal_to
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Constant, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.relaxation.trace import Trace

N = 7


def pair():
    """Two oracles over three variables, one of which is 1."""
    return [Enumerated(np.eye(3), [3.0, 2.0, 0.0]), Enumerated(np.eye(3), [0.0, 2.0, 3.0])]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"views": [[0, 1, 2]]}, "2 oracles and 1 views; one view for each oracle"),
        ({"views": [[0, 1, 3], [0, 1, 2]]}, "the view of oracle 0 has a variable outside 0 to 2"),
        ({"views": [[0, 1, 1], [0, 1, 2]]}, "the view of oracle 0 has a variable twice"),
        ({"n_variables": 4}, "no oracle sees variable 3"),
        ({"constraints": at_most([[1, 1]], [1])}, "constraints are over 2 variables; 3 are expected"),
    ],
)
def test_problems_that_do_not_fit_raise(change, message):
    given = {"n_variables": 3, "views": [[0, 1, 2], [0, 1, 2]]} | change
    with pytest.raises(ValueError, match=message):
        Problem(pair(), **given)


def test_constraints_that_are_not_finite_raise():
    for matrix, rhs in (([[np.nan, 1]], [1]), ([[1, 1]], [np.inf])):
        with pytest.raises(ValueError, match="not finite; finite constraints are expected"):
            at_most(matrix, rhs)
    with pytest.raises(ValueError, match="1 constraints have right-hand sides of shape"):
        equal_to([[1, 1]], [1, 2])


@pytest.mark.parametrize(
    "start, message",
    [
        ([0.0], r"the multipliers have the shape \(1,\); \(4,\) is expected"),
        ([0.0, np.nan, 0.0, 0.0], "a multiplier is not finite"),
        ([0.0, 0.0, 0.0, -1.0], "the multiplier of an inequality is negative; it must be at least 0 for a bound"),
    ],
)
def test_multipliers_that_give_no_bound_raise(start, message):
    problem = Problem(pair(), 3, constraints=at_most([[1, 1, 1]], [1]))
    with pytest.raises(ValueError, match=message):
        solve(problem, METHODS["1/k"](), start=start)


class Wrong:
    """An oracle that returns its second best solution from a certain call on."""

    def __init__(self, oracle, after):
        self.oracle, self.after = oracle, after

    def __call__(self, scores):
        self.after -= 1
        if self.after >= 0:
            return self.oracle(scores)
        totals = self.oracle.scores + self.oracle.variables @ scores
        second = int(np.argsort(totals)[-2])
        return float(totals[second]), self.oracle.variables[second], second


def test_oracles_that_contradict_themselves_raise():
    oracles = pair()
    with pytest.raises(ValueError, match="the right oracle does not maximise: it returned .*, but its previous"):
        solve(Problem([oracles[0], Wrong(oracles[1], 1)], 3), Subgradient(Constant(0.1)))
    with pytest.raises(ValueError, match=r"oracle 2 does not maximise"):
        solve(Problem([*oracles, Wrong(Enumerated(np.eye(3), [0.0, 1.0, 0.5]), 1)], 3), Subgradient(Constant(0.1)))
    with pytest.raises(ValueError, match=r"the variables of the left oracle have the shape \(2,\); \(3,\) finite"):
        solve(Problem([lambda u: (0.0, np.zeros(2), None), oracles[1]], 3), METHODS["1/k"]())


def test_objectives_that_contradict_the_dual_raise():
    problem = Problem(pair(), 3)
    with pytest.raises(ValueError, match="the primal value 99.0 is above the dual value 6.0"):
        solve(problem, METHODS["1/k"](), repair=lambda proposal: (99.0, None))
    with pytest.raises(ValueError, match="the oracles agree on a solution of value 4.0.*, but its objective is 1.0"):
        solve(problem, METHODS["1/sqrt(k)"](), repair=lambda proposal: (1.0, None))


def test_rules_without_a_primal_value_and_limits_of_nothing_raise():
    plain = Problem([lambda u: (float(u.max()), np.eye(3)[u.argmax()], None)] * 2, 3)
    with pytest.raises(ValueError, match="the step rule returned inf; .* there is no primal value yet"):
        solve(Problem(pair(), 3), Subgradient(Polyak()))
    with pytest.raises(ValueError, match="max_iterations is 0; 1 or more"):
        solve(plain, METHODS["1/k"](), limits=Limits(0))


# -- traces ------------------------------------------------------------------------------------------------------------


def test_traces_are_plotted():
    import matplotlib

    matplotlib.use("Agg")
    parts, _ = draw_parts(1, 3, N)
    trace = solve(problem_of(parts, N), METHODS["1/k"](), limits=Limits(30)).trace
    left, right = trace.plot().axes
    assert [line.get_label() for line in left.lines] == ["current dual", "current primal", "best dual", "best primal"]
    assert left.lines[2].get_ydata().tolist() == trace.best_dual.tolist()
    assert len(right.lines[0].get_ydata()) == len(trace)
    assert Trace().best_dual.tolist() == [] and len(Trace()) == 0
