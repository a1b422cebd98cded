"""Trees of long sentences, which are computed on demand: one after the other, while other sentences are edited."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from nonproj.errors import NonprojError
from nonproj_workbench.annotation.history import Unit

log = logging.getLogger("nonproj")


class Demand:
    """A thread that computes requested trees.

    Parameters
    ----------
    compute : callable
        Takes a sentence and its lines; stores its tree, or raises an error with the reason.
    """

    def __init__(self, compute: Callable[[Unit, str], None]):
        self._compute = compute
        self._waiting: dict[Unit, str] = {}
        self._problems: dict[Unit, str] = {}
        self._lock = threading.Lock()

    def add(self, unit: Unit, text: str) -> None:
        """Ask for the tree of a sentence that has these lines, unless it is computed already."""
        with self._lock:
            self._problems.pop(unit, None)
            idle = not self._waiting
            self._waiting.setdefault(unit, text)
        if idle:
            threading.Thread(target=self._run, daemon=True, name="nonproj-demand").start()

    def is_waiting(self, unit: Unit) -> bool:
        """Return whether the tree of a sentence is requested and not yet computed."""
        return unit in self._waiting

    def problem(self, unit: Unit) -> str:
        """Return the reason why the last request gave no tree, or an empty string."""
        return self._problems.get(unit, "")

    def _run(self) -> None:
        """Compute trees until none is requested."""
        while True:
            unit, text = next(iter(self._waiting.items()))
            try:
                self._compute(unit, text)
                problem = ""
            except NonprojError as error:
                problem = str(error)
            except Exception:
                log.exception("the tree of a sentence cannot be computed")
                problem = "internal error; see the messages of 'nonproj annotate'"
            with self._lock:
                del self._waiting[unit]
                self._problems[unit] = problem
                if not self._waiting:
                    return
