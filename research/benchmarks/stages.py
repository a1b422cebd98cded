"""Time of each stage of the parser over batches of sentences, and of parsing from file to file.

    python -m research.benchmarks.stages MODEL FILE [MODEL FILE ...]

The stages are those of `nonproj.pipeline.stages`, for sentences with tags; tests check that the output file is the one
that the parser writes.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import BATCH, Parser, batches
from nonproj.pipeline.stages import Stage, collect, decode, encode, label, number, prune, score, widen
from nonproj.types import Sentence
from research.benchmarks.clock import Clock, Seconds, Summary, interleave

TIMED: dict[str, Stage] = {
    stage.__name__: stage for stage in (encode, prune, number, score, decode, widen, label, collect)
}
"""The parser's stages that are measured, by name."""

STAGES = ("read", *TIMED, "write")


def load_parser(model: str | Path) -> Parser:
    """Return the parser of a model file, without confidence, as ``nonproj parse`` without ``--confidence``."""
    loaded = Model.load(model)
    return Parser(loaded, dataclasses.replace(loaded.config.decoding, confidence=False))


def batches_of(parser: Parser, sentences: Iterable[Sentence]) -> Iterator[Batch]:
    """Yield sentences in batches that have passed no stage."""
    for group in batches(sentences, BATCH):
        yield Batch(parser.loaded, parser.request, group)


def run_stages(parser: Parser, source: Path, target: Path) -> tuple[dict[str, Seconds], list[Batch]]:
    """Parse a file to a file stage by stage; return the time of each stage, and the batches."""
    clock, found = Clock(), []
    stream = batches_of(parser, conll.read(source))
    with conll.open_output(target) as output:
        while batch := clock.time("read", next, stream, None):
            for name, stage in TIMED.items():
                batch = clock.time(name, stage, batch)
            rows = ((s, p.decoded.heads, p.labels) for s, p in zip(batch.sentences, batch.parses, strict=True))
            clock.time("write", conll.write, rows, output)
            found.append(batch)
        clock.time("write", output.flush)
    return dict(clock.seconds), found


def run_whole(parser: Parser, source: Path, target: Path) -> dict[str, Seconds]:
    """Parse a file to a file as the command line does; return the time."""
    clock = Clock()

    def parse():
        rows = ((s, parse.decoded.heads, parse.labels) for s, parse in parser.parse_all(conll.read(source)))
        conll.write(rows, target)

    clock.time("whole", parse)
    return dict(clock.seconds)


def facts(parsed: list[Batch]) -> dict[str, float]:
    """Return the counts of one run over a file.

    Words and sentences; per word: candidate arcs, parts, automata decoded; per sentence: iterations; shares: automata
    decoded among those that the iterations could have decoded, and certified sentences.
    """
    found = [
        row for b in parsed for row in zip(b.sentences, b.arcs, b.spaces, (each[0] for each in b.found), strict=True)
    ]
    words = sum(len(row[0]) for row in found)
    possible = sum(d.iterations * (len(s) + 1) for s, _, _, d in found)
    automata = sum(d.recomputed * d.iterations * (len(s) + 1) for s, _, _, d in found)
    return {
        "sentences": len(found),
        "words": words,
        "arcs_per_word": sum(len(a.head) for _, a, _, _ in found) / words,
        "parts_per_word": sum(len(parts) for _, _, parts, _ in found) / words,
        "iterations": sum(d.iterations for *_, d in found) / len(found),
        "automata_per_word": automata / words,
        "recomputed": automata / possible if possible else 0.0,
        "certified": sum(d.certified for *_, d in found) / len(found),
    }


def measure(subjects: Mapping[str, tuple[Parser, Path]], repeats: int) -> dict[str, dict[str, Summary]]:
    """Measure parsers on their files, in alternation.

    Returns
    -------
    dict of name to dict
        For each stage, for their sum ``"all"``, and for ``"whole"``, from file to file.
    """
    with tempfile.TemporaryDirectory() as folder:
        runs, target = {}, Path(folder) / "out.conll"
        for name, subject in subjects.items():
            runs[name, "stages"] = lambda subject=subject: run_stages(*subject, target)[0]
            runs[name, "whole"] = partial(run_whole, *subject, target)
        found = interleave(runs, repeats)
    return {name: found[name, "stages"] | {"whole": found[name, "whole"]["whole"]} for name in subjects}


def table(times: Mapping[str, Summary], words: int) -> str:
    """Return a table of microseconds per word."""
    lines = [f"{'stage':<12}{'best':>9}{'median':>9}{'cpu':>9}{'share':>8}   (microseconds per word)"]
    for name, summary in times.items():
        best, median, cpu = (1e6 * value / words for value in summary)
        lines.append(f"{name:<12}{best:>9.2f}{median:>9.2f}{cpu:>9.2f}{summary.best / times['all'].best:>8.1%}")
    return "\n".join(lines)


def pairs(words: list[str]) -> dict[str, tuple[str, Path]]:
    """Return ``MODEL FILE MODEL FILE ...`` as a mapping of a name to a model's path and a file."""
    if len(words) % 2:
        raise SystemExit(f"models and files alternate, but {len(words)} paths were given")
    return {f"{Path(m).stem} {Path(f).name}": (m, Path(f)) for m, f in zip(words[::2], words[1::2], strict=True)}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="MODEL FILE")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    subjects = {name: (load_parser(m), f) for name, (m, f) in pairs(options.paths).items()}
    times = measure(subjects, options.repeats)
    for name, subject in subjects.items():
        counts = facts(run_stages(*subject, Path(os.devnull))[1])
        words = counts["words"]
        lines = [name, table(times[name], words), f"{words / times[name]['whole'].best:.0f} words per second at best"]
        lines += [f"{key:<18}{value:>10.3f}" for key, value in counts.items()]
        sys.stdout.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
