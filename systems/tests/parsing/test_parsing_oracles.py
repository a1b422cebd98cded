"""The parser's subproblems as oracles, and the decoder of general automata."""

import numpy as np
import pytest
from problems import draw_automata, tabulate_automata, valency_automata

from nonproj.automata.general import best_paths
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.automaton import head_automata
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle, parse_with_automata


def test_the_decoder_finds_the_best_tree_of_the_example():
    """The root is the best head of every word, but no head may have more than one modifier on a side."""
    arcs = full_arc_space(2)
    stop = np.zeros((6, 3))
    stop[:, 2] = -np.inf
    found = parse_with_automata(arcs, valency_automata(arcs, np.zeros((4, 3)), stop), np.array([4.0, 1.0, 3.0, 1.0]))
    assert found.heads.tolist() == [0, 1] and found.score == 5.0 and found.certified


def test_wrong_arguments_are_named():
    arcs = full_arc_space(2)
    automata = valency_automata(arcs, np.zeros((4, 2)), np.zeros((6, 2)))
    with pytest.raises(ValueError, match="max_iterations is 0; 1 or more"):
        parse_with_automata(arcs, automata, np.zeros(4), DualOptions(max_iterations=0))
    with pytest.raises(ValueError, match="rule is 2; 0 .paper. or 1 .polyak. is expected"):
        parse_with_automata(arcs, automata, np.zeros(4), DualOptions(rule=2))
    with pytest.raises(ValueError, match="work_per_word is -1; a number from 0 to"):
        parse_with_automata(arcs, automata, np.zeros(4), limits=SearchOptions(work_per_word=-1))
    with pytest.raises(ValueError, match="search is 1.0; True or False"):
        parse_with_automata(arcs, automata, np.zeros(4), limits=SearchOptions(search=1.0))
    wrong = tabulate_automata(arcs, 1, lambda h, s, t, m: np.nan if (h, m) == (0, 2) else 0.0, lambda q, s: 0.0)
    with pytest.raises(ValueError, match=r"automata.take\[1\] is nan; numbers or minus infinity are expected"):
        parse_with_automata(arcs, wrong, np.zeros(4))
    automata.initial[:2] = -np.inf
    with pytest.raises(ValueError, match="the automaton of head 0 accepts no choice of modifiers"):
        parse_with_automata(arcs, automata, np.zeros(4))


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
        lambda: parse_with_automata(arcs, automata, scores),
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
