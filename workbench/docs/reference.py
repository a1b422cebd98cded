"""Generate workbench/docs/commands.md from the commands.

    python workbench/docs/reference.py

workbench/tests/project/test_workbench_documentation.py checks that the page is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

WORKBENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(WORKBENCH),
    str(WORKBENCH.parent / "docs"),
]  # the checkout's package; the other program of this name

from reference import command_page, own_parser  # noqa: E402

from nonproj.cli.arguments import Arguments  # noqa: E402
from nonproj_workbench.commands import ANNOTATE, AUDIT, SEARCH  # noqa: E402

HEAD = """# The commands of the workbench

The exit code is 0, or 2 after an error ([errors and limits](../../docs/errors.md)). Arguments that `nonproj train` or
`nonproj parse` has, too, are explained [there](../../docs/commands.md). `workbench/docs/reference.py` generates this
page.
"""


def page() -> str:
    """Return the page of the commands."""
    parser = Arguments(prog="nonproj")
    commands = {"annotate": ANNOTATE, "audit": AUDIT, "search": SEARCH}
    rows = [(name, each.description, each.add_arguments) for name, each in commands.items()]
    parser.add_commands("command", "COMMAND", rows)
    return command_page(HEAD, parser, own_parser())


def main() -> None:
    """Write the page."""
    (WORKBENCH / "docs" / "commands.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
