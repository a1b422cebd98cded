"""Training of a whole model: a loop over its components, each of which learns from data that earlier ones have
prepared.

What a component learns, and from what, is in its own module; this one knows their order, and keeps what has been learnt
in a checkpoint.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nonproj.components.base import Component, FitContext, UnfinishedFit, assemble, check_order, register
from nonproj.components.checkpoint import Checkpoint, load_checkpoint, training_digest
from nonproj.components.confidence import ConfidenceComponent
from nonproj.components.continuing import continued_config
from nonproj.components.conventions import ConventionsComponent
from nonproj.components.encoder import EncoderComponent
from nonproj.components.labeler import LabelerComponent
from nonproj.components.network import NetworkComponent
from nonproj.components.parser import ParserComponent
from nonproj.components.preparation import prepare
from nonproj.components.pruner import PrunerComponent
from nonproj.components.segmenter import SegmenterComponent
from nonproj.components.tagger import TaggerComponent
from nonproj.components.vocabulary import ClusterComponent, VocabularyComponent
from nonproj.learning.memory import release_memory
from nonproj.linear.state import State
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.types import Sentence
from nonproj.workers.copies import Copy

OF_TEXT: tuple[type[Component], ...] = (SegmenterComponent, ConventionsComponent, TaggerComponent)
"""The components that learn from the sentences as they are; those of users follow."""

OF_TREES: tuple[type[Component], ...] = (
    ClusterComponent,
    VocabularyComponent,
    PrunerComponent,
    LabelerComponent,
    ConfidenceComponent,
    NetworkComponent,
    EncoderComponent,
    ParserComponent,
)
"""The components that learn from the sentences as numbers, with predicted tags."""

log = logging.getLogger("nonproj")


def train(  # noqa: PLR0913 (options by name, for users)
    sentences: Sequence[Sentence],
    config: Config | None = None,
    *,
    held_out: Sequence[Sentence] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[..., Any] | None = None,
    jobs: int = 1,
    components: Sequence[type[Component]] = (),
    silver: Sequence[Sentence] = (),
    related: Sequence[Sentence] = (),
    start: Model | None = None,
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
    checkpoint : Path, optional
        Written after each component and each epoch; the caller removes it once the model is saved.
    resume : bool
        Continue from the checkpoint, which must be of the same sentences and configuration; only the number of epochs
        may differ.
    progress : callable, optional
        ``progress(iterable, description)`` wraps the long loops, as ``tqdm`` does.
    jobs : int
        Number of processes that train folds and confidence, where this one can be forked; the model is the same.
    components : sequence of Component, optional
        Components of your own that the model has, too, in this order; see `nonproj.components.base`.
    silver : sequence of Sentence, optional
        Automatically parsed sentences, from which tagger, labeler, network and parser learn, too; an epoch takes as
        many as ``treebank.silver_share`` says.
    related : sequence of Sentence, optional
        With gold trees, of other treebanks of the same language or of a similar one, from which tagger, pruner,
        labeler, network and parser learn, too, in the conventions of ``sentences``: see
        `nonproj.learning.conventions`.  Not beside ``silver``.
    start : Model, optional
        A trained model to continue on these sentences: see `nonproj.components.continuing`.  Its options stay, but for
        those of training and decoding.  Neither with ``silver`` nor with ``related``.

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
        If the checkpoint is damaged, or training cannot continue from what it holds.

    Examples
    --------
    >>> model = train(conll.read_all("train.conllu"), Config())  # doctest: +SKIP
    """
    began = time.perf_counter()
    progress, config = progress or (lambda items, _: items), config or (continued_config(start) if start else Config())
    treebank, context = prepare(sentences, config, held_out or [], silver, progress, related, start)
    order = [*OF_TEXT, *components, *OF_TREES]
    check_order(order)
    for component in components:
        register(component)
    path = None if checkpoint is None else Path(checkpoint)
    saved = load_checkpoint(path) if resume else None
    files = context.files
    digest = training_digest(context.data.sentences, config, files.templates, files.vectors, start)
    jobs = 1 if files.encoder else jobs  # whose training uses all cores
    context = fit_all(order, treebank, context.having(jobs=jobs), Checkpoint(path, digest, saved))
    log.info("training took %.1f s", time.perf_counter() - began)
    return assemble(context)


def fit_all(
    components: Sequence[type[Component]], sentences: Sequence[Sentence], context: FitContext, checkpoint: Checkpoint
) -> FitContext:
    """Fit components in their order, or take them from a checkpoint; return the context after the last one.

    A checkpoint is written after each but the last, which writes its own after each epoch: training can then be
    continued for more epochs.
    """
    done, kept = list[type[Component]](), checkpoint.done(components)
    with ParallelFits() as fits:
        for number, component in enumerate(components):
            saved = checkpoint.saved if component.name in kept else None
            state = None if saved else checkpoint.unfinished_of(component)
            save = partial(_save, checkpoint, done, context, fits, component.name)
            context = context.having(unfinished=UnfinishedFit(state, save))
            if saved or state:
                context.meta.update(checkpoint.figures_of(component))
                context = checkpoint.check(fit_component, component, sentences, context, saved)
            elif fits.begins(component, sentences, context):
                context = context.having(fitted={**context.fitted, component.name: None})
                continue
            else:
                context = fit_component(component, sentences, context)
            done.append(component)
            later = components[number + 1 :]
            known = any(each.name in kept or checkpoint.unfinished_of(each) for each in later)
            if not saved and later and not known:  # else what the checkpoint has would be lost
                _save(checkpoint, done, context, fits)
            release_memory()
        return fits.gathered(context, wait=not context.meta["interrupted"])


class ParallelFits:
    """Components that are fitted in copies of this process while later ones are fitted here; a context manager.

    None of these needs them, except that held-out sentences are parsed with the price of a non-projective tree.
    """

    def __init__(self) -> None:
        self._copies: dict[type[Component], Copy[tuple[Any, dict[str, Any]]]] = {}
        self.fitted: dict[type[Component], Any] = {}

    def __enter__(self) -> ParallelFits:
        return self

    def __exit__(self, *_: object) -> None:
        for copy in self._copies.values():
            copy.end()

    def begins(self, component: type[Component], sentences: Sequence[Sentence], context: FitContext) -> bool:
        """Begin to fit a component; return False if it is to be fitted in its turn."""
        if not component.parallel or context.jobs == 1 or context.data.held_out:
            return False
        copy = Copy(partial(_fit_apart, component, sentences, context.having(jobs=1)))
        if copy.begun:
            self._copies[component] = copy
        return copy.begun

    def gathered(self, context: FitContext, wait: bool = False) -> FitContext:
        """Return a context with the components that are fitted, or, with ``wait``, with all of them."""
        for component, copy in list(self._copies.items()):
            if wait or copy.is_ready():
                fitted, figures = copy.result(partial(_waiting, context, component))
                copy.end()
                del self._copies[component]
                self.fitted[component] = fitted
                context.meta.update(figures)
        return context.having(fitted={**context.fitted, **{each.name: own for each, own in self.fitted.items()}})


def _waiting(context: FitContext, component: type[Component], items: Iterable[None]) -> Iterable[None]:
    return context.progress(items, component.name)


def _fit_apart(
    component: type[Component], sentences: Sequence[Sentence], context: FitContext
) -> tuple[Any, dict[str, Any]]:
    """Return a component that has been fitted, and the figures that it adds to the training history."""
    fitted = fit_component(component, sentences, context).fitted[component.name]
    return fitted, {name: context.meta[name] for name in component.figures if name in context.meta}


def _save(
    checkpoint: Checkpoint,
    done: Sequence[type[Component]],
    context: FitContext,
    fits: ParallelFits,
    name: str = "",
    unfinished: State | None = None,
) -> None:
    """Write a checkpoint, with the components that have been fitted meanwhile."""
    context = fits.gathered(context)
    checkpoint.save([*done, *fits.fitted], context, name, unfinished)


def fit_component(
    component: type[Component], sentences: Sequence[Sentence], context: FitContext, saved: Model | None = None
) -> FitContext:
    """Fit a component, or take it from a checkpoint; return the context with it, and with the data for later ones."""
    began = time.perf_counter()
    fitted = component.resume(saved, context) if saved else component.fit(sentences, context)
    if fitted is not None and not saved:
        seconds = time.perf_counter() - began
        log.info("%s: %.1f s", component.name, seconds, extra={"component": component.name})
    context = context.having(fitted={**context.fitted, component.name: fitted}, unfinished=UnfinishedFit())
    data = component.unpack(saved, sentences, context) if saved else component.cross_predict(sentences, context)
    return context.having(data=data)
