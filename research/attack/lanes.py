"""The lanes of the attack; a new one is a line here, and a line in the table of `README.md`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from research.attack.campaign import Lane


class Entry(NamedTuple):
    """A lane.

    Attributes
    ----------
    path : str
        Module and class.
    weight : float
        Its share of the time, relative to the others'.
    patience : float
        Seconds after which a case counts as a hang.
    least : int
        Minimum number of tries for the published figures.
    what : str
        Description of the attack.
    """

    path: str
    weight: float
    patience: float
    least: int
    what: str


LANES = {
    "reads": Entry("research.attack.reads:Reads", 3, 30.0, 1_000_000, "damaged treebanks read"),
    "parses": Entry("research.attack.parses:Parses", 3, 180.0, 100_000, "damaged treebanks parsed"),
    "exact": Entry("research.attack.exact:Exact", 3, 60.0, 100_000, "random instances, compared with enumeration"),
    "models": Entry("research.attack.models:Models", 3, 120.0, 20_000, "damaged or forged models and checkpoints"),
    "tagger": Entry("research.attack.components:Tagger", 2, 60.0, 2_000, "forged taggers and lemmatizers"),
    "segmenter": Entry("research.attack.components:Segmenter", 2, 60.0, 2_000, "forged segmenters"),
    "network": Entry("research.attack.components:Network", 2, 60.0, 2_000, "forged networks"),
    "encoder": Entry("research.attack.components:Encoder", 2, 60.0, 2_000, "forged encoders"),
    "confidence": Entry("research.attack.components:Confidence", 2, 60.0, 2_000, "forged confidence classifiers"),
    "text": Entry("research.attack.text:PlainText", 2, 60.0, 10_000, "plain texts segmented"),
    "server": Entry("research.attack.server:Server", 2, 60.0, 2_000, "requests, malformed or half sent"),
    "floods": Entry("research.attack.floods:Floods", 2, 180.0, 10, "floods of connections to a live server"),
    "options": Entry("research.attack.options:Options", 2, 60.0, 1_000, "damaged configurations and templates"),
    "kills": Entry("research.attack.kills:Kills", 2, 180.0, 200, "kills"),
    "writes": Entry("research.attack.writes:Writes", 2, 180.0, 400, "operations on files that fail, full disks"),
    "cache": Entry("research.attack.planted:Cache", 1, 60.0, 300, "attempts to plant compiled code"),
    "imports": Entry("research.attack.planted:Imports", 1, 300.0, 10, "helpers started beside planted modules"),
}
"""All lanes, in the order of their runs."""


def make_lane(name: str, folder: Path, lanes: Mapping[str, Entry] = LANES) -> Lane:
    """Return a lane that works in this folder."""
    module, _, kind = lanes[name].path.partition(":")
    lane: Lane = getattr(importlib.import_module(module), kind)(folder)
    return lane
