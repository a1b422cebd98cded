"""Parsing task by task: ``nonproj parse`` with workers, several files, or ``--resume`` after a killed run."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from nonproj.cli.common import optional_output, progress_bar, worker_pool
from nonproj.cli.targets import ParseTarget
from nonproj.errors import ConfigError, FileError, counted, one_line
from nonproj.evaluation.certificates import ParseLog, ParseRecord, TextOptions
from nonproj.io.broken import SKIP, STOP, MalformedUnit
from nonproj.io.files import OpenedInput, is_direct
from nonproj.io.tables import open_table
from nonproj.io.temporary import reason
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.text.output import renumber
from nonproj.workers.parsing import ModelRef, ParsedPiece, Task, keep, parse_tasks, tasks_and_ends
from nonproj.workers.partial import JobLog, Record, file_digest, task_digest

PARTIAL = "parse.partial"
"""The log of a resumable job of several files, in the folder of its outputs."""

log = logging.getLogger("nonproj")


def partial_of(options: argparse.Namespace) -> str:
    """Return the path of ``OUT.partial``; raise `ConfigError` if input or output is not a file."""
    if options.to_folder:
        return os.path.join(options.output, PARTIAL)
    if options.output == "-" or is_direct(options.output):
        raise ConfigError("--resume", "needs a file to write: -o OUT")
    if options.input == "-" or not os.path.isfile(options.input):
        raise ConfigError("--resume", "needs a file to parse: a pipe cannot be read again")
    return f"{options.output}.partial"


def parse(
    options: argparse.Namespace, model: Model, decoding: DecodingConfig, text: TextOptions, source: OpenedInput
) -> ParseLog:
    """Parse files task by task; each output appears when complete, and after an error those of earlier files remain.

    With ``--resume``, ``OUT.partial`` records the completed tasks of the current file, and the completed files.
    Malformed sentences are then found task by task even if they stop the job, so that it can be resumed with ``skip``.

    ``source`` is the first file; the progress bar shows how much of it has been read if it is the only one.
    """
    reference = ModelRef.of(options.model, decoding, options.tags, bool(options.proofs))
    reference = reference._replace(lexicon=options.lexicon)
    keep(reference, model)
    files = [_File.of(target, options) for target in options.targets]
    partial: JobLog | None = None
    with contextlib.ExitStack() as stack:
        if options.resume:
            facts = _facts(options, decoding, text, reference) | {"input": "" if options.to_folder else files[0].digest}
            partial = stack.enter_context(JobLog(partial_of(options), facts))
        pool = stack.enter_context(worker_pool(options))
        lines, proofs = (stack.enter_context(optional_output(path)) for path in (options.stats, options.proofs))
        job = _Job(options, text, partial, lines, proofs)
        job.run(files, pool, reference, None if options.to_folder else source)
    if partial:
        partial.remove()
    return job.totals


def _digest(task: Task) -> str:
    """Return the digest of a task, independent of the name of the input."""
    return task_digest(task._replace(path=""))


class _File(NamedTuple):
    """A file to parse; without ``--resume``, only the target is set.

    Attributes
    ----------
    target : ParseTarget
    digest : str
        The digest of its contents.
    key : str
        Its identifier in the log.
    age : tuple of int
        Size in bytes and time of modification in nanoseconds.
    """

    target: ParseTarget
    digest: str = ""
    key: str = ""
    age: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, target: ParseTarget, options: argparse.Namespace) -> _File:
        """Return a file with its digests; the key depends on the input's name only with ``--stats``."""
        if not options.resume:
            return cls(target)
        age = _age(target.source)  # before it is read, so that a later change is noticed
        digest = file_digest(target.source)
        return cls(target, digest, task_digest((target.output, digest, target.source if options.stats else "")), age)


def _age(path: str) -> tuple[int, int]:
    try:
        facts = os.stat(path)
    except OSError as error:
        raise FileError(path, reason(error)) from None
    return facts.st_size, facts.st_mtime_ns


def _facts(
    options: argparse.Namespace, decoding: DecodingConfig, text: TextOptions, reference: ModelRef
) -> dict[str, Any]:
    """Return the properties that must be the same when a job is resumed."""
    form = text.plain.format if text.plain else "treebank"
    named: dict[str, Any] = {f"decoding.{name}": value for name, value in dataclasses.asdict(decoding).items()}
    named |= {"--tag": options.tags, "the format of the input": form, "--token-ranges": options.token_ranges}
    named |= {"--breaks": options.breaks, "--lexicon": task_digest(reference.lexicon)}
    named |= {"--stats-comments": text.comments, "--deps": text.deps}
    named |= {"--max-line": text.rules.max_line, "--confidence": text.confidence.write, "--stats": bool(options.stats)}
    named["--min-confidence"] = text.confidence.minimum
    if options.stats and not options.to_folder:
        named["the name of the input"] = options.input
    return {"model": reference.digest.hex(), "options": named}


class _Job:
    """The parsing of all files, and the work completed so far.

    ``partial`` has a record for each complete file, then records for the completed tasks of the current one.

    Attributes
    ----------
    totals : ParseLog
    """

    def __init__(
        self,
        options: argparse.Namespace,
        text: TextOptions,
        partial: JobLog | None,
        statistics: TextIO | None,
        proofs: TextIO | None,
    ):
        self.options, self.text, self.partial, self.statistics, self.proofs = options, text, partial, statistics, proofs
        self.totals, self.lines = ParseLog(None), io.StringIO()
        self._start_file(partial.begin if partial else 0)

    def _start_file(self, place: int) -> None:
        """Forget the previous file; the records of the next one begin at ``place`` in the log."""
        self.place, self.is_complete, self.numbered = place, False, 0
        self.log = ParseLog(self.lines if self.statistics else None, self.proofs)

    def run(self, files: list[_File], pool: Any, reference: ModelRef, source: OpenedInput | None) -> None:
        """Parse the files that are not complete."""
        text, done = self.text, list[str]()
        if self.partial:
            text = text._replace(on_error=SKIP)
            files, done = self._restore(self.partial, files)
        results = parse_tasks(pool, reference, self._tasks(files, done, text, source), text)
        progress = progress_bar(self.options, source)
        for file in files:
            if self.options.to_folder:
                make_folder(os.path.dirname(file.target.output))
            with open_table(file.target.output, self.options.format) as stream:
                for record in self.partial.records(self.place) if self.partial else ():
                    self._write(stream, record.output.decode(), record.statistics.decode())
                for _ in progress(self._parse(file, results, stream), "parse"):
                    pass
                if self.partial and _age(file.target.source) != file.age:
                    again = "start again" if self.options.to_folder else f"remove {self.partial.path} and start again"
                    raise FileError(file.target.source, f"has changed during the run; {again}")
            self._finish(file)

    def _tasks(
        self, files: list[_File], done: list[str], text: TextOptions, source: OpenedInput | None
    ) -> Iterator[tuple[tuple[str, bool], Task]]:
        """Yield the tasks that are not done, with keys: the task's digest, and whether it is the last of its file."""
        for file in files:
            tasks = tasks_and_ends(source or file.target.source, text)
            for digest in done:
                task, _ = next(tasks, (None, True))
                if self.partial and (task is None or _digest(task) != digest):
                    raise FileError(str(self.partial.path), "is damaged: it does not match this input; remove it")
            done = []
            for task, is_last in tasks:
                yield (_digest(task) if self.partial else "", is_last), task

    def _parse(
        self, file: _File, results: Iterator[tuple[tuple[str, bool], ParsedPiece]], stream: Any
    ) -> Iterator[ParseRecord | MalformedUnit]:
        """Parse the rest of a file, and yield its records once they are written and saved."""
        while not self.is_complete:
            (task, self.is_complete), parsed = next(results)
            self._keep(file, task, parsed, stream)
            yield from parsed.records

    def _restore(self, partial: JobLog, files: list[_File]) -> tuple[list[_File], list[str]]:
        """Restore completed work; return the incomplete files, and the digests of the first one's completed tasks."""
        complete, tasks = dict[str, tuple[ParseLog, bytes]](), list[str]()
        state: dict[str, Any] = {}
        try:
            for record in partial.records():
                state = record.state
                if state["file"] == record.task:
                    complete[record.task], tasks = (self._log_of(partial, state), record.statistics), []
                    self.place = partial.end
                else:
                    tasks.append(record.task)
            left = [file for file in files if file.key not in complete or not os.path.isfile(file.target.output)]
            if not tasks or not left or state["file"] != left[0].key:
                partial.shorten(self.place)
                tasks = []
            else:
                self.log.extend(self._log_of(partial, state))
                self.numbered = int(state["numbered"])
                self.is_complete = bool(state["is_complete"])
        except (KeyError, TypeError, ValueError):
            raise FileError(str(partial.path), "is damaged; remove it") from None
        kept = {file.key for file in files if file not in left}
        for counts, statistics in (found for key, found in complete.items() if key in kept):
            self.totals.extend(counts)
            if self.statistics:
                self.statistics.write(statistics.decode())
        return left, tasks

    def _log_of(self, partial: JobLog, state: dict[str, Any]) -> ParseLog:
        """Return the counts in a state; raise an error if it is from a run with another ``--on-error``."""
        counts = ParseLog(None)
        counts.restore(state["log"])
        if counts.refused and state["on_error"] != self.text.on_error:
            message = f"--on-error was {state['on_error']} when this job was started, and is now {self.text.on_error}"
            raise FileError(str(partial.path), f"{message}; restore it, or remove this file to start again")
        return counts

    def _keep(self, file: _File, task: str, parsed: ParsedPiece, stream: Any) -> None:
        """Write and save the result of a task; raise the error of a malformed sentence if it stops the job."""
        for record in parsed.records:
            if isinstance(record, MalformedUnit) and self.text.on_error == STOP:
                raise record.error()
            self.log.add(record)
        output, lines = parsed.text, self.lines.getvalue()
        if self.text.plain:
            output = renumber(output, self.numbered, file.target.document)
        self.numbered += parsed.numbered
        self.lines.seek(0)
        self.lines.truncate()
        if self.partial:
            state = self._state(file) | {"numbered": self.numbered, "is_complete": self.is_complete}
            self.partial.append(Record(task, output.encode(), lines.encode(), state))
        self._write(stream, output, lines)
        if parsed.error:
            raise parsed.error

    def _write(self, stream: Any, output: str, lines: str) -> None:
        """Write the result of a task."""
        stream.write(output)
        if self.statistics:
            self.statistics.write(lines)

    def _finish(self, file: _File) -> None:
        """Count a file, whose output is complete; one record in the log replaces those of its tasks."""
        self.totals.extend(self.log)
        if self.partial:
            statistics = b"".join(record.statistics for record in self.partial.records(self.place))
            self.partial.shorten(self.place)
            self.partial.append(Record(file.key, b"", statistics, self._state(file)))
        if self.options.to_folder:
            figures = counted(self.log.sentences, "sentence"), counted(self.log.words, "word")
            log.info("%s: %s, %s", one_line(file.target.output), *figures)
        self._start_file(self.partial.end if self.partial else 0)

    def _state(self, file: _File) -> dict[str, Any]:
        return {"file": file.key, "log": self.log.state(), "on_error": self.text.on_error}


def make_folder(folder: str) -> None:
    """Make a folder that outputs are written to, unless it exists."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be made: {reason(error)}") from None


def summarise(options: argparse.Namespace, totals: ParseLog) -> None:
    """Write a line about all files to standard error."""
    if not options.quiet:
        files = counted(len(options.targets), "file", ",")
        figures = f"{counted(totals.sentences, 'sentence', ',')}, {counted(totals.words, 'word', ',')}"
        sys.stderr.write(f"{files} in {one_line(options.output)}: {figures}\n")
