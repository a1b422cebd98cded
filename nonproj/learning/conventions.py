"""Sentences of related treebanks in the conventions of a treebank.

Treebanks of one language differ in which features a word has, in XPOS and in subtypes of labels.  What differs
systematically is found by a tagger of the treebank: where it gives most words with the same tag of a related treebank
the same feature, which they lack there, or does not give them an attribute that they have, the tag is changed.  A
value that both treebanks have stays, because the related treebank was annotated by people, and the tagger guesses.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from operator import itemgetter

from nonproj.io.conll import DEPREL, FEATS, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.tagging.tagset import features_of
from nonproj.types import Sentence

PRIOR = 2
"""Number of words for which the related treebank itself counts when it is asked whether they have a feature."""

Tag = tuple[str, str, str]
"""UPOS, XPOS and FEATS."""

UNTAGGED: Tag = ("_", "_", "_")
"""Stays as it is: the tagger of the model will predict these tags."""

_TAG = itemgetter(UPOS, XPOS, FEATS)

log = logging.getLogger("nonproj")


def with_conventions(
    related: Sequence[Sentence], predicted: Sequence[list[list[str]]], sentences: Sequence[Sentence]
) -> list[Sentence]:
    """Return sentences of related treebanks with tags as a treebank has them.

    Parameters
    ----------
    related : sequence of Sentence
    predicted : sequence of lists of rows
        The rows of these sentences with the tags that a tagger of the treebank gives them.
    sentences : sequence of Sentence
        The treebank.
    """
    votes: dict[Tag, Counter[Tag]] = defaultdict(Counter)
    for sentence, rows in zip(related, predicted, strict=True):
        for row, other in zip(sentence.rows, rows, strict=True):
            votes[_TAG(row)][_TAG(other)] += 1
    known = {_TAG(row) for sentence in sentences for row in sentence.rows}
    tags = {tag: translated(tag, others, known) for tag, others in votes.items()}
    changed = sum(others.total() for tag, others in votes.items() if tags[tag] != tag)
    log.info("tags of %d of %d words of related treebanks changed", changed, sum(map(len, related)))
    return [with_rows(s, [[*row[:UPOS], *tags[_TAG(row)], *row[FEATS + 1 :]] for row in s.rows]) for s in related]


def translated(tag: Tag, votes: Counter[Tag], known: set[Tag]) -> Tag:
    """Return a tag of related treebanks as a treebank would have it.

    Parameters
    ----------
    tag : tuple
        UPOS, XPOS and FEATS.
    votes : Counter of tags
        How often a tagger of the treebank gives words with this tag each of its own.
    known : set of tags
        Those of the treebank.

    Examples
    --------
    >>> votes = Counter({("VERB", "V", "Mood=Imp|Voice=Act"): 9, ("NOUN", "N", "_"): 2})
    >>> known = {*votes, ("VERB", "V", "Mood=Ind|Voice=Act")}
    >>> translated(("VERB", "_", "Aspect=Perf|Mood=Ind"), votes, known)
    ('VERB', 'V', 'Mood=Ind|Voice=Act')
    """
    upos, own = tag[0], attributes(tag[2])
    same = Counter({other: count for other, count in votes.items() if other[0] == upos})
    if tag == UNTAGGED:
        return tag
    if all(each[0] != upos for each in known):
        return votes.most_common(1)[0][0]
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for other, count in same.items():
        for name, value in attributes(other[2]).items():
            values[name][value] += count
    features = {feature for each in known for feature in features_of(each[2])}
    found = []
    for name in sorted({*own, *values}, key=str.lower):
        feature, count = f"{name}={own.get(name)}", values[name].total() + PRIOR
        if feature not in features:
            value, count = max(values[name].most_common(1), default=("", 0))
            feature = f"{name}={value}"
        if 2 * count > same.total() + PRIOR:
            found.append(feature)
    feats = "|".join(found) or "_"
    alike = Counter({other: count for other, count in same.items() if other[2] == feats}) or same or votes
    return upos, alike.most_common(1)[0][0][1], feats


def attributes(feats: str) -> dict[str, str]:
    """Return the values of the attributes in a column FEATS.

    Examples
    --------
    >>> attributes("Case=Nom|Number=Sing"), attributes("_")
    ({'Case': 'Nom', 'Number': 'Sing'}, {})
    """
    return dict(feature.partition("=")[::2] for feature in features_of(feats))


def with_known_labels(related: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return sentences of related treebanks whose labels are those of a treebank.

    A label that the treebank lacks loses its subtype, or else becomes the most frequent one of words with this UPOS.
    """
    labels = {row[DEPREL] for sentence in sentences for row in sentence.rows}
    usual: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for row in sentence.rows:
            usual[row[UPOS]][row[DEPREL]] += 1
    of_all = sum(usual.values(), Counter[str]())

    def known(row: list[str]) -> list[str]:
        """Return the columns of a word with a known label."""
        base = row[DEPREL].partition(":")[0]
        if row[DEPREL] in labels:
            return row
        label = base if base in labels else (usual.get(row[UPOS]) or of_all).most_common(1)[0][0]
        return [*row[:DEPREL], label, *row[DEPREL + 1 :]]

    return [dataclasses.replace(sentence, rows=[known(row) for row in sentence.rows]) for sentence in related]
