"""CoNLL-X and CoNLL-U files, read and written without loss.

Both formats have ten columns separated by tabs, one line per word and a blank line after each sentence.  CoNLL-U adds
comments, multiword tokens (``3-4``) and empty nodes (``5.1``).  The formats need not be told apart: the line of a word
starts with a number, so a line that starts with ``#`` is a comment, even where ``#`` is a word of the treebank.

A `Sentence` keeps its own lines; writing replaces two columns and leaves every other byte unchanged.
"""

from __future__ import annotations

import contextlib
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from nonproj.errors import DataError, NonprojError
from nonproj.io.files import byte_lines, open_input, open_output, stream_error
from nonproj.types import Sentence

COLUMNS = ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL")
"""The names of the columns in CoNLL-X; CoNLL-U calls 3, 4, 8 and 9 UPOS, XPOS, DEPS and MISC."""

_ID, _FORM, _HEAD, _DEPREL = 0, 1, 6, 7
_BOM = "\ufeff"
_NUMBER = {str(number): number for number in range(1024)} | {"_": -1}  # a look-up is three times as fast as int()
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(r"(0|[1-9][0-9]*)\.[1-9][0-9]*")


def read(source: str | Path | BinaryIO | TextIO, *, require_heads: bool = False) -> Iterator[Sentence]:
    """Read a treebank, one sentence at a time.

    A sentence is yielded as soon as the blank line after it has been read, so pipes are answered at once and memory
    does not grow with the file.  Further blank lines belong to the next sentence; those at the end of the file are
    appended to the last sentence when they are reached.

    Parameters
    ----------
    source : str, Path or stream
        A file, ``-`` for standard input, or an open stream of bytes or text.  Files and standard input may be
        compressed by gzip.  The text must be UTF-8, with or without a byte order mark.
    require_heads : bool
        Whether a word without a gold head (``_``) is an error.

    Yields
    ------
    Sentence
        With ``heads``, int32[N], or None where the column HEAD is ``_`` for any word.

    Raises
    ------
    DataError
        At the first malformed line: columns, numbering, heads out of range or in a cycle, bytes that are not UTF-8, a
        sentence or a file without words.  Several roots are not an error.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> text = "1\\tDet\\t_\\tP\\tPD\\t_\\t2\\tsubj\\t_\\t_\\n2\\tregner\\t_\\tV\\tVA\\t_\\t0\\tROOT\\t_\\t_\\n\\n"
    >>> sentence = next(read(io.StringIO(text)))
    >>> sentence.forms, sentence.heads
    (['Det', 'regner'], array([-1,  2,  0], dtype=int32))
    """
    return _sentences(*open_input(source), require_heads)


def _sentences(stream, name: str, closing, require_heads: bool, number: int = 0) -> Iterator[Sentence]:
    """Yield the sentences of a stream whose first line has the number ``number + 1``."""
    first, block, worded, sentence = number + 1, [], False, None
    try:
        with closing:
            for line in stream if hasattr(stream, "encoding") else map(bytes.decode, byte_lines(stream)):
                number += 1
                block.append(line)
                if not line.isspace() or line.strip(" \r\n"):
                    worded = worded or number > 1 or line.removeprefix(_BOM).strip(" \r\n") != ""
                elif worded:
                    sentence = _sentence(block, name, first, require_heads)
                    yield sentence
                    first, block, worded = number + 1, [], False
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        raise stream_error(error, name, number) from None
    if worded:
        yield _sentence(block, name, first, require_heads)
    elif sentence is None:
        raise DataError(name, 1, "no sentences; the file is empty" if not number else "no sentences; only blank lines")
    else:
        sentence.lines.extend(block)


def until_error(sentences: Iterable[Sentence], errors: list[NonprojError]) -> Iterator[Sentence]:
    """Yield sentences up to the first error, which is appended to ``errors``, so that the batch before it is complete.

    Examples
    --------
    >>> errors = []
    >>> len(list(until_error(read(io.StringIO("1\\ta\\n")), errors))), str(errors[0])
    (0, '<stream>:1: 2 columns, 10 expected')
    """
    try:
        yield from sentences
    except NonprojError as error:
        errors.append(error)


def _sentence(block: list[str], name: str, first: int, require_heads: bool) -> Sentence:
    """Return the sentence with these lines, the first of which is line ``first`` of the file."""
    rows, word_lines, expected = [], [], "1"
    for index, line in enumerate(block):
        row = line.rstrip("\r\n").split("\t")
        if len(row) != 10 or row[_ID] != expected or not row[_FORM]:
            try:
                row = _special_row(row, len(rows))
            except ValueError as error:
                raise DataError(name, first + index, str(error)) from None
            if row is None:
                continue
        rows.append(row)
        word_lines.append(index)
        expected = str(len(rows) + 1)
    if not rows:
        index = next((index for index, line in enumerate(block) if line.strip(_BOM + " \r\n")), 0)
        raise DataError(name, first + index, "a sentence without words; remove it, or the blank line after it")
    return Sentence(rows, _gold_heads(rows, word_lines, name, first, require_heads), block, word_lines, name, first)


def _special_row(row: list[str], words: int) -> list[str] | None:
    """Return None for a line that is not a word, and the row of a word after a byte order mark; raise if malformed."""
    row = [row[0].removeprefix(_BOM), *row[1:]]
    name, expected = row[_ID], str(words + 1)
    if len(row) == 1 and not name.strip(" \r"):
        return None
    if name.startswith("#"):
        if words:
            raise ValueError("a comment inside a sentence; is the blank line before it missing?")
        return None
    if len(row) != 10:
        hint = "; columns are separated by tabs, not by spaces" if len(row) == 1 and len(name.split()) > 1 else ""
        raise ValueError(f"{len(row)} column{'s' if len(row) > 1 else ''}, 10 expected{hint}")
    if (match := _RANGE.fullmatch(name)) and match[1] == expected and int(match[2]) > words:
        return None
    if (match := _EMPTY.fullmatch(name)) and match[1] == str(words):
        return None
    if name != expected:
        hint = "; is the blank line before it missing?" if name == "1" else ""
        raise ValueError(f"ID is {name!r}, {expected} expected{hint}")
    if not row[_FORM]:
        raise ValueError("FORM is empty; a word or _ expected")
    return row


def _gold_heads(rows, word_lines, name: str, first: int, require_heads: bool) -> np.ndarray | None:
    """Return the column HEAD as int32[N], checked to be a tree; None where it is absent."""
    n = len(rows)
    heads = [-1]
    heads += [_NUMBER.get(row[_HEAD], n + 1) for row in rows]
    if max(heads) > n or (require_heads and min(heads[1:]) < 0):
        heads = [-1] + [
            _head(row[_HEAD], n, name, first + index, require_heads)
            for row, index in zip(rows, word_lines, strict=True)
        ]
    if min(heads[1:]) < 0:
        return None
    cycle = _cycle(heads)
    if cycle:
        line = first + word_lines[cycle[0] - 1]
        if len(cycle) == 1:
            raise DataError(name, line, f"HEAD of word {cycle[0]} is the word itself")
        path = " <- ".join(str(word) for word in [*cycle, cycle[0]])
        raise DataError(name, line, f"the heads form a cycle, not a tree: {path}")
    return np.array(heads, dtype=np.int32)


def _head(text: str, n: int, name: str, line: int, require_heads: bool) -> int:
    """Return one head, or raise the error that describes it."""
    if text == "_":
        if require_heads:
            raise DataError(name, line, "HEAD is absent (_); training needs gold heads")
        return -1
    head = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else n + 1
    if head > n or str(head) != text:
        raise DataError(name, line, f"HEAD is {text!r}, a number from 0 to {n} expected")
    return head


def _cycle(heads: list[int]) -> list[int]:
    """Return the words of a cycle, each followed by its head, starting from the lowest; empty for a tree."""
    seen_from = [0] * len(heads)
    seen_from[0] = -1
    for start in range(1, len(heads)):
        node = start
        while not seen_from[node]:
            seen_from[node] = start
            node = heads[node]
        if seen_from[node] == start:
            cycle = [node]
            while (node := heads[node]) != cycle[0]:
                cycle.append(node)
            low = cycle.index(min(cycle))
            return cycle[low:] + cycle[:low]
    return []


def replace(sentence: Sentence, heads, labels: Iterable[str] | None = None, comments=()) -> str:
    """Return the text of a sentence with another tree; every other byte is unchanged.

    Parameters
    ----------
    sentence : Sentence
        Of ``n`` words.
    heads : array_like of int, shape (N,)
        ``heads[0]`` is ignored.
    labels : iterable of n str, optional
        None leaves the column DEPREL unchanged.
    comments : mapping or iterable of (key, value)
        Written as ``# key = value`` below the existing comments; a comment with the same key is replaced.

    Raises
    ------
    ValueError
        ``heads`` or ``labels`` has the wrong length.

    Examples
    --------
    >>> text = "1\\tDet\\t_\\tP\\tPD\\t_\\t2\\tsubj\\t_\\t_\\n2\\tregner\\t_\\tV\\tVA\\t_\\t0\\tROOT\\t_\\t_\\n\\n"
    >>> sentence = next(read(io.StringIO(text)))
    >>> print(replace(sentence, [-1, 0, 1], comments={"agreed": True}).expandtabs(6), end="")
    # agreed = True
    1     Det   _     P     PD    _     0     subj  _     _
    2     regner _     V     VA    _     1     ROOT  _     _
    <BLANKLINE>
    """
    heads = np.asarray(heads).tolist()
    n = len(sentence.rows)
    if len(heads) != n + 1:
        raise ValueError(f"heads has {len(heads)} entries, {n + 1} expected")
    if not sentence.lines:
        lines, word_lines = ["\t".join(row) + "\n" for row in sentence.rows] + ["\n"], range(n)
    else:
        lines, word_lines = sentence.lines.copy(), sentence.word_lines
    labels = [None] * n if labels is None else list(labels)
    if len(labels) != n:
        raise ValueError(f"labels has {len(labels)} entries, {n} expected")
    for index, head, label in zip(word_lines, heads[1:], labels, strict=True):
        columns = lines[index].split("\t", 8)
        columns[_HEAD] = str(head)
        if label is not None:
            columns[_DEPREL] = label
        lines[index] = "\t".join(columns)
    if comments:
        _comment(lines, dict(comments))
    return "".join(lines)


def _comment(lines: list[str], comments: dict) -> None:
    """Insert comments below the existing ones; a comment with the same key is replaced."""
    bare = [line.removeprefix(_BOM) for line in lines]
    position = next(index for index, line in enumerate(bare) if line[:1].isdigit())
    ending = "\r\n" if lines[position].endswith("\r\n") else "\n"
    places = {line[1:].partition("=")[0].strip(): index for index, line in enumerate(bare[:position]) if "=" in line}
    added = []
    for key, value in comments.items():
        line = f"# {key} = {' '.join(str(value).split())}{ending}"
        if key in places:
            index = places[key]
            lines[index] = _BOM + line if lines[index].startswith(_BOM) else line
        else:
            added.append(line)
    if added and lines[position].startswith(_BOM):
        lines[position] = bare[position]
        added[0] = _BOM + added[0]
    lines[position:position] = added


def write(sentences_with_trees: Iterable[tuple], target: str | Path | BinaryIO | TextIO) -> int:
    """Write sentences with their predicted trees, and return the number of sentences.

    Parameters
    ----------
    sentences_with_trees : iterable of tuple
        ``(sentence, heads)``, ``(sentence, heads, labels)`` or ``(sentence, heads, labels, comments)``, as for
        `replace`; where ``heads`` is None, the sentence is written unchanged.
    target : str, Path or stream
        A file (see `open_output`), or an open stream of bytes or text.

    Raises
    ------
    FileError
        The file cannot be written; no incomplete file is left behind.

    Examples
    --------
    >>> text = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n\\n\\n\\n"
    >>> target = io.StringIO()
    >>> write(((sentence, sentence.heads) for sentence in read(io.StringIO(text))), target)
    1
    >>> target.getvalue() == text
    True
    """
    if not hasattr(target, "write"):
        with open_output(target) as stream:
            return write(sentences_with_trees, stream)
    binary = not hasattr(target, "encoding")
    count, sentence, lines_written = 0, None, 0
    for sentence, heads, *rest in sentences_with_trees:
        lines_written = len(sentence.lines)
        text = "".join(sentence.lines) if heads is None else replace(sentence, heads, *rest)
        target.write(text.encode() if binary else text)
        count += 1
    if sentence is not None and (
        blank := "".join(sentence.lines[lines_written:])
    ):  # at the end of the file: see `read`
        target.write(blank.encode() if binary else blank)
    return count


def from_conllu(token_list) -> Sentence:
    """Return the sentence of a ``conllu.TokenList``.

    Raises
    ------
    DataError
        The sentence is not well-formed (see `read`); the line is that of its serialized form.

    Examples
    --------
    >>> import conllu
    >>> tokens = conllu.parse("1\\tRegn\\tregn\\tNOUN\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")[0]
    >>> from_conllu(tokens).forms
    ['Regn']
    """
    text = io.StringIO(token_list.serialize(), newline="\n")
    return next(_sentences(text, "<conllu>", contextlib.nullcontext(), False))


def to_conllu(sentence: Sentence, heads, labels: Iterable[str] | None = None):
    """Return a ``conllu.TokenList`` of a sentence with another tree; parameters as for `replace`.

    Multiword tokens, empty nodes and comments are kept.

    Examples
    --------
    >>> text = "1\\tRegn\\tregn\\tNOUN\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> tokens = to_conllu(next(read(io.StringIO(text))), [-1, 0], ["root"])
    >>> tokens[0]["head"], tokens[0]["deprel"]
    (0, 'root')
    """
    from conllu.models import TokenList
    from conllu.parser import DEFAULT_FIELDS, parse_comment_line, parse_line

    tokens, metadata = [], {}
    for line in replace(sentence, heads, labels).removeprefix(_BOM).split("\n"):
        if line.startswith("#"):
            metadata.update(parse_comment_line(line))
        elif line.strip(" \r"):
            # conllu also splits at two spaces, so columns that contain them are set afterwards.
            columns = line.rstrip("\r").split("\t")
            token = parse_line("\t".join("_" if "  " in column else column for column in columns), DEFAULT_FIELDS)
            token.update((DEFAULT_FIELDS[i], column) for i, column in enumerate(columns) if "  " in column)
            tokens.append(token)
    return TokenList(tokens, metadata, default_fields=DEFAULT_FIELDS)
