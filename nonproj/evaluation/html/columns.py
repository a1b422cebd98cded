"""The columns and lines of a sentence that the page does not draw, so that it can search and export CoNLL-U."""

from __future__ import annotations

from typing import Any

from nonproj.evaluation.html.items import ReportItem
from nonproj.io import conll
from nonproj.io.checks import BOM
from nonproj.io.copies import as_conllu
from nonproj.pictures.content import shown


class Numbering(dict[str, int]):
    """The number of each string, in the order of first use.

    Examples
    --------
    >>> numbers = Numbering({"": 0})
    >>> numbers["a"], numbers["b"], numbers["a"], list(numbers)
    (1, 2, 1, ['', 'a', 'b'])
    """

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


COLUMNS = (2, 4, 8, 9)
"""LEMMA, XPOS, DEPS and MISC; FORM, UPOS, FEATS and the trees are in the page anyway."""


def columns_of(item: ReportItem, strings: Numbering, tags: Numbering) -> dict[str, Any]:
    """Return the remaining columns and lines of a sentence.

    Parameters
    ----------
    item : ReportItem
    strings, tags : Numbering
        The strings of `COLUMNS`, of which ``_`` is the first, and those of tags.

    Returns
    -------
    dict
        ``x``, the numbers of the strings in each of `COLUMNS`, or 0 if all are ``_``; ``u``, those of UPOS if the tag
        shown is XPOS anywhere; ``z``, the positions and texts of lines that are not words, up to the blank line; and
        ``o``, the text of the sentence, if it cannot be made from these, for example for its line endings.

    Examples
    --------
    >>> import io
    >>> from nonproj.evaluation.html.items import from_files
    >>> text = "# sent_id = 1\\n1\\tRegn\\tregn\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n\\n"
    >>> item = next(from_files(conll.read(io.StringIO(text))))
    >>> columns_of(item, Numbering({"_": 0}), Numbering({"": 0}))
    {'x': [[1], [2], 0, 0], 'z': [[0, '# sent_id = 1']]}
    """
    sentence = as_conllu(item.sentence)
    deps = conll.KEEP if conll.has_tree(sentence, item.heads.tolist(), item.labels) else conll.DROP
    text = conll.replace(sentence, item.heads, item.labels, deps=deps)
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if line.removeprefix(BOM).partition("\t")[0].isdigit()]
    rows = [lines[place].rstrip("\r").split("\t") for place in places]
    found: dict[str, Any] = {"x": [_column([row[column] for row in rows], strings) for column in COLUMNS]}
    if any(row[3] == "_" != row[4] for row in rows):
        found["u"] = [tags[shown(row[3])] for row in rows]
    words, blank = set(places), len(lines) - 2
    others = [(place, line) for place, line in enumerate(lines[: max(blank, 0)]) if place not in words]
    if others:
        found["z"] = [list(pair) for pair in others]
    blank_inside = any(not line.strip() for _, line in others) or any("" in row for row in rows)
    if not text.endswith("\n\n") or "\r" in text or blank_inside:
        found["o"] = text
    return found


def _column(column: list[str], strings: Numbering) -> list[int] | int:
    """Return the numbers of strings, or 0 if all are absent."""
    return [strings[text] for text in column] if any(text != "_" for text in column) else 0
