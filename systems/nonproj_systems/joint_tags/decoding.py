"""The best tree with its tags, by the relaxation library: dual decomposition, then branch and bound."""

from __future__ import annotations

from typing import NamedTuple

from nonproj.dual.options import APPENDIX_A, DEFAULTS, DualOptions, check_options
from nonproj.types import Decoded, Int32s
from nonproj_systems.joint_tags.oracles import joint_oracles
from nonproj_systems.joint_tags.space import JointProblem
from nonproj_systems.relaxation.branch_and_bound import INFEASIBLE, branch_and_bound
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.steps import AppendixA, OncePrimal, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

NODES = 1000
"""Nodes of branch and bound after the first, at most."""


class TaggedTree(NamedTuple):
    """A tree with tags.

    Attributes
    ----------
    decoded : Decoded
        The tree; its certificate is about tree and tags together.
    tags : ndarray of shape (N,), int32
        The candidate of each word, from 0; 0 for the root.
    """

    decoded: Decoded
    tags: Int32s


def decode_jointly(problem: JointProblem, options: DualOptions = DEFAULTS, nodes: int = NODES) -> TaggedTree:
    """Find the best tree with tags, with a bound and, mostly, a certificate.

    Parameters
    ----------
    problem : JointProblem
    options : DualOptions
        The step rule, the limit of iterations and the tolerance are those of the first node.
    nodes : int
        Nodes of branch and bound after the first, at most; 0: dual decomposition alone.

    Raises
    ------
    ValueError
        If there is no tree, or an option is out of its range.

    Notes
    -----
    Rush, Sontag, Collins and Jaakkola (2010), section 4.1, joined a parser and a tagger; the head automata are those of
    Koo et al. (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj_systems.joint_tags.space import joint_problem, joint_space, no_chain
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> chain = no_chain(space)
    >>> chain.own[:] = 0.0, 0.0, 2.0, 0.0  # the second tag of word 1
    >>> scores = np.zeros(len(parts))
    >>> scores[1] = 3.0  # word 1 with its first tag under word 2
    >>> found = decode_jointly(joint_problem(space, parts, scores, chain))
    >>> found.decoded.tree.tolist(), found.tags.tolist(), found.decoded.score, found.decoded.certified
    ([-1, 2, 0], [0, 0, 0], 3.0, True)
    """
    options = check_options(options)
    made = joint_oracles(problem, options)
    found = branch_and_bound(
        Problem(made.oracles, made.n_variables, made.views),
        Subgradient(OncePrimal(AppendixA() if options.rule == APPENDIX_A else Polyak())),
        repair=made.repair,
        limits=Limits(options.max_iterations, options.tolerance),
        max_nodes=nodes,
    )
    if found.solution is None:
        reason = "there is no tree" if found.status == INFEASIBLE else "no tree was found within the limits"
        raise ValueError(f"{reason} over the candidate arcs with their tags")
    # The repair's pair, or the solutions of all oracles.
    tree, tags = found.solution if len(found.solution) == 2 else (found.solution[0][0], found.solution[1])
    root = found.root
    agreed = root is not None and root.agreed
    bound = max(found.dual_bound, found.primal_value)
    decoded = Decoded(tree, found.primal_value, bound, agreed, found.certified, found.iterations, 1.0, found.nodes)
    return TaggedTree(decoded, tags)
