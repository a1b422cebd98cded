"""Generate systems/docs/commands.md from the commands.

    python systems/docs/reference.py

systems/tests/project/test_systems_documentation.py checks that the page is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

SYSTEMS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SYSTEMS), str(SYSTEMS.parent / "docs")]  # the checkout's package; the other program of this name

from reference import command_page  # noqa: E402

from nonproj_systems.cli import COMMANDS, build_parser  # noqa: E402

HEAD = """# The commands of the systems

A file may be `-` (standard input or output) or end in `.gz`. The exit code is 0, or 2 after an error.
`systems/docs/reference.py` generates this page.
"""


def page() -> str:
    """Return the page of all commands."""
    parser = build_parser()
    parser.commands = {name: build_parser(name).commands[name] for name in COMMANDS}
    return command_page(HEAD, parser)


def main() -> None:
    """Write the page."""
    (SYSTEMS / "docs" / "commands.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
