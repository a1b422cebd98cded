"""Training of linear chains: the tagger's, and the lemmatizer's, whose sentences are single words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nonproj.linear.optimisers import run_epochs
from nonproj.linear.perceptron import AveragedWeights
from nonproj.tagging.decoding import ChainExamples, train_text

_CHUNK = 500

MARGIN = 20.0
"""Margin in training: the score by which the gold tags must win, for each wrong tag."""

LEXICON_FOLDS = 10
"""Number of folds: in training, a word is looked up in a lexicon of the other folds, so that some words are unknown."""

Progress: TypeAlias = Callable[..., Any]
"""Function ``progress(iterable, description)`` that wraps the long loops."""


class ChainStart(NamedTuple):
    """Initial weights of a chain in training.

    Attributes
    ----------
    scores : ndarray of shape (n_words, limit), float64, or None
        Scores of a network, to which those of the chain are added.
    weights : ndarray or float
        The initial weights.
    step : float
        The size of an update.
    """

    scores: np.ndarray | None = None
    weights: np.ndarray | float = 0.0
    step: float = 1.0


def learn_chain(
    name: str,
    examples: ChainExamples,
    limit: int,
    orders: list[np.random.Generator],
    progress: Progress,
    start: ChainStart,
) -> np.ndarray:
    """Return averaged weights, float32, in units of `ChainStart.step`.

    Parameters
    ----------
    name : str
        For log and progress.
    examples : ChainExamples
    limit : int
        As in `nonproj.tagging.decoding.Pruning`.
    orders : list of Generator
        For the order of the sentences in each epoch.
    progress : callable
    start : ChainStart
    """
    averaged, n = AveragedWeights(32 - int(examples.chain.shift)), len(examples.text.start) - 1
    averaged.weights += start.weights / np.float32(start.step)
    beside = None if start.scores is None else start.scores / start.step

    def run(epoch: int) -> str:
        """Learn for an epoch; return its figures for the log."""
        wrong, order = 0, orders[epoch].permutation(n)
        for first in progress(range(0, n, _CHUNK), f"{name} epoch {epoch + 1}"):
            wrong += train_text(examples, order[first : first + _CHUNK], limit, averaged, beside)
        return f"{wrong} wrong"

    run_epochs(name, range(len(orders)), run)
    return averaged.mean()
