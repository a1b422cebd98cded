"""Training of the two linear models, for token ends and for sentence ends, on a treebank with raw text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import hash_codes
from nonproj.linear.logistic import Options, fit
from nonproj.linear.weights import check_table
from nonproj.options.config import SegmenterConfig
from nonproj.text.characters import KINDS, NEWLINE, WORD_KINDS, characters
from nonproj.text.corpus import RawText, Surface, raw_text
from nonproj.text.layout import MAX_HASHED, Text, lay_out, spans
from nonproj.text.sentences import TokenTable, case_classes, letter_case, score_ends, sentence_examples, token_table
from nonproj.text.tokens import table_shift, token_examples, token_margins, tokenize
from nonproj.types import Int64s, Uint32s

FOLDS = 5
"""Statistics over words are counted on the other folds, because those of a rare word would give its own place away."""

_KNOWN_BITS, _CASE_BITS = 16, 16
_MIN_SHARE, _MIN_SHARE_IN_WORDS = 0.002, 0.05


class Trained:
    """The two models.

    Attributes
    ----------
    candidate : ndarray of shape (KINDS, KINDS), uint8
        The pairs of kinds of characters between which tokens may end.
    known : ndarray, uint8
        How often each string is a token, by hash.
    token_weights, sentence_weights : ndarray, float32
    case : ndarray, uint8
        A class of capitalization for each word, by hash.
    threshold : float
        Minimum score of a sentence end.
    """

    def __init__(self, tables: dict[str, np.ndarray], threshold: float):
        self.candidate, self.known, self.token_weights = (tables[name] for name in ("candidate", "known", "tokens"))
        self.case, self.sentence_weights, self.threshold = tables["case"], tables["sentences"], threshold

    def tokens(self, layout: Text) -> tuple[np.ndarray, np.ndarray]:
        """Return the first characters of the tokens and those behind their last, int64[T] each."""
        return tokenize(layout, self.candidate, self.known, self.token_weights)

    def margins(self, layout: Text, start: np.ndarray, end: np.ndarray, large: float) -> np.ndarray:
        """Return how sure each token is, float32[T]: see `nonproj.text.tokens.token_margins`."""
        return token_margins(layout, (start, end), self.candidate, self.known, self.token_weights, large)

    def scores(self, layout: Text, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends."""
        table = token_table(layout, start, end)
        return score_ends(table, self.case, self.sentence_weights, self.threshold)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the models as JSON values and arrays."""
        tables = {"candidate": self.candidate, "known": self.known, "tokens": self.token_weights}
        tables |= {"case": self.case, "sentences": self.sentence_weights}
        return {"threshold": self.threshold}, tables

    @classmethod
    def from_state(cls, meta: dict[str, Any], tables: dict[str, np.ndarray]) -> Trained:
        """Return the inverse of `state`.

        Raises
        ------
        ModelError
            A table is missing, or has a dtype, shape or values that kernels cannot use.
        """
        threshold = meta.get("threshold")
        if type(threshold) not in (int, float) or not abs(threshold) < 100:
            raise ModelError("the segmenter's threshold is not a number")
        for name in ("known", "case"):
            check_table(tables.get(name), ("uint8",), 8, f"the segmenter's '{name}'", 28)
        for name in ("tokens", "sentences"):
            check_table(tables.get(name), ("float32",), 8, f"the segmenter's '{name}'", 28)
        candidate = tables.get("candidate")
        if candidate is None or candidate.dtype != np.uint8 or candidate.shape != (KINDS, KINDS) or candidate.max() > 1:
            raise ModelError(f"the segmenter's table 'candidate' is not {KINDS} by {KINDS} of 0 and 1")
        return cls(tables, float(threshold))


def train(
    paragraphs: Sequence[list[list[Surface]]], options: SegmenterConfig, seed: int, progress: Callable[..., Any]
) -> Trained:
    """Return models trained on the tokens of each sentence of each paragraph; other parameters as `Segmenter.fit`."""
    bits = options.bits
    plain = _Corpus(raw_text(paragraphs))
    varied = [_Corpus(raw_text(paragraphs, np.random.default_rng(seed + copy))) for copy in range(options.copies)]
    tables = {"candidate": candidates([plain, *varied]), "known": known_tokens(plain)}
    rows, gold = zip(*(corpus.token_examples(tables, bits) for corpus in (plain, *varied)), strict=True)
    steps = (options.epochs, options.learning_rate)
    tables["tokens"] = _fit(rows, gold, bits, steps, seed, progress, "tokens")
    rows, gold, counts = _sentence_examples(paragraphs, options, seed)
    tables["case"] = case_classes(counts)
    tables["sentences"] = _fit(rows, gold, bits + 2, steps, seed, progress, "sentences")
    return Trained(tables, options.threshold)


class _Corpus:
    """A raw text with its layout and gold tokens."""

    def __init__(self, raw: RawText):
        self.raw, self.layout = raw, lay_out(characters(raw.text))
        self.start, self.end = spans(self.layout, raw.token_ends)
        self.sentence_ends = raw.sentence_ends[self.end - 1]

    def token_examples(self, tables: dict[str, Any], bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features and gold decisions of all places where tokens may end."""
        return token_examples(self.layout, self.raw.token_ends, tables["candidate"], tables["known"], bits)

    def table(self) -> TokenTable:
        """Return the table of the gold tokens."""
        return token_table(self.layout, self.start, self.end)

    def sentence_examples(self, case: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features and gold decisions of all places where sentences may end."""
        return sentence_examples(self.table(), self.sentence_ends, case, bits)


def candidates(corpora: Sequence[_Corpus]) -> np.ndarray:
    """Return the pairs of kinds that tokens separate in a share of all cases: uint8.

    Of those that do not occur, all but letters and digits.
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
    return (unseen | (separated > least * pairs)).astype(np.uint8)


def known_tokens(corpus: _Corpus) -> np.ndarray:
    """Return how often each string is a token, by hash, uint8 (at most 255)."""
    counts = np.zeros(1 << _KNOWN_BITS, np.int64)
    _count_tokens(corpus.layout.lower, corpus.start, corpus.end, counts)
    return np.minimum(counts, 255).astype(np.uint8)


@kernel
def _count_tokens(codes: Uint32s, start: Int64s, end: Int64s, counts: Int64s) -> None:
    """Count the tokens by hash."""
    shift = np.uint32(table_shift(len(counts)))
    for t in range(len(start)):
        counts[hash_codes(codes, start[t], end[t], MAX_HASHED) >> shift] += 1


def _sentence_examples(paragraphs, options: SegmenterConfig, seed: int):
    """Return features, gold decisions and the counts of `letter_case`, from text as it is and varied."""
    bounds = np.linspace(0, len(paragraphs), min(FOLDS, len(paragraphs)) + 1).astype(int).tolist()
    folds = [paragraphs[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    plain = [_Corpus(raw_text(fold)) for fold in folds]
    counts = [letter_case(fold.table(), fold.sentence_ends, 1 << _CASE_BITS) for fold in plain]
    everything, rows, gold = sum(counts), [], []
    for index, fold in enumerate(folds):
        others = everything - counts[index] if len(folds) > 1 else everything
        case = case_classes(others)
        for copy in range(options.copies + 1):
            corpus = _Corpus(raw_text(fold, np.random.default_rng(seed + copy))) if copy else plain[index]
            more_rows, more_gold = corpus.sentence_examples(case, options.bits + 2)
            rows.append(more_rows)
            gold.append(more_gold)
    return rows, gold, everything


def _fit(
    rows, gold, bits: int, steps: tuple[int, float], seed: int, progress: Callable[..., Any], name: str
) -> np.ndarray:
    options = Options(bits, *steps)
    return fit(np.concatenate(rows), np.concatenate(gold), options, seed, lambda loop: progress(loop, name))
