"""Make the pages of results again that were measured on an earlier version, one after the other.

    python -m research.experiments.figures               # all of them; hours.  A stopped run can be resumed
    python -m research.experiments.figures text table1   # these, if they are of an earlier version

Pages about encoders need PyTorch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from nonproj.kernels.interpreters import environment, python
from research.experiments.provenance import EXPERIMENTS, is_current, sections
from research.experiments.setting import ROOT
from research.experiments.text import NOTE

ENCODERS = ("neural",)
"""Experiments that fine-tune encoders; they are the last."""


def commands() -> dict[str, list[str]]:
    """Return the arguments of Python that make each page or section, by its name in `sections`, in order."""
    names = ("text", "audit", "proofs", "annotating", "confidence", "graphs", *EXPERIMENTS)
    found = {name: ["-m", "research.experiments", name] for name in names}
    found |= {
        name: ["-m", "systems.experiments", name]
        for name in ("lexicalised", "constituency", "mrf", "translation", "tsp")
    }
    return found | {name: ["-m", "research.experiments", name] for name in ENCODERS}


def is_stale(name: str) -> bool:
    """Return whether a page or section was made by an earlier version, as a whole or, by a remark on it, in part."""
    page, title, _ = sections()[name]
    return not is_current(name) or (not title and NOTE in (ROOT / page).read_text(encoding="utf-8"))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is that of the first command that fails."""
    made = commands()
    parser = argparse.ArgumentParser(prog="python -m research.experiments.figures", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(made)} (default: all)")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder to fetch treebanks into")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in made:
            parser.error(f"unknown page {name}; choose from {', '.join(made)}")
    stale = [name for name in sections() if is_stale(name)]
    for name in [each for each in options.names or made if each in stale]:
        if name in ENCODERS and find_spec("torch") is None:
            sys.stdout.write(f"{name}: needs PyTorch; run: pip install '.[train-encoder]'\n")
            continue
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        command = python(*made[name], "--data", str(options.data))
        if code := subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
