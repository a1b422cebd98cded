"""The joint problem as oracles of the relaxation library: an arborescence, a tagger, and an automaton for each word.

Shared variables are the tagged arcs, numbered as they are, and then the tagged words without the root.  The
arborescence uses the best pair of tags for each arc; the automaton of a word is the best of the parser's own automata
of its tagged words; the tagger chooses a sequence of tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from nonproj.automata.compiled import decode_head
from nonproj.automata.general import general_automata
from nonproj.automata.workspace import Choice, SplitScores, first_copies, new_workspace
from nonproj.dual.options import DEFAULTS, DualOptions
from nonproj.parts.automaton import HeadAutomata
from nonproj.parts.space import part_space
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.checks import check_status
from nonproj.trees.projective import best_projective_tree
from nonproj_systems.joint_tags.chain import best_tags, new_chain_table, smoothed_tags
from nonproj_systems.joint_tags.space import JointProblem, joint_score
from nonproj_systems.parsing.marginals import join_paths, joining
from nonproj_systems.parsing.oracles import smoothed_tree


class JointOracles(NamedTuple):
    """The joint problem in parts.

    Attributes
    ----------
    oracles : list of callable
        The arborescence, the tagger, and the automaton of each word from the root on: each takes scores of the
        variables that it sees and returns the maximum, these variables and its solution.  That of the arborescence is a
        tree and the candidate at the end of each arc, that of the tagger the candidates.
    n_variables : int
    views : list of ndarray
        The variables that each oracle sees.
    repair : callable
        Takes a proposal with the ``solutions`` of all oracles; returns the score of the tree with the tagger's tags or
        with those of its arcs, whichever is higher, and this solution.
    """

    oracles: list[Any]
    n_variables: int
    views: list[Any]
    repair: Callable[[Any], tuple[float, Any]]


def joint_oracles(problem: JointProblem, options: DualOptions = DEFAULTS) -> JointOracles:
    """Return the joint problem as oracles; of the options, ``beta``, ``tau`` and those of trees are used.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj_systems.joint_tags.space import joint_problem, joint_space, no_chain
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> found = joint_oracles(joint_problem(space, parts, np.zeros(len(parts)), no_chain(space)))
    >>> len(found.oracles), found.n_variables, [len(view) for view in found.views]
    (5, 10, [10, 3, 3, 6, 5])
    """
    space = problem.space
    n_arcs, n_nodes = len(space.arc), len(space.first) - 1
    unmoved = np.zeros(len(space.tagged.start) - 1)
    copies = first_copies(space.tagged, problem.scores, unmoved, options.beta, options.tau)
    split = SplitScores(*copies.reshape(3, n_arcs))
    tags = n_arcs + np.arange(len(space.word) - 1)
    oracles: list[Any] = [_Arborescence(problem, split.y, options), _Tags(problem)]
    views = [np.arange(n_arcs + len(tags)), tags]
    automata = _Automata(problem, split)
    for h in range(n_nodes):
        out = np.flatnonzero(space.word[space.tagged.head] == h)
        into = np.flatnonzero(space.word[space.tagged.modifier] == h)
        oracles.append(_Automaton(automata, h, out, into))
        views.append(np.concatenate([out, into]))

    def repair(proposal: Any) -> tuple[float, Any]:
        """Return the better of the tree's tags and the tagger's, with the tree."""
        (heads, own), tags = proposal.solutions[:2]
        found = [(_score_or_none(problem, heads, each), (heads, each)) for each in (tags, own)]
        return max(found, key=lambda item: item[0])

    return JointOracles(oracles, n_arcs + len(tags), views, repair)


def _score_or_none(problem: JointProblem, heads: np.ndarray, tags: np.ndarray) -> float:
    """Return the score of a solution; minus infinity if an arc of it is no candidate."""
    try:
        return joint_score(problem, heads, tags)
    except ValueError:
        return -np.inf


class _Arborescence:
    """The best tree over words, with the best pair of tags for each arc."""

    def __init__(self, problem: JointProblem, y_score: np.ndarray, options: DualOptions):
        self.space, self.y_score, self.options = problem.space, y_score, options

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the score of the best tree, its tagged arcs and the tags at their ends, and tree and candidates."""
        space, n_arcs = self.space, len(self.space.arc)
        modifier = space.tagged.modifier
        y_score = self.y_score + scores[:n_arcs] + scores[n_arcs:][modifier - 1]
        order = np.lexsort((-np.arange(n_arcs), y_score, space.arc))
        best = order[np.append(np.flatnonzero(np.diff(space.arc[order])), n_arcs - 1)] if n_arcs else order
        heads = np.empty(len(space.first) - 1, np.int32)
        find = best_projective_tree if self.options.projective else best_arborescence
        check_status(find(space.words, y_score[best], self.options.single_root, heads))
        chosen = best[heads[space.words.modifier] == space.words.head]
        variables, tags = np.zeros(len(scores)), np.zeros(len(heads), np.int32)
        variables[chosen] = variables[n_arcs + modifier[chosen] - 1] = 1.0
        tags[space.word[modifier[chosen]]] = modifier[chosen] - space.first[space.word[modifier[chosen]]]
        return float(y_score[chosen].sum()), variables, (heads, tags)

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum over all trees with tags at both ends of each arc, and its gradient."""
        space, n_arcs = self.space, len(self.space.arc)
        modifier = space.tagged.modifier
        y_score = (self.y_score + scores[:n_arcs] + scores[n_arcs:][modifier - 1]) / temperature
        words = np.full(len(space.words.head), -np.inf)
        np.logaddexp.at(words, space.arc, y_score)
        value, of_words = smoothed_tree(space.words, temperature * words, temperature, self.options.single_root)
        found = of_words[space.arc] * np.exp(y_score - words[space.arc])
        return value, np.append(found, np.bincount(modifier, found, minlength=len(space.word))[1:])


class _Tags:
    """The best sequence of tags."""

    def __init__(self, problem: JointProblem):
        self.space, self.chain = problem.space, problem.chain
        self.table = new_chain_table(problem.chain)

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the score of the best sequence, the tagged words on it, and the candidates."""
        space, tags = self.space, np.zeros(len(self.space.first) - 1, np.int32)
        own = self.chain.own + np.append(0.0, scores)
        value = best_tags(self.chain, own, space.first, self.table, tags)
        variables = np.zeros(len(own))
        variables[space.first[:-1] + tags] = 1.0
        return float(value), variables[1:], tags

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum over all sequences, and its gradient: the marginals of the tagged words."""
        return smoothed_tags(self.chain, self.chain.own + np.append(0.0, scores), self.space.first, temperature)


class _Automata:
    """The automata of all tagged words: the parser's own, and as tables, whose marginals are known."""

    def __init__(self, problem: JointProblem, split: SplitScores):
        self.problem, self.split, n_arcs = problem, split, len(problem.space.arc)
        self.work = new_workspace(problem.space.tagged, problem.space.starts)
        self.choice = Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8))
        names = [name for name in problem.parts.names if name not in ("grandparent", "grandsibling")]
        self.parts = part_space(problem.space.tagged, names)
        self.scores = np.concatenate([problem.scores[problem.parts.range(name)] for name in names])

    def best(self, e: int, split: SplitScores) -> float:
        """Return the value of tagged word ``e``'s best choice of arcs, which is left in ``choice``."""
        space = self.problem.space
        return float(decode_head(space.tagged, space.starts, self.problem.scores, split, e, self.work, self.choice))

    def under(self, e: int, arc: int) -> HeadAutomata:
        """Return the tables as they are for tagged word ``e`` under the grandparent of an arc, -1 for none."""
        scores, start = self.scores.copy(), self.problem.parts.start("grandsibling")
        if len(start) and arc >= 0:
            own = slice(*self.parts.start("sibling")[[2 * e, 2 * e + 2]])
            row = start[e] + (arc - self.problem.space.tagged.start[e]) * (own.stop - own.start)
            scores[own] += self.problem.scores[row : row + own.stop - own.start]
        return general_automata(self.parts, scores)


class _Automaton:
    """The automaton of a word: its tag, a tagged arc into it, and tagged arcs out of it."""

    def __init__(self, automata: _Automata, h: int, out: np.ndarray, into: np.ndarray):
        self.automata, self.h, self.out, self.into = automata, h, out, into

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the best value and the arcs chosen, out and in."""
        tagged, choice, split = self.automata.problem.space.tagged, self.automata.choice, self.shifted(scores)
        best, chosen = -np.inf, np.zeros(len(scores))
        for e in range(*self.automata.problem.space.first[self.h : self.h + 2]):
            value = self.automata.best(e, split)
            if value > best:
                best = value
                chosen[: len(self.out)] = choice.z[self.out] * (tagged.head[self.out] == e)
                chosen[len(self.out) :] = choice.z_grandparent[self.into] * (tagged.modifier[self.into] == e)
        return best, chosen, chosen

    def shifted(self, scores: np.ndarray) -> SplitScores:
        """Return the copies of the scores of arcs, with those of the variables added to the automata's."""
        split = self.automata.split
        z_score, above = split.z.copy(), split.grandparent.copy()
        z_score[self.out] += scores[: len(self.out)]
        above[self.into] += scores[len(self.out) :]
        return SplitScores(split.y, z_score, above)

    def choices(self, scores: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, float]]:
        """Yield each tagged word of this word with each arc into it, what its arcs are then worth, and that arc's."""
        problem, (_, z_score, above) = self.automata.problem, self.shifted(scores)
        tagged = problem.space.tagged
        for e in range(*problem.space.first[self.h : self.h + 2]):
            if e == 0:
                yield e, -1, z_score, 0.0
            below = tagged.out[tagged.out_start[2 * e] : tagged.out_start[2 * e + 2]]
            for arc in range(tagged.start[e], tagged.start[e + 1]):
                gain, row = z_score.copy(), problem.space.starts.grandparent[e] + (arc - tagged.start[e]) * len(below)
                gain[below] += problem.scores[row : row + len(below)]
                yield e, arc, gain, float(above[arc])

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum over all paths under all arcs into the word, and its gradient."""
        tagged = self.automata.problem.space.tagged
        values, means = [], []
        for e, arc, gain, above in self.choices(scores):
            found = join_paths(tagged, self.automata.under(e, arc), gain, temperature, [2 * e, 2 * e + 1])
            values.append(float(found.values.sum()) + above)
            taken = np.where(found.half >= 0, np.exp((found.taken - found.values[found.half]) / temperature), 0.0)
            means.append(np.append(taken[self.out], self.into == arc))
        value = float(joining(temperature)(np.array(values), axis=0))
        return value, np.exp((np.array(values) - value) / temperature) @ np.array(means)
