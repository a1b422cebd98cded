"""A feed-forward network that scores the tags of words, added to the linear chain (after Botha et al. 2017).

A form has a vector: the sum of the rows of its character n-grams and of the form itself in lower case.  The hidden
layer of a word is the positive part of a bias plus, for each offset, a matrix times the vector of the form there.  The
score of a tag is the product of the hidden layer with the sum of the output weights of the tag's parts (`TagSet`), so
tags with the same features share weights.

Everything before the positive part depends on forms alone and is kept for each form, so a word costs a few additions
and a product for each of its candidates.  Sums run in a fixed order, so scores do not depend on batch and machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import code_points_of, hash_codes, hash_texts
from nonproj.linear.state import Arrays
from nonproj.networks.context import ContextWeights, check_context
from nonproj.networks.rows import SparseRows, sum_rows
from nonproj.scoring.piece_vectors import PROJECTION, PieceVectors, ProjectedVectors, check_projection
from nonproj.scoring.vectors import WordNumbers
from nonproj.scoring.vocabulary import ATTRIBUTES
from nonproj.tagging.chain import FormRows
from nonproj.tagging.tagset import TagSet
from nonproj.tagging.words import FormTable
from nonproj.types import Float32s, Float64s, Int32s, Int64s, Uint32s

REACH = 1
"""Number of words on either side whose vectors are in the hidden layer."""

OFFSETS = 2 * REACH + 1

LONGEST = 6
"""Maximum length of n-grams; the ends of a form count as characters."""

INDEX_BITS = 18
"""log2 of the size of the index, in which the highest bits of a hash are looked up."""

CONTEXT_SCALE = 2.0**-12
"""Scale of the integers that words in context add to hidden layers."""

OUTSIDE = 1
"""Row of positions outside the sentence; row 0, of n-grams and forms that are rare in training, does not count."""

_CHARACTERS = 24
"""Number of characters at either end of a form from which n-grams are taken."""

NETWORK = {
    "network_index": ("int32", f"{1 << INDEX_BITS}"),
    "network_rows": ("int16", "rows width"),
    "network_hidden": ("float32", f"{OFFSETS} width units"),
    "network_bias": ("float32", "units"),
    "network_output": ("float32", "parts units"),
}
"""The arrays of a `TagNetwork` in a model, for schemas."""

VECTOR_WORDS: Arrays = {"network_words": ("uint8", "*")}
"""Additional array of a network that has words with vectors."""

NETWORK_PROJECTION: Arrays = {f"network_{name}": shape for name, shape in PROJECTION.items()}
"""Additional array of a network if all words have vectors by their pieces."""


class TagWeights(NamedTuple):
    """The weights of a network with D numbers in a vector, K hidden units and U parts of tags, float32.

    Attributes
    ----------
    rows : ndarray of shape (R, D)
        int16 in a model; their scale is a factor of ``hidden``.
    hidden : ndarray of shape (OFFSETS, D, K)
    bias : ndarray of shape (K,)
    output : ndarray of shape (U, K)
    """

    rows: np.ndarray
    hidden: np.ndarray
    bias: np.ndarray
    output: np.ndarray


class FormLayers(NamedTuple):
    """The contributions of forms to the scores of tags.

    Attributes
    ----------
    hidden : ndarray of shape (n_forms, OFFSETS, K), float32
        Contribution of each form to the hidden layers of words around it.
    vectors : ndarray of shape (n_forms, D), float32
        The vectors of forms; of shape (n_forms, 0) without layers over words in context.
    """

    hidden: np.ndarray
    vectors: np.ndarray


class TagNetwork:
    """A trained network; threads may share it.

    Parameters
    ----------
    index : ndarray of shape (2 ** INDEX_BITS,), int32
        The row of each hash.
    weights : TagWeights
    tags : TagSet
    words : WordNumbers, optional
        The words with vectors, which have the last rows.
    context : ContextWeights, optional
        Layers over words in context.
    projected : ProjectedVectors, optional
        Projection of the vectors of words by pieces.
    """

    def __init__(
        self,
        index: np.ndarray,
        weights: TagWeights,
        tags: TagSet,
        words: WordNumbers | None = None,
        context: ContextWeights | None = None,
        projected: ProjectedVectors | None = None,
    ):
        self.index, self.weights, self.words, self.context = index, weights, words, context
        self.projected = projected
        self.output = sum_parts(weights.output, tags)
        self.outside = self._layers(form_rows(np.array([0, 1]), np.array([OUTSIDE], np.int32)))

    def layers(self, forms: Sequence[str]) -> FormLayers:
        """Return the contributions of forms to the scores of tags."""
        start, hashes = form_hashes(forms)
        return self._layers(form_rows(start, self.index[hashes]), forms)

    def _layers(self, rows: SparseRows, forms: Sequence[str] = ()) -> FormLayers:
        """Return the contributions of forms, given their rows; pretrained vectors are added only with ``forms``."""
        vectors = sum_rows(rows, self.weights.rows)
        if forms and self.words:
            numbers, first = self.words.of(forms), len(self.weights.rows) - len(self.words.words)
            there = np.flatnonzero(numbers >= 0)
            vectors[there] += self.weights.rows[first + numbers[there]]
        if forms and self.projected:
            vectors += self.projected.rows(self.projected.vectors.of(forms))
        return FormLayers(_multiply(vectors, self.weights.hidden), vectors if self.context else vectors[:, :0])

    def score(self, forms: FormLayers, words: FormTable, text: FormRows, factor: float, scores: np.ndarray) -> None:
        """Add the factor times the scores of all candidates of the words of some sentences.

        Parameters
        ----------
        forms : FormLayers
            Layers of the forms in the rows of ``words``, first those of a position outside the sentence.
        words : FormTable
        text : FormRows
        factor : float
        scores : ndarray of shape (n_words, limit), float64
        """
        added = np.zeros((len(text.form), 0), np.int32)
        if self.context:
            sentences = text.start[:-1].astype(np.int32), text.start[1:].astype(np.int32)
            added = self.context.sums(forms.vectors[text.form], sentences)
        _score_text(forms.hidden, added, words, text, self.weights.bias, self.output, factor, scores)

    def extended(self, tags: TagSet) -> TagNetwork:
        """Return the network for more tags, whose new parts score 0."""
        output = np.pad(self.weights.output, ((0, tags.n_units - len(self.weights.output)), (0, 0)))
        return TagNetwork(
            self.index, self.weights._replace(output=output), tags, self.words, self.context, self.projected
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `check_network` restores the network."""
        found = dict(zip(NETWORK, (self.index, *self.weights), strict=True))
        found |= dict.fromkeys(VECTOR_WORDS, self.words.text()) if self.words else {}
        found |= dict.fromkeys(NETWORK_PROJECTION, self.projected.matrix) if self.projected else {}
        return found | (self.context.arrays() if self.context else {})


def check_network(
    arrays: Mapping[str, np.ndarray], tags: TagSet, pieces: PieceVectors | None = None
) -> TagNetwork | None:
    """Return the network in the arrays of a tagger, None if there is none; raise `ModelError` if it is invalid.

    ``pieces`` are its model's vectors of words by pieces, if there are any.
    """
    if NETWORK.keys().isdisjoint(arrays):
        return None
    index, *tables = (arrays[name] for name in NETWORK)
    weights = TagWeights(*tables)
    if not all(np.isfinite(table).all() for table in weights[1:]):
        raise ModelError("the tagger's network has weights that are not finite")
    if len(weights.rows) <= OUTSIDE or len(weights.output) != tags.n_units:
        raise ModelError("the arrays of the tagger's network do not fit its tags")
    if index.min() < 0 or index.max() >= len(weights.rows):
        raise ModelError("the index of the tagger's network has rows out of range")
    text = [WordNumbers.from_text(arrays[name]) for name in VECTOR_WORDS if name in arrays]
    words = text[0] if text else None
    if words and len(words.words) > len(weights.rows) - index.max() - 1:
        raise ModelError("the tagger's network lacks rows of words with vectors")
    context = check_context(arrays, len(weights.bias), "the tagger's network")
    if context and len(context.output) != weights.rows.shape[1]:
        raise ModelError("the tagger's network has layers over words in context that do not fit its rows")
    projected = check_projection(arrays, NETWORK_PROJECTION, weights.rows, pieces)
    return TagNetwork(index, weights, tags, words, context, projected)


def form_hashes(forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of forms in an index: the offset of each form's entries, and the entries, int64.

    A form has one entry for its lower case, one for its shape, and others for its n-grams.
    """
    lowers = [form.lower() for form in forms]
    shapes = [ATTRIBUTES["shape"](form, "_", "_", "_", "_") for form in forms]
    pieces = [(i, piece) for i, lower in enumerate(lowers) for piece in _pieces(f"<{lower}>")]
    codes, ends = code_points_of([piece for _, piece in pieces])
    owner, count = np.array([i for i, _ in pieces], np.int64), _count_ngrams(np.diff(ends))
    start = np.concatenate(([0], np.cumsum(2 + np.bincount(owner, count, len(forms)).astype(np.int64))))
    keys = np.empty(start[-1], np.uint32)
    keys[start[:-1]] = hash_texts([f"={lower}" for lower in lowers])
    keys[start[:-1] + 1] = hash_texts([f"#{shape}" for shape in shapes])
    _hash_ngrams(codes, ends, 2 * (owner + 1) + np.cumsum(count) - count, keys)
    return start, (keys >> np.uint32(32 - INDEX_BITS)).astype(np.int64)


def _pieces(text: str) -> tuple[str, ...]:
    """Return the parts of a form that have n-grams: the whole form, or both ends of a long one."""
    return (text,) if len(text) <= 2 * _CHARACTERS else (text[:_CHARACTERS], text[-_CHARACTERS:])


def _count_ngrams(lengths: np.ndarray) -> np.ndarray:
    """Return the number of substrings of up to `LONGEST` characters, for each length of a string, int64."""
    found: np.ndarray = np.maximum(lengths[:, None] - np.arange(LONGEST), 0).sum(axis=1)
    return found


@kernel
def _hash_ngrams(codes: Uint32s, ends: Int64s, first: Int64s, keys: Uint32s) -> None:
    """Write the hashes of each string's n-grams, from ``first`` on, shorter ones before longer ones."""
    for s in range(first.shape[0]):
        i = first[s]
        for length in range(1, LONGEST + 1):
            for begin in range(ends[s], ends[s + 1] - length + 1):
                keys[i] = hash_codes(codes, begin, begin + length, LONGEST)
                i += 1


def parts_of(tags: TagSet) -> SparseRows:
    """Return the rows of output weights whose sum is the weights of each tag."""
    ones = np.ones(len(tags.units), np.float32)
    return SparseRows(tags.unit_start.astype(np.int64), tags.units.astype(np.int32), ones)


def sum_parts(output: np.ndarray, tags: TagSet) -> np.ndarray:
    """Return the sum of the output weights of each tag's parts, float32[n_tags, K]."""
    return sum_rows(parts_of(tags), output)


def form_rows(start: np.ndarray, row: np.ndarray) -> SparseRows:
    """Return the rows of forms, each form's own first with weight 1; the other rows weigh less, the more there are.

    Parameters
    ----------
    start : ndarray of shape (n_forms + 1,), int64
    row : ndarray of int32
        Rows; those of form ``i`` are ``row[start[i]:start[i + 1]]``.
    """
    sizes = np.diff(start)
    factor = np.repeat((1.0 / np.sqrt(np.maximum(sizes - 1.0, 1.0))).astype(np.float32), sizes)
    factor[start[:-1]] = 1.0
    return SparseRows(start, row, factor * (row > 0))


@kernel
def _multiply(vectors: Float32s, hidden: Float32s) -> Float32s:
    """Return each vector times each matrix, float32[n, OFFSETS, K], summed in a fixed order."""
    found = np.zeros((vectors.shape[0], hidden.shape[0], hidden.shape[2]), np.float32)
    for i in range(vectors.shape[0]):
        for o in range(hidden.shape[0]):
            for d in range(vectors.shape[1]):
                x = vectors[i, d]
                for k in range(hidden.shape[2]):
                    found[i, o, k] += x * hidden[o, d, k]
    return found


@kernel
def _score_text(
    layers: Float32s,
    added: Int32s,
    words: FormTable,
    text: FormRows,
    bias: Float32s,
    output: Float32s,
    factor: float,
    scores: Float64s,
) -> None:
    """For each word with several candidates, add the network's scores, times a factor, to their scores."""
    size, hidden, sums = bias.shape[0], np.empty(bias.shape[0], np.float32), np.empty(8, np.float32)
    for s in range(text.start.shape[0] - 1):
        first, end = text.start[s], text.start[s + 1]
        for i in range(first, end):
            form = text.form[i]
            if words.count[form] < 2:
                continue
            for k in range(size):
                hidden[k] = bias[k]
            for k in range(added.shape[1]):
                hidden[k] += np.float32(CONTEXT_SCALE * added[i, k])
            for offset in range(-REACH, REACH + 1):
                j = i + offset
                layer = layers[text.form[j] if first <= j < end else 0, offset + REACH]
                for k in range(size):
                    hidden[k] += layer[k]
            for k in range(size):
                hidden[k] = max(hidden[k], np.float32(0.0))
            for c in range(words.count[form]):
                scores[i, c] += factor * _product(hidden, output[words.tag[form, c]], sums)


@kernel
def _product(a: Float32s, b: Float32s, sums: Float32s) -> np.float32:
    """Return a product of vectors, by eight interleaved sums in one vector register."""
    lanes = sums.shape[0]
    for k in range(lanes):
        sums[k] = 0.0
    whole = a.shape[0] // lanes * lanes
    for begin in range(0, whole, lanes):
        for k in range(lanes):
            sums[k] += a[begin + k] * b[begin + k]
    total = np.float32(0.0)
    for k in range(lanes):
        total += sums[k]
    for k in range(whole, a.shape[0]):
        total += a[k] * b[k]
    return total
