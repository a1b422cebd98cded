"""Results on disk: a CSV file for each unit of work, written when the unit is complete, so that runs can resume."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nonproj.io.temporary import replacing

Row = dict[str, object]
"""A row of a table: numbers and strings by column."""


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file; rename it to ``path`` unless an exception is raised.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with appearing(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("one")
    >>> [path.name for path in folder.iterdir()]
    ['a.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        yield temporary


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows; missing values become empty cells."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with appearing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def _short(value: object) -> object:
    """Round numbers to seven digits."""
    return f"{value:.7g}" if isinstance(value, float) else value


def read_rows(path: Path) -> list[Row]:
    """Read rows; convert cells that look like numbers.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_rows(path, [{"language": "danish", "sentences": 322, "uas": 0.91}])
    >>> read_rows(path)
    [{'language': 'danish', 'sentences': 322, 'uas': 0.91}]
    """
    with open(path, encoding="utf-8", newline="") as stream:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(stream)]


def stored(path: Path, run: Callable[[], Sequence[Row]]) -> list[Row]:
    """Return the rows of a unit of work from its file, which is written first if it is missing.

    They are read back, so that resumed and uninterrupted runs have the same digits.
    """
    if not path.exists():
        logging.getLogger("experiments").info("%s, %s", path.parent.name, path.stem)
        write_rows(path, run())
    return read_rows(path)


def known(path: Path) -> list[Row]:
    """Return the rows of a file, none if there is no file."""
    return read_rows(path) if path.exists() else []


def replace_rows(path: Path, language: str, rows: Sequence[Row], order: Sequence[str]) -> None:
    """Replace the rows of a language in a file; languages are in this order."""
    kept = [row for row in known(path) if row["language"] != language]
    write_rows(path, sorted([*kept, *rows], key=lambda row: order.index(str(row["language"]))))


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
