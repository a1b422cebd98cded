"""Numbering of labels, such that labels that compete for the same arcs share lines of the weight table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nonproj.errors import ConfigError
from nonproj.io.columns import MISTAKES
from nonproj.io.partial import given_words
from nonproj.learning.corpus import trees_of
from nonproj.learning.hyperparameters import TREEBANK
from nonproj.scoring.labels import LINE, TAG, AllowedLabels
from nonproj.scoring.templates import LABEL_BITS, LABELLED_ARC
from nonproj.scoring.vocabulary import FIRST, PADDING, TokenEncoder, Tokens
from nonproj.types import Sentence


def number_labels(sentences: Sequence[Sentence], labels: Sequence[str]) -> list[np.ndarray]:
    """Return the numbers of the gold labels of each sentence, int64[n]; -1 for those that are not given.

    Examples
    --------
    >>> sentence = Sentence([["1", "Ja", *"______"], ["2", ".", *"_____p"]], np.array([-1, 0, 1]))
    >>> number_labels([sentence], ["p", "_"])[0].tolist()
    [1, 0]
    """
    number = {label: i for i, label in enumerate(labels)}
    found = []
    for sentence in sentences:
        own = zip(sentence.labels, given_words(sentence).tolist(), strict=True)
        numbers = [number.get(label, -1) if given or label != "_" else -1 for label, given in own]
        found.append(np.array(numbers, np.int64))
    return found


def label_set(sentences: Sequence[Sentence]) -> list[str]:
    """Return the labels of sentences, sorted; ``_`` is one only if (nearly) all words have it.

    Examples
    --------
    >>> label_set([Sentence([["1", "Ja", *"______"], ["2", ".", *"_____p"]], np.array([-1, -1, 1]))])
    ['p']
    """
    labels, given = Counter(label for sentence in sentences for label in sentence.labels), 0
    for sentence in sentences:
        given += int((given_words(sentence) | (np.array(sentence.labels) != "_")).sum())
    del labels["_"]
    return sorted(labels) if labels and labels.total() >= MISTAKES * given else ["_"]


def arranged(
    files: Mapping[str, Mapping[str, Any]],
    encoder: TokenEncoder,
    sentences: Sequence[Sentence],
    known: Sequence[str] = (),
    known_lines: AllowedLabels | None = None,
) -> tuple[list[str], AllowedLabels | None]:
    """Return the labels in the order of their numbers, and the labels that each kind of arc can have, or None.

    The labels that are ``known`` to a continued model keep their numbers, and its kinds of arcs their labels
    (``known_lines``).

    Raises
    ------
    ConfigError
        There are too many labels.
    """
    labels = list(dict.fromkeys([*known, *label_set(sentences)]))
    if len(labels) > 1 << LABEL_BITS:
        raise ConfigError("treebank.train", f"{len(labels)} labels; at most {1 << LABEL_BITS} can be learnt")
    if LABELLED_ARC not in files or TAG not in encoder.attributes:
        return labels, None
    column, shape = encoder.attributes.index(TAG), (FIRST + len(encoder.vocabularies[TAG]), len(labels))
    if shape[0] > TREEBANK.max_tags or (known and not known_lines):
        return labels, None
    tokens, trees = map(encoder.encode, sentences), trees_of(sentences)
    counts = count_labels(tokens, trees, number_labels(sentences, labels), column, shape)
    if known_lines:
        return labels, AllowedLabels(widened(known_lines.table, line_table(counts)), column)
    order = arrange_labels(counts)
    return [labels[i] for i in order], AllowedLabels(line_table(counts[..., order]), column)


def count_labels(
    tokens: Iterable[Tokens],
    heads: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    column: int,
    shape: tuple[int, int],
) -> np.ndarray:
    """Count the labels of gold arcs by tags and direction, int64[V, V, 2, n_labels]; ``shape`` is ``(V, n_labels)``."""
    n_tags, n_labels = shape
    counts = np.zeros((n_tags, n_tags, 2, n_labels), np.int64)
    for t, h, numbers in zip(tokens, heads, labels, strict=True):
        m = np.flatnonzero((h >= 0) & (np.append(-1, numbers) >= 0))
        tags, own = t.atoms[PADDING:, column], h[m]
        np.add.at(counts, (tags[own], tags[m], (m > own).astype(np.int8), numbers[m - 1]), 1)
    return counts


def arrange_labels(counts: np.ndarray) -> np.ndarray:
    """Return an order of the labels, int64[n_labels], in which arcs need few lines.

    ``counts`` is from `count_labels`.  The search swaps two labels at a time.  It starts from the order of
    frequency and from labels grouped by their modifiers' most frequent tag.

    Examples
    --------
    >>> counts = np.zeros((1, 2, 2, 32), int)
    >>> counts[0, 0, 0, :32:2] = counts[0, 1, 0, 1:32:2] = 1  # two tags, with labels of even and of odd numbers
    >>> np.sort(arrange_labels(counts).reshape(2, 16) % 2).any(axis=1).sum()
    np.int64(1)
    """
    n_labels = counts.shape[-1]
    flat = counts.reshape(-1, n_labels)
    flat = flat[flat.any(axis=1)]
    weight, seen = flat.sum(axis=1).astype(np.float64), flat > 0
    rare, tag = -flat.sum(axis=0), counts.sum(axis=(0, 2)).argmax(axis=0)
    starts = [np.lexsort((rare,)), np.lexsort((rare, tag))]
    found = [_swap(weight, seen, start) for start in starts]
    return min(found, key=lambda pair: pair[0])[1]


def _swap(weight: np.ndarray, seen: np.ndarray, order: np.ndarray) -> tuple[float, np.ndarray]:
    """Improve an order by swapping two labels while that helps; return its cost and the order."""
    line = np.empty(len(order), np.int64)
    line[order] = np.arange(len(order)) // LINE
    cost, improved = _cost(weight, seen, line), True
    while improved:
        improved = False
        for i in range(len(order)):
            for j in range(i):
                if line[i] != line[j]:
                    line[i], line[j] = line[j], line[i]
                    swapped = _cost(weight, seen, line)
                    if swapped < cost:
                        cost, improved = swapped, True
                    else:
                        line[i], line[j] = line[j], line[i]
    return cost, np.argsort(line, kind="stable")


def _cost(weight: np.ndarray, seen: np.ndarray, line: np.ndarray) -> float:
    """Return the total number of lines that the arcs need."""
    return sum(float(weight @ seen[:, line == k].any(axis=1)) for k in range(int(line.max()) + 1))


def label_places(
    heads: Sequence[np.ndarray], labels: Sequence[np.ndarray], n_labels: int, known: np.ndarray
) -> np.ndarray:
    """Return masks of the labels that words below other words, and words below the root, can have, uint8[2, n_labels].

    A label can be in a place if half of its words are there, or at least ``min_places`` and the share `MISTAKES`.

    Parameters
    ----------
    heads, labels : sequence of ndarray
        The trees, int32[N] each, and the numbers of the labels, int64[n] each; -1 where one is not given.
    n_labels : int
    known : ndarray of shape (2, n_known), uint8
        The places of the first labels in a continued model.

    Examples
    --------
    >>> label_places([np.array([-1, 0, 1, 1, 1])], [np.array([0, 1, 1, -1])], 3, np.zeros((2, 0), np.uint8)).tolist()
    [[0, 1, 1], [1, 0, 1]]
    """
    counts = np.zeros((2, n_labels), np.int64)
    for tree, numbers in zip(heads, labels, strict=True):
        given = (tree[1:] >= 0) & (numbers >= 0)
        np.add.at(counts, ((tree[1:][given] == 0).astype(np.int8), numbers[given]), 1)
    total = counts.sum(axis=0)
    places = (2 * counts >= total) | (counts >= np.maximum(TREEBANK.min_places, MISTAKES * total))
    places[:, : known.shape[1]] = (places & (total > 0))[:, : known.shape[1]] | (known > 0)
    places[~places.any(axis=1)] = True
    return places.astype(np.uint8)


def widened(table: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return ``AllowedLabels.table`` joined with that of more tags; arcs with all lines keep them.

    Examples
    --------
    >>> widened(np.array([[[1, 0]]]), np.array([[[2, 2], [1, 0]], [[0, 0], [0, 0]]])).tolist()
    [[[3, 0], [0, 0]], [[0, 0], [0, 0]]]
    """
    found = np.zeros_like(other)
    found[: len(table), : len(table)] = table
    return np.where(found, found | other, 0).astype(other.dtype)


def line_table(counts: np.ndarray) -> np.ndarray:
    """Return ``AllowedLabels.table`` from the counts of labels in their final order."""
    table = np.zeros(counts.shape[:3], np.int32)
    for label in range(counts.shape[-1]):
        table |= np.where(counts[..., label] > 0, np.int32(1 << label // LINE), np.int32(0))
    return table
