"""A file that is annotated: sentences, model, storage, and the work in the background."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from nonproj.annotation import structure
from nonproj.annotation.answers import row_answer, sentence_answer
from nonproj.annotation.decisions import cleaned, decisions_of, store, store_marks
from nonproj.annotation.draft import Draft, EditError
from nonproj.annotation.editing import changes, number_of, with_tree
from nonproj.annotation.history import (
    Change,
    Replacement,
    Unit,
    backward,
    forward,
    record_new,
    record_redone,
    record_undone,
    redoable,
    undoable,
)
from nonproj.annotation.operations import apply
from nonproj.annotation.storage import Storage
from nonproj.annotation.suggesting import Suggester
from nonproj.annotation.treebank import Treebank, offered
from nonproj.annotation.views import View, view_of
from nonproj.errors import NonprojError

KEPT_VIEWS = 512
"""Number of sentences whose view is kept."""

WRITING_DELAY, LONGEST_DELAY = 1.0, 5.0
"""Seconds without edits after which the file is written, and seconds after which it is written in any case."""

log = logging.getLogger("nonproj")


class ChangedError(NonprojError):
    """The sentence is not what it was when the edit was made."""


class Session:
    """A file that is annotated; threads may share it.

    Parameters
    ----------
    storage : Storage
    suggester : Suggester or None
    trust : str
        See `nonproj.annotation.decisions.TRUST`.

    Attributes
    ----------
    treebank : Treebank
    revision : int
        Changes with every edit.
    """

    def __init__(self, storage: Storage, suggester: Suggester | None = None, trust: str = "done"):
        self.storage, self.suggester, self.trust = storage, suggester, trust
        self.treebank = Treebank(storage.texts, trust)
        self.form = self.treebank.form
        self.revision = time.time_ns() // 1_000_000
        self.clock = 0
        self.saved: bool | str = True
        self.last_edit = 0.0
        self._views: OrderedDict[tuple[str, int], View] = OrderedDict()
        self._models = 0
        self._views_lock, self._lock = threading.Lock(), threading.RLock()
        self._dirty, self._dirty_since = storage.repeated > 0, time.monotonic()
        self._stopping = threading.Event()
        self._writer = threading.Thread(target=self._write_when_idle, daemon=True, name="nonproj-writer")
        self._writer.start()

    # -- answers -------------------------------------------------------------------------------------------------------

    def file(self) -> dict[str, Any]:
        """Return the facts of the file, and the list of its sentences."""
        values, suggester = self.treebank.values, self.suggester
        return {
            "path": self.storage.name,
            "format": self.form,
            "editable": True,
            "model": suggester.name if suggester else None,
            "confidence": bool(suggester and suggester.has_confidence),
            "labels": offered(values["labels"], suggester.labels if suggester else ()),
            **{name: offered(values[name]) for name in ("upos", "xpos", "feats")},
            "validator": False,
            "retrain": False,
            "compare": None,
            "n": len(self.treebank.units),
            "revision": self.revision,
            "clock": self.clock,
            "sentences": self.treebank.columns(),
        }

    def status(self, since: int = 0) -> dict[str, Any]:
        """Return what has changed; ``since`` is an earlier ``clock``."""
        clock = self.clock
        doubt = {i: unit.doubt for i, unit in enumerate(self.treebank.units) if since < unit.stamp <= clock}
        model = self.suggester.name if self.suggester else None
        return {
            "revision": self.revision,
            "clock": clock,
            "saved": self.saved,
            "model": model,
            "training": None,
            "doubt": doubt,
        }

    def sentence(self, i: int) -> dict[str, Any]:
        """Return a sentence; `IndexError` if there is none."""
        unit = self.unit(i)
        return self._answer(i, unit, self.view(unit))

    def unit(self, i: int) -> Unit:
        """Return a sentence; `IndexError` if there is none."""
        if i < 0:
            raise IndexError(i)
        return self.treebank.units[i]

    def _answer(self, i: int, unit: Unit, view: View) -> dict[str, Any]:
        return sentence_answer(i, len(self.treebank.units), unit, view)

    def best(self, i: int, k: int) -> dict[str, Any]:
        """Return up to k trees under the decisions, best first."""
        view, suggester = self.view(self.unit(i)), self.suggester
        if suggester is None:
            raise EditError("there is no model to suggest trees; start with -m MODEL")
        found = suggester.best(view.shown, view.decisions, k)[:k]
        shown = view.shown.words
        trees = []
        for each in found:
            pairs = zip(shown, each.heads, each.labels, strict=True)
            differs = [word for word, (row, head, label) in enumerate(pairs, 1) if row[6:8] != [str(head), label]]
            difference = found[0].score - each.score
            trees.append(
                {
                    "heads": each.heads,
                    "labels": each.labels,
                    "difference": difference,
                    "differs": differs,
                    "certified": each.certified,
                }
            )
        return {"trees": trees}

    def view(self, unit: Unit) -> View:
        """Return what is shown of a sentence."""
        text, suggester = unit.text, self.suggester
        key = text, self._models
        with self._views_lock:
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        found = view_of(text, suggester, self.trust)
        with self._views_lock:
            self._views[key] = found
            while len(self._views) > KEPT_VIEWS:
                self._views.popitem(last=False)
        if unit.text == text and unit.doubt != found.doubt:
            self.clock += 1
            unit.doubt, unit.stamp = found.doubt, self.clock
        return found

    def export(self, clean: bool = False) -> str:
        """Return the content of the file, on demand without decisions and comments of annotation."""
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
        with self._lock:
            self.last_edit = time.monotonic()
            unit = self.unit(i)
            if version != unit.version:
                raise ChangedError("the sentence has changed meanwhile")
            before = self.view(unit).shown
            replacement = self._replacement(i, unit, edit)
            at = replacement.at
            unit = self.treebank.units[at]
            view = self.view(unit)
            self.last_edit = time.monotonic()
        whole = replacement.count != 1 or len(replacement.units) != 1
        same = not whole and len(before.places) == len(view.shown.places)
        return {
            "sentence": self._answer(at, unit, view),
            "row": row_answer(unit, view),
            "changed": changes(before, view.shown) if same else [],
            "milliseconds": round(1000 * (time.perf_counter() - start), 2),
            "revision": self.revision,
            "file": {"revision": self.revision} if whole else None,
        }

    def _replacement(self, i: int, unit: Unit, edit: Mapping[str, Any]) -> Replacement:
        """Make, store and record a change."""
        operation = edit.get("op")
        if operation == "undo":
            change = undoable(unit)
            return self._store(backward(self.treebank.units, change), change, record_undone)
        if operation == "redo":
            change = redoable(unit)
            return self._store(forward(self.treebank.units, change), change, record_redone)
        if operation == "split_sentence":
            change = self._split(unit, edit)
        elif operation == "join_sentences":
            change = self._join(i, unit)
        else:
            _, draft = apply(edit, self.view(unit), self.suggester, self.trust)
            change = Change([unit], [unit.text], [unit], [draft.text()])
            if unit.text == change.new_texts[0]:
                return Replacement(i, 1, [unit], [unit.text])
        return self._store(forward(self.treebank.units, change), change, record_new)

    def _store(self, replacement: Replacement, change: Change, record: Any) -> Replacement:
        """Write a change to the journal, then make it."""
        self.storage.add(replacement.at, replacement.count, replacement.texts)
        self.treebank.replace(replacement)
        record(change)
        self.revision += 1
        if not self._dirty:
            self._dirty, self._dirty_since = True, time.monotonic()
        return replacement

    def _split(self, unit: Unit, edit: Mapping[str, Any]) -> Change:
        """Return the change that splits a sentence."""
        view = self.view(unit)
        draft = view.shown.copy()
        word = number_of(edit, "word", 1, len(draft.places))
        store_marks(draft, view.decisions)
        names = [row.id for row in map(self.treebank.row, self.treebank.units)]
        parts = structure.split_sentence(draft, word, names)
        texts = [self._completed(part) for part in parts]
        return Change([unit], [unit.text], [Unit(text) for text in texts], texts)

    def _join(self, i: int, unit: Unit) -> Change:
        """Return the change that joins a sentence and the next one."""
        if i + 1 >= len(self.treebank.units):
            raise EditError("there is no sentence after the last one")
        other = self.treebank.units[i + 1]
        drafts = []
        for view in (self.view(unit), self.view(other)):
            draft = view.shown.copy()
            store_marks(draft, view.decisions)
            drafts.append(draft)
        first, second = drafts
        joined = structure.join_sentences(first, second)
        roots = [row for row in joined.words if row[6] == "0"]
        before = sum(row[6] == "0" for row in first.words)
        for row in roots[max(before, 1) :]:  # the roots of the second sentence are roots no longer
            row[6:8] = ["_", "_"]
            row[9] = "|".join(item for item in row[9].split("|") if item.split("=")[0] not in ("Head", "Deprel")) or "_"
        text = self._completed(joined)
        return Change([unit, other], [unit.text, other.text], [Unit(text)], [text])

    def _completed(self, draft: Draft) -> str:
        """Return the lines of a sentence with new words: decisions from its marks, the rest decoded."""
        bare = draft.copy()
        bare.comments = []
        decisions = decisions_of(bare, "none")
        draft.set_comment("annotation", None)
        if self.suggester is not None:
            draft = self.suggester.tag(draft)
            found = self.suggester.decode(draft, decisions)
            draft = with_tree(draft, found.heads, found.labels, decisions)
        store(draft, decisions, self.trust)
        draft.check()
        return draft.text()

    # -- the file ------------------------------------------------------------------------------------------------------

    def _write_when_idle(self) -> None:
        """Write the file a moment after the last edit."""
        while not self._stopping.wait(0.2):
            now = time.monotonic()
            due = now - self.last_edit >= WRITING_DELAY or now - self._dirty_since >= LONGEST_DELAY
            if self._dirty and due:
                self.save()

    def save(self) -> None:
        """Write the file; `saved` says whether it succeeded."""
        try:
            with self._lock:
                texts, revision = self.treebank.texts, self.revision
                digest = self.storage.mark(texts)
                self._dirty, self._dirty_since = False, time.monotonic()
            self.storage.write(texts, digest)
            with self._lock:
                if self.revision == revision:
                    self.storage.forget()
            self.saved = True
        except NonprojError as error:
            self.saved, self._dirty = str(error), True
            self._dirty_since = time.monotonic()

    def close(self) -> None:
        """Write the file, and release its lock.

        Raises
        ------
        LockError, FileError
            The file cannot be written; the journal keeps the edits.
        """
        self._stopping.set()
        self._writer.join()
        with self._lock:
            self.storage.close(self.treebank.texts if self._dirty else None)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.ExitStack():
            self.close()
