"""Instructions a word, stage by stage and kernel by kernel: seconds depend on the neighbours, these do not.

    python -m benchmarks.instructions MODEL FILE

Counted by ``perf stat -e instructions:u`` where the processor's counters may be read, else by ``valgrind
--tool=callgrind``; where there is neither, that is said and nothing else is done.  Either way a run with few repeats is
taken from one with more, so what is done once does not count.  Valgrind knows no AVX-512, so code is compiled for an
older processor (`TARGET`) in both cases; figures of the two ways are those of the same code.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from benchmarks.processes import ROOT
from benchmarks.stages import STAGES, Batch, do_stage
from nonproj.io import conll
from nonproj.model import Model
from nonproj.pipeline import Parser
from nonproj.scoring.score import score_pairs, score_parts
from nonproj.scoring.scorer import PART_TYPES, hash_tokens

FEW, MORE = 1, 3
"""Repeats of the run that is subtracted, and of the other one."""

TARGET = "haswell" if platform.machine() in ("x86_64", "AMD64") else "generic"
"""The processor, in the words of LLVM, that kernels are compiled for while they are counted."""

MARK, INNER = "rand", "random"
"""A function of the C library that nothing else calls, and the one in it where callgrind cuts its counts."""


class CountError(Exception):
    """Instructions cannot be counted here; the message is one line."""


# -- what is counted ---------------------------------------------------------------------------------------------------


def subjects(parser: Parser, source: Path, sentences: int) -> tuple[dict[str, Callable[[], object]], int]:
    """Return the stages and kernels by name, each to be called over the first sentences of a file; and their words."""
    group = list(islice(conll.read(source), sentences))
    text = "".join(line for sentence in group for line in sentence.lines)
    batch = Batch(group)
    for name in STAGES[1:-1]:
        do_stage(name, parser, batch)
    rows = list(zip(group, (d.heads for d in batch.decoded), batch.labels, strict=True))
    found: dict[str, Callable] = {"read": lambda: list(conll.read(io.StringIO(text)))}
    for name in STAGES[1:-1]:
        found[name] = lambda name=name: do_stage(name, parser, batch)
    found["write"] = lambda: [conll.replace(*row) for row in rows]
    return found | kernels(parser, batch), sum(map(len, group))


def kernels(parser: Parser, batch: Batch) -> dict[str, Callable[[], object]]:
    """Return the kernels that look weights up, by name, over what has been hashed and listed before."""
    weights, unit = parser.model.weights["pruner"], parser.units.get("pruner", 1.0)
    hashed = [hash_tokens(t, parser.pruner_table, len(weights)) for t in batch.tokens]
    found: dict[str, Callable] = {"kernel.pairs": lambda: [score_pairs(h, weights, unit) for h in hashed]}
    table, scale = parser.model.weights["parser"], parser.units.get("parser", 1.0)
    featurised = [
        parser.scorer.featurise(t, a, index, len(table)).pairs
        for t, a, (index, _) in zip(batch.tokens, batch.arcs, batch.scored, strict=True)
    ]
    for i, part in enumerate(PART_TYPES[: parser.order + 1]):
        found[f"kernel.{part}"] = lambda i=i: [score_parts(*pairs[i], table, scale) for pairs in featurised]
    return found


# -- the process that is counted ---------------------------------------------------------------------------------------


def work(model: Path, source: Path, sentences: int, only: str | None, repeats: int | None) -> None:
    """Call every subject `FEW` times and `MORE` times with marks between, or one of them so many times."""
    found, words = subjects(Parser(Model.load(model)), source, sentences)
    mark = getattr(ctypes.CDLL(None), MARK)
    for name, call in found.items():
        if only in (None, name):
            call()
            for count in (FEW, MORE) if repeats is None else (repeats,):
                mark()
                for _ in range(count):
                    call()
                mark()
    sys.stdout.write(f"{words} {' '.join(found)}\n")


def _command(model: Path, source: Path, sentences: int) -> list[str]:
    names = [str(Path(path).absolute()) for path in (model, source)]
    return [sys.executable, "-m", "benchmarks.instructions", *names, "--sentences", str(sentences), "--work"]


def _run(command: list[str]) -> subprocess.CompletedProcess:
    settings = {"NUMBA_CPU_NAME": TARGET, "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}
    result = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CountError(f"{command[0]} failed: {(result.stderr.splitlines() or ['it said nothing'])[-1]}")
    return result


# -- counting ----------------------------------------------------------------------------------------------------------


def read_perf(text: str) -> int | None:
    """Return the count in what ``perf stat -x,`` wrote, or None where it could not count.

    Examples
    --------
    >>> read_perf("5123,,instructions:u,902,100.00,,")
    5123
    >>> read_perf("<not supported>,,instructions:u,0,100.00,,") is None
    True
    """
    counts = [line.split(",")[0] for line in text.splitlines() if ",instructions:u" in line]
    return int(counts[0]) if counts and counts[0].isdecimal() else None


def read_callgrind(folder: Path) -> list[int]:
    """Return the instructions between marks, from the dumps that callgrind left, in their order."""
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    return [int(re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)[1]) for path in dumps]


def way() -> str:
    """Return ``perf`` or ``valgrind``, whichever works here.

    Raises
    ------
    CountError
        If neither does.
    """
    if shutil.which("perf"):
        probe = ["perf", "stat", "-x,", "-e", "instructions:u", "true"]
        if read_perf(subprocess.run(probe, capture_output=True, text=True, check=False).stderr) is not None:
            return "perf"
    if shutil.which("valgrind"):
        return "valgrind"
    raise CountError("instructions cannot be counted: perf has no counters here, and there is no valgrind")


def count(model: Path, source: Path, sentences: int) -> tuple[str, dict[str, float]]:
    """Count the instructions a word of every stage and kernel.

    Returns
    -------
    how : str
        ``perf`` or ``valgrind``.
    counts : dict of str to float
        Kernels are named ``kernel.arc`` and so on; they are part of the stages ``first`` and ``score``.

    Raises
    ------
    CountError
        If it cannot be done here.
    """
    how, command = way(), _command(model, source, sentences)
    words, *names = _run(command).stdout.split()  # also compiles
    if how == "perf":
        differences = [_perf(command, name) for name in names]
    else:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--tool=callgrind", f"--dump-before={INNER}", f"--callgrind-out-file={folder}/out"]
            _run(["valgrind", *options, *command])
            between = read_callgrind(Path(folder))
        if len(between) < 4 * len(names):
            raise CountError(f"valgrind dumped {len(between)} counts, {4 * len(names)} expected")
        # A dump is what came before a mark: the first call, the few, nothing, the more; then the next subject.
        differences = [between[4 * i + 3] - between[4 * i + 1] for i in range(len(names))]
    each = int(words) * (MORE - FEW)
    return how, {name: difference / each for name, difference in zip(names, differences, strict=True)}


def _perf(command: list[str], name: str) -> int:
    """Return the instructions of one subject: those of a process with more repeats less those of one with few."""
    counts = []
    for repeats in (FEW, MORE):
        words = [*command, "--only", name, "--repeats", str(repeats)]
        counts.append(read_perf(_run(["perf", "stat", "-x,", "-e", "instructions:u", *words]).stderr) or 0)
    return counts[1] - counts[0]


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=20)
    for name, kind in (("--only", str), ("--repeats", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.model, options.file, options.sentences, options.only, options.repeats)
        return
    try:
        how, counts = count(options.model, options.file, options.sentences)
    except CountError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(f"instructions a word, by {how}, of code for {TARGET}\n")
    sys.stdout.writelines(f"{name:<20}{value:>10.0f}\n" for name, value in counts.items())


if __name__ == "__main__":
    main()
