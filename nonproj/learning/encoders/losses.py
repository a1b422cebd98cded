"""Losses of a sentence's heads and structures, given the scores of its arcs or parts.

In a partial tree, heads that are not given are latent: losses are those of all trees consistent with the given heads,
and the best consistent structure takes the gold tree's place, as in `nonproj.learning.partial`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nonproj.automata.relaxed import relaxed_indicators
from nonproj.learning.partial import completion_of
from nonproj.parts.arcs import with_arcs
from nonproj.parts.space import tree_indicators
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals_trusted
from nonproj.trees.pruning import prune_trusted
from nonproj.types import ArcSpace, Bools, Int32s, PartSpace

THRESHOLD, MAX_HEADS = 1e-3, 8
"""Candidate arcs of the hinge loss: minimum marginal, relative to the best head's, and maximum number per word."""

TAU = 0.5
"""See `nonproj.automata.relaxed.relaxed_indicators`."""


def head_loss(scores: Tensor, heads: Int32s, allowed: Bools | None = None) -> Tensor:
    """Return the negative log-likelihood of the heads of a sentence, each independent of the others.

    Parameters
    ----------
    scores : Tensor of shape (N, N)
        ``scores[h, m]`` is the score of the arc from h to m, -inf on the diagonal.
    heads : ndarray of shape (N,), int32
        Heads of the tree; that of node 0 does not count.
    allowed : ndarray of shape (N, N), bool, optional
        The arcs that can be in the tree, if it is partial; ``heads`` then do not count.

    Examples
    --------
    >>> scores = torch.zeros(3, 3).fill_diagonal_(-torch.inf)
    >>> allowed = np.array([[False, True, True], [False, False, False], [False, True, False]])
    >>> round(head_loss(scores, np.array([-1, -1, 0]), allowed).item(), 4)  # log 2: of word 2 alone
    0.6931
    """
    if allowed is None:
        gold = torch.from_numpy(heads[1:].astype(np.int64)).to(scores.device)
        return functional.cross_entropy(scores[:, 1:].T, gold, reduction="sum")
    forbidden = torch.from_numpy(~allowed[:, 1:]).to(scores.device)
    of_words = scores[:, 1:]
    return (of_words.logsumexp(0) - of_words.masked_fill(forbidden, -torch.inf).logsumexp(0)).sum()


def tree_loss(scores: Tensor, heads: Int32s, single_root: bool, allowed: Bools | None = None) -> Tensor:
    """Return the negative log-likelihood of a tree among all arborescences, whose gradient is marginals minus the tree.

    Of a partial tree, it is that of all trees of allowed arcs, whose marginals take the tree's place.

    Parameters
    ----------
    scores, heads, allowed
        As for `head_loss`.
    single_root : bool

    References
    ----------
    Koo, Globerson, Carreras and Collins (2007); Smith and Smith (2007).
    """
    values = scores.detach().cpu().numpy().astype(np.float64)
    p, log_partition = marginals_trusted(values.copy(), single_root, strict=False)
    if allowed is None:
        words = np.arange(1, len(heads))
        p[heads[1:], words] -= 1.0
        of_gold = values[heads[1:], words].sum()
    else:
        of_allowed, of_gold = constrained_marginals(values, allowed, single_root)
        p -= of_allowed
    gradient = torch.from_numpy(p[:, 1:].astype(np.float32)).to(scores.device)
    surrogate = (scores[:, 1:].masked_fill(gradient == 0, 0.0) * gradient).sum()
    loss = log_partition - of_gold
    return surrogate + (loss - surrogate.detach())


def likely_arcs(scores: np.ndarray, heads: Int32s, single_root: bool, allowed: Bools | None = None) -> ArcSpace:
    """Return the probable arcs and the gold ones; of a partial tree, the probable ones among consistent trees.

    Parameters
    ----------
    scores : ndarray of shape (N, N)
        Scores of all arcs, in nats.
    heads, single_root, allowed
        As for `tree_loss`.
    """
    scores = scores.astype(np.float64)
    scores[:, 0] = -np.inf
    p = marginals_trusted(scores, single_root, strict=False)[0]
    space = prune_trusted(p, THRESHOLD, MAX_HEADS, single_root, projective=False)
    if allowed is not None:
        of_allowed = constrained_marginals(scores, allowed, single_root)[0]
        others = prune_trusted(of_allowed, THRESHOLD, MAX_HEADS, single_root, projective=False)
        return with_arcs(space, others.head, others.modifier)
    return with_arcs(space, heads[1:], np.arange(1, len(heads)))


def difference(
    parts: PartSpace, scores: np.ndarray, heads: Int32s, margin: float, allowed: Bools | None = None
) -> np.ndarray:
    """Return the indicators of the best structure in Z, with margins, minus those of the gold tree, float32[P].

    A wrong arc scores half of the margin more, and a right one half of it less: see
    `nonproj.learning.perceptron.Perceptron`.  Of a partial tree, only arcs into words with a given head have costs, and
    the best structure of allowed arcs takes the gold tree's place.
    """
    n_arcs, augmented = len(parts.arcs.head), scores.astype(np.float64)
    if allowed is None:
        gold = tree_indicators(parts, heads)
    else:
        gold = completion_of(parts, allowed).relaxed(augmented, TAU)
    given = heads[parts.arcs.modifier] >= 0
    augmented[:n_arcs] += margin * np.where(given, 0.5 - gold[:n_arcs], 0.0)
    return (relaxed_indicators(parts, augmented, TAU) - gold).astype(np.float32)
