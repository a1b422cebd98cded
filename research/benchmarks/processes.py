"""Measurements in separate processes: start-up time, peak memory, several cores, training.

    python -m research.benchmarks.processes MODEL TREEBANK [--jobs 2] [--words 5000 50000 500000] [--repeats 3]

compares ``--jobs`` with one process, alternating between them, on files of the given numbers of words: the treebank,
the same without tags, and its text.  The times are valid on an idle machine; processor seconds also on a busy one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from nonproj.io import conll
from nonproj.kernels.interpreters import environment, python
from nonproj.model.model import Model
from research.benchmarks.clock import Seconds, Summary, interleave

ROOT = Path(__file__).resolve().parents[2]


class Child(NamedTuple):
    """Seconds and peak memory, in MiB, of a process, and its messages."""

    seconds: Seconds
    peak: float
    messages: str


LAUNCHER = """
import json, os, sys, time
begin = time.perf_counter()
null = os.open(os.devnull, os.O_WRONLY)
process = os.posix_spawn(sys.executable, [sys.executable, "-P", "-m", "nonproj", *sys.argv[1:]], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(process, 0)
wall = time.perf_counter() - begin
print(json.dumps([os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""
"""A small launcher process: a child inherits the peak memory of its parent."""


def run(arguments: Sequence[str | Path]) -> Child:
    """Run ``nonproj`` with these arguments in a fresh interpreter.

    Raises
    ------
    RuntimeError
        If it fails; the message is the last line of its error output.
    """
    command = python("-c", LAUNCHER, *map(str, arguments))
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    code, wall, cpu, peak = json.loads(done.stdout) if done.stdout else (1, 0.0, 0.0, 0.0)
    if code:
        lines = done.stderr.splitlines() or ["no output"]
        raise RuntimeError(f"nonproj {' '.join(command[4:])} failed: {lines[-1]}")
    return Child(Seconds(wall, cpu), peak / (2**20 if sys.platform == "darwin" else 2**10), done.stderr)


def cold_starts(model: Path, source: Path, repeats: int) -> dict[str, Summary]:
    """Time fresh processes in alternation: ``help``, and ``first``, which parses the first sentence of a file.

    As after the first use, kernels come from the cache on disk, and files from the cache of the operating system.
    """
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "one.conll"
        one.write_text("".join(next(iter(conll.read(source))).lines), encoding="utf-8")
        commands = {"help": ["--help"], "first": ["parse", "-q", "-m", model.absolute(), one, "-o", os.devnull]}
        times = interleave({name: partial(_seconds, name, words) for name, words in commands.items()}, repeats)
    return {name: times[name][name] for name in commands}


def _seconds(name: str, words: Sequence[str | Path]) -> dict[str, Seconds]:
    return {name: run(words).seconds}


def peak_memory(model: Path, source: Path) -> float:
    """Return the peak memory of parsing a file in MiB, including the pages read from the mapped model."""
    return run(["parse", "-q", "-m", model.absolute(), source.absolute(), "-o", os.devnull]).peak


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shared_work(model: Path, source: Path, shared: int, repeats: int) -> tuple[int, dict[int, Summary]]:
    """Time processes, including start-up, over copies of a file with ``shared`` words or more, on one and on all cores.

    Returns
    -------
    words : int
    times : dict of int to Summary
        By number of ``--jobs``.
    """
    text = source.read_text(encoding="utf-8").rstrip("\n") + "\n\n"
    once = sum(map(len, conll.read(source)))
    copies = -(-shared // once)
    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder) / source.name
        many.write_text(text * copies, encoding="utf-8")
        parse = ["parse", "-q", "-m", model.absolute(), many, "-o", Path(folder) / "out.conll", "--jobs"]
        jobs = sorted({1, cores()})
        times = interleave({n: partial(_seconds, "whole", [*parse, str(n)]) for n in jobs}, repeats)
    return copies * once, {n: times[n]["whole"] for n in jobs}


class Scaling(NamedTuple):
    """One process and several, over the same file.

    Attributes
    ----------
    words : int
    one, several : Summary
        Of the whole processes.
    start : Summary
        Of one process over the first sentence of the file.
    """

    words: int
    one: Summary
    several: Summary
    start: Summary

    @property
    def ratio(self) -> float:
        """How many times as fast several processes are, from start to end."""
        return self.one.best / self.several.best

    @property
    def ratio_without_start(self) -> float:
        """Speed-up without start-up time, which is the same for both."""
        return (self.one.best - self.start.best) / max(self.several.best - self.start.best, 1e-9)

    @property
    def processor_ratio(self) -> float:
        """How many times as much processor time they take."""
        return self.several.cpu / self.one.cpu


def inputs_of(treebank: Path, words: int, folder: Path) -> dict[str, tuple[list[str], int]]:
    """Write files with at least this number of words; return for each kind its arguments and the number of words.

    ``tagged`` is the treebank, ``untagged`` the same without lemmas and tags, ``text`` its tokens between blanks, in
    paragraphs of five sentences.
    """
    sentences = list(conll.read(treebank))
    chosen, count = [], 0
    while count < words:
        sentence = sentences[len(chosen) % len(sentences)]
        chosen.append(sentence)
        count += len(sentence)
    rows = [[[*row[:2], "_", "_", "_", "_", *row[6:]] for row in sentence.rows] for sentence in chosen]
    texts = {
        "tagged": "".join("".join(sentence.lines).strip("\n") + "\n\n" for sentence in chosen),
        "untagged": "".join("".join("\t".join(row) + "\n" for row in each) + "\n" for each in rows),
        "text": "".join(" ".join(s.forms) + ("\n\n" if i % 5 == 4 else "\n") for i, s in enumerate(chosen)),
    }
    for kind, text in texts.items():
        (folder / kind).write_text(text, encoding="utf-8")
    return {kind: ([str(folder / kind), *(["--text"] if kind == "text" else [])], count) for kind in texts}


def scaling(model: Path, treebank: Path, words: int, jobs: int, repeats: int) -> dict[str, Scaling]:
    """Compare one process with several, alternating, on files with this number of words of each kind (`inputs_of`)."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "out"
        (folder / "one").mkdir()
        short = inputs_of(treebank, 1, folder / "one")
        for kind, (source, count) in inputs_of(treebank, words, folder).items():
            parse = ["parse", "-q", "-m", model.absolute(), "-o", out]
            runs = {
                "one": partial(_seconds, "whole", [*parse, *source]),
                "several": partial(_seconds, "whole", [*parse, *source, "--jobs", str(jobs)]),
                "start": partial(_seconds, "whole", [*parse, *short[kind][0]]),
            }
            times = interleave(runs, repeats)
            found[kind] = Scaling(count, *(times[run]["whole"] for run in Scaling._fields[1:]))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of `scaling`."""
    parser = argparse.ArgumentParser(
        prog="python -m research.benchmarks.processes", description="Compare --jobs with one process."
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--words", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    sys.stdout.write(
        f"| input | words | one, s | {options.jobs} processes, s | times as fast | without start | processor time |\n"
    )
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for words in options.words:
        found = scaling(options.model, options.treebank, words, options.jobs, options.repeats)
        for kind, each in found.items():
            cells = [kind, f"{each.words:,}", f"{each.one.best:.2f}", f"{each.several.best:.2f}", f"{each.ratio:.2f}"]
            cells += [f"{each.ratio_without_start:.2f}", f"{each.processor_ratio:.2f} times"]
            sys.stdout.write(f"| {' | '.join(cells)} |\n")
            sys.stdout.flush()


def train(model: Path, treebank: Path, epochs: int) -> Mapping[str, float]:
    """Train with the configuration of a model, for fewer epochs.

    Returns
    -------
    dict
        ``epoch``, the seconds of the fastest epoch of the perceptron; ``all``, the seconds of everything, including
        pruners and labeler; ``memory``, the peak in MiB.
    """
    config = Model.load(model).config.as_dict()
    with tempfile.TemporaryDirectory() as folder:
        settings, target = Path(folder) / "config.yaml", Path(folder) / "new.nonproj"
        settings.write_text(yaml.safe_dump(config | {"treebank": {"train": str(treebank.absolute())}}))
        child = run(["train", "-v", "--config", settings, "--epochs", str(epochs), "-o", target])
    epochs_took = re.findall(r"^epoch \d+: ([\d.]+) s", child.messages, re.MULTILINE)
    return {"epoch": min(map(float, epochs_took)), "all": child.seconds.wall, "memory": child.peak}


if __name__ == "__main__":
    main()
