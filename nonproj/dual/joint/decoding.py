"""Joint decoding: tags and trees as a problem of `nonproj.dual.search`.

A restriction is the problem over some of the tagged arcs.  It is split on the tagged word or the tagged arc that was
disputed most: a tag is settled or excluded; an arc is the only one into its word, or excluded.
"""

from __future__ import annotations

import numpy as np

from nonproj.automata.workspace import split_scores
from nonproj.dual.domain import with_scale
from nonproj.dual.joint.space import JointProblem, restrict_problem, used_parts
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions, check_options, check_search
from nonproj.dual.problem import NO_TRACE, Problem, Restriction, bonus_of
from nonproj.dual.search import Searched
from nonproj.dual.search import search as search_problem
from nonproj.dual.subgradient import Trace
from nonproj.dual.subproblems import Instance
from nonproj.dual.tags import JointSpace, Tags
from nonproj.trees.checks import NO_TREE, check_integer, check_status
from nonproj.trees.domain import highest_forbidden
from nonproj.types import Bools, Decoded, Int32s, Int64s


class TaggedProblem(Problem):
    """A joint problem, as it is searched: its arcs are tagged arcs, its automata those of tagged words."""

    def __init__(self, problem: JointProblem, options: DualOptions):
        space, n_arcs = problem.space, len(problem.space.arc)
        copies = split_scores(problem.scores[:n_arcs], options.beta, options.tau, True)
        super().__init__(_instance(problem), np.concatenate([copies, problem.chain.own]))
        self.head, self.modifier = space.word[space.tagged.head], space.word[space.tagged.modifier]
        self.problem, self.n_nodes, self.n_disputes = problem, len(space.first) - 1, n_arcs + len(space.word)
        self.n_solution = 2 * self.n_nodes

    def used_arcs(self, solution: Int32s) -> Bools:
        """Return the tagged arcs of a solution, bool[A]."""
        space = self.problem.space
        chosen = space.first[:-1] + solution[self.n_nodes :]
        used = super().used_arcs(solution) & (chosen[self.modifier] == space.tagged.modifier)
        return used & (chosen[self.head] == space.tagged.head)

    def restrict(self, keep: Bools, scale: float) -> Restriction | None:
        """Return the problem over these tagged arcs, without what they exclude."""
        restricted = restrict_problem(self.problem, keep)
        if restricted is None:
            return None
        fewer, arcs = restricted
        n_arcs = len(self.head)
        words = np.arange(len(self.problem.space.word))
        places = np.concatenate([arcs, n_arcs + arcs, 2 * n_arcs + arcs, 3 * n_arcs + words])
        modifier = self.modifier[arcs]
        forced = np.flatnonzero(np.bincount(modifier)[modifier] == 1)
        bonus = bonus_of(fewer.parts, fewer.scores, scale)
        return Restriction(_instance(fewer), places, np.append(arcs, n_arcs + words), forced, bonus)

    def branches(self, keep: Bools, disputes: Int64s) -> tuple[Bools, Bools] | None:
        """Return restrictions with a tag or an arc, and without; None if there is but one solution."""
        space, n_arcs = self.problem.space, len(keep)
        tag = _branching_tag(space, keep, disputes[n_arcs:])
        several = np.bincount(self.modifier[keep], minlength=self.n_nodes) > 1
        most = disputes[:n_arcs][keep & several[self.modifier]].max(initial=-1)
        if tag >= 0 and disputes[n_arcs + tag] >= most:
            into = space.tagged.modifier == tag
            return keep & (into | (self.modifier != space.word[tag])), keep & ~into
        return super().branches(keep, disputes[:n_arcs])


def _instance(problem: JointProblem) -> Instance:
    """Return a joint problem as kernels take it."""
    return Instance(problem.space.tagged, problem.space.starts, problem.scores, Tags(problem.space, problem.chain))


def decode_jointly(
    problem: JointProblem, options: DualOptions = DEFAULTS, search: SearchOptions = SEARCH, price: float = 0.0
) -> Decoded:
    """Find the best tree with tags, with a bound and, mostly, a certificate.

    Parameters
    ----------
    problem : JointProblem
    options : DualOptions
    search : SearchOptions
        `nonproj.dual.decoding.FIRST_NODE`: dual decomposition alone.
    price : float
        Of a tree that is not projective, see `nonproj.dual.decoding.priced_search`.

    Raises
    ------
    ValueError
        If there is no tree, or an option or a limit is out of its range.

    Notes
    -----
    Rush, Sontag, Collins and Jaakkola (2010), section 4.1, joined a parser and a tagger; the head automata are those of
    Koo et al. (2010).

    Examples
    --------
    >>> from nonproj.dual.joint.space import joint_problem, joint_space, no_chain
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> chain = no_chain(space)
    >>> chain.own[:] = 0.0, 0.0, 2.0, 0.0  # the second tag of word 1
    >>> scores = np.zeros(len(parts))
    >>> scores[1] = 3.0  # word 1 with its first tag under word 2
    >>> found = decode_jointly(joint_problem(space, parts, scores, chain))
    >>> found.tree, found.tags, found.score, found.certified
    (array([-1,  2,  0], dtype=int32), array([0, 0, 0], dtype=int32), 3.0, True)
    """
    return k_best_jointly(problem, 1, options, search, price)[0]


def k_best_jointly(
    problem: JointProblem,
    k: int,
    options: DualOptions = DEFAULTS,
    search: SearchOptions = SEARCH,
    price: float = 0.0,
    trace: Trace = NO_TRACE,
) -> Searched:
    """Find the k best trees, each with its best tags, as `nonproj.dual.decoding.k_best` finds trees alone.

    For the parameters see `decode_jointly`; ``trace`` is filled by the first node as far as its arrays reach.

    Examples
    --------
    >>> from nonproj.dual.joint.space import joint_problem, joint_space, no_chain
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> scores = np.zeros(len(parts))
    >>> scores[:7] = [1.0, 4.0, 2.0, 8.0, 9.0, 3.0, 6.0]
    >>> found = k_best_jointly(joint_problem(space, parts, scores, no_chain(space)), 5)
    >>> [(each.tree.tolist(), each.tags.tolist(), each.score) for each in found]
    [([-1, 2, 0], [0, 1, 0], 17.0), ([-1, 0, 0], [0, 1, 0], 11.0), ([-1, 0, 1], [0, 1, 0], 8.0)]
    """
    problem, options, forbidden = _pose(problem, check_options(options), price)
    k, search = check_integer(k, "k", 1), check_search(search)
    found = search_problem(TaggedProblem(problem, options), options, search, k, price, trace)
    if not forbidden.any():
        return found
    allowed = [each for each in found if not forbidden[_arcs(problem, each)].any()]
    if not allowed:
        check_status(NO_TREE)
    return Searched(allowed, found.problem, found.copies)


def _arcs(problem: JointProblem, found: Decoded) -> Int64s:
    """Return the tagged arcs of a solution."""
    assert found.tags is not None
    return used_parts(problem, found.tree, found.tags)[: len(found.tree) - 1]


def _pose(problem: JointProblem, options: DualOptions, price: float) -> tuple[JointProblem, DualOptions, Bools]:
    """Return the problem, options with its scale, and which tagged arcs are forbidden, see `nonproj.trees.domain`.

    Forbidden arcs get a score so low that any solution without them is better than any with one.  To leave them out
    would be no problem for the bound, but then even one solution may be hard to find.
    """
    n_arcs, n_nodes = len(problem.space.arc), len(problem.space.first) - 1
    forbidden = problem.scores[:n_arcs] <= highest_forbidden(problem.scores[:n_arcs])
    scores = problem.scores.copy()
    scores[:n_arcs][forbidden] = 0.0
    options = with_scale(options, scores[scores > -np.inf], *problem.chain)
    # A solution has fewer than 3 N parts of each type, and scores of tags of three kinds for each word.
    most = 3 * len(problem.parts.types) + 3
    scores[:n_arcs][forbidden] = -2.0 * most * (n_nodes + 1) * options.scale - options.scale - price
    return (problem._replace(scores=scores) if forbidden.any() else problem), options, forbidden


def _branching_tag(space: JointSpace, keep: Bools, disputes: Int64s) -> int:
    """Return the most disputed tagged word of a word that has several left; -1 where none has."""
    reached = np.bincount(space.tagged.modifier[keep], minlength=len(space.word)) > 0
    several = np.bincount(space.word[reached], minlength=len(space.first) - 1) > 1
    open_ones = np.flatnonzero(reached & several[space.word])
    return int(open_ones[disputes[open_ones].argmax()]) if len(open_ones) else -1
