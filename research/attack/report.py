"""Writes the page with the figures of the campaign from the result files."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from research.attack.campaign import ROOT
from research.attack.lanes import LANES

PAGE = ROOT / "research" / "attack" / "README.md"

INTRODUCTION = (ROOT / "research" / "attack" / "introduction.md").read_text(encoding="utf-8")
"""The part of the page without figures."""


def write(folder: Path) -> int:
    """Write the page from the results in a folder; return 1 if they contain failures."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    if not results:
        sys.stderr.write(f"there are no results in {folder}\n")
        return 2
    PAGE.write_text(page(results), encoding="utf-8")
    return int(any(result["failures"] for result in results))


def page(results: list[dict]) -> str:
    """Return the page.

    Examples
    --------
    >>> result = {"lane": "reads", "seed": 7, "tried": 12345, "failures": [], "outcomes": {"read": 12345}, "notes": {}}
    >>> result |= {"source": "0123456789ab"}
    >>> "| `reads` | 12,345 | 0 |" in page([result | {"seconds": 9.5, "processor_seconds": 9.0, "peak_mb": 80.0}])
    True
    """
    groups: dict[str, list[dict]] = {name: [] for name in LANES}
    for result in results:
        groups[result["lane"]].append(result)
    lines = [INTRODUCTION, "## Figures", ""]
    lines += [
        "| lane | tried | failed | what is counted | seeds | minutes | peak memory, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, group in groups.items():
        if group:
            lines.append(_row(name, group))
    sources = ", ".join(f"`{digest}`" for digest in sorted({result["source"] for result in results}))
    lines += ["", f"Sources that were attacked, by their digest: {sources}."]
    lines += ["", "### Outcomes", "", "| lane | outcome | number |", "|---|---|---|"]
    for name, group in groups.items():
        counts = sum((Counter(result["outcomes"]) for result in group), Counter())
        lines += [f"| `{name}` | {outcome} | {count:,} |" for outcome, count in sorted(counts.items())]
    notes = _notes(groups)
    lines += ["", "### Further figures", "", *notes] if notes else []
    lines += ["", "## Faults found, and repaired", "", "| lane | fault | repair |", "|---|---|---|"]
    lines += [f"| `{fault['lane']}` | {fault['fault']} | {fault['repair']} |" for fault in _found()]
    failures = [(result, failure) for result in results for failure in result["failures"]]
    if failures:
        lines += ["", "## Failures not yet repaired", ""]
        for result, failure in failures:
            last = (failure["what"].strip().splitlines() or ["?"])[-1].replace("`", "'")[:200]
            lines.append(f"- `{result['lane']} --seed {result['seed']} --case {failure['case']}`: {last}")
    return "\n".join(lines) + "\n"


def _row(name: str, group: list[dict]) -> str:
    tried, failed = sum(result["tried"] for result in group), sum(len(result["failures"]) for result in group)
    seeds = ", ".join(str(result["seed"]) for result in group)
    minutes = sum(result["seconds"] for result in group) / 60
    peak = max(result["peak_mb"] for result in group)
    return f"| `{name}` | {tried:,} | {failed} | {LANES[name].what} | {seeds} | {minutes:.1f} | {peak:.0f} |"


def _notes(groups: dict[str, list[dict]]) -> list[str]:
    """Return the further figures of each lane: numbers are added up, but those of the lane of load listed by seed."""
    lines = []
    for name, group in groups.items():
        sums: Counter = Counter()
        for result in group:
            for key, value in result["notes"].items():
                where = f"- `{name}`, {key}" + (f", seed {result['seed']}" if name == "load" else "")
                if isinstance(value, dict):
                    lines.append(f"{where}: " + ", ".join(f"{part} {number:,}" for part, number in value.items()))
                elif isinstance(value, str) or (name == "load" and not isinstance(value, bool)):
                    lines.append(f"{where}: {value if isinstance(value, str) else format(value, ',')}")
                elif not isinstance(value, bool):
                    sums[key] = max(sums[key], value) if key == "edges covered" else sums[key] + value
        lines += [f"- `{name}`, {key}: {value:,}" for key, value in sums.items()]
    if groups["kills"]:
        lines.append(f"- `kills`, those that met what was still running: {struck(groups['kills']):,}")
    return lines


def struck(results: list[dict]) -> int:
    """Return the number of kills that hit a running process."""
    counts = sum((Counter(result["outcomes"]) for result in results if result["lane"] == "kills"), Counter())
    return sum(count for outcome, count in counts.items() if "had ended before" not in outcome and outcome != "failed")


def _found() -> list[dict]:
    import yaml

    return yaml.safe_load((ROOT / "research" / "attack" / "found.yaml").read_text(encoding="utf-8"))
