"""Speed of a trained parser: file to file, and stage by stage, on one core.

    python -m benchmarks.bench models/danish-grandparent.nonproj data/danish/danish_ddt_test.conll

The file is parsed once to compile and to warm the caches, then ``--repeat`` times.  Every run appends a line to
``benchmarks/history.csv`` with the commit it was measured on; seconds on different machines do not compare.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from nonproj import conll
from nonproj.model import Model
from nonproj.pipeline import Parser

HISTORY = Path(__file__).with_name("history.csv")
STAGES = ("read", "encode", "prune", "score", "decode", "label", "write")


def stages(parser: Parser, path: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds of each stage over one file, and figures about the decoding."""
    seconds: dict[str, float] = defaultdict(float)

    def timed(name, function, *arguments):
        begin = time.perf_counter()
        result = function(*arguments)
        seconds[name] += time.perf_counter() - begin
        return result

    facts = defaultdict(float)
    sentences = timed("read", lambda: list(conll.read(path)))
    for sentence in sentences:
        tokens = timed("encode", parser.encode, sentence)
        arcs = timed("prune", parser.prune, tokens)
        index, scores = timed("score", parser.score, tokens, arcs)
        decoded = timed("decode", parser.decode, arcs, index, scores)
        labels = timed("label", parser.label, tokens, decoded.heads)
        timed("write", conll.replace, sentence, decoded.heads, labels)
        facts["words"] += len(sentence)
        facts["arcs_per_word"] += len(arcs.head)
        facts["parts_per_word"] += sum(map(len, scores))
        facts["iterations"] += decoded.iterations / len(sentences)
        facts["certified"] += decoded.certified / len(sentences)
        facts["automata_per_word"] += decoded.recomputed * decoded.iterations * (len(sentence) + 1)
    for name in ("arcs_per_word", "parts_per_word", "automata_per_word"):
        facts[name] /= facts["words"]
    return seconds, facts


def end_to_end(parser: Parser, path: str, repeat: int) -> float:
    """Return words a second, file to file."""
    words = 0
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        for _ in range(repeat):
            parses = parser.parse_all(conll.read(path))
            rows = ((sentence, parse.decoded.heads, parse.labels) for sentence, parse in parses)
            with conll.open_output(os.path.join(folder, "out.conll")) as stream:
                conll.write(rows, stream)
        seconds = time.perf_counter() - begin
        words = repeat * sum(len(sentence) for sentence in conll.read(path))
    return words / seconds


def first_parse(model: str, path: str) -> float:
    """Return the seconds a fresh process takes to parse one sentence."""
    first = next(iter(conll.read(path)))
    begin = time.perf_counter()
    command = [sys.executable, "-m", "nonproj", "parse", "-m", model, "-", "-q"]
    subprocess.run(command, input="".join(first.lines).encode(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def commit() -> str:
    """Return the commit of the source, with a plus sign where it has been changed since."""

    def git(*arguments):
        return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=HISTORY.parent).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--", "../nonproj") else "")


def measure(model: str, path: str, repeat: int) -> dict:
    """Return one line of the history."""
    parser = Parser(Model.load(model))
    stages(parser, path)
    seconds, facts = stages(parser, path)
    row = {"commit": commit(), "model": Path(model).stem, "file": Path(path).name}
    row["words_per_second"] = round(end_to_end(parser, path, repeat))
    row |= {f"{name}_us": round(1e6 * seconds[name] / facts["words"], 2) for name in STAGES}
    row |= {name: round(value, 3) for name, value in facts.items()}
    row["first_parse_s"] = round(first_parse(model, path), 2)
    row["peak_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return row


def main() -> None:
    """Measure, print, and append to the history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=5, help="times the file is parsed end to end (default 5)")
    parser.add_argument("--no-history", action="store_true", help="do not append to benchmarks/history.csv")
    options = parser.parse_args()
    row = measure(options.model, options.file, options.repeat)
    width = max(map(len, row))
    sys.stdout.writelines(f"{name:{width}}  {value}\n" for name, value in row.items())
    if not options.no_history:
        new = not HISTORY.exists()
        with HISTORY.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)


if __name__ == "__main__":
    main()
