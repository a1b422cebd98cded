"""The encoder from which fine-tuning starts: one in a folder, or that of a trained model.

The layers behind that of a model are taken over, too: their rows for labels and tags are matched by name, because the
other treebank has its own numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError, one_line
from nonproj.evaluation.card import record
from nonproj.model.model import Model
from nonproj.scoring.encoders.architecture import EncoderFolder, read_folder
from nonproj.scoring.encoders.quantisation import floats_of
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.tagset import TagSet


class TrainedLayers(NamedTuple):
    """The layers behind an encoder.

    Attributes
    ----------
    heads : dict of str to ndarray
        Arrays of `nonproj.scoring.encoders.heads.BiaffineLayers`.
    labels : sequence of str
        In the order of their numbers.
    of_tags : dict of str to ndarray
        Arrays of `nonproj.scoring.encoders.tags.TagLayer`; empty without one.
    tags : TagSet or None
    learnt : ndarray of int64
        The sentences that they have learnt from: see `nonproj.scoring.encoders.scorer.numbers_of`.
    """

    heads: Mapping[str, np.ndarray] = {}
    labels: Sequence[str] = ()
    of_tags: Mapping[str, np.ndarray] = {}
    tags: TagSet | None = None
    learnt: np.ndarray = np.zeros(0, np.int64)

    def for_labels(self, labels: Sequence[str]) -> dict[str, np.ndarray]:
        """Return `heads` for other labels: a new label gets the weights of its base label or, without one, the mean."""
        number = {label: i for i, label in enumerate(self.labels)}
        source = np.array([number.get(label, number.get(label.partition(":")[0], -1)) for label in labels])
        found = dict(self.heads)
        for name, axis in (
            ("label_product", 0),
            ("label_weight", 0),
            ("label_head_weight", 1),
            ("label_modifier_weight", 1),
        ):
            with_mean = np.concatenate([found[name], found[name].mean(axis=axis, keepdims=True)], axis=axis)
            found[name] = with_mean.take(source, axis=axis)
        return found

    def for_tags(self, tags: TagSet) -> dict[str, np.ndarray]:
        """Return `of_tags` for other tags: a new part of a tag gets a row of zeros."""
        found = dict(self.of_tags)
        if self.tags is None:
            return found
        rows = np.zeros((tags.n_units, found["tag_output"].shape[1]), np.float32)
        for name, unit in tags.named.items():
            if name in self.tags.named:
                rows[unit] = found["tag_output"][self.tags.named[name]]
        return found | {"tag_output": rows}


def read_start(path: Path) -> tuple[EncoderFolder, TrainedLayers, Model | None]:
    """Return the encoder in a folder, or in the file of a model with the layers behind it, and this model.

    Raises
    ------
    ModelError
        There is no encoder, or it is invalid.
    """
    if path.is_dir():
        return read_folder(path), TrainedLayers(), None
    model, scorer = _scorer_of(path)
    analyzer, encoder = model.loaded(Analyzer, model.loaded(PieceVectors)), scorer.encoder
    of_tags = (scorer.tags.arrays, analyzer.tags) if scorer.tags and analyzer else ({}, None)
    layers = TrainedLayers(scorer.heads.arrays, model.labels, *of_tags, scorer.learnt)
    licence = str(record(model.meta, "encoder").get("licence", ""))
    return EncoderFolder(encoder.architecture, floats_of(encoder.arrays), encoder.tokenizer, licence), layers, model


def learnt_before(path: Path) -> np.ndarray:
    """Return the sentences that the encoder in a model has learnt from; none, if it is in a folder."""
    return np.zeros(0, np.int64) if path.is_dir() else _scorer_of(path)[1].learnt


def _scorer_of(path: Path) -> tuple[Model, EncoderScorer]:
    model = Model.load_trained(path)
    scorer = model.loaded(EncoderScorer, len(model.labels))
    if scorer is None:
        raise ModelError(f"{one_line(str(path))}: a model without a pretrained encoder")
    return model, scorer
