"""Speed by sentence length: the same words, cut into sentences of each length.

    python -m research.benchmarks.lengths MODEL FILE

The words are real and in order, the sentences are not: long ones are harder to decode than real sentences.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from research.benchmarks.clock import Summary, interleave
from research.benchmarks.stages import facts, run_stages

LENGTHS = (10, 20, 40, 80, 160)


class Curve(NamedTuple):
    """Time by sentence length, and its growth.

    Attributes
    ----------
    times : dict of int to dict of str to float
        Best processor microseconds per word, by length and stage, with the sum of stages as ``"all"``.
    iterations : dict of int to float
        Mean iterations of the subgradient method per sentence, by length.
    exponent : float
        The total grows as the length to this power.
    """

    times: dict[int, dict[str, float]]
    iterations: dict[int, float]
    exponent: float


def fit_exponent(lengths: Sequence[float], times: Sequence[float]) -> float:
    """Fit ``times = a * lengths ** b`` by least squares of the logarithms; return ``b``.

    Examples
    --------
    >>> round(fit_exponent([10, 20, 40], [3, 6, 12]), 6)
    1.0
    """
    return float(np.polyfit(np.log(lengths), np.log(times), 1)[0])


def cut(source: Path, target: Path, length: int, words: int) -> int:
    """Write the first words of a file as sentences of a given length, without heads; return the number written."""
    rows = [row for sentence in conll.read(source) for row in sentence.rows][:words]
    rows = rows[: len(rows) // length * length]
    with open(target, "w", encoding="utf-8") as stream:
        for i, row in enumerate(rows):
            stream.write("\t".join([str(i % length + 1), *row[1:6], "_", "_", "_", "_"]) + "\n")
            if i % length == length - 1:
                stream.write("\n")
    return len(rows)


def measure(parser: Parser, source: Path, repeats: int, words: int) -> Curve:
    """Measure a parser on the first ``words`` words of a file, cut to every length of `LENGTHS`.

    Parameters
    ----------
    parser : Parser
    source : Path
    repeats : int
    words : int
    """
    with tempfile.TemporaryDirectory() as name:
        folder, runs, counts = Path(name), {}, {}
        target = folder / "out"
        for length in LENGTHS:
            counts[length] = cut(source, folder / str(length), length, words)
            if counts[length]:
                runs[length] = partial(lambda file: run_stages(parser, file, target)[0], folder / str(length))
        found = interleave(runs, repeats)
        iterations = {n: facts(run_stages(parser, folder / str(n), target)[1])["iterations"] for n in found}
    return curve(found, counts, iterations)


def curve(found: Mapping[int, Mapping[str, Summary]], counts: Mapping[int, int], iterations: dict) -> Curve:
    """Combine measured times into a curve."""
    times = {n: {stage: 1e6 * s.cpu / counts[n] for stage, s in stages.items()} for n, stages in found.items()}
    totals = [each["all"] for each in times.values()]
    return Curve(times, iterations, fit_exponent(list(times), totals) if len(times) > 1 else float("nan"))


def dominant(times: Mapping[str, float]) -> str:
    """Return the stage that takes most time.

    Examples
    --------
    >>> dominant({"read": 1.0, "decode": 2.0, "all": 3.0})
    'decode'
    """
    return max((name for name in times if name != "all"), key=times.__getitem__)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    found = measure(Parser(Model.load(options.model)), options.file, options.repeats, 10**9)
    for length, times in found.times.items():
        most = dominant(times)
        text = f"{length:>4} words {times['all']:>8.1f} us per word, {most} {times[most]:.1f}"
        sys.stdout.write(f"{text}, {found.iterations[length]:.0f} iterations\n")
    sys.stdout.write(f"grows as length ** {found.exponent:.2f}\n")


if __name__ == "__main__":
    main()
