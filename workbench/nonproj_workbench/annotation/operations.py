"""The edits within a sentence: requests of the page, and their effects on draft and decisions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from nonproj.io.columns import DEPREL, DEPS, HEAD, LEMMA, MISC
from nonproj_workbench.annotation import structure
from nonproj_workbench.annotation.agreement import forms_of
from nonproj_workbench.annotation.comparison import SOURCES, take_sentence
from nonproj_workbench.annotation.decisions import (
    Decisions,
    check,
    decisions_of,
    find_cycle,
    marks_of,
    store,
    store_marks,
)
from nonproj_workbench.annotation.draft import Draft, EditError, check_value
from nonproj_workbench.annotation.editing import label_of, move, number_of, set_arc, set_column, set_comments, with_tree
from nonproj_workbench.annotation.suggesting import Suggester
from nonproj_workbench.annotation.views import View, heads_of

Edit: TypeAlias = "Mapping[str, Any]"
Sources: TypeAlias = "Callable[[str], Draft]"


@dataclasses.dataclass
class Work:
    """A sentence while it is edited.

    Attributes
    ----------
    draft : Draft
        The draft that is edited, at first as it was shown.
    decisions : Decisions
    suggester : Suggester or None
    decodes : bool
        Whether the tree must be decoded again.
    moved : int
        The word that got another head; 0 for none.
    deps : dict of int to str
        Final values of the column DEPS, by word.
    """

    draft: Draft
    decisions: Decisions
    suggester: Suggester | None
    sources: Sources | None = None
    decodes: bool = True
    moved: int = 0
    deps: dict[int, str] = dataclasses.field(default_factory=dict)

    @property
    def words(self) -> int:
        """The number of words."""
        return len(self.draft.places)


def apply(edit: Edit, view: View, suggester: Suggester | None, trust: str, sources: Sources | None = None) -> Draft:
    """Return the sentence after an edit.

    Parameters
    ----------
    edit : mapping
        With ``op``, one of `OPERATIONS`, and its arguments.
    view : View
    suggester : Suggester or None
    trust : str
    sources : callable, optional
        Takes ``first`` or ``second``; returns the sentence of that annotator.

    Raises
    ------
    EditError
        The edit is refused.

    Examples
    --------
    >>> from nonproj_workbench.annotation.views import view_of
    >>> text = "".join(f"{i}\\ta\\t_\\t_\\t_\\t_\\t{h}\\tx\\t_\\t_\\n" for i, h in ((1, 0), (2, 1), (3, 2)))
    >>> after = apply({"op": "head", "word": 3, "head": 1}, view_of(text, None, "done"), None, "done")
    >>> after.text().splitlines()[-1].split("\\t")[6:]
    ['1', 'x', '_', 'Head=1']
    """
    operation = OPERATIONS.get(str(edit.get("op")))
    if operation is None:
        raise EditError(f"op is {edit.get('op')!r}, one of {', '.join(OPERATIONS)} expected")
    work = Work(view.shown.copy(), view.decisions.copy(), suggester, sources)
    operation(work, edit)
    _finish(work)
    for word, deps in work.deps.items():
        work.draft.words[word - 1][DEPS] = deps
    store(work.draft, work.decisions, trust)
    work.draft.check()
    return work.draft


def _finish(work: Work) -> None:
    """Decode the tree again; without a model, change heads and labels as decided."""
    if not work.decodes:
        return
    check(work.decisions, work.words, bool(work.suggester and work.suggester.single_root))
    if work.suggester is not None:
        work.draft = work.suggester.tag(work.draft)
        found = work.suggester.decode(work.draft, work.decisions)
        work.draft = with_tree(work.draft, found.heads, found.labels, work.decisions)
        return
    if work.moved in work.decisions.heads:
        work.draft = move(work.draft, work.moved, work.decisions.heads[work.moved], work.decisions)
    for word, (row, head) in enumerate(zip(work.draft.words, heads_of(work.draft), strict=True), 1):
        set_arc(row, work.decisions.heads.get(word, head), work.decisions.labels.get(word))


# -- decisions ---------------------------------------------------------------------------------------------------------


def _decide(work: Work, word: int, head: int) -> None:
    """Decide the head of a word; raise `EditError` if it is the word itself."""
    if head == word:
        raise EditError(f"word {word} cannot be its own head")
    work.decisions.heads[word] = head
    work.decisions.forbidden.pop(word, None)
    work.moved = word


def _head(work: Work, edit: Edit) -> None:
    _decide(work, number_of(edit, "word", 1, work.words), number_of(edit, "head", 0, work.words))


def _deprel(work: Work, edit: Edit) -> None:
    work.decisions.labels[number_of(edit, "word", 1, work.words)] = label_of(edit)


def _arc(work: Work, edit: Edit) -> None:
    _head(work, edit)
    _deprel(work, edit)


def _forbid(work: Work, edit: Edit) -> None:
    word, head = number_of(edit, "word", 1, work.words), number_of(edit, "head", 0, work.words)
    if work.decisions.heads.get(word) == head:
        del work.decisions.heads[word]
        work.decisions.labels.pop(word, None)
    work.decisions.forbidden.setdefault(word, set()).add(head)
    work.decisions = work.decisions._replace(done=False)
    row = work.draft.words[word - 1]
    if work.suggester is None and heads_of(work.draft)[word - 1] == head:
        set_arc(row, None, "_")


def _free(work: Work, edit: Edit) -> None:
    word = number_of(edit, "word", 1, work.words)
    work.decisions = work.decisions.without(word)._replace(done=False)


def _free_all(work: Work, edit: Edit) -> None:
    work.decisions = Decisions({}, {}, {})


def _keep(work: Work, edit: Edit) -> None:
    _keep_word(work, number_of(edit, "word", 1, work.words))


def _keep_all(work: Work, edit: Edit) -> None:
    for word in range(1, work.words + 1):
        _keep_word(work, word)
    work.decodes = False


def _keep_word(work: Work, word: int) -> None:
    """Decide head and label of a word as they are."""
    head, label = heads_of(work.draft)[word - 1], work.draft.words[word - 1][DEPREL]
    if head is None:
        raise EditError(f"word {word} has no head yet")
    _decide(work, word, head)
    if label != "_":
        work.decisions.labels[word] = label


def _tree(work: Work, edit: Edit) -> None:
    heads, labels = edit.get("heads"), edit.get("labels")
    if not isinstance(heads, list) or not isinstance(labels, list) or not len(heads) == len(labels) == work.words:
        raise EditError(f"heads and labels are lists of {work.words} entries, one for each word")
    shown = heads_of(work.draft)
    for word, (head, label) in enumerate(zip(heads, labels, strict=True), 1):
        value = {"head": head, "value": label}
        number_of(value, "head", 0, work.words)
        if head != shown[word - 1]:
            _decide(work, word, head)
            work.decisions.labels[word] = label_of(value)
        elif label != work.draft.words[word - 1][DEPREL]:
            work.decisions.labels[word] = label_of(value)
    if work.suggester is None:
        work.draft, work.moved = with_tree(work.draft, heads, labels, work.decisions), 0


def _done(work: Work, edit: Edit) -> None:
    if type(edit.get("value")) is not bool:
        raise EditError("value is true or false")
    work.decodes = False
    if not edit["value"]:
        work.decisions = work.decisions._replace(done=False)
        return
    heads = heads_of(work.draft)
    lacking = [word for word, head in enumerate(heads, 1) if head is None]
    if lacking:
        raise EditError(f"word {lacking[0]} has no head yet")
    cycle = find_cycle(dict(enumerate(heads, 1)))  # type: ignore[arg-type]
    if cycle:
        raise EditError(f"the heads form a cycle: {' → '.join(map(str, [*reversed(cycle), cycle[-1]]))}")
    _keep_all(work, edit)
    work.decisions = work.decisions._replace(done=True, forbidden={})


def _source(work: Work, edit: Edit) -> Draft:
    """Return the sentence of the annotator whom an edit names."""
    if work.sources is None:
        raise EditError("start with --compare to take the trees of two annotators")
    if edit.get("source") not in SOURCES:
        raise EditError(f"source is {edit.get('source')!r}, one of {' and '.join(SOURCES)} expected")
    return work.sources(edit["source"])


def _take(work: Work, edit: Edit) -> None:
    source, word = _source(work, edit), number_of(edit, "word", 1, work.words)
    if forms_of(source) != forms_of(work.draft):
        raise EditError("the words of the two sentences differ; take the whole sentence")
    row = source.words[word - 1]
    work.draft.words[word - 1][LEMMA:HEAD] = row[LEMMA:HEAD]
    work.deps[word] = row[DEPS]
    _take_arc(work, source, word)


def _take_arc(work: Work, source: Draft, word: int) -> None:
    """Decide head and label of a word as in another sentence."""
    head, label = heads_of(source)[word - 1], source.words[word - 1][DEPREL]
    if head is None:
        raise EditError(f"word {word} has no head there")
    _decide(work, word, head)
    work.decisions.labels.pop(word, None)
    if label != "_":
        work.decisions.labels[word] = label


def _take_all(work: Work, edit: Edit) -> None:
    source = _source(work, edit)
    work.draft, work.decisions = take_sentence(work.draft, source), Decisions({}, {}, {})
    for word in range(1, work.words + 1):
        _take_arc(work, source, word)
    work.decodes = False


# -- columns and words -------------------------------------------------------------------------------------------------


def _column(work: Work, edit: Edit) -> None:
    word, name = number_of(edit, "word", 1, work.words), edit.get("column")
    old = work.draft.words[word - 1][MISC]
    work.draft = set_column(work.draft, word, name, edit.get("value"))
    work.decodes = name not in ("deps", "misc")
    new = work.draft.words[word - 1][MISC]
    if marks_of(old) != marks_of(new):  # somebody has written decisions by hand
        for given, value in marks_of(new):
            if given == "Deprel":
                label_of({"value": value})
            elif value not in map(str, range(work.words + 1)) or value == str(word):
                raise EditError(f"{given}={value} is not the number of another word or 0")
        typed, others = decisions_of(_only_marks(work.draft, word)), work.decisions.without(word)
        for mine, theirs in zip(others[:3], typed[:3], strict=True):
            mine.update(theirs)  # type: ignore[attr-defined]
        work.decisions, work.decodes = others._replace(done=False), True


def _only_marks(draft: Draft, word: int) -> Draft:
    """Return the draft with the decisions on one word alone."""
    new = draft.copy()
    for number, row in enumerate(new.words, 1):
        row[MISC] = row[MISC] if number == word else "_"
    new.comments = []
    return new


def _retag(work: Work, edit: Edit) -> None:
    if work.suggester is None:
        raise EditError("there is no model to predict tags; start with -m MODEL")
    work.draft = work.suggester.tag(work.draft, everything=True)


def _decode(work: Work, edit: Edit) -> None:
    if work.suggester is None:
        raise EditError("there is no model to decode the tree; start with -m MODEL")


def _comment(work: Work, edit: Edit) -> None:
    work.draft, work.decodes = set_comments(work.draft, edit.get("comments")), False
    done = decisions_of(work.draft, "none").done
    if done != work.decisions.done:
        _done(work, {"value": done})


def _split_word(work: Work, edit: Edit) -> None:
    forms = edit.get("forms")
    if not isinstance(forms, list):
        raise EditError("forms is a list of two words")
    word = number_of(edit, "word", 1, work.words)
    _restructure(work, lambda draft: structure.split_word(draft, word, [check_value("form", each) for each in forms]))


def _join_words(work: Work, edit: Edit) -> None:
    word, form = number_of(edit, "word", 1, work.words), edit.get("form")
    given = None if form is None else check_value("form", form)
    _restructure(work, lambda draft: structure.join_words(draft, word, given))


def _multiword(work: Work, edit: Edit) -> None:
    first, last = number_of(edit, "first", 1, work.words), number_of(edit, "last", 1, work.words)
    form = edit.get("form")
    given = None if form is None else check_value("form", form)
    work.draft, work.decodes = structure.set_multiword(work.draft, first, last, given), False


def _restructure(work: Work, change: Callable[[Draft], Draft]) -> None:
    """Change the words, and renumber the decisions, which are in MISC meanwhile."""
    store_marks(work.draft, work.decisions)
    work.draft = change(work.draft)
    work.decisions = decisions_of(_without_comment(work.draft), "none")


def _without_comment(draft: Draft) -> Draft:
    """Return the draft without comments, so that its decisions are those in MISC."""
    new = draft.copy()
    new.comments = []
    return new


OPERATIONS: dict[str, Callable[[Work, Edit], None]] = {
    "head": _head,
    "deprel": _deprel,
    "arc": _arc,
    "forbid": _forbid,
    "free": _free,
    "free_all": _free_all,
    "keep": _keep,
    "keep_all": _keep_all,
    "tree": _tree,
    "done": _done,
    "take": _take,
    "take_all": _take_all,
    "column": _column,
    "retag": _retag,
    "decode": _decode,
    "comment": _comment,
    "split_word": _split_word,
    "join_words": _join_words,
    "multiword": _multiword,
}
"""Functions of the edits, by name."""
