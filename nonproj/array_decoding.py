"""Trees from scores of one's own: arrays of numpy or torch in, trees with certificates out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.dual.branch_and_bound import branch_and_bound
from nonproj.dual.k_best import k_best
from nonproj.dual.options import DualOptions
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.trees.arborescence import best_arborescence_dense
from nonproj.trees.checks import FOUND, check_status
from nonproj.trees.marginals import marginals as arc_marginals
from nonproj.types import Bools, Decoded, Float32s, Float64s, Int32s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class DecodedScores(NamedTuple):
    """The trees of a batch of ``B`` sentences, padded to ``N`` nodes; of one sentence without the first axis.

    Attributes
    ----------
    heads : ndarray of shape (B, N), int32
        The head of each word; -1 for the root and for padding.
    scores, bounds : ndarray of shape (B,), float64
        The score of each tree, and an upper bound on all trees.
    certified : ndarray of shape (B,), bool
        Whether the tree is proven to be the best.
    marginals : ndarray of shape (B, N, N), float64, or None
        The probability of each arc by the first-order model, if asked for.
    trees : list of list of Decoded, or None
        The k best trees of each sentence, if asked for.
    """

    heads: Int32s
    scores: Float64s
    bounds: Float64s
    certified: Bools
    marginals: Float64s | None = None
    trees: Any = None


def decode_scores(
    arc_scores: ArrayLike,
    siblings: ArrayLike | None = None,
    grandparents: ArrayLike | None = None,
    *,
    single_root: bool = True,
    projective: bool = False,
    lengths: ArrayLike | None = None,
    marginals: bool = False,
    k: int = 1,
) -> DecodedScores:
    """Find the best trees under scores given as arrays.

    Parameters
    ----------
    arc_scores : array-like of shape (N, N) or (B, N, N)
        ``arc_scores[..., h, m]`` of the arc from head ``h`` to modifier ``m``; node 0 is the root, words count from 1.
        Minus infinity forbids an arc.  The diagonal and column 0 are ignored.  Tensors of torch on the CPU are read in
        place, float32 or float64; they must be detached.
    siblings : array-like of shape (N, N, N) or (B, N, N, N), optional
        ``siblings[..., h, s, m]`` where ``m`` is the next modifier of ``h`` after ``s`` on the same side, outward from
        the head; ``s == h`` where ``m`` is the first on its side.
    grandparents : array-like of the same shape, optional
        ``grandparents[..., g, h, m]`` of the arcs from ``g`` to ``h`` and from ``h`` to ``m``.
    single_root : bool
        Whether exactly one word is headed by the root.
    projective : bool
        Whether arcs may not cross.
    lengths : array-like of shape (B,), int, optional
        The number of words of each sentence, where they are padded; by default ``N - 1``.
    marginals : bool
        Whether to compute the probability of each arc, ``P(tree) = exp(sum of its arc_scores) / Z``.  Siblings,
        grandparents and ``projective`` have no part in it.
    k : int
        How many trees to find for each sentence, best first.

    Returns
    -------
    DecodedScores

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN or plus infinity, one of siblings or grandparents is not finite, or a
        sentence has no tree.

    Notes
    -----
    Arcs alone: Chu-Liu-Edmonds, or Eisner's algorithm.  With siblings or grandparents: dual decomposition and branch
    and bound (Koo et al. 2010), over all arcs that are not forbidden, up to 2 N^3 parts.

    Examples
    --------
    >>> found = decode_scores([[0, 1, 2], [0, 0, 5], [0, 3, 0]])
    >>> found.heads, found.scores, found.certified
    (array([-1,  0,  1], dtype=int32), np.float64(6.0), np.True_)
    """
    scores, many = _as_batch(arc_scores, 2, "arc_scores")
    higher = {}
    for name, values in (("sibling", siblings), ("grandparent", grandparents)):
        if values is not None:
            higher[name] = _as_batch(values, 3, f"{name}s")[0]
            if higher[name].shape != (*scores.shape, scores.shape[-1]):
                raise ValueError(f"{name}s has shape {np.shape(values)}, which does not fit {np.shape(arc_scores)}")
    sizes = _check_lengths(lengths, scores)
    if k < 1:
        raise ValueError(f"k is {k}; 1 or more is expected")
    if higher or projective or k > 1:
        found = _decode_each(scores, higher, sizes, DualOptions(single_root=single_root, projective=projective), k)
    else:
        found = _decode_arcs(scores, sizes, single_root)
    if marginals:
        found = found._replace(marginals=_all_marginals(scores, sizes, single_root))
    if many:
        return found
    probabilities = None if found.marginals is None else found.marginals[0]
    trees = None if found.trees is None else found.trees[0]
    return DecodedScores(found.heads[0], found.scores[0], found.bounds[0], found.certified[0], probabilities, trees)


def _as_batch(values: ArrayLike, axes: int, name: str) -> tuple[Float32s | Float64s, bool]:
    """Return scores as a batch of contiguous floats, and whether they were one."""
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    many = array.ndim == axes + 1
    array = np.ascontiguousarray(array if many else array[None])
    if array.ndim != axes + 1 or len(set(array.shape[1:])) != 1 or array.shape[-1] == 0:
        shape, given = ", ".join(["N"] * axes), np.shape(values)
        raise ValueError(f"{name} has shape {given}; ({shape}) or (B, {shape}) with N = words + 1 is expected")
    return array, many


def _check_lengths(lengths: ArrayLike | None, scores: Float32s | Float64s) -> Int64s:
    """Return the number of words of each sentence, int64[B]."""
    size, most = len(scores), scores.shape[-1] - 1
    if lengths is None:
        return np.full(size, most)
    found = np.atleast_1d(np.asarray(lengths))
    if found.shape != (size,) or found.dtype.kind not in "iu" or (found < 0).any() or (found > most).any():
        raise ValueError(f"lengths is {found.tolist()}; {size} integers from 0 to {most} are expected")
    return found.astype(np.int64)


def _decode_arcs(scores: np.ndarray, lengths: np.ndarray, single_root: bool) -> DecodedScores:
    """Return the best arborescences, in one call."""
    size, n_nodes = scores.shape[:2]
    heads, totals = np.full((size, n_nodes), -1, np.int32), np.zeros(size)
    number, status = _decode_batch(scores, lengths, bool(single_root), heads, totals)
    if status != FOUND:
        _raise(status, number)
    return DecodedScores(heads, totals, totals.copy(), np.ones(size, np.bool_))


def _raise(status: int, number: int) -> None:
    """Raise the error of a status, with the number of the sentence."""
    try:
        check_status(status)
    except ValueError as error:
        raise ValueError(f"sentence {number}: {error}") from None


@kernel
def _decode_batch(
    scores: Float32s | Float64s, lengths: Int64s, single_root: bool, heads: Int32s, totals: Float64s
) -> tuple[int, int]:
    """Write heads and score of each sentence; return the number of the first that has no tree, and its status."""
    for b in range(scores.shape[0]):
        n_nodes = lengths[b] + 1
        if n_nodes == 1:
            continue
        own = np.empty((n_nodes, n_nodes))
        for h in range(n_nodes):
            for m in range(n_nodes):
                own[h, m] = scores[b, h, m]
        status = best_arborescence_dense(own, single_root, heads[b, :n_nodes])
        if status != FOUND:
            return b, status
        for m in range(1, n_nodes):
            totals[b] += own[heads[b, m], m]
    return -1, FOUND


def _decode_each(
    scores: np.ndarray, higher: dict[str, np.ndarray], lengths: np.ndarray, options: DualOptions, k: int
) -> DecodedScores:
    """Return the best trees, one sentence after the other."""
    heads, trees = np.full(scores.shape[:2], -1, np.int32), []
    for b, length in enumerate(lengths.tolist()):
        n_nodes = length + 1
        own = scores[b, :n_nodes, :n_nodes]
        try:
            if length:
                cubes = {name: values[b, :n_nodes, :n_nodes, :n_nodes] for name, values in higher.items()}
                found = _decode(own, cubes, options, k)
            else:
                found = [Decoded(np.array([-1], np.int32), 0.0, 0.0, True, True, 0, 0.0)]
        except ValueError as error:
            raise ValueError(f"sentence {b}: {error}") from None
        heads[b, :n_nodes] = found[0].heads
        trees.append(found)
    columns = np.array([(found[0].score, found[0].bound, found[0].certified) for found in trees]).reshape(-1, 3).T
    return DecodedScores(heads, columns[0], columns[1], columns[2] > 0, None, trees if k > 1 else None)


def _decode(arc_scores: np.ndarray, cubes: dict[str, np.ndarray], options: DualOptions, k: int) -> list[Decoded]:
    """Return the k best trees of one sentence."""
    mask = arc_scores > -np.inf
    mask[:, 0] = False
    np.fill_diagonal(mask, False)
    parts = part_space(arc_space_from_mask(mask), tuple(PART_TYPES[name] for name in ("arc", *cubes)))
    scores, n_nodes = np.zeros(len(parts)), len(arc_scores)
    arcs = parts.arcs
    scores[: len(arcs.head)] = arc_scores[arcs.head, arcs.modifier]
    for name, cube in cubes.items():
        place = parts.names.index(name)
        a, b, c = parts.types[place].rows(arcs, parts.starts[place]).nodes.T
        last = c >= n_nodes  # after the last sibling
        first = b >= n_nodes  # before the first one, which the head itself stands for
        values = cube[a, np.where(first, a, b), np.where(last, 0, c)]
        scores[parts.range(name)] = np.where(last, 0.0, values)
    return k_best(parts, scores, k, options) if k > 1 else [branch_and_bound(parts, scores, options)]


def _all_marginals(scores: np.ndarray, lengths: np.ndarray, single_root: bool) -> np.ndarray:
    """Return the marginals of all sentences, 0 where they are padded."""
    found = np.zeros(scores.shape)
    for b, length in enumerate(lengths.tolist()):
        if length:
            found[b, : length + 1, : length + 1] = arc_marginals(scores[b, : length + 1, : length + 1], single_root)[0]
    return found
