"""BLEU of tokens (Papineni et al. 2002), for tuning; figures to publish come from ``sacrebleu``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

ORDER = 4


def bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the BLEU score of a corpus with one reference, from 0 to 100, without smoothing.

    Examples
    --------
    >>> round(bleu([["a", "b", "c", "d", "e"]], [["a", "b", "c", "d", "f"]]), 2)
    66.87
    """
    matches, totals = [0] * ORDER, [0] * ORDER
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(ORDER):
            ours = Counter(zip(*(hypothesis[k:] for k in range(n + 1)), strict=False))
            theirs = Counter(zip(*(reference[k:] for k in range(n + 1)), strict=False))
            matches[n] += (ours & theirs).total()
            totals[n] += ours.total()
    if not all(matches):
        return 0.0
    lengths = sum(map(len, hypotheses)), sum(map(len, references))
    brevity = min(0.0, 1.0 - lengths[1] / lengths[0])
    precision = sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / ORDER
    return 100.0 * math.exp(brevity + precision)
