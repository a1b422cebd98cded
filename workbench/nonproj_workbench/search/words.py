"""The words of a sentence and their one or two trees, for queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from nonproj.types import Sentence


class Tree:
    """The heads and labels of ``n`` words, and properties of the tree, computed when needed.

    Parameters
    ----------
    heads : sequence of n int
        0 is the root; -1 is a word without head.
    labels : sequence of n str

    Attributes
    ----------
    heads, labels : list
        Lists of ``n + 1`` entries; the first stands for the root.

    Examples
    --------
    >>> tree = Tree([3, 0, 2], ["a", "b", "_"])
    >>> tree.children[2], tree.depths[1], tree.labels[3], list(tree.below(2, 1, 9))
    ([3], 3, '', [3, 1])
    """

    def __init__(self, heads: Sequence[int], labels: Sequence[str]):
        self.heads = [-1, *heads]
        self.labels = ["", *("" if label == "_" else label for label in labels)]

    @cached_property
    def children(self) -> list[list[int]]:
        """The modifiers of the root and of each word, in their order."""
        found: list[list[int]] = [[] for _ in self.heads]
        for word, head in enumerate(self.heads):
            if head >= 0:
                found[head].append(word)
        return found

    @cached_property
    def depths(self) -> list[int]:
        """The number of arcs from the root to each word, or 0 if it is not reached."""
        found = [0] * len(self.heads)
        level, depth = self.children[0], 1
        while level:
            for word in level:
                found[word] = depth
            level, depth = [child for word in level for child in self.children[word]], depth + 1
        return found

    @cached_property
    def crossing(self) -> list[list[int]]:
        """The words whose arcs cross that of each word; an arc from the root is a vertical line above its word."""
        pairs = ((word, head) for word, head in enumerate(self.heads) if head > 0)
        arcs = sorted((min(pair), max(pair), pair[0]) for pair in pairs)
        found: list[list[int]] = [[] for _ in self.heads]
        for i, (low, high, word) in enumerate(arcs):
            for low2, high2, word2 in arcs[i + 1 :]:
                if low2 >= high:
                    break
                if low < low2 and high < high2:
                    found[word].append(word2)
                    found[word2].append(word)
        for root in self.children[0]:
            for low, high, word in arcs:
                if low < root < high:
                    found[root].append(word)
                    found[word].append(root)
        return found

    def above(self, word: int, low: int, high: int) -> Iterator[int]:
        """Yield the words above a word at distances from ``low`` to ``high`` arcs."""
        head, distance = self.heads[word], 1
        while head > 0 and distance <= high:
            if distance >= low:
                yield head
            head, distance = self.heads[head], distance + 1

    def below(self, word: int, low: int, high: int) -> Iterator[int]:
        """Yield the words below a word at distances from ``low`` to ``high`` arcs."""
        level, distance = self.children[word], 1
        while level and distance <= high:
            if distance >= low:
                yield from level
            level, distance = [child for each in level for child in self.children[each]], distance + 1


class SearchedSentence:
    """The words of a sentence, from 1, with a tree and perhaps another one.

    Parameters
    ----------
    sentence : Sentence
        Sentence whose columns other than HEAD and DEPREL are used.
    tree : Tree
    other : Tree, optional
    confidence : sequence of n float, optional
        The probability that each head of the tree is correct.

    Examples
    --------
    >>> words = SearchedSentence(Sentence([["1", "Regn", *"______", "_", "_"]]), Tree([0], ["root"]))
    >>> len(words), words.head_differs(1)
    (1, False)
    """

    def __init__(
        self, sentence: Sentence, tree: Tree, other: Tree | None = None, confidence: Sequence[float] | None = None
    ):
        self.sentence, self.rows = sentence, sentence.rows
        self.tree, self.other, self.confidence = tree, other, confidence

    def __len__(self) -> int:
        return len(self.rows)

    def tree_of(self, other: bool) -> Tree:
        """Return the tree or the other tree; a tree without arcs if there is none."""
        if not other:
            return self.tree
        if self.other is None:
            self.other = Tree([-1] * len(self), [""] * len(self))
        return self.other

    def head_differs(self, word: int) -> bool:
        """Return whether the other tree has another head."""
        other = self.tree_of(True).heads[word]
        return other >= 0 and other != self.tree.heads[word]

    def label_differs(self, word: int) -> bool:
        """Return whether the other tree has the same head and another label."""
        other = self.tree_of(True)
        labels = self.tree.labels[word], other.labels[word]
        return (
            other.heads[word] >= 0
            and other.heads[word] == self.tree.heads[word]
            and "" not in labels
            and labels[0] != labels[1]
        )

    @cached_property
    def sent_id(self) -> str:
        """The comment ``sent_id``, or an empty string."""
        for line in self.sentence.lines:
            if line.lstrip("\ufeff").startswith("#"):
                key, _, value = line.lstrip("\ufeff")[1:].partition("=")
                if key.strip() == "sent_id":
                    return value.strip()
        return ""
