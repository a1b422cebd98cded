"""Cost of a proof: nodes, iterations and time until the best tree is proven, of random arrays and long sentences.

    python -m research.benchmarks.search
    python -m research.benchmarks.search MODEL FILE

Arrays have scores of all arcs, siblings and grandparents.  Long sentences are the words of a file, in order, cut to
each length: they are harder to decode than real sentences.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.dual.decoding import branch_and_bound
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.pipeline.parser import Parser
from nonproj.types import Decoded, PartSpace

KINDS = ("normal", "sparse", "peaked")
"""Scores of arrays: all standard normal; one of ten siblings and grandparents only, three times as large; arcs four
times as large, as a trained model's are."""

WORDS, LENGTHS = (10, 20, 30, 40), (40, 80, 160)

WORK = 400_000_000
"""Limit of the work for each word, a fifth of a second."""


class Cost(NamedTuple):
    """Mean cost of some sentences."""

    sentences: int
    proven: int
    nodes: float
    iterations: float
    gap: float
    milliseconds: float

    def __str__(self) -> str:
        proven = f"{self.proven:>4} of {self.sentences:<4} proven, gap {100 * self.gap:5.2f} %"
        return f"{proven}, {self.nodes:>8.1f} nodes, {self.iterations:>9.1f} iterations, {self.milliseconds:>9.1f} ms"


def draw(kind: str, n: int, seed: int) -> tuple[PartSpace, np.ndarray]:
    """Return all parts of ``n`` words, and their scores.

    Examples
    --------
    >>> parts, scores = draw("sparse", 3, 0)
    >>> len(parts) == len(scores)
    True
    """
    rng, parts = np.random.default_rng([seed, n]), part_space(full_arc_space(n), "grandparent")
    scores, n_arcs = rng.normal(size=len(parts)), len(parts.arcs.head)
    if kind == "sparse":
        scores[n_arcs:] *= 3.0 * (rng.random(len(scores) - n_arcs) < 0.1)
    elif kind == "peaked":
        scores[:n_arcs] *= 4.0
    return parts, scores


def cost(found: Iterable[Decoded], seconds: float) -> Cost:
    """Return the mean cost of some trees."""
    trees = list(found)
    gaps = [max(0.0, tree.bound - tree.score) / abs(tree.score) for tree in trees]
    nodes, iterations = np.mean([(tree.nodes, tree.iterations) for tree in trees], axis=0).tolist()
    proven = sum(tree.certified for tree in trees)
    return Cost(len(trees), proven, nodes, iterations, float(np.mean(gaps)), 1e3 * seconds / len(trees))


def of_arrays(kind: str, n: int, seeds: int) -> Cost:
    """Return the cost of arrays of ``n`` words."""
    problems, options = [draw(kind, n, seed) for seed in range(seeds)], DualOptions(single_root=True)
    begin = time.process_time()
    trees = [branch_and_bound(parts, scores, options, SearchOptions(WORK)) for parts, scores in problems]
    return cost(trees, time.process_time() - begin)


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


def of_text(parser: Parser, source: Path, words: int) -> Iterator[tuple[int, Cost]]:
    """Yield the lengths of sentences, cut from the first words of a file, and their cost; times are of whole parses."""
    with tempfile.TemporaryDirectory() as folder:
        for length in LENGTHS:
            file = Path(folder) / str(length)
            if cut(source, file, length, words):
                sentences, begin = list(conll.read(file)), time.process_time()
                trees = [parse.decoded for _, parse in parser.parse_all(sentences)]
                yield length, cost(trees, time.process_time() - begin)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="*", metavar="MODEL FILE", help="parse long sentences instead")
    parser.add_argument("--seeds", type=int, default=3, help="number of arrays of each kind and length")
    parser.add_argument("--words", type=int, default=8000, help="number of words of the file")
    options = parser.parse_args()
    if options.text:
        model, file = options.text
        for length, found in of_text(Parser(Model.load(model)), file, options.words):
            sys.stdout.write(f"{length:>4} words {found}\n")
        return
    of_arrays("normal", 8, 3)  # compiles
    for kind in KINDS:
        for n in WORDS:
            sys.stdout.write(f"{kind:<8} {n:>3} words {of_arrays(kind, n, options.seeds)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
