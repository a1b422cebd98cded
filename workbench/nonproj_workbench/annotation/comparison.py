"""Two annotators' files of the same sentences, and their adjudication in a third file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nonproj.errors import FileError, counted
from nonproj.io.checks import ReadingRules
from nonproj.io.columns import DEPREL, FORM, MISC
from nonproj_workbench.annotation.agreement import agreement, differences, forms_of
from nonproj_workbench.annotation.decisions import Decisions, decisions_of, store, without_marks
from nonproj_workbench.annotation.draft import COLUMNS, Draft
from nonproj_workbench.annotation.history import Unit
from nonproj_workbench.annotation.storage import read_texts
from nonproj_workbench.annotation.views import View, heads_of

SOURCES = ("first", "second")


class Comparison:
    """The sentences of two annotators.

    Parameters
    ----------
    paths : sequence of two str
        Paths of the two files.
    rules : ReadingRules
        Rules for reading the files.

    Raises
    ------
    FileError
        The files have different numbers of sentences, or cannot be read.
    """

    def __init__(self, paths: Sequence[str], rules: ReadingRules | None = None):
        self.names = dict(zip(SOURCES, (Path(path).name for path in paths), strict=True))
        if len(set(self.names.values())) < 2:
            self.names = dict(zip(SOURCES, paths, strict=True))
        given = (rules or ReadingRules())._replace(ignore_heads=True)
        for path in paths:
            if not Path(path).is_file():
                raise FileError(path, "no such file" if not Path(path).exists() else "not a file")
        self._texts = [read_texts(path, Path(path), given) for path in paths]
        self._counts: dict[int, tuple[str, int]] = {}
        first, second = map(len, self._texts)
        if first != second:
            message = f"has {counted(second, 'sentence')}, {paths[0]} has {first}; the same sentences are expected"
            raise FileError(paths[1], message)

    def __len__(self) -> int:
        return len(self._texts[0])

    def source(self, i: int, name: str) -> Draft:
        """Return a sentence of an annotator; ``name`` is one of `SOURCES`."""
        return Draft.of(self._texts[SOURCES.index(name)][i])

    def start(self) -> list[str]:
        """Return the sentences to adjudicate, the first annotator's; arcs and labels on which both agree are decided.

        A sentence is done if both have decided it and agree on all of it.
        """
        return [self._start(i) for i in range(len(self))]

    def _start(self, i: int) -> str:
        first, second = self.source(i, "first"), self.source(i, "second")
        agreed: set[int] = set()
        if forms_of(first) == forms_of(second):
            decided = decisions_of(first, "all").heads.keys() & decisions_of(second, "all").heads.keys()
            agreed = decided - {word for word, _ in differences(first, second)}
        labels = {word: row[DEPREL] for word, row in enumerate(first.words, 1) if row[DEPREL] != "_"}
        heads = {word: head for word, head in enumerate(heads_of(first), 1) if head is not None and word in agreed}
        decisions = Decisions(heads, {word: labels[word] for word in heads if word in labels}, {})
        first.set_comment("annotation", "open")
        for row in first.words:
            row[MISC] = without_marks(row[MISC])
        store(first, decisions._replace(done=len(heads) == len(first.places)))
        return first.text()

    def agreement(self) -> dict[str, Any]:
        """Return the agreement of the two: see `nonproj_workbench.annotation.agreement.agreement`."""
        return agreement(zip(*self._texts, strict=True))

    def differs(self, i: int, decisions: Decisions, draft: Draft) -> list[dict[str, Any]]:
        """Return the words and columns in which the annotators differ, and whether each difference is settled.

        Word 0 and the column ``words`` stand for a sentence whose words differ.
        """
        first, second = self.source(i, "first"), self.source(i, "second")
        if forms_of(first) != forms_of(second):
            return [{"word": 0, "column": "words", "settled": decisions.done}]
        if forms_of(draft) != forms_of(first):
            return []
        return [
            {"word": word, "column": column, "settled": decisions.done or word in decisions.heads}
            for word, column in differences(first, second)
        ]

    def count(self, i: int, unit: Unit, trust: str) -> int:
        """Return the number of differing words of a sentence that are not settled."""
        if self._texts[0][i] == self._texts[1][i]:
            return 0
        known = self._counts.get(i)
        if known is None or known[0] != unit.text:
            draft = Draft.of(unit.text)
            found = self.differs(i, decisions_of(draft, trust), draft)
            known = unit.text, len({each["word"] for each in found if not each["settled"]})
            self._counts[i] = known
        return known[1]

    def add_to(self, answer: dict[str, Any], i: int, view: View) -> None:
        """Add both annotators' columns and the differences to the answer for a sentence."""
        names = ("deprel", "upos", "xpos", "feats", "lemma")
        for key, source in (("first", "first"), ("other", "second")):
            draft = self.source(i, source)
            answer[key] = {
                "words": [
                    {"head": head, **{name: row[COLUMNS.index(name)] for name in names}}
                    for row, head in zip(draft.words, heads_of(draft), strict=True)
                ]
            }
        answer["differs"] = self.differs(i, view.decisions, view.shown)


def take_sentence(draft: Draft, source: Draft) -> Draft:
    """Return the draft with the words of another one, multiword tokens and empty nodes included, and its text."""
    new = draft.copy()
    new.rows = [row.copy() for row in source.rows]
    for row in new.rows:
        row[MISC] = without_marks(row[MISC])
    new.endings = [draft.ending] * len(new.rows)
    if [row[FORM] for row in draft.rows] != [row[FORM] for row in source.rows]:
        text = source.comment("text")
        if text is not None:
            new.set_comment("text", text)
    return new
