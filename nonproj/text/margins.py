"""How sure a segmenter is of the words and sentences that it has found, as evidence for confidence.

Where a treebank has raw text, all decisions are those of logistic models, so their scores are log-odds.  Rules know no
doubt about tokens: a treebank without raw text cannot tell them when they are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nonproj.types import Sentence

CERTAIN = 1e6
"""In the place of larger scores, and where nothing was to be decided."""


def add_margins(
    sentences: Sequence[Sentence],
    tokens: np.ndarray,
    scores: np.ndarray,
    words: Mapping[int, Sequence[str]],
    ends: Sequence[int],
) -> None:
    """Set `nonproj.types.Sentence.margins` of the sentences of a text.

    Parameters
    ----------
    sentences : sequence of Sentence
    tokens : ndarray of shape (T,), float32
        How sure each token is.
    scores : ndarray of shape (T,), float32
        Of a sentence end after each token.
    words : mapping of int to sequence of str
        The words of multiword tokens, by index.
    ends : sequence of int
        For each sentence the number of tokens up to its end.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> sentences = [from_words(["Det", "regner"]), from_words(["Hvor"])]
    >>> numbers = np.array([8, 0.5, 8], np.float32), np.array([-9, 3, np.inf], np.float32)
    >>> add_margins(sentences, *numbers, {}, [2, 3])
    >>> sentences[0].margins.tolist(), sentences[1].margins.tolist()
    ([[1000000.0, 1000000.0], [8.0, -9.0], [0.5, 3.0]], [[1000000.0, 3.0], [8.0, 1000000.0]])
    """
    sizes = np.ones(len(tokens), np.int64)
    for token, own in words.items():
        sizes[token] = len(own)
    last = np.cumsum(sizes) - 1
    table = np.full((int(sizes.sum()) + 1, 2), -CERTAIN, np.float32)  # no sentence ends inside a token
    table[1:, 0] = np.minimum(np.repeat(tokens, sizes), CERTAIN)
    table[1 + last, 1] = np.clip(scores, -CERTAIN, CERTAIN)
    table[0] = CERTAIN
    first = 0
    for sentence, end in zip(sentences, ends, strict=True):
        rows = table[first : last[end - 1] + 2].copy()
        rows[0, 0] = CERTAIN
        sentence.margins = rows
        first = int(last[end - 1]) + 1
