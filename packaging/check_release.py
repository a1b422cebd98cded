"""Check that a checkout is consistently the release of a tag, before anything is built.

    python packaging/check_release.py v1.0.0

Compares the version in all places, the first section of the changelog, and the list of the public interface.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SAYS_VERSION = {
    "nonproj/__init__.py": r'^__version__ = "(.+)"$',
    "systems/nonproj_systems/__init__.py": r'^__version__ = "(.+)"$',
    "workbench/nonproj_workbench/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## (\S+), ",
}
"""Files that repeat the version of pyproject.toml, and where: the first match of a pattern."""

OTHERS = ("systems/pyproject.toml", "workbench/pyproject.toml")
"""The distributions beside nonproj, which have its version, and require exactly that version of it."""


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return the mismatches with a tag, a line each."""
    version = _project(root / "pyproject.toml")["version"]
    found = [] if tag == f"v{version}" else [f"the tag is {tag}; pyproject.toml: v{version}"]
    for name in OTHERS:
        project = _project(root / name)
        needed = next((each for each in project["dependencies"] if re.match(r"nonproj(\[.*\])?==", each)), "none")
        if project["version"] != version or not needed.endswith(f"=={version}"):
            found.append(f"{name}: version {project['version']}, needs {needed}; both of {version} expected")
    for name, pattern in SAYS_VERSION.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if not match or match[1] != version:
            found.append(f"{name}: {match[1] if match else 'no version'}, {version} expected")
    return found + _problems_of_changelog((root / "CHANGELOG.md").read_text(encoding="utf-8"))


def _project(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]


def _problems_of_changelog(text: str) -> list[str]:
    """Return the error in the date of the first section."""
    heading = next(line for line in text.splitlines() if line.startswith("## "))
    try:
        datetime.date.fromisoformat(heading.rpartition(", ")[2])
    except ValueError:
        return [f"CHANGELOG.md: {heading!r}: a date as in 2026-01-31 expected"]
    return []


def main(arguments: list[str]) -> int:
    """Print all problems; return 1 if there are any."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python packaging/check_release.py TAG\n")
        return 2
    found = problems(arguments[0])
    sys.stdout.write("".join(f"{line}\n" for line in found))
    listing = [sys.executable, str(ROOT / "tests" / "compatibility" / "interface.py"), "--check"]
    return int(bool(found)) or subprocess.run(listing, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
