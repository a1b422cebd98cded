"""The sentences of a report: words, trees, certificates and confidence, from files or from a model."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.errors import ConfigError, DataError, counted
from nonproj.evaluation.alignment import gold_on_words
from nonproj.evaluation.certificates import statistics
from nonproj.evaluation.scores import paired
from nonproj.io.conll import comments_of, has_tree
from nonproj.io.graphs import read_graph
from nonproj.pictures.content import Picture, confidence_of, heads_of, partial_heads, picture_of
from nonproj.types import Sentence

if TYPE_CHECKING:
    from nonproj.pipeline.parses import Parse

_PREFIX = "nonproj "

log = logging.getLogger("nonproj")


class ReportItem(NamedTuple):
    """A sentence of a report.

    Attributes
    ----------
    number : int
        Position in the file, from 1.
    sentence : Sentence
        Its words and tags.
    heads : ndarray of shape (n,), int32
        A word without a head has -1.
    labels : list of str
    confidence : list of float, or None
        The probability that each head is correct.
    statistics : dict
        The certificate, as from `nonproj.evaluation.certificates.statistics`; possibly empty.
    gold, other : Sentence or None
        Sentence with the gold tree, and with the tree of another parser.
    """

    number: int
    sentence: Sentence
    heads: np.ndarray
    labels: list[str]
    confidence: list[float] | None
    statistics: dict[str, Any]
    gold: Sentence | None = None
    other: Sentence | None = None

    @property
    def name(self) -> str:
        """The comment ``sent_id``, or an empty string."""
        return comment(self.sentence, "sent_id")

    def picture(self) -> Picture:
        """Return the picture of the tree, compared with the gold tree, the other parser's or the file's graph."""
        graph = read_graph(self.sentence) if has_tree(self.sentence, self.heads, self.labels) else None
        return picture_of(self.sentence, self.heads, self.labels, self.gold or self.other, self.confidence, graph)


def comment(sentence: Sentence, name: str) -> str:
    """Return the value of a comment of CoNLL-U, or an empty string.

    Examples
    --------
    >>> comment(Sentence([], lines=["# sent_id = a1\\n", "# text = Det regner\\n"]), "text")
    'Det regner'
    """
    return next((value for key, value in comments_of(sentence) if key == name), "")


def read_statistics(sentence: Sentence) -> dict[str, Any]:
    """Return the numbers in the comments written by ``nonproj parse --stats-comments``.

    Examples
    --------
    >>> read_statistics(Sentence([], lines=["# nonproj certified = true\\n", "# nonproj gap = 0.5\\n"]))
    {'certified': True, 'gap': 0.5}
    """
    found = {}
    for name, value in comments_of(sentence):
        if name.startswith(_PREFIX):
            with contextlib.suppress(ValueError):
                number = json.loads(value)
                if isinstance(number, bool | int | float) and math.isfinite(number):
                    found[name.removeprefix(_PREFIX)] = number
    return found


def from_files(sentences: Iterable[Sentence]) -> Iterator[ReportItem]:
    """Yield the items of a parsed file, in which words may lack heads; raise `DataError` if all words do."""
    items = (
        ReportItem(number, each, partial_heads(each), each.labels, confidence_of(each), read_statistics(each))
        for number, each in enumerate(sentences, 1)
    )
    first: list[ReportItem] = []
    for item in items:
        first.append(item)
        if item.heads.max(initial=-1) >= 0:
            break
    else:
        if first:
            heads_of(first[0].sentence)
    yield from first
    yield from items


def from_parses(parses: Iterable[tuple[Sentence, Parse]]) -> Iterator[ReportItem]:
    """Yield the items of sentences parsed by a model."""
    for number, (sentence, parse) in enumerate(parses, 1):
        confidence = None if parse.confidence is None else parse.confidence.heads.tolist()
        yield ReportItem(number, sentence, parse.decoded.heads, parse.labels, confidence, statistics(parse))


def add_trees(items: Iterable[ReportItem], trees: Iterable[Sentence], field: str) -> Iterator[ReportItem]:
    """Yield the items with the trees of another file as ``gold`` or ``other``; raise `DataError` if words differ.

    If the text is the same, gold trees may have other tokens and sentences; unaligned words have no gold head.
    """
    if field == "gold":
        items = list(items)
        trees = _on_same_words(list(trees), [item.sentence for item in items])
    items, copies = tee(items)
    sentences = (_with_heads(item.sentence, item.heads) for item in copies)
    if field == "gold":
        found = (tree for tree, _ in paired(trees, sentences))
    else:
        whole = (_with_heads(tree.sentence, tree.heads) for tree in from_files(trees))
        found = (tree for _, tree in paired(sentences, whole))
    for tree, item in zip(found, items, strict=True):  # in this order, so that a longer file is an error
        yield item._replace(gold=tree) if field == "gold" else item._replace(other=tree)


def _on_same_words(gold: list[Sentence], parsed: list[Sentence]) -> list[Sentence]:
    """Return gold sentences, with their trees moved to the words of a parse if these are others of the same text."""
    if [sentence.forms for sentence in gold] == [sentence.forms for sentence in parsed]:
        return gold
    try:
        found = gold_on_words(gold, parsed)
    except DataError:  # another text; where it differs, is reported by sentence and word
        return gold
    aligned = sum(int((partial_heads(each) >= 0).sum()) for each in found)
    text = "the words of the gold file are others; %d of %d words have a gold head"
    log.warning(text, aligned, sum(map(len, found)))
    return found


def _with_heads(sentence: Sentence, heads: np.ndarray) -> Sentence:
    """Return a sentence with another tree."""
    tree = np.concatenate([[-1], heads]).astype(np.int32)
    return dataclasses.replace(sentence, tree=tree)


def choose(items: Iterable[ReportItem], wanted: str) -> ReportItem:
    """Return the sentence with a number, from 1, or with a ``sent_id``.

    Raises
    ------
    ConfigError
        There is none.
    """
    count = 0
    for item in items:
        count = item.number
        if item.name == wanted or (wanted.isdecimal() and item.number == int(wanted)):
            return item
    raise ConfigError(
        "--sentence", f"{wanted!r} is neither the sent_id nor the number of one of {counted(count, 'sentence')}"
    )
