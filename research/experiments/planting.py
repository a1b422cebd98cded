"""Planted errors: annotation of a treebank changed at random words, so that it is known where the errors are.

The changes are plausible, and no model is asked for them:

- *heads*: to the head's head, or to the nearest sibling on either side; a head with this UPOS has this label in at
  least one per cent of the label's occurrences
- *labels*: to another label that words of this UPOS have under such heads on the same side, drawn by frequency
- *tags*: UPOS, XPOS and FEATS together, to those that the form has elsewhere, with another UPOS, drawn by frequency
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io.columns import DEPREL, FEATS, HEAD, UPOS
from nonproj.types import Sentence

KINDS = ("head", "label", "tag")
"""The kinds of planted errors."""

RARE = 0.01
"""A label is plausible if at least this share of comparable words has it."""


class Planted(NamedTuple):
    """A planted error: its kind, its place (sentence from 0, word from 1), and the annotation before and after."""

    kind: str
    sentence: int
    word: int
    before: str
    after: str


class Usage:
    """Statistics of a treebank: labels under heads, labels of pairs of tags, and tags of forms.

    Parameters
    ----------
    sentences : sequence of Sentence
    """

    def __init__(self, sentences: Sequence[Sentence]):
        self.heads: dict[str, Counter[str]] = defaultdict(Counter)
        self.labels: dict[tuple[str, str, bool], Counter[str]] = defaultdict(Counter)
        self.tags: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for sentence in sentences:
            for m, row in enumerate(sentence.rows, 1):
                self.heads[row[DEPREL]][upos_of(sentence, head_of(sentence, m))] += 1
                self.labels[context(sentence, m)][row[DEPREL]] += 1
                self.tags[row[1].lower()][tuple(row[UPOS : FEATS + 1])] += 1

    def new_heads(self, sentence: Sentence, m: int) -> list[tuple[int, int]]:
        """Return plausible wrong heads of a word, each with a weight of 1."""
        head, label = head_of(sentence, m), sentence.rows[m - 1][DEPREL]
        if head == 0:
            return []
        siblings = [i for i in range(1, len(sentence) + 1) if i != m and head_of(sentence, i) == head]
        near = [max((i for i in siblings if i < m), default=0), min((i for i in siblings if i > m), default=0)]
        counts = self.heads[label]
        least = RARE * sum(counts.values())
        found = {h for h in (head_of(sentence, head), *near) if h}
        return [(h, 1) for h in sorted(found) if counts[upos_of(sentence, h)] >= least]

    def new_labels(self, sentence: Sentence, m: int) -> list[tuple[str, int]]:
        """Return plausible wrong labels of a word, and their frequencies."""
        if head_of(sentence, m) == 0:
            return []
        counts, own = self.labels[context(sentence, m)], sentence.rows[m - 1][DEPREL]
        least = RARE * sum(counts.values())
        return [(label, n) for label, n in sorted(counts.items()) if n >= least and label not in (own, "root")]

    def new_tags(self, sentence: Sentence, m: int) -> list[tuple[tuple[str, ...], int]]:
        """Return other tags of a word's form, and their frequencies."""
        row = sentence.rows[m - 1]
        return [(tag, n) for tag, n in sorted(self.tags[row[1].lower()].items()) if tag[0] != row[UPOS]]


def head_of(sentence: Sentence, m: int) -> int:
    """Return the head of a word."""
    return int(sentence.rows[m - 1][HEAD])


def upos_of(sentence: Sentence, word: int) -> str:
    """Return the UPOS of a word; that of the root is empty."""
    return sentence.rows[word - 1][UPOS] if word else ""


def context(sentence: Sentence, m: int) -> tuple[str, str, bool]:
    """Return the UPOS of a word and of its head, and whether the head is on its right."""
    head = head_of(sentence, m)
    return upos_of(sentence, m), upos_of(sentence, head), head > m


def plant(
    sentences: Sequence[Sentence], usage: Usage, share: float, seed: int
) -> tuple[list[list[list[str]]], list[Planted]]:
    """Return the rows of all words with planted errors, and where these are; no word has two.

    ``share`` is that of the words that get an error of each kind, as far as there are enough that can have one.
    """
    rng = np.random.default_rng(seed)
    rows = [[row.copy() for row in sentence.rows] for sentence in sentences]
    places = [(i, m) for i, sentence in enumerate(sentences) for m in range(1, len(sentence) + 1)]
    count, used, planted = round(share * len(places)), set(), []
    choices = {"head": usage.new_heads, "label": usage.new_labels, "tag": usage.new_tags}
    for kind in KINDS:
        left = count
        for place in rng.permutation(len(places)).tolist():
            i, m = places[place]
            options = choices[kind](sentences[i], m) if left and (i, m) not in used else []
            if kind == "head" and any(each[:2] == ("head", i) for each in planted):
                options = []  # two new heads could form a cycle
            if not options:
                continue
            weights = np.array([weight for _, weight in options], float)
            chosen = options[rng.choice(len(options), p=weights / weights.sum())][0]
            columns = {"head": [HEAD], "label": [DEPREL], "tag": list(range(UPOS, FEATS + 1))}[kind]
            values = chosen if isinstance(chosen, tuple) else (str(chosen),)
            before = [rows[i][m - 1][column] for column in columns]
            for column, value in zip(columns, values, strict=True):
                rows[i][m - 1][column] = value
            planted.append(Planted(kind, i, m, before[0], values[0]))
            used.add((i, m))
            left -= 1
    return rows, planted
