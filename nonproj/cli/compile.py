"""``nonproj compile``."""

from __future__ import annotations

import argparse
import os
import sys

from nonproj.cli.loading import counting_kernels
from nonproj.cli.plugins import warm_ups
from nonproj.cli.warmup import compile_everything
from nonproj.errors import FileError
from nonproj.kernels.folders import IGNORED, kept_in


def run(options: argparse.Namespace) -> int:
    """Compile all kernels of the installed distributions for this processor, and print the cache folder."""
    if not kept_in():
        raise FileError("NONPROJ_CACHE", "there is no folder for compiled kernels; set this variable to one")
    os.environ[IGNORED] = "1"  # for processes that this one starts, too
    others = warm_ups()
    with counting_kernels():
        compile_everything()
        for warm_up in others:
            warm_up()
    sys.stdout.write(f"{kept_in()}\n")
    return 0
