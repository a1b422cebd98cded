"""Checkpoints: the state of training after a stage or an epoch, as a model file, tied to its input by a digest."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.model.checks import DONE
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.vectors import WordVectors
from nonproj.types import Sentence

_LARGEST = 1e30
"""Larger weights are in no model file."""

HISTORY = ("log", "step", "pruning_held-out")
"""What the trainer itself adds to the metadata; stages add their figures, and the rest follows from the input."""

log = logging.getLogger("nonproj")


class CheckpointFile:
    """The file of a run's checkpoint, which need not exist, and the one beside it in which a stage keeps its own state.

    Parameters
    ----------
    path : Path, optional
        Without it, nothing is written, and there is nothing to resume from.
    """

    def __init__(self, path: Path | None):
        self.path = None if path is None else Path(path)

    @property
    def unfinished(self) -> Path | None:
        """The file in which a stage keeps what it has learnt so far."""
        return self.path and self.path.with_name(f"{self.path.name}.unfinished")

    def remove_unfinished(self) -> None:
        """Remove what a stage has kept, if anything."""
        if self.unfinished:
            self.unfinished.unlink(missing_ok=True)

    def save(self, model: Model, training: str, done: Iterable[str]) -> None:
        """Write a model with the digest of its training and the names of the stages that are done."""
        assert self.path is not None
        model.meta = model.meta | {"training": training, DONE: dict.fromkeys(done, True)}
        model.save(self.path)

    def load(self) -> Model | None:
        """Return the checkpoint; None, with a message, if there is none."""
        if self.path is None or not self.path.exists():
            log.info("no checkpoint; training from the start")
            return None
        return Model.load(self.path)

    def check_training(self, saved: Model, training: str) -> None:
        """Raise `ConfigError` if a checkpoint has another digest than this training."""
        if saved.meta.get("training") != training:
            raise ConfigError("resume", f"{self.path} is of other sentences or options; train without --resume")

    def check(self, resume: Callable[..., Any], *arguments: Any) -> Any:
        """Return what is made from the checkpoint; raise `ModelError` that names its file if its content is unsound."""
        try:
            return resume(*arguments)
        except ModelError as error:
            raise ModelError(f"{self.path}: cannot be resumed from: {error}; train without --resume") from None


def stages_of(saved: Model, known: Sequence[str]) -> list[str]:
    """Return the first of the known stages that a checkpoint has; one of an earlier version has all."""
    done = saved.meta.get(DONE, dict.fromkeys(known))
    return list(takewhile(lambda name: type(done) is dict and name in done, known))


def shards_of(saved: Model) -> int | None:
    """Return the number of shards of the training that a checkpoint is of; None if it was serial."""
    shards = saved.meta.get("shards")
    return shards if type(shards) is int and shards > 0 else None


def resumed_table(saved: Model, name: str, bits: int) -> np.ndarray:
    """Return a table of ``2 ** bits`` weights of a checkpoint.

    The digest says what the checkpoint is of, not that its content is sound: it may come from somebody else.

    Raises
    ------
    ModelError
        The table has another size, or a weight is too large to be stored.
    """
    table = saved.weights.get(name)
    if table is None or table.dtype.kind != "f" or table.shape != (1 << bits,):
        raise ModelError(f"the weights of '{name}' are not a table of {1 << bits} floating-point numbers")
    if max(table.max(), -table.min()) > _LARGEST:
        raise ModelError(f"some weights of '{name}' are too large")
    return table


def averaged_epochs(done: int, first: int) -> int:
    """Return how many epochs an average comprises after ``done`` epochs, if it is restarted before epoch ``first``.

    Examples
    --------
    >>> [averaged_epochs(done, 3) for done in range(1, 6)]
    [1, 2, 1, 2, 3]
    """
    return done if done < first else done - first + 1


def check_history(meta: Mapping[str, Any], steps: int, first: int) -> None:
    """Raise `ModelError` if log and step number of a checkpoint are unsound.

    An epoch has ``steps`` steps; the average is restarted before epoch ``first``.
    """
    epochs, step = meta.get("log"), meta.get("step")
    if type(epochs) is not list or type(step) is not int or step != 1 + steps * averaged_epochs(len(epochs), first):
        raise ModelError("its number of steps is not that of its epochs")


def training_digest(
    sentences: Sequence[Sentence],
    config: Config,
    templates: Mapping[str, Mapping[str, Any]],
    shards: int | None,
    vectors: WordVectors | None,
) -> str:
    """Return a digest of all that determines training, other than the number of epochs, which resuming may change."""
    options = config.as_dict()
    options["training"].pop("epochs")
    known = repr((sorted(options.items()), templates)), f"{shards} shards" if shards else ""
    points = ("\n".join(vectors.words), vectors.table.tobytes()) if vectors else ()
    return input_digest(sentences, *known, *points)


def input_digest(sentences: Sequence[Sentence], *options: str | bytes) -> str:
    """Return a digest of sentences, and of options as text or bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for text in options:
        digest.update(text.encode() if isinstance(text, str) else text)
    for sentence in sentences:
        digest.update("\n".join("\t".join(row) for row in sentence.rows).encode())
    return digest.hexdigest()
