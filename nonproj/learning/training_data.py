"""The training data of a model's components: the sentences of a treebank, their tags, and both as numbers.

Nothing is kept twice: equal strings, and equal rows of copies with other tags, are one object; a sentence's candidate
arcs lie in one block, and its parts are numbered each time they are needed, which takes little of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nonproj.dual.options import DualOptions
from nonproj.linear.streams import Stream, generator
from nonproj.scoring.labels import AllowedLabels
from nonproj.scoring.vocabulary import TokenEncoder, Tokens
from nonproj.types import ArcSpace, Bools, Int32s, Sentence

SILVER, RELATED = "automatically parsed", "related treebanks'"
"""The kinds of sentences that are not of the treebank."""

_T = TypeVar("_T")


def trees_of(sentences: Sequence[Sentence]) -> list[Int32s]:
    """Return the gold trees of sentences that have them, int32[N] each: see `nonproj.types.Sentence.tree`."""
    return [sentence.tree for sentence in sentences if sentence.tree is not None]


def taken(silver: Sequence[Sentence], words: float) -> int:
    """Return how many automatically parsed sentences an epoch takes, about as many as have this number of words.

    Examples
    --------
    >>> taken([Sentence([["1", "Ja", *"________"]] * 10)] * 8, 40.0), taken([], 40.0)
    (4, 0)
    """
    of_all = sum(map(len, silver))
    return min(len(silver), max(1, round(words * len(silver) / of_all))) if silver else 0


class LazyList(Sequence[_T]):
    """Items that are computed on each access, because keeping them would take much memory.

    Parameters
    ----------
    make : callable
        Returns the item of a number.
    numbers : ndarray of int64
        Those of the items, in their order.

    Examples
    --------
    >>> list(LazyList(lambda number: 10 * number, np.array([3, 1])))
    [30, 10]
    """

    def __init__(self, make: Callable[[int], _T], numbers: np.ndarray):
        self._make, self._numbers = make, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        return self._make(int(self._numbers[place]))


class ArcSpaces(Sequence[ArcSpace]):
    """The candidate arcs of sentences, each in one block of memory: five arrays would take nearly twice as much.

    Parameters
    ----------
    spaces : iterable of ArcSpace

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> spaces = ArcSpaces([full_arc_space(1), full_arc_space(2)])
    >>> spaces[1].head
    array([0, 2, 0, 1], dtype=int32)
    """

    def __init__(self, spaces: Iterable[ArcSpace]):
        self._nodes, self._blocks = list[int](), list[Int32s]()
        for arcs in spaces:
            self._nodes.append(len(arcs.start) - 1)
            self._blocks.append(np.concatenate(arcs))

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, place: Any) -> Any:
        nodes, block = self._nodes[place], self._blocks[place]
        n_arcs = (len(block) - 3 * nodes - 2) // 3
        out = 2 * n_arcs + nodes + 1
        starts = block[:n_arcs], block[n_arcs : 2 * n_arcs], block[2 * n_arcs : out]
        return ArcSpace(*starts, block[out : out + n_arcs], block[out + n_arcs :])


class TrainingData(NamedTuple):
    """Sentences to learn from; each component that has been fitted adds what later ones need.

    Attributes
    ----------
    sentences : sequence of Sentence
        Those of the treebank, and further ones: automatically parsed, or of related treebanks.  The tagger puts copies
        with other tags in their place, next to each other.
    further : int
        Number of further sentences, at the end.
    kind : str
        Their kind: `SILVER` or `RELATED`.
    further_in_epoch : int
        Number of these in an epoch.
    held_out : sequence of Sentence
        On which the parser is evaluated after each epoch.
    seed : int
        That of the order of the sentences, and of which automatically parsed ones an epoch takes.
    decoding : DualOptions
    chosen : ndarray of int64
        Which of the sentences are learnt from.
    labels : list of str
        In the order of their numbers.
    encoder : TokenEncoder
    lines : AllowedLabels or None
        The labels of arcs, where they are scored with the arcs.
    places : ndarray of shape (2, n_labels), uint8, or None
        The labels of other words and of roots: see `nonproj.scoring.labels.forbid_misplaced`.
    tokens, gold : sequence of Tokens and of ndarray
        Of each sentence, ``gold`` with the numbers of its labels, int64[n].
    allowed : sequence of ndarray or None
        Of each sentence with a partial tree, the arcs that its tree can have, bool[N, N]; see
        `nonproj.learning.partial`.
    bare : ndarray of int64
        The sentences of which no head is given, which no epoch learns from.
    spaces : sequence of ArcSpace
        The candidate arcs of each sentence, once there is a pruner.
    completed : sequence of ndarray
        The trees of all sentences, int32[N] each, partial ones completed by the pruner's model, once there is one.
    copies : int
        How many of each sentence of the treebank.
    annotated : sequence of Sentence
        Those of related treebanks, as people have annotated them, in the conventions of the treebank: in ``sentences``,
        the tagger replaces their tags by predicted ones.
    tagged_alone : bool
        Whether the tagger learns from the treebank alone.
    """

    sentences: Sequence[Sentence] = ()
    further: int = 0
    kind: str = SILVER
    further_in_epoch: int = 0
    held_out: Sequence[Sentence] = ()
    seed: int = 0
    decoding: DualOptions = DualOptions()
    chosen: np.ndarray = np.zeros(0, np.int64)
    labels: list[str] = []
    encoder: TokenEncoder = TokenEncoder({})
    lines: AllowedLabels | None = None
    places: np.ndarray | None = None
    tokens: Sequence[Tokens] = ()
    gold: Sequence[np.ndarray] = ()
    allowed: Sequence[Bools | None] = ()
    bare: np.ndarray = np.zeros(0, np.int64)
    spaces: Sequence[ArcSpace] = ()
    completed: Sequence[Int32s] = ()
    copies: int = 1
    annotated: Sequence[Sentence] = ()
    tagged_alone: bool = False

    @property
    def trees(self) -> list[Int32s]:
        """The gold tree of each sentence, int32[N]; -1 for words without a given head."""
        return trees_of(self.sentences)

    @property
    def n_own(self) -> int:
        """The number of sentences of the treebank, copies included."""
        return len(self.sentences) - self.further

    @property
    def further_sentences(self) -> list[Sentence]:
        """The sentences that are not of the treebank."""
        return list(self.sentences[self.n_own :])

    @property
    def related(self) -> bool:
        """Whether there are sentences of related treebanks."""
        return self.kind == RELATED and self.further > 0

    def with_further(self, sentences: Sequence[Sentence]) -> TrainingData:
        """Return the training data with other sentences in the place of the further ones."""
        treebank = self.sentences[: self.n_own]
        return self._replace(sentences=[*treebank, *sentences], further=len(sentences))

    def subset(self, chosen: np.ndarray) -> TrainingData:
        """Return the same sentences, of which those with the chosen numbers, in ascending order, are learnt from."""
        return self._replace(chosen=chosen)

    def single_copies(self, turn: int) -> np.ndarray:
        """Return the numbers of the chosen sentences, but of each only one of its copies: another one in each turn."""
        own = self.chosen[self.chosen < self.n_own]
        numbers, first, counts = np.unique(own // self.copies, return_index=True, return_counts=True)
        return np.append(own[first + (numbers + turn) % counts], self.chosen[len(own) :])

    def order(self, epoch: int, stream: Stream) -> np.ndarray:
        """Return the order of the chosen sentences: it follows from arguments and seed, so a resumed run repeats it."""
        order = generator(self.seed, stream, epoch).permutation(len(self.sentences))
        found: np.ndarray = order[np.isin(order, self.chosen) & self.in_epoch(epoch)[order]]
        return found

    def in_epoch(self, epoch: int) -> np.ndarray:
        """Return which sentences an epoch learns from, bool: all of the treebank, and other silver ones each time."""
        first = self.n_own
        mask = np.arange(len(self.sentences)) < first
        if self.further:
            order, count = generator(self.seed, Stream.SILVER).permutation(self.further), self.further_in_epoch
            mask[first + order[(epoch * count + np.arange(count)) % self.further]] = True
        mask[self.bare] = False
        return mask
