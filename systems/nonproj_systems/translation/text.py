"""Tokens of plain text and back, vocabularies, and files of sentence pairs."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nonproj.errors import DataError
from nonproj.io.files import open_input, stream_error, text_lines
from nonproj.io.strings import WORD, fits

MAX_TOKENS = 120
"""Maximum number of tokens of a sentence: coverage is a set of 128 bits, and ends of spans have 7 bits."""

MAX_LINE = 1 << 20
"""Maximum length of a line, in bytes."""

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
    """Return tokens as text, with no space before commas and similar signs, and an initial capital.

    Examples
    --------
    >>> detokenize(["a", "woman", "'s", "hat", "(", "red", ")", "."])
    "A woman's hat (red)."
    """
    text = _NO_SPACE_AFTER.sub(r"\1", _NO_SPACE_BEFORE.sub(r"\1", " ".join(tokens)))
    return text[:1].upper() + text[1:]


def read_lines(source) -> Iterator[str]:
    """Yield the lines of a UTF-8 text, which may be compressed by gzip.

    Parameters
    ----------
    source : str, Path or stream
        ``-`` for standard input.

    Raises
    ------
    FileError
        The file cannot be opened or read.
    DataError
        It is not UTF-8, a line is too long, or compressed data are damaged.
    """
    stream, name, closing = open_input(source)
    number = 0
    with closing:
        try:
            for line in text_lines(stream, MAX_LINE):
                number += 1
                yield line.rstrip("\r\n")
        except OverflowError:
            message = f"a line of more than {MAX_LINE} bytes; one sentence a line is expected"
            raise DataError(name, number + 1, message) from None
        except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
            raise stream_error(error, name, number) from None


def read_pairs(source: str | Path, target: str | Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens of parallel files, one sentence a line; pairs with an empty or very long side are left out.

    Raises
    ------
    FileError, DataError
        As for `read_lines`.
    DataError
        If one file has more lines than the other, or no pair remains.
    """
    sides = list(read_lines(source)), list(read_lines(target))
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
        """Return the vocabulary of sentences; words that no model may have, such as control characters, are unknown."""
        counts = Counter(word for sentence in sentences for word in sentence)
        counts = Counter({word: count for word, count in counts.items() if fits(word, WORD)})
        return cls([*special, *sorted(counts.keys() - set(special), key=lambda word: (-counts[word], word))])

    def __len__(self) -> int:
        return len(self.words)

    def numbers(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of tokens, 0 for unknown ones."""
        return [self._numbers.get(token, 0) for token in tokens]
