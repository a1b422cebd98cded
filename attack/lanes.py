"""The lanes of the attack; to add one is one line here, and a line in the introduction's table."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from attack.campaign import Lane


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
        The number of tries of which the figures are made, at least.
    what : str
        What is tried.
    """

    path: str
    weight: float
    patience: float
    least: int
    what: str


LANES = {
    "reads": Entry("attack.reads:Reads", 3, 30.0, 1_000_000, "damaged treebanks read"),
    "parses": Entry("attack.parses:Parses", 3, 180.0, 100_000, "damaged treebanks parsed"),
    "exact": Entry("attack.exact:Exact", 3, 60.0, 100_000, "random instances, compared with enumeration"),
    "models": Entry("attack.models:Models", 3, 120.0, 20_000, "damaged or forged models and checkpoints"),
    "tagger": Entry("attack.components:Tagger", 2, 60.0, 2_000, "forged taggers and lemmatizers"),
    "segmenter": Entry("attack.components:Segmenter", 2, 60.0, 2_000, "forged segmenters"),
    "network": Entry("attack.components:Network", 2, 60.0, 2_000, "forged networks"),
    "encoder": Entry("attack.components:Encoder", 2, 60.0, 2_000, "forged encoders"),
    "folders": Entry("attack.folders:Folders", 2, 60.0, 2_000, "damaged folders of encoders"),
    "confidence": Entry("attack.components:Confidence", 2, 60.0, 2_000, "forged confidence classifiers"),
    "text": Entry("attack.text:PlainText", 2, 60.0, 10_000, "plain texts segmented"),
    "server": Entry("attack.server:Server", 2, 60.0, 2_000, "requests, malformed or half sent"),
    "floods": Entry("attack.floods:Floods", 2, 180.0, 10, "floods of connections to a live server"),
    "vectors": Entry("attack.vectors:Vectors", 1, 30.0, 100_000, "damaged files of word vectors"),
    "options": Entry("attack.options:Options", 2, 60.0, 1_000, "damaged configurations, templates, command lines"),
    "kills": Entry("attack.kills:Kills", 2, 180.0, 200, "kills"),
    "writes": Entry("attack.writes:Writes", 2, 180.0, 400, "operations on files that fail, full disks"),
    "load": Entry("attack.load:Load", 2, 86_400.0, 3, "runs over a large file"),
    "cache": Entry("attack.planted:Cache", 1, 60.0, 300, "attempts to plant compiled code"),
    "imports": Entry("attack.planted:Imports", 1, 300.0, 10, "helpers started beside planted modules"),
    "structured": Entry("attack.structured:Structured", 1, 600.0, 5, "runs of hypothesis"),
    "fuzz": Entry("attack.fuzz:Fuzz", 1, 86_400.0, 3, "runs of the fuzzer"),
}
"""All lanes, in the order in which they run."""


def make_lane(name: str, folder: Path, lanes: Mapping[str, Entry] = LANES) -> Lane:
    """Return a lane that works in this folder."""
    module, _, kind = lanes[name].path.partition(":")
    lane: Lane = getattr(importlib.import_module(module), kind)(folder)
    return lane
