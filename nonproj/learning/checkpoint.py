"""Checkpoints: the state of training after an epoch, as a model file, tied to its sentences and options by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nonproj.errors import ConfigError
from nonproj.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space
from nonproj.types import ArcSpace, Sentence


def load_checkpoint(path: Path | None) -> Model | None:
    """Return the checkpoint, or None if there is none."""
    return Model.load(path) if path is not None and Path(path).exists() else None


def check_checkpoint(saved: Model, path: Path, digest: str) -> None:
    """Raise `ConfigError` if the checkpoint is not of the training that has this digest."""
    if saved.meta.get("training") != digest:
        raise ConfigError("resume", f"{path} is of other sentences or options; train without --resume")


def training_digest(
    sentences: Sequence[Sentence], config: Config, templates: Mapping[str, Mapping], shards: int | None
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
