"""Uncertain sentences of a text, and the choice between them by their trees.

The segmenter gives spans of tokens a probability of being a sentence.  Where spans with a probability of at least
`LEAST` overlap, each is parsed: the log-probability of a sequence of sentences is increased by `WEIGHT` times the sum
of their trees' scores.  Sums over all sequences give each span its new probability, and the sentences are those with
the largest sum of probabilities, less a cost for each, as without trees (`nonproj.text.sentences`).  Both steps are
exact over these spans, by dynamic programs over their ends (semi-Markov models).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from nonproj.io.objects import from_words
from nonproj.types import Float32s, Float64s, Int64s, Sentence

COST = 0.1
"""Cost of each sentence that is chosen, on the scale of probabilities."""

LEAST = 0.05
"""Minimum probability of an alternative.

On development text, each word of Gothic is then parsed 3.7 times and each of Uyghur 2.3 times; with 0.02, it would be
9.4 and 3.2 times, for 0.3 LAS more on Gothic.
"""

WEIGHT = 0.001
"""Weight of a tree's score relative to log-probabilities, chosen on development files: Gothic, Uyghur and Greek."""


class Alternatives(NamedTuple):
    """The ``S`` spans of tokens that may be sentences, sorted by their ends.

    Attributes
    ----------
    begin, end : ndarray of shape (S,), int64
        The first token, and the one behind the last.
    log_probability : ndarray of shape (S,), float64
        Log-probability of the end, given that a sentence begins there.
    """

    begin: Int64s
    end: Int64s
    log_probability: Float64s

    def chosen(self, which: Int64s) -> Alternatives:
        """Return the alternatives with these numbers."""
        return Alternatives(self.begin[which], self.end[which], self.log_probability[which])


def undecided(found: Alternatives) -> list[Int64s]:
    """Return the numbers of overlapping alternatives, int64[K], for each part of the text that has some.

    No alternative crosses the bounds of a part.

    Examples
    --------
    >>> found = Alternatives(np.array([0, 2, 3, 2]), np.array([2, 3, 5, 5]), np.zeros(4))
    >>> [part.tolist() for part in undecided(found)]
    [[1, 2, 3]]
    """
    crossed = np.zeros(int(found.end.max(initial=0)) + 2, np.int64)
    np.add.at(crossed, found.begin + 1, 1)
    np.add.at(crossed, found.end, -1)
    free = np.cumsum(crossed) == 0
    part = np.cumsum(free)[found.begin]
    order = np.argsort(part, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    return [numbers for numbers in parts if len(numbers) > 1]


def probabilities(found: Alternatives, weights: Float64s) -> Float64s | None:
    """Return the probability of each alternative of a part, float64[S], by a forward and a backward pass.

    Parameters
    ----------
    found : Alternatives
    weights : ndarray of shape (S,), float64
        Values added to their log-probabilities; minus infinity excludes one.

    Returns
    -------
    ndarray, or None
        None if no sequence of alternatives covers the part.

    Examples
    --------
    >>> found = Alternatives(np.array([0, 1, 0]), np.array([1, 2, 2]), np.log([0.5, 1.0, 0.5]))
    >>> probabilities(found, np.log([1.0, 1.0, 3.0])).round(3).tolist()
    [0.25, 0.25, 0.75]
    """
    total = found.log_probability + weights
    first, last = int(found.begin.min()), int(found.end.max())
    before, behind = np.full(last - first + 1, -np.inf), np.full(last - first + 1, -np.inf)
    before[0] = behind[-1] = 0.0
    begin, end = found.begin - first, found.end - first
    for k in np.argsort(end, kind="stable"):
        before[end[k]] = np.logaddexp(before[end[k]], before[begin[k]] + total[k])
    for k in np.argsort(-begin, kind="stable"):
        behind[begin[k]] = np.logaddexp(behind[begin[k]], behind[end[k]] + total[k])
    if before[-1] == -np.inf:
        return None
    return np.exp(before[begin] + total + behind[end] - before[-1])


def best_ends(found: Alternatives, values: Float64s) -> list[int]:
    """Return the ends, ascending, of the sequence of alternatives that covers a part with the largest sum of values.

    Examples
    --------
    >>> found = Alternatives(np.array([0, 1, 0]), np.array([1, 2, 2]), np.zeros(3))
    >>> best_ends(found, np.array([1.0, 2.0, 2.5]))
    [1, 2]
    """
    first, last = int(found.begin.min()), int(found.end.max())
    best, begin = {first: 0.0}, dict[int, int]()
    for k in np.argsort(found.end, kind="stable"):
        b, e = int(found.begin[k]), int(found.end[k])
        value = best.get(b, -np.inf) + values[k]
        if value > best.get(e, -np.inf):
            best[e], begin[e] = value, b
    ends = [last]
    while begin[ends[-1]] != first:
        ends.append(begin[ends[-1]])
    return ends[::-1]


def decide_by_trees(
    scores: Float32s,
    found: Alternatives,
    words: Sequence[Sequence[str]],
    limit: int,
    tree_scores: Callable[[Iterable[Sentence]], Float64s],
) -> None:
    """Decide between the alternatives of a text by their trees.

    Parameters
    ----------
    scores : ndarray of shape (T,), float32
        Scores of a sentence end after each token: above 0 where a sentence ends.  Changed where alternatives overlap.
    found : Alternatives
    words : sequence of T sequences of str
        The words of each token.
    limit : int
        Maximum number of words of an alternative; longer ones are excluded.
    tree_scores : callable
        Returns the score of the best tree of each sentence, float64; minus infinity where there is none.
    """
    parts = undecided(found)
    if not parts:
        return
    size = np.cumsum([0, *map(len, words)])
    chosen = np.concatenate(parts)
    chosen = chosen[size[found.end[chosen]] - size[found.begin[chosen]] <= limit]
    places = zip(found.begin[chosen].tolist(), found.end[chosen].tolist(), strict=True)
    trees = np.full(len(found.begin), -np.inf)
    trees[chosen] = tree_scores(from_words([*chain.from_iterable(words[begin:end])]) for begin, end in places)
    for part in parts:
        decide(scores, found.chosen(part), trees[part])


def decide(scores: Float32s, found: Alternatives, trees: Float64s) -> None:
    """Write the log-odds of sentence ends inside a part, with the sign of the decision, given the scores of trees.

    Nothing changes where no sequence of alternatives with trees covers the part.

    Parameters
    ----------
    scores : ndarray of shape (T,), float32
        Scores of a sentence end after each token.
    found : Alternatives
        Alternatives of the part.
    trees : ndarray of shape (S,), float64
        The score of the best tree of each; minus infinity where there is none.
    """
    share = probabilities(found, WEIGHT * trees)
    if share is None:
        return
    first, last = int(found.begin.min()), int(found.end.max())
    ended = np.zeros(last - first + 1)
    np.add.at(ended, found.end - first, share)
    ended = np.clip(ended[1:-1], 1e-9, 1.0 - 1e-9)
    odds = np.log(ended / (1.0 - ended))
    ends = np.zeros(last - first + 1, np.bool_)
    ends[np.array(best_ends(found, np.where(trees > -np.inf, share - COST, -np.inf))) - first] = True
    inside = ends[1:-1]
    scores[first : last - 1] = np.where(inside, np.maximum(odds, 1e-3), np.minimum(odds, -1e-3))
