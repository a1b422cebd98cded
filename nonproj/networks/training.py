"""The forward and the backward pass of a network in training, from sparse rows to hidden layers, and a loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.networks.context import Sentences
from nonproj.networks.context_learning import ContextLayers, ContextPass
from nonproj.networks.exponentials import exponentials
from nonproj.networks.products import product
from nonproj.networks.projection import Projection
from nonproj.networks.rows import AdaGrad, RowGradient, SparseRows, spread_rows, sum_rows

LEAST = 1e-9
"""Probability below which a class counts as 0: products could become denormal numbers, which take ten times as long."""


class NetworkInputs(NamedTuple):
    """The inputs of a network with K hidden units, for some sentences.

    Attributes
    ----------
    words : SparseRows
        Rows of each of N words, in the table of rows.
    sentences : tuple of two ndarrays, int32
        The first word and the end of each sentence.
    items : SparseRows
        Input rows of each scored item's hidden layer, K numbers each.  Rows are numbered from the contextual ones (or
        the rows of the words' vectors, without layers over words in context), word by word, the same number for each;
        then come the static ones, in the same order, and ``more`` of `HiddenLayers.forward`.
    vectors : ndarray of shape (N, D), float32, or None
        The pretrained vector of each word, zeros for a word without one.
    """

    words: SparseRows
    sentences: Sentences
    items: SparseRows
    vectors: np.ndarray | None = None


class Dropout(NamedTuple):
    """Dropout factors of a step: 0 for units and words that are left out.

    Attributes
    ----------
    context : ndarray, float32, or None
        Factors of the inputs of the layers over words in context; see `ContextLayers.draw`.
    units : ndarray of shape (M, K) or (K,), float32
        Factors of the hidden units.
    """

    context: np.ndarray | None
    units: np.ndarray


class ForwardPass(NamedTuple):
    """Results of the forward pass that the backward pass needs.

    Attributes
    ----------
    inputs : NetworkInputs
    vectors : ndarray of shape (N, E), float32
        Vectors of the words.
    context : ContextPass or None
    active : ndarray of shape (M, K), float32
        The factor of each hidden unit, 0 where the unit is not positive.
    n_sums, n_more : int
        Number of rows that the words add in context, and of rows that belong to no word.
    """

    inputs: NetworkInputs
    vectors: np.ndarray
    context: ContextPass | None
    active: np.ndarray
    n_sums: int
    n_more: int


class HiddenGradient(NamedTuple):
    """The gradient of the inputs of the hidden layers.

    Attributes
    ----------
    vectors : ndarray of shape (N, E), float32
        Gradient of the words' vectors.
    alone : ndarray or None
        Gradient of `HiddenLayers.alone`.
    more : ndarray, float32
        Gradient of the rows that were given to `HiddenLayers.forward`.
    context : list of ndarray
        Gradients of the tables of the layers over words in context; empty without such layers.
    """

    vectors: np.ndarray
    alone: np.ndarray | None
    more: np.ndarray
    context: list[np.ndarray]


class HiddenLayers:
    """The layers of a network in training up to the hidden layers of scored items.

    Parameters
    ----------
    rows : AdaGrad
        Optimiser of the table, float32[R, E], whose rows sum to the words' vectors.
    context : ContextLayers, optional
        Layers over words in context; without them, words add their vectors.
    alone : ndarray of shape (E, S), float32, optional
        Matrix from vectors to static input rows.
    projection : Projection, optional
        Projection of pretrained vectors, which are added to the words' vectors.
    """

    def __init__(
        self,
        rows: AdaGrad,
        context: ContextLayers | None = None,
        alone: np.ndarray | None = None,
        projection: Projection | None = None,
    ):
        self.rows, self.context, self.alone, self.projection = rows, context, alone, projection

    def forward(self, inputs: NetworkInputs, dropout: Dropout, more: np.ndarray) -> tuple[np.ndarray, ForwardPass]:
        """Return the hidden layer of each item, float32[M, K], and the results that `backward` needs.

        Parameters
        ----------
        inputs : NetworkInputs
        dropout : Dropout
        more : ndarray of shape (n, K), float32
            Rows of items that belong to no word.
        """
        vectors, passed = sum_rows(inputs.words, self.rows.table), None
        if self.projection and inputs.vectors is not None:
            vectors += self.projection.rows(inputs.vectors)
        sums = vectors
        if self.context and dropout.context is not None:
            sums, passed = self.context.forward(vectors, inputs.sentences, dropout.context)
        parts = (sums, more) if self.alone is None else (sums, product(vectors, self.alone), more)
        hidden = sum_rows(inputs.items, np.concatenate([part.reshape(-1, more.shape[1]) for part in parts]))
        active = dropout.units * (hidden > 0)
        hidden *= active
        return hidden, ForwardPass(inputs, vectors, passed, active, sums.size // more.shape[1], len(more))

    def backward(self, gradient: np.ndarray, forward: ForwardPass) -> HiddenGradient:
        """Return the gradient of the hidden layers' inputs, given the layers', float32[M, K], which is overwritten."""
        inputs, vectors, passed, active, n_sums, n_more = forward
        n_alone = 0 if self.alone is None else len(vectors) * self.alone.shape[1] // active.shape[1]
        gradient *= active
        found = spread_rows(inputs.items, gradient, n_sums + n_alone + n_more)
        of_vectors, of_context, of_alone = found[:n_sums].reshape(len(vectors), -1), list[np.ndarray](), None
        if self.context and passed:
            of_vectors, of_context = self.context.backward(of_vectors, passed)
        if self.alone is not None:
            back = found[n_sums : n_sums + n_alone].reshape(len(vectors), -1)
            of_vectors, of_alone = of_vectors + product(back, self.alone.T), product(vectors.T, back)
        return HiddenGradient(of_vectors, of_alone, found[n_sums + n_alone :], of_context)

    @property
    def steps(self) -> list[AdaGrad]:
        """The AdaGrad optimisers of the rows and, if there is a projection, of its matrix."""
        return [self.rows, *([self.projection.steps] if self.projection else [])]

    def row_gradients(self, inputs: NetworkInputs, of_vectors: np.ndarray) -> list[RowGradient]:
        """Return a gradient for each optimiser in `steps`, given that of the words' vectors."""
        found = [RowGradient(of_vectors, inputs.words)]
        if self.projection and inputs.vectors is not None:
            found.append(RowGradient(self.projection.gradient(inputs.vectors, of_vectors)))
        return found


def draw_units(rng: np.random.Generator, shape: tuple[int, ...], dropped: float) -> np.ndarray:
    """Return dropout factors of hidden units, float32: 0 with probability ``dropped``, else scaled to a mean of 1."""
    found: np.ndarray = (rng.random(shape, np.float32) >= dropped) / np.float32(1.0 - dropped)
    return found


def softmax_loss(scores: np.ndarray, gold: np.ndarray) -> tuple[float, int, np.ndarray]:
    """Return the negative log-likelihood of gold classes, the number of wrong items, and the scores' negative gradient.

    Parameters
    ----------
    scores : ndarray of shape (M, C), float32
    gold : ndarray of shape (M,), int64
        The number of each item's class; -1 for an item that is not learnt from.

    Returns
    -------
    loss : float
    wrong : int
        Number of items whose best class is not the gold one, including those that are not learnt from.
    gradient : ndarray of shape (M, C), float32
        Gold minus probability.
    """
    places = np.flatnonzero(gold >= 0)
    scores = scores - scores.max(axis=1, keepdims=True)
    odds = exponentials(scores)
    total = odds.sum(axis=1, keepdims=True)
    odds[odds < LEAST] = 0.0
    loss = float((np.log(total[places, 0]) - scores[places, gold[places]]).sum())
    wrong = int((scores.argmax(axis=1) != gold).sum())
    odds /= -total
    odds[places, gold[places]] += 1.0
    odds[gold < 0] = 0.0
    return loss, wrong, odds
