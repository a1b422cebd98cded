"""Views of the sentences by the present model, kept until the sentence or the model changes."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict

from nonproj_workbench.annotation.draft import Draft, EditError
from nonproj_workbench.annotation.history import Unit
from nonproj_workbench.annotation.operations import apply
from nonproj_workbench.annotation.suggesting import Suggester
from nonproj_workbench.annotation.views import View, view_of

KEPT_VIEWS = 512
"""Number of sentences whose view is kept."""


class Shown:
    """Views of sentences; threads may share it, and compute at the same time.

    Parameters
    ----------
    suggester : Suggester or None
    trust : str
        See `nonproj_workbench.annotation.decisions.TRUST`.

    Attributes
    ----------
    clock : int
        Advances when the doubt of a sentence changes.
    """

    def __init__(self, suggester: Suggester | None, trust: str):
        self.suggester, self.trust = suggester, trust
        self.clock = 0
        self._models = 0
        self._views: OrderedDict[tuple[str, int], View] = OrderedDict()
        self._lock = threading.Lock()

    def exchange(self, suggester: Suggester) -> None:
        """Suggest trees by another model from now on."""
        with self._lock:
            self.suggester = suggester
            self._models += 1

    def _present(self) -> tuple[Suggester | None, int]:
        """Return the present model and its number."""
        with self._lock:
            return self.suggester, self._models

    def view(self, unit: Unit) -> View:
        """Return the values that the page shows for a sentence."""
        text, (suggester, models) = unit.text, self._present()
        key = text, models
        with self._lock:
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        found = view_of(text, suggester, self.trust)
        self._keep(key, found)
        self._set_doubt(unit, text, found)
        return found

    def _keep(self, key: tuple[str, int], view: View) -> None:
        """Keep the view of the lines of a sentence by one of the models."""
        with self._lock:
            self._views[key] = view
            while len(self._views) > KEPT_VIEWS:
                self._views.popitem(last=False)

    def compute(self, text: str) -> Draft:
        """Return a long sentence with the tree that is computed on demand, and keep its view."""
        suggester, models = self._present()
        draft = apply({"op": "decode"}, view_of(text, suggester, self.trust), suggester, self.trust)
        self._keep((draft.text(), models), view_of(draft.text(), suggester, self.trust, on_demand=True))
        return draft

    def measured(self, unit: Unit) -> object:
        """Return a value that changes when the doubt of a sentence must be computed again."""
        return unit.text, self._models

    def measure(self, unit: Unit) -> None:
        """Compute the doubt of a sentence."""
        text, suggester = unit.text, self.suggester
        with contextlib.suppress(EditError):
            self._set_doubt(unit, text, view_of(text, suggester, self.trust))

    def _set_doubt(self, unit: Unit, text: str, view: View) -> None:
        """Set the doubt of a sentence, if it is still the one that is shown."""
        with self._lock:
            if unit.text == text and unit.doubt != view.doubt:
                self.clock += 1
                unit.doubt, unit.stamp = view.doubt, self.clock
