"""The decision between learning with related treebanks and without, by held-out sentences.

Of two ways to learn, the simpler one is taken unless the other is better by more than a standard error (the rule of
Breiman, Friedman, Olshen and Stone 1984, "Classification and Regression Trees", section 3.4.3).  The simpler one is to
learn alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nonproj.learning.corpus import Corpus
from nonproj.linear.folds import blocks, cross_fit
from nonproj.types import Int64s

_M = TypeVar("_M")

log = logging.getLogger("nonproj")


class RelatedGain(NamedTuple):
    """The gain in accuracy from learning with related treebanks.

    Attributes
    ----------
    alone, together : float
        The share of held-out words predicted right by models that learnt without related treebanks, and with them.
    error : float
        The standard error of the difference, over sentences.
    """

    alone: float
    together: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether the gain is above its standard error, so that related treebanks are learnt from."""
        return self.together - self.alone > self.error


def compare(what: str, words: Int64s, alone: Int64s, together: Int64s) -> RelatedGain:
    """Return the gain in accuracy from related treebanks, and log it.

    Parameters
    ----------
    what : str
        Noun for the predictions, for the log.
    words, alone, together : ndarray of shape (S,), int64
        The number of words of each held-out sentence, and of those that are right.

    Examples
    --------
    >>> found = compare("tags", np.array([10, 10, 10]), np.array([7, 8, 6]), np.array([9, 9, 8]))
    >>> found.helps, f"{found.alone:.2f} {found.together:.2f} {found.error:.3f}"
    (True, '0.70 0.87 0.033')
    """
    total, gained = max(1, int(words.sum())), together - alone
    mean = gained.sum() / total
    squares = float(((gained - mean * words) ** 2).sum()) * len(words) / max(1, len(words) - 1)
    found = RelatedGain(float(alone.sum() / total), float(together.sum() / total), float(np.sqrt(squares)) / total)
    text = "%s of held-out words: %.2f %% right alone, %.2f %% together with related treebanks (± %.2f): learnt %s"
    shares = (100 * share for share in found)
    log.info(text, what, *shares, "together" if found.helps else "alone")
    return found


def cross_fitted_gain(
    what: str,
    words: Int64s,
    corpus: Corpus,
    folds: int,
    learn: Callable[[Corpus], _M],
    count: Callable[[_M, np.ndarray], Sequence[int]],
    spread: Callable[[list[Callable[[], Any]]], list[Any]],
) -> RelatedGain:
    """Return the gain in accuracy from related treebanks, by cross-fitting.

    Parameters
    ----------
    what, words
        As for `compare`.
    corpus : Corpus
        With numbers.
    folds : int
    learn : callable
        Returns a model that has learnt from the chosen sentences of a corpus.
    count : callable
        Returns the number of words of the sentences with these numbers that a model predicts right.
    spread : callable
        Parameter ``run`` of `nonproj.linear.folds.cross_fit`.
    """
    own, related = np.arange(corpus.n_own), np.arange(corpus.n_own, len(corpus.numbers.trees))
    fold = blocks(len(own), min(folds, len(own)))

    def right_with(others: np.ndarray) -> Int64s:
        """Return the number of right words of each sentence, by models of the other folds and of ``others``."""
        right = cross_fit(fold, lambda rest: learn(corpus.subset(np.append(rest, others))), count, spread)
        return np.array(right, np.int64)

    return compare(what, words, right_with(related[:0]), right_with(related))
