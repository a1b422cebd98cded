"""Answers to the page: sentences as JSON values."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

from nonproj.io.columns import DEPS, FORM, HEAD, ID, MISC, UPOS
from nonproj_workbench.annotation.draft import COLUMNS, Draft
from nonproj_workbench.annotation.history import Unit, version_of
from nonproj_workbench.annotation.structure import surface
from nonproj_workbench.annotation.suggesting import Suggestion
from nonproj_workbench.annotation.views import View, heads_of

TEXT_CHARACTERS = 200
"""Number of characters of a sentence's text in the list."""

_TAGS = COLUMNS[FORM : UPOS + 3]


def sentence_answer(i: int, count: int, unit: Unit, view: View) -> dict[str, Any]:
    """Return the answer for a sentence: words, tree, decisions and certificate."""
    shown, found = view.shown, view.suggestion
    proof = None
    if found is not None and view.is_suggested:
        proof = {name: value if math.isfinite(value) else None for name, value in found.statistics.items()}
        proof["constrained"] = found.constrained
    text = shown.comment("text") or surface(shown)
    return {
        "i": i,
        "n": count,
        "version": version_of(view.filed.text()),  # an edit may have changed the unit since
        "id": shown.comment("sent_id") or str(i + 1),
        "text": text,
        "comments": [line.rstrip("\r\n") for line in shown.comments if line.startswith("#")],
        "done": view.decisions.done,
        "rtl": is_right_to_left(text),
        "can_undo": bool(unit.past),
        "can_redo": bool(unit.future),
        "words": _words(view),
        "multiword": [_multiword(row) for row in shown.rows if "-" in row[ID]],
        "empty": [dict(zip(COLUMNS, row, strict=True)) for row in shown.rows if "." in row[ID]],
        "proof": proof,
        "problem": view.problem or None,
        "demand": {"waiting": False, "problem": ""} if view.is_long else None,
        "other": None,
        "differs": None,
    }


def _words(view: View) -> list[dict[str, Any]]:
    """Return the words: columns, decisions, and probabilities of undecided heads."""
    decisions, rows = (
        view.decisions,
        zip(view.shown.words, heads_of(view.shown), view.confidences, view.given, strict=True),
    )
    words = []
    for word, (row, head, (p, q), given) in enumerate(rows, 1):
        decided = ["head"] * (word in decisions.heads) + ["deprel"] * (word in decisions.labels)
        words.append(
            {
                "id": row[ID],
                **dict(zip(_TAGS, row[FORM : UPOS + 3], strict=True)),
                "head": head,
                "deprel": row[7],
                "deps": row[DEPS],
                "misc": row[MISC],
                "decided": decided,
                "forbidden": sorted(decisions.forbidden.get(word, ())),
                "given": given,
                "p": None if p is None or "head" in decided else {"head": p, "label": q},
            }
        )
    return words


def _multiword(row: list[str]) -> dict[str, Any]:
    """Return a multiword token as JSON values."""
    first, last = map(int, row[ID].split("-"))
    return {"first": first, "last": last, "form": row[FORM], "misc": row[MISC]}


def tree_answers(shown: Draft, found: Sequence[Suggestion]) -> list[dict[str, Any]]:
    """Return suggested trees, best first, each with the words in which it differs from the displayed one."""
    trees = []
    for each in found:
        pairs = zip(shown.words, each.heads, each.labels, strict=True)
        trees.append(
            {
                "heads": each.heads,
                "labels": each.labels,
                "difference": found[0].statistics["score"] - each.statistics["score"],
                "differs": [word for word, (row, *arc) in enumerate(pairs, 1) if row[HEAD:DEPS] != list(map(str, arc))],
                "certified": each.statistics["certified"],
            }
        )
    return trees


def row_answer(unit: Unit, view: View) -> dict[str, Any]:
    """Return the row of a sentence in the list."""
    return {
        "text": text_of(view.filed),
        "words": len(view.filed.places),
        "done": int(view.decisions.done),
        "decided": view.decisions.size,
        "doubt": unit.doubt,
        "differs": None,
    }


def text_of(draft: Draft) -> str:
    """Return the text of a sentence for the list."""
    return (draft.comment("text") or surface(draft))[:TEXT_CHARACTERS]


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left.

    Examples
    --------
    >>> is_right_to_left("123 שלום"), is_right_to_left("Regn")
    (True, False)
    """
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return kind != "L"
    return False
