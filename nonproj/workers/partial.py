"""The log of a resumable job: ``OUT.partial``, which a killed run leaves and the next run continues.

The file starts with a line that identifies the job: digests of input and model, options, version.  A record follows for
each task: a line with the digest of the task, the lengths of its outputs and the state after it, followed by these
outputs.  Records are appended, each with a checksum, so a record cut off by the death of a process or machine is
recognised and removed.  Input and options determine the tasks, so a run that resumes splits the input again, compares
the completed tasks, and continues with the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nonproj import __version__
from nonproj.errors import FileError
from nonproj.io.beside import open_locked
from nonproj.io.files import unwritable
from nonproj.io.temporary import reason

_FORMAT = "nonproj partial output 1"
_MAX_HEADER = 1 << 24
_DIGITS = 32

Facts = Mapping[str, Any]
"""The properties that must not change when a job is resumed, as JSON: ``model``, ``input``, and ``options`` by name."""


class Record(NamedTuple):
    """The result of one task of a job.

    Attributes
    ----------
    task : str
        The digest of the task.
    output, statistics : bytes
        The contributions of the task to the output files.
    state : dict
        The state from which the next task continues, as JSON values.
    """

    task: str
    output: bytes
    statistics: bytes
    state: dict[str, Any]


def task_digest(task: object) -> str:
    """Return a digest of a task: a tuple of numbers, strings and bytes."""
    return hashlib.blake2b(repr(task).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a file.

    Raises
    ------
    FileError
        The file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FileError(str(path), reason(error)) from None


class JobLog:
    """The log file of a resumable job; a context manager that locks it.

    Parameters
    ----------
    path : str or Path
    facts : Facts
        The properties of the job.

    Attributes
    ----------
    begin, end : int
        Offsets in the file: of the first record, and behind the record that was read or appended last.

    Raises
    ------
    FileError
        On entry: the file cannot be used; another run is writing it; it belongs to another job, and the message
        names the difference.

    Examples
    --------
    >>> import tempfile
    >>> facts = {"model": "3f", "input": "a0", "options": {"--nbest": 1}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "out.partial")
    ...     with JobLog(path, facts) as partial:
    ...         partial.append(Record("07", b"one", b"", {"sentences": 1}))
    ...     with JobLog(path, facts) as partial:
    ...         [(record.output, record.state) for record in partial.records()]
    [(b'one', {'sentences': 1})]
    """

    def __init__(self, path: str | Path, facts: Facts):
        self.path, self.facts = Path(path), facts

    def __enter__(self) -> JobLog:
        try:
            self._stream = open(open_locked(self.path), "r+b")
        except BlockingIOError:
            raise FileError(str(self.path), "another run is writing it") from None
        try:
            self._check()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # the buffer could not be written, and cannot be now
            self._stream.close()

    def _check(self) -> None:
        """Compare the first line with the facts, or write it; find the end of the complete records."""
        ours = {"format": _FORMAT, "version": __version__, **self.facts}
        first = self._stream.readline(_MAX_HEADER)
        is_whole, begin = first.endswith(b"\n"), f'{{"format": "{_FORMAT}"'.encode()
        theirs = _parsed(first) if is_whole else {}
        if theirs is None or not first.startswith(begin if is_whole else begin[: len(first)]):
            raise FileError(str(self.path), "was not written by 'nonproj parse --resume'; remove it")
        if not is_whole:
            self.shorten(0)
            self._write(json.dumps(ours).encode() + b"\n")
            self.begin = self.end = self._stream.tell()
            return
        self._compare(theirs, json.loads(json.dumps(ours)))
        self.begin = self._stream.tell()
        for _ in self.records():
            pass
        self.shorten(self.end)

    def _compare(self, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
        """Raise an error that names the difference."""
        for name, text in (("version", "version of nonproj"), ("model", "model"), ("input", "input")):
            if theirs.get(name) != ours[name]:
                raise FileError(str(self.path), f"the {text} has changed since this job was started; {_ADVICE}")
        before, now = theirs.get("options"), ours["options"]
        before = before if isinstance(before, dict) else {}
        for name in sorted(now.keys() | before.keys()):
            if before.get(name) != now.get(name):
                values = f"was {before.get(name)} when this job was started, and is now {now.get(name)}"
                raise FileError(str(self.path), f"{name} {values}; {_ADVICE}")

    def records(self, begin: int | None = None) -> Iterator[Record]:
        """Yield the complete records, from the first one or from the offset ``begin`` on."""
        self.end = self.begin if begin is None else begin
        self._stream.seek(self.end)
        while record := self._next():
            self.end = self._stream.tell()
            yield record

    def _next(self) -> Record | None:
        line = self._stream.readline(_MAX_HEADER)
        head = _parsed(line[_DIGITS:]) if line.endswith(b"\n") else None
        if head is None:
            return None
        try:
            sizes = [int(head["output"]), int(head["statistics"])]
            if min(sizes) < 0 or sum(sizes) > os.fstat(self._stream.fileno()).st_size:
                return None
            body = self._stream.read(sum(sizes))
            if len(body) < sum(sizes) or _checksum(line[_DIGITS:], body) != line[:_DIGITS]:
                return None
            return Record(str(head["task"]), body[: sizes[0]], body[sizes[0] :], dict(head["state"]))
        except (KeyError, TypeError, ValueError):
            return None

    def append(self, record: Record) -> None:
        """Append a record.

        Raises
        ------
        FileError
            It cannot be written, as on a full disk.
        """
        sizes = {"output": len(record.output), "statistics": len(record.statistics)}
        line = json.dumps({"task": record.task, **sizes, "state": record.state}).encode() + b"\n"
        body = record.output + record.statistics
        self._stream.seek(self.end)
        self._write(_checksum(line, body) + line + body)
        self.end = self._stream.tell()

    def shorten(self, place: int) -> None:
        """Truncate the file at an offset."""
        self._stream.seek(place)
        self._stream.truncate()
        self.end = place

    def _write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except OSError as error:
            raise unwritable(self.path, error) from None

    def remove(self) -> None:
        """Remove the file: the job is complete."""
        self.path.unlink(missing_ok=True)


_ADVICE = "restore it, or remove this file to start again"


def _checksum(line: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(line, digest_size=_DIGITS // 2)
    digest.update(body)
    return digest.hexdigest().encode()


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return a JSON object, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
