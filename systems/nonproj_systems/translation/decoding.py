"""Exact decoding: Lagrange multipliers, and tightening if a gap remains, enforce that each word is translated once.

The relaxed problem is to translate a total of N words (Chang and Collins 2011; the tutorial, section 6.4).  Each source
word has a multiplier.  The subgradient method, tightening and certificates are those of `nonproj_systems.relaxation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nonproj_systems.relaxation.primal import Proposal
from nonproj_systems.relaxation.problem import Problem, equal_to
from nonproj_systems.relaxation.solver import Limits, RelaxationResult
from nonproj_systems.relaxation.steps import Decaying, OncePrimal, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.relaxation.tightening import tighten
from nonproj_systems.translation.graph import Graph, best_derivation, phrase_bonus, prune
from nonproj_systems.translation.instance import Instance, score_derivation
from nonproj_systems.translation.refinement import refine
from nonproj_systems.translation.stack import decode_by_stacks
from nonproj_systems.translation.template import make_graph

WIDER = (1, 10, 100)
"""Factors of the stack decoder's beam, tried in turn until it finds a derivation."""

EXACT, GAP, INFEASIBLE = "exact", "gap", "infeasible"
"""The derivation is proven optimal; it is the best one found, with a gap to the bound; there is no derivation."""


class DecodingOptions(NamedTuple):
    """Options of decoding.

    Attributes
    ----------
    iterations : int
        Maximum number of iterations of the subgradient method in each round.
    patience : int
        Number of iterations without improvement of bound or derivation after which a round ends.
    rounds : int
        Maximum number of rounds after the first one; 0 for the relaxation alone.
    words : int
        Number of words that a round adds to the exactly counted ones.
    spans : bool
        Whether the first round of tightening also forbids phrases that overlap the span translated just before.
    beam : int
        Beam of the stack decoder that finds the first derivation; 0 for none.
    max_arcs : int
        Maximum number of arcs of a tightened graph; at the limit the next round continues with more iterations only.
    tolerance : float
        The gap counts as closed if it is at most ``tolerance * (1 + |score|)``.
    """

    iterations: int = 100
    patience: int = 30
    rounds: int = 20
    words: int = 3
    spans: bool = True
    beam: int = 10
    max_arcs: int = 4_000_000
    tolerance: float = 1e-9


@dataclass
class Decoded:
    """The best derivation of a sentence.

    Attributes
    ----------
    derivation : list of int
        Its phrases, in the order of the translation; empty without a translation.
    value, bound : float
        Its score, and an upper bound on the score of any derivation.
    certified : bool
        Whether it is proven optimal.
    status : str
        `EXACT`, `GAP` or `INFEASIBLE`.
    iterations : int
        Iterations of the subgradient method in all rounds.
    counted : list of list of int
        The words that are counted exactly in each round of tightening.
    rounds : list of RelaxationResult
        Results of the relaxation: first without, then with tightening; with traces.
    """

    derivation: list[int]
    value: float
    bound: float
    certified: bool
    status: str
    iterations: int
    counted: list[list[int]] = field(default_factory=list)
    rounds: list[RelaxationResult] = field(default_factory=list)


class Derivations:
    """Oracle: the best derivation of a graph; its variables are the counts of translations of each source word.

    Parameters
    ----------
    instance : Instance
    graph : Graph

    Attributes
    ----------
    disputes : ndarray of shape (N,), int64
        Number of times that each word was not translated exactly once.
    """

    def __init__(self, instance: Instance, graph: Graph):
        self.instance, self.graph = instance, graph
        self.disputes = np.zeros(instance.n_words, np.int64)

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the maximum, the counts of source words, and the derivation."""
        instance = self.instance
        bonus = phrase_bonus(instance.start, instance.end, scores)
        value, counts, derivation = best_derivation(self.graph, bonus, instance.start, instance.end, instance.n_words)
        self.disputes += counts != 1.0
        return float(value), counts, derivation


class Incumbent:
    """Primal heuristic: the best valid derivation so far.

    Parameters
    ----------
    instance : Instance
    beam : int
        Beam of the stack decoder that finds the first one; 0 for none.
    """

    def __init__(self, instance: Instance, beam: int):
        self.instance, self.value, self.derivation = instance, -np.inf, None
        for factor in WIDER if beam else ():
            first = decode_by_stacks(instance, factor * beam)
            if len(first):
                self.update(first)
                break

    def __call__(self, proposal: Proposal) -> tuple[float, np.ndarray | None]:
        """Return the best derivation's score, and the derivation."""
        if proposal.own > -np.inf:
            self.update(proposal.solutions[0])
        return self.value, self.derivation

    def update(self, derivation: np.ndarray) -> None:
        """Keep a valid derivation if it is better."""
        value = score_derivation(self.instance, derivation)
        if value > self.value or self.derivation is None:
            self.value, self.derivation = value, derivation


class _Tightening:
    """Separation: the graph without suboptimal arcs, with more words counted exactly."""

    def __init__(self, incumbent: Incumbent, options: DecodingOptions):
        self.incumbent, self.options, self.counted = incumbent, options, []
        self.infeasible = False

    def __call__(self, problem: Problem, result: RelaxationResult) -> Problem | None:
        options, oracle, scores = self.options, problem.oracles[0], -result.best_multipliers
        known = {word for words in self.counted for word in words}
        if len(known) == oracle.instance.n_words:
            return None
        value = self.incumbent.value
        slack = 1e-9 * (1.0 + abs(value)) if value > -np.inf else 0.0
        least = value + scores.sum() - slack
        words = choose_words(oracle.disputes, known, options.words)
        graph = prune(oracle.graph, phrase_bonus(oracle.instance.start, oracle.instance.end, scores), least)
        spans = options.spans and not self.counted
        refined = refine(graph, oracle.instance, words, spans, scores, least, options.max_arcs)
        if refined is not None:
            graph = refined
            self.counted.append(words)
        self.infeasible = not len(graph.source)
        if self.infeasible:
            return None
        return Problem([Derivations(oracle.instance, graph)], problem.n_variables, constraints=problem.constraints)


def choose_words(disputes: np.ndarray, known: set[int], most: int) -> list[int]:
    """Return the words to count exactly: those most often not translated exactly once, no two of them neighbours.

    The choice of Chang and Collins (2011).  Neighbours are mostly missed and repeated together; a word whose neighbour
    is counted comes after the others.

    Examples
    --------
    >>> choose_words(np.array([9, 8, 7, 0, 5]), set(), 2), choose_words(np.array([9, 8, 7, 0, 5]), {0, 2, 4}, 2)
    ([0, 2], [1])
    """
    order = [int(i) for i in np.argsort(-disputes, kind="stable") if int(i) not in known]
    wanted = [i for i in order if disputes[i]] or order
    found: list[int] = []
    for i in wanted:
        if len(found) < most and not {i - 1, i + 1} & {*known, *found}:
            found.append(i)
    return found or wanted[:most]


def decode(instance: Instance, options: DecodingOptions = DecodingOptions()) -> Decoded:  # noqa: B008
    """Return the best derivation that translates each source word once.

    Parameters
    ----------
    instance : Instance
    options : DecodingOptions

    Returns
    -------
    Decoded

    Notes
    -----
    Chang and Collins (2011): the relaxation is solved by the subgradient method.  While a gap remains, the graph loses
    all arcs through which no derivation can be as good as the best known one, and counts more words exactly.

    Examples
    --------
    >>> from nonproj_systems.translation.instance import make_instance
    >>> from nonproj_systems.translation.language_model import estimate
    >>> phrases = [(0, 1, [3], -1.0), (1, 2, [4], -1.0), (0, 2, [4, 3], -2.5)]
    >>> found = decode(make_instance(2, phrases, estimate([[3, 4], [4, 3]], 5), distortion=-1.0))
    >>> found.derivation, found.certified
    ([0, 2], True)
    """
    n_words = instance.n_words
    try:
        oracle = Derivations(instance, make_graph(instance))
    except ValueError:
        return Decoded([], -np.inf, -np.inf, False, INFEASIBLE, 0)
    problem = Problem([oracle], n_words, constraints=equal_to(np.eye(n_words), np.ones(n_words)))
    incumbent = Incumbent(instance, options.beam)
    separation = _Tightening(incumbent, options)
    limits = Limits(options.iterations, options.tolerance, grace=0, patience=options.patience)
    method = Subgradient(OncePrimal(Polyak(), Decaying(1.0, 0.5)))
    found = tighten(problem, method, separation, repair=incumbent, limits=limits, max_rounds=options.rounds + 1)
    status = EXACT if found.certified else GAP
    if separation.infeasible and incumbent.derivation is None:
        status, found.dual_bound = INFEASIBLE, -np.inf
    derivation = [] if incumbent.derivation is None else incumbent.derivation.tolist()
    iterations = sum(result.iterations for result in found.rounds)
    return Decoded(
        derivation,
        incumbent.value,
        found.dual_bound,
        found.certified,
        status,
        iterations,
        separation.counted,
        found.rounds,
    )
