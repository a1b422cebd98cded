"""Publish wheels and source distributions: those of nonproj, and packages of models, which have their cards in them.

    python packaging/publish.py dist models/wheels                          # to PyPI
    python packaging/publish.py models/wheels --index http://localhost:8080

Twine checks all of them, and uploads nothing if one is not in order.  It reads the account from ~/.pypirc or from the
environment (TWINE_USERNAME, TWINE_PASSWORD).  Files that are on PyPI already are skipped, so a stopped run
can be repeated.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def packages_in(folders: list[Path]) -> list[str]:
    """Return the packages in some folders, by folder and name.

    Examples
    --------
    >>> packages_in([Path(__file__).parent])
    []
    """
    return [str(path) for folder in folders for ending in ("*.whl", "*.tar.gz") for path in sorted(folder.glob(ending))]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="packaging/publish.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="folders of packages")
    parser.add_argument("--index", metavar="URL", help="where to upload them (default: PyPI)")
    options = parser.parse_args(arguments)
    files = packages_in(options.folders)
    if not files:
        parser.error(f"no packages in {', '.join(map(str, options.folders))}; make them with: make dist, make models")
    if find_spec("twine") is None:
        parser.error("twine is not installed; run: pip install twine")
    twine = [sys.executable, "-P", "-m", "twine"]
    target = ["--repository-url", options.index] if options.index else ["--skip-existing"]  # only PyPI knows this
    for command in (["check", "--strict"], ["upload", "--non-interactive", *target]):
        if code := subprocess.run([*twine, *command, *files], check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
