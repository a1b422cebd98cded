"""Additive models by logistic regression: a piecewise linear function of each feature, a value for each category.

The classifier of right and wrong heads, labels and trees consists of such models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.confidence.classifier import TREE_FEATURES, AdditiveModel, Classifier, Confidence, ConfidenceModels
from nonproj.confidence.evidence import KINDS, LARGE, Evidence
from nonproj.learning.hyperparameters import CONFIDENCE


def fit_additive(
    features: np.ndarray, categories: tuple[Any, ...], right: np.ndarray, strength: float = CONFIDENCE.strength
) -> AdditiveModel:
    """Fit an additive model by logistic regression.

    Regularisation makes log-odds too small, the more so the fewer the examples.  So they are scaled and shifted to be
    calibrated on held-out examples.

    Parameters
    ----------
    features : ndarray of shape (n, F), float64
    categories : tuple of ndarray of shape (n,), int64
        The numbers of labels and of tags, or none.
    right : ndarray of shape (n,), bool
    strength : float
        The inverse of the strength of regularisation, as scikit-learn's ``C``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2.0, 2.0, (400, 1))
    >>> model = fit_additive(x, (), 4.0 * rng.random(400) < x[:, 0] + 2.0, 1.0)
    >>> bool(model.values[0, 0] < 0.0 < model.values[0, -1]), model.labels.tolist()
    (True, [0.0])
    """
    knots = np.stack([_knots(column) for column in features.T])
    sizes = [CONFIDENCE.knots] * len(knots) + [int(numbers.max(initial=-1)) + 1 for numbers in categories]
    if right.all() or not right.any():
        coefficients, bias = np.zeros(sum(sizes)), np.log(right.sum() + 0.5) - np.log((~right).sum() + 0.5)
    else:
        coefficients, bias = _regression(_design(features, categories, knots, sizes), right, strength)
    parts = np.split(coefficients, np.cumsum(sizes)[:-1])
    for places, own in zip(knots, parts, strict=False):
        own[places == places[-1]] = own[places == places[-1]][0]
    labels, tags = [*parts[len(knots) :], np.zeros(1), np.zeros(1)][:2]
    return AdditiveModel(knots, np.stack(parts[: len(knots)]), labels, tags, np.array([bias]))


def _regression(design: np.ndarray, right: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    """Return calibrated coefficients and bias.

    Their last digits depend on the processor, and are rounded away: a hundred thousandth changes no probability.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to import
    from sklearn.model_selection import cross_val_predict
    from threadpoolctl import threadpool_limits

    model = LogisticRegression(C=strength, solver="newton-cholesky", max_iter=100)
    slope, move = 1.0, 0.0
    with threadpool_limits(1):
        model.fit(design, right)
        if min(right.sum(), (~right).sum()) >= CONFIDENCE.folds:
            odds = cross_val_predict(model, design, right, cv=CONFIDENCE.folds, method="decision_function")
            slope, move = _calibration(odds, right)
    coefficients: np.ndarray = (slope * model.coef_[0]).round(5) + 0.0  # no negative zeros
    return coefficients, float(np.round(slope * model.intercept_[0] + move, 5))


def _calibration(odds: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the factor and shift that calibrate log-odds to ``right``: MAP, with normal priors around 1 and 0.

    Examples
    --------
    >>> odds, right = np.repeat([-1.0, 1.0], 1000), np.arange(2000) % 1000 < np.repeat([100, 900], 1000)
    >>> slope, move = _calibration(odds, right)
    >>> bool(abs(slope - np.log(9.0)) < 0.01), bool(abs(move) < 0.01)
    (True, True)
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    columns, sign, start = np.stack([odds, np.ones_like(odds)]), np.where(right, 1.0, -1.0), np.array([1.0, 0.0])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm of the posterior probability, and its gradient."""
        margins, distance = sign * (weights @ columns), weights - start
        value = np.logaddexp(0.0, -margins).sum() + 0.5 * distance @ distance
        return value, distance - columns @ (sign * expit(-margins))

    found: np.ndarray = minimize(loss, start, jac=True, method="BFGS").x
    return found.round(3)


def _design(features: np.ndarray, categories: tuple[Any, ...], knots: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Return the matrix of the regression, float64[n, sum(sizes)]: splines of features, indicators of categories."""
    matrix, end = np.empty((len(features), sum(sizes))), 0
    for k, size in enumerate(sizes):
        begin, end = end, end + size
        if k < len(knots):
            matrix[:, begin:end] = _hats(features[:, k], knots[k])
        else:
            matrix[:, begin:end] = _indicators(categories[k - len(knots)], size)
    return matrix


def _knots(column: np.ndarray) -> np.ndarray:
    """Return the knots between which the function of a feature is linear, float64[K], the last one repeated.

    They are at quantiles; `LARGE`, where there was no doubt, is a knot by itself.
    """
    doubtful = column[column < LARGE]
    count = CONFIDENCE.knots - (len(doubtful) < len(column))
    places = np.unique(np.quantile(doubtful, np.linspace(0.0, 1.0, count))) if len(doubtful) else np.zeros(0)
    if len(doubtful) < len(column):
        places = np.append(places, LARGE)
    return np.concatenate([places, np.full(CONFIDENCE.knots - len(places), places[-1])])


def _hats(column: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return the values of the linear B-splines over the knots, float64[n, K]; zero for repeated knots."""
    different = np.unique(knots)
    hats = np.zeros((len(column), len(knots)))
    for k in range(len(different)):
        hats[:, k] = np.interp(column, different, np.arange(len(different)) == k)
    return hats


def _indicators(numbers: np.ndarray, size: int) -> np.ndarray:
    """Return a column for each number, float64[n, size]; all zero for numbers that are rare."""
    rows = np.eye(size)
    rows[np.bincount(numbers, minlength=size) < CONFIDENCE.min_count] = 0.0
    return rows[numbers]


class GradedSentence(NamedTuple):
    """A parsed held-out sentence of ``n`` words: the evidence, and which predictions are right.

    Attributes
    ----------
    evidence : Evidence
    heads, labels : ndarray of shape (n,), bool
        Whether each head, and head and label, are right.
    tree : bool
        Whether the sentence and all its heads are right.
    """

    evidence: Evidence
    heads: np.ndarray
    labels: np.ndarray
    tree: bool


def fit_classifier(outcomes: Sequence[GradedSentence], limit: float) -> Classifier:
    """Train the classifier: the models of each kind of evidence.

    Parameters
    ----------
    outcomes : sequence of GradedSentence
    limit : float
        See `nonproj.confidence.evidence.gather`.
    """
    of_kinds = {kind: [outcome for outcome in outcomes if outcome.evidence.kind == kind] for kind in KINDS}
    return Classifier(limit, **{kind: fit_models(own) for kind, own in of_kinds.items() if own})


def fit_models(outcomes: Sequence[GradedSentence]) -> ConfidenceModels:
    """Train the models of heads, of the labels of right heads, and of trees, from evidence of one kind."""
    kind = outcomes[0].evidence.kind
    features, *categories = (np.concatenate([o.evidence[k] for o in outcomes]) for k in range(3))
    right, labelled = (np.concatenate([o[k] for o in outcomes]) for k in (1, 2))
    heads = fit_additive(features, tuple(categories), right)
    among = features[right], tuple(numbers[right] for numbers in categories)
    labels = fit_additive(*among, labelled[right])
    unknown = AdditiveModel(np.zeros((len(TREE_FEATURES), 1)), np.zeros((len(TREE_FEATURES), 1)), *np.zeros((3, 1)))
    classifier = Classifier(0.0, **{kind: ConfidenceModels(heads, labels, unknown)})
    rows = np.array([_summary(classifier.confidence(outcome.evidence)) for outcome in outcomes])
    rows = rows.round(9)  # last digits of logarithms depend on the processor
    return ConfidenceModels(heads, labels, _tree_model(rows, np.array([outcome.tree for outcome in outcomes])))


def _tree_model(features: np.ndarray, right: np.ndarray) -> AdditiveModel:
    """Return the model of trees: the log-odds that all heads are right, if they are independent, calibrated.

    Functions of the other `TREE_FEATURES` would need more trees than there are, and would not rank them better.
    """
    slope, bias = _calibration(_odds_of_all(features[:, 0]), right)
    knots = np.stack([_knots(column) for column in features.T])
    values = np.zeros_like(knots)
    values[0] = (slope * _odds_of_all(knots[0])).round(5)
    return AdditiveModel(knots, values, np.zeros(1), np.zeros(1), np.array([bias]))


def _odds_of_all(feature: np.ndarray) -> np.ndarray:
    """Return the log-odds of a product of probabilities, given the first of the `TREE_FEATURES`."""
    doubt = np.exp(feature)
    return -doubt - np.log(-np.expm1(-doubt))


def _summary(confidence: Confidence) -> tuple[float, float, float]:
    """Return the `TREE_FEATURES` of a sentence."""
    p = np.clip(confidence.heads, 1e-12, 1.0 - 1e-12)
    return np.log(-np.log(p).sum()), (np.log(p) - np.log1p(-p)).min(), np.log(len(p))
