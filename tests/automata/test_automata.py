"""The compiled head automata against enumeration of everything a head may choose."""

import naive_dual
import numpy as np
import pytest
import toy
from instances import seeds
from problems import ALL_SETS, HIGHER_ORDER, KINDS, SUBSETS, draw_problem

from nonproj.automata.relaxed import decode_relaxed
from nonproj.components.trainer import train
from nonproj.errors import ConfigError
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.parts.space import indicators, part_space


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("name", [*HIGHER_ORDER, *SUBSETS])
@pytest.mark.parametrize("seed", seeds(25))
def test_decode_relaxed_equals_enumeration(seed, name, pruned, kind):
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned)
    tau = float(rng.choice([0.0, 0.3, 0.5, 1.0])) if "grandparent" in parts.names else 1.0
    relaxed = decode_relaxed(parts, scores, tau)
    arc_scores = scores[parts.range("arc")]
    value, z, z_grandparent = naive_dual.best_relaxed(parts, scores, tau * arc_scores, (1 - tau) * arc_scores)
    assert relaxed.value == pytest.approx(value, abs=1e-9)
    of_structure = naive_dual.relaxed_value(parts, scores, tau, relaxed.z, relaxed.z_grandparent)
    assert of_structure == pytest.approx(value, abs=1e-9)
    if kind == "continuous" and tau not in (0.0, 1.0):
        assert relaxed.z.tolist() == z.tolist()
        assert relaxed.z_grandparent.tolist() == z_grandparent.tolist()


def test_errors_name_what_is_wrong():
    parts = part_space(full_arc_space(2), "sibling")
    with pytest.raises(ValueError, match=r"scores has shape \(18,\); one for each part is expected: arc 4, sibling 15"):
        decode_relaxed(parts, np.zeros(18), 0.5)
    with pytest.raises(ValueError, match="the set of part types is arcs alone; they have no head automata"):
        decode_relaxed(part_space(full_arc_space(2), "arc"), np.zeros(4), 0.5)


@pytest.mark.parametrize("name", ["arc", "sibling", "grandparent"])
def test_scores_that_are_not_finite_are_named(name):
    parts = part_space(full_arc_space(3), "grandparent")
    place = parts.range(name).start + 2
    for wrong in (np.nan, np.inf, -np.inf):
        scores = np.where(np.arange(len(parts)) == place, wrong, 0.0)
        with pytest.raises(ValueError, match=rf"scores\[{place}\] \({name} 2\) is {wrong}; scores must be finite"):
            decode_relaxed(parts, scores, 0.5)


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_a_word_without_arcs_into_it_is_named_where_it_needs_a_grandparent(name):
    parts = part_space(arc_space([0, 1], [1, 2], 3), name)
    if name == "sibling":
        assert decode_relaxed(parts, np.zeros(len(parts)), 1.0).value == 0.0
    else:
        with pytest.raises(ValueError, match="no arc into word 3"):
            decode_relaxed(parts, np.zeros(len(parts)), 0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*HIGHER_ORDER, *SUBSETS])
@pytest.mark.parametrize("seed", seeds(15))
def test_ties_go_to_the_first_grandparent_and_previous_sibling(seed, name, kind):
    """Sums of small integers and halves are exact, so even choices that tie are those of the naive Viterbi."""
    rng = np.random.default_rng(seed)
    parts, scores = draw_problem(rng, int(rng.integers(1, 9)), name, kind, bool(seed % 2))
    relaxed = decode_relaxed(parts, scores, 0.5)
    copies = 2 if "grandparent" in parts.names else 1
    value, choice, _ = naive_dual.Automata(parts, scores, 0.0, 0.5)(np.zeros(copies * len(parts.arcs.head)))
    assert relaxed.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.concatenate([relaxed.z, relaxed.z_grandparent])[: len(choice)].tolist() == choice.tolist()
    if copies == 1:
        assert not relaxed.z_grandparent.any()


@pytest.mark.parametrize("name", [*ALL_SETS, *SUBSETS])
def test_indicators_do_not_need_a_decoder(name):
    """Any subset of modifiers with any grandparent of each word, decoded or not."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts, _ = draw_problem(rng, int(rng.integers(1, 7)), name, "continuous", bool(seed % 2))
        arcs = parts.arcs
        z = (rng.random(len(arcs.head)) < 0.5).astype(np.int8)
        z_grandparent = np.zeros(len(z), np.int8)
        z_grandparent[rng.integers(arcs.start[1:-1], arcs.start[2:])] = 1
        numbers = np.flatnonzero(z).tolist() + naive_dual.structure_numbers(parts, z, z_grandparent)
        assert np.flatnonzero(indicators(parts, z, z_grandparent)).tolist() == numbers


def test_a_set_without_a_decoder_is_refused_before_training():
    with pytest.raises(ConfigError, match="^parts: there is no decoder for arc,grandsibling; there are for "):
        train(toy.sentences(3), Config().with_overrides({"parts": ["arc", "grandsibling"]}))
