"""Lane of changes by other programs while `annotate` writes the file: what they write is never lost."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nonproj.errors import NonprojError
from nonproj.io.files import check_folder, open_input, unpacked
from nonproj_workbench.annotation import replacing
from nonproj_workbench.annotation.storage import LockError, Storage
from research.attack import material
from research.attack.campaign import Lane
from research.attack.properties import check_message, require

SENTENCES = 400
"""The most sentences of a file; writing them takes some milliseconds."""


class Changes(Lane):
    """Saves a file while a forked process, or this one at the last moment, writes it, too."""

    name = "changes"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.texts = [f"{text}\n\n" for text in material.toy_treebank(SENTENCES, 9).split("\n\n") if text]
        self.exchange = replacing._exchange
        self.seconds = 0.01

    def case(self, rng: random.Random, number: int) -> str:
        """Save a file that another program changes."""
        path = self.folder / f"trees{number}.conll{rng.choice(('', '', '.gz'))}"
        texts = self.texts[: rng.randrange(1, SENTENCES)]
        other = "".join(texts).replace("e", "o").encode()  # as many bytes
        _write(path, "".join(texts).encode())
        moment = rng.choice((self._during, self._during, self._last_moment))
        change = rng.choice((rewrite, replace, keep_size_and_time))
        if moment == self._during and rng.random() < 0.2:
            change = look_for_leftovers
        edited = [f"# annotation = done\n{texts[0]}", *texts[1:]]
        self.current = {"case.txt": f"{change.__name__} {moment.__name__} {len(texts)}".encode(), "other": other}
        storage = Storage(path)
        try:
            with moment(rng, change, path, other):
                saved = self._save(storage, edited)
            self._check(storage, edited, saved, None if change is look_for_leftovers else other)
        finally:
            with contextlib.suppress(NonprojError):
                storage.close(None)
            for each in self.folder.glob(f"{path.name}*"):
                each.unlink()
        return f"{change.__name__.replace('_', ' ')}: {'saved' if saved else 'refused'}"

    def _save(self, storage: Storage, edited: list[str]) -> bool:
        """Save an edit; return whether that was done."""
        began = time.monotonic()
        try:
            storage.add(0, 1, edited[:1])
            storage.write(edited, storage.mark(edited))
        except LockError as error:
            check_message(error)
            return False
        self.seconds = 0.8 * self.seconds + 0.2 * (time.monotonic() - began)
        return True

    def _check(self, storage: Storage, edited: list[str], saved: bool, other: bytes | None) -> None:
        """Check that the other program's change is there, or was never made, and that the edit is somewhere."""
        left = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
        require(not left, f"temporary files are left: {left}")
        found = read(storage.path)
        if other is None:
            mine = "".join(edited).encode()
            require(saved and found == mine, "the edit is not in the file, which nobody else has written")
            return
        require(found == other, f"the other program's change is lost: {found[:200]!r}")
        with contextlib.suppress(LockError):
            storage.write(edited, storage.mark(edited))
            require(False, "a change that was made before is not noticed")
        require(read(storage.path) == other, "the other program's change is lost when the file is saved again")
        records = [json.loads(line) for line in storage.journal.read_text(encoding="utf-8").splitlines()]
        inserted = [text for record in records for text in record.get("insert", ())]
        require(saved or edited[0] in inserted or not inserted, "an edit that was accepted is not in the journal")

    @contextlib.contextmanager
    def _during(self, rng: random.Random, change: Callable, path: Path, other: bytes) -> Iterator[None]:
        """Fork a process that makes the change at a random moment; wait for its end."""
        moment = time.monotonic() + rng.uniform(0, 1.3) * self.seconds
        child = os.fork()
        if not child:
            code = 1
            try:
                while time.monotonic() < moment:
                    pass
                change(path, other)
                code = 0
            finally:
                os._exit(code)
        try:
            yield
        finally:
            _, status = os.waitpid(child, 0)
            require(status == 0, "the other program has failed")

    @contextlib.contextmanager
    def _last_moment(self, rng: random.Random, change: Callable, path: Path, other: bytes) -> Iterator[None]:
        """Make the change between the last look at the file and its renaming."""

        def late(first: Path, second: Path) -> bool:
            change(path, other)
            return self.exchange(first, second)

        replacing._exchange = late  # type: ignore[assignment]
        try:
            yield
        finally:
            replacing._exchange = self.exchange


# -- what other programs do --------------------------------------------------------------------------------------------


def rewrite(path: Path, data: bytes) -> None:
    """Empty the file, and write it anew."""
    _write(path, data)


def replace(path: Path, data: bytes) -> None:
    """Write another file, and rename it."""
    new = path.with_name(f"{path.name}.new")
    _write(new, data)
    new.rename(path)


def keep_size_and_time(path: Path, data: bytes) -> None:
    """Write the file in place, and restore its time."""
    facts = path.stat()
    _write(path, data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def look_for_leftovers(path: Path, data: bytes) -> None:
    """Remove what killed processes have left, as every output does before it is written."""
    for _ in range(20):
        check_folder(path.with_name("another"))


def read(path: Path) -> bytes:
    """Return the uncompressed content of a file."""
    stream, _, closing = open_input(path)
    with closing:
        return unpacked(stream).read()


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data) if ".gz" in path.name else data)
