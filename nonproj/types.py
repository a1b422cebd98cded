"""The data structures shared by most packages, with their shapes.

Symbols, with the same meaning in all files: ``n`` words, ``N = n + 1`` nodes (node 0 is the root), ``h`` head, ``m``
modifier, ``s`` previous sibling, ``g`` grandparent, ``A`` candidate arcs, ``P`` parts of all types.

A tree has two forms.  ``heads``, ``int32[n]``, is the public form: an entry for each word, 1-based, 0 for the root.
``tree``, ``int32[N]``, is the form of decoders and kernels: an entry for each node, ``tree[0] == -1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:  # importing numpy.typing takes as long as the rest of this module
    from numpy.typing import NDArray

# Arrays by element type; shapes are in the docstrings.
Bools: TypeAlias = "NDArray[np.bool_]"
Int8s: TypeAlias = "NDArray[np.int8]"
Int16s: TypeAlias = "NDArray[np.int16]"
Int32s: TypeAlias = "NDArray[np.int32]"
Int64s: TypeAlias = "NDArray[np.int64]"
Uint8s: TypeAlias = "NDArray[np.uint8]"
Uint32s: TypeAlias = "NDArray[np.uint32]"
Uint64s: TypeAlias = "NDArray[np.uint64]"
Float32s: TypeAlias = "NDArray[np.float32]"
Float64s: TypeAlias = "NDArray[np.float64]"


@dataclass(slots=True)
class Sentence:
    """One sentence of a CoNLL-X or CoNLL-U file, lossless.

    Attributes
    ----------
    rows : list of list of str
        The ten columns of each word (multiword ranges and empty nodes are not words).
    tree : ndarray of shape (N,), int32, or None
        The gold tree, ``tree[0] == -1``; None when the column HEAD is absent (``_``) for any word.  See also `heads`.
        In training, words without a given head have -1: see `nonproj.io.partial`.
    lines : list of str
        The unchanged lines, including comments and blank separators, each with its own line ending.
    word_lines : list of int
        ``lines[word_lines[i]]`` is the line of word ``i + 1``.
    path, line : str and int
        The file of the sentence, and the number, from 1, of its first line there.
    boundary_margins : ndarray of shape (N, 2), float32, or None
        The segmenter's margin for each word's token, and the score of a sentence boundary after the token, positive
        where the segmenter set one.  The root's row has the score of the boundary before the first word.  None if words
        or sentences were given in the input.  See `nonproj.text.output.boundary_margins`.
    tag_margins : ndarray of shape (n,), float64, or None
        The margin of each predicted tag over the best other one: see `nonproj.tagging.tagger.Tagger.tag_with_margins`.
        None if the tags were given.
    order : tuple of int, or None
        The order of the columns in the file, if it is not that of ``lines``: see `nonproj.io.layouts`.
    offsets : list of (int, int)
        Start and end (exclusive) of each word in the segmented text, in characters; the words of a multiword token
        share them.  Empty if words were given in the input.
    """

    rows: list[list[str]]
    tree: Int32s | None = None
    lines: list[str] = field(default_factory=list)
    word_lines: list[int] = field(default_factory=list)
    path: str = "<memory>"
    line: int = 1
    boundary_margins: np.ndarray | None = None
    tag_margins: Float64s | None = None
    order: tuple[int, ...] | None = None
    offsets: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def heads(self) -> Int32s | None:
        """The gold head of each word, int32[n]: ``heads[i]`` is that of word ``i + 1``, 0 for the root; or None."""
        return None if self.tree is None else self.tree[1:]

    @property
    def forms(self) -> list[str]:
        """The words, ``n`` strings."""
        return [row[1] for row in self.rows]

    @property
    def labels(self) -> list[str]:
        """The column DEPREL, ``n`` strings (``_`` where absent)."""
        return [row[7] for row in self.rows]


class ArcSpace(NamedTuple):
    """The candidate arcs, sorted by modifier and head, and the same arcs outward from each head.

    Attributes
    ----------
    head, modifier : ndarray of shape (A,), int32
        Arc ``a`` goes from ``head[a]`` to ``modifier[a]``; sorted by ``(modifier, head)``.
    start : ndarray of shape (N + 1,), int32
        The arcs into ``m`` are ``start[m]:start[m + 1]`` (none into 0).
    out : ndarray of shape (A,), int32
        Arc numbers by head and side, going outward from the head on each side.
    out_start : ndarray of shape (2 * N + 1,), int32
        ``out[out_start[2 * h]:out_start[2 * h + 1]]`` are the arcs of ``h`` to its left (``m`` falling);
        ``out[out_start[2 * h + 1]:out_start[2 * h + 2]]`` those to its right (``m`` rising).
        The number ``2 * h + side`` is called the (half-)automaton ``q``.
    """

    head: np.ndarray
    modifier: np.ndarray
    start: np.ndarray
    out: np.ndarray
    out_start: np.ndarray


class PartRows(NamedTuple):
    """The parts of one type as rows of words and geometric codes, from which features are extracted.

    Attributes
    ----------
    nodes : ndarray of shape (P, n_slots), int32
        The words of each part; node ``N`` stands for START (or none) and ``N + 1`` for END.
    codes : ndarray of shape (P, 3), uint8
        The three geometric codes of each part, numbered as in the part type's ``codes``; see `nonproj.parts.geometry`.
    """

    nodes: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class PartSpace:
    """All parts over a sentence's candidate arcs, in one flat numbering; `nonproj.parts.space.part_space` makes it.

    Scores, gold and predicted indicators and updates are ``float64[P]`` vectors in this numbering.

    Attributes
    ----------
    arcs : ArcSpace
        The candidate arcs; arc ``a`` is part ``a``.
    types : tuple of PartType
        The set of part types, arcs first.
    starts : tuple of ndarray, int64
        For each type the result of its ``number``: the layout of its parts.
    offsets : tuple of int
        The parts of type ``i`` are ``offsets[i]:offsets[i + 1]``; the last entry is ``P``.
    """

    arcs: ArcSpace
    types: tuple[Any, ...]
    starts: tuple[np.ndarray, ...]
    offsets: tuple[int, ...]

    def __len__(self) -> int:
        return self.offsets[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the part types."""
        return tuple(part_type.name for part_type in self.types)

    def start(self, name: str) -> np.ndarray:
        """Return the layout of the parts of a type; empty if the set does not include it."""
        for part_type, start in zip(self.types, self.starts, strict=True):
            if part_type.name == name:
                return start
        return _NO_PARTS

    def range(self, name: str) -> slice:
        """Return the parts of a type as a slice of the flat vectors; empty if the set does not include it."""
        start = self.start(name)
        return slice(int(start[0]), int(start[-1])) if len(start) else slice(0, 0)


_NO_PARTS = np.empty(0, np.int64)


class Decoded(NamedTuple):
    """A tree and its certificate.

    Attributes
    ----------
    tree : ndarray of shape (N,), int32
        The head of each node; ``tree[0] == -1``.  See also `heads`.
    score : float
        The tree's score under the whole model (the primal value), less the costs of its crossed arcs, if any.
    bound : float
        The lowest dual value seen: no tree over the same arcs scores higher.
    agreed : bool
        Whether the two subproblems returned the same arcs: the papers' certificate.
    certified : bool
        Agreed, or ``bound - score <= tolerance * (scale + |score|)``; see `nonproj.dual.options.DualOptions`.
    iterations : int
        Number of iterations of the subgradient method (0 if none was needed).
    recomputed : float
        Share of head automata decoded over all iterations, from 0 to 1.
    nodes : int
        Number of nodes of the search after the root node; 0 without a search.
    """

    tree: Int32s
    score: float
    bound: float
    agreed: bool
    certified: bool
    iterations: int
    recomputed: float
    nodes: int = 0

    @property
    def heads(self) -> Int32s:
        """The head of each word, int32[n]: ``heads[i]`` is that of word ``i + 1``; 0 is the root."""
        return self.tree[1:]
