"""The decisions of annotators, and their storage in a file.

In MISC, the constraints of `nonproj.io.constraints`: ``Head=3`` and ``Deprel=obj`` for an arc and a label that are
decided, ``NotHead=5`` for a forbidden head.  The comment ``# annotation = done`` says that all arcs and labels of the
sentence are decided, which then need no attributes; ``# annotation = open`` that only those with attributes are.  The
attributes and comments disappear from a finished treebank: `cleaned` removes the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nonproj.evaluation.confidence import HEAD as HEAD_CONFIDENCE
from nonproj.evaluation.confidence import LABELLED
from nonproj.io.checks import cycle_of
from nonproj.io.columns import DEPREL, HEAD, MISC
from nonproj_workbench.annotation.draft import Draft, EditError, head_of

TRUST = ("done", "all", "none")
"""Treatment of the file's heads without attributes, in sentences that are not done: not decided; decided if the
sentence has no comment; not decided, and predicted again at once."""

COMMENT, DONE, OPEN = "annotation", "done", "open"
"""The comment with the state of a sentence, and its values."""

NAMES = ("Head", "NotHead", "Deprel")
"""The attributes in MISC."""


class Decisions(NamedTuple):
    """Decisions in a sentence.

    Attributes
    ----------
    heads : dict of int to int
        Decided heads, by word.
    labels : dict of int to str
        Decided labels, by word.
    forbidden : dict of int to set of int
        Forbidden heads, by word.
    done : bool
        Whether the sentence is accepted as a whole.
    """

    heads: dict[int, int]
    labels: dict[int, str]
    forbidden: dict[int, set[int]]
    done: bool = False

    @property
    def size(self) -> int:
        """The number of words with a decision."""
        return len(self.heads.keys() | self.labels.keys() | self.forbidden.keys())

    def copy(self) -> Decisions:
        """Return a copy that can be changed."""
        forbidden = {word: set(heads) for word, heads in self.forbidden.items()}
        return Decisions(dict(self.heads), dict(self.labels), forbidden, self.done)

    def without(self, word: int) -> Decisions:
        """Return the decisions on all other words."""
        found = self.copy()
        for given in (found.heads, found.labels, found.forbidden):
            given.pop(word, None)
        return found


def decisions_of(draft: Draft, trust: str = "done") -> Decisions:
    r"""Return the decisions in a sentence.

    Parameters
    ----------
    draft : Draft
    trust : str
        One of `TRUST`.

    Examples
    --------
    >>> draft = Draft.of("1\tDet\t_\tP\t_\t_\t2\tsubj\t_\tHead=2\n2\tregner\t_\tV\t_\t_\t0\tROOT\t_\tNotHead=1\n\n")
    >>> decisions_of(draft)
    Decisions(heads={1: 2}, labels={}, forbidden={2: {1}}, done=False)
    >>> decisions_of(draft, trust="all").labels
    {1: 'subj', 2: 'ROOT'}
    """
    words, state = draft.words, draft.comment(COMMENT)
    found = Decisions({}, {}, {}, state == DONE)
    for word, row in enumerate(words, 1):
        for name, value in marks_of(row[MISC]):
            number = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else -1
            if name == "Deprel":
                found.labels[word] = value
            elif not 0 <= number <= len(words) or number == word:
                continue  # `nonproj_workbench.annotation.checking` reports it
            elif name == "Head":
                found.heads[word] = number
            else:
                found.forbidden.setdefault(word, set()).add(number)
    if found.done or (state is None and trust == "all"):
        for word, row in enumerate(words, 1):
            head = head_of(row, len(words))
            if head is not None:
                found.heads.setdefault(word, head)
                if row[DEPREL] != "_":
                    found.labels.setdefault(word, row[DEPREL])
    return found


def marks_of(misc: str) -> list[tuple[str, str]]:
    """Return the attributes of a column MISC that are decisions.

    Examples
    --------
    >>> marks_of("SpaceAfter=No|Head=3|NotHead=5")
    [('Head', '3'), ('NotHead', '5')]
    """
    if "Head=" not in misc and "Deprel=" not in misc:
        return []
    pairs = [item.partition("=")[::2] for item in misc.split("|")]
    return [(name, value) for name, value in pairs if name in NAMES]


def without_marks(misc: str) -> str:
    """Return a column MISC without decisions.

    Examples
    --------
    >>> without_marks("SpaceAfter=No|Head=3"), without_marks("Head=3")
    ('SpaceAfter=No', '_')
    """
    if not marks_of(misc):
        return misc
    return "|".join(item for item in misc.split("|") if item.partition("=")[0] not in NAMES) or "_"


def without_confidence(misc: str, head: bool = True) -> str:
    """Return a column MISC without the probabilities of an arc and its label; if not ``head``, that of the arc stays.

    Examples
    --------
    >>> misc = "Confidence=0.7|LabelledConfidence=0.6|SpaceAfter=No"
    >>> without_confidence(misc), without_confidence(misc, head=False)
    ('SpaceAfter=No', 'Confidence=0.7|SpaceAfter=No')
    """
    if HEAD_CONFIDENCE not in misc:
        return misc
    gone = {HEAD_CONFIDENCE, LABELLED} if head else {LABELLED}
    kept = [item for item in misc.split("|") if item.partition("=")[0] not in gone]
    return "|".join(kept) or "_"


def store(draft: Draft, decisions: Decisions, trust: str = "done") -> None:
    """Write decisions into a draft; MISC and comments that already agree stay unchanged.

    A sentence that is done gets a comment, any other the comment ``open`` and attributes; if the file's heads are
    trusted and all are decided, it needs neither.
    """
    if _is_complete(draft, decisions) and (decisions.done or (trust == "all" and draft.comment(COMMENT) is None)):
        for row in draft.rows:
            row[MISC] = without_marks(row[MISC])
        if decisions.done:
            draft.set_comment(COMMENT, DONE)
            for row in draft.words:
                row[MISC] = without_confidence(row[MISC])
        return
    if decisions.size or trust == "all" or draft.comment(COMMENT) is not None:
        draft.set_comment(COMMENT, OPEN)
    store_marks(draft, decisions)


def store_marks(draft: Draft, decisions: Decisions) -> None:
    """Write decisions into MISC, regardless of the comments."""
    for word, row in enumerate(draft.words, 1):
        wanted = [("Head", str(decisions.heads[word]))] if word in decisions.heads else []
        wanted += [("NotHead", str(head)) for head in sorted(decisions.forbidden.get(word, ()))]
        wanted += [("Deprel", decisions.labels[word])] if word in decisions.labels else []
        if marks_of(row[MISC]) != wanted:
            bare = without_marks(row[MISC])
            if word in decisions.heads or word in decisions.labels:
                bare = without_confidence(bare, word in decisions.heads)
            items = ([] if bare == "_" else [bare]) + [f"{name}={value}" for name, value in wanted]
            row[MISC] = "|".join(items) or "_"


def _is_complete(draft: Draft, decisions: Decisions) -> bool:
    """Return whether the columns contain all decisions, and nothing is forbidden."""
    words = draft.words
    for word, row in enumerate(words, 1):
        head = head_of(row, len(words))
        if decisions.heads.get(word) != head or decisions.labels.get(word, "_") != row[DEPREL]:
            return False
    return decisions.done or not decisions.forbidden


def cleaned(text: str) -> str:
    r"""Return the lines of a sentence without decisions and comments of annotation.

    Examples
    --------
    >>> cleaned("# annotation = open\n1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\tHead=0\n\n").split("\t")[-1]
    '_\n\n'
    """
    if COMMENT not in text and "Head=" not in text and "Deprel=" not in text:
        return text
    draft = Draft.of(text)
    draft.set_comment(COMMENT, None)
    for row in draft.words:
        row[MISC] = without_marks(row[MISC])
    return draft.text()


def check(decisions: Decisions, words: int, single_root: bool) -> None:
    """Raise `EditError`, which names the arcs, if no tree has all decided arcs.

    Parameters
    ----------
    decisions : Decisions
    words : int
        The number of words.
    single_root : bool
        Whether a tree must have a single root.

    Examples
    --------
    >>> check(Decisions({1: 2, 2: 1}, {}, {}), 2, True)
    Traceback (most recent call last):
    nonproj_workbench.annotation.draft.EditError: the decided arcs form a cycle: 2 → 1 → 2; free one of the words 1, 2
    """
    for word, heads in decisions.forbidden.items():
        if decisions.heads.get(word) in heads:
            raise EditError(f"the head {decisions.heads[word]} of word {word} is decided and forbidden")
        if len(heads) >= words:
            raise EditError(f"every head of word {word} is forbidden; free it")
    cycle = find_cycle(decisions.heads)
    if cycle:
        path = " → ".join(map(str, [cycle[-1], *reversed(cycle[:-1]), cycle[-1]]))
        members = ", ".join(map(str, sorted(cycle)))
        raise EditError(f"the decided arcs form a cycle: {path}; free one of the words {members}")
    roots = [word for word, head in decisions.heads.items() if head == 0]
    if single_root and len(roots) > 1:
        named = ", ".join(map(str, sorted(roots)))
        raise EditError(f"the decided arcs give the sentence {len(roots)} roots, one is allowed: free one of {named}")
    if len(decisions.heads) == words and not roots:
        raise EditError("the decided arcs have no root")


def find_cycle(heads: Mapping[int, int]) -> list[int]:
    """Return the words of a cycle, each followed by its head, or an empty list.

    Examples
    --------
    >>> find_cycle({1: 3, 3: 4, 4: 1, 2: 0})
    [1, 3, 4]
    """
    size = 1 + max([*heads, *heads.values()], default=0)
    return cycle_of([-1, *(heads.get(word, -1) for word in range(1, size))])


def renumbered(misc: str, numbers: Mapping[str, str | None]) -> str:
    """Return a column MISC whose decisions have new numbers, without those on a removed head.

    Parameters
    ----------
    misc : str
    numbers : mapping of str to str or None
        From old to new numbers.

    Examples
    --------
    >>> renumbered("X=1|Head=3|NotHead=2", {"0": "0", "2": None, "3": "4"})
    'X=1|Head=4'
    """
    if not marks_of(misc):
        return misc
    kept = []
    for item in misc.split("|"):
        name, _, value = item.partition("=")
        if name not in ("Head", "NotHead"):
            kept.append(item)
        elif numbers.get(value) is not None:
            kept.append(f"{name}={numbers[value]}")
    return "|".join(kept) or "_"


def as_columns(decisions: Decisions, words: list[list[str]]) -> list[list[str]]:
    """Return rows for the parser, with the decisions as the only attributes of MISC.

    Examples
    --------
    >>> as_columns(Decisions({1: 0}, {1: "root"}, {}), [["1", "Regn", *"________"]])[0][9]
    'Head=0|Deprel=root'
    """
    rows = []
    for word, row in enumerate(words, 1):
        items = [f"Head={decisions.heads[word]}"] if word in decisions.heads else []
        items += [f"NotHead={head}" for head in decisions.forbidden.get(word, ())]
        items += [f"Deprel={decisions.labels[word]}"] if word in decisions.labels else []
        rows.append([*row[:HEAD], "_", "_", "_", "|".join(items) or "_"])
    return rows
