"""The lanes of the attack on the workbench."""

from __future__ import annotations

from research.attack.lanes import Entry

LANES = {
    "floods": Entry("workbench.attack.floods:Floods", 2, 180.0, 10, "floods of connections to live annotators"),
    "changes": Entry(
        "workbench.attack.changes:Changes", 1, 60.0, 1_000, "files saved while another program changes them"
    ),
    "imports": Entry("workbench.attack.planted:Imports", 1, 300.0, 10, "training started beside planted modules"),
}
