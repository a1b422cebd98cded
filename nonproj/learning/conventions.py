"""Sentences of related treebanks in the conventions of a treebank.

Treebanks of one language differ in which features a word has, in XPOS and in subtypes of labels.  Systematic
differences are found by a tagger of the treebank: a tag of a related treebank is changed where, for most words with
it, the tagger predicts a feature that the tag lacks, or no value of an attribute that the tag has.  A value that also
occurs in the treebank is kept, because people have annotated it, and the tagger guesses.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter

from nonproj.io.columns import DEPREL, FEATS, HEAD, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.learning.hyperparameters import AUXILIARY
from nonproj.tagging.tagset import features_of
from nonproj.types import Sentence

Tag = tuple[str, str, str]
"""UPOS, XPOS and FEATS."""

UNTAGGED: Tag = ("_", "_", "_")
"""The tags of untagged words, which are not translated: a tagger of the treebank will predict them."""

_TAG = itemgetter(UPOS, XPOS, FEATS)

log = logging.getLogger("nonproj")


class TagConventions:
    """The tags of a treebank, into which those of related treebanks are translated.

    Parameters
    ----------
    tags : Counter of tags
        Number of words with each tag.

    Examples
    --------
    >>> known = Counter({("VERB", "V", "Mood=Imp|Voice=Act"): 1, ("VERB", "V", "Mood=Ind|Voice=Act"): 1})
    >>> votes = Counter({("VERB", "V", "Mood=Imp|Voice=Act"): 9, ("NOUN", "N", "_"): 2})
    >>> TagConventions(known).translated(("VERB", "_", "Aspect=Perf|Mood=Ind"), votes)
    ('VERB', 'V', 'Mood=Ind|Voice=Act')
    """

    def __init__(self, tags: Counter[Tag]):
        self.features: dict[str, set[str]] = defaultdict(set)
        self.xpos: dict[str, Counter[str]] = defaultdict(Counter)
        self.written: dict[frozenset[str], str] = {}
        for (upos, xpos, feats), count in tags.items():
            self.features[upos].update(features_of(feats))
            self.xpos[upos][xpos] += count
            self.written[frozenset(features_of(feats))] = feats

    def translated(self, tag: Tag, votes: Counter[Tag]) -> Tag:
        """Return a tag of a related treebank in the conventions of the treebank.

        ``votes`` counts the words with this tag by the tags that a tagger of the treebank gives them.
        """
        upos, own = tag[0], by_attribute(tag[2])
        if tag == UNTAGGED:
            return tag
        if upos not in self.xpos:
            return votes.most_common(1)[0][0]
        same = Counter({other: count for other, count in votes.items() if other[0] == upos})
        values: dict[str, Counter[str]] = defaultdict(Counter)
        for other, count in same.items():
            for name, feature in by_attribute(other[2]).items():
                values[name][feature] += count
        found = []
        for name in sorted({*own, *values}, key=str.lower):
            feature, count = own.get(name, ""), values[name].total() + AUXILIARY.tag_prior
            if feature not in self.features[upos]:
                feature, count = next(iter(values[name].most_common(1)), ("", 0))
            if 2 * count > same.total() + AUXILIARY.tag_prior:
                found.append(feature)
        feats = self.written.get(frozenset(found)) or "|".join(found) or "_"
        alike: Counter[str] = Counter()
        for other, count in same.items():
            alike[other[1]] += count if other[2] == feats else 0
        return upos, (+alike or self.xpos[upos]).most_common(1)[0][0], feats


def by_attribute(feats: str) -> dict[str, str]:
    """Return the features in a column FEATS by their attributes.

    Examples
    --------
    >>> by_attribute("Case=Nom|Number=Sing"), by_attribute("sg|def"), by_attribute("_")
    ({'Case': 'Case=Nom', 'Number': 'Number=Sing'}, {'sg': 'sg', 'def': 'def'}, {})
    """
    return {feature.partition("=")[0]: feature for feature in features_of(feats)}


def with_conventions(
    related: Sequence[Sentence], predicted: Sequence[list[list[str]]], sentences: Sequence[Sentence]
) -> list[Sentence]:
    """Return sentences of related treebanks with tags in the conventions of a treebank.

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
    known = TagConventions(Counter(_TAG(row) for sentence in sentences for row in sentence.rows))
    tags = {tag: known.translated(tag, others) for tag, others in votes.items()}
    changed = sum(others.total() for tag, others in votes.items() if tags[tag] != tag)
    log.info("tags of %d of %d words of related treebanks changed", changed, sum(map(len, related)))
    return [with_rows(s, [[*row[:UPOS], *tags[_TAG(row)], *row[FEATS + 1 :]] for row in s.rows]) for s in related]


def with_known_labels(related: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return sentences of related treebanks whose labels are those of a treebank.

    A label that the treebank lacks becomes the one without a subtype, the most frequent one with another subtype, or
    else the most frequent one of words with the same UPOS, below the root or below words.  ``_``, for none, stays.
    """
    words = [(row, label) for s in sentences for row, label in zip(s.rows, s.labels, strict=True) if label != "_"]
    labels = {label for _, label in words} or {"_"}
    usual: dict[object, Counter[str]] = defaultdict(Counter)
    for row, label in words or [(["_"] * 10, "_")]:
        for kind in (*_kinds(row), _base(label)):
            usual[kind][label] += 1

    def known(row: list[str]) -> str:
        """Return the label of a word, or the known label that replaces it."""
        label, base = row[DEPREL], _base(row[DEPREL])
        if label in labels or label == "_":
            return label
        if base in labels:
            return base
        kind = next((kind for kind in (base, *_kinds(row)) if kind in usual), None)
        return (usual[kind] if kind else sum(usual.values(), Counter[str]())).most_common(1)[0][0]

    return [
        dataclasses.replace(s, rows=[[*row[:DEPREL], known(row), *row[DEPREL + 1 :]] for row in s.rows])
        for s in related
    ]


def _base(label: str) -> str:
    """Return a label without its subtype."""
    return label.partition(":")[0]


def _kinds(row: list[str]) -> Iterable[object]:
    """Return keys for choosing the label of a word, narrow ones first: UPOS and whether it is a root; the latter."""
    of_root = row[HEAD] == "0"
    return (row[UPOS], of_root), of_root
