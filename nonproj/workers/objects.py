"""Parallel parsing of sentences in memory."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from nonproj.model.model import Model
from nonproj.pipeline.compiling import compile_for_parsing
from nonproj.pipeline.parser import BATCH, Parser, batches
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence
from nonproj.workers.parsing import ModelRef, parser_of
from nonproj.workers.pool import in_order
from nonproj.workers.processes import Processes

CHUNK = 4 * BATCH
"""Number of sentences per call: large enough to make the cost of sending them small."""


def parse_sentences(reference: ModelRef, sentences: list[Sentence]) -> list[tuple[Sentence, Parse]]:
    """Return the parses of some sentences; called in a worker."""
    return list(parser_of(reference).parse_all(sentences))


def parse_in_processes(parser: Parser, sentences: Iterable[Sentence], jobs: int) -> Iterator[tuple[Sentence, Parse]]:
    """Parse sentences as a parser does, with processes that read its model from a temporary file.

    Parameters
    ----------
    parser : Parser
        The parser; it parses inputs of at most one chunk itself.
    sentences : iterable of Sentence
    jobs : int
        Number of processes; -1 for one per core.

    Yields
    ------
    Sentence, Parse
        In the order of the sentences.
    """
    groups = batches(sentences, CHUNK)
    first, second = next(groups, []), next(groups, [])
    if not second:
        yield from parser.parse_all(first)
        return
    model: Model = parser.model
    with tempfile.TemporaryDirectory(prefix="nonproj-") as folder, Processes(jobs) as workers:
        path = Path(folder) / "model.nonproj"
        model.save(path)
        compile_for_parsing(str(path), model, parser.decoding)
        reference = ModelRef.of(path, parser.decoding, parser.request.tags)._replace(lexicon=parser.request.lexicon)
        tasks = ((reference, group) for group in itertools.chain([first, second], groups))
        for parses in in_order(workers, parse_sentences, tasks):
            yield from parses
