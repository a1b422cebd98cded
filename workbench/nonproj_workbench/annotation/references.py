"""The columns MISC and DEPS as lists, and the renumbering of all references to words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from nonproj.io.columns import DEPREL, DEPS, HEAD, ID, MISC
from nonproj_workbench.annotation.decisions import renumbered
from nonproj_workbench.annotation.draft import Draft

Row: TypeAlias = "list[str]"


def items_of(misc: str) -> list[str]:
    """Return the attributes of a column MISC."""
    return [] if misc == "_" else misc.split("|")


def without_items(misc: str, items: Iterable[str]) -> str:
    """Return a column MISC without some attributes."""
    gone = set(items)
    return "|".join(item for item in items_of(misc) if item not in gone) or "_"


def edges_of(deps: str) -> list[str]:
    """Return the edges of a column DEPS; none in CoNLL-X, where it is a head."""
    return deps.split("|") if ":" in deps else []


def edge_key(edge: str) -> tuple[int, int, str]:
    """Return the sort key of an edge in DEPS, which is ordered by heads."""
    head, _, label = edge.partition(":")
    whole, _, part = head.partition(".")
    return int(whole) if whole.isdecimal() else 0, int(part) if part.isdecimal() else 0, label


def refer(row: Row, numbers: Mapping[str, str | None]) -> None:
    """Renumber the references in a row: HEAD, DEPS and the decisions in MISC."""
    if row[HEAD] in numbers:
        head = numbers[row[HEAD]]
        row[HEAD], row[DEPREL] = (head, row[DEPREL]) if head is not None else ("_", "_")
    if ":" in row[DEPS]:
        pairs = [edge.partition(":")[::2] for edge in row[DEPS].split("|")]
        kept = [(numbers.get(head, head), label) for head, label in pairs]
        row[DEPS] = "|".join(f"{head}:{label}" for head, label in kept if head is not None) or "_"
    row[MISC] = renumbered(row[MISC], numbers)


def renumber(draft: Draft, olds: Sequence[Sequence[str]], longer: Mapping[str, int]) -> None:
    """Number the rows of a draft, and renumber the references in them.

    Parameters
    ----------
    draft : Draft
        Its words in their new order; changed.
    olds : sequence of sequence of str
        The old IDs of each row; references to other IDs are removed.
    longer : mapping of str to int
        Number of words by which a multiword token now extends further, by the old ID of its last word.
    """
    numbers: dict[str, str | None] = {"0": "0"}
    word = empty = 0
    for row, ids in zip(draft.rows, olds, strict=True):
        if "-" in row[ID]:
            continue
        if "." in row[ID]:
            empty += 1
            new = f"{word}.{empty}"
        else:
            word, empty = word + 1, 0
            new = str(word)
        row[ID] = new
        numbers |= dict.fromkeys(ids, new)
    referred = {row[HEAD] for row in draft.rows} | {
        edge.partition(":")[0] for row in draft.rows for edge in edges_of(row[DEPS])
    }
    for old in referred:
        if old[:1].isdigit():
            numbers.setdefault(old, None)
    for row in draft.rows:
        if "-" in row[ID]:
            first, last = row[ID].split("-")
            row[ID] = f"{numbers[first]}-{int(numbers[last] or 0) + longer.get(last, 0)}"
        refer(row, numbers)
