"""A paired permutation test of the difference between two parsers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonproj.evaluation.scores import Evaluation


def compare(
    first: Evaluation,
    second: Evaluation,
    *,
    labelled: bool = True,
    punctuation: bool = False,
    resamples: int = 9_999,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two parsers on the same sentences, by a paired permutation test over sentences.

    Under the null hypothesis the two parses of a sentence are exchangeable, so the difference in correct words of each
    sentence has a random sign.  The test is exact if there are at most ``resamples`` sign patterns.

    Parameters
    ----------
    first, second : Evaluation
        Evaluations of the same gold sentences, in the same order.
    labelled : bool
        Whether to test the labelled attachment score too, if both evaluations have labels.
    punctuation : bool
        Whether words that are punctuation count.
    resamples : int
        Number of random sign patterns drawn if the test is not exact.
    seed : int
        Seed of the random signs.

    Returns
    -------
    dict
        ``sentences``, ``words`` (only those that count, here and below), and for ``uas`` and ``las`` a dictionary:
        the scores ``first`` and ``second``, their ``difference`` and its two-sided ``p``; None without labels.

    Raises
    ------
    ValueError
        The gold sentences differ.

    Examples
    --------
    >>> from nonproj.evaluation.scores import evaluate
    >>> from nonproj.types import Sentence
    >>> gold = Sentence([["1", "Regn", "_", "_", "_", "_", "0", "ROOT", "_", "_"]], np.array([-1, 0]))
    >>> compare(evaluate([gold], [gold]), evaluate([gold], [gold]))["uas"]
    {'first': 1.0, 'second': 1.0, 'difference': 0.0, 'p': 1.0}
    """
    tables = first.words(), second.words()
    if not all(np.array_equal(tables[0][name], tables[1][name]) for name in ("sentence", "gold", "punctuation")):
        raise ValueError("the two evaluations are not of the same gold sentences")
    counted = ~tables[0]["punctuation"] | punctuation
    words, n_words = tables[0]["sentence"][counted], int(counted.sum())
    flags: dict[str, list[Any] | None] = {"uas": [table["correct"] for table in tables], "las": None}
    if labelled and all(table["label_correct"] is not None for table in tables):
        flags["las"] = [table["correct"] & table["label_correct"] for table in tables]
    result: dict[str, Any] = {"sentences": len(first), "words": n_words}
    for name, columns in flags.items():
        result[name] = None
        if columns is not None:
            correct = [np.bincount(words, column[counted], len(first)) for column in columns]  # by sentence
            scores = [float(counts.sum() / max(n_words, 1)) for counts in correct]
            gains = correct[0] - correct[1]
            p = _p_value(gains[gains != 0], resamples, seed)
            difference = float(gains.sum() / max(n_words, 1))
            result[name] = {"first": scores[0], "second": scores[1], "difference": difference, "p": p}
    return result


def _p_value(gains: np.ndarray, resamples: int, seed: int) -> float:
    """Return the two-sided p-value of the sum of the gains; sentences without a gain do not affect it."""
    if len(gains) < 2:  # both signs are as extreme
        return 1.0
    from scipy.stats import permutation_test

    test = permutation_test(
        (gains,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=500,
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)
