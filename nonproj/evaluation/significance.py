"""Whether two parsers differ, or only their luck."""

from __future__ import annotations

import numpy as np

from nonproj.evaluation.scores import Evaluation


def compare(one: Evaluation, other: Evaluation, samples: int = 10_000, seed: int = 0) -> dict:
    """Say whether two parsers differ on the same sentences, by paired randomization of whole sentences.

    Parameters
    ----------
    one, other : Evaluation
        Of the same gold sentences, in the same order.
    samples : int
        How often the two outputs are exchanged at random.
    seed : int
        Of the random numbers.

    Returns
    -------
    dict
        For ``uas`` and ``las``, without punctuation: the ``difference`` (one minus other) and its two-sided ``p``; None
        without labels.

    Raises
    ------
    ValueError
        The sentences are not the same.

    Examples
    --------
    >>> from nonproj.evaluation.scores import evaluate
    >>> from nonproj.types import Sentence
    >>> gold = Sentence([["1", "Regn", "_", "_", "_", "_", "0", "ROOT", "_", "_"]], np.array([-1, 0]))
    >>> compare(evaluate([gold], [gold]), evaluate([gold], [gold]))["uas"]
    {'difference': 0.0, 'p': 1.0}
    """
    first, second = one.words(), other.words()
    if not (np.array_equal(first["sentence"], second["sentence"]) and np.array_equal(first["gold"], second["gold"])):
        raise ValueError("the two evaluations are not of the same gold sentences")
    counted, result = ~first["punctuation"], {}
    for name in ("uas", "las"):
        flags = [words["right"] for words in (first, second)]
        if name == "las":
            if first["label_right"] is None or second["label_right"] is None:
                result[name] = None
                continue
            flags = [words["right"] & words["label_right"] for words in (first, second)]
        gain = (flags[0].astype(np.int64) - flags[1]) * counted
        gains = np.bincount(first["sentence"], weights=gain, minlength=len(one))
        generator = np.random.default_rng(seed)
        flips = (generator.integers(0, 2, len(gains)) * 2 - 1 for _ in range(samples))
        extreme = sum(abs(flip @ gains) >= abs(gains.sum()) for flip in flips)
        difference = float(gains.sum() / max(counted.sum(), 1))
        result[name] = {"difference": difference, "p": float((extreme + 1) / (samples + 1))}
    return result
