"""The morphological features that are most informative about syntax: the attribute ``morph``.

FEATS of a treebank mixes features that decide how a word is attached, such as case, with features of its meaning, such
as animacy.  All of them together are too many strings to learn from.  So ``morph`` is the tag with the features that
inform most about the label of a word of this tag: their mutual information with the label, given the tag, is large per
occurrence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from nonproj.types import Sentence

MINIMUM = 0.25
"""Minimum mutual information of a feature and the label, given the tag, per word with the feature, in nats."""

TOTAL = 0.001
"""Minimum mutual information per word of the treebank, in nats: rare features look informative by chance."""


def informative(sentences: Iterable[Sentence], coarse: bool = False) -> frozenset[str]:
    """Return the features that ``morph`` keeps, such as ``Case=Nom``.

    Parameters
    ----------
    sentences : iterable of Sentence
        With gold labels; where all labels are the same no feature is informative.
    coarse : bool
        The tag is CPOSTAG (UPOS), not POSTAG (XPOS).

    Examples
    --------
    >>> words = ("Case=Nom|Anim", "subj"), ("Case=Acc|Anim", "obj")
    >>> rows = [["1", "x", "_", "N", "_", feats, "_", label, "_", "_"] for feats, label in words]
    >>> sorted(informative([Sentence(rows)]))
    ['Case=Acc', 'Case=Nom']
    """
    cells: Counter[tuple[str, str, str]] = Counter()  # by tag, features and label
    for sentence in sentences:
        cells.update((row[3] if coarse or row[4] == "_" else row[4], row[5], row[7]) for row in sentence.rows)
    by_label: Counter[tuple[str, str]] = Counter()
    by_tag: Counter[str] = Counter()
    having: dict[str, Counter[tuple[str, str]]] = {}
    for (tag, feats, label), count in cells.items():
        by_label[tag, label] += count
        by_tag[tag] += count
        for feature in set(feats.split("|")) - {"", "_"}:
            having.setdefault(feature, Counter())[tag, label] += count
    return frozenset(
        feature
        for feature, counts in having.items()
        if _information(counts, by_label, by_tag) >= max(MINIMUM * counts.total(), TOTAL * by_tag.total())
    )


def _information(having: Counter[tuple[str, str]], by_label: Counter[tuple[str, str]], by_tag: Counter[str]) -> float:
    """Return the mutual information of a feature and the label, given the tag, times the number of words, in nats.

    ``having[tag, label]`` counts the words with the feature, the other two all words.
    """
    tags: Counter[str] = Counter()
    for (tag, _), count in having.items():
        tags[tag] += count
    total = 0.0
    for (tag, label), count in by_label.items():
        if tag in tags:
            for part, whole in ((having[tag, label], tags[tag]), (count - having[tag, label], by_tag[tag] - tags[tag])):
                if part:
                    total += part * log(part * by_tag[tag] / (whole * count))
    return total


def reduce(tag: str, kept: frozenset[str]) -> str:
    r"""Return a tag, a tab and FEATS without the features that are not kept.

    Examples
    --------
    >>> reduce("N\tCase=Nom|Anim", frozenset(["Case=Nom"]))
    'N\tCase=Nom'
    """
    tag, _, feats = tag.partition("\t")
    return f"{tag}\t{'|'.join(feature for feature in feats.split('|') if feature in kept)}"


def reduced(counts: Counter[str], kept: frozenset[str]) -> Counter[str]:
    """Return the counts of tags with the kept features only."""
    result: Counter[str] = Counter()
    for tag, count in counts.items():
        result[reduce(tag, kept)] += count
    return result


def features_in(vocabulary: Sequence[str]) -> frozenset[str]:
    """Return the features that occur in the strings of a vocabulary that `reduced` made."""
    return frozenset(feature for tag in vocabulary for feature in tag.partition("\t")[2].split("|")) - {""}
