"""Training of the network that scores tags.

The loss is minus the log-probability of each word's tag among all tags.  With dropout of forms, n-grams learn to tag
unknown words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.linear.weights import quantise
from nonproj.networks.context_learning import ContextLayers, rounded_context
from nonproj.networks.hyperparameters import TAGS, Hyperparameters
from nonproj.networks.learner import Gradient, Learner
from nonproj.networks.products import product
from nonproj.networks.projection import Projection
from nonproj.networks.rows import AdaGrad, SparseRows, draw_weights, spread_rows, sum_rows
from nonproj.networks.training import Dropout, HiddenLayers, NetworkInputs, draw_units, softmax_loss
from nonproj.scoring.piece_vectors import PieceVectors, rounded_projection
from nonproj.scoring.vectors import WordNumbers, WordVectors
from nonproj.tagging.network import (
    CONTEXT_SCALE,
    INDEX_BITS,
    OFFSETS,
    OUTSIDE,
    REACH,
    TagNetwork,
    TagWeights,
    form_hashes,
    form_rows,
    parts_of,
)
from nonproj.tagging.tagset import TagSet


class TagCorpus(NamedTuple):
    """Words to learn from.

    Attributes
    ----------
    start : ndarray, int64
        First word of each sentence, and the end.
    form : ndarray of shape (n_words,), int64
        The number of each word's form.
    tag : ndarray of shape (n_words,), int64
        The number of its tag; -1 for a word that is not learnt.
    """

    start: np.ndarray
    form: np.ndarray
    tag: np.ndarray


class TrainableTagNetwork:
    """The network that scores tags, in training.

    Parameters
    ----------
    forms : sequence of str
        The distinct forms.
    corpus : TagCorpus
    tags : TagSet
    rng : numpy.random.Generator
        For the initial weights and dropout.
    vectors : WordVectors or PieceVectors, optional
    hyperparameters : Hyperparameters

    Attributes
    ----------
    layers : HiddenLayers
    sizes, rows, dense
        As in `nonproj.networks.learner.TrainableNetwork`.
    """

    def __init__(
        self,
        forms: Sequence[str],
        corpus: TagCorpus,
        tags: TagSet,
        rng: np.random.Generator,
        vectors: WordVectors | PieceVectors | None = None,
        hyperparameters: Hyperparameters = TAGS,
    ):
        hyper, self.rng, self.tags, self.corpus = hyperparameters, rng, tags, corpus
        self.hyperparameters, self.sizes = hyper, np.ones(len(corpus.start) - 1, np.int64)
        start, hashes = form_hashes(forms)
        self.index = _index(start, hashes, np.bincount(corpus.form, minlength=len(forms)), forms, hyper.min_count)
        start = np.concatenate([[0, 1], start[1:] + 1])
        self.forms = form_rows(start, np.concatenate([[OUTSIDE], self.index[hashes]]).astype(np.int32))
        rows = draw_weights(rng, (max(int(self.index.max()), OUTSIDE) + 1, hyper.width), hyper.row_deviation)
        rows[0] = 0.0
        hidden = draw_weights(rng, (OFFSETS, hyper.width, hyper.hidden), 1.4 / np.sqrt(OFFSETS * hyper.width))
        self.bias, self.output = (np.zeros(shape, np.float32) for shape in (hyper.hidden, (tags.n_units, hyper.hidden)))
        self.context = ContextLayers(hyper, hyper.hidden, rng)
        alone = np.concatenate(hidden, axis=1)
        self.vectors, projection, self.of_forms = vectors, None, None
        if vectors:
            projection = Projection(vectors.table.shape[1], hyper, rng)
            unit = vectors.unit if isinstance(vectors, PieceVectors) else np.float32(1.0)
            self.of_forms = np.pad(vectors.of(forms) * unit, ((1, 0), (0, 0)))
        self.layers = HiddenLayers(AdaGrad(rows, hyper.row_rate, hyper.first_square), self.context, alone, projection)
        self.rows, self.dense = self.layers.steps, [alone, self.bias, self.output, *self.context.tables]

    def gradient_of(self, chosen: np.ndarray) -> Gradient:
        """Return the gradient of some sentences with dropout of rows and units; that of dense tables is per word."""
        words, bounds = _words_of(self.corpus.start, chosen)
        form = np.concatenate([[0], self.corpus.form[words] + 1])
        units = draw_units(self.rng, (len(words), self.hyperparameters.hidden), self.hyperparameters.unit_dropout)
        inputs, context = self.inputs(form, bounds), self.context.draw(len(words))
        dropout = Dropout(np.pad(context, ((0, 0), (1, 0), (0, 0))), units)
        found = self.gradient(inputs, self.corpus.tag[words], dropout)
        return found._replace(dense=[of_table / np.float32(len(words)) for of_table in found.dense])

    def inputs(self, form: np.ndarray, bounds: np.ndarray) -> NetworkInputs:
        """Return the inputs of the network for some sentences, with dropout of rows.

        Parameters
        ----------
        form : ndarray of shape (n + 1,), int64
            The number of each word's form from 1; before them 0, for positions outside.
        bounds : ndarray of shape (S + 1,), int32
            The first word of each sentence among these, and the end of the last.
        """
        words = self.forms.take(form)
        drawn, first = self.rng.random(len(words.row), np.float32), words.start[:-1]
        kept = drawn >= self.hyperparameters.row_dropout
        kept[first] = drawn[first] >= self.hyperparameters.lexical_dropout
        kept[0] = True
        words = words.scaled(kept.astype(np.float32))
        vectors = None if self.of_forms is None else self.of_forms[form]
        if vectors is not None and isinstance(self.vectors, PieceVectors):
            vectors[self.rng.random(len(form)) < self.hyperparameters.lexical_dropout] = 0.0
        return NetworkInputs(words, (bounds[:-1], bounds[1:]), _items(bounds), vectors)

    def gradient(self, inputs: NetworkInputs, tag: np.ndarray, dropout: Dropout) -> Gradient:
        """Return the loss, the number of wrong tags, and the gradient.

        Parameters
        ----------
        inputs : NetworkInputs
            Inputs of n words, and before them a position outside.
        tag : ndarray of shape (n,), int64
            -1 for tags that are not learnt.
        dropout : Dropout
        """
        parts = parts_of(self.tags)
        of_tags = sum_rows(parts, self.output)
        layer, passed = self.layers.forward(inputs, dropout, self.bias[None])
        loss, wrong, delta = softmax_loss(product(layer, of_tags.T), tag)
        of_output = spread_rows(parts, product(delta.T, layer), len(self.output))
        of_vectors, of_alone, of_bias, of_context = self.layers.backward(product(delta, of_tags), passed)
        assert of_alone is not None
        dense = [of_alone, of_bias, of_output, *of_context]
        return Gradient(loss, wrong, len(tag), self.layers.row_gradients(inputs, of_vectors), dense)

    def network(self) -> TagNetwork:
        """Return the network, its rows in 16 bits."""
        rows, projection, vectors = self.layers.rows.table, self.layers.projection, self.vectors
        words, projected = WordNumbers(vectors.words) if isinstance(vectors, WordVectors) else None, None
        if vectors and projection:
            rows = np.concatenate([rows, projection.rows(vectors.table)])
        rounded, scale = quantise(rows)
        if isinstance(vectors, PieceVectors) and projection:
            rounded = rounded[: -len(vectors.rows)]
            projected = rounded_projection(vectors, projection.matrix, scale)
        hidden = np.stack(np.split(self.dense[0] * np.float32(scale), OFFSETS, axis=1))
        context = rounded_context(self.context.tables, scale, CONTEXT_SCALE)
        weights = TagWeights(rounded, hidden, self.bias, self.output)
        return TagNetwork(self.index, weights, self.tags, words, context, projected)


def learn_tag_network(
    forms: Sequence[str],
    corpus: TagCorpus,
    tags: TagSet,
    epochs: int,
    rng: np.random.Generator,
    progress: Callable[..., Any],
    vectors: WordVectors | PieceVectors | None = None,
) -> TagNetwork:
    """Return a network trained on the tags of some words; see `TrainableTagNetwork`."""
    network = TrainableTagNetwork(forms, corpus, tags, rng, vectors)
    sentences = np.arange(len(network.sizes))
    Learner(network, [sentences] * epochs, lambda _: rng).learn("tagger's network", progress)
    return network.network()


def _index(start: np.ndarray, hashes: np.ndarray, count: np.ndarray, forms: Sequence[str], least: int) -> np.ndarray:
    """Return the index of a new network, int32: rows from `OUTSIDE` + 1 for strings not rare in training, else 0."""
    lower: dict[str, int] = {}
    number = np.array([lower.setdefault(form.lower(), len(lower)) for form in forms], np.int64)
    owner = np.repeat(number, np.diff(start))
    pairs = np.unique(owner << INDEX_BITS | hashes)
    found = np.bincount(pairs & ((1 << INDEX_BITS) - 1), minlength=1 << INDEX_BITS)
    of_lower = np.bincount(number, count, len(lower))
    found[hashes[start[:-1]]] = of_lower[number]
    frequent = found >= least
    return np.where(frequent, np.cumsum(frequent) + OUTSIDE, 0).astype(np.int32)


def _words_of(start: np.ndarray, sentences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of some sentences, and the first of each sentence among them, int32[S + 1].

    The latter are counted from 1; 0 is a position outside.
    """
    bounds = np.concatenate([[0], np.cumsum(start[sentences + 1] - start[sentences])])
    words = np.repeat(start[sentences] - bounds[:-1], np.diff(bounds)) + np.arange(bounds[-1])
    return words, (1 + bounds).astype(np.int32)


def _items(bounds: np.ndarray) -> SparseRows:
    """Return the input rows of each word's hidden layer: see `NetworkInputs.items`.

    They are the word in context, each word around it (or a position outside) by itself, and the bias.
    """
    n_nodes, sizes = int(bounds[-1]), np.diff(bounds)
    word = np.arange(1, n_nodes)
    around = word[:, None] + np.arange(-REACH, REACH + 1)
    inside = (around >= np.repeat(bounds[:-1], sizes)[:, None]) & (around < np.repeat(bounds[1:], sizes)[:, None])
    alone = n_nodes + OFFSETS * np.where(inside, around, 0) + np.arange(OFFSETS)
    bias = np.full(len(word), (1 + OFFSETS) * n_nodes)
    return SparseRows.of_table(np.column_stack([word, alone, bias]))
