"""Reports on parsed text, whose words and sentences may differ from the gold standard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nonproj.evaluation.alignment import align, partners, text_heads
from nonproj.evaluation.html.analysis import SHOWN, Table, Tile
from nonproj.evaluation.html.items import ReportItem
from nonproj.types import Sentence

_NAMES = {"upos": "UPOS", "ufeats": "UFeats", "lemmas": "Lemmas", "uas": "UAS", "las": "LAS"}

_TABLES = {
    "cause": ("Words without the correct head and label", "cause", ("counts",), "Each word once: the first cause."),
    "sentence": ("Sentence boundaries", "last character", ("missed", "wrong"), ""),
    "word": ("Differences in tokens and their words", "kind", ("counts",), ""),
    "known": ("Aligned words", "", (), "Words found, and the share of them that is correct."),
    "tag": ("Aligned words by tag", "gold tag", (), ""),
    "feature": ("Features", "attribute", ("missing", "wrong", "superfluous"), "Of aligned words."),
    "label": ("Aligned words by label", "gold label", (), ""),
}
_CONFUSED = {
    "words": "Frequent differences in tokens and their words",
    "tag": "Confused tags",
    "lemma": "Wrong lemmas",
    "label": "Confused labels",
}


def with_gold_text(items: Sequence[ReportItem], gold: Sequence[Sentence]) -> list[ReportItem]:
    """Return the items with the gold tree over their own words, as far as gold heads are in the same sentence.

    A word that is not aligned, or whose gold head is not among the words of its sentence, has the gold head -1.

    Raises
    ------
    DataError
        The characters of the two differ, or a gold sentence has no heads.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> from nonproj.evaluation.html.items import from_files
    >>> gold, found = from_words(["Det", "regner"]), from_words(["De", "t", "regner"])
    >>> for sentence, heads in ((gold, [2, 0]), (found, [3, 3, 0])):
    ...     for row, head in zip(sentence.rows, heads):
    ...         row[6:8] = str(head), "dep"
    ...     sentence.tree = np.array([-1, *heads], np.int32)
    >>> with_gold_text(list(from_files([found])), [gold])[0].gold.heads
    array([-1, -1,  0], dtype=int32)
    """
    theirs, ours, pairs = align(gold, [item.sentence for item in items])
    partner, back = partners(theirs, ours, pairs)
    rows = [row for sentence in gold for row in sentence.rows]
    heads = text_heads(gold, theirs)
    found = []
    for item, (start, end) in zip(items, pairwise(ours.first), strict=True):
        expected = back[start:end]
        above = np.where(expected >= 0, partner[heads[expected]], -1)
        inside = np.where((start <= above) & (above < end), above - start + 1, -1)
        tree = np.where(above == len(ours.forms), 0, inside)
        labelled = [list(row) for row in item.sentence.rows]
        for row, word, head in zip(labelled, expected, tree, strict=True):
            row[7] = rows[word][7] if head >= 0 else "_"
        made = dataclasses.replace(item.sentence, rows=labelled, tree=np.array([-1, *tree], np.int32))
        found.append(item._replace(gold=made))
    return found


def analyse_text(errors: dict[str, Any], sentences: int) -> tuple[list[Tile], list[Table]]:
    """Return the tiles and tables of `nonproj.evaluation.text_errors.text_errors` for one parser.

    Parameters
    ----------
    errors : dict
    sentences : int
        Their number in the parsed text.

    Examples
    --------
    >>> from nonproj.evaluation.text_errors import text_errors
    >>> tiles, tables = analyse_text(text_errors([], [[]]), 0)
    >>> tables[0]["title"], tables[0]["rows"][0]
    ('Words without the correct head and label', ['word not found', 0])
    """
    tables = [_table(errors["tables"][key], *_TABLES[key], kind="tag" if key == "tag" else "text") for key in _TABLES]
    for key, title in _CONFUSED.items():
        pairs = errors["confusions"][key]
        columns = [{"name": name, "kind": "text"} for name in ("gold", "predicted")]
        columns.append({"name": "places" if key == "words" else "words", "kind": "count"})
        cells = [[pair["gold"], pair["predicted"], pair["counts"][0]] for pair in pairs[:SHOWN]]
        tables.append({"title": title, "note": _note("", len(pairs)), "columns": columns, "rows": cells})
    whole = errors["tables"]["known"][0]
    right = {name: (whole[key][0] or 0.0) * whole["aligned"][0] for key, name in _NAMES.items()}
    tiles = [(f"{sentences:,}", "sentences", ""), (f"{errors['words']:,}", "gold words", "")]
    for name, count in {"words found": whole["aligned"][0], **right}.items():
        share = f"{100 * count / errors['words']:.2f} %" if errors["words"] else "–"
        tiles.append((share, name, "of the gold words"))
    return tiles, [table for table in tables if table["rows"]]


def _table(
    rows: Sequence[dict[str, Any]], title: str, first: str, counts: Sequence[str], note: str, kind: str
) -> Table:
    """Return a table of counts, or of the accuracy of aligned words."""
    shown = rows[:SHOWN]
    columns: list[dict[str, Any]] = [{"name": first, "kind": kind}]
    cells = [[row["name"]] for row in shown]
    names = {"gold": "gold", **{name: name for name in counts or ("aligned",)}}
    for key, name in names.items():
        if shown and key in shown[0]:
            columns.append({"name": "number" if name == "counts" else name, "kind": "count"})
            for row, cell in zip(shown, cells, strict=True):
                cell.append(row[key] if key == "gold" else row[key][0])
    if not counts:
        columns += [{"name": name, "kind": "share", "bare": key != "las"} for key, name in _NAMES.items()]
        cells = [cell + [row[key][0] for key in _NAMES] for row, cell in zip(shown, cells, strict=True)]
    return {"title": title, "note": _note(note, len(rows)), "columns": columns, "rows": cells}


def _note(note: str, count: int) -> str:
    more = f"The {SHOWN} most frequent of {count}." if count > SHOWN else ""
    return f"{note} {more}".strip()
