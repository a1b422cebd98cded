"""Parsing, stage by stage: a sentence in, a labelled tree and its certificate out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nonproj.dual.branch_and_bound import search_trusted
from nonproj.dual.decomposition import decode_trusted
from nonproj.dual.options import RULES, DualOptions, SearchOptions, check_options, check_search
from nonproj.errors import DataError, ModelError, SizeError
from nonproj.model import Model
from nonproj.options.config import DecodingConfig
from nonproj.parts.arcs import check_count, full_arc_space
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
"""Longer sentences have too many parts, 2 n^3, to be parsed without pruning: this length has 8 million."""

FULL_EFFORT = 100
"""How many times the search limit decoding over all arcs may use: there are that many more transitions."""

BATCH = 64
"""Sentences that pass each stage together, so that the stage finds its weights in the cache."""


class Parse(NamedTuple):
    """A parsed sentence.

    Attributes
    ----------
    decoded : Decoded
        The tree and its certificate, which is about ``arcs``.
    labels : list of str
        The label of each word's arc, n strings.
    arcs : ArcSpace
        The candidate arcs: those that pruning left, or all.
    pruned : Decoded or None
        The best tree over the arcs that pruning left, if the tree was then decoded over all arcs.
    """

    decoded: Decoded
    labels: list[str]
    arcs: ArcSpace
    pruned: Decoded | None = None

    @property
    def changed(self) -> bool:
        """Whether pruning had hidden this tree."""
        return self.pruned is not None and not np.array_equal(self.pruned.heads, self.decoded.heads)


def dual_options(decoding: DecodingConfig, single_root: bool, projective: bool = False) -> DualOptions:
    """Return the options of the decoder; ``single_root`` and ``projective`` are the values of "auto"."""
    return DualOptions(
        max_iterations=decoding.max_iterations,
        beta=decoding.beta,
        tau=decoding.tau,
        single_root=single_root if decoding.single_root == "auto" else bool(decoding.single_root),
        projective=projective if decoding.projective == "auto" else bool(decoding.projective),
        tolerance=decoding.tolerance,
        rule=RULES.index(decoding.step),
    )


class Parser:
    """Parses sentences with a trained model.

    Parameters
    ----------
    model : Model
    decoding : DecodingConfig, optional
        By default the model's.

    Examples
    --------
    >>> parser = Parser(Model.load("danish.nonproj"))  # doctest: +SKIP
    >>> parser.parse(sentence).decoded.heads  # doctest: +SKIP
    """

    def __init__(self, model: Model, decoding: DecodingConfig | None = None):
        if "parser" not in model.weights:
            raise ModelError("a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
        config = model.config
        self.model = model
        decoding = decoding or config.decoding
        single_root, projective = not model.meta.get("multi_root", True), bool(model.meta.get("projective", False))
        self.options = check_options(dual_options(decoding, single_root, projective))
        self.search = check_search(SearchOptions(decoding.search_limit)) if decoding.exact else None
        self.full = decoding.full
        self.threshold, self.max_words = decoding.threshold, decoding.max_words
        self.scale = model.meta.get("scale", {})
        self.encoder = Encoder(model.vocabularies)
        attributes = self.encoder.attributes
        self.scorer = Scorer(model.templates, attributes, config.parts)
        self.pruner_table = compile_templates(model.templates["pruner"], attributes)
        self.label_table = compile_templates(model.templates["label"], attributes)

    def parse(self, sentence: Sentence) -> Parse:
        """Parse one sentence, whose gold heads and labels are ignored.

        Raises `DataError` if it is longer than ``decoding.max_words``, or takes more memory than there is.
        """
        check_length(sentence, self.max_words)
        try:
            return self._parse_batch([sentence])[0]
        except (MemoryError, SizeError) as error:
            reason = error if isinstance(error, SizeError) else "there is not enough memory; split it"
            raise DataError(sentence.path, sentence.line, f"a sentence of {len(sentence)} words: {reason}") from None

    def parse_all(self, sentences: Iterable[Sentence], batch: int = BATCH) -> Iterator[tuple[Sentence, Parse]]:
        """Parse a stream of sentences in constant memory.

        Parameters
        ----------
        sentences : iterable of Sentence
        batch : int
            Sentences taken from the stream at a time; with 1, each is parsed before the next is read.
        """
        stream = iter(sentences)
        while group := list(itertools.islice(stream, batch)):
            yield from zip(group, self._parse_group(group), strict=True)

    def _parse_group(self, sentences: list[Sentence]) -> Iterable[Parse]:
        """Parse sentences together, or one by one up to the first that is too large."""
        if max(map(len, sentences)) <= self.max_words:
            with contextlib.suppress(MemoryError, SizeError):
                return self._parse_batch(sentences)
        return map(self.parse, sentences)

    def _parse_batch(self, sentences: list[Sentence]) -> list[Parse]:
        """Parse sentences stage by stage."""
        tokens = [self.encode(sentence) for sentence in sentences]
        arcs = [self.prune(t) for t in tokens]
        scored, count = [], 0
        for t, a in zip(tokens, arcs, strict=True):
            scored.append(self.score(t, a))
            count += len(scored[-1][1])
            check_count(count, "parts of a batch", t.n_nodes - 1)
        decoded = [self.decode(*s) for s in scored]
        pruned = [None] * len(sentences)
        if self.full:
            arcs, decoded, pruned = zip(*map(self.widen, tokens, arcs, decoded), strict=True)
        labels = [self.label(t, d.heads) for t, d in zip(tokens, decoded, strict=True)]
        return [Parse(*parse) for parse in zip(decoded, labels, arcs, pruned, strict=True)]

    def encode(self, sentence: Sentence) -> Tokens:
        """Turn strings into integers."""
        return self.encoder.encode(sentence)

    def prune(self, tokens: Tokens) -> ArcSpace:
        """Return the candidate arcs, by the marginals of the first-order model."""
        weights, scale = self._table("pruner")
        scores = dense_arc_scores(tokens, self.pruner_table, weights, scale)
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
        """Return a weight table and its scale."""
        return self.model.weights[name], self.scale.get(name, 1.0)

    def decode(self, parts: PartSpace, scores: np.ndarray, search: SearchOptions | None = None) -> Decoded:
        """Return the best tree, by dual decomposition and, where that leaves a gap, by branch and bound.

        ``search`` overrides the limits of the search.
        """
        if self.search:
            return search_trusted(parts, scores, self.options, search or self.search)
        return decode_trusted(parts, scores, self.options)

    def widen(self, tokens: Tokens, arcs: ArcSpace, decoded: Decoded) -> tuple[ArcSpace, Decoded, Decoded | None]:
        """Return the best tree over all arcs, whose certificate is about the model without pruning.

        Returns
        -------
        arcs : ArcSpace
            All arcs; the given ones if the sentence is longer than ``FULL_WORDS``.
        decoded : Decoded
            The best tree over them.
        pruned : Decoded or None
            The given tree, if all arcs were used.
        """
        if tokens.n_nodes - 1 > FULL_WORDS:
            return arcs, decoded, None
        everything = full_arc_space(tokens.n_nodes - 1)
        limit = self.search and self.search._replace(
            transitions_per_word=FULL_EFFORT * self.search.transitions_per_word
        )
        found = self.decode(*self.score(tokens, everything), limit)
        if found.score < decoded.score and not found.certified:
            # The search reached its limit before it found this tree.
            closed = found.bound - decoded.score <= self.options.tolerance * (1.0 + abs(decoded.score))
            found = found._replace(heads=decoded.heads, score=decoded.score, certified=closed)
        return everything, found, decoded

    def label(self, tokens: Tokens, heads: np.ndarray) -> list[str]:
        """Return the best label of each arc of a tree."""
        weights, labels = self.model.weights["labeler"], self.model.labels
        hashed = hash_tokens(tokens, self.label_table, len(weights))
        best = label_scores(hashed, label_parts(heads), len(labels), weights).argmax(axis=1)
        return [labels[number] for number in best.tolist()]


def check_length(sentence: Sentence, max_words: int) -> None:
    """Raise `DataError` if a sentence has too many words: time and memory grow with their square at least."""
    if len(sentence) > max_words:
        text = f"a sentence of {len(sentence)} words; decoding.max_words is {max_words}: split it, or raise the limit"
        raise DataError(sentence.path, sentence.line, text)
