"""Parsed sentences as data: lines of JSON, Parquet files, and data frames of pandas.

The source is always CoNLL text, from any program: comments such as ``# nonproj certified = true`` and attributes in
MISC such as ``Confidence=0.97`` become fields.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, cast

from nonproj.errors import DependencyError, FileError, closest, needs
from nonproj.io.checks import ReadingRules
from nonproj.io.conll import comments_of, read
from nonproj.io.copies import surface_tokens
from nonproj.io.files import Source, open_binary, open_output
from nonproj.io.kinds import FORMATS
from nonproj.types import Sentence

if TYPE_CHECKING:
    import pandas

SENTENCE_FIELDS = {"sentence": int, "sent_id": str, "certified": bool, "tree_confidence": float, "rank": int}
"""The columns of a frame that are the same for all words of a sentence, and their types."""

WORD_FIELDS = {
    "id": int,
    "form": str,
    "lemma": str,
    "upos": str,
    "xpos": str,
    "feats": str,
    "head": int,
    "label": str,
    "deps": str,
    "misc": str,
    "confidence": float,
    "label_confidence": float,
    "token": str,
    "space_after": bool,
    "start": int,
    "end": int,
}
"""The other columns and their types.  Absent values (``_``) are missing, except in the column FORM.

The last four are about the token of the text, which the words of a multiword token share: its form; false where no
space follows it; and its first character and the one after its last, if the file has them (``TokenRange``)."""

_RULES = ReadingRules(ignore_heads=True, may_be_empty=True)
_OUTPUT = _RULES._replace(max_line=1 << 40)  # the parser has checked its input by the rules of the user
_OWN = "nonproj "
"""Prefix of the comments that are statistics of a parse, in JSON."""

_LARGEST = 2**31 - 1
_CONFIDENCE = {"Confidence": "confidence", "LabelledConfidence": "label_confidence"}
_SPACE_AFTER = {"No": "false"}
_BLANK = re.compile(r"\n[ \t]*\r?\n")
_BUFFER, _ROWS = 1 << 18, 1 << 16
"""Number of characters that are converted at a time, and number of words that are written at a time."""


def record_of(sentence: Sentence, number: int) -> dict[str, Any]:
    """Return a sentence as plain Python values.

    Parameters
    ----------
    sentence : Sentence
    number : int
        Its position in the file, from 0.

    Returns
    -------
    dict
        ``sentence`` (the position), ``sent_id`` and ``text`` if the comments have them, the statistics of the parse
        that are in comments, such as ``certified`` and ``gap``, and ``words``, a list of dictionaries with
        `WORD_FIELDS`, without those that are absent.

    Examples
    --------
    >>> text = "# nonproj certified = true\\n1\\tRegn\\t_\\tNOUN\\t_\\t_\\t0\\troot\\t_\\tConfidence=0.9\\n\\n"
    >>> record_of(next(read(io.StringIO(text))), 0)["words"]
    [{'id': 1, 'form': 'Regn', 'upos': 'NOUN', 'head': 0, 'label': 'root', 'confidence': 0.9, 'token': 'Regn'}]
    """
    record: dict[str, Any] = {"sentence": number}
    for name, value in comments_of(sentence):
        if name in ("sent_id", "text"):
            record[name] = value
        elif name.startswith(_OWN):
            name, figure = name.removeprefix(_OWN), _figure(value)
            if figure is not None and name not in ("sentence", "sent_id", "text", "words"):
                record["tree_confidence" if name == "confidence" else name] = figure
    return record | {"words": list(map(_word, sentence.rows, _tokens(sentence)))}


def _figure(text: str) -> bool | int | float | None:
    """Return a truth value or a finite number; None for any other text of a comment."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) < 20 and text.removeprefix("-").isdecimal():
        return int(text)
    with contextlib.suppress(ValueError):
        return value if math.isfinite(value := float(text)) else None
    return None


def _tokens(sentence: Sentence) -> Iterator[tuple[str, str, str, str]]:
    """Yield the last four columns of each word."""
    for form, misc, words in surface_tokens(sentence):
        attributes = dict(attribute.partition("=")[::2] for attribute in misc.split("|"))
        start, _, end = attributes.get("TokenRange", "_").partition(":")
        yield from [(form, _SPACE_AFTER.get(attributes.get("SpaceAfter", ""), "_"), start, end)] * words


def _word(row: list[str], token: tuple[str, str, str, str]) -> dict[str, Any]:
    """Return the fields of a word that are present."""
    columns = [*row[:9], *_misc(row[9]), *token]
    word: dict[str, Any] = {}
    for (name, kind), value in zip(WORD_FIELDS.items(), columns, strict=True):
        if name in ("form", "token") or value not in ("_", ""):
            found = value if kind is str else _figure(value)
            if _fits(found, kind):  # files of other programs may have anything in HEAD and MISC
                word[name] = found
    return word


def _misc(column: str) -> tuple[str, str, str]:
    """Return the column MISC without the probabilities of head and label, and these two."""
    found, others = {}, []
    for attribute in column.split("|"):
        name, _, value = attribute.partition("=")
        if name in _CONFIDENCE:
            found[_CONFIDENCE[name]] = value
        else:
            others.append(attribute)
    return "|".join(others) or "_", found.get("confidence", "_"), found.get("label_confidence", "_")


def read_frame(source: Source) -> pandas.DataFrame:
    """Return a treebank, or an output of ``nonproj parse``, as a ``pandas.DataFrame`` with a row for each word.

    Its columns are `SENTENCE_FIELDS` and `WORD_FIELDS`, with the nullable types of pandas.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`; heads may be absent and need not form trees.

    Raises
    ------
    DataError, FileError
        As for `nonproj.io.conll.read`.

    Examples
    --------
    >>> frame = read_frame(io.StringIO("1\\tRegn\\t_\\tNOUN\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"))
    >>> frame[["sentence", "id", "form", "head"]].values.tolist()
    [[0, 1, 'Regn', 0]]
    """
    require_pandas()
    import pandas

    rows = list(_rows(record_of(sentence, number) for number, sentence in enumerate(read(source, _RULES))))
    types = {int: "Int64", float: "Float64", bool: "boolean", str: "string"}
    fields = SENTENCE_FIELDS | WORD_FIELDS
    columns = {name: pandas.array([row.get(name) for row in rows], types[kind]) for name, kind in fields.items()}
    return pandas.DataFrame(columns)


def require_pandas() -> None:
    """Raise `DependencyError` if pandas is not installed."""
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        raise DependencyError(needs("data frames need", "pandas", "objects")) from None


def _rows(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the fields of each word and its sentence."""
    for record in records:
        shared = {name: record[name] for name, kind in SENTENCE_FIELDS.items() if _fits(record.get(name), kind)}
        for word in record["words"]:
            yield shared | word


def _fits(value: object, kind: type) -> bool:
    """Return whether a value read from a file fits a column of a type."""
    if type(value) is int:
        return kind in (int, float) and abs(value) <= _LARGEST
    return type(value) is kind


# -- writing -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_table(path: str, form: str) -> Iterator[TextIO]:
    """Open a file for writing CoNLL text that is stored in another format; it appears when it is complete.

    Parameters
    ----------
    path : str
        ``-`` for standard output, except for Parquet.
    form : str
        One of `FORMATS`.

    Yields
    ------
    TextIO

    Raises
    ------
    FileError
        The file cannot be opened or written.
    NonprojError
        The package for the format is missing.
    """
    if form == "conllu":
        with open_output(path) as stream:
            yield stream
        return
    tables: dict[str, Any] = {"jsonl": _json_lines, "parquet": _parquet}
    with tables[form](path) as (add, flush), _Converted(add, flush) as converted:
        yield cast(TextIO, converted)


_Add: TypeAlias = Callable[[Iterable[dict[str, Any]]], None]
_Flush: TypeAlias = Callable[[], None]
"""Writers of a table: one function adds records of sentences, the other writes what is buffered."""


@contextlib.contextmanager
def _json_lines(path: str) -> Iterator[tuple[_Add, _Flush]]:
    """Open a file with a line of JSON for each sentence."""
    with open_output(path) as stream:
        yield lambda records: stream.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in records), stream.flush


@contextlib.contextmanager
def _parquet(path: str) -> Iterator[tuple[_Add, _Flush]]:
    """Open a Parquet file with a row for each word, in groups of `_ROWS`, which are written when they are full."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise DependencyError(needs("Parquet needs", "pyarrow", "columns")) from None
    if path == "-":
        raise FileError("-", "Parquet needs a file to write: -o OUT")
    if path.endswith(".gz"):
        raise FileError(path, "Parquet is compressed already; a name that ends in .parquet is expected")
    types = {int: pyarrow.int32(), float: pyarrow.float32(), bool: pyarrow.bool_(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in (SENTENCE_FIELDS | WORD_FIELDS).items()])
    waiting: list[dict[str, Any]] = []
    with open_binary(path) as stream, pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:

        def add(records: Iterable[dict[str, Any]]) -> None:
            for row in _rows(records):
                waiting.append(row)
                if len(waiting) == _ROWS:
                    write()

        def write() -> None:
            writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
            waiting.clear()

        yield add, lambda: None
        if waiting:
            write()


class _Converted(io.TextIOBase):
    """A stream of CoNLL text; complete sentences are passed on as records."""

    def __init__(self, add: _Add, flush: _Flush):
        self._add, self._flush = add, flush
        self._parts, self._size, self._count = list[str](), 0, 0

    def __exit__(self, *error: object) -> None:
        text, self._parts = "".join(self._parts), []
        if error[0] is None:
            self._convert(text)
        self.close()

    def write(self, text: str) -> int:
        """Buffer text; convert complete sentences once the buffer is full."""
        self._parts.append(text)
        self._size += len(text)
        if self._size >= _BUFFER:
            self._convert_complete()
        return len(text)

    def flush(self) -> None:
        """Convert and write all complete sentences."""
        if not self.closed:
            self._convert_complete()
            self._flush()

    def _convert_complete(self) -> None:
        text = "".join(self._parts)
        end = max((match.end() for match in _BLANK.finditer(text)), default=0)
        self._convert(text[:end])
        self._parts, self._size = [text[end:]], len(text) - end

    def _convert(self, text: str) -> None:
        if text.strip():
            sentences = list(read(io.StringIO(text, newline=""), _OUTPUT))
            self._add(record_of(sentence, self._count + i) for i, sentence in enumerate(sentences))
            self._count += len(sentences)


def format_of(path: str | Path, given: str | None) -> str:
    """Return the format of an output file: the given one, or that of its ending, CoNLL by default.

    Raises
    ------
    FileError
        The ending is .csv or .tsv, which are not written, or probably a misspelt .jsonl or .parquet.

    Examples
    --------
    >>> format_of("a.parquet", None), format_of("a.jsonl.gz", None), format_of("a.conllu", None)
    ('parquet', 'jsonl', 'conllu')
    >>> format_of("a.parquett", None)
    Traceback (most recent call last):
    nonproj.errors.FileError: a.parquett: unknown ending; did you mean .parquet? (--format conllu writes CoNLL-U)
    """
    _, dot, ending = Path(path).name.removesuffix(".gz").rpartition(".")
    if given or ending in FORMATS or not dot:
        return given or (ending if ending in FORMATS else "conllu")
    if ending.lower() in ("csv", "tsv"):
        advice = "use .parquet or .jsonl (--format conllu writes CoNLL-U, whose columns have tabs between them)"
        raise FileError(str(path), f"tables are not written as .{ending}; {advice}")
    near = closest(ending.lower(), FORMATS, cutoff=0.7)
    if near not in ("", "conllu"):
        raise FileError(str(path), f"unknown ending; did you mean .{near}? (--format conllu writes CoNLL-U)")
    return "conllu"
