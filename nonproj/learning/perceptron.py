"""The averaged perceptron over the relaxed set Z (Koo et al. 2010, section 6; Collins 2002).

Over Z every head chooses for itself, so decoding is one Viterbi per head, and the update compares head by head: the
gold modifiers (and gold grandparent) of each word, the root included, against its automaton's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.automata.relaxed import decode_relaxed
from nonproj.dual.decomposition import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj.parts.space import indicators, tree_indicators
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float32s, Float64s, PartSpace

_AT_ONCE = 1 << 18  # weights whose mean is computed at a time


class Example(NamedTuple):
    """One sentence in training: its words, its gold tree, and the parts over the arcs that its pruner left.

    ``labels``, int64[n], are the numbers of the gold labels, needed where labels are scored with the arcs.
    """

    tokens: Tokens
    heads: np.ndarray
    parts: PartSpace
    labels: np.ndarray | None = None


class Perceptron:
    """The weights, their running total, and the update.

    Parameters
    ----------
    scorer : Scorer
    bits : int
        The weight table has ``2 ** bits`` entries.
    margin : float
        Cost-augmented decoding: while training every wrong arc scores half of it more and every right arc half of it
        less, because in Z an arc can be left out as well as taken in error; 0 is the plain perceptron.
    options : DualOptions
        ``tau``, and all of it when decoding by dual decomposition.
    relaxed : bool
        Decode over Z, as the paper does; otherwise over trees, by dual decomposition.
    label_margin : float
        Where labels are scored with the arcs: score by which the gold label of a gold arc must win.

    Attributes
    ----------
    weights : ndarray of shape (2 ** bits,), float32
        Sums of integers, exact up to 2 ** 24.
    total : ndarray of shape (2 ** bits,), float64
        The sum of all updates, each times its step, for lazy averaging.
    step : int
        The next update's number, from 1, or since `restart_average`.
    """

    def __init__(
        self,
        scorer: Scorer,
        bits: int,
        margin: float,
        options: DualOptions,
        relaxed: bool = True,
        label_margin: float = 0.0,
    ):
        self.scorer = scorer
        self.margin = margin
        self.options = options
        self.relaxed = relaxed
        self.label_margin = label_margin
        self.weights = np.zeros(1 << bits, np.float32)
        self.total = np.zeros(1 << bits, np.float64)
        self.step = 1

    def update(self, example: Example) -> int:
        """Learn from one sentence; return the number of words whose gold arc its decoding missed."""
        tokens, heads, parts, labels = example
        features = self.scorer.features(tokens, parts, len(self.weights))
        scores = self.scorer.score_unlabelled(features, self.weights)
        gold = tree_indicators(parts, heads)
        n_arcs = len(parts.arcs.head)
        best = np.empty(0, np.int64)
        if features.labelled:
            gold_arcs = np.flatnonzero(gold[:n_arcs])
            of_labels = self.scorer.score_labels(features, self.weights)
            of_labels[gold_arcs, labels] -= self.label_margin
            best = of_labels.argmax(axis=1)
            scores[:n_arcs] += of_labels[np.arange(n_arcs), best]
        if self.margin:
            scores[:n_arcs] += self.margin * (0.5 - gold[:n_arcs])
        predicted = self._decode(parts, scores)
        delta = gold - predicted
        if delta.any():
            self.scorer.add(features, delta, float(self.step), self.weights, self.total)
        if features.labelled:
            self._add_labels(features, gold_arcs, labels, best, predicted[:n_arcs])
        self.step += 1
        return int(np.count_nonzero(delta[:n_arcs] > 0))

    def _add_labels(self, features, gold_arcs, labels, best, predicted) -> None:
        """Learn the labels of the arcs: gold ones on the gold arcs, less the best ones on the predicted arcs."""
        wanted = np.zeros(len(best))
        right = best[gold_arcs] == labels
        wanted[gold_arcs[right]] = 1.0
        wanted -= predicted
        changed = np.flatnonzero(wanted)
        missing = gold_arcs[~right]
        arcs, numbers = np.concatenate([changed, missing]), np.concatenate([best[changed], labels[~right]])
        delta = np.concatenate([wanted[changed], np.ones(len(missing))])
        if len(arcs):
            self.scorer.add_labels(features, arcs, numbers, delta, float(self.step), self.weights, self.total)

    def _decode(self, parts: PartSpace, scores: np.ndarray) -> np.ndarray:
        """Return the indicators of the best structure, in Z or among the trees."""
        if self.relaxed and len(parts.types) > 1:
            return relaxed_indicators(parts, scores, self.options.tau)
        return tree_indicators(parts, dual_decomposition(parts, scores, self.options).tree)

    def restart_average(self) -> None:
        """Leave the weights so far out of the average."""
        self.total[:] = 0.0
        self.step = 1

    def averaged(self) -> np.ndarray:
        """Return the mean of the weights over all steps since the average was started, float32."""
        return average(self.weights, self.total, self.step)


def average(weights: Float32s, total: Float64s, step: int) -> Float32s:
    """Return the mean of weights over all steps, from their running total, float32.

    A part of the table at a time, because copies of it in float64 would take more memory than all else in training.

    Examples
    --------
    >>> average(np.array([3.0, 1.0], np.float32), np.array([4.0, 0.0]), 2)
    array([1., 1.], dtype=float32)
    """
    mean = np.empty_like(weights)
    for begin in range(0, len(weights), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        mean[part] = weights[part] - total[part] / step
    return mean


def start_epoch(epoch: int, perceptrons: Sequence[Perceptron], average_from: int) -> None:
    """Restart the averages before epoch ``average_from``, counted from 1; ``epoch`` is the coming one, from 0."""
    if epoch + 1 == average_from:
        for perceptron in perceptrons:
            perceptron.restart_average()


def mean_weights(perceptrons: Sequence[Perceptron]) -> np.ndarray:
    """Return the mean of the averaged weights of some perceptrons, float32; features have the same places in each."""
    mean = np.zeros_like(perceptrons[0].weights)
    for begin in range(0, len(mean), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        for perceptron in perceptrons:
            mean[part] += average(perceptron.weights[part], perceptron.total[part], perceptron.step)
    mean /= np.float32(len(perceptrons))
    return mean


def relaxed_indicators(parts: PartSpace, scores: np.ndarray, tau: float) -> np.ndarray:
    """Return the indicators of the best structure in Z, float64[P].

    Where words choose grandparents, an arc counts ``tau`` where its head chooses it and ``1 - tau`` where its modifier
    chooses it as the way to its grandparent, as its score does.
    """
    relaxed = decode_relaxed(parts, scores, tau)
    predicted = indicators(parts, relaxed.z, relaxed.z_grandparent)
    if relaxed.z_grandparent.any():
        predicted[: len(parts.arcs.head)] = tau * relaxed.z + (1.0 - tau) * relaxed.z_grandparent
    return predicted
