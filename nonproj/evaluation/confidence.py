"""Confidence in files: attributes of MISC, and heads and labels that are omitted because their confidence is low."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.io.copies import with_misc
from nonproj.types import Sentence

if TYPE_CHECKING:
    from nonproj.pipeline.parses import Parse

HEAD, LABELLED = "Confidence", "LabelledConfidence"
"""Attributes of MISC: the probability that the head is correct, and that head and label are."""


class ConfidenceOutput(NamedTuple):
    """Options for writing confidence.

    Attributes
    ----------
    write : bool
        Whether to write the probabilities into MISC.
    minimum : float
        A head with a lower probability is omitted, and so is a label if head and label are jointly less probable; 0
        omits none.
    """

    write: bool = False
    minimum: float = 0.0


NO_CONFIDENCE = ConfidenceOutput()


def with_confidence(
    sentence: Sentence, parse: Parse, output: ConfidenceOutput
) -> tuple[Sentence, np.ndarray, list[str]]:
    """Return a sentence, heads and labels as written to the file; omitted heads are -1, omitted labels ``_``.

    Examples
    --------
    >>> from nonproj.confidence.classifier import Confidence
    >>> from nonproj.io.objects import from_words
    >>> from nonproj.pipeline.parses import Parse
    >>> from nonproj.types import Decoded
    >>> decoded = Decoded(np.array([-1, 2, 0]), 0.0, 0.0, True, True, 1, 1.0)
    >>> sure = Confidence(np.array([0.4, 0.97]), np.array([0.3, 0.9]), 0.35)
    >>> parse, sentence = Parse(decoded, ["subj", "root"], None, confidence=sure), from_words(["Det", "regner"])
    >>> sentence, heads, labels = with_confidence(sentence, parse, ConfidenceOutput(True, 0.5))
    >>> sentence.rows[1][9], heads.tolist(), labels
    ('Confidence=0.97|LabelledConfidence=0.9', [-1, 0], ['_', 'root'])
    """
    heads, labels, sure = parse.decoded.heads, list(parse.labels), parse.confidence
    if sure is None or output == NO_CONFIDENCE:
        return sentence, heads, labels
    if output.minimum:
        heads = np.where(sure.heads < output.minimum, -1, heads)
        labels = ["_" if p < output.minimum else label for p, label in zip(sure.labels, labels, strict=True)]
    if output.write:
        pairs = zip(sure.heads.tolist(), sure.labels.tolist(), strict=True)
        sentence = with_misc(sentence, [{HEAD: _rounded(head), LABELLED: _rounded(label)} for head, label in pairs])
    return sentence, heads, labels


def confidence_figures(parse: Parse) -> dict[str, list[float]]:
    """Return the probabilities of the words as Python floats, rounded to four digits; empty without confidence."""
    if parse.confidence is None:
        return {}
    pairs = (("head_confidence", parse.confidence.heads), ("label_confidence", parse.confidence.labels))
    return {name: [round(p, 4) for p in values.tolist()] for name, values in pairs}


def _rounded(p: float) -> str:
    """Return a probability with two decimals; above 0.99 with four, and never as 1."""
    digits = 2 if p <= 0.99 else 4
    return f"{min(round(p, digits), 0.9999):.4g}"
