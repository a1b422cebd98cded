"""The candidate arcs of the training sentences, the gold ones among them, and their arrays in a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.dual.options import DualOptions
from nonproj.io.checks import cycle_of
from nonproj.learning.corpus import NumberedSentences
from nonproj.learning.partial import best_tree
from nonproj.learning.pruner import Pruner
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space, with_arcs
from nonproj.scoring.scorer import dense_arc_scores
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals
from nonproj.trees.pruning import prune
from nonproj.types import ArcSpace, Float64s, Int32s


class TrainingArcs(NamedTuple):
    """The candidate arcs of a sentence, without and with the gold arcs; and its tree, completed if it is partial."""

    arcs: ArcSpace
    with_gold: ArcSpace
    tree: Int32s


def training_arcs(
    pruner: Pruner, numbers: NumberedSentences, i: int, config: Config, decoding: DualOptions
) -> TrainingArcs:
    """Return the candidate arcs of sentence ``i`` in training."""
    single_root, tree, allowed = decoding.single_root, numbers.trees[i], numbers.allowed[i]

    def pruned(p: Float64s, projective: bool) -> ArcSpace:
        """Return the arcs whose marginals pass the threshold and the limit on heads in the options."""
        threshold, most = config.pruner.threshold, config.pruner.max_heads
        return prune(p, threshold=threshold, max_heads=most, single_root=single_root, projective=projective)

    scores = dense_arc_scores(numbers.tokens[i], pruner.table, pruner.weights)
    of_trees = config.training.decoder == "dual" or len(config.parts) == 1  # as `Perceptron` decodes
    projective = of_trees and decoding.projective
    arcs = pruned(marginals(scores, single_root)[0], projective)
    if allowed is not None:
        p = constrained_marginals(scores, allowed, single_root)[0]
        others = pruned(p, decoding.projective)
        both = with_arcs(arcs, others.head, others.modifier)
        return TrainingArcs(arcs, both, best_tree(scores, allowed, single_root))
    given = np.flatnonzero(tree >= 0)
    return TrainingArcs(arcs, with_arcs(arcs, tree[given], given), tree)


def count_gold(arcs: ArcSpace, heads: np.ndarray) -> int:
    """Return the number of gold arcs among the candidates."""
    return int(np.count_nonzero(arcs.head == heads[arcs.modifier]))


def pack_arcs(spaces: Sequence[ArcSpace]) -> np.ndarray:
    """Return the arcs of all sentences as one array of shape (arcs, 3), int32: sentence, head, modifier.

    Examples
    --------
    >>> arcs = pack_arcs([arc_space([0], [1], 1), arc_space([0, 1], [1, 2], 2)])
    >>> arcs.tolist()
    [[0, 0, 1], [1, 0, 1], [1, 1, 2]]
    >>> unpack_arcs(arcs, [1, 2])[1].head.tolist()
    [0, 1]
    """
    packed, end = np.empty((sum(len(arcs.head) for arcs in spaces), 3), np.int32), 0
    for number, arcs in enumerate(spaces):
        begin, end = end, end + len(arcs.head)
        packed[begin:end, 0], packed[begin:end, 1], packed[begin:end, 2] = number, arcs.head, arcs.modifier
    return packed


def unpack_arcs(packed: np.ndarray, lengths: Sequence[int]) -> list[ArcSpace]:
    """Return the arcs of each sentence from `pack_arcs`, given the numbers of words."""
    starts = np.searchsorted(packed[:, 0], np.arange(len(lengths) + 1))
    rows = [packed[starts[i] : starts[i + 1]] for i in range(len(lengths))]
    return [arc_space(own[:, 1], own[:, 2], n_words) for own, n_words in zip(rows, lengths, strict=True)]


def unpack_trees(packed: np.ndarray | None, numbers: NumberedSentences, single_root: bool) -> list[ArcSpace]:
    """Return the arcs of each sentence; `ValueError` if they are not arcs, or lack those of the gold tree."""
    trees = numbers.trees
    if packed is None or packed.dtype != np.int32 or packed.ndim != 2 or packed.shape[1] != 3:
        raise ValueError("three columns of integers are expected")
    if (np.diff(packed[:, 0]) < 0).any() or (packed[:, 0] < 0).any() or (packed[:, 0] >= len(trees)).any():
        raise ValueError("they are not in the order of the sentences")
    spaces = unpack_arcs(packed, [len(tree) - 1 for tree in trees])
    for number, (arcs, tree, allowed) in enumerate(zip(spaces, trees, numbers.allowed, strict=True), 1):
        if count_gold(arcs, tree) != np.count_nonzero(tree[1:] >= 0):
            raise ValueError(f"sentence {number} lacks some of its gold tree")
        if allowed is not None:
            mask = np.full(allowed.shape, -np.inf)
            mask[arcs.head, arcs.modifier] = 0.0
            maximum_arborescence(np.where(allowed, mask, -np.inf), single_root)
    return spaces


def unpack_completed(packed: np.ndarray | None, numbers: NumberedSentences) -> Sequence[Int32s]:
    """Return the completed tree of each sentence; `ValueError` if one is not a tree, or violates the given heads."""
    trees = numbers.trees
    if all(allowed is None for allowed in numbers.allowed):
        return trees
    if packed is None or packed.dtype != np.int32 or packed.shape != (sum(len(tree) - 1 for tree in trees),):
        raise ValueError("a head for each word is expected")
    found: list[Int32s] = []
    for tree, allowed in zip(trees, numbers.allowed, strict=True):
        own, packed = packed[: len(tree) - 1], packed[len(tree) - 1 :]
        if allowed is None:
            found.append(tree)
            continue
        heads = np.concatenate([np.full(1, -1, np.int32), own])
        if not (own >= 0).all() or own.max() >= len(tree) or cycle_of(heads.tolist()):
            raise ValueError("a completed tree is none")
        if not allowed[own, np.arange(1, len(tree))].all():
            raise ValueError("a completed tree lacks given heads")
        found.append(heads)
    return found
