"""Checkpoints: the state of training after an epoch, as a model file, tied to its sentences and options by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space
from nonproj.types import ArcSpace, Sentence

_LARGEST = 1e30
"""Larger weights are in no model file."""

HISTORY = ("log", "step", "seconds", "confidence", "crossing", "pruning_training", "pruning_held-out")
"""What the metadata of a model take over from a checkpoint; everything else follows from sentences and options."""


def load_checkpoint(path: Path | None) -> Model | None:
    """Return the checkpoint, or None if there is none."""
    return Model.load(path) if path is not None and Path(path).exists() else None


def check_checkpoint(saved: Model, path: Path, digest: str) -> None:
    """Raise `ConfigError` if the checkpoint is not of the training that has this digest."""
    if saved.meta.get("training") != digest:
        raise ConfigError("resume", f"{path} is of other sentences or options; train without --resume")


def state_names(count: int) -> list[tuple[str, str]]:
    """Return the names of the arrays, weights and running total, of each of so many perceptrons.

    Examples
    --------
    >>> state_names(2)
    [('perceptron', 'total'), ('perceptron2', 'total2')]
    """
    return [(f"perceptron{k}", f"total{k}") if k > 1 else ("perceptron", "total") for k in range(1, count + 1)]


def shards_of(saved: Model) -> int | None:
    """Return the number of shards of the training that a checkpoint is of; None if it was serial."""
    shards = saved.meta.get("shards")
    return shards if type(shards) is int and shards > 0 else None


def resumed_arcs(
    saved: Model, path: Path, config: Config, sentences: Sequence[Sentence], shards: int | None
) -> list[ArcSpace]:
    """Return the candidate arcs in a checkpoint, of each sentence.

    The digest says what the checkpoint is of, not that its content is sound: it may come from somebody else.

    Raises
    ------
    ModelError
        Training cannot continue from it: a table has another size, a weight is too large to be stored, steps and epochs
        disagree, or the arcs are not those of trees.
    """
    problem = _problem_of_tables(saved, config) or _problem_of_history(
        saved, -(-len(sentences) // (shards or 1)), config.training.average_from
    )
    if problem is None:
        try:
            return _arcs_with_trees(saved.weights["arcs"], sentences)
        except ValueError as error:
            problem = f"its arcs are wrong: {error}"
    raise ModelError(f"{path}: cannot be resumed from: {problem}; train without --resume")


def _problem_of_tables(saved: Model, config: Config) -> str | None:
    bits = {"pruner": config.pruner.bits, "labeler": config.labeler.bits}
    for names in state_names(config.training.models):
        bits |= dict.fromkeys(names, config.features.bits)
    for name, log_size in bits.items():
        table = saved.weights.get(name)
        if table is None or table.dtype.kind != "f" or table.shape != (1 << log_size,):
            return f"the weights of '{name}' are not a table of {1 << log_size} floating-point numbers"
        if max(table.max(), -table.min()) > _LARGEST:
            return f"some weights of '{name}' are too large"
    return None


def averaged_epochs(done: int, first: int) -> int:
    """Return how many epochs an average comprises after ``done`` epochs, if it is restarted before epoch ``first``.

    Examples
    --------
    >>> [averaged_epochs(done, 3) for done in range(1, 6)]
    [1, 2, 1, 2, 3]
    """
    return done if done < first else done - first + 1


def _problem_of_history(saved: Model, steps: int, first: int) -> str | None:
    """Return what is wrong with log, step number and time; an epoch has so many steps, ``first`` starts the average."""
    epochs, step, seconds = saved.meta.get("log"), saved.meta.get("step"), saved.meta.get("seconds", 0.0)
    if type(epochs) is not list or type(step) is not int or step != 1 + steps * averaged_epochs(len(epochs), first):
        return "its number of steps is not that of its epochs"
    return None if type(seconds) in (int, float) and 0 <= seconds < _LARGEST else "its training time is not a number"


def _arcs_with_trees(packed: np.ndarray, sentences: Sequence[Sentence]) -> list[ArcSpace]:
    """Return the arcs of each sentence; `ValueError` if they are not arcs, or lack those of the gold tree."""
    if packed.dtype != np.int32 or packed.ndim != 2 or packed.shape[1] != 3:
        raise ValueError("three columns of integers are expected")
    if (np.diff(packed[:, 0]) < 0).any() or (packed[:, 0] < 0).any() or (packed[:, 0] >= len(sentences)).any():
        raise ValueError("they are not in the order of the sentences")
    spaces = unpack_arcs(packed, [len(sentence) for sentence in sentences])
    for number, (arcs, sentence) in enumerate(zip(spaces, sentences, strict=True), 1):
        if np.count_nonzero(arcs.head == sentence.tree[arcs.modifier]) != len(sentence):
            raise ValueError(f"sentence {number} lacks some of its gold tree")
    return spaces


def training_digest(
    sentences: Sequence[Sentence], config: Config, templates: Mapping[str, Mapping[str, Any]], shards: int | None
) -> str:
    """Return a digest of all that determines training, other than the number of epochs, which resuming may change."""
    digest = hashlib.blake2b(digest_size=16)
    options = config.as_dict()
    options["training"].pop("epochs")
    digest.update(repr((sorted(options.items()), templates)).encode())
    digest.update(f"{shards} shards".encode() if shards else b"")
    for sentence in sentences:
        digest.update("\n".join("\t".join(row) for row in sentence.rows).encode())
    return digest.hexdigest()


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
    rows = [np.stack([np.full(len(arcs.head), i), arcs.head, arcs.modifier], 1) for i, arcs in enumerate(spaces)]
    return np.concatenate(rows).astype(np.int32)


def unpack_arcs(packed: np.ndarray, lengths: Sequence[int]) -> list[ArcSpace]:
    """Return the arcs of each sentence from `pack_arcs`, given the numbers of words."""
    starts = np.searchsorted(packed[:, 0], np.arange(len(lengths) + 1))
    return [arc_space(*packed[starts[i] : starts[i + 1], 1:].T, n_words) for i, n_words in enumerate(lengths)]
