"""A file that is annotated: sentences, model, storage, and the work in the background."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nonproj.errors import NonprojError
from nonproj_workbench.annotation.answers import row_answer, sentence_answer, tree_answers
from nonproj_workbench.annotation.background import Walker
from nonproj_workbench.annotation.checking import Checker
from nonproj_workbench.annotation.comparison import Comparison
from nonproj_workbench.annotation.decisions import cleaned
from nonproj_workbench.annotation.demand import Demand
from nonproj_workbench.annotation.draft import EditError
from nonproj_workbench.annotation.editing import changes, number_of
from nonproj_workbench.annotation.history import (
    Change,
    Replacement,
    Unit,
    backward,
    forward,
    is_current,
    record_new,
    record_redone,
    record_undone,
    redoable,
    undoable,
    version_of,
)
from nonproj_workbench.annotation.operations import apply
from nonproj_workbench.annotation.retraining import Retraining
from nonproj_workbench.annotation.sentences import Completing, join, split
from nonproj_workbench.annotation.shown import Shown
from nonproj_workbench.annotation.storage import LockError, Storage
from nonproj_workbench.annotation.suggesting import AT_ONCE, Suggester
from nonproj_workbench.annotation.treebank import Treebank, offered
from nonproj_workbench.annotation.views import View
from nonproj_workbench.annotation.writing import Writer

_CHANGED = "the sentence has changed meanwhile"


class ChangedError(NonprojError):
    """The sentence has changed since the edit was made."""


class SessionOptions(NamedTuple):
    """Options of a session besides its file and model.

    Attributes
    ----------
    make_checker : callable
        Returns the checker for a format, ``conllu`` or ``conllx``.
    comparison : Comparison or None
        The two annotators whose differences are adjudicated in the file, which has the same number of sentences.
    retraining : Retraining or None
    """

    make_checker: Callable[[str], Checker] = lambda _: Checker(0)
    comparison: Comparison | None = None
    retraining: Retraining | None = None


class Session:
    """A file that is annotated; threads may share it.

    Parameters
    ----------
    storage : Storage
    suggester : Suggester or None
    trust : str
        See `nonproj_workbench.annotation.decisions.TRUST`.
    options : SessionOptions, optional

    Attributes
    ----------
    treebank : Treebank
    revision : int
        Number that changes with every edit.
    """

    def __init__(
        self,
        storage: Storage,
        suggester: Suggester | None = None,
        trust: str = "done",
        options: SessionOptions | None = None,
    ):
        self.storage, self.trust = storage, trust
        self.shown = Shown(suggester, trust)
        self.treebank = Treebank(storage.texts, trust)
        self.form = self.treebank.form
        self.revision = time.time_ns() // 1_000_000
        self.last_edit = 0.0
        options = options or SessionOptions()
        self.checker = options.make_checker(self.form)
        self.comparison, self.retraining = options.comparison, options.retraining
        self._messages: dict[Unit, int] = {}
        self._doubts = Walker(
            lambda: self.treebank.units, self.shown.measure, self.shown.measured, self._edited_at, "nonproj-doubt"
        )
        self._checks = Walker(
            lambda: self.treebank.units, self._count_messages, lambda unit: unit.text, self._edited_at, "nonproj-checks"
        )
        self._demand = Demand(self._compute)
        self._lock, self._closed = threading.RLock(), False
        self._writer = Writer(storage, self._snapshot, self._lock, self._edited_at)
        self._writer.start()
        if suggester is not None and suggester.has_confidence:
            self._doubts.start()
        if self.retraining is not None:
            self.retraining.exchange = self.exchange
            self.retraining.start_when_due(lambda: self.treebank.texts, self.treebank.count_done())

    def _snapshot(self) -> list[str]:
        """Return the lines of each sentence."""
        return self.treebank.texts

    def _edited_at(self) -> float:
        """Return the time of the last edit."""
        return self.last_edit

    @property
    def suggester(self) -> Suggester | None:
        """Suggester of trees by the present model."""
        return self.shown.suggester

    # -- answers -------------------------------------------------------------------------------------------------------

    def file(self) -> dict[str, Any]:
        """Return the facts of the file, and the list of its sentences."""
        values, suggester = self.treebank.values, self.suggester
        return {
            "path": self.storage.name,
            "format": self.form,
            "editable": True,
            "model": suggester.name if suggester else None,
            "at_once": AT_ONCE,
            "confidence": bool(suggester and suggester.has_confidence),
            "labels": offered(values["labels"], suggester.labels if suggester else ()),
            **{name: offered(values[name]) for name in ("upos", "xpos", "feats")},
            "validator": self.checker.level > 0,
            "retrain": self.retraining is not None,
            "compare": self.comparison.names if self.comparison else None,
            "n": len(self.treebank.units),
            "revision": self.revision,
            "clock": self.shown.clock,
            "sentences": self.treebank.columns() | self._differences(),
        }

    def status(self, since: int = 0) -> dict[str, Any]:
        """Return the changes since an earlier ``clock``."""
        clock, units = self.shown.clock, self.treebank.units
        doubt = {i: unit.doubt for i, unit in enumerate(units) if since < unit.stamp <= clock}
        model = self.suggester.name if self.suggester else None
        return {
            "revision": self.revision,
            "clock": clock,
            "saved": self._writer.saved,
            "model": model,
            "training": self.retraining.state if self.retraining else None,
            "doubt": doubt,
            "computing": [i for i, unit in enumerate(units) if self._demand.is_waiting(unit)],
        }

    def sentence(self, i: int) -> dict[str, Any]:
        """Return the answer for a sentence; raise `IndexError` if there is none."""
        unit = self.unit(i)
        return self._answer(i, unit, self.shown.view(unit))

    def _differences(self) -> dict[str, list[int]]:
        """Return the column of the list with the differences between two annotators, if they are compared."""
        if self.comparison is None:
            return {}
        return {"differs": [self.comparison.count(i, unit, self.trust) for i, unit in enumerate(self.treebank.units)]}

    def unit(self, i: int) -> Unit:
        """Return the unit of a sentence; raise `IndexError` if there is none."""
        if i < 0:
            raise IndexError(i)
        return self.treebank.units[i]

    def _answer(self, i: int, unit: Unit, view: View) -> dict[str, Any]:
        answer = sentence_answer(i, len(self.treebank.units), unit, view)
        if view.is_long:
            answer["demand"] = {"waiting": self._demand.is_waiting(unit), "problem": self._demand.problem(unit)}
        if self.comparison:
            self.comparison.add_to(answer, i, view)
        return answer

    def best(self, i: int, k: int) -> dict[str, Any]:
        """Return up to k trees under the decisions, best first."""
        view, suggester = self.shown.view(self.unit(i)), self.suggester
        if suggester is None:
            raise EditError("there is no model to suggest trees; start with -m MODEL")
        if not suggester.is_quick(view.shown):
            raise EditError(view.problem or f"the best trees of more than {AT_ONCE} words are not computed")
        return {"trees": tree_answers(view.shown, suggester.best(view.shown, view.decisions, k)[:k])}

    def export(self, clean: bool = False) -> str:
        """Return the content of the file, if ``clean`` without decisions and comments of annotation."""
        texts = self.treebank.texts
        return "".join(map(cleaned, texts) if clean else texts)

    # -- edits ---------------------------------------------------------------------------------------------------------

    def edit(self, i: int, version: object, edit: Mapping[str, Any]) -> dict[str, Any]:
        """Edit a sentence, and return the answer.

        Raises
        ------
        EditError
            The edit is refused.
        ChangedError
            The sentence has another version.
        LockError, FileError
            The edit cannot be stored, and is lost.
        """
        start = time.perf_counter()
        self.last_edit = time.monotonic()
        unit, view = self._current(i, version)
        replacement = self._replace(i, unit, view, edit)
        self.last_edit = time.monotonic()
        at, before = replacement.at, view.shown
        unit = replacement.units[0]
        view = self.shown.view(unit)
        whole = replacement.removed != 1 or len(replacement.units) != 1
        same = not whole and len(before.places) == len(view.shown.places)
        if edit.get("op") == "done" and self.retraining:
            self.retraining.start_when_due(lambda: self.treebank.texts, self.treebank.count_done())
        row = row_answer(unit, view)
        if self.comparison:
            row["differs"] = self.comparison.count(at, unit, self.trust)
        return {
            "sentence": self._answer(at, unit, view),
            "row": row,
            "changed": changes(before, view.shown) if same else [],
            "milliseconds": round(1000 * (time.perf_counter() - start), 2),
            "revision": self.revision,
            "file": {"revision": self.revision} if whole else None,
        }

    def _current(self, i: int, version: object) -> tuple[Unit, View]:
        """Return a sentence and its view; raise `ChangedError` unless it has the given version."""
        unit = self.unit(i)
        view = self.shown.view(unit)
        if version != version_of(view.filed.text()):
            raise ChangedError(_CHANGED)
        return unit, view

    def _replace(self, i: int, unit: Unit, view: View, edit: Mapping[str, Any]) -> Replacement:
        """Make an edit; raise `ChangedError` if the sentence changes while trees are decoded, without the lock."""
        text = view.filed.text()
        if edit.get("op") in ("undo", "redo"):
            with self._lock:
                if unit.text != text:
                    raise ChangedError(_CHANGED)
                units = self.treebank.units
                if edit["op"] == "undo":
                    change = undoable(units, unit)
                    return self._store(backward(units, change), change, record_undone)
                change = redoable(units, unit)
                return self._store(forward(units, change), change, record_redone)
        if edit.get("op") in ("split_sentence", "join_sentences"):
            return self._store_new(self._resentenced(i, unit, view, edit))
        sources = functools.partial(self.comparison.source, i) if self.comparison else None
        suggester = self.suggester if self.suggester and self.suggester.is_quick(view.filed) else None
        if view.problem and suggester is None and edit.get("op") in ("decode", "retag"):
            raise EditError(view.problem)
        draft = apply(edit, view, suggester, self.trust, sources)
        return self._store_new(Change([unit], [text], [unit], [draft.text()]))

    def _store_new(self, change: Change) -> Replacement:
        """Store a new change, unless its sentences have changed since it was made."""
        with self._lock:
            units = self.treebank.units
            if not is_current(units, change):
                raise ChangedError(_CHANGED)
            replacement = forward(units, change)
            same = change.old_texts == change.new_texts
            return replacement if same else self._store(replacement, change, record_new)

    def _store(self, replacement: Replacement, change: Change, record: Callable[[Change], None]) -> Replacement:
        """Write a change to the journal, then make it; the lock is held."""
        if self._closed:
            raise LockError(self.storage.name, "is closed")
        self.storage.add(replacement.at, replacement.removed, replacement.texts)
        self.treebank.replace(replacement)
        record(change)
        self.revision += 1
        self._writer.request()
        return replacement

    def _resentenced(self, i: int, unit: Unit, view: View, edit: Mapping[str, Any]) -> Change:
        """Return the change that splits a sentence, or joins it and the next one."""
        if self.comparison:
            raise EditError("sentences cannot be split or joined while two annotators are compared")
        completing, text = Completing(self.suggester, self.trust), view.filed.text()
        if edit["op"] == "split_sentence":
            word = number_of(edit, "word", 1, len(view.shown.places))
            names = [row.id for row in map(self.treebank.row, self.treebank.units)]
            texts = split(view, word, names, completing)
            return Change([unit], [text], [Unit(text) for text in texts], texts)
        if i + 1 >= len(self.treebank.units):
            raise EditError("there is no sentence after the last one")
        other = self.treebank.units[i + 1]
        second = self.shown.view(other)
        joined = join(view, second, completing)
        return Change([unit, other], [text, second.filed.text()], [Unit(joined)], [joined])

    # -- long sentences ------------------------------------------------------------------------------------------------

    def compute(self, i: int, version: object) -> dict[str, Any]:
        """Request the tree of a long sentence, and return the sentence; `status` reports its completion."""
        unit, view = self._current(i, version)
        if not view.is_long:
            raise EditError("the tree of this sentence is computed with each edit")
        self._demand.add(unit, view.filed.text())
        return self._answer(i, unit, view)

    def _compute(self, unit: Unit, text: str) -> None:
        """Compute the tree of a long sentence, and store it unless the sentence has changed meanwhile."""
        new = self.shown.compute(text).text()
        try:
            self._store_new(Change([unit], [text], [unit], [new]))
        except ChangedError:
            raise EditError("the sentence was edited meanwhile, so its tree was not used") from None

    # -- the model -----------------------------------------------------------------------------------------------------

    def exchange(self, suggester: Suggester) -> None:
        """Suggest trees by another model from now on; edits and decisions stay."""
        with self._lock:
            self.shown.exchange(suggester)
            self.revision += 1
        if suggester.has_confidence:
            self._doubts.start()

    def retrain(self) -> dict[str, Any]:
        """Start training in the background."""
        if self.retraining is None:
            raise EditError("start with --retrain to train models")
        self.retraining.start(self.treebank.texts)
        return {"training": self.retraining.state}

    # -- messages and agreement ----------------------------------------------------------------------------------------

    def check(self, i: int) -> dict[str, Any]:
        """Return the messages on a sentence as it is shown."""
        view = self.shown.view(self.unit(i))
        return {"messages": self.checker.messages(view.shown.text())}

    def check_all(self) -> dict[str, Any]:
        """Return the number of messages of each sentence that has any, among those counted so far."""
        self._checks.start()
        counts = {i: n for i, unit in enumerate(self.treebank.units) if (n := self._messages.get(unit, 0))}
        return {"done": self._checks.done, "counts": counts}

    def _count_messages(self, unit: Unit) -> None:
        self._messages[unit] = len(self.checker.messages(unit.text))

    def agreement(self) -> dict[str, Any]:
        """Return the agreement of the two annotators."""
        if self.comparison is None:
            raise EditError("start with --compare to compare two annotators")
        return self.comparison.agreement()

    # -- the file ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the file, and release its lock.

        Raises
        ------
        LockError, FileError
            The file cannot be written; the journal keeps the edits.
        """
        self._doubts.stop()
        self._checks.stop()
        if self.retraining is not None:
            self.retraining.stop()
        self._writer.stop()
        with self._lock:
            self._closed = True
            self.storage.close(self.treebank.texts if self._writer.is_due else None)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
