"""The thread that writes the file a moment after the last edit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from nonproj.errors import NonprojError
from nonproj_workbench.annotation.storage import Storage

DELAY, LONGEST_DELAY = 1.0, 5.0
"""Seconds without edits after which the file is written, and seconds after which it is written in any case."""

STEP = 0.1
"""Seconds between two checks of the time."""


class Writer:
    """A thread that writes the file when edits have been in the journal for a moment.

    Parameters
    ----------
    storage : Storage
    texts : callable
        Returns the lines of each sentence.
    lock : context manager
        Held while the lines are read, so that no edit is made meanwhile.
    last_edit : callable
        Returns the time of the last edit, as of `time.monotonic`.

    Attributes
    ----------
    is_due : bool
        Whether there are edits that are not in the file.
    saved : bool or str
        True, or the error of the last attempt.
    """

    def __init__(
        self,
        storage: Storage,
        texts: Callable[[], Sequence[str]],
        lock: AbstractContextManager[object],
        last_edit: Callable[[], float],
    ):
        self._storage, self._texts, self._lock, self._last_edit = storage, texts, lock, last_edit
        self.is_due = storage.repeated > 0
        self.saved: bool | str = True
        self._since = self._not_before = time.monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="nonproj-writer")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; pending edits are left to the caller."""
        self._stopping.set()
        self._thread.join()

    def request(self) -> None:
        """Report an edit; the lock is held."""
        if not self.is_due:
            self.is_due, self._since = True, time.monotonic()

    def _run(self) -> None:
        while not self._stopping.wait(STEP):
            now = time.monotonic()
            if (
                self.is_due
                and now >= self._not_before
                and (now - self._last_edit() >= DELAY or now - self._since >= LONGEST_DELAY)
            ):
                self.write()

    def write(self) -> None:
        """Write the file now."""
        try:
            with self._lock:
                texts = self._texts()
                digest = self._storage.mark(texts)
                self.is_due, self._since = False, time.monotonic()
            self._storage.write(texts, digest)
            with self._lock:
                if not self.is_due:
                    self._storage.forget()
            self.saved = True
        except NonprojError as error:
            with self._lock:
                self.is_due, self._since, self.saved = True, time.monotonic(), str(error)
                self._not_before = time.monotonic() + LONGEST_DELAY
