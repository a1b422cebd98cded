"""Tokens of plain text and back, vocabularies, and files of sentence pairs."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from nonproj.errors import DataError, FileError

MAX_TOKENS = 120
"""Longest sentence, in tokens: coverage is a set of at most 126 bits."""

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?:-\w+)*|['’](?:s|re|ve|ll|d|m)\b|\w+(?:-\w+)*(?:(?<=n)['’]t\b)?|[^\w\s]")
_NO_SPACE_BEFORE = re.compile(r" ([.,:;!?%)\]}]|['’](?:s|re|ve|ll|d|m)\b)")
_NO_SPACE_AFTER = re.compile(r"([(\[{$£€]) ")


def tokenize(text: str) -> list[str]:
    """Return the lower-cased tokens of a sentence: words with inner hyphens, numbers, clitics, single other characters.

    Examples
    --------
    >>> tokenize("A woman's T-shirt costs 1,50, doesn't it?")
    ['a', 'woman', "'s", 't-shirt', 'costs', '1,50', ',', "doesn't", 'it', '?']
    """
    return _TOKEN.findall(unicodedata.normalize("NFC", text).lower())


def detokenize(tokens: Sequence[str]) -> str:
    """Return tokens as text, with no space before commas and the like, and a capital at the begin.

    Examples
    --------
    >>> detokenize(["a", "woman", "'s", "hat", "(", "red", ")", "."])
    "A woman's hat (red)."
    """
    text = _NO_SPACE_AFTER.sub(r"\1", _NO_SPACE_BEFORE.sub(r"\1", " ".join(tokens)))
    return text[:1].upper() + text[1:]


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 text file, which may be compressed by gzip.

    Raises
    ------
    FileError
        If the file cannot be read.
    DataError
        If it is not UTF-8.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "not a gzip file"
        raise FileError(str(path), f"cannot be read: {reason.lower()}") from None
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(str(path), line, "not UTF-8; plain text in UTF-8, one sentence a line, is expected") from None
    return [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_pairs(source: str | Path, target: str | Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens of parallel files, one sentence a line; pairs with an empty or very long side are left out.

    Raises
    ------
    FileError, DataError
        As `read_lines`.
    DataError
        If one file has more lines than the other, or no pair is left.
    """
    sides = read_lines(source), read_lines(target)
    shorter = min(map(len, sides))
    for path, lines, other in ((source, sides[0], target), (target, sides[1], source)):
        if len(lines) > shorter:
            message = f"has no counterpart: {other} ends after {shorter} lines; one line for each sentence is expected"
            raise DataError(str(path), shorter + 1, message)
    pairs = [(tokenize(f), tokenize(e)) for f, e in zip(*sides, strict=True)]
    pairs = [pair for pair in pairs if all(1 <= len(side) <= MAX_TOKENS for side in pair)]
    if not pairs:
        raise DataError(str(source), 1, "no sentence pair; files with one sentence a line are expected")
    return [f for f, _ in pairs], [e for _, e in pairs]


class Vocabulary:
    """Words and their numbers; the first words are special, the others follow by frequency.

    Parameters
    ----------
    words : iterable of str

    Examples
    --------
    >>> vocabulary = Vocabulary.of([["b", "a"], ["b"]], special=("<unk>",))
    >>> vocabulary.words, vocabulary.numbers(["a", "c"])
    (['<unk>', 'b', 'a'], [2, 0])
    """

    def __init__(self, words: Iterable[str]):
        self.words = list(words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], special: tuple[str, ...] = ("<unk>",)) -> Vocabulary:
        """Return the vocabulary of sentences."""
        counts = Counter(word for sentence in sentences for word in sentence)
        return cls([*special, *sorted(counts.keys() - set(special), key=lambda word: (-counts[word], word))])

    def __len__(self) -> int:
        return len(self.words)

    def numbers(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of tokens, 0 for unknown ones."""
        return [self._numbers.get(token, 0) for token in tokens]
