"""The sentences of a file in memory, and their list; a sentence is parsed into columns only when it is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from nonproj.io.checks import BOM
from nonproj.io.columns import DEPREL, FEATS, UPOS, XPOS
from nonproj_workbench.annotation.answers import TEXT_CHARACTERS, text_of
from nonproj_workbench.annotation.decisions import COMMENT, DONE, decisions_of
from nonproj_workbench.annotation.draft import Draft
from nonproj_workbench.annotation.history import Replacement, Unit

MOST_VALUES = 1000
"""Maximum number of values offered for a column, the most frequent ones."""


class Row(NamedTuple):
    """A sentence in the list."""

    id: str
    text: str
    words: int
    done: int
    decided: int


class Treebank:
    """The sentences of a file.

    Parameters
    ----------
    texts : sequence of str
        The lines of each sentence.
    trust : str
        See `nonproj_workbench.annotation.decisions.TRUST`.

    Attributes
    ----------
    units : list of Unit
    values : dict of str to Counter
        The values of the columns of tags and labels when the file was opened.
    """

    def __init__(self, texts: Sequence[str], trust: str):
        self.units, self.trust = list(map(Unit, texts)), trust
        self._rows: dict[Unit, tuple[str, Row]] = {}
        self.values = count_values(texts)

    @property
    def texts(self) -> list[str]:
        """The lines of each sentence."""
        return [unit.text for unit in self.units]

    @property
    def form(self) -> str:
        """The format: ``conllu`` if there are ``sent_id``, multiword tokens, empty nodes or DEPS, else ``conllx``."""
        return "conllu" if any(map(_is_universal, (unit.text for unit in self.units))) else "conllx"

    def replace(self, replacement: Replacement) -> None:
        """Replace some sentences by others."""
        for unit, text in zip(replacement.units, replacement.texts, strict=True):
            unit.text = text
        self.units[replacement.at : replacement.at + replacement.removed] = replacement.units

    def row(self, unit: Unit) -> Row:
        """Return a sentence's row in the list, without its number."""
        known = self._rows.get(unit)
        if known is None or known[0] != unit.text:
            known = unit.text, row_of(unit.text, self.trust)
            self._rows[unit] = known
        return known[1]

    @property
    def is_unmarked(self) -> bool:
        """Whether there are heads, but no decisions and no sentences that are done."""
        rows = list(map(self.row, self.units))
        return bool(self.values["labels"]) and not any(row.done or row.decided for row in rows)

    def count_done(self) -> int:
        """Return the number of sentences that are done."""
        return sum(self.row(unit).done for unit in self.units)

    def columns(self) -> dict[str, list[Any]]:
        """Return the list of sentences, column by column."""
        rows = list(map(self.row, self.units))
        return {
            "id": [row.id or str(i) for i, row in enumerate(rows, 1)],
            "text": [row.text for row in rows],
            "words": [row.words for row in rows],
            "done": [row.done for row in rows],
            "decided": [row.decided for row in rows],
            "doubt": [unit.doubt for unit in self.units],
        }


def row_of(text: str, trust: str) -> Row:
    r"""Return a sentence's row in the list.

    Examples
    --------
    >>> row_of("# sent_id = a\n# annotation = done\n1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\t_\n\n", "done")
    Row(id='a', text='Regn', words=1, done=1, decided=1)
    """
    comments = [line for line in text.removeprefix(BOM).split("\n") if line.startswith("#")]
    values = {key.strip(): value.strip() for key, _, value in (line[1:].partition("=") for line in reversed(comments))}
    if "Head=" in text or "Deprel=" in text or COMMENT in values or trust == "all" or "text" not in values:
        draft = Draft.of(text)
        decided = decisions_of(draft, trust)
        return Row(values.get("sent_id", ""), text_of(draft), len(draft.places), int(decided.done), decided.size)
    words = sum(line.partition("\t")[0].isdecimal() for line in text.removeprefix(BOM).split("\n"))
    return Row(values.get("sent_id", ""), values["text"][:TEXT_CHARACTERS], words, int(values.get(COMMENT) == DONE), 0)


def count_values(texts: Iterable[str]) -> dict[str, Counter[str]]:
    """Return the counts of the values of each column of tags and labels."""
    columns = {"labels": DEPREL, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
    rows: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        for line in text.split("\n"):
            cells = line.split("\t", DEPREL + 1)
            if len(cells) > DEPREL and "-" not in cells[0]:
                rows[cells[UPOS], cells[XPOS], cells[FEATS], cells[DEPREL]] += 1
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for (upos, xpos, feats, label), count in rows.items():
        for name, value in (("labels", label), ("upos", upos), ("xpos", xpos), ("feats", feats)):
            counts[name][value] += count
    for values in counts.values():
        del values["_"]
    return counts


def offered(counts: Counter[str], others: Sequence[str] = ()) -> list[str]:
    """Return the values to offer for a column, the most frequent ones first.

    Examples
    --------
    >>> offered(Counter(a=1, b=2), ["c", "a"])
    ['b', 'a', 'c']
    """
    known = [value for value, _ in counts.most_common(MOST_VALUES)]
    return known + [value for value in others if value not in counts]


def _is_universal(text: str) -> bool:
    """Return whether a sentence has anything that only CoNLL-U allows."""
    if text.removeprefix(BOM).lstrip("\r\n").startswith("#") and "# sent_id" in text:
        return True
    for line in text.split("\n"):
        cells = line.split("\t")
        if len(cells) == 10 and ("-" in cells[0] or "." in cells[0] or ":" in cells[8]):
            return True
    return False
