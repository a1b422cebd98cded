"""Single suspicions about the annotation of a treebank, with their evidence, and the order in which to look at them.

A suspicion has up to three kinds of evidence: the margin by which a model that has not seen the sentence prefers
another value, its confidence, and another annotation of the same words elsewhere.  Columns that are not annotated are
never suspicious.  The score of a suspicion is the sum

    margin / typical margin + log-odds of the confidence + VARIATION * share of the other annotation

where the typical margin is the median of its kind in the treebank, and the confidence, only known for heads, is the
probability that the annotated head is wrong.  The weights were chosen on planted errors: ``research/history.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io.columns import DEPREL, FEATS, HEAD, LEMMA, UPOS
from nonproj.types import Sentence
from nonproj_workbench.audit.nuclei import ABSENT, Variation, present, tags_of
from nonproj_workbench.audit.predictions import SURE, Prediction
from nonproj_workbench.validation import Violation

KINDS = ("head", "label", "tag", "features", "lemma", "rule")
"""The kinds of suspicions: wrong heads; wrong labels of heads; wrong UPOS; wrong XPOS or FEATS, where UPOS is as
predicted; wrong lemmas; and violations of the validator's rules."""

VARIATION = 4.0
"""Weight of the share of the other annotation of the same words."""


class Suspicion(NamedTuple):
    """A suspicion about a word.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    sentence, word : int
        The place, from 0 and from 1; word 0 is the sentence as a whole.
    annotated, predicted : str
        Values; of a tag or features, UPOS, XPOS and FEATS separated by blanks; empty if unknown.
    score : float
        Suspicions of a kind are sorted by it, highest first; of a rule its level, lowest first.
    confidence : float or None
        The probability that the annotated head is wrong.
    margin : float or None
        Score difference between prediction and annotation; None if the model agrees.
    certified : bool or None
        Whether a head's margin is proven to be exact.
    own, others : int
        Numbers of occurrences of the same words with this annotation, and with the other; 0 without variation.
    rule, message : str
        The name of the validator's rule, and its message.
    """

    kind: str
    sentence: int
    word: int
    annotated: str
    predicted: str
    score: float
    confidence: float | None = None
    margin: float | None = None
    certified: bool | None = None
    own: int = 0
    others: int = 0
    rule: str = ""
    message: str = ""


Variations = Mapping[tuple[str, int, int], Variation]


def find_suspicions(
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    varied: Variations,
    violations: Sequence[Violation] = (),
) -> dict[str, list[Suspicion]]:
    """Return the suspicions of each kind, the strongest first.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold heads.
    predictions : sequence of Prediction
        Predictions for each sentence, by a model that was not trained on it.
    varied : mapping
        From `nonproj_workbench.audit.nuclei.variations`.
    violations : sequence of Violation

    Examples
    --------
    >>> row = ["1", "Run", "run", "NOUN", "_", "_", "0", "root", "_", "_"]
    >>> tree = [0], ["root"], None, None, [None], [False], [0.0], ["root"]
    >>> prediction = Prediction(*tree, [("VERB", "_", "_")], [9.0], ["run"], [(2, 2)])
    >>> sentence = Sentence([row], np.array([-1, 0], np.int32))
    >>> [each[:6] for each in find_suspicions([sentence], [prediction], {})["tag"]]
    [('tag', 0, 1, 'NOUN _ _', 'VERB _ _', 1.0)]
    """
    found: dict[str, list[Suspicion]] = {kind: [] for kind in KINDS}
    for i, (sentence, prediction) in enumerate(zip(sentences, predictions, strict=True)):
        for m, row in enumerate(_annotated_rows(sentence), 1):
            for make in (_head, _label, _tag, _lemma):
                kind, (annotated, predicted), margin, odds, certified = make(row, prediction, m - 1)
                other = varied.get(("tag" if kind == "features" else kind, i, m))
                if other and kind == "features" and other.annotation[0] not in (ABSENT, row[UPOS]):
                    kind = "tag"
                if margin is not None and margin <= 0.0 and odds <= 0.0:
                    margin = None
                if margin is None and other is None:
                    continue
                if margin is None and other is not None:
                    predicted = _filled(row, other.annotation) if kind in ("tag", "features") else other.annotation[0]
                counts = (other.own, other.others) if other else (0, 0)
                score = odds + (VARIATION * other.share if other else 0.0)
                sure = None if kind != "head" or prediction.head_confidence is None else _probability(odds)
                found[kind].append(Suspicion(kind, i, m, annotated, predicted, score, sure, margin, certified, *counts))
    for kind in KINDS:
        found[kind] = _ranked(found[kind])
    found["rule"] = [
        Suspicion("rule", each.sentence, each.word, "", "", each.level, rule=each.rule, message=each.message)
        for each in sorted(violations, key=lambda each: (each.level, each.sentence, each.word))
    ]
    return found


def _annotated_rows(sentence: Sentence) -> list[list[str]]:
    """Return the rows of a sentence with `ABSENT` for the tags, lemmas and labels that are not annotated."""
    return [
        [*row[:LEMMA], present(row[LEMMA]), *tags, *row[FEATS + 1 : DEPREL], present(row[DEPREL]), *row[DEPREL + 1 :]]
        for row, tags in zip(sentence.rows, tags_of(sentence), strict=True)
    ]


def _filled(row: Sequence[str], tags: Sequence[str]) -> str:
    """Return other tags for a word, separated by blanks, with its own where either is `ABSENT`."""
    pairs = zip(row[UPOS : FEATS + 1], tags, strict=True)
    return " ".join(new if own and new else own or "_" for own, new in pairs)


def _ranked(suspicions: list[Suspicion]) -> list[Suspicion]:
    """Return suspicions of one kind by falling score, to which their margins are added, in units of the median."""
    margins = [each.margin for each in suspicions if each.margin is not None]
    finite = [margin for margin in margins if margin < SURE]
    largest, typical = max(finite, default=1.0), float(np.median(finite)) if finite else 1.0
    made = []
    for each in suspicions:
        if each.margin is not None:
            margin = min(each.margin, largest)
            each = each._replace(margin=margin, score=each.score + margin / (typical if typical > 0 else 1.0))
        made.append(each)
    return sorted(made, key=lambda each: (-each.score, each.sentence, each.word))


_Found = tuple[str, tuple[str, str], float | None, float, bool | None]
"""Kind, annotated and predicted value, margin, log-odds, and whether the margin is certified."""


def _head(row: Sequence[str], prediction: Prediction, i: int) -> _Found:
    """Return the evidence against a head."""
    head, sure = str(prediction.heads[i]), prediction.head_confidence
    odds = _log_odds(sure[i]) if sure else 0.0
    if head == row[HEAD]:
        return "head", (row[HEAD], head), None, -odds, None
    margin = prediction.differences[i]
    return "head", (row[HEAD], head), 0.0 if margin is None else margin, odds, prediction.certified[i]


def _label(row: Sequence[str], prediction: Prediction, i: int) -> _Found:
    """Return the evidence against a label, given the annotated tree."""
    label = prediction.best_labels[i]
    margin = None if row[DEPREL] in (label, ABSENT) else prediction.label_margins[i]
    return "label", (row[DEPREL], label), margin, 0.0, None


def _tag(row: Sequence[str], prediction: Prediction, i: int) -> _Found:
    """Return the evidence against the tags of a word."""
    own, found = _filled(row, row[UPOS : FEATS + 1]), _filled(row, prediction.tags[i])
    margin = None if found == own else prediction.tag_margins[i]
    kind = "tag" if found.split(" ")[0] != own.split(" ")[0] else "features"
    return kind, (own, found), margin, 0.0, None


def _lemma(row: Sequence[str], prediction: Prediction, i: int) -> _Found:
    """Return the evidence against a lemma: the counts of the form with the predicted and the annotated one."""
    lemma, (others, own) = prediction.lemmas[i], prediction.lemma_counts[i]
    margin = None if row[LEMMA] in (lemma, ABSENT) or lemma == "_" else math.log((others + 0.5) / (own + 0.5))
    return "lemma", (row[LEMMA], lemma), margin, 0.0, None


def _log_odds(p: float) -> float:
    """Return the log-odds of a probability, clipped to a credible range."""
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def _probability(odds: float) -> float:
    """Return the probability with given log-odds."""
    return 1.0 / (1.0 + math.exp(-odds))
