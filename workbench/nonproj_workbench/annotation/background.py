"""Work in the background: the certainty of the trees, and the validator's messages for the whole file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from nonproj_workbench.annotation.history import Unit

QUIET = 0.5
"""Seconds after an edit during which nothing is computed in the background, so that edits are answered at once."""


class Walker:
    """A thread that visits the sentences that have changed since its last visit.

    Parameters
    ----------
    units : callable
        Returns the present sentences.
    visit : callable
        Called with each of these sentences.
    key : callable
        Takes a sentence; returns a value that changes when it has to be visited again.
    last_edit : callable
        Returns the time of the last edit, as of `time.monotonic`.
    name : str
        Name of the thread.
    """

    def __init__(
        self,
        units: Callable[[], Sequence[Unit]],
        visit: Callable[[Unit], None],
        key: Callable[[Unit], object],
        last_edit: Callable[[], float],
        name: str,
    ):
        self._units, self._visit, self._key, self._last_edit = units, visit, key, last_edit
        self._seen: dict[Unit, object] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._walk, daemon=True, name=name)
        self.done = False

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if not self._thread.is_alive() and not self._stopping.is_set():
            self._thread.start()

    def stop(self) -> None:
        """End the thread after the sentence that it visits."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _walk(self) -> None:
        while not self._stopping.is_set():
            units = list(self._units())
            waiting = [unit for unit in units if self._seen.get(unit) != self._key(unit)]
            self.done = not waiting
            for unit in waiting:
                while (rest := self._last_edit() + QUIET - time.monotonic()) > 0 and not self._stopping.is_set():
                    self._stopping.wait(rest)
                if self._stopping.is_set():
                    return
                key = self._key(unit)
                self._visit(unit)
                self._seen[unit] = key
                self._stopping.wait(0.0005)  # lets other threads run
            if len(self._seen) > 2 * len(units):
                self._seen = {unit: self._seen[unit] for unit in units if unit in self._seen}
            self._stopping.wait(0.5)
