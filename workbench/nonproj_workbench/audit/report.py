"""The report page of an audit: suspicious sentences with both trees, and a ranked table for each kind of suspicion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from nonproj.evaluation.html.analysis import Table, Tile, size_tiles
from nonproj.evaluation.html.items import ReportItem
from nonproj.evaluation.html.page import SourceNames, page_data, render
from nonproj.types import Sentence
from nonproj_workbench.audit.output import line_of
from nonproj_workbench.audit.predictions import Prediction
from nonproj_workbench.audit.suspicions import Suspicion

TITLES = {
    "head": ("Heads", "heads"),
    "label": ("Labels", "labels"),
    "tag": ("Tags (UPOS)", "tags"),
    "features": ("Other tags and features (XPOS, FEATS)", "features"),
    "lemma": ("Lemmas", "lemmas"),
    "rule": ("Rules of the validator", "broken rules"),
}
"""The title of the table of each kind, and the objects of its suspicions."""


def write_audit_report(
    stream: TextIO,
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    suspicions: Mapping[str, Sequence[Suspicion]],
    title: str,
    most: int,
) -> None:
    """Write the report page, with at most ``most`` suspicions of each kind."""
    shown = {kind: list(ranked[:most]) for kind, ranked in suspicions.items()}
    notes: dict[int, list[tuple[int, str]]] = {}
    for ranked in shown.values():
        for each in ranked:
            notes.setdefault(each.sentence, []).append((each.word, describe(sentences[each.sentence], each)))
    numbers = {i: position for position, i in enumerate(sorted(notes))}
    items = [_item(position, sentences[i], predictions[i]) for i, position in numbers.items()]
    tiles = size_tiles(len(sentences), sum(map(len, sentences)))
    tiles += [_tile(kind, len(suspicions[kind]), len(shown[kind])) for kind in shown if suspicions[kind]]
    tables = [_table(kind, ranked, sentences, numbers) for kind, ranked in shown.items() if ranked]
    data = page_data(items, SourceNames("annotation", other="prediction"), tiles, tables)
    for i, position in numbers.items():
        data["sentences"][position]["n"] = [text for _, text in sorted(notes[i])]
    stream.write(render(data, title))


def _item(position: int, sentence: Sentence, prediction: Prediction) -> ReportItem:
    """Return a sentence of the page: the annotated tree, and the predicted one as the other."""
    assert sentence.heads is not None
    rows = [[*row[:7], label, *row[8:]] for row, label in zip(sentence.rows, prediction.labels, strict=True)]
    other = Sentence(rows, np.array([-1, *prediction.heads], np.int32), path=sentence.path, line=sentence.line)
    return ReportItem(position + 1, sentence, sentence.heads, sentence.labels, None, {}, other=other)


def _tile(kind: str, found: int, shown: int) -> Tile:
    """Return the tile with the number of suspicions of a kind."""
    return f"{found:,}", f"suspicious {TITLES[kind][1]}" if kind != "rule" else TITLES[kind][1], f"{shown:,} shown"


def describe(sentence: Sentence, suspicion: Suspicion) -> str:
    """Return a suspicion in words.

    Examples
    --------
    >>> row = ["1", "Run", "run", "NOUN", "_", "_", "0", "root", "_", "_"]
    >>> describe(Sentence([row]), Suspicion("label", 0, 1, "root", "dep", 1.0, margin=31.25, own=1, others=4))
    '1 Run: label root, predicted dep (margin 31.2); the same words elsewhere: 4 otherwise, 1 like this'
    """
    word = f"{suspicion.word} {sentence.rows[suspicion.word - 1][1]}" if suspicion.word else "the sentence"
    if suspicion.kind == "rule":
        return f"{word}: level {suspicion.score:.0f}, {suspicion.rule}: {suspicion.message}"
    old, new = (_named(sentence, suspicion.kind, value) for value in (suspicion.annotated, suspicion.predicted))
    parts = []
    if suspicion.margin is not None:
        sure = "" if suspicion.confidence is None else f", wrong with probability {suspicion.confidence:.2f}"
        proof = ", not certified" if suspicion.certified is False else ""
        parts.append(f"predicted {new} (margin {suspicion.margin:.1f}{sure}{proof})")
    if suspicion.others:
        instead = f", as {new}" if suspicion.margin is None and new else ""
        parts.append(f"the same words elsewhere: {suspicion.others} otherwise{instead}, {suspicion.own} like this")
    return f"{word}: {suspicion.kind} {old}, {'; '.join(parts)}"


def _named(sentence: Sentence, kind: str, value: str) -> str:
    """Return a value of the annotation; a head is followed by its form."""
    if kind != "head" or not value:
        return value
    return f"{value} {sentence.rows[int(value) - 1][1]}" if int(value) else "0 (root)"


def _table(kind: str, ranked: Sequence[Suspicion], sentences: Sequence[Sentence], numbers: Mapping[int, int]) -> Table:
    """Return the table of the suspicions of a kind."""
    title, columns = TITLES[kind][0], ["sentence", "word", "annotated", "predicted"]
    if kind == "rule":
        columns = ["sentence", "word", "level", "rule", "message"]
    rows: list[list[Any]] = []
    for each in ranked:
        sentence = sentences[each.sentence]
        link = [numbers[each.sentence], each.word, f"{sentence.path}:{line_of(sentence, each.word)}"]
        form = sentence.rows[each.word - 1][1] if each.word else ""
        if kind == "rule":
            rows.append([link, form, int(each.score), each.rule, each.message])
            continue
        values = [_named(sentence, kind, value) for value in (each.annotated, each.predicted)]
        rows.append([link, form, *values, _rounded(each.margin), _rounded(each.score)])
        if any(found.others for found in ranked):
            rows[-1] += [each.own or None, each.others or None]
    kinds = dict.fromkeys(columns, "text") | {"sentence": "sentence", "level": "count"}
    named = [{"name": name, "kind": kinds[name]} for name in columns]
    if kind != "rule":
        named += [{"name": name, "kind": "count"} for name in ("margin", "score", "like this", "otherwise")]
    named = named[: len(rows[0])]
    note = "" if kind == "rule" else "The strongest first. Like this, otherwise: occurrences of the same words."
    return {"title": title, "note": note, "columns": named, "rows": rows}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
