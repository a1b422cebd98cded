"""Options of dual decomposition and of branch and bound, and their validation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.options.sections import DecodingConfig
from nonproj.trees.checks import check_flag, check_integer

APPENDIX_A, POLYAK = 0, 1
"""Numbers of the step rules, for kernels."""

RULES = ("paper", "polyak")
"""Names of the step rules, in the order of their numbers."""


FIRST_TARGET = 0.1
"""Gap assumed by steps before there is a primal value, as a share of the dual value, or of the scale if larger."""

POLYAK_SCALE, POLYAK_PATIENCE, POLYAK_DECAY, MIN_STEP, GRACE_ITERATIONS = 1.7, 20, 0.7, 1e-6, 10
"""Constants of the subgradient method."""


class DualOptions(NamedTuple):
    """Options of dual decomposition.

    Attributes
    ----------
    max_iterations : int
        K; without a certificate by then, the best tree seen is returned (section 7.5).
    beta : float
        Share of the arc scores that the arborescence sees (appendix A.2).
    tau : float
        In a set with grandparents the share of the rest that the automaton of an arc's head sees; the automaton of its
        modifier sees what is left.
    single_root : bool
        Whether exactly one word is headed by the root.
    projective : bool
        Whether to find projective trees, by Eisner's algorithm (section 7.7).
    tolerance : float
        A gap of at most ``tolerance * (scale + |score|)`` counts as none.
    rule : int
        ``APPENDIX_A`` (the paper's step sizes) or ``POLYAK``, see `nonproj.dual.decoding.dual_decomposition`.
    scale : float
        The largest absolute score of the problem, which `nonproj.dual.domain` fills in.
    """

    max_iterations: int = 250
    beta: float = 0.5
    tau: float = 0.5
    single_root: bool = False
    projective: bool = False
    tolerance: float = 1e-9
    rule: int = POLYAK
    scale: float = 1.0

    def closes(self, bound: float, score: float) -> bool:
        """Return whether the gap between a bound and a score is within the tolerance."""
        return score > -np.inf and bound - score <= self.gap_at(score)

    def gap_at(self, score: float) -> float:
        """Return the largest gap that counts as none at a score."""
        return self.tolerance * (self.scale + abs(score))


class SearchOptions(NamedTuple):
    """Limits of branch and bound.

    Attributes
    ----------
    work_per_word : int
        Limit of the work for each word of the sentence, the root node included; half of it for each word after the
        first 50, because searches for the trees of long sentences seldom end.  Work is counted, not timed, so that
        results are reproducible; its unit is a Viterbi transition, and other work is charged in these units.  A million
        take about half a millisecond.  When the work is used up, the incumbent is returned with the lowest bound
        proved.  0: dual decomposition alone, without a limit.
    node_iterations : int
        Iterations of the subgradient method in each node after the root node, at most.
    search : bool
        Whether to search at all, or to stop at the root node.
    """

    work_per_word: int = 100_000_000
    node_iterations: int = 30
    search: bool = True


FULL_WORK_WORDS = 50
"""Number of words of a sentence with the full work per word; later words have half."""

MAX_WORK = 10**14
"""Limit of the work for each word, because the work of a sentence is counted in 64 bits."""

UNLIMITED = np.iinfo(np.int64).max
"""A budget that no loop exhausts."""

DEFAULTS, SEARCH = DualOptions(), SearchOptions()


def dual_options(decoding: DecodingConfig, single_root: bool, projective: bool = False) -> DualOptions:
    """Return the options of the decoder; ``single_root`` and ``projective`` replace "auto" in the configuration."""
    return DualOptions(
        max_iterations=decoding.max_iterations,
        single_root=single_root if decoding.single_root == "auto" else bool(decoding.single_root),
        projective=projective if decoding.projective == "auto" else bool(decoding.projective),
        rule=RULES.index(decoding.step),
    )


def check_options(options: DualOptions) -> DualOptions:
    """Return the options with the types that kernels expect; raise ``ValueError`` if one is out of its range."""
    options = DualOptions(
        max_iterations=check_integer(options.max_iterations, "max_iterations", 1),
        beta=float(options.beta),
        tau=float(options.tau),
        single_root=check_flag(options.single_root, "single_root"),
        projective=check_flag(options.projective, "projective"),
        tolerance=float(options.tolerance),
        rule=check_integer(options.rule, "rule", 0),
        scale=float(options.scale),
    )
    for name in ("beta", "tau"):
        if not 0.0 <= getattr(options, name) <= 1.0:
            raise ValueError(f"{name} is {getattr(options, name)}; a share from 0 to 1 is expected")
    if not 0.0 <= options.tolerance < np.inf:
        raise ValueError(f"tolerance is {options.tolerance}; 0 or more is expected")
    if options.rule not in range(len(RULES)):
        raise ValueError(f"rule is {options.rule}; 0 (paper) or 1 (polyak) is expected")
    return options


def check_search(search: SearchOptions) -> SearchOptions:
    """Return the limits with the types that kernels expect; raise ``ValueError`` if one is out of its range."""
    return SearchOptions(
        work_per_word=check_integer(search.work_per_word, "work_per_word", 0, MAX_WORK),
        node_iterations=check_integer(search.node_iterations, "node_iterations", 1),
        search=check_flag(search.search, "search"),
    )
