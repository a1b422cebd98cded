"""Checkpoints: the state of training after a component or an epoch, as a model file, tied to its input by a digest."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from nonproj.components.base import Component, FitContext, UnfinishedFit, assemble
from nonproj.components.fitting import ParallelFits
from nonproj.errors import ConfigError, ModelError
from nonproj.learning.corpus import Corpus
from nonproj.linear.state import State
from nonproj.model.checks import DONE, UNFINISHED
from nonproj.model.model import Model

log = logging.getLogger("nonproj")


class Checkpoint:
    """The checkpoint of a training run, from which training resumes if the run's ``resume`` is true.

    Parameters
    ----------
    components : sequence of Component
        In their order.
    corpus : Corpus
    context : FitContext
        Corpus and context before the first component.
    parallel : ParallelFits

    Raises
    ------
    ConfigError
        If there is a checkpoint of other sentences or options.
    """

    def __init__(
        self, components: Sequence[type[Component]], corpus: Corpus, context: FitContext, parallel: ParallelFits
    ):
        self.components, self.parallel, self.path = components, parallel, context.run.checkpoint
        self._training, self._done = training_digest(corpus, context), set[str]()
        self._saved: Model | None = None
        self._unfinished: State | None = None
        if context.run.resume:
            self._read()

    def _read(self) -> None:
        """Read the file, if there is one."""
        if self.path is None or not Path(self.path).exists():
            log.info("no checkpoint; training from the start")
            return
        self._saved = saved = Model.load(self.path)
        if saved.meta.get("training") != self._training:
            raise ConfigError("resume", f"{self.path} is of other sentences or options; train without --resume")
        done, self._unfinished = saved.meta.get(DONE), saved.component(UNFINISHED)
        names = set(done) if type(done) is dict else set[str]()
        # A component that is fitted in parallel with later ones may be missing before these.
        missing = (i for i, each in enumerate(self.components) if each.name not in names and not each.parallel)
        self._done = names & {each.name for each in self.components[: next(missing, len(self.components))]}

    def of(self, component: type[Component]) -> Model | None:
        """Return the checkpoint, if it has a component; None if the component is to be fitted."""
        return self._saved if component.name in self._done else None

    def has(self, component: type[Component]) -> bool:
        """Return whether it has a component, or the unfinished state of one."""
        unfinished = self._unfinished is not None and self._unfinished[0].get("component") == component.name
        return unfinished or component.name in self._done

    def begin(self, component: type[Component], corpus: Corpus, context: FitContext) -> FitContext:
        """Return the context of a component: with its figures and its unfinished state, if the checkpoint has any."""
        state = None
        if self._saved and self.has(component):
            meta, state = self._saved.meta, None if self.of(component) else self._unfinished
            context.meta.update({name: meta[name] for name in component.figures if name in meta})
        return context.having(unfinished=UnfinishedFit(state, partial(self._save, component.name, corpus, context)))

    def end(self, component: type[Component], corpus: Corpus, context: FitContext) -> None:
        """Write the fitted components, unless the checkpoint has more.

        The last component writes its own checkpoint after each epoch: training can then be continued for more epochs.
        """
        later = self.components[self.components.index(component) + 1 :]
        if later and not self.of(component) and not any(map(self.has, later)):
            self._save("", corpus, context)

    def _save(self, name: str, corpus: Corpus, context: FitContext, unfinished: State | None = None) -> None:
        """Write the fitted components, and the unfinished state of the next one, with this name, if there is any."""
        if self.path is None:
            return
        context = self.parallel.gathered(context)
        model, known = assemble(context, rounded=False), context.fitted.keys() - self.parallel.copies.keys()
        done = [component for component in self.components if component.name in known]
        model.meta |= {"training": self._training, DONE: {component.name: True for component in done}}
        for component in done:
            model.weights |= component.pack(corpus)
        if unfinished:
            model.add_component(UNFINISHED, ({**unfinished[0], "component": name}, unfinished[1]))
        model.save(self.path)

    @contextlib.contextmanager
    def resuming(self, component: type[Component]) -> Iterator[None]:
        """Add the name of the file to a `ModelError`, if the file has data of a component."""
        try:
            yield
        except ModelError as error:
            if not self.has(component):
                raise
            raise ModelError(f"{self.path}: cannot be resumed from: {error}; train without --resume") from None


def averaged_epochs(done: int, first: int) -> int:
    """Return the number of epochs in an average after ``done`` epochs, if it is restarted before epoch ``first``.

    Examples
    --------
    >>> [averaged_epochs(done, 3) for done in range(1, 6)]
    [1, 2, 1, 2, 3]
    """
    return done if done < first else done - first + 1


def check_history(epochs: object, step: object, steps: int, first: int) -> None:
    """Raise `ModelError` if log and step number of a checkpoint are invalid.

    An epoch has ``steps`` steps; the average is restarted before epoch ``first``.
    """
    if type(epochs) is not list or type(step) is not int or step != 1 + steps * averaged_epochs(len(epochs), first):
        raise ModelError("its number of steps is not that of its epochs")


def training_digest(corpus: Corpus, context: FitContext) -> str:
    """Return a digest of templates, vectors, continued model, sentences, and options, except the number of epochs."""
    options, (templates, _, vectors, _), start = context.config.as_dict(), context.files, context.start
    options["training"].pop("epochs")
    digest = hashlib.blake2b(repr((sorted(options.items()), templates)).encode(), digest_size=16)
    points = ("\n".join(getattr(vectors, "words", ())).encode(), vectors.table.tobytes()) if vectors else ()
    for data in (*points, *([start.to_bytes()] if start else [])):
        digest.update(data)
    for sentence in corpus.all_sentences:
        digest.update("\n".join("\t".join(row) for row in sentence.rows).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
