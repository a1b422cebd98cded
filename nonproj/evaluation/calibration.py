"""Calibration of probabilities: calibration error and ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.errors import DataError, ModelError
from nonproj.evaluation.alignment import CorrectArcs, judge_text
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.formats import TextInput
from nonproj.types import Sentence

if TYPE_CHECKING:
    from nonproj.pipeline.parser import Parser
    from nonproj.pipeline.parses import Parse

BINS = 10
"""Number of bins, of equal width."""

SURE = (0.5, 0.75, 0.9)
"""Shares of the predictions, the most probable ones, whose accuracy is reported."""

_DRAWS = 200


class Outcomes(NamedTuple):
    """Probabilities, and whether the predictions are correct: arrays of the same shape, float64 and bool."""

    probabilities: np.ndarray
    right: np.ndarray

    def bins(self, count: int = BINS) -> np.ndarray:
        """Return the mean probability, the share of correct predictions and the size of each bin, float64[count, 3].

        Examples
        --------
        >>> Outcomes(np.array([0.1, 0.9, 1.0]), np.array([False, True, False])).bins(2).tolist()
        [[0.1, 0.0, 1.0], [0.95, 0.5, 2.0]]
        """
        number = np.minimum((self.probabilities * count).astype(int), count - 1)
        size = np.bincount(number, minlength=count)
        sums = [np.bincount(number, values, count) for values in self]
        with np.errstate(invalid="ignore"):
            return np.stack([sums[0] / size, sums[1] / size, size], axis=1)

    def calibration_error(self, count: int = BINS) -> float:
        """Return the expected calibration error: ``|mean probability - share correct|`` of bins, weighted by size.

        Naeini, Cooper and Hauskrecht (2015); Guo et al. (2017).
        """
        mean, right, size = self.bins(count).T
        filled = size > 0
        return float((size * np.abs(mean - right))[filled].sum() / size.sum())

    def noise(self) -> tuple[float, float]:
        """Return the calibration error that true probabilities have by chance: mean and 95th percentile."""
        draws = np.random.default_rng(0).random((_DRAWS, len(self.right))) < self.probabilities
        errors = [Outcomes(self.probabilities, draw).calibration_error() for draw in draws]
        return float(np.mean(errors)), float(np.quantile(errors, 0.95))

    def area(self) -> float:
        """Return the area under the ROC curve: the probability that a correct prediction outranks a wrong one.

        Examples
        --------
        >>> Outcomes(np.array([0.1, 0.9, 0.9]), np.array([False, True, False])).area()
        0.75
        """
        from scipy.stats import rankdata

        n = int(self.right.sum())
        if n in (0, len(self.right)):
            return float("nan")
        ranks = rankdata(self.probabilities)[self.right].sum()
        return float((ranks - n * (n + 1) / 2) / (n * (len(self.right) - n)))

    def accuracy_of_surest(self, share: float) -> float:
        """Return the accuracy of the most probable predictions, ``share`` of all; ties are broken by order."""
        order = np.argsort(-self.probabilities, kind="stable")
        return float(self.right[order[: max(1, round(share * len(order)))]].mean())

    def as_dict(self) -> dict[str, float]:
        """Return all metrics."""
        noise, limit = self.noise()
        surest = {f"surest_{100 * share:.0f}": self.accuracy_of_surest(share) for share in SURE}
        return {
            "count": len(self.right),
            "right": float(self.right.mean()),
            "mean": float(self.probabilities.mean()),
            "calibration_error": self.calibration_error(),
            "noise": noise,
            "noise_limit": limit,
            "area": self.area(),
            **surest,
        }


def judge(parses: Iterable[tuple[Sentence, Parse]], path: str = "the model") -> dict[str, Outcomes]:
    """Compare the confidence of parses with the gold trees of their sentences: ``heads``, ``labels`` and ``trees``.

    Raises
    ------
    DataError
        A sentence has no gold heads.
    ModelError
        A parse has no confidence; ``path`` is the model's name.
    """
    rows: list[tuple[Parse, CorrectArcs]] = []
    for sentence, parse in parses:
        if sentence.heads is None:
            raise DataError(sentence.path, sentence.line, "HEAD is absent (_); gold heads are expected")
        heads = parse.decoded.heads == sentence.heads
        labels = heads & np.array([a == b for a, b in zip(parse.labels, sentence.labels, strict=True)], np.bool_)
        rows.append((parse, CorrectArcs(heads, labels, bool(heads.all()))))
    return _judged(rows, path)


def judge_from_text(parser: Parser, gold: Sequence[Sentence], path: str = "the model") -> dict[str, Outcomes]:
    """Compare the confidence of trees parsed from plain text with the gold trees; otherwise as `judge`.

    The text is that of the gold sentences: their tokens, separated by blanks except after ``SpaceAfter=No``.
    Words that are not gold words count as wrong, and so do trees whose sentences are not gold sentences: see
    `nonproj.evaluation.alignment`.
    """
    limit = min(TextInput().max_words, parser.request.max_words)
    found = parser.segmenter.segment(raw_text(paragraphs(gold)).text, TextInput(max_words=limit))
    pairs = list(parser.parse_all(found))
    trees = [parse.decoded.heads for _, parse in pairs], [parse.labels for _, parse in pairs]
    verdicts = judge_text(gold, [sentence for sentence, _ in pairs], *trees)
    return _judged([(parse, verdict) for (_, parse), verdict in zip(pairs, verdicts, strict=True)], path)


def _judged(rows: Sequence[tuple[Parse, CorrectArcs]], path: str) -> dict[str, Outcomes]:
    """Return probabilities and correctness of all parses."""
    if not rows:
        raise ValueError("there are no sentences")
    found: dict[str, list[Any]] = {"heads": [], "labels": [], "trees": []}
    for parse, verdict in rows:
        if parse.confidence is None:
            raise ModelError(no_classifier(path))
        found["heads"].append((parse.confidence.heads, verdict.heads))
        found["labels"].append((parse.confidence.labels, verdict.labels))
        found["trees"].append(([parse.confidence.tree], [verdict.tree]))
    return {name: Outcomes(*map(np.concatenate, zip(*pairs, strict=True))) for name, pairs in found.items()}


def no_classifier(path: str) -> str:
    """Return the message for a model without a confidence classifier."""
    return f"{path}: the model has no confidence classifier; retrain it with confidence.share above 0"


def calibration_report(judged: Mapping[str, Outcomes]) -> str:
    """Return a table of all figures as plain text, in per cent."""
    names = {"heads": "heads", "labels": "heads and labels", "trees": "trees, all heads"}
    columns = (
        "count",
        "right",
        "confidence",
        "ECE",
        "by chance",
        "chance 95 %",
        "AUC",
        *(f"surest {100 * s:.0f} %" for s in SURE),
    )
    lines = ["".join([f"{'confidence, per cent':<28}", *(f"{c:>12}" for c in columns)])]
    for name, each in judged.items():
        count, *values = each.as_dict().values()
        cells = [f"{count:>12}", *(f"{100 * value:>12.2f}" for value in values)]
        lines.append("".join([f"{names.get(name, name):<28}", *cells]))
    return "\n".join(lines) + "\n"
