"""Start-up time, peak memory, and parsing on one core and on all, in separate processes.

    python -m research.benchmarks.processes MODEL FILE [--words 100000] [--repeats 3]

As after the first use, kernels come from the cache on disk, and files from the cache of the operating system.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nonproj.io import conll
from nonproj.kernels.interpreters import environment, python
from research.benchmarks.clock import Seconds, Summary, interleave

ROOT = Path(__file__).resolve().parents[2]

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


def run(arguments: Sequence[str | Path]) -> tuple[Seconds, float]:
    """Run ``nonproj`` with these arguments in a fresh interpreter; return its time and its peak memory in MiB.

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
    return Seconds(wall, cpu), peak / (2**20 if sys.platform == "darwin" else 2**10)


def measure(model: Path, source: Path, words: int, repeats: int) -> tuple[int, dict[str, Summary]]:
    """Time fresh processes in alternation: of ``--help``, of the first sentence of a file, and of copies of the file.

    Returns
    -------
    words : int
        The number of words in the copies: at least ``words``.
    times : dict of str to Summary
    """
    once, cores = sum(map(len, conll.read(source))), os.cpu_count() or 1
    copies = -(-words // once)
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder) / "one.conll", Path(folder) / "many.conll"
        one.write_text("".join(next(iter(conll.read(source))).lines), encoding="utf-8")
        many.write_text((source.read_text(encoding="utf-8").rstrip("\n") + "\n\n") * copies, encoding="utf-8")
        parse = ["parse", "-q", "-m", model.absolute(), "-o", Path(folder) / "out.conll"]
        commands = {"--help": ["--help"], "the first tree": [*parse, one]}
        commands |= {f"--jobs {jobs}": [*parse, many, "--jobs", str(jobs)] for jobs in sorted({1, cores})}
        times = interleave({name: partial(_seconds, command) for name, command in commands.items()}, repeats)
    return copies * once, {name: times[name]["all"] for name in commands}


def _seconds(command: Sequence[str | Path]) -> dict[str, Seconds]:
    return {"whole": run(command)[0]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--words", type=int, default=100_000, help="least number of words of the long file")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    words, times = measure(options.model, options.file, options.words, options.repeats)
    for name, summary in times.items():
        speed = f", {words / summary.best:,.0f} words per second" if name.startswith("--jobs") else ""
        sys.stdout.write(f"{name:<16}{summary.best:>7.2f} s, processor {summary.cpu:.2f} s{speed}\n")
    peak = run(["parse", "-q", "-m", options.model.absolute(), options.file.absolute(), "-o", os.devnull])[1]
    sys.stdout.write(f"peak memory {peak:.0f} MiB, with the pages read from the mapped model\n")


if __name__ == "__main__":
    main()
