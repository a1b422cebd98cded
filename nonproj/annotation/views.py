"""A sentence as the page shows it: the file's columns, filled with what the model predicts."""

from __future__ import annotations

from typing import NamedTuple

from nonproj.annotation.decisions import COMMENT, OPEN, Decisions, decisions_of, find_cycle
from nonproj.annotation.draft import DEPREL, Draft, EditError, head_of
from nonproj.annotation.editing import with_tree
from nonproj.annotation.suggesting import Suggester, Suggestion


class View(NamedTuple):
    """What is shown of a sentence.

    Attributes
    ----------
    filed : Draft
        As it is in the file.
    shown : Draft
        With the tags and heads that the model predicts where the file has none.
    decisions : Decisions
    suggestion : Suggestion or None
        The model's best tree under the decisions; None without a model.
    problem : str
        Why there is none although there is a model; or nothing.
    """

    filed: Draft
    shown: Draft
    decisions: Decisions
    suggestion: Suggestion | None = None
    problem: str = ""

    @property
    def is_suggested(self) -> bool:
        """Whether the tree shown is the model's best one under the decisions."""
        return self.suggestion is not None and heads_of(self.shown) == self.suggestion.heads

    def confidence(self, word: int) -> tuple[float | None, float | None]:
        """Return the probability that head and label of an undecided word are correct, or the most that it can be."""
        found = self.suggestion
        if found is None or found.head_confidence is None or found.label_confidence is None:
            return None, None
        row, p, q = self.shown.words[word - 1], found.head_confidence[word - 1], found.label_confidence[word - 1]
        if head_of(row, len(found.heads)) != found.heads[word - 1]:
            return 1.0 - p, 1.0 - p
        return p, q if row[DEPREL] == found.labels[word - 1] else max(0.0, p - q)

    @property
    def doubt(self) -> float | None:
        """One minus the probability of the least certain undecided head; None if unknown, or if all is done."""
        if self.decisions.done:
            return None
        n = len(self.shown.places)
        found = [self.confidence(word)[0] for word in range(1, n + 1) if word not in self.decisions.heads]
        known = [p for p in found if p is not None]
        return round(1.0 - min(known), 4) if known else 0.0 if not found else None

    def is_given(self, word: int) -> bool:
        """Whether the head of a word is the file's, and not one that was predicted earlier."""
        if word in self.decisions.heads:
            return True
        row = self.filed.words[word - 1]
        same = head_of(row, len(self.filed.places)) == head_of(self.shown.words[word - 1], len(self.filed.places))
        return head_of(row, len(self.filed.places)) is not None and same and self.filed.comment(COMMENT) != OPEN


def view_of(text: str, suggester: Suggester | None, trust: str) -> View:
    r"""Return what is shown of a sentence.

    Examples
    --------
    >>> view_of("1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\tHead=0\n\n", None, "done").decisions.heads
    {1: 0}
    """
    filed = Draft.of(text)
    decisions = decisions_of(filed, trust)
    if suggester is None:
        return View(filed, filed, decisions)
    if not suggester.reaches(filed):
        limit = f"at most {suggester.parser.max_words}: decoding.max_words"
        return View(filed, filed, decisions, None, f"the model suggests no tree for {len(filed.places)} words, {limit}")
    try:
        tagged = suggester.tag(filed)
        given = {word: head for word, head in enumerate(heads_of(filed), 1) if head is not None}
        complete = len(given) == len(filed.places) and decisions.heads.items() <= given.items()
        same = all(filed.words[word - 1][DEPREL] == label for word, label in decisions.labels.items())
        if complete and same and (trust != "none" or decisions.done):
            return View(filed, tagged, decisions, suggester.decode(tagged, decisions))
        suggestion = _completed(suggester, tagged, decisions, {} if trust == "none" else given)
        return View(filed, with_tree(tagged, suggestion.heads, suggestion.labels, decisions), decisions, suggestion)
    except EditError as error:
        return View(filed, filed, decisions, None, str(error))


def _completed(suggester: Suggester, draft: Draft, decisions: Decisions, given: dict[int, int]) -> Suggestion:
    """Return the best tree that has the heads of the file, if there is one, or else only the decided ones."""
    heads = given | decisions.heads
    labels = {word: row[DEPREL] for word, row in enumerate(draft.words, 1) if word in heads and row[DEPREL] != "_"}
    if given and not find_cycle(heads):
        try:
            return suggester.decode(draft, decisions._replace(heads=heads, labels=labels | decisions.labels))
        except EditError:  # such as two roots
            pass
    return suggester.decode(draft, decisions)


def heads_of(draft: Draft) -> list[int | None]:
    """Return the head of each word, None where it is absent or not that of another word."""
    words = draft.words
    return [head_of(row, len(words)) for row in words]
