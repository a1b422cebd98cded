"""UDPipe's formats other than CoNLL-U, a sentence per line (horizontal) or a word per line (vertical); its spaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from nonproj.errors import DataError
from nonproj.io.objects import from_words
from nonproj.types import Sentence

_OF_UDPIPE = ("SpacesBefore=", "SpacesAfter=", "OrigForm=")


def read_horizontal(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text with one sentence per line, its words separated by blanks.

    Empty lines separate paragraphs.  A no-break space is a blank inside a word.

    Examples
    --------
    >>> [sentence.forms for sentence in read_horizontal("Det regner .\\n\\n10\\u00a0000 .\\n")]
    [['Det', 'regner', '.'], ['10 000', '.']]
    """
    lines = (line.replace("\t", " ").split(" ") for line in text.split("\n"))
    words = ([word.replace("\u00a0", " ").strip() for word in line] for line in lines)
    yield from _numbered(([word for word in line if word], number) for number, line in enumerate(words, 1))


def read_vertical(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text with one word per line, before the first tab; an empty line ends a sentence.

    Further empty lines separate paragraphs.

    Examples
    --------
    >>> [sentence.forms for sentence in read_vertical("Det\\nregner\\tVERB\\n\\nJa\\n")]
    [['Det', 'regner'], ['Ja']]
    """
    words, blocks = [], []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        word = line.partition("\t")[0].strip(" \r")
        if word:
            words.append(word)
        else:
            blocks.append((words, number - len(words)))
            words = []
    yield from _numbered(blocks)


def _numbered(blocks: Iterable[tuple[list[str], int]]) -> Iterator[Sentence]:
    """Yield sentences with UDPipe's comments, from words and their line; no words start a new paragraph."""
    number, paragraph = 0, True
    for words, line in blocks:
        if not words:
            paragraph = True
            continue
        number += 1
        comments = ["# newdoc\n"] * (number == 1) + ["# newpar\n"] * paragraph + [f"# sent_id = {number}\n"]
        try:
            sentence = from_words(words, "data")
        except ValueError as error:
            raise DataError("data", line, str(error)) from None
        lines = [*comments, *("\t".join(row) + "\n" for row in sentence.rows), "\n"]
        word_lines = list(range(len(comments), len(comments) + len(words)))
        paragraph = False
        yield dataclasses.replace(sentence, lines=lines, word_lines=word_lines, line=line)


def write_horizontal(sentences: Iterable[Sentence], paragraphs: bool) -> str:
    """Return a line of words for each sentence; with ``paragraphs``, an empty line between paragraphs."""
    lines = []
    for number, sentence in enumerate(sentences):
        if paragraphs and number and _starts_paragraph(sentence):
            lines.append("\n")
        lines.append(" ".join(form.replace(" ", "\u00a0") for form in sentence.forms) + "\n")
    return "".join(lines)


def write_vertical(sentences: Iterable[Sentence], paragraphs: bool) -> str:
    """Return a line for each word and an empty one after each sentence, and optionally another between paragraphs."""
    lines = []
    for number, sentence in enumerate(sentences):
        if paragraphs and number and _starts_paragraph(sentence):
            lines.append("\n")
        lines += [f"{form}\n" for form in sentence.forms] + ["\n"]
    return "".join(lines)


def without_spaces(sentence: Sentence) -> Sentence:
    """Return a sentence of segmented text with standard attributes of blanks only: ``SpaceAfter=No``.

    Examples
    --------
    >>> from nonproj.text.segmenter import Segmenter
    >>> [sentence] = Segmenter.unicode().segment(" Det  regner.\\n")
    >>> [row[9] for row in sentence.rows], [row[9] for row in without_spaces(sentence).rows]
    (['SpacesBefore=\\\\s|SpacesAfter=\\\\s\\\\s', 'SpaceAfter=No', 'SpacesAfter=\\\\n'], ['_', 'SpaceAfter=No', '_'])
    """
    rows = [[*row[:-1], _standard(row[-1])] for row in sentence.rows]
    lines = sentence.lines.copy()
    for number, line in enumerate(lines):
        columns, tab, misc = line.rpartition("\t")
        if tab and not line.startswith("#"):
            lines[number] = f"{columns}\t{_standard(misc.rstrip())}\n"
    return dataclasses.replace(sentence, rows=rows, lines=lines)


def _standard(misc: str) -> str:
    """Return MISC without UDPipe's attributes of blanks, and the original forms of words with blanks."""
    return "|".join(item for item in misc.split("|") if not item.startswith(_OF_UDPIPE)) or "_"


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(line.startswith(("# newpar", "# newdoc")) for line in sentence.lines)
