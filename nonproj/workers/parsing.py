"""Parsing and evaluation by workers: a file is split between sentences, and the results come back in order.

A worker reads, parses and formats a piece exactly as one process does, so the caller only concatenates texts.  Each
worker process maps the model file, so all workers of a machine share its pages.
"""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from nonproj.errors import DataError, ModelError, NonprojError
from nonproj.evaluation.certificates import DEFAULT_TEXT, ParseRecord, TextOptions, annotate
from nonproj.evaluation.parsing import WARM_UP, evaluate_parser
from nonproj.evaluation.scores import Evaluation
from nonproj.io import conll, splitting
from nonproj.io.checks import Rules
from nonproj.io.splitting import Piece
from nonproj.io.temporary import reason
from nonproj.model import Model
from nonproj.options.config import DecodingConfig
from nonproj.pipeline import Parser
from nonproj.text.input import TextPiece, split_text
from nonproj.text.output import renumber
from nonproj.workers.pool import in_order

TEXT_PIECE = 1 << 14
"""Least number of characters of text in a task: few, so that no worker has much to do when others have finished."""

# -- in a worker -------------------------------------------------------------------------------------------------------


class ModelRef(NamedTuple):
    """A reference from which a worker builds the caller's parser.

    Attributes
    ----------
    path : str
        The model file, which every worker must be able to read.
    digest : bytes
        Its fingerprint, which guards against a different file under the same path.
    decoding : DecodingConfig
    tags : str
        See `nonproj.pipeline.Parser`.
    """

    path: str
    digest: bytes
    decoding: DecodingConfig
    tags: str = "missing"

    @classmethod
    def of(cls, path: str | Path, decoding: DecodingConfig, tags: str = "missing") -> ModelRef:
        """Return a reference to an existing model file."""
        path = Path(path).absolute()
        return cls(str(path), fingerprint(path), decoding, tags)


def fingerprint(path: str | Path) -> bytes:
    """Return the 32-byte checksum in a model file, which covers all of its content: see `nonproj.model`."""
    try:
        with open(path, "rb") as stream:
            return stream.read(64)[32:]
    except OSError as error:
        raise ModelError(f"{path}: {reason(error)}") from None


_lock = threading.Lock()
_models: dict[tuple[str, bytes], Model] = {}
_of_thread = threading.local()


def make_parser(model: Model, decoding: DecodingConfig, tags: str) -> Parser:
    """Return a parser; with ``decoding.joint`` one that decides tags and trees jointly."""
    if not decoding.joint:
        return Parser(model, decoding, tags)
    from nonproj.joint.parser import JointParser  # imports and compiles what other parsing does not need

    return JointParser(model, decoding, tags)


def parser_of(reference: ModelRef) -> tuple[Parser, bool]:
    """Return this thread's parser and whether it is new; threads of a process share the model."""
    if getattr(_of_thread, "reference", None) == reference:
        return _of_thread.parser, False
    _of_thread.parser = make_parser(_model(reference), reference.decoding, reference.tags)
    _of_thread.reference = reference
    return _of_thread.parser, True


def _model(reference: ModelRef) -> Model:
    """Load the model; errors name the machine of the worker."""
    key = (reference.path, reference.digest)
    with _lock:
        if key not in _models:
            hint = (
                f"on the worker {socket.gethostname()}; all workers must see the same file, as on a shared filesystem"
            )
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
    records : list of ParseRecord
        One for each sentence.
    error : NonprojError or None
        The error of the sentence after these.
    """

    text: str
    records: list[ParseRecord]
    error: NonprojError | None


def parse_piece(reference: ModelRef, options: TextOptions, piece: Piece | TextPiece) -> ParsedPiece:
    """Parse the sentences of a piece of a treebank or of plain text, up to the first error."""
    parser, _ = parser_of(reference)
    stream, records, errors = io.StringIO(newline=""), [], []
    sentences = piece.read(parser.segmenter, options.plain) if options.plain else piece.read(options.rules)
    parses = parser.parse_all(conll.until_error(sentences, errors))
    try:
        items = annotate(parses, options.comments, records.append, options.confidence)
        conll.write(items, stream, keep_deps=options.keep_deps)
    except DataError as error:  # a sentence that is too long
        errors = [error]
    return ParsedPiece(stream.getvalue(), records, errors[0] if errors else None)


def evaluate_piece(reference: ModelRef, rules: Rules, piece: Piece) -> Evaluation:
    """Parse the sentences of a piece and compare the trees with the gold trees."""
    parser, new = parser_of(reference)
    return evaluate_parser(parser, piece.read(rules), warm_up=WARM_UP if new else 0)


# -- in the caller -----------------------------------------------------------------------------------------------------


def parse_text(
    workers, reference: ModelRef, source, stream: TextIO, options: TextOptions = DEFAULT_TEXT
) -> Iterator[ParseRecord]:
    """Parse a treebank or plain text with workers and write the text that one process would write.

    Parameters
    ----------
    workers : Processes or Cluster
    reference : ModelRef
    source : str, Path or stream
        See `nonproj.io.conll.read` and `nonproj.text.input.read_text`.
    stream : TextIO
        Written to in the order of the input.
    options : TextOptions

    Yields
    ------
    ParseRecord
        Of each sentence, once its text is written.

    Raises
    ------
    DataError, FileError
        The input is malformed; the sentences before the error are written.
    ClusterError, ModelError
        The workers fail.
    """
    plain, count = options.plain, 0
    pieces = split_text(source, plain, TEXT_PIECE) if plain else splitting.split(source, rules=options.rules)
    for parsed in in_order(workers, parse_piece, ((reference, options, piece) for piece in pieces), True):
        stream.write(renumber(parsed.text, count) if plain else parsed.text)
        count += len(parsed.records)
        yield from parsed.records
        if parsed.error:
            raise parsed.error


def evaluate_text(workers, reference: ModelRef, source, progress: Callable[..., Any], rules: Rules) -> Evaluation:
    """Parse and evaluate a treebank with workers; ``seconds`` is their total time divided by their number.

    ``progress(iterable, description)`` wraps a loop over the sentences; ``rules`` say how they are read.
    """
    evaluation, seconds, pieces = Evaluation(), 0.0, 0

    def sentences():
        """Collect the pieces, and yield once for each sentence, for the progress bar."""
        nonlocal seconds, pieces
        tasks = ((reference, rules, piece) for piece in splitting.split(source, rules=rules))
        for part in in_order(workers, evaluate_piece, tasks, rehearse=True):
            evaluation.extend(part)
            seconds, pieces = seconds + part.seconds, pieces + 1
            yield from range(len(part))

    for _ in progress(sentences(), "evaluate"):
        pass
    evaluation.seconds = seconds / min(workers.size, pieces)
    return evaluation
