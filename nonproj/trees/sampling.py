"""Exact random samples of trees from an arc-factored model.

Wilson (1996), "Generating random spanning trees more quickly than the cover time": from each word a random walk goes
from modifier to head, with probabilities proportional to ``exp(score)``, until it meets the current tree; its loops are
erased.  For a single root, the modifier of the root is drawn first, by its marginals (Zmigrod, Vieira and Cotterell
2021, "Efficient sampling of dependency structure").

Pairs of words with strong mutual scores keep a walk in a cycle for a very long time.  Such a tree is drawn word by word
instead, each head from its marginals given the previous heads, in O(N^4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.trees.batches import as_batch, check_lengths
from nonproj.trees.checks import check_flag, check_integer, check_matrix
from nonproj.trees.domain import without_forbidden
from nonproj.trees.marginals import marginals
from nonproj.types import Float64s, Int32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_STEPS = 1000
"""Maximum number of steps of a tree's walks, per word; beyond it they are abandoned."""


def sample_trees(
    scores: ArrayLike,
    count: int,
    *,
    single_root: bool = False,
    lengths: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
) -> Int32s:
    """Draw trees from ``P(tree) = exp(score(tree)) / Z``, independently.

    Parameters
    ----------
    scores : array-like of shape (N, N) or (B, N, N), or list of arrays of shape (N, N)
        ``scores[h, m]`` of ``h -> m``, in nats; minus infinity for absent arcs, also by the rule of
        `nonproj.trees.domain`.  The diagonal and column 0 are ignored.
    count : int
        Number of trees per sentence, 0 or more.
    single_root : bool
        Whether to draw only trees with exactly one word headed by the root.
    lengths : array-like of shape (B,), int, optional
        The number of words of each sentence of a padded batch.
    seed : int or numpy.random.Generator

    Returns
    -------
    ndarray of shape (count, n) or (B, count, n), int32
        The head of each word, from 1; 0 is the root, and -1 is padding.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, no such tree exists, or ``count`` is negative.

    Examples
    --------
    >>> trees = sample_trees([[0, 0, 0], [0, 0, 0], [0, 0, 0]], 10_000)
    >>> [round(float((trees == heads).all(axis=1).mean()), 1) for heads in ([0, 0], [0, 1], [2, 0])]
    [0.3, 0.3, 0.3]
    """
    count, single_root = check_integer(count, "count", 0), check_flag(single_root, "single_root")
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(check_integer(seed, "seed", 0))
    batch = as_batch(scores, "NN", "scores")
    sizes = check_lengths(lengths, batch)
    found = np.full((len(sizes), count, batch.values.shape[1]), -1, np.int32)
    for b, length in enumerate(sizes.tolist()):
        place = f"[{b}]" if batch.many else ""
        own = check_matrix(batch.values[b, : length + 1, : length + 1], f"scores{place}")
        try:
            found[b, :, : length + 1] = _sample(without_forbidden(own), count, single_root, rng)
        except ValueError as error:
            raise ValueError(f"sentence {b}: {error}" if batch.many else str(error)) from None
    return found[:, :, 1:] if batch.many else found[0, :, 1:]


def _sample(scores: np.ndarray, count: int, single_root: bool, rng: np.random.Generator) -> Int32s:
    """Return trees of one sentence, int32[count, N]."""
    n_nodes = len(scores)
    found = np.full((count, n_nodes), -1, np.int32)
    p, _ = marginals(scores, single_root)
    if n_nodes == 1:
        return found
    odds = _odds(scores)
    below_root = np.cumsum(p[0]) if single_root else np.zeros(0)
    for i in range(count):
        if not _walk(odds, below_root, rng, found[i]):
            found[i] = _draw_one_by_one(scores, single_root, rng)
    return found


def _odds(scores: np.ndarray) -> np.ndarray:
    """Return the cumulative odds of each word's heads, float64[N, N], with a row for each word."""
    columns = np.where(np.eye(len(scores), dtype=np.bool_), -np.inf, scores)[:, 1:]
    top = columns.max(axis=0)
    rates = np.exp(columns - top)
    return np.concatenate([np.zeros((1, len(scores))), np.cumsum(rates, axis=0).T])


@kernel
def _walk(odds: Float64s, below_root: Float64s, rng: np.random.Generator, heads: Int32s) -> bool:
    """Write a tree by loop-erased random walks; return whether they finished within the limit.

    ``below_root`` is empty for any number of roots; else the cumulative marginals of the root's arcs.
    """
    n_nodes = heads.shape[0]
    inside = np.zeros(n_nodes, np.bool_)
    single = below_root.shape[0] > 0
    if single:
        word = _draw(below_root, rng)
        heads[word], inside[word] = 0, True
    else:
        inside[0] = True
    left = _STEPS * n_nodes
    for start in range(1, n_nodes):
        word = start
        while not inside[word]:
            left -= 1
            if left < 0:
                return False
            heads[word] = _draw(odds[word], rng)
            if heads[word] == 0 and single:
                continue  # the root already has its modifier: draw again
            word = heads[word]
        word = start
        while not inside[word]:
            inside[word] = True
            word = heads[word]
    return True


@kernel
def _draw(cumulated: Float64s, rng: np.random.Generator) -> int:
    """Draw an index from cumulative odds."""
    place = np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")
    return min(place, cumulated.shape[0] - 1)


def _draw_one_by_one(scores: np.ndarray, single_root: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw a tree word by word, each head from its marginals given the previous ones."""
    scores, heads = scores.copy(), np.full(len(scores), -1, np.int32)
    for m in range(1, len(scores)):
        p = marginals(scores, single_root)[0][:, m]
        head = rng.choice(len(scores), p=p / p.sum())
        kept, heads[m] = scores[head, m], head
        scores[:, m] = -np.inf
        scores[head, m] = kept
    return heads
