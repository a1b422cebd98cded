"""Writes the figures of the campaign into its page."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from research.attack.campaign import ROOT
from research.attack.lanes import LANES

PAGE = ROOT / "research" / "attack" / "README.md"
HEADING = "## Figures\n"


def write(folder: Path) -> int:
    """Write the page from the results in a folder; return 1 if they contain failures."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    if not results:
        sys.stderr.write(f"there are no results in {folder}\n")
        return 2
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    return int(any(result["failures"] for result in results))


def page(before: str, results: list[dict]) -> str:
    """Return the page: its text up to the figures remains.

    Examples
    --------
    >>> result = {"lane": "reads", "seed": 7, "tried": 12345, "failures": [], "outcomes": {"read": 12345}}
    >>> "| `reads` | 12,345 | 0 |" in page("", [result])
    True
    """
    lines = [before.partition(HEADING)[0] + HEADING, "| lane | tried | failed | what is counted | seeds |"]
    lines.append("|---|---|---|---|---|")
    for name in LANES:
        group = [result for result in results if result["lane"] == name]
        if group:
            tried, failed = sum(each["tried"] for each in group), sum(len(each["failures"]) for each in group)
            seeds = ", ".join(str(each["seed"]) for each in group)
            lines.append(f"| `{name}` | {tried:,} | {failed} | {LANES[name].what} | {seeds} |")
    failures = [(result, failure) for result in results for failure in result["failures"]]
    if failures:
        lines += ["", "Failures not yet repaired:", ""]
    for result, failure in failures:
        last = (failure["what"].strip().splitlines() or ["?"])[-1].replace("`", "'")[:200]
        lines.append(f"- `{result['lane']} --seed {result['seed']} --case {failure['case']}`: {last}")
    return "\n".join(lines) + "\n"


def struck(results: list[dict]) -> int:
    """Return the number of kills that hit a running process."""
    counts = sum((Counter(result["outcomes"]) for result in results if result["lane"] == "kills"), Counter())
    return sum(count for outcome, count in counts.items() if "had ended before" not in outcome and outcome != "failed")
