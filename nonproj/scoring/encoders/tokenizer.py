"""The settings of a Hugging Face tokenizer (tokenizer.json), and checks of them.

An untrusted tokenizer must neither take forever nor fill the memory, whatever the words: its steps are from a list,
none makes a text much longer, and regular expressions are known ones.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NamedTuple

from nonproj.errors import ModelError

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

_MOST_STEPS, _LONGEST_WORD, _LONGEST_REPLACEMENT = 20, 1000, 100
"""Limits: steps, characters of a word that WordPiece cuts, bytes of a character's replacement."""

_LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
_POST_PROCESSORS = ("TemplateProcessing", "BertProcessing", "RobertaProcessing")


class SpecialPieces(NamedTuple):
    """The numbers of special pieces: before a sentence, after it, and for unknown strings."""

    first: int
    last: int
    unknown: int


def parse(tokenizer: str) -> dict[str, Any]:
    """Return the settings of a tokenizer, after checking those that are used here.

    Raises
    ------
    ModelError
        If the text is not a tokenizer, or has steps that are not in `NORMALIZERS` or `PRE_TOKENIZERS`: untrusted ones
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
    _check_steps(settings)
    longest = model.get("max_input_chars_per_word", 0)
    if type(longest) is not int or longest > _LONGEST_WORD:
        raise ModelError(f"the tokenizer cuts words of {longest!r} characters, at most {_LONGEST_WORD} are expected")
    checked: dict[str, Any] = settings
    return checked


def _check_steps(settings: dict[str, Any]) -> None:
    """Raise `ModelError` unless all steps of normalizer and pre-tokenizer are known."""
    for place, known in (("normalizer", NORMALIZERS), ("pre_tokenizer", PRE_TOKENIZERS)):
        found = steps(settings, place)
        if len(found) > _MOST_STEPS:
            raise ModelError(f"the {place} of the tokenizer has {len(found)} steps, at most {_MOST_STEPS} are expected")
        for step in found:
            if type(step) is not dict or step.get("type") not in known:
                raise ModelError(f"the {place} of the tokenizer has another step than {', '.join(known)}")
            _check_step(step)
        if sum(step["type"] == "Precompiled" for step in found) > 1:
            raise ModelError("the tokenizer has more than one table of characters")


def _check_step(step: dict[str, Any]) -> None:
    """Raise `ModelError` if a step replaces the matches of an unknown regular expression, or inserts a long text."""
    if step["type"] == "Replace":
        pattern, content = step.get("pattern"), step.get("content")
        if (
            type(pattern) is not dict
            or pattern.get("Regex", PATTERNS[0]) not in PATTERNS
            or not pattern.get("String", 1)
        ):
            raise ModelError(f"the tokenizer replaces another pattern than {', '.join(map(repr, PATTERNS))} or a text")
        if type(content) is not str or len(content) > 1:
            raise ModelError("the tokenizer replaces something by more than a character")
    if step["type"] == "Prepend" and len(str(step.get("prepend"))) > 1:
        raise ModelError("the tokenizer begins words with more than a character")
    if step["type"] == "Precompiled":
        try:
            table = base64.b64decode(step["precompiled_charsmap"])
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise ModelError("the tokenizer has a damaged table of characters") from None
        texts = table[4 + int.from_bytes(table[:4], "little") :]  # behind a trie, whose size is before it
        if max(map(len, texts.split(b"\0"))) > _LONGEST_REPLACEMENT:
            raise ModelError(f"the tokenizer replaces a character by more than {_LONGEST_REPLACEMENT} bytes")


def steps(settings: dict[str, Any], place: str) -> list[Any]:
    """Return the steps of the normalizer or the pre-tokenizer."""
    step = settings.get(place)
    if type(step) is dict and step.get("type") == "Sequence":
        listed = step.get(_LISTS[place])
        return listed if type(listed) is list else [None]
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


def special_pieces(settings: dict[str, Any]) -> SpecialPieces:
    """Return the special pieces of a tokenizer that `parse` returned."""
    pieces, model = names(settings), settings["model"]
    number = {name: i for i, name in enumerate(pieces)}
    try:
        unknown = model["unk_id"] if model["type"] == "Unigram" else number[model.get("unk_token") or "<unk>"]
        pieces[unknown]
        first, last = _ends(settings["post_processor"], number)
    except (LookupError, TypeError, ValueError, StopIteration):
        raise ModelError("the tokenizer does not say which pieces are unknown, before and after a sentence") from None
    return SpecialPieces(first, last, unknown)


def _ends(processor: dict[str, Any], number: dict[str, int]) -> tuple[int, int]:
    """Return the numbers of the pieces before and after a sentence."""
    if processor["type"] == "Sequence":
        processor = next(each for each in processor["processors"] if each["type"] in _POST_PROCESSORS)
    if processor["type"] == "TemplateProcessing":
        before, sentence, after = processor["single"]
        if "Sequence" not in sentence:
            raise KeyError("Sequence")
        return number[before["SpecialToken"]["id"]], number[after["SpecialToken"]["id"]]
    return number[processor["cls"][0]], number[processor["sep"][0]]
