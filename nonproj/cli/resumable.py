"""``nonproj parse --resume``: a job that continues after a killed run."""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from nonproj.cli.common import progress_bar, worker_pool
from nonproj.errors import ConfigError, FileError
from nonproj.evaluation.certificates import ParseLog, ParseRecord, TextOptions
from nonproj.io.broken import SKIP, STOP, Broken
from nonproj.io.files import Opened, is_direct, open_output
from nonproj.io.tables import open_table
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.workers.parsing import Joined, ModelRef, ParsedPiece, Task, keep, parse_piece, tasks_of
from nonproj.workers.partial import Partial, Record, file_digest, task_digest
from nonproj.workers.pool import InProcess, in_order


def partial_of(options: argparse.Namespace) -> str:
    """Return the path of ``OUT.partial``; raise `ConfigError` if input or output is not a file."""
    if options.output == "-" or is_direct(options.output):
        raise ConfigError("--resume", "needs a file to write: -o OUT")
    if options.input == "-" or not os.path.isfile(options.input):
        raise ConfigError("--resume", "needs a file to parse: a pipe cannot be read again")
    return f"{options.output}.partial"


def parse(
    options: argparse.Namespace, model: Model, decoding: DecodingConfig, text: TextOptions, source: Opened
) -> ParseLog:
    """Parse task by task; completed tasks are kept in ``OUT.partial``, and concatenated at the end."""
    before = _age(options.input)
    reference = ModelRef.of(options.model, decoding, options.tags)
    keep(reference, model)
    partial = Partial(partial_of(options), _facts(options, decoding, text, reference))
    workers = worker_pool(options)
    workers = InProcess() if isinstance(workers, nullcontext) else workers
    statistics = open_output(options.stats) if options.stats else nullcontext()
    with (
        partial,
        workers as pool,
        open_table(options.output, options.format, "surrogateescape") as stream,
        statistics as lines,
    ):
        job = _Job(partial, text, options)
        for _ in progress_bar(options, source)(job.run(pool, reference, source), "parse"):
            pass
        if _age(options.input) != before:
            raise FileError(options.input, f"has changed during the run; remove {partial.path} and start again")
        for record in partial.records():
            stream.write(record.output.decode("utf-8", "surrogateescape"))
            if lines:
                lines.write(record.statistics.decode())
    partial.remove()
    return job.totals


def _digest(task: Task) -> str:
    """Return the digest of a task, independent of the name of the input."""
    return task_digest(task if isinstance(task, str) else task._replace(path=""))


def _age(path: str) -> tuple[int, int]:
    facts = os.stat(path)
    return facts.st_size, facts.st_mtime_ns


def _facts(
    options: argparse.Namespace, decoding: DecodingConfig, text: TextOptions, reference: ModelRef
) -> dict[str, Any]:
    """Return the properties that must be the same when a job is resumed."""
    form = text.plain.format if text.plain else "treebank"
    named: dict[str, Any] = {f"decoding.{name}": value for name, value in dataclasses.asdict(decoding).items()}
    named |= {"--tag": options.tags, "the format of the input": form, "--token-ranges": options.token_ranges}
    named["--breaks"] = options.breaks
    named |= {"--stats-comments": text.comments, "--deps": text.deps, "--strict": text.rules.strict}
    named |= {"--max-line": text.rules.max_line, "--confidence": text.confidence.write, "--stats": bool(options.stats)}
    named |= {"--min-confidence": text.confidence.minimum, "--mark-unsure": text.confidence.mark}
    if options.stats:
        named["the name of the input"] = options.input
    return {"model": reference.digest.hex(), "input": file_digest(options.input), "options": named}


class _Job:
    """A job and its completed tasks.

    Attributes
    ----------
    totals : ParseLog
    """

    def __init__(self, partial: Partial, text: TextOptions, options: argparse.Namespace):
        self.partial, self.text = partial, text
        self.lines = io.StringIO()
        self.totals, self.joined = ParseLog(self.lines if options.stats else None), Joined(text.plain is not None)

    def run(self, pool: Any, reference: ModelRef, source: Opened) -> Iterator[ParseRecord | Broken]:
        """Parse the remaining tasks, and yield their records once they are saved.

        Malformed sentences are found task by task even if they stop the job, so that it can be resumed with ``skip``.
        """
        tolerant = self.text._replace(on_error=SKIP) if self.text.on_error == STOP else self.text
        tasks, digests = tasks_of(source, tolerant), deque[str]()
        self._restore(tasks)

        def calls() -> Iterator[tuple[ModelRef, TextOptions, Task]]:
            for task in tasks:
                digests.append(_digest(task))
                yield reference, tolerant, task

        for parsed in in_order(pool, parse_piece, calls(), rehearse=True):
            self._keep(digests.popleft(), parsed)
            yield from parsed.records

    def _restore(self, tasks: Iterator[Task]) -> None:
        """Skip the completed tasks, and continue from the state after them."""
        state = None
        for record in self.partial.records():
            task = next(tasks, None)
            if task is None or _digest(task) != record.task:
                raise FileError(str(self.partial.path), "is damaged: it does not match this input; remove it")
            state = record.state
        if state is None:
            return
        try:
            self.totals.restore(state["log"])
            self.joined.numbered, self.joined.pending = int(state["numbered"]), str(state["pending"])
            on_error = state["on_error"]
        except (KeyError, TypeError, ValueError):
            raise FileError(str(self.partial.path), "is damaged; remove it") from None
        if self.totals.refused and on_error != self.text.on_error:
            message = f"--on-error was {on_error} when this job was started, and is now {self.text.on_error}"
            raise FileError(str(self.partial.path), f"{message}; restore it, or remove this file to start again")

    def _keep(self, task: str, parsed: ParsedPiece) -> None:
        """Save the result of a task; raise the error of a malformed sentence if it stops the job."""
        for record in parsed.records:
            if isinstance(record, Broken) and self.text.on_error == STOP:
                raise record.error()
            self.totals.add(record)
        output, lines = self.joined.add(parsed), self.lines.getvalue()
        self.lines.seek(0)
        self.lines.truncate()
        state = {"log": self.totals.state(), "numbered": self.joined.numbered, "pending": self.joined.pending}
        state["on_error"] = self.text.on_error
        kept = Record(task, output.encode("utf-8", "surrogateescape"), lines.encode(), state)
        self.partial.append(kept)
