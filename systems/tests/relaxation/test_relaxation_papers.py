"""The papers' worked examples, iteration by iteration, from their scores to the printed hypotheses and multipliers."""

import naive_relaxation as naive
import numpy as np
import pytest
from relaxations import METHODS

from nonproj_systems.relaxation.oracles import Chain, Enumerated
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import AGREED, Limits, solve
from nonproj_systems.relaxation.steps import Constant, Decaying
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.relaxation.tightening import tighten

TAGS = "ADNV"
GRAMMAR = [
    ("S", ("NP", "VP"), 0.0),
    ("NP", ("A", "N", "D", "A"), 4.0),
    ("NP", ("D", "A", "N"), 1.5),
    ("NP", ("N",), 1.5),
    ("VP", ("V",), 0.0),
    ("VP", ("V", "NP"), 0.0),
]
"""A grammar with the two trees of the example: A N D A V (score 4) and N V D A N (score 3)."""

LEXICAL = {(3, "D"): 1.0}
"""The score of the rule D -> some."""

UNARY = {(1, "N"): 1.0, (2, "V"): 1.0, (3, "D"): 8.0, (4, "A"): 8.0, (5, "N"): 2.0, (2, "A"): -9.0, (2, "D"): -9.0}
BIGRAMS = {("N", "V"): 0.5, ("A", "N"): 0.5}
"""A tagger that prefers N V D A N, and A N D A N when it has to pay for N and V."""


def indicators(tags):
    """y(i, t) for all positions i and tags t."""
    return np.array([[float(tag == t) for t in TAGS] for tag in tags]).ravel()


class Listed(Enumerated):
    """Solutions with names; ties go to the last."""

    def __init__(self, names, variables, scores):
        super().__init__(variables, scores)
        self.names = names

    def __call__(self, scores):
        totals = np.round(self.scores + self.variables @ scores, 9)
        best = len(totals) - 1 - int(np.argmax(totals[::-1]))
        return float(self.scores[best] + self.variables[best] @ scores), self.variables[best], self.names[best]


class Spy:
    """Records hypotheses, and multipliers before each iteration."""

    def __init__(self):
        self.hypotheses, self.multipliers = [], []

    def __call__(self, proposal):
        self.hypotheses.append(proposal.solutions)
        return -np.inf, None

    def watch(self, result):
        self.multipliers.append(result.multipliers)


def named(multipliers):
    """The multipliers that are not 0, by word and tag."""
    table = multipliers.reshape(-1, len(TAGS))
    return {(i + 1, TAGS[t]): float(table[i, t]) for i, t in zip(*np.nonzero(table), strict=True)}


def test_united_flies_some_large_jet():
    """Tutorial, section 4.4, and the slides 26 to 38 of Rush et al. (2010): parsing and tagging with steps of 1.

    Hypotheses are as printed in both, multipliers as in the slides.  The tutorial prints u(5, N) = -1 and u(5, V) = 1
    after the second update, which its own rule cannot give: both hypotheses tag word 5 alike there, so the values stay.
    """
    trees = [(score + LEXICAL.get((3, tags[2]), 0.0), tags) for score, tags in naive.parses(GRAMMAR, "S", 5)]
    parser = Listed([tags for _, tags in trees], [indicators(tags) for _, tags in trees], [score for score, _ in trees])
    sequences = naive.taggings(TAGS, 5, UNARY, BIGRAMS)
    tagger = Listed(
        ["".join(t) for _, t in sequences], [indicators(t) for _, t in sequences], [s for s, _ in sequences]
    )
    spy = Spy()
    found = solve(Problem([parser, tagger], 20), Subgradient(Constant(1.0)), repair=spy, callback=spy.watch)
    assert [("".join(y), z) for y, z in spy.hypotheses] == [("ANDAV", "NVDAN"), ("NVDAN", "ANDAN"), ("NVDAN", "NVDAN")]
    assert [named(u) for u in spy.multipliers] == [
        {},
        {(1, "A"): -1, (1, "N"): 1, (2, "N"): -1, (2, "V"): 1, (5, "V"): -1, (5, "N"): 1},
        {(5, "V"): -1, (5, "N"): 1},
    ]
    # The tagger as a chain is the same oracle, and the agreement a proof.
    unary = [[UNARY.get((i, t), 0.0) for t in TAGS] for i in range(1, 6)]
    chain = Chain(unary, [[BIGRAMS.get((a, b), 0.0) for b in TAGS] for a in TAGS])
    again = solve(Problem([parser, chain], 20), Subgradient(Constant(1.0)))
    assert again.trace.dual == pytest.approx(found.trace.dual) and again.status == AGREED and again.iterations == 3
    scores = {tags: score for score, tags in sequences}
    best = max(score + scores[tags] for score, tags in trees)
    assert again.primal_value == pytest.approx(best) == again.dual_bound


STRUCTURES = {"y1": "aa", "y2": "bb", "y3": "cc", "z1": "ab", "z2": "ba", "z3": "cc"}
"""Figure 12 of the tutorial: tags of two words.  The table of figure 14 has a's and b's in this order."""


def letters(structure, bigram=False):
    """y(i, t) for two words and three tags, and with ``bigram`` the variable y(1, a, b)."""
    tags = STRUCTURES[structure]
    found = [float(tag == t) for tag in tags for t in "abc"]
    return [*found, float(tags == "ab")] if bigram else found


def figure_12(bigram=False):
    """The problem with f = [1, 1, 2] and g = [1, 1, -2]."""
    ys, zs = ["y1", "y2", "y3"], ["z1", "z2", "z3"]
    parser = Listed(ys, [letters(y, bigram) for y in ys], [1.0, 1.0, 2.0])
    tagger = Listed(zs, [letters(z, bigram) for z in zs], [1.0, 1.0, -2.0])
    return Problem([parser, tagger], 7 if bigram else 6)


def pairs(text):
    """The rows of a printed table."""
    return [tuple(row.split()) for row in text.split(", ")]


def test_figure_14_alternates_between_the_two_halves_of_a_fractional_solution():
    spy = Spy()
    limits = Limits(9)
    found = solve(figure_12(), Subgradient(Decaying(1.0, power=1.0)), repair=spy, limits=limits)
    assert spy.hypotheses == pairs("y3 z2, y2 z1, y1 z1, y1 z1, y2 z2, y1 z1, y2 z2, y1 z1, y2 z2")
    assert found.trace.dual[0] == pytest.approx(3.0, abs=1e-12)
    assert found.trace.dual[-1] == pytest.approx(2.06, abs=0.005)
    assert not found.certified
    # min L(u) = 2, and the averages tend to the fractional solution of section 9.3.
    longer = solve(figure_12(), METHODS["1/sqrt(k)"](), limits=Limits(3000))
    assert longer.dual_bound == pytest.approx(2.0, abs=1e-2)
    assert longer.average == pytest.approx([0.5, 0.5, 0, 0.5, 0.5, 0], abs=2e-2)


@pytest.mark.parametrize("step", [1.5, 2.0])
def test_figure_15_agrees_at_iteration_16_with_one_more_constraint(step):
    spy = Spy()
    found = solve(figure_12(bigram=True), Subgradient(Constant(step)), repair=spy)
    table = "y3 z2, y2 z3, y1 z2, y3 z1, y2 z3, y1 z2, y3 z1, y2 z3, y1 z2, y3 z3"
    assert spy.hypotheses[6:] == pairs(table) and found.iterations == 16
    assert found.dual_bound == pytest.approx(0.0)


def test_tightening_adds_that_constraint_when_the_bound_stalls():
    added = []

    def separate(problem, result):
        if added:
            return None
        added.append(result.dual_bound)
        return figure_12(bigram=True)

    found = tighten(figure_12(), METHODS["1/sqrt(k)"](), separate, limits=Limits(200))
    assert added[0] == pytest.approx(2.0, abs=0.1)
    assert found.certified and found.solution == ("y3", "z3")
    assert (found.primal_value, found.dual_bound) == pytest.approx((0.0, 0.0), abs=1e-9)
