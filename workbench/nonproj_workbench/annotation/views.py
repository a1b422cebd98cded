"""A sentence as the page shows it: the file's columns, filled with predictions of the model."""

from __future__ import annotations

from typing import NamedTuple

from nonproj.io.columns import DEPREL
from nonproj_workbench.annotation.decisions import COMMENT, OPEN, Decisions, decisions_of, find_cycle
from nonproj_workbench.annotation.draft import Draft, EditError, head_of
from nonproj_workbench.annotation.editing import with_tree
from nonproj_workbench.annotation.suggesting import AT_ONCE, Suggester, Suggestion


class View(NamedTuple):
    """A sentence as the page shows it.

    Attributes
    ----------
    filed : Draft
        The sentence in the file.
    shown : Draft
        The sentence with predicted tags and heads where the file has none.
    decisions : Decisions
    suggestion : Suggestion or None
        The model's best tree under the decisions; None without a model.
    problem : str
        Reason why there is no suggestion although there is a model, or an empty string.
    is_long : bool
        Whether the reason is the length of the sentence, whose tree is then decoded only on demand.
    """

    filed: Draft
    shown: Draft
    decisions: Decisions
    suggestion: Suggestion | None = None
    problem: str = ""
    is_long: bool = False

    @property
    def is_suggested(self) -> bool:
        """Whether the tree shown is the model's best one under the decisions."""
        return self.suggestion is not None and heads_of(self.shown) == self.suggestion.heads

    @property
    def confidences(self) -> list[tuple[float | None, float | None]]:
        """The probabilities that the head, and head and label, of each word are correct, or upper bounds on them."""
        words, found = self.shown.words, self.suggestion
        if found is None or found.head_confidence is None or found.label_confidence is None:
            return [(None, None)] * len(words)
        values = list[tuple[float | None, float | None]]()
        for i, row in enumerate(words):
            p, q = found.head_confidence[i], found.label_confidence[i]
            if head_of(row, len(words)) != found.heads[i]:
                values.append((1.0 - p, 1.0 - p))
            else:
                values.append((p, q if row[DEPREL] == found.labels[i] else max(0.0, p - q)))
        return values

    @property
    def doubt(self) -> float | None:
        """One minus the probability of the least certain undecided head; None if unknown, or if all is done."""
        if self.decisions.done:
            return None
        values = enumerate(self.confidences, 1)
        found = [value for word, (value, _) in values if word not in self.decisions.heads]
        known = [p for p in found if p is not None]
        return round(1.0 - min(known), 4) if known else 0.0 if not found else None

    @property
    def given(self) -> list[bool]:
        """Whether the head of each word is from the file, and was not predicted earlier."""
        kept = self.filed.comment(COMMENT) != OPEN
        pairs = zip(heads_of(self.filed), heads_of(self.shown), strict=True)
        return [
            word in self.decisions.heads or (filed is not None and filed == shown and kept)
            for word, (filed, shown) in enumerate(pairs, 1)
        ]


def view_of(text: str, suggester: Suggester | None, trust: str, on_demand: bool = False) -> View:
    r"""Return the view of a sentence.

    Parameters
    ----------
    text : str
        Its lines.
    suggester : Suggester or None
    trust : str
        See `nonproj_workbench.annotation.decisions.TRUST`.
    on_demand : bool
        Whether the tree of a long sentence is decoded, too.

    Examples
    --------
    >>> view_of("1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\tHead=0\n\n", None, "done").decisions.heads
    {1: 0}
    """
    filed = Draft.of(text)
    decisions = decisions_of(filed, trust)
    if suggester is None:
        return View(filed, filed, decisions)
    words = len(filed.places)
    if not suggester.reaches(filed):
        limit = f"at most {suggester.parser.request.max_words}: decoding.max_words"
        return View(filed, filed, decisions, None, f"the model suggests no tree for {words} words, {limit}")
    if not on_demand and not suggester.is_quick(filed):
        text = f"this sentence has {words:,} words; trees of more than {AT_ONCE} words are computed only on demand"
        return View(filed, filed, decisions, None, text, True)
    try:
        tagged = suggester.tag(filed)
        given = {word: head for word, head in enumerate(heads_of(filed), 1) if head is not None}
        complete = len(given) == len(filed.places) and decisions.heads.items() <= given.items()
        rows = filed.words
        same = all(rows[word - 1][DEPREL] == label for word, label in decisions.labels.items())
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
