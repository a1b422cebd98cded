"""What the components of a parser learn from: sentences as numbers, and what the numbers mean.

Nothing is kept twice: equal strings, and equal rows of copies with other tags, are one object; a sentence's candidate
arcs lie in one block, and its parts are numbered each time they are needed, which takes little of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nonproj.dual.options import DualOptions
from nonproj.linear.weights import quantise
from nonproj.model.model import LABEL_LINES
from nonproj.options.config import Config
from nonproj.scoring.labels import AllowedLabels
from nonproj.scoring.vectors import WordVectors
from nonproj.scoring.vocabulary import Encoder, Tokens
from nonproj.types import ArcSpace, Bools, Int16s, Int32s, Sentence

_T = TypeVar("_T")


def trees_of(sentences: Sequence[Sentence]) -> list[Int32s]:
    """Return the gold trees of sentences that have them, int32[N] each: see `nonproj.types.Sentence.tree`."""
    return [sentence.tree for sentence in sentences if sentence.tree is not None]


class Made(Sequence[_T]):
    """Items that are made each time they are needed, because to keep them would take much memory.

    Parameters
    ----------
    make : callable
        Returns the item of a number.
    numbers : ndarray of int64
        Those of the items, in their order.

    Examples
    --------
    >>> list(Made(lambda number: 10 * number, np.array([3, 1])))
    [30, 10]
    """

    def __init__(self, make: Callable[[int], _T], numbers: np.ndarray):
        self._make, self._numbers = make, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Made(self._make, self._numbers[place])
        return self._make(int(self._numbers[place]))


class Spaces(Sequence[ArcSpace]):
    """The candidate arcs of sentences, each in one block of memory: five arrays would take nearly twice as much.

    Parameters
    ----------
    spaces : iterable of ArcSpace

    Attributes
    ----------
    nbytes : int
        The size of the blocks.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> spaces = Spaces([full_arc_space(1), full_arc_space(2)])
    >>> spaces[1].head, spaces.nbytes
    (array([0, 2, 0, 1], dtype=int32), 136)
    """

    def __init__(self, spaces: Iterable[ArcSpace]):
        self._nodes, self._blocks = list[int](), list[Int32s]()
        for arcs in spaces:
            self._nodes.append(len(arcs.start) - 1)
            self._blocks.append(np.concatenate(arcs))

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        nodes, block = self._nodes[place], self._blocks[place]
        n_arcs = (len(block) - 3 * nodes - 2) // 3
        out = 2 * n_arcs + nodes + 1
        starts = block[:n_arcs], block[n_arcs : 2 * n_arcs], block[2 * n_arcs : out]
        return ArcSpace(*starts, block[out : out + n_arcs], block[out + n_arcs :])

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        return sum(block.nbytes for block in self._blocks)


class Pruned(NamedTuple):
    """What the pruner makes of each sentence: candidate arcs, and its tree, completed if it is partial, int32[N]."""

    spaces: Sequence[ArcSpace]
    completed: Sequence[Int32s]


class Material(NamedTuple):
    """Some sentences of a treebank, ready to learn from.

    Attributes
    ----------
    config : Config
    files : dict of str to dict
        The template files.
    encoder : Encoder
    labels : list of str
        In the order of their numbers.
    lines : AllowedLabels or None
    multi_root : bool
        Whether several words of a sentence can be roots.
    decoding : DualOptions
    progress : callable
        ``progress(iterable, description)`` wraps the long loops.
    sentences, tokens, gold : sequence of Sentence, of Tokens and of ndarray
        Of each sentence of the treebank, ``gold`` with the numbers of its labels, int64[n].
    chosen : ndarray of int64
        Which of the sentences are learnt from.
    spaces : sequence of ArcSpace
        The candidate arcs of each sentence of the treebank, once there is a pruner.
    vectors : WordVectors or None
    silver, taken : int
        How many of the sentences, the last ones, were parsed automatically, and how many of these an epoch takes.
    allowed : sequence of ndarray or None
        Of each sentence with a partial tree, the arcs that its tree can have, bool[N, N]; see
        `nonproj.learning.partial`.
    completed : sequence of ndarray
        The trees of all sentences, int32[N] each, partial ones completed by the pruner's model, once there is one.
    bare : ndarray of int64
        The sentences of which no head is given, which no epoch learns from.
    """

    config: Config
    files: dict[str, dict[str, Any]]
    encoder: Encoder
    labels: list[str]
    lines: AllowedLabels | None
    multi_root: bool
    decoding: DualOptions
    progress: Callable[..., Any]
    sentences: Sequence[Sentence]
    tokens: Sequence[Tokens]
    gold: Sequence[np.ndarray]
    chosen: np.ndarray
    spaces: Sequence[ArcSpace] = ()
    vectors: WordVectors | None = None
    silver: int = 0
    taken: int = 0
    allowed: Sequence[Bools | None] = ()
    completed: Sequence[Int32s] = ()
    bare: np.ndarray = np.zeros(0, np.int64)

    @property
    def trees(self) -> list[Int32s]:
        """The gold tree of each sentence of the treebank, int32[N]; -1 for words without a given head."""
        return trees_of(self.sentences)

    def pruned(self, found: Pruned) -> Material:
        """Return the sentences with candidate arcs and completed trees."""
        return self._replace(spaces=found.spaces, completed=found.completed)

    @property
    def attributes(self) -> list[str]:
        """The columns of `Tokens.atoms`."""
        return self.encoder.attributes

    def order(self, epoch: int, stage: int, model: int = 0) -> np.ndarray:
        """Return the order of the chosen sentences: it follows from arguments and seed, so a resumed run repeats it."""
        key = (self.config.seed, stage, epoch, *([model] if model else []))
        order = np.random.default_rng(key).permutation(len(self.sentences))
        chosen = np.zeros(len(self.sentences), np.bool_)
        chosen[self.chosen] = True
        chosen &= self.in_epoch(epoch)
        found: np.ndarray = order[chosen[order]]
        return found

    def in_epoch(self, epoch: int) -> np.ndarray:
        """Return which sentences an epoch learns from, bool: all of the treebank, and other silver ones each time."""
        first = len(self.sentences) - self.silver
        mask = np.arange(len(self.sentences)) < first
        if self.silver:
            order = np.random.default_rng((self.config.seed, 8)).permutation(self.silver)
            mask[first + order[(epoch * self.taken + np.arange(self.taken)) % self.silver]] = True
        mask[self.bare] = False
        return mask

    def rounded(
        self, tables: Mapping[str, np.ndarray], meta: dict[str, Any], **more: tuple[Int16s, float]
    ) -> dict[str, np.ndarray]:
        """Return the arrays of a model with rounded tables; their scales are added to its metadata.

        ``more`` are tables that are rounded already, with their scales.
        """
        found = {name: quantise(table) for name, table in tables.items()} | more
        meta["scale"] = {name: scale for name, (_, scale) in found.items()}
        lines = {LABEL_LINES: self.lines.table} if self.lines else {}
        return {name: table for name, (table, _) in found.items()} | lines
