"""Segmentation of plain text into sentences, tokens and words, by the conventions of a treebank.

Where a treebank has raw text, models trained on it (`nonproj.text.training`) find tokens and sentences; elsewhere rules
do (`nonproj.text.rules`).  Multiword tokens are expanded by `nonproj.text.multiword` in both cases.
"""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.io.strings import NAME, check_strings
from nonproj.linear.state import Fitted, Schema
from nonproj.linear.weights import check_table
from nonproj.options.sections import SegmenterConfig
from nonproj.text import corpus
from nonproj.text.alternatives import decide_by_trees
from nonproj.text.entities import decoded
from nonproj.text.formats import GIVEN_WORDS, LINES, RUNNING, TOKENS, WORDS, TextInput, TextPiece
from nonproj.text.languages import Language, languages, recognised
from nonproj.text.layout import BROKEN, ONE_BLANK, PARAGRAPH, WRAPPED, Text, lay_out, spans
from nonproj.text.lexicon import UserLexicon, with_tokens
from nonproj.text.multiword import Multiwords, obey_words
from nonproj.text.multiword_model import BITS
from nonproj.text.output import CERTAIN, Segments, boundary_margins, single_blanks, to_sentences
from nonproj.text.rules import UnicodeRules
from nonproj.text.tokens import TokenSpans
from nonproj.text.training import TextModels, train
from nonproj.types import Float64s, Sentence

TreeScores: TypeAlias = Callable[[Iterable[Sentence]], Float64s]
"""Function that returns the score of the best tree of each sentence, minus infinity where there is none."""


class Segmenter(Fitted):
    """Finds the sentences, tokens and words of a text; `fit` or `unicode` makes one.

    Attributes
    ----------
    description : str
        Description of the trained model, or of the rules in use.
    finder : TextModels or UnicodeRules
        Model or rules that find tokens and sentences.
    multiwords : Multiwords
        Model that expands multiword tokens.
    with_margins : bool
        Whether sentences have the log-odds of their words and ends (`nonproj.types.Sentence.boundary_margins`).
    lexicon : UserLexicon, or None
        The user's lexicon, which takes precedence over models and rules.
    tree_scores : callable, or None
        Returns the score of the best tree of each sentence, float64; minus infinity where there is none.  Trees then
        decide between the uncertain sentences of running text: see `nonproj.text.alternatives`.

    Examples
    --------
    >>> [sentence.forms for sentence in Segmenter.unicode().segment("Det regner. Hvor?")]
    [['Det', 'regner', '.'], ['Hvor', '?']]
    """

    name: ClassVar[str] = "segmenter"
    schema: ClassVar[Schema] = Schema(
        {"description": str, "multiwords": Multiwords.schema, "kind": str},
        {"multiwords": ("float32", 1)},
        [TextModels.schema, UnicodeRules.schema],
    )

    def __init__(self, finder: TextModels | UnicodeRules, multiwords: Multiwords, description: str):
        self.finder, self.multiwords, self.description = finder, multiwords, description
        self.with_margins = False
        self.lexicon: UserLexicon | None = None
        self.tree_scores: TreeScores | None = None

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sentence],
        options: SegmenterConfig | None = None,
        seed: int = 0,
        progress: Callable[..., Any] | None = None,
    ) -> Segmenter:
        """Learn a segmenter from a treebank.

        The text of the treebank is restored from ``SpaceAfter=No``, ``# newpar`` and ``# newdoc``.  A treebank without
        ``SpaceAfter=No`` and ``# text`` gets rules over Unicode's characters, which keep the treebank's own tokens
        whole, with the abbreviations and patterns of its language, if that is recognised or named in the options.

        Parameters
        ----------
        sentences : sequence of Sentence
        options : SegmenterConfig, optional
        seed : int
        progress : callable, optional
            ``progress(iterable, description)`` wraps the loops over epochs.

        Raises
        ------
        ConfigError
            There are no rules for the language that the options name.
        """
        options = options or SegmenterConfig()
        paragraphs = corpus.paragraphs(sentences)
        multiwords = Multiwords.fit(paragraphs, seed)
        if corpus.has_raw_text(sentences):
            n = sum(len(paragraph) for paragraph in paragraphs)
            finder = train(paragraphs, options, seed, progress or (lambda loop, _: loop))
            return cls(finder, multiwords, f"trained on {n:,} sentences of raw text")
        rules = UnicodeRules.of(sentences, _language(options.language, sentences))
        return cls(rules, multiwords, f"{_described(rules)} (the treebank has no raw text)")

    @classmethod
    def unicode(cls) -> Segmenter:
        """Return a segmenter by rules over Unicode's characters, without any training."""
        return cls(UnicodeRules(), Multiwords.fit([]), _described(UnicodeRules()))

    def using(
        self, with_margins: bool = False, tree_scores: TreeScores | None = None, lexicon: UserLexicon | None = None
    ) -> Segmenter:
        """Return a segmenter of the same models, with or without log-odds, scores of trees and a user's lexicon."""
        found = copy.copy(self)
        found.with_margins, found.tree_scores, found.lexicon = with_margins, tree_scores, lexicon
        return found

    def segment(self, text: str, options: TextInput | None = None) -> list[Sentence]:
        """Return the sentences of a text of one paragraph or more, as one document.

        A text of blanks and control characters alone has no sentences.

        Raises
        ------
        DataError
            The text has half of a surrogate pair.
        """
        return self.sentences(TextPiece(text), options or TextInput())

    def sentences(self, piece: TextPiece, options: TextInput, number: int = 1) -> list[Sentence]:
        """Return the sentences of a part of a document.

        They are numbered from ``number`` on; `nonproj.text.output.renumber` can change the numbers later.
        """
        text = piece.text
        plain, place = decoded(text) if "&" in text else (text, None)
        layout = lay_out(plain, piece.path)
        if not len(layout.start):
            return []
        changed = options.breaks or options.format == TOKENS
        bounded = _bounded(layout, options.breaks) if changed else layout
        if self.lexicon is not None:
            lines = _bounded(layout, breaks=True) if options.format not in RUNNING else bounded
            whole = with_tokens(bounded, self.lexicon.matches(plain, lines))
            bounded = bounded._replace(decided=whole.decided) if options.format in GIVEN_WORDS else whole
        tokens, scores = self._find(plain, bounded, options)
        start, end, log_odds = tokens
        firsts = layout.start[1:][layout.blanks[:-1] == PARAGRAPH]  # where all paragraphs but the first begin
        paragraphs = {*np.searchsorted(start, firsts).tolist(), *([0] if piece.begins else [])}
        places = (start, end) if place is None else (place[start], place[end])
        begin, stop = places[0].tolist(), places[1].tolist()
        written = forms = list(map(text.__getitem__, map(slice, begin, stop)))
        if self.lexicon is not None or (isinstance(self.finder, TextModels) and self.finder.blanks):
            forms = [single_blanks(form) for form in forms]
        if not unicodedata.is_normalized("NFC", text):
            forms = [unicodedata.normalize("NFC", form) for form in forms]
        readable = forms if plain == text else [decoded(form)[0] for form in forms]
        words, doubts = self.multiwords.expand(readable) if options.format not in GIVEN_WORDS else ({}, {})
        if self.lexicon is not None and options.format not in GIVEN_WORDS:
            obey_words(self.lexicon, readable, words, doubts)
        if self.tree_scores is not None and options.format in RUNNING and isinstance(self.finder, TextModels):
            stretches = self.finder.alternatives(bounded, start, end)
            words_of = [words.get(token) or (form,) for token, form in enumerate(forms)]
            decide_by_trees(scores, stretches, words_of, options.max_words, self.tree_scores)
        sizes = np.ones(len(forms), np.int64)
        for token, expansion in words.items():
            sizes[token] = len(expansion)
        ends = _limited(scores, sizes, options.max_words)
        margins = None
        if self.with_margins and options.format not in GIVEN_WORDS:
            for token, score in doubts.items():
                log_odds[token] = min(log_odds[token], abs(score))
            certain = np.where(scores > 0, np.float32(CERTAIN), np.float32(-CERTAIN))
            margins = boundary_margins(log_odds, certain if options.format == LINES else scores, sizes, ends)
        segments = Segments(piece, begin, stop, written, forms, ends, paragraphs, words)
        return to_sentences(segments, options.ranges, number, margins)

    def _find(self, text: str, layout: Text, options: TextInput) -> tuple[TokenSpans, np.ndarray]:
        """Return tokens and the scores of sentence ends after them."""
        if options.format in GIVEN_WORDS:
            tokens = _certain(layout.start, layout.end)
        elif isinstance(self.finder, TextModels):
            # no word continues on the next line, and lines are no context for each other
            tokens = self.finder.tokens(_bounded(layout, breaks=True) if options.format == LINES else layout)
        else:
            tokens = _certain(*spans(layout, self.finder.token_ends(text, layout)))
        if options.format == WORDS:
            scores = np.full(len(tokens.start), np.float32(-1.0))
        elif isinstance(self.finder, TextModels):
            scores = self.finder.scores(layout, tokens.start, tokens.end)
        else:
            scores = self.finder.scores(text, layout, tokens.start, tokens.end)
        if options.format not in RUNNING:
            scores = np.minimum(scores, np.float32(-1e-3)) - np.float32(0.0)
            line_ends = layout.end[np.append(layout.blanks[:-1] >= WRAPPED, True)]
            scores[np.searchsorted(tokens.end, line_ends)] = np.inf
        return tokens, scores

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the segmenter as JSON values and arrays."""
        meta = {"description": self.description, "multiwords": self.multiwords.state()}
        arrays = {"multiwords": self.multiwords.weights}
        if isinstance(self.finder, TextModels):
            more, tables = self.finder.state()
            return meta | {"kind": "trained"} | more, arrays | tables
        return meta | {"kind": "unicode"} | self.finder.state(), arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Segmenter:
        """Return the segmenter that `state` describes.

        Raises
        ------
        ModelError
            The values are not those of a segmenter; kernels rely on these checks.
        """
        check_strings([meta["description"]], NAME, "the segmenter's description")
        bits = BITS if meta["multiwords"]["entries"] else 0
        weights = check_table(arrays["multiwords"], ("float32",), bits, "the segmenter's 'multiwords'", bits)
        multiwords = Multiwords.from_state(meta["multiwords"], weights)
        if meta["kind"] == "trained" and "tokens" in arrays:
            return cls(TextModels.from_state(meta, arrays), multiwords, meta["description"])
        if meta["kind"] == "unicode" and "lexicon" in meta:
            return cls(UnicodeRules.from_state(meta), multiwords, meta["description"])
        raise ModelError("the segmenter is of an unknown kind, or has the values of another kind")


def _bounded(layout: Text, breaks: bool) -> Text:
    """Return a layout in which line breaks end paragraphs if ``breaks``, and otherwise count as blanks."""
    kind = np.uint8(PARAGRAPH if breaks else ONE_BLANK)
    return layout._replace(blanks=np.where((layout.blanks == WRAPPED) | (layout.blanks == BROKEN), kind, layout.blanks))


def _language(code: str | None, sentences: Sequence[Sentence]) -> Language | None:
    """Return the rules for the language that an option names, or for the treebank's."""
    if code == "auto":
        return recognised(form for sentence in sentences for form in sentence.forms)
    if code is not None and code not in languages():
        raise ConfigError("segmenter.language", f"{code} is invalid, null, auto, {', '.join(languages())} expected")
    return languages()[code] if code else None


def _described(rules: UnicodeRules) -> str:
    """Return a description of rules."""
    return f"rules for {rules.language.name}" if rules.language.name else "rules over Unicode's characters"


def _certain(start: np.ndarray, end: np.ndarray) -> TokenSpans:
    """Return the spans of tokens that are certain."""
    return TokenSpans(start, end, np.full(len(start), np.inf, np.float32))


def _limited(scores: np.ndarray, sizes: np.ndarray, limit: int) -> list[int]:
    """Return for each sentence the number of tokens up to its end; sentences over the limit are cut at the best score.

    ``sizes`` are the numbers of words of the tokens.  A cut is in the second half of the words allowed, so that pieces
    are not short.
    """
    ends = (np.flatnonzero(scores > 0) + 1).tolist()
    total = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=total[1:])
    if np.diff(total[[0, *ends]]).max(initial=0) <= limit:
        return ends
    found, first = [], 0
    for end in ends:
        while total[end] - total[first] > limit:
            last = int(np.searchsorted(total, total[first] + limit, side="right")) - 1
            middle = int(np.searchsorted(total, total[first] + limit // 2, side="left"))
            low, last = min(max(middle, first + 1), max(last, first + 1)), max(last, first + 1)
            window = scores[low - 1 : last]
            first = low + len(window) - 1 - int(np.argmax(window[::-1]))
            found.append(first)
        if end > first:
            found.append(end)
            first = end
    return found
