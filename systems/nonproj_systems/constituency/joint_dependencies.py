"""The best tree of Model 1 plus a dependency parser, by dual decomposition (Rush et al. 2010, sections 4.2 and 7.1).

The problem is ``max f(y) + gamma g(l(y))``: ``f`` is the log-probability of a lexicalised tree ``y``, ``g`` the score
of the dependencies ``l(y)`` that its lexical heads imply.  The shared variables are the arcs.  One oracle is the chart,
the other is the dependency parser's own decoder over projective trees, itself exact by dual decomposition and branch
and bound.  An arc that only one of the two allows after pruning is forbidden to both; the arcs of Model 1's best tree
are always allowed, so there is a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nonproj.dual.decoding import decode_trusted
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.errors import SizeError
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.space import part_space, tree_score
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import prune, score
from nonproj.types import PartSpace, Sentence
from nonproj_systems.constituency.brackets import Tree
from nonproj_systems.constituency.forest import Forest, best_derivation, restricted, variables_of
from nonproj_systems.constituency.lexicalised import Lexicalised, LexicalisedParser, flat
from nonproj_systems.relaxation.branch_and_bound import SearchResult, branch_and_bound
from nonproj_systems.relaxation.primal import from_oracle
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, RelaxationResult, solve
from nonproj_systems.relaxation.steps import Halving, PerIncrease, Progress
from nonproj_systems.relaxation.subgradient import Subgradient

GAMMA = 0.02
"""Weight of the dependency parser's scores, chosen on the development files of the WSJ sample."""

MAX_ITERATIONS = 50

SEARCH_ITERATIONS = 250
"""Maximum number of iterations of the root node of branch and bound."""

EXACT_WORK = SearchOptions(work_per_word=10**10)
"""Work limit of the dependency oracle: hours per word, so that its value is a maximum, not only a bound."""

HARD_BONUS = 1e6
"""Bonus of each given dependency in the hard combination; more than any log-probability."""


class JointParse(NamedTuple):
    """A tree under both models, and its certificate.

    Attributes
    ----------
    tree : Tree
    heads : ndarray of shape (n,), int32
        Its dependencies: the head of each word, from 1; 0 is the root.
    value, bound : float
        Its objective, and an upper bound of all trees' objectives.
    certified : bool
        Whether the tree is proven to be the best.
    status : str
        As in `nonproj_systems.relaxation.solver.RelaxationResult`; ``optimal`` after branch and bound, ``none`` if
        Model 1 has no tree.
    iterations : int
    alone : Lexicalised
        The tree of Model 1 alone.
    """

    tree: Tree
    heads: np.ndarray
    value: float
    bound: float
    certified: bool
    status: str
    iterations: int
    alone: Lexicalised


class Instance(NamedTuple):
    """The joint problem of one sentence.

    Attributes
    ----------
    graph : Forest
        The lexicalised trees; its variables are the arcs of ``parts``.
    parts : PartSpace
        The parts of the dependency parser.
    scores : ndarray of shape (P,), float64
        Their scores, multiplied by gamma.
    options : DualOptions
        Options of the dependency parser, for projective trees with one root.
    """

    graph: Forest
    parts: PartSpace
    scores: np.ndarray
    options: DualOptions

    def phrases(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Oracle: the best lexicalised tree; its solution is the edges of the derivation."""
        value, edges = best_derivation(self.graph, scores)
        return value, variables_of(self.graph, edges, len(scores)), edges

    def dependencies(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Oracle: the best dependency tree; its solution is the tree, int32[N]."""
        total = self.scores.copy()
        total[: len(scores)] += scores
        found = decode_trusted(self.parts, total, self.options, EXACT_WORK)[0]
        if not found.certified:  # sets of part types without compiled automata are not searched
            raise SizeError("the dependency parser's decoder left a gap; a parser of the usual part types is expected")
        arcs = self.parts.arcs
        return found.bound, (found.tree[arcs.modifier] == arcs.head).astype(np.float64), found.tree

    def objective(self, edges: np.ndarray) -> float:
        """Return the objective of a derivation."""
        return float(self.graph.score[edges].sum()) + tree_score(self.parts, self.scores, self.tree(edges))

    def heads(self, edges: np.ndarray) -> np.ndarray:
        """Return the heads of a derivation, int32[n]."""
        return self.tree(edges)[1:]

    def tree(self, edges: np.ndarray) -> np.ndarray:
        """Return the dependency tree of a derivation, int32[N], -1 for the root."""
        used, heads = self.graph.variable[edges], np.full(len(self.parts.arcs.start) - 1, -1, np.int32)
        used = used[used >= 0]
        heads[self.parts.arcs.modifier[used]] = self.parts.arcs.head[used]
        return heads

    @property
    def problem(self) -> Problem:
        """The two oracles over the arcs."""
        return Problem([self.phrases, self.dependencies], len(self.parts.arcs.head))


def make_instance(
    graph: Forest, allowed: np.ndarray, score: Callable[..., Any], types: Any, options: DualOptions
) -> Instance | None:
    """Return the joint problem over the arcs that both sides allow; None if no tree remains.

    Parameters
    ----------
    graph : Forest
        As `nonproj_systems.constituency.collins_chart.chart` makes it.
    allowed : ndarray of shape (N, N), bool
        The arcs that the dependency parser allows.
    score : callable
        Returns the scores of a `PartSpace`, float64[P].
    types : sequence of part types or names
        The set of part types.
    options : DualOptions
    """
    n_nodes, allowed = len(allowed), np.append(allowed.ravel(), True)
    smaller = restricted(graph, allowed[graph.variable])
    if smaller is None:
        return None
    mask = np.zeros(n_nodes * n_nodes + 1, np.bool_)
    mask[smaller.variable] = True
    arcs = arc_space_from_mask(mask[:-1].reshape(n_nodes, n_nodes))
    number = np.full(len(mask), -1, np.int32)
    number[arcs.head * n_nodes + arcs.modifier] = np.arange(len(arcs.head))
    parts = part_space(arcs, types)
    return Instance(smaller._replace(variable=number[smaller.variable]), parts, score(parts), options)


@dataclass
class JointParser:
    """Parses tagged sentences with Model 1 and a dependency parser jointly.

    Parameters
    ----------
    phrases : LexicalisedParser
    dependencies : Parser
        `parse` does not use its tagger: the tags are given.
    gamma : float
        Weight of the dependency parser's scores.
    max_iterations : int
        Maximum number of iterations of dual decomposition.
    exact : bool
        Whether to continue by branch and bound if there is no certificate.
    rule : callable, optional
        A step rule of `nonproj_systems.relaxation.steps`; by default that of Rush et al. (2010), appendix B.
    """

    phrases: LexicalisedParser
    dependencies: Parser
    gamma: float = GAMMA
    max_iterations: int = MAX_ITERATIONS
    exact: bool = False
    rule: Callable[[Progress], float] | None = None

    def instance(self, sentence: Sentence, graph: Forest, alone: np.ndarray) -> Instance:
        """Return the joint problem of a sentence.

        Parameters
        ----------
        sentence : Sentence
            With tags.
        graph : Forest
            The trees of Model 1.
        alone : ndarray of shape (n,), int32
            The heads of its best tree.
        """
        batch = self.dependencies.with_request(tags="none", constraints="none").run([sentence], until=prune)
        [arcs], n_nodes = batch.arcs, len(alone) + 1
        allowed = np.zeros((n_nodes, n_nodes), np.bool_)
        allowed[arcs.head, arcs.modifier] = True
        allowed[alone, np.arange(1, n_nodes)] = True
        options = batch.request.options._replace(projective=True, single_root=True)

        def scores(parts: PartSpace) -> np.ndarray:
            return self.gamma * score(batch._replace(arcs=[parts.arcs], spaces=[parts])).scores[0]

        return make_instance(graph, allowed, scores, batch.loaded.scorer.types, options)

    def relax(self, instance: Instance, callback: Callable[[RelaxationResult], Any] | None = None):
        """Return the result of dual decomposition, a `RelaxationResult`, or a `SearchResult` after branch and bound."""
        method, repair = Subgradient(self.rule or Halving()), from_oracle(instance.objective)
        limits = Limits(self.max_iterations, grace=0)
        found = solve(instance.problem, method, repair=repair, limits=limits, callback=callback)
        if found.certified or not self.exact:
            return found
        searched = self.search(instance, found.best_multipliers)
        searched.iterations += found.iterations
        return searched

    def search(self, instance: Instance, start: np.ndarray) -> SearchResult:
        """Return the best tree and its proof by branch and bound, from given multipliers.

        Its steps are ``size / (t + 1)`` after ``t`` increases of the dual, since steps that are halved soon vanish.
        """
        method, limits = Subgradient(PerIncrease(size=0.5)), Limits(SEARCH_ITERATIONS)
        repair = from_oracle(instance.objective)
        return branch_and_bound(instance.problem, method, repair=repair, limits=limits, start=start)

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> JointParse:
        """Return the best tree of both models."""
        sentence = tagged_sentence(words, tags)
        graph = self.phrases.chart(words, tags)
        if graph is None:
            tree = flat(words, tags)
            return JointParse(tree.tree, tree.heads, -np.inf, np.inf, False, "none", 0, tree)
        score, edges = best_derivation(graph, np.zeros((len(words) + 1) ** 2))
        alone = self.phrases.read(graph, edges, score, words, tags)
        instance = self.instance(sentence, graph, alone.heads)
        found = self.relax(instance)
        heads = instance.heads(found.solution)
        tree = self.phrases.tree(instance.graph, found.solution, words, tags)
        values = found.primal_value, found.dual_bound, found.certified, found.status, found.iterations
        return JointParse(tree, heads, *values, alone)

    def hard(self, words: Sequence[str], tags: Sequence[str]) -> Lexicalised:
        """Return the best tree of Model 1 with the dependencies of the dependency parser's best tree.

        If Model 1 has no tree with all of these dependencies, return one with the most of them (the baseline of Rush et
        al. 2010, section 7.1, which does not specify this case).
        """
        graph = self.phrases.chart(words, tags)
        if graph is None:
            return flat(words, tags)
        parser = self.dependencies.with_request(tags="none")
        heads = parser.parse(tagged_sentence(words, tags)).decoded.heads
        bonus = np.zeros((len(words) + 1) ** 2)
        bonus[heads * (len(words) + 1) + np.arange(1, len(words) + 1)] = HARD_BONUS
        edges = best_derivation(graph, bonus)[1]
        return self.phrases.read(graph, edges, float(graph.score[edges].sum()), words, tags)


def tagged_sentence(words: Sequence[str], tags: Sequence[str]) -> Sentence:
    """Return a tagged sentence as input of the dependency parser."""
    rows = [[str(i), word, "_", tag, tag, *"_____"] for i, (word, tag) in enumerate(zip(words, tags, strict=True), 1)]
    return Sentence(rows)
