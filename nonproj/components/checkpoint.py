"""Checkpoints: the state of training after a component or an epoch, as a model file, tied to its input by a digest."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nonproj.components.base import Component, FitContext, UnfinishedFit, assemble
from nonproj.components.fitting import ParallelFits, is_fitted
from nonproj.errors import ConfigError, ModelError
from nonproj.learning.corpus import Corpus
from nonproj.linear.state import State
from nonproj.model.checks import DONE, UNFINISHED
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.vectors import WordVectors
from nonproj.types import Sentence

log = logging.getLogger("nonproj")


class Checkpoint:
    """The checkpoint of a training.

    Parameters
    ----------
    components : sequence of Component
        In their order.
    path : Path or None
        Without it, nothing is written.
    training : str
        The digest of what determines training.
    saved : Model or None
        The checkpoint to resume from.

    Raises
    ------
    ConfigError
        If that is of another training.
    """

    def __init__(
        self,
        components: Sequence[type[Component]],
        path: str | Path | None = None,
        training: str = "",
        saved: Model | None = None,
    ):
        if saved and saved.meta.get("training") != training:
            raise ConfigError("resume", f"{path} is of other sentences or options; train without --resume")
        self.components, self.path, self.training, self._saved = components, path, training, saved
        done = saved.meta.get(DONE) if saved else None
        names, unfinished = set(done) if type(done) is dict else set[str](), saved and saved.component(UNFINISHED)
        # One that is fitted while later ones are may be missing before these.
        missing = (i for i, each in enumerate(components) if each.name not in names and not each.parallel)
        self._done = names & {each.name for each in components[: next(missing, len(components))]}
        self._unfinished = {unfinished[0].get("component"): unfinished} if unfinished else {}

    def has(self, component: type[Component]) -> bool:
        """Return whether it has a component, or the unfinished state of one."""
        return component.name in self._done or component.name in self._unfinished

    def of(self, component: type[Component]) -> Model | None:
        """Return the checkpoint from which a component is resumed; None if it is to be fitted."""
        return self._saved if component.name in self._done else None

    def begin(
        self, component: type[Component], corpus: Corpus, context: FitContext, parallel: ParallelFits
    ) -> FitContext:
        """Return the context of a component: with its figures and its unfinished state, if the checkpoint has any."""
        if self._saved and self.has(component):
            meta = self._saved.meta
            context.meta.update({name: meta[name] for name in component.figures if name in meta})
        state = None if self.of(component) else self._unfinished.get(component.name)
        save = partial(self._save, component.name, corpus, context, parallel)
        return context.having(unfinished=UnfinishedFit(state, save))

    def end(self, component: type[Component], corpus: Corpus, context: FitContext, parallel: ParallelFits) -> None:
        """Write what has been fitted, unless the checkpoint has more.

        The last component writes its own checkpoint after each epoch: training can then be continued for more epochs.
        """
        later = self.components[self.components.index(component) + 1 :]
        if later and not self.of(component) and not any(map(self.has, later)):
            self._save("", corpus, context, parallel)

    def _save(
        self, name: str, corpus: Corpus, context: FitContext, parallel: ParallelFits, unfinished: State | None = None
    ) -> None:
        """Write the fitted components, and the unfinished state of the next one, with this name, if there is any."""
        if self.path is None:
            return
        context = parallel.gathered(context)
        model = assemble(context, rounded=False)
        done = [each for each in self.components if is_fitted(context.fitted.get(each.name))]
        model.meta |= {"training": self.training, DONE: {component.name: True for component in done}}
        for component in done:
            model.weights |= component.pack(corpus)
        if unfinished:
            model.add_component(UNFINISHED, ({**unfinished[0], "component": name}, unfinished[1]))
        model.save(self.path)

    @contextlib.contextmanager
    def resuming(self, component: type[Component]) -> Iterator[None]:
        """Name the file in the `ModelError` about its content, if it has something of a component."""
        try:
            yield
        except ModelError as error:
            if not self.has(component):
                raise
            raise ModelError(f"{self.path}: cannot be resumed from: {error}; train without --resume") from None


def checkpoint_of(components: Sequence[type[Component]], corpus: Corpus, context: FitContext) -> Checkpoint:
    """Return the checkpoint of a training, to resume from, if the options of the run say so."""
    path, files = context.run.checkpoint, context.files
    saved = load_checkpoint(path) if context.run.resume else None
    digest = training_digest(corpus.all_sentences, context.config, files.templates, files.vectors, context.start)
    return Checkpoint(components, path, digest, saved)


def load_checkpoint(path: str | Path | None) -> Model | None:
    """Return the checkpoint in a file; None, with a message, if there is none."""
    if path is None or not Path(path).exists():
        log.info("no checkpoint; training from the start")
        return None
    return Model.load(path)


def averaged_epochs(done: int, first: int) -> int:
    """Return how many epochs an average comprises after ``done`` epochs, if it is restarted before epoch ``first``.

    Examples
    --------
    >>> [averaged_epochs(done, 3) for done in range(1, 6)]
    [1, 2, 1, 2, 3]
    """
    return done if done < first else done - first + 1


def check_history(epochs: object, step: object, steps: int, first: int) -> None:
    """Raise `ModelError` if log and step number of a checkpoint are unsound.

    An epoch has ``steps`` steps; the average is restarted before epoch ``first``.
    """
    if type(epochs) is not list or type(step) is not int or step != 1 + steps * averaged_epochs(len(epochs), first):
        raise ModelError("its number of steps is not that of its epochs")


def training_digest(
    sentences: Sequence[Sentence],
    config: Config,
    templates: Mapping[str, Mapping[str, Any]],
    vectors: WordVectors | None,
    start: Model | None = None,
) -> str:
    """Return a digest of all that determines training, other than the number of epochs, which resuming may change."""
    options = config.as_dict()
    options["training"].pop("epochs")
    digest = hashlib.blake2b(repr((sorted(options.items()), templates)).encode(), digest_size=16)
    points = ("\n".join(vectors.words).encode(), vectors.table.tobytes()) if vectors else ()
    for data in (*points, *([start.to_bytes()] if start else [])):
        digest.update(data)
    for sentence in sentences:
        digest.update("\n".join("\t".join(row) for row in sentence.rows).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
