"""The way of the data: a sentence in, a labelled tree and its certificate out.

Each stage is a method of its own, so that a benchmark can time it and a reader can stop at it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .config import DecodingConfig
from .decode.dual import RULES, DualOptions, check_options, decode_trusted
from .decode.marginals import marginals
from .decode.prune import prune
from .model import Model
from .parts import part_index
from .scoring.alphabet import Encoder, Tokens
from .scoring.hashing import hash_tokens
from .scoring.labels import label_parts, label_scores
from .scoring.scorer import Scorer, dense_arc_scores
from .scoring.templates import compile_templates
from .types import MODELS, ArcSpace, Decoded, PartIndex, PartScores, Sentence

BATCH = 64
"""Sentences parsed stage by stage: enough for the cache, few enough for memory."""


class Parse(NamedTuple):
    """A parsed sentence.

    Attributes
    ----------
    decoded : Decoded
        The tree and what is known about it.  A certificate is about the arcs that pruning left.
    labels : list of str
        The label of each word's arc, n strings.
    arcs : ArcSpace
        The arcs that pruning left.
    """

    decoded: Decoded
    labels: list[str]
    arcs: ArcSpace


def dual_options(decoding: DecodingConfig, single_root: bool) -> DualOptions:
    """Return the decoder's options as its kernel wants them; ``single_root`` is what "auto" stands for."""
    return DualOptions(
        max_iterations=decoding.max_iterations,
        beta=decoding.beta,
        tau=decoding.tau,
        single_root=single_root if decoding.single_root == "auto" else bool(decoding.single_root),
        projective=decoding.projective,
        tolerance=decoding.tolerance,
        rule=RULES.index(decoding.step),
    )


class Parser:
    """Parses sentences with a trained model.

    Parameters
    ----------
    model : Model
    decoding : DecodingConfig, optional
        By default the one in the model.

    Examples
    --------
    >>> parser = Parser(Model.load("danish.nonproj"))  # doctest: +SKIP
    >>> parser.parse(sentence).decoded.heads  # doctest: +SKIP
    """

    def __init__(self, model: Model, decoding: DecodingConfig | None = None):
        config = model.config
        self.model = model
        decoding = decoding or config.decoding
        self.options = check_options(dual_options(decoding, single_root=not model.meta.get("multi_root", True)))
        self.threshold = decoding.threshold
        self.units = model.meta.get("scales", {})
        self.encoder = Encoder(model.alphabets)
        attributes = self.encoder.attributes
        self.order = MODELS.index(config.model)
        self.scorer = Scorer(model.templates, attributes, self.order)
        self.pruner_table = compile_templates(model.templates["pruner"], attributes)
        self.label_table = compile_templates(model.templates["label"], attributes)

    def parse(self, sentence: Sentence) -> Parse:
        """Parse one sentence.

        Parameters
        ----------
        sentence : Sentence
            Gold heads and labels, if it has any, are not looked at.
        """
        return self._parse_batch([sentence])[0]

    def parse_all(self, sentences: Iterable[Sentence], batch: int = BATCH) -> Iterator[tuple[Sentence, Parse]]:
        """Parse a stream of sentences; memory does not grow with it.

        Parameters
        ----------
        sentences : iterable of Sentence
        batch : int
            So many sentences are taken from the stream at a time; 1 answers each before the next is asked for.
        """
        stream = iter(sentences)
        while group := list(itertools.islice(stream, batch)):
            yield from zip(group, self._parse_batch(group), strict=True)

    def _parse_batch(self, sentences: list[Sentence]) -> list[Parse]:
        """Parse sentences stage by stage, so that each stage finds its part of the weights in the cache."""
        tokens = [self.encode(sentence) for sentence in sentences]
        arcs = [self.prune(t) for t in tokens]
        scored = [self.score(t, a) for t, a in zip(tokens, arcs, strict=True)]
        decoded = [self.decode(a, *s) for a, s in zip(arcs, scored, strict=True)]
        labels = [self.label(t, d.heads) for t, d in zip(tokens, decoded, strict=True)]
        return [Parse(*parse) for parse in zip(decoded, labels, arcs, strict=True)]

    def encode(self, sentence: Sentence) -> Tokens:
        """Strings to integers."""
        return self.encoder.encode(sentence)

    def prune(self, tokens: Tokens) -> ArcSpace:
        """First-order scores, their marginals, and the arcs these leave."""
        weights, unit = self._table("pruner")
        scores = dense_arc_scores(tokens, self.pruner_table, weights, unit)
        single_root = self.options.single_root
        return prune(
            marginals(scores, single_root)[0],
            threshold=self.threshold,
            max_heads=self.model.config.pruner.max_heads,
            single_root=single_root,
            projective=self.options.projective,
        )

    def score(self, tokens: Tokens, arcs: ArcSpace) -> tuple[PartIndex, PartScores]:
        """Number the parts over the arcs and score them."""
        weights, unit = self._table("parser")
        index = part_index(arcs, self.order)
        return index, self.scorer.score(self.scorer.featurise(tokens, arcs, index, len(weights)), weights, unit)

    def _table(self, name: str) -> tuple[np.ndarray, float]:
        """A weight table and its unit."""
        return self.model.weights[name], self.units.get(name, 1.0)

    def decode(self, arcs: ArcSpace, index: PartIndex, scores: PartScores) -> Decoded:
        """The best tree over the arcs, by dual decomposition."""
        return decode_trusted(arcs, index, scores, self.order, self.options)

    def label(self, tokens: Tokens, heads: np.ndarray) -> list[str]:
        """The best label of each arc of a tree."""
        weights, labels = self.model.weights["labeler"], self.model.labels
        hashed = hash_tokens(tokens, self.label_table, len(weights))
        best = label_scores(hashed, label_parts(heads), len(labels), weights).argmax(axis=1)
        return [labels[number] for number in best.tolist()]
