"""Lossless reading and writing of CoNLL-X and CoNLL-U files.

Both formats have ten columns separated by tabs, one line per word and a blank line after each sentence.  CoNLL-U adds
comments, multiword tokens (``3-4``) and empty nodes (``5.1``).  The formats need not be distinguished: the line of a
word starts with a number, so a line that starts with ``#`` is a comment, even if ``#`` is a word of the treebank.

`nonproj.io.layouts` handles files with other columns, or with another order of the columns.

A `Sentence` keeps its own lines; writing replaces HEAD and DEPREL, removes the enhanced dependencies of another tree,
and leaves every other byte unchanged.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import numpy as np

from nonproj.errors import DataError
from nonproj.io.broken import MalformedUnit, read_units
from nonproj.io.checks import BOM, DEFAULT_RULES, ReadingRules
from nonproj.io.columns import DEPREL, DEPS, HEAD
from nonproj.io.files import OpenedInput, Source, open_input, open_output
from nonproj.io.graphs import Graph, as_columns
from nonproj.io.layouts import restored
from nonproj.types import Sentence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

COLUMNS = ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL")
"""The names of the columns in CoNLL-X."""

_EMPTY_NODE = re.compile(r"\ufeff?[0-9]+\.")

KEEP, DROP = "keep", "drop"
"""Treatment of enhanced dependencies: see `replace`."""


def read(source: Source, rules: ReadingRules = DEFAULT_RULES, **changes: Any) -> Iterator[Sentence]:
    """Read a treebank, one sentence at a time.

    A sentence is yielded as soon as the blank line after it has been read, so there is no delay with pipes, and memory
    does not grow with the file.  Further blank lines belong to the next sentence; those at the end of the file are
    appended to the last sentence when they are reached.

    Parameters
    ----------
    source : str, Path or stream
        A file, ``-`` for standard input, or an open stream of bytes or text.  Files and standard input may be
        compressed by gzip.  The text must be UTF-8, with or without a byte order mark.
    rules : ReadingRules
        Columns that are required or ignored, and limits.
    **changes
        Fields of the rules to change, such as ``require_heads=True``.

    Yields
    ------
    Sentence
        With ``heads``, int32[n], or None where the column HEAD is ``_`` for any word.

    Raises
    ------
    DataError
        At the first malformed line: columns, numbering, heads out of range or in a cycle, bytes that are not UTF-8, a
        sentence or a file without words, a line or a sentence that is too long.  Several roots are not an error.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> import io
    >>> text = "1\\tDet\\t_\\tP\\tPD\\t_\\t2\\tsubj\\t_\\t_\\n2\\tregner\\t_\\tV\\tVA\\t_\\t0\\tROOT\\t_\\t_\\n\\n"
    >>> sentence = next(read(io.StringIO(text)))
    >>> sentence.forms, sentence.heads
    (['Det', 'regner'], array([2, 0], dtype=int32))
    """
    opened, rules = open_input(source), rules._replace(**changes)
    return _read(opened, rules)


def _read(opened: OpenedInput, rules: ReadingRules) -> Iterator[Sentence]:
    """Yield the sentences of an opened file: see `read`."""
    sentence: Sentence | None = None
    blank = ""
    for unit in read_units(opened, rules, stop=True):
        if isinstance(unit, MalformedUnit):
            raise unit.error()
        if isinstance(unit, Sentence):
            sentence = unit
            yield sentence
        else:
            blank = unit
    if sentence is not None:
        sentence.lines.extend(blank.splitlines(keepends=True))
    elif not rules.may_be_empty:
        raise DataError(opened.name, 1, "no sentences; the file is empty or blank")


def read_all(source: Source, rules: ReadingRules = DEFAULT_RULES, **changes: Any) -> list[Sentence]:
    """Return all sentences of a treebank; parameters and errors as for `read`.

    Equal strings of their columns are stored once, so that the sentences take half the memory.

    Examples
    --------
    >>> import io
    >>> first, second = read_all(io.StringIO(("1\\tRegn" + "\\t_" * 8 + "\\n\\n") * 2))
    >>> first.rows[0][1] is second.rows[0][1]
    True
    """
    return interned(read(source, rules, **changes))


def interned(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return sentences whose equal strings are stored once."""
    return [dataclasses.replace(each, rows=[list(map(sys.intern, row)) for row in each.rows]) for each in sentences]


Comments: TypeAlias = "Mapping[str, object] | Iterable[tuple[str, object]]"
"""Comments of a sentence: keys and values."""


def replace(
    sentence: Sentence,
    heads: ArrayLike,
    labels: Iterable[str | None] | None = None,
    comments: Comments = (),
    graph: Graph | None = None,
    *,
    deps: str | None = None,
) -> str:
    """Return the text of a sentence with another tree; every other byte is unchanged.

    The enhanced dependencies in DEPS belong to the sentence's own tree.  If they are dropped, DEPS is ``_``, and empty
    nodes are removed.

    Parameters
    ----------
    sentence : Sentence
        Sentence of ``n`` words.
    heads : array_like of int, shape (n,)
        The head of each word, from 1; 0 is the root, and -1 is written as ``_``.
    labels : iterable of n str, optional
        None leaves the column DEPREL unchanged.
    comments : mapping or iterable of (key, value)
        Written as ``# key = value`` below the existing comments; a comment with the same key is replaced.
    graph : list, optional
        The enhanced graph (`nonproj.io.graphs.Graph`) that replaces the one of the sentence, unless this is kept.
    deps : {"keep", "drop"}, optional
        Whether the sentence keeps its enhanced dependencies; by default, only if its tree is unchanged, with a warning
        if it loses any.

    Raises
    ------
    ValueError
        ``heads`` or ``labels`` has the wrong length.

    Examples
    --------
    >>> import io
    >>> text = "1\\tDet\\t_\\tP\\tPD\\t_\\t2\\tsubj\\t_\\t_\\n2\\tregner\\t_\\tV\\tVA\\t_\\t0\\tROOT\\t_\\t_\\n\\n"
    >>> sentence = next(read(io.StringIO(text)))
    >>> print(replace(sentence, [0, 1], comments={"agreed": True}).expandtabs(6), end="")
    # agreed = True
    1     Det   _     P     PD    _     0     subj  _     _
    2     regner _     V     VA    _     1     ROOT  _     _
    <BLANKLINE>
    """
    given: list[int] = np.asarray(heads).tolist()
    n = len(sentence.rows)
    if len(given) != n:
        raise ValueError(f"heads has {len(given)} entries, {n} expected, one for each word")
    lines, word_lines = _lines(sentence), sentence.word_lines if sentence.lines else range(n)
    names: list[str | None] = [None] * n if labels is None else list(labels)
    if len(names) != n:
        raise ValueError(f"labels has {len(names)} entries, {n} expected")
    texts = [str(head) if head >= 0 else "_" for head in given]
    cells, empty = ([""] * n, []) if graph is None or deps == KEEP else as_columns(graph)
    drop = deps == DROP or (deps != KEEP and (graph is not None or not has_tree(sentence, given, names)))
    if drop and deps is None and graph is None and any(count_enhanced(sentence)):
        message = "enhanced dependencies and empty nodes belong to the tree of the input and are left out"
        warnings.warn(f"{message}; nonproj.write(..., deps='keep') keeps them", stacklevel=2)
    for index, head, label, cell in zip(word_lines, texts, names, cells, strict=True):
        columns = lines[index].split("\t", 9)
        columns[HEAD] = head
        if label is not None:
            columns[DEPREL] = label
        if cell or (drop and ":" in columns[DEPS]):  # without a colon: PHEAD of CoNLL-X
            columns[DEPS] = cell or "_"
        lines[index] = "\t".join(columns)
    if drop:
        lines = ["" if _is_empty_node(line) else line for line in lines]
    for name, cell in reversed(empty):
        index = word_lines[int(name.partition(".")[0]) - 1]
        ending = "\r\n" if lines[index].endswith("\r\n") else "\n"
        lines[index] = lines[index].rstrip("\r\n") + ending
        lines.insert(index + 1, "\t".join([name, *"_______", cell, f"_{ending}"]))
    if comments:
        _comment(lines, dict(comments))
    return _text(lines, sentence)


def count_enhanced(sentence: Sentence) -> tuple[int, int]:
    """Return the number of words with enhanced dependencies, and the number of empty nodes.

    Examples
    --------
    >>> import io
    >>> lines = "1\\ta\\t_\\tX\\t_\\t_\\t0\\troot\\t0:root\\t_\\n", "1.1\\tb\\t_\\tX\\t_\\t_\\t_\\t_\\t1:obj\\t_\\n"
    >>> count_enhanced(next(read(io.StringIO("".join(lines)))))
    (1, 1)
    """
    return sum(":" in row[DEPS] for row in sentence.rows), sum(map(_is_empty_node, sentence.lines))


def _is_empty_node(line: str) -> bool:
    return "." in line[:20] and _EMPTY_NODE.match(line) is not None


def has_tree(sentence: Sentence, heads: Iterable[int], labels: Iterable[str | None]) -> bool:
    """Return whether a tree is the one in the columns of a sentence; parameters as for `replace`."""
    return all(
        row[HEAD] == (str(head) if head >= 0 else "_") and label in (None, row[DEPREL])
        for row, head, label in zip(sentence.rows, heads, labels, strict=True)
    )


def _lines(sentence: Sentence) -> list[str]:
    """Return the lines of a sentence, or those of its rows if it comes from no file."""
    return sentence.lines.copy() or ["\t".join(row) + "\n" for row in sentence.rows] + ["\n"]


def _text(lines: Iterable[str], sentence: Sentence) -> str:
    """Return the text of a sentence's lines, with columns in the order of its file."""
    return "".join(lines if sentence.order is None else (restored(line, sentence.order) for line in lines))


def comments_of(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of the comments above a sentence; a comment without ``=`` has an empty value.

    Examples
    --------
    >>> list(comments_of(Sentence([], lines=["# sent_id = a1\\n", "# newpar\\n"])))
    [('sent_id', 'a1'), ('newpar', '')]
    """
    for line in sentence.lines:
        if (line := line.removeprefix(BOM)).startswith("#"):
            key, _, value = line[1:].partition("=")
            yield key.strip(), value.strip()


def _comment(lines: list[str], comments: dict[str, object]) -> None:
    """Insert comments below the existing ones; a comment with the same key is replaced."""
    bare = [line.removeprefix(BOM) for line in lines]
    position = next(index for index, line in enumerate(bare) if line[:1].isdigit())
    ending = "\r\n" if lines[position].endswith("\r\n") else "\n"
    places = {line[1:].partition("=")[0].strip(): index for index, line in enumerate(bare[:position]) if "=" in line}
    added = []
    for key, value in comments.items():
        line = f"# {key} = {' '.join(str(value).split())}{ending}"
        if key in places:
            index = places[key]
            lines[index] = BOM + line if lines[index].startswith(BOM) else line
        else:
            added.append(line)
    if added and lines[position].startswith(BOM):
        lines[position] = bare[position]
        added[0] = BOM + added[0]
    lines[position:position] = added


def write(
    sentences_with_trees: Iterable[Sentence | tuple[Any, ...] | str],
    target: str | Path | BinaryIO | TextIO,
    *,
    deps: str | None = None,
) -> int:
    """Write sentences with their predicted trees, and return the number of sentences.

    Parameters
    ----------
    sentences_with_trees : iterable of Sentence or tuple
        ``(sentence, heads)``, optionally followed by ``labels``, ``comments`` and ``graph``, as for `replace`; if
        ``heads`` is None, the sentence is written unchanged, as is a sentence by itself, or a string.
    target : str, Path or stream
        A file (see `open_output`), or an open stream of bytes or text.
    deps : {"keep", "drop"}, optional
        See `replace`.

    Raises
    ------
    FileError
        The file cannot be written; no incomplete file is left behind.

    Examples
    --------
    >>> import io
    >>> text = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n\\n\\n\\n"
    >>> target = io.StringIO()
    >>> write(read(io.StringIO(text)), target)
    1
    >>> target.getvalue() == text
    True
    """
    if not hasattr(target, "write"):
        with open_output(target) as stream:
            return write(sentences_with_trees, stream, deps=deps)
    out: Any = target
    put = out.write if hasattr(out, "encoding") else lambda text: out.write(text.encode())
    count, sentence, lines_written = 0, None, 0
    for item in sentences_with_trees:
        if isinstance(item, str):
            put(item)
            continue
        sentence, heads, *rest = (item, None) if isinstance(item, Sentence) else item
        lines_written = len(sentence.lines)
        put(_text(_lines(sentence), sentence) if heads is None else replace(sentence, heads, *rest, deps=deps))
        count += 1
    if sentence is not None and (blank := "".join(sentence.lines[lines_written:])):
        put(blank)  # at the end of the file: see `read`
    return count
