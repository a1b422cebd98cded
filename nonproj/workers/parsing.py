"""Parsing by many workers: a file in pieces out, texts in their order back.

A file is cut between sentences (`nonproj.io.splitting.cut`).  A worker reads, parses and lays out a piece as one
process does, and the caller only writes texts one after another.  Workers are those of `nonproj.workers.pool`; each
loads the model once, by its path, and maps it, so all workers of a machine share its pages.
"""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from nonproj.errors import ModelError, NonprojError
from nonproj.evaluation.scores import Evaluation
from nonproj.io import conll
from nonproj.io import splitting as cutting
from nonproj.io.files import reason
from nonproj.io.splitting import Piece
from nonproj.model import Model
from nonproj.options.config import DecodingConfig
from nonproj.pipeline import Parse, Parser
from nonproj.workers.pool import in_order

WARM_UP = 10
"""Sentences parsed before the clock starts, so that compilation is not counted."""


# -- what a worker does ------------------------------------------------------------------------------------------------


class Recipe(NamedTuple):
    """What a worker needs to have the caller's parser.

    Attributes
    ----------
    path : str
        The model, which every worker must be able to read.
    digest : bytes
        Its fingerprint, so that no worker uses another one.
    decoding : DecodingConfig
    """

    path: str
    digest: bytes
    decoding: DecodingConfig

    @classmethod
    def of(cls, path: str | Path, decoding: DecodingConfig) -> Recipe:
        """Describe a model that is there."""
        path = Path(path).absolute()
        return cls(str(path), fingerprint(path), decoding)


def fingerprint(path: str | Path) -> bytes:
    """Return the 32 bytes of a model file that depend on all others: see `nonproj.model`."""
    try:
        with open(path, "rb") as stream:
            return stream.read(64)[32:]
    except OSError as error:
        raise ModelError(f"{path}: {reason(error)}") from None


_lock = threading.Lock()
_loaded: dict[tuple[str, bytes], Model] = {}
_own = threading.local()


def parser_of(recipe: Recipe) -> tuple[Parser, bool]:
    """Return this worker's parser and whether it is new: a model for each process, a parser for each of its threads."""
    if getattr(_own, "recipe", None) == recipe:
        return _own.parser, False
    _own.parser, _own.recipe = Parser(_model(recipe), recipe.decoding), recipe
    return _own.parser, True


def _model(recipe: Recipe) -> Model:
    """Load the model, or say on which machine it is not what it should be."""
    key = (recipe.path, recipe.digest)
    with _lock:
        if key not in _loaded:
            hint = f"on the worker {socket.gethostname()}; all workers must see one file, as on a shared filesystem"
            try:
                model, digest = Model.load(recipe.path), fingerprint(recipe.path)
            except ModelError as error:
                raise ModelError(f"{error} {hint}") from None
            if digest != recipe.digest:
                raise ModelError(f"{recipe.path}: another model than here {hint}")
            _loaded.clear()
            _loaded[key] = model
        return _loaded[key]


def statistics(parse: Parse) -> dict:
    """Return what is known of a tree, as plain numbers: see `nonproj.types.Decoded`; ``gap`` is ``bound - score``."""
    decoded = parse.decoded
    return {
        "score": float(decoded.score),
        "bound": float(decoded.bound),
        "gap": float(decoded.bound - decoded.score),
        "agreed": bool(decoded.agreed),
        "certified": bool(decoded.certified),
        "iterations": int(decoded.iterations),
        "recomputed": float(decoded.recomputed),
        "nodes": int(decoded.nodes),
        "full": parse.pruned is not None,
        "changed": parse.changed,
    }


class Parsed(NamedTuple):
    """A parsed piece.

    Attributes
    ----------
    text : str
        What is to be written.
    facts : list of (path, line, words, statistics)
        Of each sentence.
    fault : NonprojError or None
        What is wrong with the sentence after these.
    """

    text: str
    facts: list[tuple[str, int, int, dict]]
    fault: NonprojError | None


def annotated(parses: Iterable[tuple], comments: bool, note: Callable[[tuple], object]) -> Iterator[tuple]:
    """Give what `nonproj.io.conll.write` takes, and tell ``note`` the facts of each sentence: see `Parsed`."""
    for sentence, parse in parses:
        facts = statistics(parse)
        note((sentence.path, sentence.line, len(sentence), facts))
        remarks = {f"nonproj {name}": json.dumps(value) for name, value in facts.items()} if comments else ()
        yield sentence, parse.decoded.heads, parse.labels, remarks


def until_fault(sentences: Iterable, faults: list[NonprojError]) -> Iterator:
    """Give sentences up to the first at fault, whose error goes to ``faults``, so that a batch it ends is parsed too.

    Examples
    --------
    >>> faults = []
    >>> len(list(until_fault(conll.read(io.StringIO("1\\ta\\n")), faults))), str(faults[0])
    (0, '<stream>:1: 2 columns, 10 expected')
    """
    try:
        yield from sentences
    except NonprojError as error:
        faults.append(error)


def parse_piece(recipe: Recipe, comments: bool, piece: Piece) -> Parsed:
    """Parse the sentences of a piece up to the first that is at fault."""
    parser, _ = parser_of(recipe)
    stream, facts, faults = io.StringIO(newline=""), [], []
    parses = parser.parse_all(until_fault(piece.read(), faults))
    conll.write(annotated(parses, comments, facts.append), stream)
    return Parsed(stream.getvalue(), facts, faults[0] if faults else None)


def evaluate_piece(recipe: Recipe, piece: Piece) -> Evaluation:
    """Parse the sentences of a piece and compare them with their gold trees; ``seconds`` is for parsing alone."""
    parser, new = parser_of(recipe)
    sentences = list(piece.read(require_heads=True))
    if new:
        for _ in parser.parse_all(sentences[:WARM_UP]):
            pass
    evaluation, begin = Evaluation(), time.perf_counter()
    parses = list(parser.parse_all(sentences))
    evaluation.seconds = time.perf_counter() - begin
    for sentence, parse in parses:
        evaluation.add(sentence, parse.decoded.heads, parse.labels, parse.decoded)
    return evaluation


# -- what the caller does ----------------------------------------------------------------------------------------------


def parse_text(workers, recipe: Recipe, source, stream: TextIO, comments: bool = False) -> Iterator:
    """Parse a treebank by workers and write the text that one process would write.

    Parameters
    ----------
    workers : Processes or Cluster
    recipe : Recipe
    source : str, Path or stream
        See `nonproj.io.conll.read`.
    stream : TextIO
        Written to in the order of the input.
    comments : bool
        Write the statistics above each sentence, too.

    Yields
    ------
    tuple
        ``(path, line, words, statistics)`` of each sentence, once its text is written.

    Raises
    ------
    DataError, FileError
        The input is wrong; what stands before that place is written.
    ClusterError, ModelError
        Workers cannot do their share.
    """
    tasks = ((recipe, comments, piece) for piece in cutting.cut(source))
    for parsed in in_order(workers, parse_piece, tasks):
        stream.write(parsed.text)
        yield from parsed.facts
        if parsed.fault:
            raise parsed.fault


def evaluate_text(workers, recipe: Recipe, source, progress: Callable) -> Evaluation:
    """Parse and evaluate a treebank by workers; ``seconds`` is theirs, summed, over their number.

    ``progress(iterable, description)`` wraps a loop over the sentences.
    """
    evaluation, seconds, pieces = Evaluation(), 0.0, 0

    def parts():
        """Add up the pieces, and give as many things as there are sentences, for the progress."""
        nonlocal seconds, pieces
        for part in in_order(workers, evaluate_piece, ((recipe, piece) for piece in cutting.cut(source))):
            evaluation.extend(part)
            seconds, pieces = seconds + part.seconds, pieces + 1
            yield from range(len(part))

    for _ in progress(parts(), "evaluate"):
        pass
    evaluation.seconds = seconds / min(workers.size, pieces)
    return evaluation
