"""A model loaded for parsing: tables of weights, and components, which are loaded on first use."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from nonproj.confidence.classifier import Classifier
from nonproj.errors import ModelError
from nonproj.kernels.threads import LoadedOnce
from nonproj.linear.state import KNOWN, Fitted
from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.scoring.crossing import CrossingScorer
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.scoring.graphs import GraphModel
from nonproj.scoring.labels import TAG, AllowedLabels
from nonproj.scoring.network import Network
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import CROSSED_ARC, TemplateTable, part_templates
from nonproj.scoring.tree_labels import LABEL_MARGIN, Table, TreeLabeler
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.encoded import EncoderTagScorer, encoded_tags

LONGEST = 10_000
"""Maximum sentence length, in words, for the encoder's scores of tags: no request takes longer sentences."""


def check_model(model: object) -> None:
    """Raise TypeError if the path or name of a model is given in place of a model.

    Examples
    --------
    >>> check_model("danish.nonproj")
    Traceback (most recent call last):
    TypeError: a Model is expected, not a path; nonproj.load('danish.nonproj') returns a parser of text
    """
    if isinstance(model, str | os.PathLike):
        path = os.fspath(model)
        raise TypeError(f"a Model is expected, not a path; nonproj.load({path!r}) returns a parser of text")


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A trained model, ready for parsing; threads may share it, because its caches of words are per thread.

    Attributes
    ----------
    model : Model
    encoder : TokenEncoder
    scorer : Scorer
    labeler : TreeLabeler
    tables : dict of str to Table
        The weights and their scale, of ``pruner``, ``parser`` and ``labeler``.
    pruner_table, crossing_table : TemplateTable
    labels : ndarray of shape (n_labels,), object
        The labels by their numbers.
    tag_column : int or None
        The column of tags in `Tokens.atoms`.
    """

    model: Model
    encoder: TokenEncoder
    scorer: Scorer
    labeler: TreeLabeler
    tables: dict[str, Table]
    pruner_table: TemplateTable
    crossing_table: TemplateTable | None
    labels: np.ndarray
    tag_column: int | None

    @classmethod
    def of(cls, model: Model) -> LoadedModel:
        """Return a model that is ready for parsing; raise `ModelError` if it is not trained."""
        check_model(model)
        if not model.is_trained:
            raise ModelError("a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
        scale, templates, n_labels = model.meta.get("scale", {}), model.templates, len(model.labels)
        tables = {name: (model.weights[name], scale.get(name, 1.0)) for name in ("pruner", "parser", "labeler")}
        encoder = model.encoder()
        attributes = encoder.attributes
        table = model.weights.get(LABEL_LINES)
        lines = None if table is None else AllowedLabels(table, attributes.index(TAG))
        network = model.loaded(Network, model.vocabularies, n_labels, encoder.pieces)
        further = lines, network, model.weights.get(LABEL_PLACES)
        scorer = Scorer(templates, attributes, model.config.parts, n_labels, *further)
        of_labels = tables["labeler"], tables["parser"]
        return cls(
            model,
            encoder,
            scorer,
            TreeLabeler(scorer, templates, attributes, n_labels, LABEL_MARGIN, of_labels),
            tables,
            part_templates(templates["pruner"], attributes),
            part_templates(templates[CROSSED_ARC], attributes) if CROSSED_ARC in templates else None,
            np.array(model.labels, np.object_),
            attributes.index("pos") if "pos" in attributes else None,
        )

    @LoadedOnce
    def analyzer(self) -> Analyzer | None:
        """The model's tagger and lemmatizer, or None."""
        return self.model.loaded(Analyzer, self.encoder.pieces)

    @LoadedOnce
    def pretrained(self) -> EncoderScorer | None:
        """The model's pretrained encoder, or None."""
        return self.model.loaded(EncoderScorer, len(self.model.labels))

    @LoadedOnce
    def encoded_tags(self) -> EncoderTagScorer | None:
        """The scorer of tags by the encoder, or None."""
        return encoded_tags(self.pretrained, self.analyzer.tags if self.analyzer else None, LONGEST)

    @LoadedOnce
    def components(self) -> list[Fitted]:
        """The model's registered user components, which are applied to tagged sentences, in their order."""
        found = (self.model.loaded(KNOWN[name]) for name in self.model.components if name in KNOWN)
        return [component for component in found if component]

    @LoadedOnce
    def crossing(self) -> CrossingScorer | None:
        """The scorer of crossed arcs, or None."""
        return self.model.loaded(CrossingScorer)

    @LoadedOnce
    def graphs(self) -> GraphModel | None:
        """The model of enhanced graphs, or None."""
        return self.model.loaded(GraphModel)

    @LoadedOnce
    def classifier(self) -> Classifier | None:
        """The confidence classifier, or None."""
        return self.model.loaded(Classifier)
