"""Training of the network that scores tags.

The loss is minus the log-probability of each word's tag among all tags.  Rows take steps of AdaGrad, with one sum of
squares each; the dense weights take those of Adam (Kingma and Ba 2015).  Forms, n-grams and hidden units are dropped at
random; where a form is dropped, its n-grams learn to tag an unknown word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import Adam, follow_share, run_epochs
from nonproj.linear.projection import Projection
from nonproj.linear.weights import quantise
from nonproj.scoring.context import Sentences
from nonproj.scoring.context_learning import ContextLayers, gradients, rounded_context
from nonproj.scoring.vectors import WordNumbers, WordVectors
from nonproj.tagging.network import (
    INDEX_BITS,
    OFFSETS,
    OUTSIDE,
    REACH,
    UNIT,
    FormRows,
    TagNetwork,
    Weights,
    form_hashes,
    share_of,
    sum_parts,
    sum_rows,
)
from nonproj.tagging.tagset import TagSet
from nonproj.types import Float32s, Int32s, Int64s, Uint32s

RARE = 2
"""A form has a row if it occurs so often, an n-gram if it is in so many forms."""

WIDTH, HIDDEN = 64, 128
"""Numbers in a vector, and hidden units."""

LAYERS = 1
"""Layers over words in context."""

FORMS_DROPPED, NGRAMS_DROPPED, UNITS_DROPPED = 0.5, 0.2, 0.3
"""With these probabilities forms, n-grams and hidden units are left out."""

_BATCH = 16
_RATE, _DENSE_RATE, _LAST = 0.1, 0.003, 0.1
_PROJECTION_RATE = 0.2


class Corpus(NamedTuple):
    """Words to learn from.

    Attributes
    ----------
    start : ndarray, int64
        Where each sentence begins, and the end.
    form : ndarray of shape (n_words,), int64
        The number of each word's form.
    tag : ndarray of shape (n_words,), int64
        The number of its tag, -1 for one that is not learnt.
    """

    start: np.ndarray
    form: np.ndarray
    tag: np.ndarray


class Around(NamedTuple):
    """What is around each of n words.

    Attributes
    ----------
    words : ndarray of shape (n, OFFSETS), int64
        The numbers of the words around it among these, from 1; 0 for what is outside.
    sentences : tuple of two ndarrays, int32
        Where each sentence begins and ends among these.
    """

    words: np.ndarray
    sentences: Sentences


class Factors(NamedTuple):
    """What is left out in a step, where the factor is 0.

    Attributes
    ----------
    rows : ndarray, float32
        Of the rows of forms; see `nonproj.tagging.network.sum_rows`.
    units : ndarray of shape (n, HIDDEN), float32
        Of the hidden units.
    inputs : ndarray of shape (LAYERS, n, WIDTH), float32
        Of the inputs of the layers over words in context.
    """

    rows: np.ndarray
    units: np.ndarray
    inputs: np.ndarray


class TagNetworkLearner:
    """A network in training.

    Parameters
    ----------
    forms : sequence of str
        The distinct forms.
    corpus : Corpus
    tags : TagSet
    seed : sequence of int
        For the first weights, the order of the sentences and what is left out.
    vectors : WordVectors, optional
    """

    def __init__(
        self,
        forms: Sequence[str],
        corpus: Corpus,
        tags: TagSet,
        seed: Sequence[int],
        vectors: WordVectors | None = None,
    ):
        self.rng, self.tags, self.corpus = np.random.default_rng(seed), tags, corpus
        start, hashes = form_hashes(forms)
        self.index = _index(start, hashes, np.bincount(corpus.form, minlength=len(forms)), forms)
        start = np.concatenate([[0, 1], start[1:] + 1])
        self.forms = FormRows(start, np.concatenate([[OUTSIDE], self.index[hashes]]).astype(np.int32))
        rows = self._normal((int(self.index.max()) + 1, WIDTH), 0.1) if len(forms) else np.zeros((2, WIDTH), np.float32)
        rows[0] = 0.0
        hidden = self._normal((OFFSETS, WIDTH, HIDDEN), 1.4 / np.sqrt(OFFSETS * WIDTH))
        bias, output = np.zeros(HIDDEN, np.float32), np.zeros((tags.n_units, HIDDEN), np.float32)
        self.weights = Weights(rows, hidden, bias, output)
        self.squares = np.full(len(rows), 1e-6, np.float32)
        self.context = ContextLayers(WIDTH, HIDDEN, LAYERS, self.rng)
        self.dense = [Adam(table) for table in (*self.weights[1:], *self.context.tables)]
        self.steps = 0
        self.words = WordNumbers(vectors.words) if vectors else None
        self.projection = Projection(vectors.table, WIDTH, 1, self.rng) if vectors else None
        self.number = np.concatenate([[-1], self.words.of(forms)]) if self.words else np.full(len(forms) + 1, -1)

    def _normal(self, shape: tuple[int, ...], deviation: float) -> np.ndarray:
        """Return normally distributed weights, float32."""
        drawn: np.ndarray = self.rng.standard_normal(shape, np.float32) * np.float32(deviation)
        return drawn

    def epoch(self, number: int, epochs: int) -> tuple[float, int]:
        """Train on all sentences once, as epoch ``number`` from 0; return loss per word, in nats, and wrong tags."""
        n = len(self.corpus.start) - 1
        order, loss, wrong = self.rng.permutation(n), 0.0, 0
        for begin in range(0, n, _BATCH):
            decay = 1.0 - (1.0 - _LAST) * (number + begin / n) / epochs
            one, missed = self._step(order[begin : begin + _BATCH], decay)
            loss, wrong = loss + one, wrong + missed
        return loss / max(len(self.corpus.form), 1), wrong

    def _step(self, sentences: np.ndarray, decay: float) -> tuple[float, int]:
        """Make one step on some sentences."""
        words, around = _around(self.corpus.start, sentences)
        if not len(words):
            return 0.0, 0
        form = np.concatenate([[0], self.corpus.form[words] + 1])
        mask = (self.rng.random((len(words), HIDDEN), np.float32) >= UNITS_DROPPED).astype(np.float32)
        factors = Factors(self._keep(form), mask / np.float32(1.0 - UNITS_DROPPED), self.context.draw(len(words)))
        loss, wrong, gradient, of_vectors = self.gradient(form, around, self.corpus.tag[words], factors)
        self.steps += 1
        for table, of_table in zip(self.dense, gradient, strict=True):
            table.step(of_table / np.float32(len(words)), _DENSE_RATE * decay, self.steps)
        _follow_forms(self.forms, form, factors.rows, of_vectors, _RATE * decay, self.weights.rows, self.squares)
        if self.projection:
            self.projection.step(self.number[form], of_vectors, _PROJECTION_RATE * decay)
        return loss, wrong

    def _keep(self, form: np.ndarray) -> np.ndarray:
        """Return a factor for each row of the words with these forms: 0 for what is left out, else 1."""
        sizes = np.diff(self.forms.start)[form]
        drawn, first = self.rng.random(int(sizes.sum()), np.float32), np.cumsum(sizes) - sizes
        kept = drawn >= NGRAMS_DROPPED
        kept[first] = drawn[first] >= FORMS_DROPPED
        kept[0] = True
        return kept.astype(np.float32)

    def gradient(
        self, form: np.ndarray, around: Around, tag: np.ndarray, factors: Factors
    ) -> tuple[float, int, list[np.ndarray], np.ndarray]:
        """Return loss, wrong tags, and the gradient of minus the loss.

        Parameters
        ----------
        form : ndarray of shape (n + 1,), int64
            The number of each word's form from 1; before them 0, what is outside.
        around : Around
        tag : ndarray of shape (n,), int64
            -1 for tags that are not learnt.
        factors : Factors

        Returns
        -------
        loss : float
        wrong : int
        gradient : list of ndarray
            Of the dense weights.
        of_vectors : ndarray of shape (n + 1, WIDTH), float32
            Of the words' vectors.
        """
        rows, hidden, bias, output = self.weights
        vectors = np.zeros((len(form), WIDTH), np.float32)
        sum_rows(self.forms, form, factors.rows, rows, vectors)
        if self.projection:
            self.projection.add(self.number[form], vectors)
        inputs, matrix = vectors[around.words].reshape(len(tag), -1), hidden.reshape(-1, HIDDEN)
        added, passed = self.context.forward(vectors[1:], around.sentences, factors.inputs)
        sums = inputs @ matrix + bias + added
        mask = factors.units * (sums > 0)
        layer, of_tags = sums * mask, sum_parts(output, self.tags)
        loss, wrong, delta = _differences(layer @ of_tags.T, tag)
        of_output = np.zeros_like(output)
        _spread(np.ascontiguousarray(delta.T @ layer), self.tags.unit_start, self.tags.units, of_output)
        back = (delta @ of_tags) * mask
        of_vectors = np.zeros_like(vectors)
        of_vectors[1:], contribution = self.context.backward(back, passed)
        _add_rows(around.words.ravel(), (back @ matrix.T).reshape(-1, WIDTH), of_vectors)
        dense = [(inputs.T @ back).reshape(hidden.shape), back.sum(axis=0), of_output, *gradients([contribution])]
        return loss, wrong, dense, of_vectors

    def network(self) -> TagNetwork:
        """Return the network, its rows in 16 bits."""
        rows = self.weights.rows
        if self.projection:
            rows = np.concatenate([rows, self.projection.table @ self.projection.matrix])
        rounded, scale = quantise(rows)
        hidden = self.weights.hidden * np.float32(scale)
        context = rounded_context(self.context.tables, scale, UNIT)
        weights = self.weights._replace(rows=rounded, hidden=hidden)
        return TagNetwork(self.index, weights, self.tags, self.words, context)


def learn_tag_network(
    forms: Sequence[str],
    corpus: Corpus,
    tags: TagSet,
    epochs: int,
    seed: Sequence[int],
    progress: Callable[..., Any],
    vectors: WordVectors | None = None,
) -> TagNetwork:
    """Return a network that has learnt the tags of some words; see `TagNetworkLearner`."""
    from threadpoolctl import threadpool_limits

    learner = TagNetworkLearner(forms, corpus, tags, seed, vectors)

    def run(epoch: int) -> str:
        loss, wrong = learner.epoch(epoch, epochs)
        return f"loss {loss:.4f} a word, {wrong} wrong tags"

    with threadpool_limits(1, "blas"):  # on some processors, sums of products depend on the number of threads
        run_epochs("tagger's network,", progress(range(epochs), "tagger's network"), run)
        return learner.network()


def _index(start: np.ndarray, hashes: np.ndarray, count: np.ndarray, forms: Sequence[str]) -> np.ndarray:
    """Return the index of a new network, int32: rows from `OUTSIDE` + 1 for what is not rare in training, else 0."""
    lower: dict[str, int] = {}
    number = np.array([lower.setdefault(form.lower(), len(lower)) for form in forms], np.int64)
    owner = np.repeat(number, np.diff(start))
    pairs = np.unique(owner << INDEX_BITS | hashes)
    found = np.bincount(pairs & ((1 << INDEX_BITS) - 1), minlength=1 << INDEX_BITS)
    of_lower = np.bincount(number, count, len(lower))
    found[hashes[start[:-1]]] = of_lower[number]
    frequent = found >= RARE
    return np.where(frequent, np.cumsum(frequent) + OUTSIDE, 0).astype(np.int32)


def _around(start: np.ndarray, sentences: np.ndarray) -> tuple[np.ndarray, Around]:
    """Return the words of some sentences, and what is around each."""
    sizes = start[sentences + 1] - start[sentences]
    end = np.cumsum(sizes)
    place = np.arange(end[-1] if len(end) else 0)
    first = np.repeat(end - sizes, sizes)
    words = np.repeat(start[sentences], sizes) + place - first
    around = place[:, None] + np.arange(-REACH, REACH + 1)
    inside = (around >= first[:, None]) & (around < np.repeat(end, sizes)[:, None])
    bounds = (end - sizes).astype(np.int32), end.astype(np.int32)
    return words, Around(np.where(inside, around + 1, 0), bounds)


def _differences(scores: np.ndarray, tag: np.ndarray) -> tuple[float, int, np.ndarray]:
    """Return loss, wrong tags, and gold minus probability of each tag of each word, float32."""
    place = np.flatnonzero(tag >= 0)
    gold = place, tag[place]
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -float(np.log(np.maximum(p[gold], 1e-12)).sum())
    wrong = int((scores.argmax(axis=1) != tag).sum())
    p *= -1.0
    p[gold] += 1.0
    p[tag < 0] = 0.0
    return loss, wrong, p


@kernel
def _spread(of_tags: Float32s, start: Int32s, units: Uint32s, of_output: Float32s) -> None:
    """Add the gradient of each tag to those of its parts."""
    for t in range(of_tags.shape[0]):
        for u in range(start[t], start[t + 1]):
            for k in range(of_tags.shape[1]):
                of_output[units[u], k] += of_tags[t, k]


@kernel
def _add_rows(places: Int64s, rows: Float32s, found: Float32s) -> None:
    """Add each row at its place."""
    for i in range(places.shape[0]):
        for k in range(rows.shape[1]):
            found[places[i], k] += rows[i, k]


@kernel
def _follow_forms(
    forms: FormRows, chosen: Int64s, kept: Float32s, gradient: Float32s, rate: float, rows: Float32s, squares: Float32s
) -> None:
    """Make a step of AdaGrad on the rows of each word, of which some are left out."""
    i, width = 0, gradient.shape[1]
    for w in range(chosen.shape[0]):
        square, form = np.float32(0.0), chosen[w]
        for k in range(width):
            square += gradient[w, k] * gradient[w, k]
        square /= np.float32(width)
        for j in range(forms.start[form], forms.start[form + 1]):
            row, factor = forms.row[j], kept[i] * share_of(forms.start, form, j)
            i += 1
            if row and factor and square > 0:
                follow_share(gradient[w], square, factor, rate, rows[row], squares, row)
