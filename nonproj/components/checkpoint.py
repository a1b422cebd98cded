"""Checkpoints: the state of training after a component or an epoch, as a model file, tied to its input by a digest."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from nonproj.components.base import Component, FitContext, assemble
from nonproj.errors import ConfigError, ModelError
from nonproj.linear.state import State
from nonproj.model.checks import DONE, UNFINISHED
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.vectors import WordVectors
from nonproj.types import Sentence

_P = ParamSpec("_P")
_R = TypeVar("_R")

log = logging.getLogger("nonproj")


class Checkpoint:
    """The checkpoint of a training.

    Parameters
    ----------
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

    def __init__(self, path: Path | None = None, training: str = "", saved: Model | None = None):
        if saved and saved.meta.get("training") != training:
            raise ConfigError("resume", f"{path} is of other sentences or options; train without --resume")
        self.path, self.training, self.saved = path, training, saved

    def save(
        self, done: Sequence[type[Component]], context: FitContext, name: str = "", unfinished: State | None = None
    ) -> None:
        """Write the fitted components, and the unfinished state of the next one, with this name, if there is any."""
        if self.path is None:
            return
        model = assemble(context, rounded=False)
        model.meta |= {"training": self.training, DONE: {component.name: True for component in done}}
        for component in done:
            model.weights |= component.pack(context.data)
        if unfinished:
            model.add_component(UNFINISHED, ({**unfinished[0], "component": name}, unfinished[1]))
        model.save(self.path)

    def done(self, known: Sequence[type[Component]]) -> set[str]:
        """Return the names of the components that the checkpoint has, up to the first that it lacks.

        One that is fitted while later ones are may be missing before these.
        """
        done = self.saved.meta.get(DONE) if self.saved else None
        names = set(done) if type(done) is dict else set[str]()
        missing = (i for i, each in enumerate(known) if each.name not in names and not each.parallel)
        return names & {each.name for each in known[: next(missing, len(known))]}

    def unfinished_of(self, component: type[Component]) -> State | None:
        """Return the unfinished state of a component, if there is any."""
        state = self.saved.component(UNFINISHED) if self.saved else None
        return state if state and state[0].get("component") == component.name else None

    def figures_of(self, component: type[Component]) -> dict[str, Any]:
        """Return the figures that a component has added to the training history."""
        meta = self.saved.meta if self.saved else {}
        return {name: meta[name] for name in component.figures if name in meta}

    def check(self, resume: Callable[_P, _R], *arguments: _P.args, **options: _P.kwargs) -> _R:
        """Call a function that reads the checkpoint; name the file in the `ModelError` if its content is unsound."""
        try:
            return resume(*arguments, **options)
        except ModelError as error:
            raise ModelError(f"{self.path}: cannot be resumed from: {error}; train without --resume") from None


def load_checkpoint(path: Path | None) -> Model | None:
    """Return the checkpoint in a file; None, with a message, if there is none."""
    if path is None or not path.exists():
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
