"""Training of a whole model: a loop over its components, each of which learns from a corpus prepared by earlier ones.

The module of a component has its examples and learner; this one has the order of the components.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from nonproj.components.base import Component, FitContext, RunOptions, assemble, check_order, register
from nonproj.components.checkpoint import Checkpoint
from nonproj.components.confidence import ConfidenceComponent
from nonproj.components.continuing import continued_config
from nonproj.components.conventions import ConventionsComponent
from nonproj.components.crossing import CrossingComponent
from nonproj.components.encoder import EncoderComponent
from nonproj.components.fitting import ParallelFits, fit_component
from nonproj.components.graphs import GraphComponent
from nonproj.components.labeler import LabelerComponent
from nonproj.components.network import NetworkComponent
from nonproj.components.parser import ParserComponent
from nonproj.components.preparation import prepare
from nonproj.components.pruner import PrunerComponent
from nonproj.components.segmenter import SegmenterComponent
from nonproj.components.tagger import TaggerComponent
from nonproj.components.vocabulary import ClusterComponent, VectorComponent, VocabularyComponent
from nonproj.learning.corpus import Auxiliary, Corpus
from nonproj.learning.memory import release_memory
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.types import Sentence

OF_TEXT: tuple[type[Component], ...] = (SegmenterComponent, ConventionsComponent, TaggerComponent)
"""The components that learn from the sentences as they are; those of users follow."""

OF_TREES: tuple[type[Component], ...] = (
    ClusterComponent,
    VectorComponent,
    VocabularyComponent,
    PrunerComponent,
    LabelerComponent,
    CrossingComponent,
    GraphComponent,
    ConfidenceComponent,
    NetworkComponent,
    EncoderComponent,
    ParserComponent,
)
"""The components that learn from the sentences as numbers, with predicted tags."""

log = logging.getLogger("nonproj")


def train(
    sentences: Sequence[Sentence],
    config: Config | None = None,
    *,
    held_out: Sequence[Sentence] = (),
    auxiliary: Auxiliary | None = None,
    start: Model | None = None,
    components: Sequence[type[Component]] = (),
    run: RunOptions | None = None,
) -> Model:
    """Train a parser.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold heads and labels, of some words at least: see ``treebank.partial``.
    config : Config, optional
        By default that of ``start``, or else the default of all options.
    held_out : sequence of Sentence, optional
        Parsed after each epoch; not trained on.
    auxiliary : Auxiliary, optional
        Sentences with gold trees of related treebanks, or automatically parsed ones, from which the model learns, too.
    start : Model, optional
        A trained model to continue on these sentences: see `nonproj.components.continuing`.  Its options stay, except
        those of training and decoding.  Not with ``auxiliary``.
    components : sequence of Component, optional
        Components of your own that the model has, too, in this order; see `nonproj.components.base`.
    run : RunOptions, optional
        Checkpoint, progress and processes.

    Returns
    -------
    Model
        After Ctrl-C, the averaged model of the last complete epoch, with ``meta["interrupted"]`` true.

    Raises
    ------
    DataError
        If no sentence has a gold head, the given heads cannot be in a tree, or a sentence is longer than
        ``decoding.max_words``.
    ConfigError
        If there is nothing to train on, or the checkpoint is of other sentences or options.
    ModelError
        If the checkpoint is damaged, or training cannot continue from its contents.

    Examples
    --------
    >>> model = train(conll.read_all("train.conllu"), Config())  # doctest: +SKIP
    """
    began, config = time.perf_counter(), config or (continued_config(start) if start else Config())
    order = [*OF_TEXT, *components, *OF_TREES]
    corpus, context = prepare(sentences, config, held_out, auxiliary, start, run)
    check_order(order)
    for component in components:
        register(component)
    _, context = fit_all(order, corpus, context)
    log.info("training took %.1f s", time.perf_counter() - began)
    return assemble(context)


def fit_all(components: Sequence[type[Component]], corpus: Corpus, context: FitContext) -> tuple[Corpus, FitContext]:
    """Fit components in their order, or take them from a checkpoint; return corpus and context after the last one."""
    with ParallelFits() as parallel:
        checkpoint = Checkpoint(components, corpus, context, parallel)
        for component in components:
            context = checkpoint.begin(component, corpus, context)
            if not checkpoint.has(component) and parallel.begins(component, corpus, context):
                context = parallel.gathered(context)
                continue
            with checkpoint.resuming(component):
                corpus, context = fit_component(component, corpus, context, checkpoint.of(component))
            checkpoint.end(component, corpus, context)
            release_memory()
        return corpus, parallel.gathered(context, wait=not context.meta["interrupted"])
