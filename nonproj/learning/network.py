"""Training of the network over arcs and labels, apart from the linear model.

Its loss is minus the log-probability of each word's head, among the candidates, and of the label of the gold arc. A
step is on `BATCH` sentences: one of AdaGrad, with one sum of squares for each row, or for each half of a row of words
that consists of two vectors, and one of Adam for the layers over words in context.  The candidate arcs are those of
the jackknifed pruner.  Dropout of hidden units and of attributes of words prevents overfitting (Srivastava et al.
2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import LaterMean
from nonproj.linear.state import State
from nonproj.linear.weights import quantise, scale_of
from nonproj.networks.context_learning import ContextLayers, ContextSteps, rounded_context
from nonproj.networks.exponentials import exponentials
from nonproj.networks.products import product
from nonproj.networks.projection import Projection
from nonproj.networks.rows import AdaGrad, SparseRows, draw_weights
from nonproj.networks.training import Dropout, HiddenGradient, HiddenLayers, NetworkInputs, draw_units, softmax_loss
from nonproj.options.sections import NetworkConfig
from nonproj.scoring.joined import JoinedTokens, join
from nonproj.scoring.network import POSITIONS, ArcWeights, Network, position_code
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, PADDING, UNKNOWN, Tokens
from nonproj.scoring.word_rows import IndexColumns, columns_for, word_rows
from nonproj.types import ArcSpace, Bools, Float32s, Int32s, Int64s

BATCH = 8
"""Sentences of a step: products of matrices with many rows take half of the time of those with few."""

RARE = 2
"""Minimum count: rarer values of attributes have no row."""

LEXICAL = {"form", "lemma", "suffix3"}
"""Attributes with many values, which are left out more often."""

LAYERS = 2
"""Layers over words in context."""

DROPPED, LEXICAL_DROPPED = 0.1, 0.4
"""Dropout probabilities of attributes."""

DROPOUT = 0.3
"""Dropout probability of hidden units."""

LEARNING_RATE = 0.03
"""AdaGrad's learning rate, but for the layers in context, which have steps of their own."""

_DEVIATION, _CONTEXT_DEVIATION = 0.03, 0.1


class ArcExample(NamedTuple):
    """A sentence to learn arcs and labels from.

    Attributes
    ----------
    tokens : Tokens
    heads : ndarray of shape (N,), int32
        -1 for those that are not given and not learnt from.
    arcs : ArcSpace
        The candidate arcs, the gold ones among them.
    labels : ndarray of shape (n,), int64
        Numbers of the gold labels, -1 for those that are not given.
    """

    tokens: Tokens
    heads: np.ndarray
    arcs: ArcSpace
    labels: np.ndarray


class ArcBatch(NamedTuple):
    """Some sentences to learn from together, with A candidate arcs into n words, G of which are those of the trees.

    Attributes
    ----------
    tokens : JoinedTokens
    head, modifier : ndarray of shape (A,), int32
        Nodes of the batch.
    from_root, given : ndarray of shape (A,), bool
        Whether the head is a root, and whether the modifier's head is given.
    first : ndarray of shape (n,), int64
        The first arc into each word.
    gold : ndarray of shape (G,), int64
    labels : ndarray of shape (G,), int64
        -1 for those that are not given.
    """

    tokens: JoinedTokens
    head: np.ndarray
    modifier: np.ndarray
    from_root: np.ndarray
    given: np.ndarray
    first: np.ndarray
    gold: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[ArcExample]) -> ArcBatch:
        """Return the batch of some sentences."""
        tokens, pieces, done = join([example.tokens for example in examples]), [], 0
        for (_, heads, arcs, labels), node in zip(examples, tokens.first, strict=True):
            wanted = heads[arcs.modifier]
            gold, first = np.flatnonzero(arcs.head == wanted), arcs.start[1:-1] + np.int64(done)
            arrays = arcs.head + node, arcs.modifier + node, arcs.head == 0, wanted >= 0, first, gold + done
            pieces.append((*arrays, labels[arcs.modifier[gold] - 1]))
            done += len(wanted)
        return cls(tokens, *map(np.concatenate, zip(*pieces, strict=True)))


class NetworkLearner:
    """A network in training.

    Parameters
    ----------
    vocabularies : dict of str to list of str
    tokens : sequence of Tokens
        The sentences, in which the values of attributes are counted.
    options : NetworkConfig
    seed : sequence of int
        For the first weights and what is left out.
    n_labels : int
    vectors : ndarray of shape (n, D), float32, optional
        Those of the words in the vocabulary of `VECTOR`.
    steps : int
        The number of sentences that will be learnt from in all epochs.

    Attributes
    ----------
    weights : ArcWeights
        float32.
    layers : HiddenLayers
    context_steps : ContextSteps or None
    steps : list of AdaGrad
        Of each of the weights.
    """

    def __init__(
        self,
        vocabularies: dict[str, list[str]],
        tokens: Sequence[Tokens],
        options: NetworkConfig,
        seed: Sequence[int],
        n_labels: int,
        vectors: np.ndarray | None = None,
        steps: int = 0,
    ):
        self.rng, self.options, size, width = np.random.default_rng(seed), options, options.size, options.context
        self.names = columns_for(vocabularies)
        self.columns = IndexColumns.of(vocabularies, self.names)
        self._vector = self.names.index((VECTOR, 0)) if vectors is not None else -1
        self.index = count_rows(self.columns, tokens, self._vector)
        tags = [name for name in vocabularies if name != FEAT][self.columns.between]
        shapes = (self.index.max() + 1, width or 2 * size), (FIRST + len(vocabularies[tags]), size), (POSITIONS, size)
        deviations = _CONTEXT_DEVIATION if width else _DEVIATION, _DEVIATION, _DEVIATION
        drawn = [draw_weights(self.rng, *each) for each in zip(shapes, deviations, strict=True)]
        drawn[0][0] = 0.0
        output = draw_weights(self.rng, (size,), 1.0 / np.sqrt(size))
        labels = draw_weights(self.rng, (n_labels, size), _DEVIATION)
        self.weights = ArcWeights(drawn[0], drawn[1], drawn[2], output, labels)
        pieces = 1 if width else 2  # of vectors for heads and for modifiers
        self.steps = [AdaGrad(drawn[0], pieces=pieces), *map(AdaGrad, (*drawn[1:], output[None], labels))]
        lexical = np.array([name in LEXICAL for name, _ in self.names] + [False])
        self._rates = np.where(lexical, LEXICAL_DROPPED, DROPPED)
        projection = None if vectors is None else Projection(vectors, width or 2 * size, pieces, self.rng)
        context = ContextLayers(width, 2 * size, LAYERS, self.rng) if width else None
        self.layers = HiddenLayers(self.steps[0], context, projection=projection)
        self.context_steps = ContextSteps(context.tables, steps) if context else None
        trained = [*self.weights, *([projection.matrix] if projection else []), *(context.tables if context else ())]
        self._mean = LaterMean(trained, options.epochs)

    def epoch(self, examples: Sequence[ArcExample], order: Iterable[int]) -> tuple[float, int]:
        """Train on the examples in the given order.

        Returns
        -------
        loss : float
            The mean loss per word, in nats.
        wrong : int
            Words whose best head was not the gold one.
        """
        loss, wrong, words, rest = 0.0, 0, 0, iter(order)
        while chosen := [examples[i] for i in islice(rest, BATCH)]:
            one, missed = self.update(ArcBatch.of(chosen))
            loss, wrong, words = loss + one, wrong + missed, words + sum(len(example.labels) for example in chosen)
        self._mean.add()
        return loss / max(words, 1), wrong

    def update(self, batch: ArcBatch) -> tuple[float, int]:
        """Make one step on some sentences; return their words' losses, in nats, and the number of wrong heads."""
        n_nodes, context = batch.tokens.n_nodes, self.layers.context
        left_out = (self.rng.random((n_nodes, len(self._rates))) < self._rates).astype(np.uint8)
        of_arc = np.searchsorted(batch.tokens.first, batch.head, side="right") - 1
        units = draw_units(self.rng, (len(batch.tokens.first), self.options.size), DROPOUT)[of_arc]
        of_node = np.searchsorted(batch.tokens.first, np.arange(n_nodes), side="right") - 1
        dropout = Dropout(context.draw(len(batch.tokens.first))[:, of_node] if context else None, units)
        inputs = self.inputs(batch, left_out)
        loss, wrong, (hidden, output, labels) = self.gradient(batch, inputs, dropout)
        self.layers.follow(inputs, hidden.vectors, LEARNING_RATE, LEARNING_RATE)
        tags = SparseRows.of_table(self._tags(batch.tokens)[:, None])
        self.steps[1].step(hidden.more[:n_nodes], LEARNING_RATE, tags)
        for steps, gradient in zip(self.steps[2:], (hidden.more[n_nodes:], output[None], labels), strict=True):
            steps.step(gradient, LEARNING_RATE)
        if self.context_steps and hidden.context:
            self.context_steps.follow(hidden.context, len(batch.tokens.first))
        return loss, wrong

    def inputs(self, batch: ArcBatch, dropped: np.ndarray) -> NetworkInputs:
        """Return what the network is given, without what is dropped: see `nonproj.scoring.word_rows.word_rows`."""
        tokens = batch.tokens
        items = SparseRows(*_arc_rows(batch.head, batch.modifier, batch.from_root, tokens.n_nodes))
        words, vectors = word_rows(self.columns, self.index, tokens, dropped), None
        if self.layers.projection:
            numbers = tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.attribute[self._vector]]
            vectors = np.where(dropped[:, self._vector], -1, np.maximum(numbers.astype(np.int64) - FIRST, -1))
        return NetworkInputs(words, (tokens.first, tokens.end), items, vectors)

    def gradient(
        self, batch: ArcBatch, inputs: NetworkInputs, dropout: Dropout
    ) -> tuple[float, int, tuple[HiddenGradient, np.ndarray, np.ndarray]]:
        """Return loss, number of wrong heads, and the gradient of minus the loss.

        It is that of what precedes the hidden layers, whose ``more`` is that of the rows of the words' tags between,
        float32[N, K], and of the positions, float32[POSITIONS, K]; of the output, float32[K]; and of the labels,
        float32[n_labels, K].
        """
        _, between, positions, output, labels = self.weights
        more = np.concatenate([between[self._tags(batch.tokens)], positions])
        layer, passed = self.layers.forward(inputs, dropout, more)
        loss, wrong, delta = head_loss(batch, product(layer, output[:, None])[:, 0])
        of_layer, of_labels = delta[:, None] * output, np.zeros_like(labels)
        if len(labels) > 1:
            chosen = layer[batch.gold]
            more_loss, _, of_scores = softmax_loss(product(chosen, labels.T), batch.labels)
            loss, of_labels = loss + more_loss, product(of_scores.T, chosen)
            of_layer[batch.gold] += product(of_scores, labels)
        return loss, wrong, (self.layers.backward(of_layer, passed), product(layer.T, delta[:, None])[:, 0], of_labels)

    def _tags(self, tokens: JoinedTokens) -> np.ndarray:
        """Return the row of each word in the table of tags between head and modifier."""
        return tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.between]

    def network(self, factor: float, label_factor: float) -> Network:
        """Return the network in 16 bits, with the mean of the weights after the epochs of the second half.

        This ends training.  The factors are those of its scores of arcs and of labels.  Words with vectors have rows.
        """
        self._mean.apply()
        (words, *others), index, layers = self.weights, self.index, self.layers
        if layers.projection:
            begin = self.columns.start[self._vector] + FIRST
            rows = product(layers.projection.table, layers.projection.matrix)
            index = index.copy()
            index[begin : begin + len(rows)] = len(words) + np.arange(len(rows))
            words = np.concatenate([words, rows])
        of_words, inner = scale_of(words), scale_of(*others[:2])
        if not layers.context:
            of_words = inner = max(of_words, inner)
        outer, of_labels = scale_of(others[2]), scale_of(others[3])
        scales = of_words, inner, inner, outer, of_labels
        rounded = [quantise(table, scale)[0] for table, scale in zip((words, *others), scales, strict=True)]
        factors = factor * inner * outer, label_factor * inner * of_labels
        context = rounded_context(layers.context.tables, of_words, inner) if layers.context else None
        return Network(self.columns, index, ArcWeights(*rounded), *factors, context)


def extended_network(
    state: State, before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]], n_labels: int
) -> State:
    """Return the state of a network for vocabularies and labels to which others were added at the end.

    New strings count as unknown ones do.  To new labels the network is indifferent: its scores of an arc's labels are
    zero on average.
    """
    values, arrays = state
    names = [(name, offset) for name, offset in values["columns"]]
    one, other = (IndexColumns.of(vocabularies, names) for vocabularies in (before, after))
    starts, pieces = [*one.start, one.feat, one.size], list[np.ndarray]()
    sizes = np.diff([*other.start, other.feat, other.size])
    for begin, end, size in zip(starts, starts[1:], sizes, strict=False):
        new = np.full(size - (end - begin), arrays["index"][begin + UNKNOWN], np.int32)
        pieces += [arrays["index"][begin:end], new]
    tags = [len(each[[name for name in each if name != FEAT][other.between]]) for each in (before, after)]
    unknown = np.repeat(arrays["between"][UNKNOWN : UNKNOWN + 1], tags[1] - tags[0], axis=0)
    labels = np.pad(arrays["labels"], ((0, n_labels - len(arrays["labels"])), (0, 0)))
    between = np.concatenate([arrays["between"], unknown])
    return values, {**arrays, "index": np.concatenate(pieces), "between": between, "labels": labels}


def head_loss(batch: ArcBatch, scores: np.ndarray) -> tuple[float, int, np.ndarray]:
    """Return minus the log-probability of the given heads, each among its word's candidates, and minus its gradient.

    Parameters
    ----------
    batch : ArcBatch
    scores : ndarray of shape (A,), float32
        Of the arcs.

    Returns
    -------
    loss : float
    wrong : int
        Words whose best arc is not the given one.
    gradient : ndarray of shape (A,), float32
        Gold minus probability, of words whose heads are given.
    """
    first, gold = batch.first, batch.gold
    sizes = np.diff(first, append=len(scores))
    scores = scores - np.repeat(np.maximum.reduceat(scores, first), sizes)
    odds = exponentials(scores)
    total = np.repeat(np.add.reduceat(odds, first), sizes)
    loss, wrong = float((np.log(total[gold]) - scores[gold]).sum()), int(np.count_nonzero(scores[gold]))
    delta = np.where(batch.given, -odds / total, np.float32(0.0))
    delta[gold] += 1.0
    return loss, wrong, delta


@kernel
def _arc_rows(head: Int32s, modifier: Int32s, from_root: Bools, n_nodes: int) -> tuple[Int64s, Int32s, Float32s]:
    """Return the `SparseRows` of which the hidden layer of each arc is the sum: see `NetworkInputs.items`.

    Each word adds one as head and one as modifier; then there is one for each word's tag, and one for each position.
    """
    start = np.zeros(head.shape[0] + 1, np.int64)
    for a in range(head.shape[0]):
        start[a + 1] = start[a] + 2 + abs(head[a] - modifier[a])
    row = np.empty(start[-1], np.int32)
    for a in range(head.shape[0]):
        h, m, i = head[a], modifier[a], start[a]
        row[i], row[i + 1], row[i + 2] = 2 * h, 2 * m + 1, 3 * n_nodes + position_code(h, m, from_root[a])
        for between in range(min(h, m) + 1, max(h, m)):
            row[i + 2 + between - min(h, m)] = 2 * n_nodes + between
    return start, row, np.ones(len(row), np.float32)


def count_rows(columns: IndexColumns, tokens: Sequence[Tokens], vector: int = -1) -> np.ndarray:
    """Return the index of a new network, int32: rows from 1 for what occurs `RARE` times in the sentences, else 0.

    The words of the column ``vector`` have none: their rows are not learnt one by one.
    """
    counts = np.zeros(columns.size, np.int64)
    for t in tokens:
        for attribute, offset, start in zip(columns.attribute, columns.offset, columns.start, strict=True):
            first = PADDING + offset
            np.add.at(counts, start + t.atoms[first : first + t.n_nodes, attribute], 1)
        np.add.at(counts, columns.feat + t.feat, 1)
    if vector >= 0:
        counts[columns.start[vector] + FIRST : [*columns.start, columns.feat][vector + 1]] = 0
    frequent = counts >= RARE
    return np.where(frequent, np.cumsum(frequent), 0).astype(np.int32)
