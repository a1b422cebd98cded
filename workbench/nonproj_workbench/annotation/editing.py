"""Edits of columns, and insertion of trees into a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nonproj.io.columns import DEPREL, DEPS, FORM, HEAD, MISC
from nonproj_workbench.annotation.decisions import Decisions, find_cycle, without_confidence
from nonproj_workbench.annotation.draft import COLUMNS, Draft, EditError, check_value, head_of
from nonproj_workbench.annotation.structure import with_form


def set_arc(row: list[str], head: int | None, label: str | None) -> None:
    """Change a word's head and label, and their edge in DEPS; head None removes the head, label None keeps the label.

    The confidence in MISC of a changed arc or label is removed.

    Examples
    --------
    >>> row = ["3", "x", "_", "_", "_", "_", "2", "obj", "2:obj|5:nsubj", "_"]
    >>> set_arc(row, 6, "obl")
    >>> row[6:9]
    ['6', 'obl', '5:nsubj|6:obl']
    """
    old_head, old = row[HEAD], f"{row[HEAD]}:{row[DEPREL]}"
    row[HEAD] = "_" if head is None else str(head)
    if label is not None:
        row[DEPREL] = label
    new = f"{row[HEAD]}:{row[DEPREL]}"
    if new != old:
        row[MISC] = without_confidence(row[MISC], row[HEAD] != old_head)
    edges = row[DEPS].split("|")
    if new != old and old in edges:
        kept = {edge for edge in edges if edge != old} | ({new} if head is not None else set())
        row[DEPS] = "|".join(sorted(kept, key=_place)) or "_"


def _place(edge: str) -> tuple[float, str]:
    head, _, label = edge.partition(":")
    whole, _, part = head.partition(".")
    number = int(whole) if whole.isdecimal() else 0
    return number + (int(part) if part.isdecimal() else 0) / 1000, label


def number_of(edit: Mapping[str, Any], name: str, first: int, last: int) -> int:
    """Return a number in an edit, from ``first`` to ``last``, or raise `EditError`.

    Examples
    --------
    >>> number_of({"word": 2}, "word", 1, 3)
    2
    """
    value = edit.get(name)
    if type(value) is not int or not first <= value <= last:
        raise EditError(f"{name} is {value!r}, a number from {first} to {last} expected")
    return value


def label_of(edit: Mapping[str, Any], name: str = "value") -> str:
    """Return a label in an edit, or raise `EditError`."""
    value = check_value("label", edit.get(name))
    if value == "_" or "|" in value:
        raise EditError(f"{value!r} is not a label: it is empty or has the character |")
    return value


def set_column(draft: Draft, word: int, name: object, value: object) -> Draft:
    """Return the draft with another value in a column, any but ID, HEAD and DEPREL."""
    if name not in COLUMNS or name in ("id", "head", "deprel"):
        raise EditError(f"column is {name!r}, one of form, lemma, upos, xpos, feats, deps and misc expected")
    column, new = COLUMNS.index(str(name)), check_value(str(name), value)
    if column == FORM:
        return with_form(draft, word, new)
    changed = draft.copy()
    changed.words[word - 1][column] = new
    return changed


def set_comments(draft: Draft, comments: object) -> Draft:
    """Return the draft with other comments; blank lines before them stay."""
    if not isinstance(comments, list) or not all(isinstance(each, str) for each in comments):
        raise EditError("comments is a list of lines")
    lines = [check_value("comment", each) for each in comments]
    if any(not line.startswith("#") for line in lines):
        raise EditError("a comment starts with #")
    changed = draft.copy()
    blank = [line for line in draft.comments if not line.startswith("#")]
    changed.comments = blank + [line + draft.ending for line in lines]
    return changed


def with_tree(draft: Draft, heads: Sequence[int], labels: Sequence[str], decisions: Decisions) -> Draft:
    """Return the draft with a predicted tree; decisions stay.

    Parameters
    ----------
    draft : Draft
        Draft of ``n`` words.
    heads, labels : sequence of n
    decisions : Decisions
    """
    new = draft.copy()
    for word, (row, head, label) in enumerate(zip(new.words, heads, labels, strict=True), 1):
        set_arc(row, decisions.heads.get(word, head), decisions.labels.get(word, label))
    return new


def move(draft: Draft, word: int, head: int, decisions: Decisions) -> Draft:
    """Return the draft with another head of a word, without a model; a cycle that it would make is broken.

    If the head is below the word, the first undecided arc on the path from the head up to the word is replaced: its
    word gets the old head of the moved word.

    Raises
    ------
    EditError
        All arcs on that path are decided.

    Examples
    --------
    >>> draft = Draft.of("".join(f"{i}\\ta\\t_\\t_\\t_\\t_\\t{h}\\tx\\t_\\t_\\n" for i, h in ((1, 0), (2, 1), (3, 2))))
    >>> [row[6] for row in move(draft, 2, 3, Decisions({2: 3}, {}, {})).words]
    ['0', '3', '1']
    """
    new = draft.copy()
    words = new.words
    old = head_of(words[word - 1], len(words))
    set_arc(words[word - 1], head, None)
    heads = {i: h for i, row in enumerate(words, 1) if (h := head_of(row, len(words))) is not None}
    cycle = find_cycle(heads)
    if word in cycle:
        turned = cycle[cycle.index(word) + 1 :] + cycle[: cycle.index(word)]
        free = [each for each in turned if each not in decisions.heads]
        if not free:
            path = " → ".join(map(str, [*reversed(cycle), cycle[-1]]))
            raise EditError(f"the decided arcs form a cycle: {path}; free one of these words")
        set_arc(words[free[0] - 1], old if old != free[0] else None, None)
    return new


def changes(old: Draft, new: Draft) -> list[dict[str, Any]]:
    """Return the differences between two drafts of the same words: word, column, and the values before and after.

    The last column, MISC, is left out: it has the decisions.
    """
    found = []
    for word, (before, after) in enumerate(zip(old.words, new.words, strict=True), 1):
        for column, name in enumerate(COLUMNS[:MISC]):
            if before[column] != after[column]:
                found.append({"word": word, "column": name, "before": before[column], "after": after[column]})
    return found
