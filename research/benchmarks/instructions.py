"""Instructions per word by stage and kernel; unlike seconds, they do not depend on other load.

    python -m research.benchmarks.instructions MODEL FILE

Uses ``perf stat -e instructions:u`` if the processor's counters are readable, else ``valgrind --tool=callgrind``, and
exits with a message if neither works.  Both subtract a run with few repeats from a run with more, which cancels work
done once.  Valgrind does not support AVX-512, so kernels are compiled for an older processor (`TARGET`) in both cases,
and the two count the same code.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from nonproj.io import conll
from nonproj.kernels.interpreters import environment, python
from nonproj.model.model import Model
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.joined import join
from nonproj.scoring.scorer import score_pairs, score_parts
from research.benchmarks.processes import ROOT
from research.benchmarks.stages import TIMED

FEW, MORE = 1, 3
"""Repeats of the run that is subtracted, and of the run that it is subtracted from."""

TARGET = "haswell" if platform.machine() in ("x86_64", "AMD64") else "generic"
"""LLVM's name of the processor that kernels are compiled for while instructions are counted."""

MARK, INNER = "rand", "random"
"""A function of the C library that nothing else calls, and its inner function, at which callgrind dumps its counts."""


class CountError(Exception):
    """Instructions cannot be counted here; the message is one line."""


# -- what is counted ---------------------------------------------------------------------------------------------------


def subjects(parser: Parser, source: Path, sentences: int) -> tuple[dict[str, Callable[[], object]], int]:
    """Return stages and kernels by name, as calls over the first sentences of a file, and the number of their words."""
    group = list(islice(conll.read(source), sentences))
    text = "".join(line for sentence in group for line in sentence.lines)
    batch = Batch(parser.loaded, parser.request, group)
    found: dict[str, Callable] = {"read": lambda: list(conll.read(io.StringIO(text)))}
    for name, stage in TIMED.items():
        found[name] = partial(stage, batch)
        batch = stage(batch)
    rows = [(s, parse.decoded.heads, parse.labels) for s, parse in zip(group, batch.parses, strict=True)]
    found["write"] = lambda: [conll.replace(*row) for row in rows]
    return found | kernels(parser, batch), sum(map(len, group))


def kernels(parser: Parser, batch: Batch) -> dict[str, Callable[[], object]]:
    """Return the scoring kernels by name, to be called on features computed beforehand."""
    loaded = parser.loaded
    weights, scale = loaded.tables["pruner"]
    hashed = [hash_tokens(t, loaded.pruner_table, len(weights)) for t in batch.tokens]
    pairs = [(join([t]), h) for t, h in zip(batch.tokens, hashed, strict=True)]
    found: dict[str, Callable] = {"kernel.pairs": lambda: [score_pairs(*each, weights, scale) for each in pairs]}
    table, of_table = loaded.tables["parser"]
    features = [
        loaded.scorer.features(t, parts, len(table)).pairs for t, parts in zip(batch.tokens, batch.spaces, strict=True)
    ]
    for i, part_type in enumerate(loaded.scorer.types):
        found[f"kernel.{part_type.name}"] = lambda i=i: [score_parts(*pairs[i], table, of_table) for pairs in features]
    return found


# -- the process that is counted ---------------------------------------------------------------------------------------


def work(model: Path, source: Path, sentences: int, only: str | None, repeats: int | None) -> None:
    """Call every subject `FEW` and `MORE` times between marks; or, with ``only`` and ``repeats``, just one of them."""
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
    return python("-m", "research.benchmarks.instructions", *names, "--sentences", str(sentences), "--work")


def _run(command: list[str]) -> subprocess.CompletedProcess:
    variables = environment(NUMBA_CPU_NAME=TARGET, NUMBA_CPU_FEATURES="", PYTHONHASHSEED="0")
    result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CountError(f"{command[0]} failed: {(result.stderr.splitlines() or ['no output'])[-1]}")
    return result


# -- counting ----------------------------------------------------------------------------------------------------------


def read_perf(text: str) -> int | None:
    """Parse the output of ``perf stat -x,``; return the count, or None if perf cannot count.

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
    """Return the instructions between marks, in order, from the dumps of callgrind."""
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    return [int(re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)[1]) for path in dumps]


def counter() -> str:
    """Return ``perf`` or ``valgrind``, whichever works.

    Raises
    ------
    CountError
        If neither works.
    """
    if shutil.which("perf"):
        probe = ["perf", "stat", "-x,", "-e", "instructions:u", "true"]
        if read_perf(subprocess.run(probe, capture_output=True, text=True, check=False).stderr) is not None:
            return "perf"
    if shutil.which("valgrind"):
        return "valgrind"
    raise CountError("instructions cannot be counted: perf has no counters here, and there is no valgrind")


def count(model: Path, source: Path, sentences: int) -> tuple[str, dict[str, float]]:
    """Count the instructions per word of every stage and kernel.

    Returns
    -------
    how : str
        ``perf`` or ``valgrind``.
    counts : dict of str to float
        Kernels are named ``kernel.arc`` and so on; they are part of the stages ``first`` and ``score``.

    Raises
    ------
    CountError
        If neither perf nor valgrind works.
    """
    how, command = counter(), _command(model, source, sentences)
    words, *names = _run(command).stdout.split()  # also compiles the kernels
    if how == "perf":
        differences = [_perf(command, name) for name in names]
    else:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--tool=callgrind", f"--dump-before={INNER}", f"--callgrind-out-file={folder}/out"]
            _run(["valgrind", *options, *command])
            between = read_callgrind(Path(folder))
        if len(between) < 4 * len(names):
            raise CountError(f"valgrind dumped {len(between)} counts, {4 * len(names)} expected")
        # Each mark dumps the counts since the one before: first call, few calls, none, more calls; next subject.
        differences = [between[4 * i + 3] - between[4 * i + 1] for i in range(len(names))]
    each = int(words) * (MORE - FEW)
    return how, {name: difference / each for name, difference in zip(names, differences, strict=True)}


def _perf(command: list[str], name: str) -> int:
    """Return the instructions of one subject: a process with more repeats minus one with few."""
    counts = []
    for repeats in (FEW, MORE):
        words = [*command, "--only", name, "--repeats", str(repeats)]
        counts.append(read_perf(_run(["perf", "stat", "-x,", "-e", "instructions:u", *words]).stderr) or 0)
    return counts[1] - counts[0]


def main() -> None:
    """Run the command line."""
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
    sys.stdout.write(f"instructions per word, by {how}, code for {TARGET}\n")
    sys.stdout.writelines(f"{name:<20}{value:>10.0f}\n" for name, value in counts.items())


if __name__ == "__main__":
    main()
