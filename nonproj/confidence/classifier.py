"""Additive models from features to probabilities, stored with the parser.

A model adds a piecewise linear function of each feature and a value for the word's label and for its tag; the sum is
the log-odds.  One model is for heads, one for the labels of correct heads, and one for whole trees, whose features
follow from the probabilities of the heads.  There are three such models for each kind of input: words with given tags,
words with predicted tags, and words found in plain text.  `nonproj.components.confidence` trains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.confidence.evidence import KINDS, LARGE, Evidence
from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.state import Fitted, Schema

TREE_FEATURES = ("all heads", "weakest head", "words")
"""The features of a tree: the logarithm of minus the log-probability that all heads are correct, if they were
independent; the log-odds of the least certain head; the logarithm of the number of words."""


class Confidence(NamedTuple):
    """Probabilities that a parse is correct.

    Attributes
    ----------
    heads : ndarray of shape (n,), float64
        Probability that each word's head is correct.
    labels : ndarray of shape (n,), float64
        Probability that each word's head and label are correct.
    tree : float
        Probability that all heads are correct.
    """

    heads: np.ndarray
    labels: np.ndarray
    tree: float


class AdditiveModel(NamedTuple):
    """An additive model over ``F`` features.

    Attributes
    ----------
    knots, values : ndarray of shape (F, K), float64
        The function of each feature: its values at the knots, linear between, constant outside.
    labels, tags : ndarray of shape (L,) and (T,), float64
        The value for each label and tag; zero for larger indices.
    bias : ndarray of shape (1,), float64
    """

    knots: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    bias: np.ndarray


class ConfidenceModels(NamedTuple):
    """The three models for words of one of the `nonproj.confidence.evidence.KINDS`."""

    heads: AdditiveModel
    labels: AdditiveModel
    trees: AdditiveModel


_SIZES = {kind: (len(columns), len(columns), len(TREE_FEATURES)) for kind, columns in KINDS.items()}
"""The number of features of the `ConfidenceModels` of each kind."""


def _schema(kind: str) -> Schema:
    """Return the schema of the models of a kind of input."""
    arrays = {}
    for model, size in zip(ConfidenceModels._fields, _SIZES[kind], strict=True):
        table = f"{size} {kind}.{model}.knots"
        for field, shape in zip(AdditiveModel._fields, (table, table, "*", "*", "1"), strict=True):
            arrays[f"{kind}.{model}.{field}"] = "float64", shape
    return Schema({}, arrays)


@dataclass(frozen=True)
class Classifier(Fitted):
    """The confidence classifier, with models for at least one kind of input.

    Attributes
    ----------
    limit : float
        See `nonproj.confidence.evidence.gather`.
    given, tagged, text : ConfidenceModels or None
        For words with given tags, with tags from the parser's tagger, and found by its segmenter.
    """

    name: ClassVar[str] = "confidence"
    schema: ClassVar[Schema] = Schema({"features": dict, "limit": float}, {}, [_schema(kind) for kind in KINDS])

    limit: float
    given: ConfidenceModels | None = None
    tagged: ConfidenceModels | None = None
    text: ConfidenceModels | None = None

    def models(self, kind: str) -> tuple[str, ConfidenceModels]:
        """Return a kind of input, or else the most similar kind that has models, and its models."""
        order = list(KINDS)
        place = order.index(kind) + 1
        for name in order[:place][::-1] + order[place:]:
            found: ConfidenceModels | None = getattr(self, name)
            if found is not None:
                return name, found
        raise ValueError("the confidence classifier has no models")

    def confidence(self, evidence: Evidence) -> Confidence:
        """Return the probabilities that a sentence's heads, labels and tree are correct."""
        kind, models = self.models(evidence.kind)
        probabilities = np.empty((2, len(evidence.features)))
        features = with_columns(evidence.features, len(KINDS[kind]))
        tree = _estimate(*models, features, evidence.labels, evidence.tags, probabilities)
        return Confidence(probabilities[0], probabilities[1], tree)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` rebuilds the classifier."""
        kinds = {kind: list(KINDS[kind]) for kind in KINDS if getattr(self, kind) is not None}
        arrays = {
            f"{kind}.{name}.{field}": array
            for kind in kinds
            for name, model in getattr(self, kind)._asdict().items()
            for field, array in model._asdict().items()
        }
        return {"features": kinds, "limit": float(self.limit)}, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Classifier:
        """Rebuild the classifier from the result of `state`.

        Raises
        ------
        ModelError
            If it is invalid: the kernel relies on limited values and ordered knots.
        """
        if not meta["limit"] >= 0.0:
            raise ModelError("the limit of the confidence classifier is not a number from 0")
        kinds = {name.partition(".")[0] for name in arrays}
        if not kinds or meta["features"] != {kind: list(KINDS[kind]) for kind in kinds}:
            raise ModelError("the confidence classifier has the features of another version; retrain the model")
        for name, array in arrays.items():
            if not (np.abs(array) <= _LARGEST).all():
                raise ModelError(f"the confidence classifier's array '{name}' has infinite or too large numbers")
            if name.endswith(".knots") and (not array.size or (np.diff(array, axis=1) < 0).any()):
                raise ModelError(f"the confidence classifier's array '{name}' is empty or not in order")
        return cls(meta["limit"], **{kind: _models(arrays, kind) for kind in kinds})


_LARGEST = 1e100
"""The largest number in a model: sums of such numbers do not overflow."""


def with_columns(features: np.ndarray, count: int) -> np.ndarray:
    """Return the first ``count`` feature columns; missing ones are filled with `LARGE`, as for certain decisions."""
    missing = np.full((len(features), max(0, count - features.shape[1])), LARGE)
    return np.ascontiguousarray(np.concatenate([features[:, :count], missing], axis=1))


def _models(arrays: Mapping[str, np.ndarray], kind: str) -> ConfidenceModels:
    names = [[f"{kind}.{name}.{field}" for field in AdditiveModel._fields] for name in ConfidenceModels._fields]
    return ConfidenceModels(
        *(AdditiveModel(*(np.ascontiguousarray(arrays[field]) for field in fields)) for fields in names)
    )


@kernel
def _estimate(
    heads: AdditiveModel,
    labels: AdditiveModel,
    trees: AdditiveModel,
    features: np.ndarray,
    label: np.ndarray,
    tag: np.ndarray,
    probabilities: np.ndarray,
) -> float:
    """Write the probabilities of heads, and of heads with labels, to float64[2, n]; return that of the tree."""
    n = features.shape[0]
    total, weakest = 0.0, np.inf
    for i in range(n):
        odds = _log_odds(heads, features[i], label[i], tag[i])
        probabilities[0, i] = 1.0 / (1.0 + np.exp(-odds))
        probabilities[1, i] = probabilities[0, i] / (1.0 + np.exp(-_log_odds(labels, features[i], label[i], tag[i])))
        total += np.log1p(np.exp(-odds)) if odds > -30.0 else -odds
        weakest = min(weakest, odds)
    if n == 0:
        return 1.0
    summary = np.array([np.log(max(total, 1e-12)), weakest, np.log(n)])
    return 1.0 / (1.0 + np.exp(-_log_odds(trees, summary, -1, -1)))


@kernel
def _log_odds(model: AdditiveModel, features: np.ndarray, label: int, tag: int) -> float:
    """Return the log-odds of an example: the sum of all functions, limited to -30 to 30."""
    knots, values = model.knots, model.values
    total, last = model.bias[0], knots.shape[1] - 1
    for j in range(knots.shape[0]):
        x = features[j]
        if x >= knots[j, last]:
            total += values[j, last]
            continue
        k = 0
        while k <= last and knots[j, k] <= x:
            k += 1
        if k == 0:
            total += values[j, 0]
        else:
            share = (x - knots[j, k - 1]) / (knots[j, k] - knots[j, k - 1])
            total += values[j, k - 1] + share * (values[j, k] - values[j, k - 1])
    if 0 <= label < model.labels.shape[0]:
        total += model.labels[label]
    if 0 <= tag < model.tags.shape[0]:
        total += model.tags[tag]
    return min(max(total, -30.0), 30.0)
