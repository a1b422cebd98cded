"""Time of ``nonproj annotate``: for the tree after a drop, and to open a large file.

    python -m research.benchmarks.annotation TREEBANK MODEL [MODEL ...]  # needs the workbench: make setup-workbench

A server runs in a process of its own, as for an annotator.  In sentences of about 40 words of the treebank, heads are
dropped on words at random: each drop is a decision, the rest of the tree is decoded again under all decisions so far,
and the edit is in the journal before the answer.  The time is that from the request to the whole answer, in
milliseconds, on one connection.  The large file has 10,000 sentences, the treebank's, repeated.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import resource
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.io import conll
from nonproj.io.checks import ReadingRules
from nonproj_workbench.annotation.session import Session
from nonproj_workbench.annotation.storage import Storage
from research.attack.live import Live

SHORTEST, LONGEST = 36, 44
"""The lengths of the sentences in words."""

WARM_UP = 20
"""The number of drops that are not counted."""

LARGE = 10_000
"""The number of sentences of the large file."""


class Server:
    """A running ``nonproj annotate``, and a connection to it."""

    def __init__(self, *words: str):
        self.live = Live("annotate", "-q", *words)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.live.port)

    def ask(self, path: str, body: Any = None) -> tuple[int, Any, float]:
        """Return status, answer, and the milliseconds until it was complete."""
        data = None if body is None else json.dumps(body)
        headers = {"X-Token": self.live.token, "Content-Type": "application/json"}
        start = time.perf_counter()
        self.connection.request("POST" if data else "GET", f"/api/{path}", data, headers)
        response = self.connection.getresponse()
        text = response.read()
        return response.status, json.loads(text), 1000 * (time.perf_counter() - start)

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self.live.end()


def drops(server: Server, count: int, chance: random.Random) -> np.ndarray:
    """Return the milliseconds of ``count`` accepted drops, after `WARM_UP` others."""
    lengths = server.ask("file")[1]["sentences"]["words"]
    chosen = [i for i, n in enumerate(lengths) if SHORTEST <= n <= LONGEST]
    if not chosen:
        raise SystemExit(f"the treebank has no sentence of {SHORTEST} to {LONGEST} words")
    found: list[float] = []
    for i in cycle(chosen):
        sentence = server.ask(f"sentence/{i}")[1]
        words = chance.sample(range(1, len(sentence["words"]) + 1), 8)
        for word in words:
            head = chance.choice([h for h in range(len(sentence["words"]) + 1) if h != word])
            edit = {"version": sentence["version"], "edit": {"op": "head", "word": word, "head": head}}
            status, answer, milliseconds = server.ask(f"sentence/{i}", edit)
            if status == 200:
                found.append(milliseconds)
                sentence = answer["sentence"]
        if len(found) >= count + WARM_UP:
            return np.array(found[WARM_UP : WARM_UP + count])
    raise AssertionError


def opening(texts: list[str], folder: Path) -> tuple[float, float]:
    """Return the processor seconds to open the large file, and to answer the first request for its list."""
    path = folder / "large.conllu"
    path.write_text("".join(islice(cycle(texts), LARGE)), encoding="utf-8", newline="")
    start = seconds()
    with Session(Storage(path)) as session:
        opened = seconds()
        json.dumps(session.file(), ensure_ascii=False)
        return opened - start, seconds() - opened


def seconds() -> float:
    """Return the processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure the times of nonproj annotate.")
    parser.add_argument("treebank")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--drops", type=int, default=400)
    options = parser.parse_args()
    texts = ["".join(sentence.lines) for sentence in conll.read(options.treebank, ReadingRules(ignore_heads=True))]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for model in options.models:
            path = folder / "trees.conllu"
            path.write_text("".join(texts), encoding="utf-8", newline="")
            server = Server(str(path), "-m", model)
            try:
                times = drops(server, options.drops, random.Random(1))
            finally:
                server.end()
            p50, p99 = np.percentile(times, [50, 99])
            line = f"{Path(model).name}: {len(times)} drops, {SHORTEST} to {LONGEST} words"
            sys.stdout.write(f"{line}: p50 {p50:.1f} ms, p99 {p99:.1f} ms\n")
        opened, listed = opening(texts, folder)
    sys.stdout.write(f"{LARGE} sentences: {opened:.2f} s of processor time to open, {listed:.2f} s to list\n")


if __name__ == "__main__":
    main()
