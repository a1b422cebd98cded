"""Numbers as text, Markdown tables, and a common style of plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from research.experiments.store import Row, appearing

NAMES = {"arc": "arc", "sibling": "sibling", "grandparent": "G+S"}
"""Names of the sets of part types in tables; G+S is the paper's name for grandparents and siblings."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers.

    Examples
    --------
    >>> print(table(["language", "UAS"], [["Danish", "91.78"]]))
    | language | UAS |
    |---|--:|
    | Danish | 91.78 |
    """
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    text = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    text[1] = text[1].replace(" ", "")
    return "\n".join(text)


def percent(share: object, digits: int = 2) -> str:
    """Return a share in per cent, or a dash if there is none."""
    return f"{100 * share:.{digits}f}" if isinstance(share, int | float) else "–"


def beside(paper: object, ours: str) -> str:
    """Return the paper's number, if there is one, and ours in bold."""
    return f"**{ours}**" if paper is None else f"{paper} / **{ours}**"


def seconds(value: float) -> str:
    """Return seconds with two significant digits.

    Examples
    --------
    >>> seconds(0.00123), seconds(1.5)
    ('0.0012', '1.5')
    """
    return f"{float(f'{value:.2g}'):f}".rstrip("0").rstrip(".")


def pick(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def languages(rows: Iterable[Row]) -> list[str]:
    """Return the languages that occur in the rows, in order of occurrence."""
    return list(dict.fromkeys(str(row["language"]) for row in rows))


def shown(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the first language and of English, which the papers have; files have the others, too."""
    return [row for row in rows if row["language"] in (languages(rows)[0], "english")]


def figure(path: Path, panels: int, draw) -> None:
    """Create a figure with panels side by side, fill it with ``draw(axes)`` and save it when it is complete."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(1, panels, figsize=(5.2 * panels, 3.6), squeeze=False, layout="constrained")
    try:
        draw(axes[0])
        for each in axes[0]:
            each.grid(alpha=0.3)
            if each.get_legend_handles_labels()[0]:
                each.legend(fontsize="small")
        with appearing(path) as temporary:
            # No time stamp: the same numbers give the same file.
            drawn.savefig(temporary, dpi=90, metadata={"Software": None})
    finally:
        plt.close(drawn)
