"""Training of the network over arcs and labels, separate from the linear model.

Its loss is minus the log-probability of each word's head, among the candidates, and of the label of the gold arc.  The
candidate arcs are those of the jackknifed pruner.  All tables take steps of AdaGrad but those of the layers over words
in context (`nonproj.networks.learner`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.learning.crossing import loss_weights
from nonproj.linear.state import State
from nonproj.linear.weights import quantise, scale_of
from nonproj.networks.context_learning import ContextLayers, rounded_context
from nonproj.networks.exponentials import exponentials
from nonproj.networks.hyperparameters import Hyperparameters
from nonproj.networks.learner import Gradient
from nonproj.networks.products import product
from nonproj.networks.projection import Projection
from nonproj.networks.rows import AdaGrad, RowGradient, SparseRows, draw_weights
from nonproj.networks.training import Dropout, HiddenLayers, NetworkInputs, draw_units, softmax_loss
from nonproj.scoring.joined import JoinedTokens, join
from nonproj.scoring.network import POSITIONS, ArcWeights, Network, position_code
from nonproj.scoring.piece_vectors import PieceVectors, rounded_projection
from nonproj.scoring.vectors import VECTOR, WordVectors, chosen_rows
from nonproj.scoring.vocabulary import FEAT, FIRST, PADDING, UNKNOWN, Tokens
from nonproj.scoring.word_rows import IndexColumns, columns_for, word_rows
from nonproj.types import ArcSpace, Bools, Float32s, Int32s, Int64s

LEXICAL = {"form", "lemma", "suffix3"}
"""Attributes with many values, which have a higher dropout rate."""


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
    """A batch of sentences with A candidate arcs into n words, G of them gold.

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
    weights : ndarray of shape (A,), float32
        The weight of the modifier's head in the loss.
    """

    tokens: JoinedTokens
    head: np.ndarray
    modifier: np.ndarray
    from_root: np.ndarray
    given: np.ndarray
    first: np.ndarray
    gold: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[ArcExample]) -> ArcBatch:
        """Return the batch of some sentences."""
        tokens, pieces, done = join([example.tokens for example in examples]), [], 0
        for (_, heads, arcs, labels), node in zip(examples, tokens.first, strict=True):
            wanted = heads[arcs.modifier]
            gold, first = np.flatnonzero(arcs.head == wanted), arcs.start[1:-1] + np.int64(done)
            arrays = arcs.head + node, arcs.modifier + node, arcs.head == 0, wanted >= 0, first, gold + done
            pieces.append((*arrays, labels[arcs.modifier[gold] - 1], loss_weights(heads)[arcs.modifier]))
            done += len(wanted)
        return cls(tokens, *map(np.concatenate, zip(*pieces, strict=True)))


class TrainableArcNetwork:
    """The network over arcs and labels in training.

    Parameters
    ----------
    vocabularies : dict of str to list of str
    examples : sequence of ArcExample
        Sentences, also for the counts of attribute values.
    n_labels : int
    hyperparameters : Hyperparameters
    rng : numpy.random.Generator
        For the initial weights and dropout.
    vectors : WordVectors or PieceVectors, optional
        Vectors of the words in the vocabulary of `VECTOR`, or of all words, as the sentences have them.

    Attributes
    ----------
    weights : ArcWeights
        float32.
    layers : HiddenLayers
    sizes, rows, dense
        As in `nonproj.networks.learner.TrainableNetwork`; ``rows`` ends with those of the weights after the first.
    """

    def __init__(
        self,
        vocabularies: dict[str, list[str]],
        examples: Sequence[ArcExample],
        n_labels: int,
        hyperparameters: Hyperparameters,
        rng: np.random.Generator,
        vectors: WordVectors | PieceVectors | None = None,
    ):
        hyper, self.rng, self.examples = hyperparameters, rng, examples
        self.hyperparameters, self.sizes, size = hyper, np.ones(len(examples), np.int64), hyper.hidden
        self.names = columns_for(vocabularies)
        self.columns = IndexColumns.of(vocabularies, self.names)
        self.vectors, with_file = vectors, isinstance(vectors, WordVectors)
        column = self.names.index((VECTOR, 0)) if with_file else -1
        self._vector = column if with_file else len(self.names) + 1  # the column of its dropout
        tokens = [example.tokens for example in examples]
        self.index = count_rows(self.columns, tokens, hyper.min_count, column)
        tags = [name for name in vocabularies if name != FEAT][self.columns.between]
        shapes = (self.index.max() + 1, hyper.width), (FIRST + len(vocabularies[tags]), size), (POSITIONS, size)
        deviations = hyper.row_deviation, hyper.deviation, hyper.deviation
        drawn = [draw_weights(rng, *each) for each in zip(shapes, deviations, strict=True)]
        drawn[0][0] = 0.0
        output = draw_weights(rng, (size,), 1.0 / np.sqrt(size))
        labels = draw_weights(rng, (n_labels, size), hyper.deviation)
        self.weights = ArcWeights(drawn[0], drawn[1], drawn[2], output, labels)
        lexical = np.array(
            [name in LEXICAL for name, _ in self.names] + [False] * (1 + isinstance(vectors, PieceVectors))
        )
        self._rates = np.where(lexical, hyper.lexical_dropout, hyper.row_dropout)
        projection = Projection(vectors.table.shape[1], hyper, rng) if vectors else None
        context = ContextLayers(hyper, 2 * size, rng) if hyper.layers else None
        rows = AdaGrad(drawn[0], hyper.row_rate, hyper.first_square, hyper.pieces)
        self.layers = HiddenLayers(rows, context, projection=projection)
        others = [AdaGrad(table, hyper.row_rate, hyper.first_square) for table in (*drawn[1:], output[None], labels)]
        self.rows, self.dense = [*self.layers.steps, *others], context.tables if context else []

    def gradient_of(self, chosen: np.ndarray) -> Gradient:
        """Return the gradient of some sentences, with attributes and hidden units dropped at random."""
        batch, hyper = ArcBatch.of([self.examples[i] for i in chosen]), self.hyperparameters
        n_nodes, n, context = batch.tokens.n_nodes, len(chosen), self.layers.context
        left_out = (self.rng.random((n_nodes, len(self._rates))) < self._rates).astype(np.uint8)
        of_arc = np.searchsorted(batch.tokens.first, batch.head, side="right") - 1
        units = draw_units(self.rng, (n, hyper.hidden), hyper.unit_dropout)[of_arc]
        of_node = np.searchsorted(batch.tokens.first, np.arange(n_nodes), side="right") - 1
        dropout = Dropout(context.draw(n)[:, of_node] if context else None, units)
        return self.gradient(batch, self.inputs(batch, left_out), dropout)

    def inputs(self, batch: ArcBatch, dropped: np.ndarray) -> NetworkInputs:
        """Return the inputs of the network, without dropped rows: see `nonproj.scoring.word_rows.word_rows`."""
        tokens = batch.tokens
        items = SparseRows(*_arc_rows(batch.head, batch.modifier, batch.from_root, tokens.n_nodes))
        words, vectors = word_rows(self.columns, self.index, tokens, dropped), None
        if isinstance(self.vectors, WordVectors):
            numbers = tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.attribute[self._vector]]
            vectors = chosen_rows(self.vectors.table, numbers - FIRST)
        elif self.vectors and tokens.vectors is not None:
            vectors = tokens.vectors * self.vectors.unit
        if vectors is not None:
            vectors[dropped[:, self._vector] > 0] = 0.0
        return NetworkInputs(words, (tokens.first, tokens.end), items, vectors)

    def gradient(self, batch: ArcBatch, inputs: NetworkInputs, dropout: Dropout) -> Gradient:
        """Return the loss, the number of wrong heads, and the gradient."""
        _, between, positions, output, labels = self.weights
        tags, n_nodes = self._tags(batch.tokens), batch.tokens.n_nodes
        layer, passed = self.layers.forward(inputs, dropout, np.concatenate([between[tags], positions]))
        loss, wrong, delta = head_loss(batch, product(layer, output[:, None])[:, 0])
        of_layer, of_labels = delta[:, None] * output, np.zeros_like(labels)
        if len(labels) > 1:
            chosen = layer[batch.gold]
            more_loss, _, of_scores = softmax_loss(product(chosen, labels.T), batch.labels)
            loss, of_labels = loss + more_loss, product(of_scores.T, chosen)
            of_layer[batch.gold] += product(of_scores, labels)
        hidden, of_output = self.layers.backward(of_layer, passed), product(layer.T, delta[:, None])[:, 0]
        rows = self.layers.row_gradients(inputs, hidden.vectors)
        rows.append(RowGradient(hidden.more[:n_nodes], SparseRows.of_table(tags[:, None])))
        rows += map(RowGradient, (hidden.more[n_nodes:], of_output[None], of_labels))
        return Gradient(loss, wrong, len(batch.first), rows, hidden.context)

    def _tags(self, tokens: JoinedTokens) -> np.ndarray:
        """Return the row of each word in the table of tags between head and modifier."""
        return tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.between]

    def network(self, factor: float, label_factor: float) -> Network:
        """Return the network in 16 bits; words with vectors from a file have rows of their own.

        Its scores of arcs and of labels are multiplied by the factors.
        """
        (words, *others), index, layers, projected = self.weights, self.index, self.layers, None
        rows = layers.projection.rows(self.vectors.table) if self.vectors and layers.projection else words[:0]
        if isinstance(self.vectors, WordVectors):
            begin = self.columns.start[self._vector] + FIRST
            index = index.copy()
            index[begin : begin + len(rows)] = len(words) + np.arange(len(rows))
            words = np.concatenate([words, rows])
        of_words, inner = scale_of(words, rows), scale_of(*others[:2])
        if not layers.context:
            of_words = inner = max(of_words, inner)
        outer, of_labels = scale_of(others[2]), scale_of(others[3])
        scales = of_words, inner, inner, outer, of_labels
        rounded = [quantise(table, scale)[0] for table, scale in zip((words, *others), scales, strict=True)]
        factors = factor * inner * outer, label_factor * inner * of_labels
        context = rounded_context(layers.context.tables, of_words, inner) if layers.context else None
        if isinstance(self.vectors, PieceVectors) and layers.projection:
            projected = rounded_projection(self.vectors, layers.projection.matrix, of_words)
        return Network(self.columns, index, ArcWeights(*rounded), *factors, context, projected)


def extended_network(
    state: State, before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]], n_labels: int
) -> State:
    """Return the state of a network for vocabularies and labels to which others were added at the end.

    New strings get the rows of unknown ones.  New labels get a neutral score: an arc's scores of labels are zero on
    average.
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
        Scores of the arcs.

    Returns
    -------
    loss : float
    wrong : int
        Words whose best arc is not the given one.
    gradient : ndarray of shape (A,), float32
        Gold minus probability, times the weight, of words whose heads are given.
    """
    first, gold = batch.first, batch.gold
    sizes = np.diff(first, append=len(scores))
    scores = scores - np.repeat(np.maximum.reduceat(scores, first), sizes)
    odds = exponentials(scores)
    total = np.repeat(np.add.reduceat(odds, first), sizes)
    loss, wrong = float((np.log(total[gold]) - scores[gold]).sum()), int(np.count_nonzero(scores[gold]))
    delta = np.where(batch.given, -odds / total, np.float32(0.0))
    delta[gold] += 1.0
    return loss, wrong, delta * batch.weights


@kernel
def _arc_rows(head: Int32s, modifier: Int32s, from_root: Bools, n_nodes: int) -> tuple[Int64s, Int32s, Float32s]:
    """Return the `SparseRows` whose sum is the hidden layer of each arc: see `NetworkInputs.items`.

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


def count_rows(columns: IndexColumns, tokens: Sequence[Tokens], least: int, vector: int = -1) -> np.ndarray:
    """Return the index of a new network, int32: rows from 1 for values with ``least`` occurrences or more, else 0.

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
    frequent = counts >= least
    return np.where(frequent, np.cumsum(frequent), 0).astype(np.int32)
