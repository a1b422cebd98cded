"""Parse a folder of plain texts into a folder of Parquet files, with the workers of a Dask cluster.

python examples/corpus.py my.nonproj texts parsed --scheduler tcp://10.0.0.1:8786
python examples/corpus.py my.nonproj texts parsed --workers 4

A file, ``.txt`` or ``.txt.gz``, is one call.  The worker reads it and writes its table, so the process that runs this
program handles only names, and any number of workers may write at a time.  All machines see the folders under the same
path.  A table appears when it is complete; those that exist are not made again, so an interrupted run continues.  If a
worker dies, another one repeats its file.  Its memory is that of a model and a few hundred kilobytes of text.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from distributed import LocalCluster, get_worker

import nonproj
from nonproj.io.tables import open_table
from nonproj.workers.cluster import Cluster
from nonproj.workers.pool import in_order

CHUNK = 1 << 16
"""Characters of text that are parsed together, up to the next empty line."""


def loaded(model: str) -> nonproj.TextParser:
    """Return a parser, loaded once by each worker, which keeps it."""
    kept = vars(get_worker()).setdefault("parsers", {})
    if model not in kept:
        kept[model] = nonproj.load(model, confidence=False)
    return kept[model]


def chunks(path: str) -> Iterator[str]:
    """Yield the text of a file in chunks that end at empty lines."""
    found: list[str] = []
    size = 0
    with gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8") as stream:
        for line in stream:
            found.append(line)
            size += len(line)
            if size >= CHUNK and not line.strip():
                yield "".join(found)
                found, size = [], 0
    yield "".join(found)


def parse_file(model: str, source: str, target: str) -> tuple[str, int, float]:
    """Parse a text into a table; return its name, the number of words, and the seconds of the processor."""
    began, words = time.process_time(), 0
    with open_table(target, "parquet") as table:
        for document in loaded(model).pipe(chunks(source)):
            table.write(document.to_conllu(certificates=True))
            words += sum(1 for _ in document.words)
    return target, words, time.process_time() - began


@contextlib.contextmanager
def workers_of(options: argparse.Namespace) -> Iterator[Cluster]:
    """Connect to a cluster, or start one of processes on this machine."""
    if options.scheduler:
        with Cluster(options.scheduler) as workers:
            yield workers
        return
    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as local,
        Cluster(local.scheduler_address) as workers,
    ):
        yield workers


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="a file that all machines see, or the name of a package installed on all")
    parser.add_argument("texts", type=Path, help="folder with .txt and .txt.gz files")
    parser.add_argument("tables", type=Path, help="folder for a .parquet file for each of them")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    parser.add_argument("--workers", type=int, default=2, help="without it: number of local processes (default: 2)")
    options = parser.parse_args(arguments)
    options.tables.mkdir(parents=True, exist_ok=True)
    sources = sorted([*options.texts.glob("*.txt"), *options.texts.glob("*.txt.gz")])
    names = {source: options.tables.resolve() / f"{source.name.partition('.txt')[0]}.parquet" for source in sources}
    tasks = [(options.model, str(one.resolve()), str(path)) for one, path in names.items() if not path.exists()]
    sys.stdout.write(f"{len(tasks)} of {len(sources)} texts to parse\n")
    total, seconds, began = 0, 0.0, time.perf_counter()
    with workers_of(options) as workers:
        for path, words, used in in_order(workers, parse_file, tasks):
            total, seconds = total + words, seconds + used
            sys.stdout.write(f"{Path(path).name}: {words} words, {used:.1f} s\n")
            sys.stdout.flush()
    wall = max(time.perf_counter() - began, 1e-9)
    sys.stdout.write(f"{total} words, {seconds:.1f} s of the workers' processors, {wall:.1f} s elapsed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
