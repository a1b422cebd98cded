"""The columns of CoNLL files, and those that a treebank fills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nonproj.types import Sentence

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
"""The columns; UPOS, XPOS, DEPS and MISC are CPOSTAG, POSTAG, PHEAD and PDEPREL in CoNLL-X."""

MISTAKES = 0.002
"""Share of words or sentences below which a property, such as having lemmas, counts as a mistake."""


def filled_columns(sentences: Iterable[Sentence]) -> list[int]:
    """Return the columns among LEMMA to FEATS with values for at least the share `MISTAKES` of the words.

    Examples
    --------
    >>> rows = [["1", "Hunde", "_", "N", *"______"]] * 999 + [["1", "Hunde", "hund", "N", *"______"]]
    >>> filled_columns([Sentence(rows)])
    [3]
    """
    words, counts = 0, Counter[int]()
    for sentence in sentences:
        words += len(sentence)
        counts.update(column for row in sentence.rows for column in range(LEMMA, FEATS + 1) if row[column] != "_")
    return sorted(column for column, count in counts.items() if count >= MISTAKES * words)
