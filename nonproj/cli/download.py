"""``nonproj download``: a published model, into the cache from which it is loaded."""

from __future__ import annotations

import argparse
import sys

from nonproj.errors import one_line
from nonproj.model.catalogue import published
from nonproj.model.hub import from_hub


def run(options: argparse.Namespace) -> int:
    """Download a published model, and print the name by which commands find it, and its file."""
    name = published(options.name)
    sys.stdout.write(f"{name}: {one_line(str(from_hub(name)))}\n")
    return 0
