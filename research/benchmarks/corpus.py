"""Many texts into tables by Dask, with workers that are killed: words, memory, and whether the tables are whole.

    python -m research.benchmarks.corpus MODEL TEXTS TABLES [--workers 2] [--kill 240] [--memory FILE]

Runs ``examples/corpus.py`` with local worker processes, kills one of them (SIGKILL) at regular times, in turns, and
samples their memory.  Afterwards every table is compared with its text: the forms of its words in their order must be
the text, but for blanks and control characters, which are in no word.  Exits with 1 if a table is missing or differs.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import resource
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import NamedTuple

from research.benchmarks.arrivals import children_of, memory_of

ROOT = Path(__file__).resolve().parents[2]

SAMPLE_SECONDS = 5.0


class Sample(NamedTuple):
    """Memory of a worker: seconds since the beginning, process ID, resident and proportional MiB."""

    seconds: float
    pid: int
    resident: float
    proportional: float


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a local cluster, the oldest first."""
    found = []
    for child in children_of(pid):
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"spawn_main" in words:
            found.append(child)
    return sorted(found)


def watch(process: subprocess.Popen[bytes], kill: float) -> tuple[list[Sample], int]:
    """Sample the memory of the workers until the end, and kill one whenever this number of seconds has passed."""
    samples: list[Sample] = []
    began, killed = time.monotonic(), 0
    while process.poll() is None:
        now = time.monotonic() - began
        try:
            workers = workers_of(process.pid)
            samples += [Sample(now, worker, *memory_of(worker)) for worker in workers]
            if workers and now > kill * (killed + 1):
                os.kill(workers[0], signal.SIGKILL)  # whose place a younger one takes
                killed += 1
        except (FileNotFoundError, ProcessLookupError, IndexError, KeyError):
            pass  # a process has ended meanwhile
        time.sleep(SAMPLE_SECONDS if samples else 0.1)
    return samples, killed


def difference(text: Path, table: Path) -> str:
    """Return how a table differs from its text; empty if it does not.

    Multiword tokens are compared by their words: in English, these are the parts of the token.
    """
    import pyarrow.parquet

    if not table.is_file():
        return "missing"
    with gzip.open(text, "rt", encoding="utf-8") if text.suffix == ".gz" else open(text, encoding="utf-8") as stream:
        wanted = _without_blanks(stream.read())
    forms = pyarrow.parquet.read_table(table, columns=["form"]).column("form").to_pylist()
    found = _without_blanks("".join(forms))
    if found == wanted:
        return ""
    where = next((i for i, (one, two) in enumerate(zip(found, wanted, strict=False)) if one != two), len(found))
    there = slice(where, where + 20)
    return f"{len(found)} characters, {len(wanted)} expected; {found[there]!r}, {wanted[there]!r} expected"


def _without_blanks(text: str) -> str:
    return "".join(each for each in text if not each.isspace() and unicodedata.category(each) != "Cc")


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument("tables", type=Path, metavar="TABLES")
    parser.add_argument("--workers", type=int, default=2, help="local worker processes (default: 2)")
    parser.add_argument("--kill", type=float, default=240.0, help="seconds between deaths (default: 240)")
    parser.add_argument("--memory", type=Path, metavar="FILE", help="write the samples of memory to a CSV file")
    options = parser.parse_args()
    words = [options.model, str(options.texts), str(options.tables), "--workers", str(options.workers)]
    with subprocess.Popen([sys.executable, str(ROOT / "examples" / "corpus.py"), *words]) as process:
        samples, killed = watch(process, options.kill)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if options.memory:
        with open(options.memory, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([Sample._fields, *samples])
    texts = sorted(options.texts.glob("*.txt*"))
    tables = [options.tables / f"{text.name.partition('.txt')[0]}.parquet" for text in texts]
    wrong = [
        f"{table.name}: {found}"
        for text, table in zip(texts, tables, strict=True)
        if (found := difference(text, table))
    ]
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    size = sum(table.stat().st_size for table in tables if table.is_file()) / 1e6
    most = max(samples, key=lambda sample: sample.resident, default=Sample(0, 0, 0, 0))
    sys.stdout.write(
        f"{killed} workers killed; {len(texts)} tables, {size:.1f} MB, {len(wrong)} missing or different\n"
    )
    sys.stdout.write(f"a worker had at most {most.resident:.0f} MiB, {most.proportional:.0f} MiB proportional; ")
    sys.stdout.write(f"client and workers that ended used {used.ru_utime + used.ru_stime:.0f} s of processor time\n")
    return int(bool(wrong) or process.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
