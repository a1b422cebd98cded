"""A model's predictions for annotated sentences: trees, labels, tags and lemmas, with the confidence of each."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.pipeline.parser import BATCH, Parser, batches
from nonproj.pipeline.parses import Parse
from nonproj.pipeline.stages import encode
from nonproj.types import Sentence
from nonproj_workbench.audit.margins import head_differences

Lexicon = Counter[tuple[str, str, str]]
"""Counts of a form with a UPOS and a lemma."""

SURE = 1e9
"""Finite value that replaces infinite margins and differences."""


class Prediction(NamedTuple):
    """A model's predictions for a sentence of ``n`` words; lists have an entry for each word.

    Attributes
    ----------
    heads : list of int
    labels : list of str
        Labels of the predicted heads.
    head_confidence, label_confidence : list of float, or None
        The probability that the head, and that head and label are correct; None without a confidence classifier.
    differences : list of float or None
        Score difference, if another head is predicted, between the best tree without the annotated arc and the best
        tree with it (`nonproj_workbench.audit.margins`).
    certified : list of bool
        Whether both trees are proven to be the best.
    label_margins : list of float
        Margin of the best label over the annotated one, given the annotated heads.
    best_labels : list of str
        The best labels, given the annotated heads.
    tags : list of (str, str, str)
        UPOS, XPOS and FEATS; the annotated ones where the model predicts none.
    tag_margins : list of float
        See `nonproj.tagging.tagger.Tagger.tag_with_margins`.
    lemmas : list of str
        Predicted lemmas, given the annotated tags.
    lemma_counts : list of (int, int)
        Counts of the form with the predicted and with the annotated lemma in the model's training data.
    """

    heads: list[int]
    labels: list[str]
    head_confidence: list[float] | None
    label_confidence: list[float] | None
    differences: list[float | None]
    certified: list[bool]
    label_margins: list[float]
    best_labels: list[str]
    tags: list[tuple[str, str, str]]
    tag_margins: list[float]
    lemmas: list[str]
    lemma_counts: list[tuple[int, int]]


def lexicon_of(sentences: Iterable[Sentence]) -> Lexicon:
    """Return the counts of forms with their UPOS and lemmas.

    Examples
    --------
    >>> row = ["1", "Hunde", "hund", "NOUN", "_", "_", "0", "root", "_", "_"]
    >>> lexicon_of([Sentence([row])] * 2)
    Counter({('Hunde', 'NOUN', 'hund'): 2})
    """
    return Counter((row[1], row[UPOS], row[LEMMA]) for sentence in sentences for row in sentence.rows)


def predict(parser: Parser, sentences: Iterable[Sentence], lexicon: Lexicon) -> Iterator[Prediction]:
    """Yield the prediction for each annotated sentence.

    Trees are parsed with the annotated tags, so that an error in a tag is not reported again as an error in a tree;
    lemmas are predicted for the annotated tags.

    Parameters
    ----------
    parser : Parser
        Its model was not trained on the sentences.
    sentences : iterable of Sentence
        With gold heads.
    lexicon : Counter
        From `lexicon_of` over the model's training data.
    """
    for group in batches(sentences, BATCH):
        tags, margins = _tags(parser, group)
        lemmas = _lemmas(parser, group)
        for i, (tagged, parse) in enumerate(parser.parse_all(group)):
            counts = [
                (lexicon[row[1], row[UPOS], lemma], lexicon[row[1], row[UPOS], row[LEMMA]])
                for row, lemma in zip(group[i].rows, lemmas[i], strict=True)
            ]
            trees, labels = _trees(parser, group[i], tagged, parse), _labels(parser, group[i], tagged)
            yield Prediction(*trees, *labels, tags[i], margins[i], lemmas[i], counts)


def _tags(parser: Parser, group: list[Sentence]) -> tuple[list[list[tuple[str, str, str]]], list[list[float]]]:
    """Return the predicted tags of the words of sentences, and their margins; annotated tags are ignored."""
    analyzer = parser.loaded.analyzer
    if analyzer is None or analyzer.tagger is None:
        return [[_tag(row) for row in s.rows] for s in group], [[0.0] * len(s) for s in group]
    rows, margins = analyzer.annotate_with_margins(group, overwrite=True, encoded=parser.loaded.encoded_tags)
    found = [[_tag(row) for row in each] for each in rows]
    return found, [np.minimum(each, SURE).tolist() for each in margins]


def _tag(row: list[str]) -> tuple[str, str, str]:
    """Return UPOS, XPOS and FEATS of a word."""
    return row[UPOS], row[XPOS], row[FEATS]


def _lemmas(parser: Parser, group: list[Sentence]) -> list[list[str]]:
    """Return the lemmas of the words of sentences, given their annotated tags."""
    analyzer = parser.loaded.analyzer
    if analyzer is None or analyzer.lemmatizer is None:
        return [["_"] * len(s) for s in group]
    bare = [with_rows(s, [[*row[:LEMMA], "_", *row[LEMMA + 1 :]] for row in s.rows]) for s in group]
    return [[row[LEMMA] for row in rows] for rows in analyzer.annotate(bare)]


_Trees = tuple[list[int], list[str], list[float] | None, list[float] | None, list[float | None], list[bool]]
"""The first six fields of a prediction."""


def _trees(parser: Parser, sentence: Sentence, tagged: Sentence, parse: Parse) -> _Trees:
    """Return the predicted tree, and the score differences to the best trees with annotated arcs."""
    assert sentence.tree is not None
    heads, sure, n = parse.decoded.heads, parse.confidence, len(sentence)
    differences: list[float | None] = [None] * n
    certified = [False] * n
    wanted = np.concatenate([[False], heads != sentence.tree[1:]])
    if wanted.any():
        # A huge sentence may be parsed over fewer arcs only.
        with contextlib.suppress(SizeError, MemoryError):
            found = head_differences(parser, tagged, sentence.tree, wanted)
            for m in np.flatnonzero(wanted).tolist():
                differences[m - 1] = max(-SURE, min(SURE, float(found.score[m])))
                certified[m - 1] = bool(found.certified[m])
    head_confidence = None if sure is None else _rounded(sure.heads)
    label_confidence = None if sure is None else _rounded(sure.labels)
    return heads.tolist(), parse.labels, head_confidence, label_confidence, differences, certified


def _labels(parser: Parser, sentence: Sentence, tagged: Sentence) -> tuple[list[float], list[str]]:
    """Return the margins of the annotated tree's best labels over its annotated labels, and the best labels."""
    assert sentence.tree is not None
    joined = parser.with_request(tags="none").run([tagged], until=encode).joined
    n, labeler = np.arange(len(sentence)), parser.loaded.labeler
    scores, [(numbers, _)] = labeler.scores(joined, sentence.tree), labeler.label(joined, [sentence.tree])
    best = parser.loaded.labels[numbers].tolist()
    number = {label: i for i, label in enumerate(parser.model.labels)}
    given = np.array([number.get(label, -1) for label in sentence.labels])
    own = np.where(given >= 0, scores[n, given], -np.inf)
    return np.minimum(scores[n, [number[label] for label in best]] - own, SURE).tolist(), best


def _rounded(values: np.ndarray) -> list[float]:
    """Return probabilities with six digits, never 1."""
    return [min(round(float(value), 6), 0.999999) for value in values]


def as_json(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON values, for `from_json`."""
    return prediction._asdict()


def from_json(values: dict[str, Any], words: int) -> Prediction:
    """Return a prediction for ``words`` words from JSON values; raise ``ValueError`` if they are invalid.

    Examples
    --------
    >>> from_json({"heads": []}, 0)
    Traceback (most recent call last):
        ...
    ValueError: not a prediction
    """
    try:
        found = Prediction(**values)
        lists: Sequence[Any] = [each for each in found if each is not None]
        if any(len(each) != words for each in lists) or not all(map(math.isfinite, found.label_margins)):
            raise ValueError("not a prediction")
    except TypeError:
        raise ValueError("not a prediction") from None
    return found._replace(
        tags=[(upos, xpos, feats) for upos, xpos, feats in found.tags],
        lemma_counts=[(one, other) for one, other in found.lemma_counts],
    )
