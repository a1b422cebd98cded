"""Every object that crosses the border between two rooms, with its shapes.

Symbols, one legend for all files: ``n`` words, ``N = n + 1`` nodes (node 0 is the root), ``h`` head,
``m`` modifier, ``s`` previous sibling, ``g`` grandparent, ``A`` arcs after pruning, ``S`` sibling parts,
``G`` grandparent parts.  A tree is ``heads``, ``int32[N]`` with ``heads[0] == -1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

ARC, SIBLING, GRANDPARENT = 0, 1, 2
"""The three models, as kernels see them: arc-factored, sibling, grandparent and sibling (G+S)."""

MODELS = ("arc", "sibling", "grandparent")
"""Their names, in the order of their numbers."""


@dataclass(slots=True)
class Sentence:
    """One sentence of a CoNLL-X or CoNLL-U file, without loss.

    Attributes
    ----------
    rows : list of list of str
        The ten columns of each word (multiword ranges and empty nodes are not words).
    heads : ndarray of shape (N,), int32, or None
        Gold heads, ``heads[0] == -1``; None when the column HEAD is absent (``_``) for any word.
    lines : list of str
        The untouched lines, comments and blank separators included, each with its own line ending.
    word_lines : list of int
        ``lines[word_lines[i]]`` is the line of word ``i + 1``.
    path : str
        The file it came from.
    line : int
        The number, from 1, of its first line in that file.
    """

    rows: list[list[str]]
    heads: np.ndarray | None = None
    lines: list[str] = field(default_factory=list)
    word_lines: list[int] = field(default_factory=list)
    path: str = "<memory>"
    line: int = 1

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def forms(self) -> list[str]:
        """The words, ``n`` strings."""
        return [row[1] for row in self.rows]

    @property
    def labels(self) -> list[str]:
        """The column DEPREL, ``n`` strings (``_`` where absent)."""
        return [row[7] for row in self.rows]


class ArcSpace(NamedTuple):
    """The arcs that may be used, sorted by modifier and head, and the same arcs outward from each head.

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


class PartIndex(NamedTuple):
    """Where the higher-order parts of each head lie in the flat vectors of `PartScores`.

    Attributes
    ----------
    sibling_start : ndarray of shape (2 * N + 1,), int32
        Half-automaton ``q = 2 * h + side`` with ``k`` candidate modifiers ``c_1 .. c_k``, outward from
        the head, has a part for each transition from position ``a`` to position ``b``,
        ``0 <= a < b <= k + 1``; position 0 is START and ``k + 1`` is END.  Transition ``(a, b)`` is part
        ``sibling_start[q] + b * (b - 1) // 2 + a``; ``(k + 1) * (k + 2) // 2`` parts in all.
        All zeros for an arc-factored model.
    grandparent_start : ndarray of shape (N + 1,), int32
        Word ``h`` with ``p`` arcs into it and ``k`` arcs out of it (left and right) has ``p * k`` parts:
        the one of ``i``-th arc in, ``start[h] + i``, and ``j``-th arc out, ``out[out_start[2 * h] + j]``,
        is part ``grandparent_start[h] + i * k + j``.  Where grandparent and modifier are the same word
        the part is never used (an automaton may not choose it).  All zeros unless the model is G+S.
    """

    sibling_start: np.ndarray
    grandparent_start: np.ndarray


class PartScores(NamedTuple):
    """Scores aligned with the parts: ``arc`` float64[A], ``sibling`` float64[S], ``grandparent`` float64[G].

    The score of a tree is the sum over its arcs, over the transitions (START and END included) of every
    half-automaton, and over its chains ``g -> h -> m``.
    """

    arc: np.ndarray
    sibling: np.ndarray
    grandparent: np.ndarray


class Decoded(NamedTuple):
    """A tree, and what is known about it.

    Attributes
    ----------
    heads : ndarray of shape (N,), int32
        ``heads[0] == -1``.
    score : float
        The tree's score under the whole model (the primal value).
    bound : float
        The lowest dual value seen: no tree over the same arcs scores higher.
    agreed : bool
        The two subproblems returned the same arcs: the papers' certificate.
    certified : bool
        Agreed, or ``bound - score`` is within the stated tolerance of zero.
    iterations : int
        Iterations of the subgradient method (0 where none was needed).
    recomputed : float
        Share of head automata decoded over all iterations, from 0 to 1.
    nodes : int
        Nodes of a search for the best tree, after the first; 0 without a search.
    """

    heads: np.ndarray
    score: float
    bound: float
    agreed: bool
    certified: bool
    iterations: int
    recomputed: float
    nodes: int = 0
