"""The pruner: the first-order log-linear model whose marginals leave few candidate arcs.

The templates of ``pruner.yaml`` score single arcs.  The loss is the negative log-likelihood of the gold tree among all
arborescences, by the matrix-tree theorem, and AdaGrad minimises it (`nonproj.learning.pruner`).

The candidate arcs of the training sentences are those of pruners that have not seen them (``pruner.folds``), because a
pruner is overconfident on its own training sentences; gold arcs are added.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from nonproj.components.base import FitContext, TableComponent, WeightTable
from nonproj.errors import ModelError
from nonproj.learning.candidate_arcs import (
    TrainingArcs,
    count_gold,
    pack_arcs,
    training_arcs,
    unpack_completed,
    unpack_trees,
)
from nonproj.learning.pruner import Pruner
from nonproj.learning.training_data import ArcSpaces, TrainingData, trees_of
from nonproj.linear.folds import cross_fit
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.streams import Stream
from nonproj.model.model import Model
from nonproj.scoring.templates import part_templates
from nonproj.types import ArcSpace, Sentence

CONTINUED_SQUARE = 1.0
"""Initial AdaGrad accumulator of a continued model, whose first steps would undo it otherwise."""

log = logging.getLogger("nonproj")


class PrunerComponent(TableComponent):
    """The pruner."""

    name, needs, figures = "pruner", ("vocabulary",), ("pruning_training",)

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> WeightTable:
        """Learn from the chosen sentences, but for those that were parsed automatically."""
        return WeightTable(fit_pruner(gold_part(context.data), context, context.title(cls.name)).weights)

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the candidate arcs of each sentence, by a pruner trained on the other folds, with the gold ones.

        Copies of a sentence share a fold.  Automatically parsed sentences are pruned by the model's pruner, and a
        continued model keeps its pruner for all sentences.
        """
        data, config = context.data, context.config
        own, gold, count = new_pruner(context), gold_part(data), data.n_own
        if not context.start:
            own.weights = context.fitted[cls.name].weights
        numbers = np.where(gold.chosen < count, gold.chosen // data.copies, gold.chosen - count)
        folds = numbers % (1 if context.start else max(config.pruner.folds, 1))

        def fit(rest: np.ndarray) -> Pruner:
            fold = 1 + min(set(folds.tolist()) - set(folds[rest].tolist()), default=-1)
            return fit_pruner(gold.subset(rest), context, f"pruner fold {fold}") if fold else own

        def apply(pruner: Pruner, inside: np.ndarray) -> list[TrainingArcs]:
            return [training_arcs(pruner, data, i, config) for i in inside.tolist()]

        found = cross_fit(folds, fit, apply, context.spread) + apply(
            own, np.arange(len(gold.chosen), len(data.sentences))
        )
        context.meta["pruning_training"] = pruning_figures("training", data.sentences, [each.arcs for each in found])
        return data._replace(
            spaces=ArcSpaces(each.with_gold for each in found), completed=[each.tree for each in found]
        )

    @classmethod
    def pack(cls, data: TrainingData) -> dict[str, np.ndarray]:
        """Return the candidate arcs, and the trees, int32[n] one after the other."""
        return {"arcs": pack_arcs(data.spaces), "trees": np.concatenate([tree[1:] for tree in data.completed])}

    @classmethod
    def unpack(cls, saved: Model, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the training data with the candidate arcs and the trees in a checkpoint."""
        data = context.data
        try:
            spaces, trees = unpack_trees(saved.weights.get("arcs"), data), saved.weights.get("trees")
            return data._replace(spaces=ArcSpaces(spaces), completed=unpack_completed(trees, data))
        except ValueError as error:
            raise ModelError(f"its arcs are wrong: {error}") from None


def gold_part(data: TrainingData) -> TrainingData:
    """Return the training data without those of the chosen sentences that were parsed automatically."""
    return data if data.related else data.subset(data.chosen[data.chosen < data.n_own])


def new_pruner(context: FitContext) -> Pruner:
    """Return a pruner whose weights are all zero, or those of the model that is continued.

    AdaGrad's steps begin small then.
    """
    table = part_templates(context.files.templates["pruner"], context.data.encoder.attributes)
    pruner = Pruner(table, context.config.pruner.bits)
    context.begin("pruner", pruner.weights)
    pruner.squares += CONTINUED_SQUARE if context.start else 0.0
    return pruner


def fit_pruner(data: TrainingData, context: FitContext, title: str) -> Pruner:
    """Return a pruner of the chosen sentences; ``title`` is for the log."""
    pruner, examples = new_pruner(context), list(zip(data.tokens, data.trees, data.allowed, strict=True))

    def run(epoch: int) -> str:
        """Learn for an epoch; return its figures for the log."""
        order = context.progress(data.order(epoch, Stream.PRUNER), f"{title} {epoch + 1}")
        return f"loss {pruner.epoch(examples, order, data.decoding.single_root):.4f} a word"

    run_epochs(title, range(context.config.pruner.epochs), run)
    return pruner


def pruning_figures(name: str, sentences: Sequence[Sentence], spaces: Sequence[ArcSpace]) -> dict[str, float]:
    """Log how many gold arcs are candidates, and return the figures; ``name`` is that of the sentences."""
    words = sum(int(np.count_nonzero(tree[1:] >= 0)) for tree in trees_of(sentences))
    kept = sum(count_gold(arcs, tree) for arcs, tree in zip(spaces, trees_of(sentences), strict=True))
    arcs, all_words = sum(len(space.head) for space in spaces), sum(map(len, sentences))
    log.info("pruning of %s: %.2f %% of gold arcs kept, %.2f heads a word", name, 100 * kept / words, arcs / all_words)
    return {"gold_kept": kept / words, "heads_per_word": arcs / all_words}
