"""A model loaded for parsing: options, tables of weights, and components, which are loaded on first use."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from nonproj.automata.compiled import is_third_order
from nonproj.confidence.classifier import Classifier
from nonproj.dual.options import SearchOptions, check_options, check_search, crossing_price, dual_options
from nonproj.errors import ModelError
from nonproj.kernels.threads import LoadedOnce
from nonproj.linear.state import Fitted
from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.registry import part_set
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.scoring.labels import TAG, AllowedLabels
from nonproj.scoring.network import Network
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import part_templates
from nonproj.scoring.tree_labels import LABEL_MARGIN, TreeLabeler
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.encoded import EncoderTagScorer, encoded_tags

THIRD_EFFORT = 10
"""Factor on the search limit with third-order parts."""

TAGS = ("missing", "all", "none")
"""Values of ``tags``: which tags the tagger predicts."""


def check_model(model: object) -> None:
    """Raise an error for the path or name of a model in the place of a model.

    Examples
    --------
    >>> check_model("danish.nonproj")
    Traceback (most recent call last):
    TypeError: a Model is expected, not a path; nonproj.load('danish.nonproj') returns a parser of text
    """
    if isinstance(model, str | os.PathLike):
        path = os.fspath(model)
        raise TypeError(f"a Model is expected, not a path; nonproj.load({path!r}) returns a parser of text")


class LoadedModel:
    """A trained model, ready for parsing; `nonproj.pipeline.parser.Parser` describes the parameters and adds stages."""

    def __init__(
        self, model: Model, decoding: DecodingConfig | None = None, tags: str = "missing", proofs: bool = False
    ):
        check_model(model)
        if tags not in TAGS:
            raise ValueError(f"tags is {tags!r}, one of {', '.join(TAGS)} expected")
        if not model.is_trained:
            raise ModelError("a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
        config = model.config
        self.model, self.tags, self.proofs = model, tags, proofs
        self.decoding = decoding = decoding or config.decoding
        single_root, projective = not model.meta.get("multi_root", True), bool(model.meta.get("projective", False))
        self.options = check_options(dual_options(decoding, single_root, projective))
        effort = THIRD_EFFORT if is_third_order(part_set(config.parts)) else 1
        self.search = check_search(SearchOptions(effort * decoding.search_limit, search=decoding.exact))
        self.full, self.nbest, self.constraints = decoding.full, decoding.nbest, decoding.constraints
        self.max_words, self.cut_words = decoding.max_words, decoding.cut_words
        self.pruning: dict[str, Any] = {"threshold": decoding.threshold, "max_heads": config.pruner.max_heads}
        self.pruning |= {"single_root": self.options.single_root, "projective": self.options.projective}
        scale = model.meta.get("scale", {})
        self.tables = {name: (model.weights[name], scale.get(name, 1.0)) for name in ("pruner", "parser", "labeler")}
        self.encoder = model.encoder()
        attributes = self.encoder.attributes
        table = model.weights.get(LABEL_LINES)
        lines = None if table is None else AllowedLabels(table, attributes.index(TAG))
        network = model.loaded(Network, model.vocabularies, len(model.labels))
        further = lines, network, model.weights.get(LABEL_PLACES)
        self.scorer = Scorer(model.templates, attributes, config.parts, len(model.labels), *further)
        self.pruner_table = part_templates(model.templates["pruner"], attributes)
        tables = self.tables["labeler"], self.tables["parser"]
        self.labeler = TreeLabeler(self.scorer, model.templates, attributes, len(model.labels), LABEL_MARGIN, tables)
        self._labels = np.array(model.labels, np.object_)
        self._tag_column = attributes.index("pos") if "pos" in attributes else None
        self.price = crossing_price(decoding, model.meta, self.options)

    @LoadedOnce
    def analyzer(self) -> Analyzer | None:
        """The model's tagger and lemmatizer, or None."""
        return self.model.loaded(Analyzer)

    @LoadedOnce
    def pretrained(self) -> EncoderScorer | None:
        """The model's pretrained encoder, or None."""
        return self.model.loaded(EncoderScorer, len(self.model.labels))

    @LoadedOnce
    def encoded_tags(self) -> EncoderTagScorer | None:
        """The scorer of tags by the encoder, or None."""
        return encoded_tags(self.pretrained, self.analyzer.tags if self.analyzer else None, self.max_words)

    @LoadedOnce
    def components(self) -> list[Fitted]:
        """The model's components that others have registered, which are applied to tagged sentences, in their order."""
        return self.model.registered()

    @LoadedOnce
    def classifier(self) -> Classifier | None:
        """The confidence classifier; None if the model has none, or ``decoding.confidence`` is off."""
        return self.model.loaded(Classifier) if self.decoding.confidence else None
