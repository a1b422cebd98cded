"""The file on disk: a lock, a journal, and the file itself, which is written soon after an edit.

Each edit is appended to a journal next to the file before it is answered, so a killed process loses nothing; the file
is rewritten atomically a moment later, because that takes long for a large one.  The journal is locked while the file
is open, and disappears at the end.  Its lines are JSON:

- ``{"state": DIGEST}``: at this point the sentences are those of the file with this digest
- ``{"at": I, "remove": K, "insert": [TEXT, ...]}``: K sentences from I on are replaced

If a file with a journal is opened, the edits after the last state with the file's digest are repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nonproj.errors import FileError, NonprojError
from nonproj.io import conll
from nonproj.io.beside import is_at, open_locked
from nonproj.io.checks import ReadingRules
from nonproj.io.files import OpenedInput, check_folder, open_input, open_output, unpacked
from nonproj.io.temporary import reason
from nonproj_workbench.annotation.replacing import unless

SUFFIX = ".journal"
"""Suffix of a journal's name, after that of its file."""

_FIRST = b'{"state": "'
"""The beginning of a journal; a killed process may have written only a part of it."""

log = logging.getLogger("nonproj")


class LockError(NonprojError):
    """The file is open in another process, or was changed by another program."""


class Storage:
    """A file that is open for annotation.

    Parameters
    ----------
    path : str or Path
        A CoNLL-U or CoNLL-X file, possibly compressed if its name ends in ``.gz``.
    rules : ReadingRules
        Rules for reading the file; heads may have any values.

    Attributes
    ----------
    texts : list of str
        The lines of each sentence when the file was opened, with the edits of the journal.
    repeated : int
        The number of edits of a killed process that were repeated from the journal.

    Raises
    ------
    LockError
        Another process has the file open, or the journal is of another file.
    FileError, DataError
        The file cannot be read or written, or is malformed.
    """

    def __init__(self, path: str | Path, rules: ReadingRules | None = None):
        self.name, self.path = str(path), Path(os.path.realpath(path))
        self.journal = self.path.with_name(self.path.name + SUFFIX)
        if not self.path.is_file():
            raise FileError(self.name, "no such file" if not self.path.exists() else "not a file")
        if not os.access(self.path, os.W_OK):
            raise FileError(self.name, "cannot be written: permission denied; -o OUT writes another file")
        check_folder(self.path)
        self._descriptor = self._lock()
        self._writing = threading.Lock()
        self.repeated = 0
        try:
            self._facts = _facts(self.path)
            self.texts = read_texts(self.name, self.path, (rules or ReadingRules())._replace(ignore_heads=True))
            self._digest = digest_of(self.texts)
            self._repeat()
            self._mark()
        except BaseException:
            self._release(keep=True)
            raise

    # -- the journal ---------------------------------------------------------------------------------------------------

    def _lock(self) -> int:
        """Open and lock the journal; return its descriptor."""
        try:
            return open_locked(self.journal)
        except BlockingIOError:
            raise LockError(self.name, "is open in another 'nonproj annotate'; end it first") from None

    def _repeat(self) -> None:
        """Repeat the edits in the journal that are not in the file."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with open(os.dup(self._descriptor), "rb") as stream:
            lines = stream.read().split(b"\n")
        if not lines[0].startswith(_FIRST[: len(lines[0])]):
            raise FileError(str(self.journal), "is not a journal of 'nonproj annotate'; move it elsewhere")
        os.ftruncate(self._descriptor, sum(len(line) + 1 for line in lines[:-1]))  # the last one is incomplete
        records = []
        for line in lines[:-1]:
            with contextlib.suppress(ValueError, TypeError):
                record = json.loads(line)
                if isinstance(record, dict):
                    records.append(record)
        states = [i for i, record in enumerate(records) if record.get("state") == self._digest]
        edits = [record for record in records[states[-1] if states else 0 :] if "at" in record]
        if not states and edits:
            message = f"was changed by another program after {len(edits)} edits that are only in {self.journal}"
            raise LockError(self.name, f"{message}: restore the file, or remove the journal, which loses the edits")
        try:
            for record in edits:
                at, count = record["at"], record["remove"]
                self.texts[at : at + count] = record["insert"]
        except (KeyError, TypeError):
            raise LockError(str(self.journal), "is damaged; remove it, which loses the edits in it") from None
        self.repeated = len(edits)

    def _mark(self) -> None:
        """Start the journal anew, unless it has edits that are not in the file."""
        if not self.repeated:
            os.ftruncate(self._descriptor, 0)
            self._append({"state": self._digest})

    def _append(self, record: dict[str, Any]) -> None:
        """Append a line to the journal, and wait until it is on disk."""
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        data = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fdatasync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise FileError(str(self.journal), f"cannot be written: {reason(error)}") from None

    def add(self, at: int, count: int, texts: Sequence[str]) -> None:
        """Record that sentences are replaced.

        Raises
        ------
        LockError
            The journal was removed, or the file was changed by another program.
        FileError
            The journal cannot be written; the edit is lost.
        """
        if not is_at(self.journal, self._descriptor):
            raise LockError(self.name, f"has lost its lock: {self.journal} was removed; start again")
        if _facts(self.path) != self._facts:
            with self._writing:  # it may be this process that has just replaced the file
                self._check_facts(self.path)
        self._append({"at": at, "remove": count, "insert": list(texts)})

    # -- the file ------------------------------------------------------------------------------------------------------

    def _check_facts(self, path: Path) -> None:
        """Raise `LockError` if another program has changed the file, which may have another name by now."""
        if _facts(path) != self._facts:
            raise self._changed()

    def _check_content(self, path: Path) -> None:
        """Raise `LockError` if another program has changed the file, even if its size and time are unchanged."""
        self._check_facts(path)
        if _content_digest(path) != self._digest:
            raise self._changed()

    def _changed(self) -> LockError:
        text = "was changed by another program and is left as it is; later edits are only in"
        return LockError(self.name, f"{text} {self.journal}: download your version, then start again")

    def mark(self, texts: Sequence[str]) -> str:
        """Record that the file is about to get these sentences; return their digest, for `write`.

        No sentence may be replaced before this returns.
        """
        digest = digest_of(texts)
        self._append({"state": digest})
        return digest

    def write(self, texts: Sequence[str], digest: str) -> None:
        """Replace the file; errors as for `add`."""
        with self._writing:
            self._check_facts(self.path)
            with open_output(self.path, unless(self._check_content)) as stream:
                stream.writelines(texts)
            self._facts, self._digest = _facts(self.path), digest

    def forget(self) -> None:
        """Empty the journal; all of its edits are in the file."""
        os.ftruncate(self._descriptor, 0)
        self._append({"state": self._digest})

    def close(self, texts: Sequence[str] | None) -> None:
        """Write the file, if it lacks any edits, and release it.

        Raises
        ------
        LockError, FileError
            The file cannot be written; the journal remains, and has the edits.
        """
        try:
            if texts is not None:
                self.write(texts, self.mark(texts))
        except BaseException:
            self._release(keep=True)
            raise
        self._release(keep=False)

    def _release(self, keep: bool) -> None:
        """Release the lock, and remove the journal or, if it has edits, keep it."""
        if is_at(self.journal, self._descriptor) and not (keep and os.fstat(self._descriptor).st_size):
            self.journal.unlink()
        os.close(self._descriptor)


def read_texts(name: str, path: Path, rules: ReadingRules) -> list[str]:
    """Return the lines of each sentence of a file; errors name it ``name``."""
    stream, _, closing = open_input(path)
    with closing:
        first = stream.peek(2)[:2]
        if (first == b"\x1f\x8b") != path.name.endswith(".gz"):
            what = "is not compressed, though its name ends in .gz" if first != b"\x1f\x8b" else "is compressed by gzip"
            raise FileError(name, f"{what}; rename it first")
        sentences = conll.read(OpenedInput(stream, name, contextlib.nullcontext()), rules)
        found = list(sentences)  # a sentence gets the blank lines at the end of the file after it was yielded
    if found and (found[0].order or found[0].lines[found[0].word_lines[0]].count("\t") > 9):
        raise FileError(name, "has other columns than the ten of CoNLL-U; only those can be annotated")
    return ["".join(sentence.lines) for sentence in found]


def digest_of(texts: Sequence[str]) -> str:
    """Return a digest of the content of a file.

    Examples
    --------
    >>> digest_of(["a", "b"]) == digest_of(["ab"])
    True
    """
    found = hashlib.blake2b(digest_size=16)
    for text in texts:
        found.update(text.encode())
    return found.hexdigest()


def _content_digest(path: Path) -> str:
    """Return the digest of a file's uncompressed content; an empty string if it cannot be read."""
    found = hashlib.blake2b(digest_size=16)
    try:
        stream, _, closing = open_input(path)
        with closing:
            content = unpacked(stream)
            while block := content.read(1 << 20):
                found.update(block)
    except (FileError, OSError, EOFError, zlib.error):
        return ""
    return found.hexdigest()


def _facts(path: Path) -> tuple[int, int, int, int]:
    """Return device, inode, size and time of a file, which change when another program writes it."""
    try:
        facts = os.stat(path)
    except OSError:
        return (0, 0, 0, 0)
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns
