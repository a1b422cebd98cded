"""The candidate arcs of a sentence, indexed by modifier and outward from each head.

`check_count` refuses a sentence with too many parts before memory for them is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from nonproj.errors import Advice, SizeError
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Bools, Int32s, Int64s, PartRows, Uint8s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_T = TypeVar("_T", bound=np.generic)

MAX_PARTS = 100_000_000
"""Maximum number of a sentence's parts, and of its pairs of words; these parts take 3 GB."""


def arc_space(heads: ArrayLike, modifiers: ArrayLike, n_words: int) -> ArcSpace:
    """Index arcs that are listed in any order.

    Parameters
    ----------
    heads, modifiers : array-like of shape (A,), int
        Arc ``a`` goes from ``heads[a]``, in ``0 .. n``, to ``modifiers[a]``, in ``1 .. n``.
    n_words : int
        Number of words of the sentence, ``n``.

    Raises
    ------
    ValueError
        If an arc is out of range, a loop, or given twice; `SizeError` if the words have more than `MAX_PARTS` pairs.

    Examples
    --------
    >>> arcs = arc_space([2, 0, 1], [1, 2, 2], n_words=2)
    >>> list(zip(arcs.head.tolist(), arcs.modifier.tolist()))
    [(2, 1), (0, 2), (1, 2)]
    """
    heads, modifiers = _integers(heads, "heads"), _integers(modifiers, "modifiers")
    if heads.shape != modifiers.shape:
        raise ValueError(f"heads has {len(heads)} entries and modifiers {len(modifiers)}; equal lengths are expected")
    check_count(n_words**2, "pairs of words", n_words)
    wrong = (heads < 0) | (heads > n_words) | (modifiers < 1) | (modifiers > n_words) | (heads == modifiers)
    if wrong.any():
        h, m = heads[wrong][0], modifiers[wrong][0]
        raise ValueError(f"arc {h} -> {m} is not an arc: heads are 0 .. {n_words}, modifiers 1 .. {n_words}; no loops")
    mask = np.zeros((n_words + 1, n_words + 1), np.bool_)
    mask[heads, modifiers] = True
    if np.count_nonzero(mask) != len(heads):
        _, first = np.unique(heads * (n_words + 1) + modifiers, return_index=True)
        twice = np.setdiff1d(np.arange(len(heads)), first)[0]
        raise ValueError(f"arc {heads[twice]} -> {modifiers[twice]} is given twice")
    return ArcSpace(*index_arcs(mask))


def arc_space_from_mask(mask: np.ndarray) -> ArcSpace:
    """Index the arcs ``h -> m`` for which ``mask[h, m]``, bool[N, N]; the diagonal and column 0 are ignored.

    Raises
    ------
    ValueError
        If the mask is not a square matrix of bool; `SizeError` as for `arc_space`.

    Examples
    --------
    >>> arc_space_from_mask(np.ones((3, 3), dtype=bool)).head
    array([0, 2, 0, 1], dtype=int32)
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise ValueError(f"mask must be an array of bool, not {getattr(mask, 'dtype', type(mask).__name__)}")
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or len(mask) == 0:
        raise ValueError(f"mask has shape {mask.shape}; (N, N) with N = words + 1 is expected")
    check_count(mask.size, "pairs of words", len(mask) - 1)
    return ArcSpace(*index_arcs(as_array(mask, np.bool_)))


def with_arcs(arcs: ArcSpace, heads: np.ndarray, modifiers: np.ndarray) -> ArcSpace:
    """Return the arcs together with others, int[n], over the same words; the same object if none of these is new.

    Examples
    --------
    >>> with_arcs(arc_space([0, 0], [1, 2], 2), np.array([0, 1]), np.array([1, 2])).head.tolist()
    [0, 0, 1]
    """
    n_nodes = len(arcs.start) - 1
    mask = np.zeros((n_nodes, n_nodes), np.bool_)
    mask[arcs.head, arcs.modifier] = True
    if mask[heads, modifiers].all():
        return arcs
    mask[heads, modifiers] = True
    return ArcSpace(*index_arcs(mask))


def subset(arcs: ArcSpace, keep: np.ndarray) -> ArcSpace:
    """Index the arcs to ``keep``, bool[A], in time linear in the number of arcs.

    Examples
    --------
    >>> subset(full_arc_space(2), np.array([True, False, True, True])).head
    array([0, 0, 1], dtype=int32)
    """
    kept_out = keep[arcs.out]
    before, before_out = (np.concatenate([[0], np.cumsum(each)]).astype(np.int32) for each in (keep, kept_out))
    start, out_start = before[arcs.start], before_out[arcs.out_start]
    return ArcSpace(arcs.head[keep], arcs.modifier[keep], start, before[arcs.out[kept_out]], out_start)


def full_arc_space(n_words: int) -> ArcSpace:
    """Index all ``n * n`` arcs of a sentence of ``n_words`` words; `SizeError` as for `arc_space`.

    Examples
    --------
    >>> len(full_arc_space(3).head)
    9
    """
    if n_words < 0:
        raise ValueError(f"n_words is {n_words}; it cannot be negative")
    check_count(n_words**2, "pairs of words", n_words)
    return ArcSpace(*index_arcs(np.ones((n_words + 1, n_words + 1), np.bool_)))


def as_array(array: ArrayLike, dtype: type[_T]) -> NDArray[_T]:
    """Return a contiguous, writable array of this dtype (kernels have one signature), copied only if necessary."""
    found = np.ascontiguousarray(array, dtype)
    return found if found.flags.writeable else found.copy()


def check_count(count: int, what: str, n_words: int) -> None:
    """Raise `SizeError` if a sentence has more than `MAX_PARTS` parts, or other items of similar size."""
    if count > MAX_PARTS:
        advice = Advice("pruner", "prune more (decoding.threshold, pruner.max_heads), or split the sentence")
        raise SizeError(f"{count} {what} over {n_words} words; the maximum is {MAX_PARTS}: ", advice)


def filled_rows(fill: Callable[[ArcSpace, Int32s, Uint8s], None], arcs: ArcSpace, size: int, words: int) -> PartRows:
    """Return the rows of parts with this number of words each, filled by a kernel."""
    nodes, codes = np.empty((size, words), np.int32), np.zeros((size, 3), np.uint8)
    fill(arcs, nodes, codes)
    return PartRows(nodes, codes)


def _integers(values: ArrayLike, name: str) -> Int64s:
    """Return a vector as int64; raise ``ValueError`` if it is not one."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a vector of integers, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


@kernel
def index_arcs(mask: Bools) -> tuple[Int32s, Int32s, Int32s, Int32s, Int32s]:
    """Return the arrays of the `ArcSpace` of a mask[h, m]: by modifier, and outward from each head."""
    n_nodes = mask.shape[0]
    count = 0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if mask[h, m] and h != m:
                count += 1
    head = np.empty(count, np.int32)
    modifier = np.empty(count, np.int32)
    start = np.empty(n_nodes + 1, np.int32)
    out = np.empty(count, np.int32)
    out_start = np.zeros(2 * n_nodes + 1, np.int32)
    a = 0
    start[0] = 0
    for m in range(n_nodes):
        if m > 0:
            for h in range(n_nodes):
                if mask[h, m] and h != m:
                    head[a] = h
                    modifier[a] = m
                    out_start[2 * h + (m > h) + 1] += 1
                    a += 1
        start[m + 1] = a
    for q in range(2 * n_nodes):
        out_start[q + 1] += out_start[q]
    # Modifiers are ascending: right sides fill from the front, left sides (outward is descending) from the back.
    filled = np.zeros(2 * n_nodes, np.int32)
    for a in range(count):
        h = head[a]
        if modifier[a] > h:
            q = 2 * h + 1
            out[out_start[q] + filled[q]] = a
        else:
            q = 2 * h
            out[out_start[q + 1] - 1 - filled[q]] = a
        filled[q] += 1
    return head, modifier, start, out, out_start
