"""Files for the tests of workers: a treebank, a model, and the output of one process for a file."""

import functools
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from command import enter
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import splitting
from nonproj.io.checks import DEFAULT_RULES
from nonproj.workers import processes
from nonproj.workers.partial import JobLog, Record


def make_files(folder: Path, model: Path) -> Path:
    """Write a treebank, a copy of a model, a file, and the output of one process for it; return the folder."""
    (folder / "train.conll").write_text(treebank(30), encoding="utf-8")
    shutil.copy(model, folder / "toy.nonproj")
    text = treebank(90, seed=1)
    (folder / "in.conll").write_text("\n\n" + text.replace("\n\n", "\n\n\n \n", 5) + "\n \n", encoding="utf-8")
    words = ["--stats", str(folder / "one.jsonl"), "--stats-comments", "-o", str(folder / "one.conll")]
    assert main(["parse", str(folder / "toy.nonproj"), str(folder / "in.conll"), *words]) == 0
    return folder


def work_in(folder: Path, files: Path, monkeypatch) -> Path:
    """Change to a folder, with links to those files, and return it.

    All files are cut into small pieces, and workers are copies of this process, whatever threads other tests have left.
    """
    enter(folder, files, monkeypatch)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    monkeypatch.setattr(splitting, "split", functools.partial(splitting.split, size=1500))
    return folder


class _Killed(BaseException):
    """Ends a run like a kill, without any clean-up."""


def interrupted(monkeypatch, after: int, *words: str) -> int:
    """Run a command that is killed after a number of records; return the number of kept ones, or -1 if it ends."""
    kept, append = [], JobLog.append

    def appending(self, record: Record) -> None:
        if len(kept) == after:
            raise _Killed
        append(self, record)
        kept.append(record)

    with monkeypatch.context() as patch:
        patch.setattr(JobLog, "append", appending)
        try:
            main(list(words))
        except _Killed:
            return len(kept)
    return -1


def units_of_pieces(pieces: Iterable, rules=DEFAULT_RULES) -> Iterator:
    """Yield the units of the pieces of a treebank, and malformed units between them."""
    for piece in pieces:
        yield from piece.units(rules) if isinstance(piece, splitting.Piece) else [piece]
