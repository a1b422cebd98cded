"""Suspicions in files: marks in the column MISC, and a table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from nonproj.evaluation.html.items import comment
from nonproj.io.columns import DEPS, MISC
from nonproj.io.copies import with_misc
from nonproj.types import Sentence
from nonproj_workbench.audit.suspicions import Suspicion

MARKS = ("SuspectHead", "SuspectDeprel", "SuspectUPOS", "SuspectXPOS", "SuspectFeats", "SuspectLemma", "SuspectRule")
"""Attributes of MISC: each has the predicted value, ``?`` if there is none, or the names of the validator's rules."""

COLUMNS = (
    *("kind", "rank", "file", "line", "sent_id", "word", "form", "annotated", "predicted", "score", "confidence"),
    *("margin", "certified", "like_this", "otherwise", "rule", "message"),
)
"""The columns of the table."""

_NAMES = {"head": "SuspectHead", "label": "SuspectDeprel", "lemma": "SuspectLemma", "rule": "SuspectRule"}
_ESCAPES = {"\\": "\\\\", "|": "\\p", " ": "\\s", "\t": "\\t", "\n": "\\n"}


def marked(sentences: Sequence[Sentence], suspicions: Iterable[Suspicion]) -> list[Sentence]:
    """Return sentences with marks in MISC for some suspicions; marks that they had before are removed.

    Values are escaped as in ``SpacesAfter``: a vertical bar is ``\\p``, a blank ``\\s``.

    Examples
    --------
    >>> sentence = Sentence([["1", "Run", "run", "NOUN", "_", "_", "0", "root", "_", "SpaceAfter=No|SuspectHead=3"]])
    >>> marked([sentence], [Suspicion("tag", 0, 1, "NOUN _ Number=Sing", "VERB _ _", 1.0)])[0].rows[0][9]
    'SpaceAfter=No|SuspectUPOS=VERB|SuspectFeats=_'
    """
    marks: dict[tuple[int, int], dict[str, str | None]] = {}
    for each in suspicions:
        own = marks.setdefault((each.sentence, max(1, each.word)), {})
        for name, value in _marks(each):
            before = own.get(name)
            own[name] = f"{before},{value}" if name == "SuspectRule" and before and value not in before else value
    found = []
    for i, sentence in enumerate(sentences):
        attributes = [
            (dict.fromkeys(MARKS) if "Suspect" in row[MISC] else {}) | marks.get((i, m), {})
            for m, row in enumerate(sentence.rows, 1)
        ]
        found.append(with_misc(sentence, attributes) if any(attributes) else sentence)
    return found


def _marks(suspicion: Suspicion) -> list[tuple[str, str]]:
    """Return the attributes for a suspicion."""
    if suspicion.kind == "rule":
        return [("SuspectRule", _escaped(suspicion.rule))]
    if suspicion.kind in _NAMES:
        return [(_NAMES[suspicion.kind], _escaped(suspicion.predicted) or "?")]
    pairs = zip(MARKS[2:5], suspicion.annotated.split(" "), suspicion.predicted.split(" "), strict=True)
    return [(name, _escaped(new)) for name, old, new in pairs if old != new]


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)


def without_misc(sentences: Sequence[Sentence]) -> bool:
    """Return whether the last columns are PHEAD and PDEPREL of CoNLL-X instead of DEPS and MISC.

    Examples
    --------
    >>> without_misc([Sentence([["1", "Ja", "ja", "I", "I", "_", "0", "ROOT", "0", "ROOT"]])])
    True
    """
    return any(row[DEPS].isdecimal() for sentence in sentences for row in sentence.rows)


def write_table(stream: TextIO, sentences: Sequence[Sentence], suspicions: Mapping[str, Sequence[Suspicion]]) -> None:
    """Write all suspicions as lines of CSV, by kind and rank, with the names in `COLUMNS`."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for kind, ranked in suspicions.items():
        for rank, each in enumerate(ranked, 1):
            sentence = sentences[each.sentence]
            form = sentence.rows[each.word - 1][1] if each.word else ""
            place = [_readable(sentence.path), line_of(sentence, each.word), comment(sentence, "sent_id"), each.word]
            numbers = [_number(value) for value in (each.score, each.confidence, each.margin)]
            certified = "" if each.certified is None else str(each.certified).lower()
            counts = [each.own or "", each.others or ""]
            writer.writerow(
                [kind, rank, *place, form, each.annotated, each.predicted, *numbers, certified, *counts]
                + [each.rule, each.message]
            )


def line_of(sentence: Sentence, word: int) -> int:
    """Return the line of a word in its file, that of the sentence if the word is 0."""
    return sentence.line + (sentence.word_lines[word - 1] if word and sentence.word_lines else 0)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _readable(path: str) -> str:
    """Return a path as UTF-8, even if its bytes are not."""
    return path.encode("utf-8", "backslashreplace").decode()
