"""Splitting and joining sentences that have decisions and predicted trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nonproj.io.columns import DEPREL, HEAD, MISC
from nonproj_workbench.annotation import structure
from nonproj_workbench.annotation.decisions import COMMENT, check, decisions_of, store, store_marks, without_marks
from nonproj_workbench.annotation.draft import Draft
from nonproj_workbench.annotation.editing import with_tree
from nonproj_workbench.annotation.suggesting import Suggester
from nonproj_workbench.annotation.views import View


class Completing(NamedTuple):
    """Options of completing the trees of new sentences."""

    suggester: Suggester | None
    trust: str

    def text(self, draft: Draft) -> str:
        """Return the lines of a new sentence: decisions as in MISC, the rest decoded unless that takes too long."""
        bare = draft.copy()
        bare.comments = []
        decisions = decisions_of(bare, "none")
        draft.set_comment(COMMENT, None)
        check(decisions, len(draft.places), bool(self.suggester and self.suggester.single_root))
        if self.suggester is not None and self.suggester.is_quick(draft):
            draft = self.suggester.tag(draft)
            found = self.suggester.decode(draft, decisions)
            draft = with_tree(draft, found.heads, found.labels, decisions)
        store(draft, decisions, self.trust)
        draft.check()
        return draft.text()


def split(view: View, word: int, names: Iterable[str], completing: Completing) -> list[str]:
    """Return the lines of the two parts of a sentence, split after a word.

    Parameters
    ----------
    view : View
    word : int
    names : iterable of str
        The ``sent_id`` of all sentences.
    completing : Completing
    """
    return [completing.text(part) for part in structure.split_sentence(_marked(view), word, names)]


def join(first: View, second: View, completing: Completing) -> str:
    """Return the lines of two sentences as one; the root of the second is no longer a root."""
    marked = _marked(first)
    joined = structure.join_sentences(marked, _marked(second))
    if any(row[HEAD] == "0" for row in marked.words):
        for row in joined.words[len(marked.places) :]:
            if row[HEAD] == "0":
                row[HEAD : DEPREL + 1] = ["_", "_"]
                row[MISC] = without_marks(row[MISC])
    return completing.text(joined)


def _marked(view: View) -> Draft:
    """Return the sentence as shown, with all decisions as marks."""
    draft = view.shown.copy()
    store_marks(draft, view.decisions)
    return draft
