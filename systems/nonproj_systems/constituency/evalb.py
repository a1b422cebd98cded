"""Labelled precision, recall and F1 of trees by the conventions of evalb with Collins' parameters.

Words that are punctuation are deleted, the root is not counted, nor are brackets that hold nothing but punctuation;
ADVP and PRT are one label.  Brackets match if label and words are equal, each at most once.  Evalb deletes the
punctuation of each tree by its own tags, and leaves out sentences where that gives different words; here the tags of
the gold tree decide, so no sentence is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from nonproj.errors import FileError
from nonproj_systems.constituency.brackets import TOP, TRACE, Tree, plain_label

DELETED_TAGS = frozenset((TRACE, ",", ":", "``", "''", "."))
"""Words with these tags in the gold tree are deleted, and brackets with these labels or the root's."""

SHORT = 40
"""Maximum length in words of the sentences that evalb reports separately."""


class Counts(NamedTuple):
    """Counts of one sentence, or of several.

    Attributes
    ----------
    gold, parsed, matched : int
        Brackets in the gold tree, in the parsed tree, and in both.
    words, correct_tags : int
        Words without punctuation, and those with the gold tag.
    all_words, all_correct_tags : int
        Counts with punctuation.
    crossing : int
        Parsed brackets that cross a gold one.
    sentences, exact, uncrossed : int
        Sentences; those without a wrong or missing bracket; those without crossing brackets.
    """

    gold: int = 0
    parsed: int = 0
    matched: int = 0
    words: int = 0
    correct_tags: int = 0
    all_words: int = 0
    all_correct_tags: int = 0
    crossing: int = 0
    sentences: int = 0
    exact: int = 0
    uncrossed: int = 0

    @property
    def precision(self) -> float:
        """Share of the parsed brackets that are right."""
        return self.matched / self.parsed if self.parsed else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold brackets that are found."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.matched / (self.gold + self.parsed) if self.matched else 0.0

    @property
    def tag_accuracy(self) -> float:
        """Share of all words, punctuation included, with the gold tag."""
        return self.all_correct_tags / self.all_words if self.all_words else 0.0


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sums of counts."""
    return Counts(*map(sum, zip(Counts(), *counts, strict=True)))


def brackets(tree: Tree, deleted: Sequence[bool]) -> list[tuple[str, int, int]]:
    """Return label, begin and end of the brackets that count, by positions among the words that are not deleted.

    Parameters
    ----------
    tree : Tree
    deleted : sequence of bool
        For each word, whether it is deleted.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> brackets(parse_tree("(S (NP (NN a)) (PRT (RP up)) (X (. .)))"), [False, False, True])
    [('S', 0, 2), ('NP', 0, 1), ('ADVP', 1, 2)]
    """
    position = [0]
    for flag in deleted:
        position.append(position[-1] + (not flag))
    found = []
    _collect(tree, 0, position, found)
    return found


def _collect(tree: Tree, begin: int, position: list[int], found: list[Any]) -> int:
    """Add the brackets of a subtree, from the root down; return the end of its span."""
    if tree.word is not None:
        return begin + 1
    place, end = len(found), begin
    for child in tree.children:
        end = _collect(child, end, position, found)
    label = plain_label(tree.label)
    if label != TOP and label not in DELETED_TAGS and position[begin] < position[end]:
        found.insert(place, ("ADVP" if label == "PRT" else label, position[begin], position[end]))
    return end


def compare(gold: Tree, parsed: Tree) -> Counts:
    """Return the counts of one sentence.

    Raises
    ------
    ValueError
        The words differ.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> gold = parse_tree("(S (NP (NN a)) (VP (VB b) (NP (NN c))))")
    >>> compare(gold, parse_tree("(S (NP (NN a) (VB b)) (NP (NN c)))"))[:3]
    (4, 3, 2)
    """
    words, tags, others = gold.words(), gold.tags(), parsed.tags()
    if words != parsed.words():
        raise ValueError("the words differ")
    deleted = [tag in DELETED_TAGS for tag in tags]
    first, second = brackets(gold, deleted), brackets(parsed, deleted)
    matched = (Counter(first) & Counter(second)).total()
    crossing = sum(any(_cross(own, other) for other in first) for own in second)
    right = [tag == other for tag, other in zip(tags, others, strict=True)]
    return Counts(
        gold=len(first),
        parsed=len(second),
        matched=matched,
        words=deleted.count(False),
        correct_tags=sum(ok for ok, gone in zip(right, deleted, strict=True) if not gone),
        all_words=len(words),
        all_correct_tags=sum(right),
        crossing=crossing,
        sentences=1,
        exact=int(len(first) == len(second) == matched),
        uncrossed=int(not crossing),
    )


def _cross(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    """Return whether two spans overlap, but neither holds the other."""
    return one[1] < other[1] < one[2] < other[2] or other[1] < one[1] < other[2] < one[2]


def compare_all(gold: Sequence[Tree], parsed: Sequence[Tree], path: str = "<parsed>") -> list[Counts]:
    """Return the counts of each sentence.

    Raises
    ------
    FileError
        The files have different numbers of trees, or a sentence has different words; ``path`` is named.
    """
    if len(gold) != len(parsed):
        raise FileError(path, f"{len(parsed)} trees; the gold file has {len(gold)}")
    found = []
    for number, (one, other) in enumerate(zip(gold, parsed, strict=True), 1):
        try:
            found.append(compare(one, other))
        except ValueError:
            message = f"the words of tree {number} are not those of the gold tree: {_first_difference(one, other)}"
            raise FileError(path, message) from None
    return found


def _first_difference(gold: Tree, parsed: Tree) -> str:
    """Return a text about the first position at which the words of two trees differ."""
    words, others = [*gold.words(), None], [*parsed.words(), None]
    i = next(i for i, word in enumerate(words) if word != others[i])
    return f"word {i + 1} is {others[i]!r}, {words[i]!r} is expected"
