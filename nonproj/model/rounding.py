"""Rounding of weights to few distinct values, so that a model compresses well and parses as fast and well as before.

Accuracy hardly depends on the low bits of weights, nor on small weights.  Each large table is rounded to multiples of
a step in proportion to the size of its weights, and weights below `DEAD` steps become zero; its type and shape remain,
so kernels do not change.  ``research/history.md`` has sizes and accuracy by step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from nonproj.model.model import Model

STEPS = {
    "parser": 0.75,
    "labeler": 0.75,
    "pruner": 0.175,
    "crossing.weights": 0.3125,
    "tagger.tagger.weights": 0.3125,
    "tagger.tagger.network_rows": 0.375,
    "tagger.lemmatizer.weights": 0.3125,
    "segmenter.tokens": 0.015,
    "segmenter.sentences": 0.25,
    "segmenter.network_rows": 0.125,
    "segmenter.multiwords": 0.015,
}
"""The step of each table, in units of the root mean square of its weights that are not zero."""

WORDS = "network.words"

WORD_STEPS = (1.25, 0.2)
"""The step of the network's table of words, without and with layers over words in context, which need low bits."""

DEAD = 0.8
"""Weights below this number of steps become zero."""


def rounded(model: Model, amount: float = 1.0) -> Model:
    """Return a model with rounded weights; arrays that are not rounded are shared with the original.

    Parameters
    ----------
    model : Model
    amount : float
        Factor of `STEPS`; 0 changes nothing, nor does an amount up to that by which the model has been rounded.

    Returns
    -------
    Model
        Its ``meta["rounding"]`` is the amount, unless nothing changes.

    Raises
    ------
    ValueError
        The amount is negative or not finite.

    Examples
    --------
    >>> rounded(Model.load("danish.nonproj"), 0.5).save("danish-small.nonproj")  # doctest: +SKIP
    """
    if not 0 <= amount < np.inf:
        raise ValueError(f"amount: {amount!r} is invalid, a number from 0 on expected")
    before = model.meta.get("rounding")
    if amount <= (before if isinstance(before, float) else 0.0):  # steps computed from rounded weights would differ
        return model
    weights = dict(model.weights)
    for name, step in STEPS.items():
        if name in weights:
            weights[name] = round_table(weights[name], amount * step)
    if (words := weights.get(WORDS)) is not None:
        weights[WORDS] = round_table(words, amount * WORD_STEPS["network.context_hidden" in weights])
    return dataclasses.replace(model, weights=weights, meta=model.meta | {"rounding": float(amount)})


def round_table(table: np.ndarray, step: float) -> np.ndarray:
    """Return a table rounded to multiples of ``step`` times the root mean square of its weights that are not zero.

    Examples
    --------
    >>> round_table(np.array([90, -110, 3, 0], np.int16), 1.0)  # the root mean square is 82
    array([ 82, -82,   0,   0], dtype=int16)
    """
    values = np.asarray(table, np.float32)
    size = np.sqrt(np.mean(np.square(values[values != 0], dtype=np.float64))) if values.any() else 1.0
    steps = np.rint(values / (step * size))
    steps[np.abs(values) < DEAD * step * size] = 0
    result = steps * (step * size)
    if table.dtype.kind == "i":
        limits = np.iinfo(table.dtype)
        result = np.clip(np.rint(result), limits.min, limits.max)
    return result.astype(table.dtype)
