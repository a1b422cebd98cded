"""The way of the data: a sentence in, a labelled tree and its certificate out.

Each stage is a method of its own, so that a benchmark can time it and a reader can stop at it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nonproj.dual.branch_and_bound import search_trusted
from nonproj.dual.decomposition import decode_trusted
from nonproj.dual.options import RULES, DualOptions, SearchOptions, check_options, check_search
from nonproj.model import Model
from nonproj.options.config import DecodingConfig
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import label_parts, label_scores
from nonproj.scoring.scorer import Scorer, dense_arc_scores
from nonproj.scoring.templates import compile_templates
from nonproj.scoring.vocabulary import Encoder, Tokens
from nonproj.trees.marginals import marginals
from nonproj.trees.pruning import prune
from nonproj.types import ArcSpace, Decoded, PartSpace, Sentence

FULL_WORDS = 160
"""Longer sentences have too many parts, 2 n^3, to be looked at without pruning: here it is 8 million."""

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
        The arcs that the tree was looked for among: those that pruning left, or all.
    pruned : Decoded or None
        What was found among those that pruning left, if the tree was then looked for among all arcs.
    """

    decoded: Decoded
    labels: list[str]
    arcs: ArcSpace
    pruned: Decoded | None = None

    @property
    def changed(self) -> bool:
        """Whether pruning had hidden a better tree."""
        return self.pruned is not None and not np.array_equal(self.pruned.heads, self.decoded.heads)


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
        self.search = check_search(SearchOptions(decoding.search_limit)) if decoding.exact else None
        self.full = decoding.full
        self.threshold = decoding.threshold
        self.units = model.meta.get("scale", {})
        self.encoder = Encoder(model.alphabets)
        attributes = self.encoder.attributes
        self.scorer = Scorer(model.templates, attributes, config.parts)
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
        decoded = [self.decode(*s) for s in scored]
        pruned = [None] * len(sentences)
        if self.full:
            arcs, decoded, pruned = zip(*map(self.widen, tokens, arcs, decoded), strict=True)
        labels = [self.label(t, d.heads) for t, d in zip(tokens, decoded, strict=True)]
        return [Parse(*parse) for parse in zip(decoded, labels, arcs, pruned, strict=True)]

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

    def score(self, tokens: Tokens, arcs: ArcSpace) -> tuple[PartSpace, np.ndarray]:
        """Number the parts over the arcs and score them, float64[P]."""
        weights, scale = self._table("parser")
        parts = part_space(arcs, self.scorer.types)
        return parts, self.scorer.score(self.scorer.features(tokens, parts, len(weights)), weights, scale)

    def _table(self, name: str) -> tuple[np.ndarray, float]:
        """A weight table and its unit."""
        return self.model.weights[name], self.units.get(name, 1.0)

    def decode(self, parts: PartSpace, scores: np.ndarray) -> Decoded:
        """Return the best tree, by dual decomposition and, where that leaves a gap, by branch and bound."""
        if self.search:
            return search_trusted(parts, scores, self.options, self.search)
        return decode_trusted(parts, scores, self.options)

    def widen(self, tokens: Tokens, arcs: ArcSpace, decoded: Decoded) -> tuple[ArcSpace, Decoded, Decoded | None]:
        """Look for the best tree over all arcs, so that its certificate is about the model without pruning.

        Returns
        -------
        arcs : ArcSpace
            All arcs; as they were, if the sentence is longer than ``FULL_WORDS``.
        decoded : Decoded
            The best tree over them.
        pruned : Decoded or None
            What was given, if all arcs were looked at.
        """
        if tokens.n_nodes - 1 > FULL_WORDS:
            return arcs, decoded, None
        everything = full_arc_space(tokens.n_nodes - 1)
        found = self.decode(*self.score(tokens, everything))
        if found.score < decoded.score and not found.certified:
            # The search hit its limit before it saw this tree.
            closed = found.bound - decoded.score <= self.options.tolerance * (1.0 + abs(decoded.score))
            found = found._replace(heads=decoded.heads, score=decoded.score, certified=closed)
        return everything, found, decoded

    def label(self, tokens: Tokens, heads: np.ndarray) -> list[str]:
        """The best label of each arc of a tree."""
        weights, labels = self.model.weights["labeler"], self.model.labels
        hashed = hash_tokens(tokens, self.label_table, len(weights))
        best = label_scores(hashed, label_parts(heads), len(labels), weights).argmax(axis=1)
        return [labels[number] for number in best.tolist()]
