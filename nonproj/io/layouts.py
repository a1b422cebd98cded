"""Files whose columns are not the ten of CoNLL-U: CoNLL-U Plus and CoNLL-2009.

CoNLL-U Plus names its columns in its first line, as in ``# global.columns = ID FORM HEAD DEPREL PARSEME:MWE``.
CoNLL-2009 has fourteen columns and one more for each predicate of a sentence; it is recognised by its values, which
cannot be those of CoNLL-U with extra columns.

A sentence keeps its lines with the ten columns of CoNLL-U first, and all others after them; `restored` writes them in
the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
"""The columns of CoNLL-U."""

_HEADER = re.compile(r"(#\s*global\.columns\s*=)([^\r\n]*)")
_NUMBER = re.compile(r"[0-9]{1,9}|_")


class ColumnLayout(NamedTuple):
    """The columns of a file.

    Attributes
    ----------
    order : tuple of int
        For each column of the file, its place in `nonproj.types.Sentence.lines`, where those of `NAMES` come first.
        Columns of `NAMES` that a file in CoNLL-U Plus lacks are added at the end.
    width : int
        The number of columns that are read.
    more : bool
        Whether lines may have more columns.
    names : tuple of str
        The names of the columns, for the first line of CoNLL-U Plus.
    """

    order: tuple[int, ...]
    width: int
    more: bool
    names: tuple[str, ...]

    def standard(self, line: str) -> str:
        """Return a line of the file with its columns in the places of `order`.

        Raises ValueError if it has another number of columns.
        """
        if line.lstrip("\ufeff").startswith("#"):
            return self._named(line)
        if not line.strip("\ufeff \t\r\n"):
            return line
        body = line.rstrip("\r\n")
        cells = body.split("\t")
        if len(cells) < self.width or (len(cells) > self.width and not self.more):
            least = f"{self.width} or more" if self.more else f"{self.width}"
            raise ValueError(f"{len(cells)} column{'s' * (len(cells) > 1)}, {least} expected, as in the lines before")
        placed = ["_"] * max(len(NAMES), 1 + max(self.order))
        for place, cell in zip(self.order, cells, strict=False):
            placed[place] = cell
        return "\t".join([*placed, *cells[self.width :]]) + line[len(body) :]

    def header(self, line: str) -> str:
        """Return a file's first line, with these columns named, if it names columns; else an empty string."""
        return self._named(line) if _HEADER.match(line.removeprefix("\ufeff")) else ""

    def _named(self, line: str) -> str:
        """Return a comment; if it names the columns, names of added columns are included."""
        match = _HEADER.match(line.removeprefix("\ufeff"))
        if match is None or len(self.order) == self.width:
            return line
        mark = "\ufeff" * line.startswith("\ufeff")
        return f"{mark}{match[1]} {' '.join(self.names)}{line[len(mark) + match.end() :]}"


def restored(line: str, order: Sequence[int] | None) -> str:
    """Return a line of a sentence with its columns in the order of its file: see `ColumnLayout`.

    Examples
    --------
    >>> restored("1\\tGo\\tgo\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\t*\\n", (0, 10, 1, 6, 7)).split("\\t")
    ['1', '*', 'Go', '0', 'root\\n']
    """
    if order is None or line.lstrip("\ufeff").startswith("#") or "\t" not in line:
        return line
    body = line.rstrip("\r\n")
    cells = body.split("\t")
    return "\t".join([*map(cells.__getitem__, order), *cells[max(order) + 1 :]]) + line[len(body) :]


def ten_columns(lines: Sequence[str]) -> list[str]:
    """Return the lines of a sentence with the columns of CoNLL-U only, and without the names of the columns.

    Examples
    --------
    >>> lines = ["# global.columns = ID FORM\\n", "1\\tGo\\tgo\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\t*\\n"]
    >>> ten_columns(lines)[1].expandtabs(5)
    '1    Go   go   VERB _    _    0    root _    _\\n'
    """
    found = []
    for line in lines:
        body = line.rstrip("\r\n")
        if _HEADER.match(line.removeprefix("\ufeff")):
            found.append("")
        else:
            found.append("\t".join(body.split("\t")[: len(NAMES)]) + line[len(body) :])
    return found


def layout_of(lines: Sequence[str]) -> ColumnLayout | None:
    """Return the layout of a file by the lines of its first sentence; None for the ten columns of CoNLL-X and CoNLL-U.

    Raises
    ------
    ValueError
        The first line names columns twice, or neither ID nor FORM.

    Examples
    --------
    >>> layout_of(["# global.columns = ID FORM PARSEME:MWE\\n"]).order
    (0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9)
    >>> layout_of(["1\\tGo\\tgo\\tgo\\tVB\\tVB\\t_\\t_\\t0\\t0\\tROOT\\tROOT\\tY\\tgo.01\\n"]).order
    (0, 1, 2, 10, 3, 11, 5, 12, 6, 13, 7, 14, 15, 16)
    >>> layout_of(["1\\tGo\\tgo\\tVB\\t_\\t_\\t0\\troot\\t_\\t_\\t_\\t_\\t_\\t_\\n"])
    """
    header = _HEADER.match(lines[0].removeprefix("\ufeff")) if lines else None
    if header is not None:
        return _plus(header[2].split())
    rows = [line.rstrip("\r\n").split("\t") for line in lines if not line.startswith("#") and line.strip(" \t\r\n")]
    return _CONLL_2009 if rows and all(map(_may_be_2009, rows)) and any(map(_is_2009, rows)) else None


def _plus(names: list[str]) -> ColumnLayout | None:
    """Return the layout of CoNLL-U Plus with these columns; None if they are those of CoNLL-U."""
    if tuple(names) == NAMES:
        return None
    if len(set(names)) < len(names):
        raise ValueError("# global.columns names a column twice")
    if not {"ID", "FORM"} <= set(names):
        raise ValueError("# global.columns does not name the columns ID and FORM")
    others = [name for name in names if name not in NAMES]
    places = {name: place for place, name in enumerate((*NAMES, *others))}
    full = (*names, *(name for name in NAMES if name not in names))
    return ColumnLayout(tuple(places[name] for name in full), len(names), False, full)


_2009 = "ID FORM LEMMA PLEMMA UPOS PPOS FEATS PFEAT HEAD PHEAD DEPREL PDEPREL FILLPRED PRED"
_CONLL_2009 = ColumnLayout((0, 1, 2, 10, 3, 11, 5, 12, 6, 13, 7, 14, 15, 16), 14, True, tuple(_2009.split()))
"""CoNLL-2009, whose column POS is read as UPOS; it has no XPOS, DEPS and MISC."""


def _may_be_2009(row: list[str]) -> bool:
    """Return whether a line may be one of CoNLL-2009: a number or ``_`` in HEAD and PHEAD, Y or ``_`` in FILLPRED."""
    return len(row) >= 14 and all(map(_NUMBER.fullmatch, row[8:10])) and row[12] in ("_", "Y")


def _is_2009(row: list[str]) -> bool:
    """Return whether a line can only be one of CoNLL-2009.

    A line of CoNLL-U has neither a number in DEPS or MISC without one in HEAD, nor the same value in LEMMA and UPOS, or
    in XPOS and FEATS.
    """
    headed = row[8:10] != ["_", "_"] and not row[6].isdecimal()
    return headed or row[2] == row[3] != "_" or row[4] == row[5] != "_"
