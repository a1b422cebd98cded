"""Words to the numbers of their pieces, by a tokenizer of Hugging Face (tokenizer.json).

Each word is cut by itself, as with ``is_split_into_words``.  Words are text: those that look like a special piece,
such as ``<s>``, are cut like any other, because special pieces have names here that no text produces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import DependencyError, ModelError

_MOST_WORDS = 1 << 16
"""The maximum number of words whose pieces are kept."""

_BEFORE = " "
"""The first character of special pieces: normalizers and pre-tokenizers leave no blank in what is cut into pieces."""

NORMALIZERS = (
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend", "Replace", "Strip",
    "StripAccents",
)  # fmt: skip
PRE_TOKENIZERS = (
    "BertPreTokenizer",
    "ByteLevel",
    "Digits",
    "Metaspace",
    "Punctuation",
    "Whitespace",
    "WhitespaceSplit",
)
PATTERNS = (" {2,}",)
"""The steps that a tokenizer may have, and the regular expressions in them."""

_LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
_POST_PROCESSORS = ("TemplateProcessing", "BertProcessing", "RobertaProcessing")


class Cut(NamedTuple):
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


class Special(NamedTuple):
    """The numbers of special pieces: before a sentence, after it, and of what has no pieces."""

    first: int
    last: int
    unknown: int


class Pieces:
    """The pieces of words.

    Parameters
    ----------
    tokenizer : str
        The text of tokenizer.json, with a model WordPiece, Unigram or BPE.

    Attributes
    ----------
    special : Special
    size : int
        The number of pieces.

    Raises
    ------
    ModelError
        If the text is no such tokenizer.
    DependencyError
        If the package tokenizers is missing.
    """

    def __init__(self, tokenizer: str):
        settings = parse(tokenizer)
        self.size, self.special = len(settings["model"]["vocab"]), special_pieces(settings)
        self._tokenizer, self._known = _compiled(settings), dict[str, tuple[int, ...]]()

    def cut(self, sentences: Sequence[Sequence[str]]) -> list[Cut]:
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
            found.append(Cut(np.array([piece for part in parts for piece in part], np.int64), lengths))
        return found

    def _pieces(self, words: list[str]) -> dict[str, tuple[int, ...]]:
        """Return the pieces of each word."""
        with _errors():
            found = self._tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        parts: list[list[int]] = [[] for _ in words]
        for piece, word in zip(found.ids, found.word_ids, strict=True):
            parts[word].append(piece)
        unknown = (self.special.unknown,)
        return {word: tuple(part) or unknown for word, part in zip(words, parts, strict=True)}


def parse(tokenizer: str) -> dict[str, Any]:
    """Return the settings of a tokenizer, after checking those that are used here.

    Raises
    ------
    ModelError
        If the text is no tokenizer, or has steps that are not in `NORMALIZERS` or `PRE_TOKENIZERS`: those of a stranger
        could take forever.
    """
    try:
        settings = json.loads(tokenizer)
        model = settings["model"]
        kind, vocabulary = model["type"], model["vocab"]
        added = [(entry["content"], entry["special"]) for entry in settings.get("added_tokens") or []]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelError("the tokenizer is not a tokenizer.json with a model and a vocabulary") from None
    if kind not in ("WordPiece", "Unigram", "BPE"):
        raise ModelError(f"the tokenizer has a model of the kind {kind!r}; WordPiece, Unigram or BPE is expected")
    if kind == "Unigram":
        sound = type(vocabulary) is list and all(type(entry) is list and len(entry) == 2 for entry in vocabulary)
        sound = sound and {(type(name), type(score)) for name, score in vocabulary} <= {(str, float), (str, int)}
    else:
        sound = type(vocabulary) is dict and {type(number) for number in vocabulary.values()} == {int}
        sound = sound and sorted(vocabulary.values()) == list(range(len(vocabulary)))
    if not sound or not {(type(name), type(special)) for name, special in added} <= {(str, bool)}:
        raise ModelError("the vocabulary of the tokenizer is not one with numbers from 0")
    for place, known in (("normalizer", NORMALIZERS), ("pre_tokenizer", PRE_TOKENIZERS)):
        for step in _steps(settings, place):
            if type(step) is not dict or step.get("type") not in known:
                raise ModelError(f"the {place} of the tokenizer has another step than {', '.join(known)}")
            pattern = step.get("pattern")
            if type(pattern) is dict and pattern.get("Regex", PATTERNS[0]) not in PATTERNS:
                raise ModelError(f"the {place} of the tokenizer has another pattern than {', '.join(PATTERNS)}")
    found: dict[str, Any] = settings
    return found


def _steps(settings: dict[str, Any], place: str) -> list[Any]:
    """Return the steps of the normalizer or the pre-tokenizer."""
    step = settings.get(place)
    if type(step) is dict and step.get("type") == "Sequence":
        steps = step.get(_LISTS[place])
        return steps if type(steps) is list else [None]
    return [] if step is None else [step]


def names(settings: dict[str, Any]) -> list[str]:
    """Return the pieces of a tokenizer in the order of their numbers."""
    vocabulary = settings["model"]["vocab"]
    if type(vocabulary) is list:
        return [name for name, _ in vocabulary]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def special_names(settings: dict[str, Any]) -> set[str]:
    """Return the names of the special pieces of a tokenizer."""
    return {entry["content"] for entry in settings.get("added_tokens") or [] if entry["special"]}


def special_pieces(settings: dict[str, Any]) -> Special:
    """Return the special pieces of a tokenizer that `parse` returned."""
    pieces, model = names(settings), settings["model"]
    number = {name: i for i, name in enumerate(pieces)}
    try:
        unknown = model["unk_id"] if model["type"] == "Unigram" else number[model.get("unk_token") or "<unk>"]
        pieces[unknown]
        first, last = _ends(settings["post_processor"], number)
    except (LookupError, TypeError, ValueError, StopIteration):
        raise ModelError("the tokenizer does not say which pieces are unknown, before and after a sentence") from None
    return Special(first, last, unknown)


def _ends(processor: dict[str, Any], number: dict[str, int]) -> tuple[int, int]:
    """Return the pieces before and after a sentence."""
    if processor["type"] == "Sequence":
        processor = next(each for each in processor["processors"] if each["type"] in _POST_PROCESSORS)
    if processor["type"] == "TemplateProcessing":
        before, sentence, after = processor["single"]
        if "Sequence" not in sentence:
            raise KeyError("Sequence")
        return number[before["SpecialToken"]["id"]], number[after["SpecialToken"]["id"]]
    return number[processor["cls"][0]], number[processor["sep"][0]]


def _compiled(settings: dict[str, Any]) -> Any:
    """Return the tokenizer, without special pieces and with each word by itself."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise DependencyError("encoders need the package tokenizers; pip install 'nonproj[encoder]'") from None
    special = special_names(settings)
    model = dict(settings["model"])

    def renamed(name: str) -> str:
        return _BEFORE + name if name in special else name

    if model["type"] == "Unigram":
        model["vocab"] = [[renamed(name), score] for name, score in model["vocab"]]
    elif model["type"] == "WordPiece":
        model["vocab"] = {renamed(name): number for name, number in model["vocab"].items()}
        model["unk_token"] = renamed(model["unk_token"])
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
    """Raise `ModelError` for any error of the library, whose panics are not even of the class Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise ModelError(f"the tokenizer cannot be used: {error}") from None


def _each_word(settings: dict[str, Any]) -> Any:
    """Return a pre-tokenizer that treats every word as one after a blank."""
    always: dict[str, dict[str, Any]] = {
        "Metaspace": {"prepend_scheme": "always"},
        "ByteLevel": {"add_prefix_space": True},
    }
    steps = [step | always.get(step["type"], {}) for step in _steps(settings, "pre_tokenizer")]
    return {"type": "Sequence", "pretokenizers": steps}
