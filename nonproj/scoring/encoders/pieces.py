"""Words as numbers of pieces, cut by a Hugging Face tokenizer (tokenizer.json).

Each word is cut by itself, as with ``is_split_into_words``.  Words are text: those that look like a special piece,
such as ``<s>``, are cut like any other, because special pieces have names here that no text produces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import DependencyError, ModelError, needs
from nonproj.scoring.encoders.tokenizer import parse, special_names, special_pieces, steps

_MOST_WORDS = 1 << 16
"""The maximum number of words whose pieces are cached."""

_BEFORE = " "
"""The first character of special pieces: normalizers and pre-tokenizers leave no blank in a text that is cut."""


class SentencePieces(NamedTuple):
    """The pieces of a sentence with n words.

    Attributes
    ----------
    ids : ndarray, int64
        The pieces of all words.
    lengths : ndarray of shape (n,), int64
        The number of pieces of each word, at least 1.
    """

    ids: np.ndarray
    lengths: np.ndarray


class Pieces:
    """Cuts words into the pieces of a tokenizer.

    Parameters
    ----------
    tokenizer : str
        The text of tokenizer.json, with a model WordPiece, Unigram or BPE.

    Attributes
    ----------
    special : nonproj.scoring.encoders.tokenizer.SpecialPieces
    size : int
        The number of pieces.

    Raises
    ------
    ModelError
        If the text is not such a tokenizer.
    DependencyError
        If the package tokenizers is missing.

    Examples
    --------
    >>> vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "dog": 3, "##s": 4}
    >>> settings = {
    ...     "version": "1.0",
    ...     "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocabulary,
    ...               "max_input_chars_per_word": 100},
    ...     "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    ... }
    >>> Pieces(json.dumps(settings)).cut([["dogs", "?"]])
    [SentencePieces(ids=array([3, 4, 0]), lengths=array([2, 1]))]
    """

    def __init__(self, tokenizer: str):
        settings = parse(tokenizer)
        self.size, self.special = len(settings["model"]["vocab"]), special_pieces(settings)
        self._tokenizer, self._known = _compiled(settings), dict[str, tuple[int, ...]]()

    def cut(self, sentences: Sequence[Sequence[str]]) -> list[SentencePieces]:
        """Return the pieces of the words of sentences."""
        known = self._known
        new = {word for words in sentences for word in words if word not in known}
        if len(known) + len(new) > _MOST_WORDS:
            known, new = {}, {word for words in sentences for word in words}
        if new:
            known |= self._pieces(list(new))
        self._known = known if len(known) <= _MOST_WORDS else {}
        found = []
        for words in sentences:
            parts = [known[word] for word in words]
            lengths = np.array([len(part) for part in parts], np.int64)
            found.append(SentencePieces(np.array([piece for part in parts for piece in part], np.int64), lengths))
        return found

    def unknown_share(self, sentences: Sequence[Sequence[str]]) -> float:
        """Return the share of words with an unknown piece, such as words in a script that the encoder does not know."""
        words = [word for words in sentences for word in words]
        [cut] = self.cut([words])
        unknown = np.repeat(np.arange(len(words)), cut.lengths)[cut.ids == self.special.unknown]
        return len(np.unique(unknown)) / max(1, len(words))

    def _pieces(self, words: list[str]) -> dict[str, tuple[int, ...]]:
        with _errors():
            found = self._tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        parts: list[list[int]] = [[] for _ in words]
        for piece, word in zip(found.ids, found.word_ids, strict=True):
            parts[word].append(piece)
        unknown = (self.special.unknown,)
        return {word: tuple(part) or unknown for word, part in zip(words, parts, strict=True)}


def _compiled(settings: dict[str, Any]) -> Any:
    """Return the tokenizer, without special pieces and with each word by itself."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise DependencyError(needs("encoders need", "tokenizers", "encoder")) from None
    special = special_names(settings)
    model = dict(settings["model"])

    def renamed(name: str) -> str:
        return _BEFORE + name if name in special else name

    if model["type"] == "Unigram":
        model["vocab"] = [[renamed(name), score] for name, score in model["vocab"]]
    elif model["type"] == "WordPiece":
        model["vocab"] = {renamed(name): number for name, number in model["vocab"].items()}
        model["unk_token"] = renamed(model["unk_token"])
    else:
        model["dropout"] = None  # pieces at random, in training
    switched: dict[str, Any] = {
        "added_tokens": [],
        "post_processor": None,
        "truncation": None,
        "padding": None,
        "decoder": None,
    }
    switched |= {"model": model, "pre_tokenizer": _each_word(settings)}
    with _errors():
        return Tokenizer.from_str(json.dumps(settings | switched))


@contextmanager
def _errors() -> Iterator[None]:
    """Raise `ModelError` for any error of the library, whose panics are not even subclasses of Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise ModelError(f"the tokenizer cannot be used: {error}") from None


def _each_word(settings: dict[str, Any]) -> Any:
    """Return a pre-tokenizer that treats every word as if a blank preceded it."""
    always: dict[str, dict[str, Any]] = {
        "Metaspace": {"prepend_scheme": "always"},
        "ByteLevel": {"add_prefix_space": True},
    }
    found = [step | always.get(step["type"], {}) for step in steps(settings, "pre_tokenizer")]
    return {"type": "Sequence", "pretokenizers": found}
