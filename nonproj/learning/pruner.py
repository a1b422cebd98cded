"""The first-order model that prunes arcs: an arc-factored log-linear distribution over trees.

The gradient needs the marginal of every arc, by the matrix-tree theorem (Koo et al. 2007; Smith and Smith 2007;
McDonald and Satta 2007).  AdaGrad trains it, because some features are far more frequent than others.

The candidate arcs of the training sentences can be those of pruners that have not seen them (``pruner.folds``), because
a pruner is overconfident on its own training sentences; gold arcs are added.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.checks import cycle_of
from nonproj.kernels.kernel import kernel
from nonproj.learning.material import Material, Pruned, Spaces, trees_of
from nonproj.learning.partial import best_tree, union
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Setting, cross_fit
from nonproj.linear.optimisers import descend, run_epochs
from nonproj.model.model import Model
from nonproj.parts.arc import Arc
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.scoring.hashing import Hashed, Places, hash_tokens, list_places
from nonproj.scoring.scorer import dense_arc_scores, score_parts
from nonproj.scoring.templates import TemplateTable, part_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals
from nonproj.trees.pruning import prune
from nonproj.types import ArcSpace, Bools, Float32s, Float64s, Int32s, PartRows, Sentence

LEARNING_RATE = 0.1
"""That of AdaGrad."""

_NEGLIGIBLE = 1e-4
"""Arcs with a smaller gradient are skipped: nine in ten, whose updates together make no difference."""

log = logging.getLogger("nonproj")


class Pruner:
    """A first-order log-linear model, trained by AdaGrad.

    Parameters
    ----------
    table : TemplateTable
    bits : int
        The weight table has ``2 ** bits`` entries.
    """

    def __init__(self, table: TemplateTable, bits: int):
        self.table = table
        self.weights = np.zeros(1 << bits, np.float32)
        self.squares = np.zeros(1 << bits, np.float32)

    def epoch(
        self,
        examples: Sequence[tuple[Any, ...]],
        order: Iterable[int],
        single_root: bool,
    ) -> float:
        """Train on the examples (tokens, gold heads, perhaps allowed arcs) in the given order.

        Return the mean loss per word, in nats.
        """
        loss, words = 0.0, 0
        for i in order:
            tokens, heads, *allowed = examples[i]
            loss += self.update(tokens, heads, single_root, *allowed)
            words += len(heads) - 1
        return loss / max(words, 1)

    def update(self, tokens: Tokens, heads: np.ndarray, single_root: bool, allowed: Bools | None = None) -> float:
        """Make one step on one sentence; return its negative log-likelihood, in nats.

        Of a partial tree, that is the probability of all trees of ``allowed`` arcs, bool[N, N].
        """
        arcs = full_arc_space(tokens.n_nodes - 1)
        parts = Arc().rows(arcs, np.empty((0, 0), np.int32))
        hashed = hash_tokens(tokens, self.table, len(self.weights))
        flat = score_parts(hashed, parts, self.weights)
        scores = np.full((tokens.n_nodes, tokens.n_nodes), -np.inf)
        scores[arcs.head, arcs.modifier] = flat
        p, log_partition = marginals(scores, single_root)
        gradient = p[arcs.head, arcs.modifier]
        if allowed is not None:
            of_allowed, log_allowed = constrained_marginals(scores, allowed, single_root)
            self._descend(hashed, parts, gradient - of_allowed[arcs.head, arcs.modifier])
            return log_partition - log_allowed
        gold = arcs.head == heads[arcs.modifier]
        gradient[gold] -= 1.0
        self._descend(hashed, parts, gradient)
        return log_partition - flat[gold].sum()

    def _descend(self, hashed: Hashed, parts: PartRows, gradient: np.ndarray) -> None:
        """Make one AdaGrad step on the weights of the arcs whose gradient is not negligible."""
        steep = np.flatnonzero(np.abs(gradient) > _NEGLIGIBLE)
        listed = list_places(hashed, PartRows(parts.nodes[steep], parts.codes[steep]))
        _adagrad(listed, gradient[steep], LEARNING_RATE, self.weights, self.squares)


@kernel
def _adagrad(listed: Places, gradient: Float64s, learning_rate: float, weights: Float32s, squares: Float32s) -> None:
    """Move the weights at each part's places."""
    start, places = listed
    for p in range(gradient.shape[0]):
        g = gradient[p]
        for i in range(start[p], start[p + 1]):
            descend(weights, squares, places[i], g, learning_rate)


def fit_pruner(material: Material, name: str) -> Pruner:
    """Return a pruner of the chosen sentences; ``name`` is for the log."""
    options = material.config.pruner
    table = part_templates(material.files["pruner"], material.attributes)
    pruner = Pruner(table, options.bits)
    examples = list(zip(material.tokens, material.trees, material.allowed, strict=True))

    def run(epoch: int) -> str:
        order = material.progress(material.order(epoch, 1), f"{name} {epoch + 1}")
        return f"loss {pruner.epoch(examples, order, not material.multi_root):.4f} a word"

    run_epochs(name, range(options.epochs), run)
    return pruner


class Found(NamedTuple):
    """The candidate arcs of a sentence: without its gold tree, and with it, which is completed if it is partial."""

    arcs: ArcSpace
    with_gold: ArcSpace
    tree: Int32s


def candidates(pruner: Pruner, number: int, material: Material) -> Found:
    """Return the candidate arcs of a sentence in training."""
    options, single_root = material.config.pruner, not material.multi_root
    tree, allowed = material.trees[number], material.allowed[number]
    projective = material.config.training.decoder == "dual" and material.decoding.projective

    def pruned(p: Float64s, projective: bool) -> ArcSpace:
        """Return the candidate arcs by their marginals, as the options say."""
        return prune(
            p,
            threshold=options.threshold,
            max_heads=options.max_heads,
            single_root=single_root,
            projective=projective,
        )

    scores = dense_arc_scores(material.tokens[number], pruner.table, pruner.weights)
    arcs = pruned(marginals(scores, single_root)[0], projective)
    if allowed is not None:
        p = constrained_marginals(scores, allowed, single_root)[0]
        both = union(arcs, pruned(p, material.decoding.projective))
        return Found(arcs, both, best_tree(scores, allowed, single_root))
    return Found(arcs, arcs if tree[1:].min(initial=0) < 0 else add_gold(arcs, tree), tree)


def count_gold(arcs: ArcSpace, heads: np.ndarray) -> int:
    """Return how many of the arcs are gold."""
    return int(np.count_nonzero(arcs.head == heads[arcs.modifier]))


def add_gold(arcs: ArcSpace, heads: np.ndarray) -> ArcSpace:
    """Return the arcs together with the gold ones."""
    n = len(heads) - 1
    if count_gold(arcs, heads) == n:
        return arcs
    both = np.concatenate([np.stack([arcs.modifier, arcs.head], 1), np.stack([np.arange(1, n + 1), heads[1:]], 1)])
    modifier, head = np.unique(both, axis=0).T
    return arc_space(head, modifier, n)


class PrunerStage(Stage):
    """The pruner, and the candidate arcs of each sentence, by a pruner trained on the other folds, with the gold ones.

    A pruner is overconfident on its own training sentences.
    """

    name, needs, weighted, figures = "pruner", ("tagger", "clusters"), True, ("pruning_training",)

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Learn from encoded sentences."""
        material: Material = setting.material
        numbers = np.arange(len(material.sentences) - material.silver)
        copies = len(numbers) // len(sentences)
        folds = numbers // copies % max(setting.config.pruner.folds, 1)  # copies of a sentence share a fold
        material = material._replace(chosen=numbers)  # not silver ones, whose candidates need no other pruner then
        pruner = fit_pruner(material, "pruner")

        def fit(rest: np.ndarray) -> Pruner:
            fold = 1 + min(set(folds.tolist()) - set(folds[rest].tolist()), default=-1)
            return fit_pruner(material._replace(chosen=rest), f"pruner fold {fold}") if fold else pruner

        def apply(pruner: Pruner, inside: np.ndarray) -> list[Found]:
            return [candidates(pruner, i, material) for i in inside.tolist()]

        found = cross_fit(folds, fit, apply)
        found += [candidates(pruner, i, material) for i in range(len(numbers), len(material.tokens))]
        figures = {"pruning_training": pruning_figures("training", material.sentences, [each.arcs for each in found])}
        predicted = Pruned(Spaces(each.with_gold for each in found), [each.tree for each in found])
        return Learnt(weights=pruner.weights, predicted=predicted, figures=figures)

    def pack(self, predicted: Pruned) -> dict[str, np.ndarray]:
        """Return the candidate arcs, and the trees, int32[n] one after the other."""
        return {
            "arcs": pack_arcs(predicted.spaces),
            "trees": np.concatenate([tree[1:] for tree in predicted.completed]),
        }

    def unpack(self, saved: Model, sentences: Sequence[Sentence], setting: Setting) -> Pruned:
        """Return the candidate arcs and the trees in a checkpoint."""
        try:
            spaces = unpack_trees(saved.weights.get("arcs"), setting.material)
            return Pruned(Spaces(spaces), unpack_completed(saved.weights.get("trees"), setting.material))
        except ValueError as error:
            raise ModelError(f"its arcs are wrong: {error}") from None


def pruning_figures(name: str, sentences: Sequence[Sentence], spaces: Sequence[ArcSpace]) -> dict[str, float]:
    """Log how many gold arcs are candidates, and return the figures; ``name`` is that of the sentences."""
    words = sum(int(np.count_nonzero(tree[1:] >= 0)) for tree in trees_of(sentences))
    kept = sum(count_gold(arcs, tree) for arcs, tree in zip(spaces, trees_of(sentences), strict=True))
    arcs, all_words = sum(len(space.head) for space in spaces), sum(map(len, sentences))
    log.info("pruning of %s: %.2f %% of gold arcs kept, %.2f heads a word", name, 100 * kept / words, arcs / all_words)
    return {"gold_kept": kept / words, "heads_per_word": arcs / all_words}


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


def unpack_trees(packed: np.ndarray | None, material: Material) -> list[ArcSpace]:
    """Return the arcs of each sentence; `ValueError` if they are not arcs, or lack those of the gold tree."""
    sentences = material.sentences
    if packed is None or packed.dtype != np.int32 or packed.ndim != 2 or packed.shape[1] != 3:
        raise ValueError("three columns of integers are expected")
    if (np.diff(packed[:, 0]) < 0).any() or (packed[:, 0] < 0).any() or (packed[:, 0] >= len(sentences)).any():
        raise ValueError("they are not in the order of the sentences")
    spaces = unpack_arcs(packed, [len(sentence) for sentence in sentences])
    for number, (arcs, tree) in enumerate(zip(spaces, material.trees, strict=True), 1):
        if count_gold(arcs, tree) != np.count_nonzero(tree[1:] >= 0):
            raise ValueError(f"sentence {number} lacks some of its gold tree")
        if (allowed := material.allowed[number - 1]) is not None:
            mask = np.full(allowed.shape, -np.inf)
            mask[arcs.head, arcs.modifier] = 0.0
            maximum_arborescence(np.where(allowed, mask, -np.inf), not material.multi_root)
    return spaces


def unpack_completed(packed: np.ndarray | None, material: Material) -> list[Int32s]:
    """Return the completed tree of each sentence; `ValueError` if one is not a tree, or does not obey."""
    trees, count = material.trees, sum(map(len, material.sentences))
    if all(allowed is None for allowed in material.allowed):
        return trees
    if packed is None or packed.dtype != np.int32 or packed.shape != (count,):
        raise ValueError("a head for each word is expected")
    found: list[Int32s] = []
    for tree, allowed in zip(trees, material.allowed, strict=True):
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
