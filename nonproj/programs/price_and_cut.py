"""Parse, price and cut with a model: all arcs, no pruning, and few chains scored (Riedel, Smith and McCallum 2012).

Joins the bounds of `nonproj.scoring.bounds` and the program of `nonproj.programs.column_generation` over a sentence.
"""

from __future__ import annotations

import numpy as np

from nonproj.model import Model
from nonproj.pipeline import Parser
from nonproj.programs.column_generation import DEFAULTS, Counts, PricingOptions, full_program
from nonproj.programs.column_generation import price_and_cut as grow
from nonproj.scoring.bounds import chain_bounds, chain_parts
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.score import score_parts
from nonproj.scoring.scorer import dense_arc_scores
from nonproj.types import Decoded, Sentence


class PricingParser:
    """Parses with a model of arcs and grandparents over all arcs, by linear programs.

    Parameters
    ----------
    model : Model
        Of arcs and grandparents, ``parts: [arc, grandparent]``.  To parse well without pruning, it must have been
        trained with little of it.
    options : PricingOptions, optional
        By default trees have one root if those of training had.

    Raises
    ------
    ValueError
        If the model has other part types.

    Examples
    --------
    >>> parser = PricingParser(Model.load("danish-grandparents.nonproj"))  # doctest: +SKIP
    >>> decoded, counts = parser.parse(sentence)  # doctest: +SKIP
    >>> decoded.certified, counts.scored / counts.chains  # doctest: +SKIP
    (True, 0.02)
    """

    def __init__(self, model: Model, options: PricingOptions | None = None):
        if model.config.parts != ("arc", "grandparent"):
            raise ValueError(f"price and cut is for arcs and grandparents, not for {', '.join(model.config.parts)}")
        self.parser = Parser(model)
        self.options = options or DEFAULTS._replace(single_root=bool(self.parser.options.single_root))

    def parse(self, sentence: Sentence) -> tuple[Decoded, Counts]:
        """Solve the program of all arcs and chains, scoring as few chains as the bounds allow.

        Parameters
        ----------
        sentence : Sentence
            Gold heads, if it has any, are not looked at.

        Returns
        -------
        Decoded
            As of `nonproj.programs.column_generation.price_and_cut`.
        Counts
            What was scored is counted as it is scored.
        """
        arc, hashed, score = self._scores(sentence)
        bounds = chain_bounds(hashed, *self._weights)
        decoded, counts = grow(arc, bounds.upper, score, self.options)
        return decoded, counts._replace(looked_up=bounds.looked_up)

    def brute_force(self, sentence: Sentence, lazy_rows: bool = False) -> tuple[Decoded, Counts]:
        """Solve the same program by scoring all chains and starting with all columns and rows.

        Parameters and results are those of `parse`; for ``lazy_rows`` see
        `nonproj.programs.column_generation.full_program`.
        """
        arc, _, score = self._scores(sentence)
        return full_program(arc, score, self.options, lazy_rows)

    @property
    def _weights(self) -> tuple[np.ndarray, float]:
        model = self.parser.model
        return model.weights["parser"], self.parser.units.get("parser", 1.0)

    def _scores(self, sentence: Sentence):
        """Return the scores of all arcs, the hashes of the templates over grandparents, and what scores chains."""
        weights, unit = self._weights
        tokens = self.parser.encode(sentence)
        tables = self.parser.scorer.tables
        arc = dense_arc_scores(tokens, tables[0], weights, unit)
        hashed = hash_tokens(tokens, tables[1], len(weights))
        return arc, hashed, lambda chains: score_parts(hashed, chain_parts(chains), weights, unit)


def price_and_cut(
    model: Model | PricingParser, sentence: Sentence, options: PricingOptions | None = None
) -> tuple[Decoded, Counts]:
    """Parse one sentence by price and cut; for many, make one `PricingParser`.

    Parameters
    ----------
    model : Model or PricingParser
    sentence : Sentence
    options : PricingOptions, optional
        Of `PricingParser`, where a model is given.

    Returns
    -------
    Decoded
    Counts

    Raises
    ------
    ValueError
        If the model is none of arcs and grandparents.
    ImportError
        If HiGHS is not installed.

    Examples
    --------
    >>> from nonproj.options.config import Config
    >>> from nonproj.scoring.templates import attributes_of, load_templates
    >>> files = {name: {**spec, "templates": spec["templates"][:3]} for name, spec in load_templates().items()}
    >>> del files["sibling"]
    >>> config = Config().with_overrides({"parts": ["arc", "grandparent"]})
    >>> alphabets = {name: ["a", "b"] for name in [*attributes_of(files), "feat"]}
    >>> weights = {name: np.arange(1024, dtype=np.float32) for name in ("parser", "pruner", "labeler")}
    >>> sentence = Sentence([[str(i), form, *"______", "_", "_"] for i, form in enumerate("abab", 1)])
    >>> decoded, counts = price_and_cut(Model(config, alphabets, files, [], weights, {}), sentence)
    >>> decoded.certified, counts.chains, counts.scored <= counts.chains
    (True, 36, True)
    """
    parser = model if isinstance(model, PricingParser) else PricingParser(model, options)
    return parser.parse(sentence)
