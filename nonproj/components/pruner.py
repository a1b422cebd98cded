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
from nonproj.learning.corpus import ArcSpaces, Corpus, trees_of
from nonproj.learning.hyperparameters import CONTINUED
from nonproj.learning.pruner import Pruner
from nonproj.linear.folds import cross_fit
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.streams import Stream
from nonproj.model.model import Model
from nonproj.scoring.templates import part_templates
from nonproj.types import ArcSpace, Sentence

log = logging.getLogger("nonproj")


class PrunerComponent(TableComponent):
    """The component that trains the pruner."""

    name, needs, figures = "pruner", ("vocabulary",), ("pruning_training",)

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> WeightTable:
        """Learn from the chosen sentences, except those that were parsed automatically."""
        return WeightTable(fit_pruner(gold_part(corpus), context, context.title(cls.name)).weights)

    @classmethod
    def extend(cls, corpus: Corpus, context: FitContext, saved: Model | None = None) -> Corpus:
        """Return the corpus with candidate arcs, by pruners trained on the other folds, and with the gold arcs.

        Copies of a sentence share a fold.  Automatically parsed sentences are pruned by the model's pruner, and a
        continued model keeps its pruner for all sentences.
        """
        if saved:
            return unpacked(corpus, context, saved)
        config, decoding, table = context.config, context.decoding, context.fitted[cls.name]
        own, gold, count = new_pruner(context), gold_part(corpus), corpus.n_own
        if not context.start and isinstance(table, WeightTable):
            own.weights = table.weights
        numbers = np.where(gold.chosen < count, gold.chosen // corpus.copies, gold.chosen - count)
        folds = numbers % (1 if context.start else max(config.pruner.folds, 1))

        def fit(rest: np.ndarray) -> Pruner:
            fold = 1 + min(set(folds.tolist()) - set(folds[rest].tolist()), default=-1)
            return fit_pruner(gold.subset(rest), context, f"pruner fold {fold}") if fold else own

        def apply(pruner: Pruner, inside: np.ndarray) -> list[TrainingArcs]:
            return [training_arcs(pruner, corpus.numbers, i, config, decoding) for i in inside.tolist()]

        found = cross_fit(folds, fit, apply, context.spread)
        found += apply(own, np.arange(len(gold.chosen), len(corpus.chosen)))
        arcs = [each.arcs for each in found]
        context.meta["pruning_training"] = pruning_figures("training", corpus.all_sentences, arcs)
        return corpus.with_numbers(
            spaces=ArcSpaces(each.with_gold for each in found), completed=[each.tree for each in found]
        )

    @classmethod
    def pack(cls, corpus: Corpus) -> dict[str, np.ndarray]:
        """Return the candidate arcs, and the completed trees: the heads of all words in one array, int32."""
        trees = np.concatenate([tree[1:] for tree in corpus.numbers.completed])
        return {"arcs": pack_arcs(corpus.numbers.spaces), "trees": trees}


def unpacked(corpus: Corpus, context: FitContext, saved: Model) -> Corpus:
    """Return the corpus with the candidate arcs and the trees in a checkpoint."""
    numbers = corpus.numbers
    try:
        spaces = unpack_trees(saved.weights.get("arcs"), numbers, context.decoding.single_root)
        completed = unpack_completed(saved.weights.get("trees"), numbers)
    except ValueError as error:
        raise ModelError(f"its arcs are wrong: {error}") from None
    return corpus.with_numbers(spaces=ArcSpaces(spaces), completed=completed)


def gold_part(corpus: Corpus) -> Corpus:
    """Return the corpus without those of the chosen sentences that were parsed automatically."""
    return corpus if corpus.auxiliary.is_related else corpus.subset(corpus.chosen[corpus.chosen < corpus.n_own])


def new_pruner(context: FitContext) -> Pruner:
    """Return a pruner whose weights are all zero, or those of the continued model.

    For the latter, AdaGrad's steps are small from the start.
    """
    table = part_templates(context.files.templates["pruner"], context.vocabulary.encoder.attributes)
    pruner = Pruner(table, context.config.pruner.bits)
    context.begin("pruner", pruner.weights)
    pruner.squares += CONTINUED.square if context.start else 0.0
    return pruner


def fit_pruner(corpus: Corpus, context: FitContext, title: str) -> Pruner:
    """Return a pruner trained on the chosen sentences; ``title`` is for the log."""
    pruner, numbers, single_root = new_pruner(context), corpus.numbers, context.decoding.single_root
    examples = list(zip(numbers.tokens, numbers.trees, numbers.allowed, strict=True))

    def run(epoch: int) -> str:
        """Learn for an epoch; return its figures for the log."""
        order = context.progress(corpus.order(epoch, Stream.PRUNER), f"{title} {epoch + 1}")
        return f"loss {pruner.epoch(examples, order, single_root):.4f} a word"

    run_epochs(title, range(context.config.pruner.epochs), run)
    return pruner


def pruning_figures(name: str, sentences: Sequence[Sentence], spaces: Sequence[ArcSpace]) -> dict[str, float]:
    """Log the share of gold arcs among the candidates, and return the figures; ``name`` is for the log."""
    words = sum(int(np.count_nonzero(tree[1:] >= 0)) for tree in trees_of(sentences))
    kept = sum(count_gold(arcs, tree) for arcs, tree in zip(spaces, trees_of(sentences), strict=True))
    arcs, all_words = sum(len(space.head) for space in spaces), sum(map(len, sentences))
    log.info("pruning of %s: %.2f %% of gold arcs kept, %.2f heads a word", name, 100 * kept / words, arcs / all_words)
    return {"gold_kept": kept / words, "heads_per_word": arcs / all_words}
