"""Requests: the options of decoding, with the model's values in place of ``auto``."""

from __future__ import annotations

from dataclasses import dataclass

from nonproj.automata.compiled import is_third_order
from nonproj.dual.options import DualOptions, SearchOptions, check_options, check_search, dual_options
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.registry import part_set
from nonproj.text.lexicon import UserLexicon

THIRD_EFFORT = 10
"""Factor on the search limit with third-order parts."""

TAGS = ("missing", "all", "none")
"""Values of ``tags``: which tags the tagger predicts."""


@dataclass(frozen=True, slots=True)
class Request:
    """Options of one call; `nonproj.options.sections.DecodingConfig` describes the options.

    Attributes
    ----------
    tags : {"missing", "all", "none"}
        Tags, features and lemmas that are predicted.
    options : DualOptions
    search : SearchOptions
        The limits of the search.
    crossing : float
        Factor on the costs of crossed arcs.
    threshold : float
        Minimum marginal of a candidate arc, relative to the word's best head.
    nbest : int
        Number of trees per sentence.
    full : bool
        Whether to decode over all arcs.
    constraints : str
        One of `nonproj.io.constraints.SOURCES`.
    confidence : bool
        Whether to estimate confidence, if the model has a classifier.
    graphs : bool
        Whether each parse has an enhanced graph, if the model has learnt them.
    proofs : bool
        Whether each parse has a proof.
    encoder : bool
        Whether to use the pretrained encoder, if the model has one.
    by_trees : bool
        Whether the segmenter decides between uncertain sentences by the scores of their trees.
    max_words, cut_words : int
        Maximum sentence length: longer sentences are an error, longer runs of plain text are split.
    lexicon : UserLexicon or None
        The user's lexicon, which segmenter, tagger and lemmatizer obey.
    """

    tags: str
    options: DualOptions
    search: SearchOptions
    crossing: float
    threshold: float
    nbest: int
    full: bool
    constraints: str
    confidence: bool
    graphs: bool
    proofs: bool
    encoder: bool
    by_trees: bool
    max_words: int
    cut_words: int
    lexicon: UserLexicon | None = None


def request_of(model: Model, decoding: DecodingConfig, tags: str = "missing", proofs: bool = False) -> Request:
    """Return the request for parsing with a model under its options.

    Raises
    ------
    ValueError
        ``tags`` is none of `TAGS`.
    """
    if tags not in TAGS:
        raise ValueError(f"tags is {tags!r}, one of {', '.join(TAGS)} expected")
    single_root, projective = not model.meta.get("multi_root", True), bool(model.meta.get("projective", False))
    options = check_options(dual_options(decoding, single_root, projective))
    effort = THIRD_EFFORT if is_third_order(part_set(model.config.parts)) else 1
    by_trees, crossing = decoding.sentences_by_trees, 1.0 if decoding.crossing == "auto" else float(decoding.crossing)
    return Request(
        tags=tags,
        options=options,
        search=check_search(SearchOptions(effort * decoding.search_limit, search=decoding.exact)),
        crossing=0.0 if options.projective else crossing,
        threshold=decoding.threshold,
        nbest=decoding.nbest,
        full=decoding.full,
        constraints=decoding.constraints,
        confidence=decoding.confidence,
        graphs=decoding.graphs,
        proofs=proofs,
        encoder=True,
        by_trees=model.meta.get("unpunctuated", False) if by_trees == "auto" else bool(by_trees),
        max_words=decoding.max_words,
        cut_words=decoding.cut_words,
    )
