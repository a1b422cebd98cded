"""The lanes of the attack on the systems."""

from __future__ import annotations

from research.attack.lanes import Entry

LANES = {"models": Entry("systems.attack.models:Models", 1, 60.0, 5_000, "damaged or forged models")}
