"""The sentences of a file with their past: undo and redo, also of splitting and joining."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from nonproj_workbench.annotation.draft import EditError


@dataclasses.dataclass(eq=False, slots=True)
class Unit:
    """A sentence: its lines, and the changes that can be undone and redone, from the end of each list.

    Attributes
    ----------
    text : str
    past, future : list of Change
    doubt : float or None
        One minus the probability of its least certain undecided head.
    stamp : int
        Time of the last computation of the doubt, by the session's clock; 0 for never.
    """

    text: str
    past: list[Change] = dataclasses.field(default_factory=list)
    future: list[Change] = dataclasses.field(default_factory=list)
    doubt: float | None = None
    stamp: int = 0

    @property
    def version(self) -> str:
        """A digest of the lines."""
        return version_of(self.text)


class Change(NamedTuple):
    """Consecutive sentences that are replaced by others.

    Attributes
    ----------
    old, new : sequence of Unit
        Units before and after; equal for an edit within a sentence.
    old_texts, new_texts : sequence of str
    """

    old: Sequence[Unit]
    old_texts: Sequence[str]
    new: Sequence[Unit]
    new_texts: Sequence[str]


class Replacement(NamedTuple):
    """Effect of a change on the list of sentences: ``removed`` of them from ``at`` on are replaced.

    Attributes
    ----------
    at, removed : int
    units : sequence of Unit
    texts : sequence of str
    """

    at: int
    removed: int
    units: Sequence[Unit]
    texts: Sequence[str]


def version_of(text: str) -> str:
    """Return a digest of the lines of a sentence."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def forward(units: Sequence[Unit], change: Change) -> Replacement:
    """Return the replacement that makes a change, for the first time or again.

    Examples
    --------
    >>> a, b = Unit("a"), Unit("b")
    >>> forward([a, b], Change([b], ["b"], [b], ["c"]))[:2]
    (1, 1)
    """
    return Replacement(_place(units, change.old), len(change.old), change.new, change.new_texts)


def backward(units: Sequence[Unit], change: Change) -> Replacement:
    """Return the replacement that undoes a change."""
    return Replacement(_place(units, change.new), len(change.new), change.old, change.old_texts)


def is_current(units: Sequence[Unit], change: Change) -> bool:
    """Return whether the sentences that a change replaces are in the list, with their lines unchanged."""
    texts = [unit.text for unit in change.old]
    return _are_there(units, change.old) and texts == list(change.old_texts)


def undoable(units: Sequence[Unit], unit: Unit) -> Change:
    """Return the next change to undo of a sentence in the list, or raise `EditError`."""
    if not unit.past:
        raise EditError("there is nothing to undo")
    change = unit.past[-1]
    if not _are_there(units, change.new) or any(not each.past or each.past[-1] is not change for each in change.new):
        raise EditError("undo the later edits of the other sentence first")
    return change


def redoable(units: Sequence[Unit], unit: Unit) -> Change:
    """Return the next change to redo of a sentence in the list, or raise `EditError`."""
    if not unit.future:
        raise EditError("there is nothing to do again")
    change = unit.future[-1]
    lost = any(not each.future or each.future[-1] is not change for each in change.old)
    if lost or not _are_there(units, change.old):
        raise EditError("the other sentence has been edited since; this cannot be done again")
    return change


def record_new(change: Change) -> None:
    """Record a new change in the past of its sentences."""
    for unit in change.new:
        unit.past.append(change)
        unit.future.clear()


def record_undone(change: Change) -> None:
    """Move a change from the past to the future."""
    for unit in change.new:
        unit.past.pop()
    for unit in change.old:
        unit.future.append(change)


def record_redone(change: Change) -> None:
    """Move a change from the future to the past."""
    for unit in change.old:
        unit.future.pop()
    for unit in change.new:
        unit.past.append(change)


def _are_there(units: Sequence[Unit], wanted: Sequence[Unit]) -> bool:
    """Return whether sentences are in the list, one after the other."""
    if all(unit is not wanted[0] for unit in units):
        return False
    at = _place(units, wanted)
    return list(map(id, units[at : at + len(wanted)])) == list(map(id, wanted))


def _place(units: Sequence[Unit], wanted: Sequence[Unit]) -> int:
    """Return the position of sentences that are in the list."""
    return next(i for i, unit in enumerate(units) if unit is wanted[0])
