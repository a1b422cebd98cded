"""The parser's subproblems as oracles."""

import numpy as np
import pytest
from problems import draw_automata

from nonproj.automata.general import best_paths
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.automaton import head_automata
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle


@pytest.mark.parametrize("seed", range(5))
def test_a_lazy_oracle_says_what_a_fresh_one_says(seed):
    rng = np.random.default_rng(seed)
    arcs, automata, scores = draw_automata(rng, 6, "continuous", False, 0.0)
    lazy, multipliers = AutomataOracle(arcs, automata, scores), np.zeros(len(scores))
    lazy(multipliers)
    for _ in range(10):
        decoded, touched = lazy.decoded, rng.integers(len(scores), size=3)
        multipliers[touched] += rng.standard_normal(3)
        value, z, _ = lazy(multipliers)
        fresh_value, fresh_z, _ = AutomataOracle(arcs, automata, scores)(multipliers)
        assert (value, z.tolist()) == (fresh_value, fresh_z.tolist())
        assert lazy.decoded - decoded == len(np.unique(arcs.head[touched]))
    lazy(multipliers)
    assert lazy.decoded == decoded + len(np.unique(arcs.head[touched]))
    assert lazy.calls == 12


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_arc_scores_and_multipliers_must_be_finite(wrong):
    arcs = full_arc_space(2)
    automata, scores = head_automata(arcs, 1), np.array([0.0, wrong, 0.0, 0.0])
    for call in (
        lambda: best_paths(arcs, automata, scores),
        lambda: AutomataOracle(arcs, automata, scores),
        lambda: TreeOracle(arcs, scores),
    ):
        with pytest.raises(ValueError, match=rf"^scores\[1\] is {wrong}; scores of arcs must be finite"):
            call()
    for oracle in (AutomataOracle(arcs, automata, np.zeros(4)), TreeOracle(arcs, np.zeros(4))):
        with pytest.raises(ValueError, match=rf"^multipliers\[1\] is {wrong}; scores of arcs must be finite"):
            oracle(scores)
        with pytest.raises(ValueError, match=r"^multipliers has shape \(3,\); one score for each of 4 arcs"):
            oracle(np.zeros(3))
