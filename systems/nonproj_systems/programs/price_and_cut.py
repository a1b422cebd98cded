"""Price and cut with a model: all arcs, no pruning, few grandparent parts scored.

Riedel, Smith and McCallum (2012).  The bounds are those of `nonproj_systems.programs.bounds`, the program that of
`nonproj_systems.programs.column_generation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.scorer import dense_arc_scores, score_parts
from nonproj.types import Decoded, Sentence
from nonproj_systems.programs.bounds import grandparent_bounds, parts_of_triples
from nonproj_systems.programs.column_generation import (
    DEFAULTS,
    PricingCounts,
    PricingOptions,
    full_program,
    price_and_cut,
)


class PricingParser:
    """Parses over all arcs with a grandparent model, by linear programs.

    Parameters
    ----------
    model : Model
        The model, over arcs and grandparents: ``parts: [arc, grandparent]``.  To parse well without pruning, it must be
        trained with little pruning.
    options : PricingOptions, optional
        By default, trees have a single root if the training trees did.

    Raises
    ------
    ValueError
        If the model has other part types.
    ImportError
        From its methods, if HiGHS is not installed.

    Examples
    --------
    >>> parser = PricingParser(Model.load("danish-grandparents.nonproj"))  # doctest: +SKIP
    >>> decoded, counts = parser.parse(sentence)  # doctest: +SKIP
    >>> decoded.certified, counts.scored / counts.grandparents  # doctest: +SKIP
    (True, 0.02)
    """

    def __init__(self, model: Model, options: PricingOptions | None = None):
        if model.config.parts != ("arc", "grandparent"):
            raise ValueError(f"price and cut is for arcs and grandparents, not for {', '.join(model.config.parts)}")
        self.parser = Parser(model)
        if self.parser.loaded.scorer.n_labels:
            raise ValueError("price and cut is for models without labelled arcs; train with labeler.joint=false")
        if self.parser.loaded.scorer.network is not None:
            raise ValueError("price and cut is for models without a network; train with network.epochs=0")
        if self.parser.loaded.pretrained is not None:
            raise ValueError("price and cut is for models without a pretrained encoder")
        self.options = options or DEFAULTS._replace(single_root=bool(self.parser.request.options.single_root))

    def parse(self, sentence: Sentence) -> tuple[Decoded, PricingCounts]:
        """Parse a sentence, as `nonproj_systems.programs.column_generation.price_and_cut` does; ignore gold heads."""
        arc_scores, hashed, score = self._scores(sentence)
        bounds = grandparent_bounds(hashed, *self._weights)
        decoded, counts = price_and_cut(arc_scores, bounds.upper, score, self.options)
        return decoded, counts._replace(lookups=bounds.lookups)

    def brute_force(self, sentence: Sentence) -> tuple[Decoded, PricingCounts]:
        """Solve the same program with all columns from the start, as `full_program` does."""
        arc_scores, _, score = self._scores(sentence)
        return full_program(arc_scores, score, self.options)

    @property
    def _weights(self) -> tuple[np.ndarray, float]:
        """The weight table and its scale."""
        return self.parser.loaded.tables["parser"]

    def _scores(self, sentence: Sentence) -> tuple[Any, ...]:
        """Return the scores of all arcs, the hashed grandparent templates, and a function that scores parts."""
        weights, scale = self._weights
        tokens = self.parser.loaded.encoder.encode(sentence)
        tables = self.parser.loaded.scorer.tables
        arc_scores = dense_arc_scores(tokens, tables[0], weights, scale)
        hashed = hash_tokens(tokens, tables[1], len(weights))
        return arc_scores, hashed, lambda triples: score_parts(hashed, parts_of_triples(triples), weights, scale)
