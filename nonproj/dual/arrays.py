"""Trees from user-supplied scores: arrays of numpy or torch in, trees with certificates out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.dual.batches import decode_batch
from nonproj.dual.decoding import k_best
from nonproj.dual.options import SEARCH, DualOptions, SearchOptions, check_search
from nonproj.dual.proofs import as_line, search_with_proof
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.trees.batches import ArrayBatch, as_batch, check_lengths
from nonproj.trees.checks import BAD_SCORE, FOUND, check_flag, check_integer, check_status
from nonproj.trees.domain import LARGEST, forbidden_arcs, highest_forbidden
from nonproj.trees.marginals import marginals as arc_marginals
from nonproj.types import Bools, Decoded, Float32s, Float64s, Int32s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class DecodedScores(NamedTuple):
    """The trees of a batch of ``B`` sentences, padded to ``n`` words; without the first axis for a single sentence.

    Attributes
    ----------
    heads : ndarray of shape (B, n), int32
        The head of each word, from 1; 0 is the root, and -1 is padding.
    scores, bounds : ndarray of shape (B,), float64
        The score of each tree, less its crossing costs, and an upper bound on those of all trees, rounded outward.
    certified : ndarray of shape (B,), bool
        Whether the tree is proven optimal: no tree scores higher by more than ``1e-9 * (scale + |score|)``, where
        ``scale`` is the largest absolute score of an arc that a best tree may have, or of a sibling or grandparent, and
        scores of arcs are relative to the best arc into each word.
    status : ndarray of shape (B,), str
        ``"optimal"`` if certified, ``"limit"`` if the search reached its work limit; the tree is then the best found.
    marginals : ndarray of shape (B, N, N), float64, or None
        The probability of each arc under the first-order model, if requested; ``N = n + 1`` nodes, 0 is the root.
    trees : list of list of Decoded, or None
        The k best trees of each sentence, if requested.
    labels : ndarray of shape (B, n), int32, or None
        The index of the label of each word's arc in the best tree, if there are label scores; -1 for padding.
    proofs : list of str or None
        A proof for each sentence, if requested: a line for a file that `nonproj.dual.check_proofs` checks; an empty
        string for a sentence without words.
    """

    heads: Int32s
    scores: Float64s
    bounds: Float64s
    certified: Bools
    status: np.ndarray
    marginals: Float64s | None = None
    trees: Any = None
    labels: Int32s | None = None
    proofs: Any = None


def decode_scores(  # noqa: PLR0913 (options by name, for users)
    arc_scores: ArrayLike,
    siblings: ArrayLike | None = None,
    grandparents: ArrayLike | None = None,
    *,
    label_scores: ArrayLike | None = None,
    crossing_costs: ArrayLike | None = None,
    single_root: bool = True,
    projective: bool = False,
    lengths: ArrayLike | None = None,
    marginals: bool = False,
    k: int = 1,
    work_per_word: int = SEARCH.work_per_word,
    proofs: bool = False,
) -> DecodedScores:
    """Find the best trees under scores given as arrays.

    Batches are padded arrays with ``lengths``, or lists with one array per sentence.

    Parameters
    ----------
    arc_scores : array-like of shape (N, N) or (B, N, N), or list of arrays of shape (N, N)
        ``arc_scores[..., h, m]`` of the arc from head ``h`` to modifier ``m``; node 0 is the root, words count from 1.
        Minus infinity forbids an arc; so does a score below -1e8 whose absolute value is a million times those of all
        higher scores, such as ``torch.finfo(torch.float32).min``: see `nonproj.trees.domain`.  The diagonal
        and column 0 are ignored.  Torch tensors on the CPU are read in place, float32 or float64; they must be
        detached.
    siblings : array-like of shape (N, N, N) or (B, N, N, N), optional
        ``siblings[..., h, s, m]`` where ``m`` is the next modifier of ``h`` after ``s`` on the same side, outward from
        the head; ``s == h`` if ``m`` is the first on its side.
    grandparents : array-like of the same shape, optional
        ``grandparents[..., g, h, m]`` of the arcs from ``g`` to ``h`` and from ``h`` to ``m``.
    label_scores : array-like of shape (N, N, L) or (B, N, N, L), optional
        ``label_scores[..., h, m, l]`` is added to the score of the arc if it has label ``l``; minus infinity forbids
        this label.  The result is the best labelled tree.
    crossing_costs : array-like of shape (N, N) or (B, N, N), optional
        ``crossing_costs[..., h, m]``, 0 or more, is subtracted from the score of a tree in which another arc crosses
        this one: one of its ends is between ``h`` and ``m``, and the other one is neither there nor one of them.
    single_root : bool
        Whether exactly one word is headed by the root.
    projective : bool
        Whether arcs may not cross.
    lengths : array-like of shape (B,), int, optional
        Number of words of each sentence in a padded batch; by default ``N - 1``.
    marginals : bool
        Whether to compute the probability of each arc, ``P(tree) = exp(sum of its arc_scores) / Z``.  Siblings,
        grandparents, crossing costs and ``projective`` do not affect it.  With ``label_scores`` this is a distribution
        over labelled trees, and an arc's probability is the sum over its labels.
    k : int
        Number of trees per sentence, best first.
    work_per_word : int
        Maximum work of the search, in Viterbi transitions per word (and tree), half of it for each word after the
        first 50: by default 100 million, which take about 50 milliseconds; 0: dual decomposition only.  See
        `nonproj.dual.options.SearchOptions`.
    proofs : bool
        Whether to return proofs, which anyone can check: see `nonproj.dual.check_proofs`.

    Returns
    -------
    DecodedScores

    Raises
    ------
    ValueError
        If shapes do not match, a score is NaN, plus infinity or above 1e290 in absolute value, a sibling or
        grandparent score is not finite or too low to be added to the others, or a sentence has no tree.

    Notes
    -----
    Arcs alone: Chu-Liu-Edmonds, or Eisner's algorithm.  With siblings or grandparents: dual decomposition and branch
    and bound (Koo et al. 2010), over all allowed arcs, up to 2 N^3 parts.

    Examples
    --------
    >>> found = decode_scores([[0, 1, 2], [0, 0, 5], [0, 3, 0]])
    >>> found.heads, found.scores, found.certified
    (array([0, 1], dtype=int32), np.float64(6.0), np.True_)
    >>> labels = [[[0, 0], [2, 1]], [[0, 0], [0, 1]]]  # of the arcs from the root, and of those from the word
    >>> decode_scores([[0, 1], [0, 0]], label_scores=labels).labels
    array([0], dtype=int32)

    Crossed arcs into word 1 cost 3, so that another tree is better than 0 -> 2, 2 -> 4, 4 -> 1, 2 -> 3:

    >>> scores, costs = np.zeros((2, 5, 5))
    >>> scores[[0, 2, 4, 2, 2], [2, 4, 1, 3, 1]], costs[:, 1] = [9, 9, 9, 9, 7], 3
    >>> [decode_scores(scores, crossing_costs=each).heads.tolist() for each in (None, costs)]
    [[4, 0, 2, 2], [2, 0, 2, 2]]
    """
    k, search = check_integer(k, "k", 1), check_search(SearchOptions(work_per_word))
    single_root, projective = check_flag(single_root, "single_root"), check_flag(projective, "projective")
    marginals, proofs = check_flag(marginals, "marginals"), check_flag(proofs, "proofs")
    arcs = as_batch(arc_scores, "NN", "arc_scores")
    scores, many, sizes = arcs.values, arcs.many, check_lengths(lengths, arcs)
    higher = {}
    for name, values in (("sibling", siblings), ("grandparent", grandparents)):
        if values is not None:
            higher[name] = _fitting(as_batch(values, "NNN", f"{name}s"), arcs, f"{name}s")
    labels = None
    weights = scores
    if label_scores is not None:
        batch = as_batch(label_scores, "NNL", "label_scores")
        _fitting(batch, arcs, "label_scores")
        scores, weights, labels = _decode_labels(scores, batch, sizes)
    costs = None
    if crossing_costs is not None:
        costs = _fitting(as_batch(crossing_costs, "NN", "crossing_costs"), arcs, "crossing_costs")
        costs = costs if costs.any() else None
    lines: list[str] | None = [""] * len(sizes) if proofs else None
    if higher or projective or k > 1 or proofs or costs is not None:
        options = DualOptions(single_root=single_root, projective=projective)
        found = _decode_each(
            scores,
            higher,
            sizes,
            lambda own, cubes, b: _decode(
                SentenceArrays(own, cubes, None if costs is None else costs[b]), b, many, options, search, k, lines
            ),
        )
    else:
        found = _decode_arcs(scores, sizes, single_root, many)
    if k == 1:
        found = found._replace(trees=None)
    if marginals:
        found = found._replace(marginals=_all_marginals(weights, sizes, single_root))
    if labels is not None:
        found = found._replace(labels=_labels_of(found.heads, labels)[:, 1:])
    found = found._replace(heads=found.heads[:, 1:], proofs=lines)  # without the root
    if many:
        return found
    heads, scores, bounds, certified, status, *others = found
    more = (None if each is None else each[0] for each in others)
    return DecodedScores(heads[0], scores[0], bounds[0], certified[0], status[0], *more)


def _fitting(batch: ArrayBatch, arcs: ArrayBatch, name: str) -> Float32s | Float64s:
    """Return the scores of a batch; raise `ValueError` unless its shape matches that of the arc scores."""
    same = batch.values.shape[:3] == arcs.values.shape and np.array_equal(
        [] if batch.lengths is None else batch.lengths, [] if arcs.lengths is None else arcs.lengths
    )
    if not same:
        own, other = (each.values.shape[not each.many :] for each in (batch, arcs))
        raise ValueError(f"{name} has shape {own}, which does not match {other} of arc_scores")
    return batch.values


def _labels_of(heads: Int32s, labels: Int32s) -> Int32s:
    """Return the label of each node's arc, int32[B, N]; -1 for the root and padding."""
    sentence, word = np.nonzero(heads >= 0)
    found = np.full(heads.shape, -1, np.int32)
    found[sentence, word] = labels[sentence, heads[sentence, word], word]
    return found


def _decode_labels(scores: np.ndarray, batch: ArrayBatch, lengths: Int64s) -> tuple[Float64s, Float64s, Int32s]:
    """Return the arc scores with best labels, the arc scores with labels summed out, and the best labels.

    All three have shape (B, N, N); ``scores`` are arc scores without labels, ``batch`` label scores.
    """
    best, total, labels = np.zeros(scores.shape), np.zeros(scores.shape), np.zeros(scores.shape, np.int32)
    for b, length in enumerate(lengths.tolist()):
        place = b, slice(0, length + 1), slice(0, length + 1)
        prefix = f"{b}, " if batch.many else ""
        arcs = _check_finite(scores[place], prefix)
        own = np.where(_is_arc(length + 1)[:, :, None], batch.values[place].astype(np.float64), 0.0)
        wrong = np.argwhere(~(own < np.inf))
        if len(wrong):
            h, m, number = wrong[0]
            reason = "a finite score is expected, or minus infinity for an absent label"
            raise ValueError(f"label_scores[{prefix}{h}, {m}, {number}] is {own[h, m, number]}; {reason}")
        labels[place] = own.argmax(axis=2)
        top = own.max(axis=2)
        with np.errstate(over="ignore"):
            best[place] = np.where(_is_arc(length + 1), arcs + top, -np.inf)
        apart = own - np.where(top > -np.inf, top, 0.0)[:, :, None]
        with np.errstate(divide="ignore"):
            total[place] = best[place] + np.log(np.exp(apart).sum(axis=2))
    return best, total, labels


def _is_arc(n_nodes: int) -> Bools:
    """Return a mask of the pairs of nodes that are possible arcs, bool[N, N]."""
    found = ~np.eye(n_nodes, dtype=np.bool_)
    found[:, 0] = False
    return found


def _decode_arcs(scores: np.ndarray, lengths: np.ndarray, single_root: bool, many: bool) -> DecodedScores:
    """Return the best arborescences of all sentences, found by one call of a kernel."""
    size, n_nodes = scores.shape[:2]
    heads, totals, bounds = np.full((size, n_nodes), -1, np.int32), np.zeros(size), np.zeros(size)
    number, status = decode_batch(scores, lengths, single_root, heads, totals, bounds)
    if status == BAD_SCORE:
        _check_arcs(scores[number, : lengths[number] + 1, : lengths[number] + 1], f"{number}, " if many else "")
    if status != FOUND:
        _raise(status, number)
    certified = np.ones(size, np.bool_)
    return DecodedScores(heads, totals, bounds, certified, _status(certified))


def _status(certified: Bools) -> np.ndarray:
    """Return the status of each sentence, ``"optimal"`` or ``"limit"``."""
    return np.where(certified, "optimal", "limit")


def _raise(status: int, number: int) -> None:
    """Raise the error for a status, with the sentence's index in the message."""
    try:
        check_status(status)
    except ValueError as error:
        raise ValueError(f"sentence {number}: {error}") from None


def _check_arcs(scores: np.ndarray, batch: str) -> Bools:
    """Return the candidate arcs of a sentence, bool[N, N]; raise `ValueError` if a score is out of the domain.

    ``batch`` is the prefix of indices into the user's arrays.
    """
    counts, values = _is_arc(len(scores)), _check_finite(scores, batch)
    counts[counts] = ~forbidden_arcs(values[counts])
    wrong = np.argwhere(counts & (np.abs(values) > LARGEST))
    if len(wrong):
        h, m = wrong[0]
        raise ValueError(f"arc_scores[{batch}{h}, {m}] is {scores[h, m]}; the maximum absolute value is {LARGEST}")
    return counts


def _check_finite(scores: np.ndarray, batch: str) -> Float64s:
    """Return the arc scores of a sentence as float64[N, N]; raise `ValueError` if one is NaN or plus infinity."""
    values = scores.astype(np.float64)
    wrong = np.argwhere(_is_arc(len(scores)) & ~(values < np.inf))
    if len(wrong):
        h, m = wrong[0]
        reason = "a finite score is expected, or minus infinity for an absent arc"
        raise ValueError(f"arc_scores[{batch}{h}, {m}] is {scores[h, m]}; {reason}")
    return values


def _decode_each(
    scores: np.ndarray,
    higher: dict[str, np.ndarray],
    lengths: np.ndarray,
    decode: Callable[[np.ndarray, dict[str, np.ndarray], int], list[Decoded]],
) -> DecodedScores:
    """Return the best trees of all sentences."""
    heads, trees = np.full(scores.shape[:2], -1, np.int32), []
    for b, length in enumerate(lengths.tolist()):
        n_nodes = length + 1
        own = scores[b, :n_nodes, :n_nodes]
        found = [Decoded(np.array([-1], np.int32), 0.0, 0.0, True, True, 0, 0.0)]
        if length:
            cubes = {name: values[b, :n_nodes, :n_nodes, :n_nodes] for name, values in higher.items()}
            found = decode(own, cubes, b)
        heads[b, :n_nodes] = found[0].tree
        trees.append(found)
    columns = np.array([(found[0].score, found[0].bound, found[0].certified) for found in trees]).reshape(-1, 3).T
    certified = columns[2] > 0
    return DecodedScores(heads, columns[0], columns[1], certified, _status(certified), None, trees)


class SentenceArrays(NamedTuple):
    """Scores of arcs, of other parts by their names, and crossing costs of one sentence."""

    arc_scores: np.ndarray
    cubes: dict[str, np.ndarray]
    costs: np.ndarray | None


def _decode(
    arrays: SentenceArrays,
    number: int,
    many: bool,
    options: DualOptions,
    search: SearchOptions,
    k: int,
    proofs: list[str] | None,
) -> list[Decoded]:
    """Return the k best trees of sentence ``number``, one of a batch if ``many``; add their proof to ``proofs``."""
    (arc_scores, cubes, costs), batch = arrays, f"{number}, " if many else ""
    space = arc_space_from_mask(_check_arcs(arc_scores, batch))
    parts = part_space(space, tuple(PART_TYPES[name] for name in ("arc", *cubes)))
    scores, n_nodes = np.zeros(len(parts)), len(arc_scores)
    arcs = parts.arcs
    scores[: len(arcs.head)] = arc_scores[arcs.head, arcs.modifier]
    own_costs = None if costs is None else costs[arcs.head, arcs.modifier]
    for name, cube in cubes.items():
        kind = parts.names.index(name)
        a, b, c = parts.types[kind].rows(arcs, parts.starts[kind]).nodes.T
        last = c >= n_nodes  # after the last sibling
        first = b >= n_nodes  # before the first one, represented by the head itself
        middle, end = np.where(first, a, b), np.where(last, 0, c)
        scores[parts.range(name)] = np.where(last, 0.0, cube[a, middle, end])
        _check_parts(name, batch, scores, parts.range(name), (a, middle, end))
    try:
        if proofs is not None:
            name = f"sentence {number}"
            found, proof = search_with_proof(parts, scores, options, search, k, name=name, costs=own_costs)
            proofs[number] = as_line(proof)
            return found
        return k_best(parts, scores, k, options, search, own_costs)
    except ValueError as error:
        raise ValueError(f"sentence {batch.removesuffix(', ')}: {error}" if batch else str(error)) from None


def _check_parts(name: str, batch: str, scores: Float64s, place: slice, nodes: tuple[np.ndarray, ...]) -> None:
    """Raise `ValueError` if a part score, ``scores[place]``, is out of the domain, named as in the user's arrays."""
    own = scores[place]
    for wrong, reason in (
        (~np.isfinite(own), "a finite score is expected; only an arc can be forbidden"),
        (np.abs(own) > LARGEST, f"the maximum absolute value is {LARGEST}"),
        (own <= highest_forbidden(scores), "it is too low to be added to the others; only an arc can be forbidden"),
    ):
        if wrong.any():
            i = int(wrong.argmax())
            index = ", ".join(str(axis[i]) for axis in nodes)
            raise ValueError(f"{name}s[{batch}{index}] is {own[i]}; {reason}")


def _all_marginals(scores: np.ndarray, lengths: np.ndarray, single_root: bool) -> np.ndarray:
    """Return the marginals of all sentences, 0 for padding."""
    found = np.zeros(scores.shape)
    for b, length in enumerate(lengths.tolist()):
        if length:
            found[b, : length + 1, : length + 1] = arc_marginals(scores[b, : length + 1, : length + 1], single_root)[0]
    return found
