"""The training corpus: a treebank's sentences, auxiliary ones, and both as numbers.

Nothing is kept twice: equal strings, and equal rows of copies with other tags, are one object; a sentence's candidate
arcs lie in one block, and its parts are numbered each time they are needed, which takes little of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nonproj.linear.streams import Stream, generator
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ArcSpace, Bools, Int32s, Int64s, Sentence

SILVER, RELATED = "silver", "related"
"""The origins of auxiliary sentences: parsed automatically, or of related treebanks."""

_T = TypeVar("_T")


def trees_of(sentences: Sequence[Sentence]) -> list[Int32s]:
    """Return the gold trees of sentences that have them, int32[N] each: see `nonproj.types.Sentence.tree`."""
    return [sentence.tree for sentence in sentences if sentence.tree is not None]


def sentences_per_epoch(auxiliary: Sequence[Sentence], words: float) -> int:
    """Return the number of auxiliary sentences in an epoch that have about this number of words.

    Examples
    --------
    >>> sentences_per_epoch([Sentence([["1", "Ja", *"________"]] * 10)] * 8, 40.0), sentences_per_epoch([], 40.0)
    (4, 0)
    """
    of_all = sum(map(len, auxiliary))
    return min(len(auxiliary), max(1, round(words * len(auxiliary) / of_all))) if auxiliary else 0


class LazyList(Sequence[_T]):
    """Items that are computed on each access, because keeping them would take much memory.

    Parameters
    ----------
    make : callable
        Returns the item of a number.
    numbers : ndarray of int64
        Numbers of the items, in their order.

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


@dataclass(frozen=True)
class Auxiliary:
    """Sentences with trees, not of the treebank, from which a model learns, too.

    Attributes
    ----------
    sentences : sequence of Sentence
        With their own tags, or with those that the tagger predicts.
    origin : str
        "related": annotated by people, in other treebanks of the language or of a similar one.  All but segmenter,
        graphs and confidence learn from them, in the conventions of the treebank (`nonproj.components.conventions`); an
        epoch takes each once, however many copies it takes of the treebank's own sentences.
        "silver": annotated by a parser.  Pruner, encoder and costs of crossed arcs do not learn from them, either; an
        epoch takes the share ``treebank.silver_share``.
    sentences_per_epoch : int
    annotated : sequence of Sentence
        Sentences of related treebanks with the annotation that is learnt from, in the conventions of the treebank.
    is_for_tagger : bool
        Whether the tagger learns from them.
    """

    sentences: Sequence[Sentence] = ()
    origin: str = SILVER
    sentences_per_epoch: int = 0
    annotated: Sequence[Sentence] = ()
    is_for_tagger: bool = True

    def __post_init__(self) -> None:
        if self.origin not in (SILVER, RELATED):
            raise ValueError(f"origin: {self.origin!r} is invalid, {SILVER!r} or {RELATED!r} expected")

    @property
    def is_related(self) -> bool:
        """Whether there are sentences of related treebanks."""
        return self.origin == RELATED and len(self.sentences) > 0

    @property
    def description(self) -> str:
        """Kind of the sentences, for messages."""
        return "related treebanks'" if self.origin == RELATED else "automatically parsed"


class NumberedSentences(NamedTuple):
    """The sentences of a corpus as numbers, in the order of `Corpus.all_sentences`.

    Attributes
    ----------
    tokens : sequence of Tokens
    trees : sequence of ndarray
        The gold tree of each sentence, int32[N]; -1 for words without a given head.
    labels : sequence of ndarray
        The numbers of the gold labels of each sentence, int64[n]; -1 for those that are not given.
    allowed : sequence of ndarray or None
        The arcs that can be in the tree of each sentence with a partial tree, bool[N, N]; see
        `nonproj.learning.partial`.
    bare : ndarray of int64
        The sentences without any given head, from which no epoch learns.
    spaces : sequence of ArcSpace
        The candidate arcs of each sentence, once there is a pruner.
    completed : sequence of ndarray
        The trees, int32[N] each, partial ones completed by the pruner's model, once there is one.
    """

    tokens: Sequence[Tokens] = ()
    trees: Sequence[Int32s] = ()
    labels: Sequence[Int64s] = ()
    allowed: Sequence[Bools | None] = ()
    bare: np.ndarray = np.zeros(0, np.int64)
    spaces: Sequence[ArcSpace] = ()
    completed: Sequence[Int32s] = ()


@dataclass(frozen=True)
class Corpus:
    """The sentences that components learn from; some components prepare it for later ones.

    Attributes
    ----------
    sentences : sequence of Sentence
        Sentences of the treebank, as people have annotated them.
    auxiliary : Auxiliary
    held_out : sequence of Sentence
        Sentences on which the parser is evaluated after each epoch.
    seed : int
        Seed of the order of the sentences, and of the choice of automatically parsed ones for an epoch.
    tagged : sequence of Sentence
        The treebank with the tags that the parser learns from, once there is a tagger: copies of each sentence, next to
        each other.
    copies : int
        Number of copies of each sentence.
    numbers : NumberedSentences
    chosen : ndarray of int64
        Sentences that are learnt from, in ascending order.
    """

    sentences: Sequence[Sentence] = ()
    auxiliary: Auxiliary = Auxiliary()
    held_out: Sequence[Sentence] = ()
    seed: int = 0
    tagged: Sequence[Sentence] = ()
    copies: int = 1
    numbers: NumberedSentences = NumberedSentences()
    chosen: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def n_own(self) -> int:
        """The number of sentences of the treebank, copies included."""
        return len(self.tagged)

    @property
    def all_sentences(self) -> list[Sentence]:
        """The tagged sentences of the treebank, then the auxiliary ones."""
        return [*self.tagged, *self.auxiliary.sentences]

    def having(self, **changes: Any) -> Corpus:
        """Return a corpus with some attributes replaced."""
        return replace(self, **changes)

    def with_numbers(self, **changes: Any) -> Corpus:
        """Return a corpus with some attributes of its numbers replaced."""
        return self.having(numbers=self.numbers._replace(**changes))

    def with_auxiliary(self, sentences: Sequence[Sentence], **changes: Any) -> Corpus:
        """Return a corpus with other auxiliary sentences of the same origin."""
        return self.having(auxiliary=replace(self.auxiliary, sentences=sentences, **changes))

    def subset(self, chosen: np.ndarray) -> Corpus:
        """Return the corpus that learns only from the sentences of the chosen numbers, which are in ascending order."""
        return self.having(chosen=chosen)

    def single_copies(self, turn: int) -> np.ndarray:
        """Return the numbers of the chosen sentences, one copy of each, which alternates by turn."""
        own = self.chosen[self.chosen < self.n_own]
        numbers, first, counts = np.unique(own // self.copies, return_index=True, return_counts=True)
        return np.append(own[first + (numbers + turn) % counts], self.chosen[len(own) :])

    def order(self, epoch: int, stream: Stream) -> np.ndarray:
        """Return the order of the chosen sentences; arguments and seed determine it, so a resumed run repeats it."""
        mask = self.in_epoch(epoch)
        order = generator(self.seed, stream, epoch).permutation(len(mask))
        found: np.ndarray = order[np.isin(order, self.chosen) & mask[order]]
        return found

    def in_epoch(self, epoch: int) -> np.ndarray:
        """Return a mask of the sentences of an epoch: all of the treebank's, and different auxiliary ones each time."""
        first, others = self.n_own, len(self.auxiliary.sentences)
        mask = np.arange(first + others) < first
        if others:
            order, count = generator(self.seed, Stream.SILVER).permutation(others), self.auxiliary.sentences_per_epoch
            mask[first + order[(epoch * count + np.arange(count)) % others]] = True
        mask[self.numbers.bare] = False
        return mask
