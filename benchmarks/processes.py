"""What only a process of its own can tell: the time until it answers, its memory, its use of all cores, training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from benchmarks.clock import Seconds, Summary, interleave
from nonproj.io import conll
from nonproj.model import Model

ROOT = Path(__file__).resolve().parents[1]


class Child(NamedTuple):
    """What a process took: seconds, and the most memory that it had at once, in MiB."""

    seconds: Seconds
    peak: float


LAUNCHER = """
import json, os, sys, time
begin = time.perf_counter()
null = os.open(os.devnull, os.O_WRONLY)
process = os.posix_spawn(sys.executable, [sys.executable, "-m", "nonproj", *sys.argv[1:]], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(process, 0)
wall = time.perf_counter() - begin
print(json.dumps([os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""
"""A process between: one that is started inherits its parent's peak of memory, so its parent must be small."""


def run(arguments: Sequence[str | Path]) -> Child:
    """Run ``nonproj`` with some arguments in a fresh interpreter and wait for it.

    Raises
    ------
    RuntimeError
        If it fails; the message is what it said last.
    """
    command = [sys.executable, "-c", LAUNCHER, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    code, wall, cpu, peak = json.loads(done.stdout) if done.stdout else (1, 0.0, 0.0, 0.0)
    if code:
        lines = done.stderr.splitlines() or ["it said nothing"]
        raise RuntimeError(f"nonproj {' '.join(command[3:])} failed: {lines[-1]}")
    return Child(Seconds(wall, cpu), peak / (2**20 if sys.platform == "darwin" else 2**10))


def cold_starts(model: Path, source: Path, repeats: int) -> dict[str, Summary]:
    """Time fresh processes, in turns: ``help``, and ``first``, which parses the first sentence of a file.

    Compiled code is on the disk, as it is after the first use, and the files are in the memory of the system.
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
    """Return the most memory that parsing a file takes, in MiB; pages of the mapped model count as they are read."""
    return run(["parse", "-q", "-m", model.absolute(), source.absolute(), "-o", os.devnull]).peak


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shared_work(model: Path, source: Path, shared: int, repeats: int) -> tuple[int, dict[int, Summary]]:
    """Time whole processes, start included, over copies of a file with so many words: on one core and on all.

    Returns
    -------
    words : int
    times : dict of int to Summary
        By the number of ``--jobs``.
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


def train(model: Path, treebank: Path, epochs: int) -> Mapping[str, float]:
    """Train anew as a model was trained, for fewer epochs.

    Returns
    -------
    dict
        ``epoch``, seconds of an epoch of the perceptron, the least of all; ``all``, seconds of everything, pruners and
        labeler included.
    """
    config = Model.load(model).config.as_dict()
    with tempfile.TemporaryDirectory() as folder:
        settings, target = Path(folder) / "config.yaml", Path(folder) / "new.nonproj"
        settings.write_text(yaml.safe_dump(config | {"treebank": {"train": str(treebank.absolute())}}))
        child = run(["train", "-q", "--config", settings, "--epochs", str(epochs), "-o", target])
        log = Model.load(target).meta["log"]
    return {"epoch": min(entry["seconds"] for entry in log), "all": child.seconds.wall, "memory": child.peak}
