"""The averaged perceptron over the relaxed set Z (Koo et al. 2010, section 6; Collins 2002).

Over Z every head chooses for itself, so decoding is one Viterbi per head, and the update compares head by head: the
gold modifiers (and gold grandparent) of each word, the root included, against its automaton's.

The margin is symmetric: over Z an arc can be missing or wrong, so wrong arcs gain half of it and gold arcs lose half,
or more if they are non-projective (`nonproj.learning.crossing.loss_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.automata.relaxed import relaxed_indicators
from nonproj.dual.decoding import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj.learning.corpus import Corpus, LazyList
from nonproj.learning.crossing import loss_weights
from nonproj.learning.partial import Completion, completion_of
from nonproj.linear.perceptron import AveragedWeights
from nonproj.parts.registry import part_set
from nonproj.parts.space import part_space, tree_indicators
from nonproj.scoring.scorer import Features, Scorer
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import PartSpace

_LEAST_TAU = 0.01
"""Minimum ``tau`` of completions in Z: with less, given arcs cannot be forced on automata; completions are trees."""


class PartExample(NamedTuple):
    """One sentence in training: its words, its gold tree, and the parts over the arcs that its pruner left.

    ``labels``, int64[n], are the numbers of the gold labels, needed where labels are scored with the arcs.  Of a
    partial tree, heads and labels that are not given are -1, and ``completion`` has the consistent structures.
    """

    tokens: Tokens
    heads: np.ndarray
    parts: PartSpace
    labels: np.ndarray | None = None
    completion: Completion | None = None


def examples_of(corpus: Corpus, parts: tuple[str, ...]) -> Sequence[PartExample]:
    """Return the examples of the chosen sentences; their parts are numbered on each access, which takes little time.

    The completions of partial trees are kept.
    """
    types, numbers = part_set(parts), corpus.numbers

    def example(i: int) -> PartExample:
        space, allowed = part_space(numbers.spaces[i], types), numbers.allowed[i]
        completion = None if allowed is None else completion_of(space, allowed)
        return PartExample(numbers.tokens[i], numbers.trees[i], space, numbers.labels[i], completion)

    kept = {i: example(i) for i in corpus.chosen.tolist() if numbers.allowed[i] is not None}
    return LazyList(lambda i: kept[i] if i in kept else example(i), corpus.chosen)


class Perceptron(AveragedWeights):
    """The perceptron of all parts: its scorer, its inference, and the update.

    Parameters
    ----------
    scorer : Scorer
    bits : int
        The weight table has ``2 ** bits`` entries.
    margin : float
        Cost-augmented decoding: while training every wrong arc scores half of it more and every right arc half of it
        less, because in Z an arc can be left out as well as taken in error; 0 is the plain perceptron.
    options : DualOptions
        Options of decoding; over Z only ``tau`` is used.
    relaxed : bool
        Decode over Z, as the paper does; otherwise over trees, by dual decomposition.
    label_margin : float
        Score by which the gold label of a gold arc must win, if labels are scored with the arcs.
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
        super().__init__(bits)
        self.scorer = scorer
        self.margin = margin
        self.options = options
        self.relaxed = relaxed
        self.label_margin = label_margin

    def update(self, example: PartExample) -> int:
        """Learn from one sentence; return the number of words whose gold arc is not predicted."""
        tokens, heads, parts, labels, completion = example
        gold_labels = np.empty(0, np.int64) if labels is None else labels
        features = self.scorer.features(tokens, parts, len(self.weights))
        scores = self.scorer.score_unlabelled(features, self.weights)
        n_arcs, modifier = len(parts.arcs.head), parts.arcs.modifier
        of_labels = self.scorer.score_labels(features, self.weights) if features.labelled else None
        if completion is None:
            gold = tree_indicators(parts, heads)
        else:
            gold = self._complete(example, scores, of_labels)
        best = np.empty(0, np.int64)
        if of_labels is not None:
            gold_arcs = np.flatnonzero(gold[:n_arcs])
            gold_labels = gold_labels[modifier[gold_arcs] - 1]
            latent = gold_labels < 0
            if latent.any():
                gold_labels = np.where(latent, of_labels[gold_arcs].argmax(axis=1), gold_labels)
            of_labels[gold_arcs[~latent], gold_labels[~latent]] -= self.label_margin
            best = of_labels.argmax(axis=1)
            scores[:n_arcs] += of_labels[np.arange(n_arcs), best]
        given = heads[modifier] >= 0
        if self.margin:
            share = 0.5 + 0.5 * loss_weights(heads)[modifier]
            scores[:n_arcs] += self.margin * np.where(given, 0.5 - share * gold[:n_arcs], 0.0)
        predicted = self._decode(parts, scores)
        delta = gold - predicted
        if delta.any():
            self.scorer.add(features, delta, self.arrays())
        if features.labelled:
            self._add_labels(features, gold[:n_arcs], gold_labels, best, predicted[:n_arcs])
        self.advance()
        return int(np.count_nonzero((delta[:n_arcs] > 0) & given))

    def _complete(self, example: PartExample, scores: np.ndarray, of_labels: np.ndarray | None) -> np.ndarray:
        """Return the indicators of the best structure consistent with the given heads and labels, float64[P].

        It is of the same kind as the prediction.  ``scores``, float64[P], are those of parts without labels.
        """
        completion, modifier = example.completion, example.parts.arcs.modifier
        assert completion is not None
        if of_labels is not None and example.labels is not None:
            scores, number = scores.copy(), example.labels[modifier - 1]
            chosen = np.where(number < 0, of_labels.argmax(axis=1), number)
            scores[: len(chosen)] += of_labels[np.arange(len(chosen)), chosen]
        if self.relaxed and len(example.parts.types) > 1 and self.options.tau >= _LEAST_TAU:
            return completion.relaxed(scores, self.options.tau)
        return tree_indicators(example.parts, completion.best(scores, self.options))

    def _add_labels(
        self,
        features: Features,
        gold: np.ndarray,
        labels: np.ndarray,
        best: np.ndarray,
        predicted: np.ndarray,
    ) -> None:
        """Learn the labels of the arcs: gold ones on the gold arcs, minus the best ones on the predicted arcs."""
        wanted, gold_arcs = np.zeros(len(best)), np.flatnonzero(gold)
        right = best[gold_arcs] == labels
        wanted[gold_arcs[right]] = gold[gold_arcs[right]]
        wanted -= predicted
        changed = np.flatnonzero(wanted)
        missing = gold_arcs[~right]
        arcs, numbers = np.concatenate([changed, missing]), np.concatenate([best[changed], labels[~right]])
        delta = np.concatenate([wanted[changed], gold[missing]])
        if len(arcs):
            self.scorer.add_labels(features, arcs, numbers, delta, self.arrays())

    def _decode(self, parts: PartSpace, scores: np.ndarray) -> np.ndarray:
        """Return the indicators of the best structure, in Z or among the trees."""
        if self.relaxed and len(parts.types) > 1:
            return relaxed_indicators(parts, scores, self.options.tau)
        return tree_indicators(parts, dual_decomposition(parts, scores, self.options).tree)
