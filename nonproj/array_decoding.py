"""Trees from scores of one's own: arrays of numpy or torch in, trees with certificates out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.dual.branch_and_bound import branch_and_bound
from nonproj.dual.k_best import k_best
from nonproj.dual.options import DualOptions, SearchOptions, check_search
from nonproj.options.config import DecodingConfig
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.trees.arborescence import best_arborescence_dense
from nonproj.trees.checks import BAD_SCORE, FOUND, check_status
from nonproj.trees.domain import LARGEST, LOW, forbidden_arcs, highest_forbidden
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
        Whether the tree is proven to be the best: no tree scores more, by more than ``1e-9 * (scale + |score|)``, where
        ``scale`` is the largest absolute score of an arc that a best tree may have, or of a sibling or grandparent.
    status : ndarray of shape (B,), str
        ``"optimal"`` where certified, ``"limit"`` where the work was used up: then the tree is the best that was seen.
    marginals : ndarray of shape (B, N, N), float64, or None
        The probability of each arc by the first-order model, if asked for.
    trees : list of list of Decoded, or None
        The k best trees of each sentence, if asked for.
    """

    heads: Int32s
    scores: Float64s
    bounds: Float64s
    certified: Bools
    status: np.ndarray
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
    work_per_word: int = DecodingConfig().search_limit,
) -> DecodedScores:
    """Find the best trees under scores given as arrays.

    Parameters
    ----------
    arc_scores : array-like of shape (N, N) or (B, N, N)
        ``arc_scores[..., h, m]`` of the arc from head ``h`` to modifier ``m``; node 0 is the root, words count from 1.
        Minus infinity forbids an arc, and so does a score below -1e8 that is a million times as far below zero as all
        higher ones are from zero, such as ``torch.finfo(torch.float32).min``: see `nonproj.trees.domain`.  The diagonal
        and column 0 are ignored.  Tensors of torch on the CPU are read in place, float32 or float64; they must be
        detached.
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
    work_per_word : int
        Limit of the search, in Viterbi transitions for each word (and tree); 0: dual decomposition without search.  See
        `nonproj.dual.options.SearchOptions`.

    Returns
    -------
    DecodedScores

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN, plus infinity or above 1e290 in absolute value, one of siblings or
        grandparents is not finite or too low to be added to the others, or a sentence has no tree.

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
        options = DualOptions(single_root=single_root, projective=projective)
        search = check_search(SearchOptions(work_per_word))
        found = _decode_each(
            scores,
            higher,
            sizes,
            lambda own, cubes, b: _decode(own, cubes, f"{b}, " if many else "", options, search, k),
        )
    else:
        found = _decode_arcs(scores, sizes, single_root, many)
    if k == 1:
        found = found._replace(trees=None)
    if marginals:
        found = found._replace(marginals=_all_marginals(scores, sizes, single_root))
    if many:
        return found
    probabilities = None if found.marginals is None else found.marginals[0]
    trees = None if found.trees is None else found.trees[0]
    return DecodedScores(*(column[0] for column in found[:5]), probabilities, trees)


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


def _decode_arcs(scores: np.ndarray, lengths: np.ndarray, single_root: bool, many: bool) -> DecodedScores:
    """Return the best arborescences, in one call."""
    size, n_nodes = scores.shape[:2]
    heads, totals = np.full((size, n_nodes), -1, np.int32), np.zeros(size)
    number, status = _decode_batch(scores, lengths, bool(single_root), heads, totals)
    if status == BAD_SCORE:
        _check_arcs(scores[number, : lengths[number] + 1, : lengths[number] + 1], f"{number}, " if many else "")
    if status != FOUND:
        _raise(status, number)
    certified = np.ones(size, np.bool_)
    return DecodedScores(heads, totals, totals.copy(), certified, _status(certified))


def _status(certified: Bools) -> np.ndarray:
    """Return the names of the statuses."""
    return np.where(certified, "optimal", "limit")


def _raise(status: int, number: int) -> None:
    """Raise the error of a status, with the number of the sentence."""
    try:
        check_status(status)
    except ValueError as error:
        raise ValueError(f"sentence {number}: {error}") from None


def _check_arcs(scores: np.ndarray, batch: str) -> Bools:
    """Return which arcs of a sentence are candidates, bool[N, N]; raise `ValueError` if a score is out of the domain.

    ``batch`` is what indices of the user's arrays begin with.
    """
    counts = ~np.eye(len(scores), dtype=np.bool_)
    counts[:, 0] = False
    values = scores.astype(np.float64)
    wrong = np.argwhere(counts & ~(values < np.inf))
    if len(wrong):
        h, m = wrong[0]
        reason = "a finite score is expected, or minus infinity for an absent arc"
        raise ValueError(f"arc_scores[{batch}{h}, {m}] is {scores[h, m]}; {reason}")
    counts[counts] = ~forbidden_arcs(values[counts])
    wrong = np.argwhere(counts & (np.abs(values) > LARGEST))
    if len(wrong):
        h, m = wrong[0]
        raise ValueError(f"arc_scores[{batch}{h}, {m}] is {scores[h, m]}; sums need at most {LARGEST}")
    return counts


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
        if not _settle_domain(own):
            return b, BAD_SCORE
        status = best_arborescence_dense(own, single_root, heads[b, :n_nodes])
        if status != FOUND:
            return b, status
        for m in range(1, n_nodes):
            totals[b] += own[heads[b, m], m]
    return -1, FOUND


@kernel
def _settle_domain(scores: Float64s) -> bool:
    """Replace the scores of forbidden arcs by minus infinity; return whether the others can be added."""
    n_nodes, count, lowest, largest = scores.shape[0], 0, 0.0, 0.0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m:
                lowest = min(lowest, scores[h, m])
                if scores[h, m] > -np.inf:
                    largest = max(largest, abs(scores[h, m]))
    if lowest < LOW:
        values = np.empty(n_nodes * n_nodes)
        for h in range(n_nodes):
            for m in range(1, n_nodes):
                if h != m:
                    values[count] = scores[h, m]
                    count += 1
        highest, largest = highest_forbidden(values[:count]), 0.0
        for h in range(n_nodes):
            for m in range(1, n_nodes):
                if h != m:
                    if scores[h, m] <= highest:
                        scores[h, m] = -np.inf
                    else:
                        largest = max(largest, abs(scores[h, m]))
    return largest <= LARGEST


def _decode_each(
    scores: np.ndarray,
    higher: dict[str, np.ndarray],
    lengths: np.ndarray,
    decode: Callable[[np.ndarray, dict[str, np.ndarray], int], list[Decoded]],
) -> DecodedScores:
    """Return the best trees, one sentence after the other."""
    heads, trees = np.full(scores.shape[:2], -1, np.int32), []
    for b, length in enumerate(lengths.tolist()):
        n_nodes = length + 1
        own = scores[b, :n_nodes, :n_nodes]
        found = [Decoded(np.array([-1], np.int32), 0.0, 0.0, True, True, 0, 0.0)]
        if length:
            cubes = {name: values[b, :n_nodes, :n_nodes, :n_nodes] for name, values in higher.items()}
            found = decode(own, cubes, b)
        heads[b, :n_nodes] = found[0].heads
        trees.append(found)
    columns = np.array([(found[0].score, found[0].bound, found[0].certified) for found in trees]).reshape(-1, 3).T
    certified = columns[2] > 0
    return DecodedScores(heads, columns[0], columns[1], certified, _status(certified), None, trees)


def _decode(
    arc_scores: np.ndarray,
    cubes: dict[str, np.ndarray],
    batch: str,
    options: DualOptions,
    search: SearchOptions,
    k: int,
) -> list[Decoded]:
    """Return the k best trees of one sentence; ``batch`` is as for `_check_arcs`."""
    space = arc_space_from_mask(_check_arcs(arc_scores, batch))
    parts = part_space(space, tuple(PART_TYPES[name] for name in ("arc", *cubes)))
    scores, n_nodes = np.zeros(len(parts)), len(arc_scores)
    arcs = parts.arcs
    scores[: len(arcs.head)] = arc_scores[arcs.head, arcs.modifier]
    for name, cube in cubes.items():
        place = parts.names.index(name)
        a, b, c = parts.types[place].rows(arcs, parts.starts[place]).nodes.T
        last = c >= n_nodes  # after the last sibling
        first = b >= n_nodes  # before the first one, which the head itself stands for
        middle, end = np.where(first, a, b), np.where(last, 0, c)
        scores[parts.range(name)] = np.where(last, 0.0, cube[a, middle, end])
        _check_parts(name, batch, scores, parts.range(name), (a, middle, end))
    try:
        return (
            k_best(parts, scores, k, options, search) if k > 1 else [branch_and_bound(parts, scores, options, search)]
        )
    except ValueError as error:
        raise ValueError(f"sentence {batch.removesuffix(', ')}: {error}" if batch else str(error)) from None


def _check_parts(name: str, batch: str, scores: Float64s, place: slice, nodes: tuple[np.ndarray, ...]) -> None:
    """Raise `ValueError` if a score of parts, ``scores[place]``, is out of the domain; name it as the user does."""
    own = scores[place]
    for wrong, reason in (
        (~np.isfinite(own), "a finite score is expected; only an arc can be forbidden"),
        (np.abs(own) > LARGEST, f"sums need at most {LARGEST} in absolute value"),
        (own <= highest_forbidden(scores), "it is too low to be added to the others; only an arc can be forbidden"),
    ):
        if wrong.any():
            i = int(wrong.argmax())
            index = ", ".join(str(axis[i]) for axis in nodes)
            raise ValueError(f"{name}s[{batch}{index}] is {own[i]}; {reason}")


def _all_marginals(scores: np.ndarray, lengths: np.ndarray, single_root: bool) -> np.ndarray:
    """Return the marginals of all sentences, 0 where they are padded."""
    found = np.zeros(scores.shape)
    for b, length in enumerate(lengths.tolist()):
        if length:
            found[b, : length + 1, : length + 1] = arc_marginals(scores[b, : length + 1, : length + 1], single_root)[0]
    return found
