"""Training of the linear models of tokens, of words of several units and of sentences, on a treebank with raw text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.linear.concatenation import concatenated_columns
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.state import Schema
from nonproj.linear.streams import Stream, generator
from nonproj.linear.weights import check_table
from nonproj.options.sections import SegmenterConfig
from nonproj.text import sentence_features
from nonproj.text.alternatives import Alternatives
from nonproj.text.characters import IDEOGRAPH, KINDS, LETTER, LETTERS, LOWER, NEWLINE, UPPER, WORD_KINDS
from nonproj.text.corpus import SurfaceToken, raw_text
from nonproj.text.layout import Text
from nonproj.text.sentence_network import NETWORK, check_network
from nonproj.text.sentence_training import COPIES, LEARNING_RATE, learn_sentences
from nonproj.text.sentences import SentenceModel, alternatives, score_ends
from nonproj.text.token_table import PADDING, TokenTable, token_table
from nonproj.text.tokens import (
    ALWAYS,
    N_FEATURES,
    N_OF_CLASSES,
    NEVER,
    SOMETIMES,
    TokenModel,
    TokenSpans,
    token_examples,
    tokenize,
)
from nonproj.text.training_text import TrainingText, folds_of
from nonproj.text.usage import Usage
from nonproj.text.words import count_words, join_units, open_places, score_joins, word_examples, word_log_odds

_KNOWN_BITS, _LEXICON_BITS = 16, 20
_MIN_SHARE, _MIN_SHARE_IN_WORDS = 0.002, 0.2
"""Share of the places between two kinds of characters where tokens end, above which the model decides.  Between letters
and digits it is higher: these places are rare, and few of them would teach the model to cut unknown codes."""

_MIN_SHARE_OF_LETTERS, _ENDS_OF_LETTERS = 0.01, 20
"""The share for boundaries between two letters, and their minimum count in the text and its varied copy: a treebank
whose tokens are parts of words, such as the web treebank of Turkish, ends them at 5 % of the places between two small
letters, others at 0.1 % at most."""


_TABLES = {"known": ("uint8", 1), "tokens": ("float32", 1), **dict.fromkeys(Usage._fields, ("uint8", 1))}
_TABLES |= {"sentences": ("float32", 1)}
_OF_WORDS = {"lexicon": ("uint8", 1), "words": ("float32", 1)}
"""The tables of words, in models where words may contain several units."""

_ARRAYS = ("candidate", *_TABLES, *_OF_WORDS, *NETWORK)

_TEMPLATES = N_FEATURES + sentence_features.N_FEATURES
"""Number of templates of tokens and of sentences, by which models of other versions are recognised."""

_LEAST_PAIRS, _MIN_SEPARATED = 1000, 0.1
"""A text has no blanks between words if it has this number of pairs of letters, and this share of them is separated."""


class TextModels:
    """The models that segment a text.

    Attributes
    ----------
    token_model : TokenModel
        Model that decides where tokens end.
    sentence_model : SentenceModel
        Model that decides where sentences end.
    words : tuple of two ndarrays, or None
        Counts of words, uint8, by hash, and weights, float32; None where every unit is a word: see
        `nonproj.text.words`.
    blanks : bool
        Whether words may contain blanks.
    """

    schema: ClassVar[Schema] = Schema(
        {"threshold": (int, float), "blanks": bool, "templates": int},
        {"candidate": ("uint8", f"{KINDS} {KINDS}"), **_TABLES},
        [Schema({}, _OF_WORDS), Schema({}, NETWORK)],
    )

    def __init__(self, tables: dict[str, np.ndarray], blanks: bool, threshold: float):
        self._tables = tables
        self.token_model = TokenModel(tables["candidate"], tables["known"], tables["tokens"])
        self.words = (tables["lexicon"], tables["words"]) if "words" in tables else None
        self.blanks = blanks
        usage = Usage(tables["case"], tables["tag"], tables["suffix"])
        self.sentence_model = SentenceModel(usage, tables["sentences"], threshold, check_network(tables))

    def tokens(self, layout: Text) -> TokenSpans:
        """Return the tokens of a text."""
        units = tokenize(layout, self.token_model)
        if self.words is None:
            return units
        table = TokenTable(*token_table(layout, units.start, units.end))
        allowed = open_places(table, self.token_model.candidate, self.blanks)
        scores = score_joins(table, allowed, *self.words)
        first, last = join_units(units.start, units.end, scores)
        return TokenSpans(units.start[first], units.end[last], word_log_odds(units.log_odds, first, scores))

    def scores(self, layout: Text, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends."""
        return score_ends(TokenTable(*token_table(layout, start, end)), self.sentence_model)

    def alternatives(self, layout: Text, start: np.ndarray, end: np.ndarray) -> Alternatives:
        """Return the spans of tokens that may be sentences."""
        return alternatives(TokenTable(*token_table(layout, start, end)), self.sentence_model)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the models as JSON values and arrays."""
        tables = {name: self._tables[name] for name in _ARRAYS if name in self._tables}
        return {"threshold": self.sentence_model.threshold, "blanks": self.blanks, "templates": _TEMPLATES}, tables

    @classmethod
    def from_state(cls, meta: dict[str, Any], tables: dict[str, np.ndarray]) -> TextModels:
        """Return the models that `state` describes.

        Raises
        ------
        ModelError
            A table has a size or values that kernels cannot use.
        """
        if not abs(meta["threshold"]) < 100:
            raise ModelError("the segmenter's threshold is not a number below 100")
        for name in (*_TABLES, *(_OF_WORDS if "words" in tables else ())):
            check_table(tables[name], (tables[name].dtype.name,), 8, f"the segmenter's '{name}'", 28)
        if tables["candidate"].max() > 2:
            raise ModelError("the segmenter's table 'candidate' has other numbers than 0, 1 and 2")
        if meta["templates"] != _TEMPLATES:
            found = f"the segmenter has {meta['templates']} templates"
            raise ModelError(f"{found}, {_TEMPLATES} expected; train the model again")
        return cls(tables, meta["blanks"], float(meta["threshold"]))


def train(
    paragraphs: Sequence[list[list[SurfaceToken]]], options: SegmenterConfig, seed: int, progress: Callable[..., Any]
) -> TextModels:
    """Return models trained on the tokens of each sentence of each paragraph; other parameters as `Segmenter.fit`."""
    plain = TrainingText(raw_text(paragraphs))
    chances = (generator(seed, Stream.VARIED_TEXT, copy) for copy in range(COPIES))
    texts = [plain, *(TrainingText(raw_text(paragraphs, chance)) for chance in chances)]
    candidate = possible_ends(texts)
    for text in texts:
        text.divide(candidate)

    def learn(examples: list[tuple[np.ndarray, np.ndarray]], stream: Stream, name: str, first: int = 0) -> np.ndarray:
        """Return weights learnt from features and gold decisions."""
        rows, gold = concatenated_columns(examples)
        steps = LogisticOptions(options.bits, options.epochs, LEARNING_RATE, first)
        return fit(rows, gold, steps, generator(seed, stream), lambda loop: progress(loop, name))

    known, blanks = known_tokens(plain), plain.has_words_with_blanks()
    found = [token_examples(text.layout, text.raw.token_ends, candidate, known, options.bits) for text in texts]
    tables = {"candidate": candidate, "known": known, "tokens": learn(found, Stream.TOKENS, "tokens", N_OF_CLASSES)}
    if blanks or (candidate == ALWAYS).any():
        found, counts = _word_examples(paragraphs, candidate, blanks, options.bits)
        tables["lexicon"] = np.minimum(counts, 255).astype(np.uint8)
        tables["words"] = learn(found, Stream.WORDS, "words")
    tables |= learn_sentences(paragraphs, candidate, options, seed, progress)
    return TextModels(tables, blanks, 0.0)


def possible_ends(corpora: Sequence[TrainingText]) -> np.ndarray:
    """Return whether tokens end between two kinds, uint8[KINDS, KINDS]: see `nonproj.text.tokens.TokenModel`.

    They may if they do in a minimum share of all cases, or if the kinds never meet and are not both kinds of words.  In
    text without blanks, letters are always separated.
    """
    pairs, separated = np.zeros((KINDS, KINDS), np.int64), np.zeros((KINDS, KINDS), np.int64)
    for corpus in corpora:
        left, right = corpus.layout.kind[:-1], corpus.layout.kind[1:]
        inside = (left > NEWLINE) & (right > NEWLINE)
        np.add.at(pairs, (left[inside], right[inside]), 1)
        inside &= corpus.raw.token_ends[:-1]
        np.add.at(separated, (left[inside], right[inside]), 1)
    word = np.isin(np.arange(KINDS), WORD_KINDS)
    unseen = (pairs == 0) & ~(word[:, None] & word)
    least = np.where(word[:, None] & word, _MIN_SHARE_IN_WORDS, _MIN_SHARE)
    letter = np.isin(np.arange(KINDS), LETTERS)
    least[letter[:, None] & letter & (separated >= _ENDS_OF_LETTERS)] = _MIN_SHARE_OF_LETTERS
    found = np.where(unseen | (separated > least * pairs), np.uint8(SOMETIMES), np.uint8(NEVER))
    alike = [kind for kind in (LOWER, LETTER, IDEOGRAPH) if pairs[kind, kind] >= _LEAST_PAIRS]
    alike = [kind for kind in alike if separated[kind, kind] > _MIN_SEPARATED * pairs[kind, kind]]
    if alike:
        letters = [*alike, *([UPPER] if LOWER in alike else [])]
        found[np.ix_(letters, letters)] = ALWAYS
    return found


def known_tokens(corpus: TrainingText) -> np.ndarray:
    """Return the number of different chunks in which each string is a unit, by hash, uint8 (at most 255)."""
    layout, units = corpus.layout, corpus.unit_table().word[PADDING:-PADDING]
    chunks = layout.chunk[np.searchsorted(layout.start, corpus.units[0], side="right") - 1]
    pairs = np.unique(np.stack([chunks, units]), axis=1)
    counts = np.bincount(pairs[1] >> (32 - _KNOWN_BITS), minlength=1 << _KNOWN_BITS)
    return np.minimum(counts, 255).astype(np.uint8)


def _word_examples(
    paragraphs: Sequence[list[list[SurfaceToken]]], candidate: np.ndarray, blanks: bool, bits: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return features and gold decisions of each fold, and the counts of words, from unvaried text."""
    folds = [TrainingText(raw_text(fold), candidate) for fold in folds_of(paragraphs)]
    counts = [count_words(fold.unit_table(), fold.joins, 1 << _LEXICON_BITS) for fold in folds]
    everything, examples = np.sum(counts, axis=0), []
    for fold, own in zip(folds, counts, strict=True):
        units, lexicon = fold.unit_table(), np.minimum(everything - own, 255).astype(np.uint8)
        examples.append(word_examples(units, fold.joins, open_places(units, candidate, blanks), lexicon, bits))
    return examples, everything
