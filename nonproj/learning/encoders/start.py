"""The encoder of a trained model, from which that of another model is fine-tuned.

The layers behind it are taken over, too: what they know of labels and tags is found by name, because the other
treebank numbers its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.model.model import Model
from nonproj.scoring.encoders.architecture import ARRAYS, EncoderFolder
from nonproj.scoring.encoders.quantisation import floats_of
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.tagset import TagSet


class TrainedLayers(NamedTuple):
    """The layers behind an encoder.

    Attributes
    ----------
    heads : dict of str to ndarray
        Those of `nonproj.scoring.encoders.heads.BiaffineLayers`.
    labels : sequence of str
        In the order of their numbers.
    of_tags : dict of str to ndarray
        Those of `nonproj.scoring.encoders.tags.TagLayer`; empty without one.
    tags : TagSet or None
    """

    heads: Mapping[str, np.ndarray] = {}
    labels: Sequence[str] = ()
    of_tags: Mapping[str, np.ndarray] = {}
    tags: TagSet | None = None

    def for_labels(self, labels: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the arrays of `heads` for other labels: a new one is as that without a subtype, or as their mean."""
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
        """Return the arrays of `of_tags` for other tags: a part of a tag that is new has a row of zeros."""
        found = dict(self.of_tags)
        if self.tags is None:
            return found
        rows = np.zeros((tags.n_units, found["tag_output"].shape[1]), np.float32)
        for name, unit in tags.named.items():
            if name in self.tags.named:
                rows[unit] = found["tag_output"][self.tags.named[name]]
        return found | {"tag_output": rows}


def read_model(path: str | Path) -> tuple[Model, EncoderFolder, TrainedLayers]:
    """Return a model, its encoder, and the layers behind it.

    Raises
    ------
    ModelError
        It has no encoder, or is unsound.
    """
    model = Model.load_trained(path)
    scorer = model.loaded(EncoderScorer, len(model.labels))
    if scorer is None:
        raise ModelError(f"{path}: a model without a pretrained encoder")
    encoder, analyzer = scorer.encoder, model.loaded(Analyzer)
    arrays = floats_of(encoder.arrays)
    folder = EncoderFolder(
        encoder.architecture,
        {name: arrays[name] for name in (*ARRAYS, "mix")},
        encoder.tokenizer,
        str(model.meta.get("encoder", {}).get("licence", "")),
    )
    tags = analyzer.tags if analyzer and scorer.tags else None
    return (
        model,
        folder,
        TrainedLayers(scorer.heads.arrays, model.labels, scorer.tags.arrays if scorer.tags and tags else {}, tags),
    )
