"""Parallel parsing: a file is split at sentence boundaries, and the results return in order.

A worker reads, parses and formats a piece exactly as one process does, so the caller only concatenates texts.  Each
worker process maps the model file, so all workers of a machine share its pages.
"""

from __future__ import annotations

import io
import itertools
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from nonproj.errors import ModelError, NonprojError
from nonproj.evaluation.certificates import ParseRecord, TextOptions, annotate
from nonproj.io import conll, splitting
from nonproj.io.broken import STOP, MalformedUnit, Unit, until_error
from nonproj.io.files import Source
from nonproj.io.splitting import Piece
from nonproj.io.temporary import reason
from nonproj.kernels.threads import PerThread
from nonproj.model.container import checksum_of
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.pipeline.parser import Parser
from nonproj.text.formats import TextInput, TextPiece
from nonproj.text.input import split_text, split_text_units
from nonproj.text.lexicon import UserLexicon
from nonproj.types import Sentence
from nonproj.workers.pool import Workers, in_order

TEXT_PIECE = 1 << 14
"""Minimum number of characters of text in a task: small, so that all workers finish at about the same time."""

# -- in a worker -------------------------------------------------------------------------------------------------------


class ModelRef(NamedTuple):
    """A reference from which a worker rebuilds the caller's parser.

    Attributes
    ----------
    path : str
        The model file, readable by every worker.
    digest : bytes
        Its fingerprint, to detect a different file at the same path.
    decoding : DecodingConfig
    tags, proofs, lexicon : str, bool, and UserLexicon or None
        As for `nonproj.pipeline.parser.Parser`.
    """

    path: str
    digest: bytes
    decoding: DecodingConfig
    tags: str = "missing"
    proofs: bool = False
    lexicon: UserLexicon | None = None

    @classmethod
    def of(cls, path: str | Path, decoding: DecodingConfig, tags: str = "missing", proofs: bool = False) -> ModelRef:
        """Return a reference to an existing model file."""
        path = Path(path).absolute()
        return cls(str(path), fingerprint(path), decoding, tags, proofs)


def fingerprint(path: str | Path) -> bytes:
    """Return the checksum in a model file, which covers all of its contents: see `nonproj.model.container`."""
    try:
        with open(path, "rb") as stream:
            return checksum_of(stream)
    except OSError as error:
        raise ModelError(f"{path}: {reason(error)}") from None


_lock = threading.Lock()
_models: dict[tuple[str, bytes], Model] = {}
_parsers: PerThread[dict[ModelRef, Parser]] = PerThread(dict)


def keep(reference: ModelRef, model: Model) -> None:
    """Make `parser_of` use a model that is already loaded, in all threads of this process."""
    with _lock:
        _models.clear()
        _models[reference.path, reference.digest] = model


def parser_of(reference: ModelRef) -> Parser:
    """Return this thread's parser; threads of a process share the model."""
    if reference in _parsers.own:
        return _parsers.own[reference]
    parser = Parser(_model(reference), reference.decoding, reference.tags, reference.proofs, reference.lexicon)
    _parsers.renewed()[reference] = parser
    return parser


def _model(reference: ModelRef) -> Model:
    """Load the model; errors name the worker's machine."""
    key = (reference.path, reference.digest)
    with _lock:
        if key not in _models:
            hint = f"on the worker {socket.gethostname()}; all workers need the same file, as on a shared filesystem"
            try:
                model, digest = Model.load(reference.path), fingerprint(reference.path)
            except ModelError as error:
                raise ModelError(f"{error} {hint}") from None
            if digest != reference.digest:
                raise ModelError(f"{reference.path}: a different model {hint}")
            _models.clear()
            _models[key] = model
        return _models[key]


class ParsedPiece(NamedTuple):
    """A parsed piece.

    Attributes
    ----------
    text : str
        The sentences with their trees.
    records : list of ParseRecord and MalformedUnit
        One for each sentence, with malformed ones in their place.
    error : NonprojError or None
        The error of the sentence after the last parsed one.
    numbered : int
        Number of sentences found in plain text.
    """

    text: str
    records: list[ParseRecord | MalformedUnit]
    error: NonprojError | None = None
    numbered: int = 0


Task: TypeAlias = "Piece | TextPiece | MalformedUnit"
"""The input of a worker: a piece, or a malformed unit between pieces."""


def parse_piece(reference: ModelRef, options: TextOptions, piece: Task) -> ParsedPiece:
    """Parse the sentences of a piece, up to the first error or, depending on the options, skipping malformed ones."""
    parser = parser_of(reference)
    stream = io.StringIO(newline="")
    records: list[ParseRecord | MalformedUnit] = []
    errors: list[NonprojError] = []
    units = list(_units(parser, options, piece))
    if options.on_error == STOP:
        parses = until_error(parser.parse_all(until_error(units, errors)), errors)
    else:
        parses = parser.try_all(units)
    conll.write(annotate(parses, options.comments, records.append, options.confidence), stream, deps=options.deps)
    numbered = sum(isinstance(unit, Sentence) for unit in units)
    return ParsedPiece(stream.getvalue(), records, errors[0] if errors else None, numbered)


def _units(parser: Parser, options: TextOptions, piece: Task) -> Iterable[Unit]:
    """Return the sentences of a piece, including malformed ones."""
    if isinstance(piece, TextPiece):
        return parser.segmenter.sentences(piece, options.plain or TextInput())
    return piece.units(options.rules) if isinstance(piece, Piece) else [piece]


# -- in the caller -----------------------------------------------------------------------------------------------------


def tasks_of(source: Source, options: TextOptions) -> Iterator[Task]:
    """Split a treebank or plain text into tasks for workers, determined by the input and the options alone."""
    if options.plain:
        divide = split_text if options.on_error == STOP else split_text_units
        return divide(source, options.plain, TEXT_PIECE)
    return splitting.split(source, rules=options.rules, stop=options.on_error == STOP)


def tasks_and_ends(source: Source, options: TextOptions) -> Iterator[tuple[Task, bool]]:
    """Yield the tasks of a file (see `tasks_of`), at least one, each with a flag that is true for the last.

    An error in the file comes after the task before it, which is then not the last.

    Examples
    --------
    >>> word = b"1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> [end for _, end in tasks_and_ends(io.BytesIO(word), TextOptions())]
    [True]
    """
    tasks = tasks_of(source, options)
    task = next(tasks, Piece(b"", "", 1))
    while True:
        try:
            after = next(tasks, None)
        except NonprojError:
            yield task, False
            raise
        yield task, after is None
        if after is None:
            return
        task = after


Key = TypeVar("Key")


def parse_tasks(
    workers: Workers, reference: ModelRef, tasks: Iterable[tuple[Key, Task]], options: TextOptions
) -> Iterator[tuple[Key, ParsedPiece]]:
    """Parse tasks, each with its key, and yield the results in order, each with the key of its task."""
    tasks, named = itertools.tee(tasks)
    calls = ((reference, options, task) for _, task in tasks)
    for parsed, (key, _) in zip(in_order(workers, parse_piece, calls, rehearse=True), named, strict=False):
        yield key, parsed
