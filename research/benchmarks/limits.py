"""How close the scoring kernels come to their limit, which is the time of random reads from the weight tables.

    python -m research.benchmarks.limits MODEL FILE

Scoring a feature is one look-up in a weight table, at a place given by its hash.  Templates and parts determine the
number of look-ups; the size of the memory that they touch determines the time of each.  This estimate is compared with
two measurements.  ``replay`` reads the places that the kernel reads, in the same order, with all hashes computed
beforehand: the cost of memory.  ``small`` runs the kernel on a table that fits into the first-level cache: the cost of
arithmetic.  A kernel that takes little more than the larger of the two leaves little to gain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.io import conll
from nonproj.kernels.kernel import kernel
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import run_stages
from nonproj.scoring.hashing import WordHashes, hash_tokens, make_places
from nonproj.scoring.joined import JoinedTokens, join
from nonproj.scoring.labels import LINE, label_parts, label_scores
from nonproj.scoring.scorer import score_pairs, score_parts
from nonproj.types import PartRows
from research.benchmarks import stages
from research.benchmarks.clock import Clock, Seconds, interleave
from research.benchmarks.memory import LINE_BYTES, SIZES, independent_at, pace
from research.benchmarks.stages import TIMED

SMALL = 1 << 12
"""Size of a weight table that fits into the first-level cache; labels and codes need no less."""


class Limit(NamedTuple):
    """One kernel and its limit; all numbers except the bytes are per word of the file.

    Attributes
    ----------
    lookups, lines : float
        Weights read (for labels, vectors of 16), and the blocks of the table in which they lie.
    touched, table : float
        Bytes of the table that a batch of sentences reads, in whole cache lines; bytes of the whole table.
    low, high : float
        Estimated microseconds: each line is a read from a table of the size touched (low) or of the whole table (high),
        further look-ups in the same line are reads from the first-level cache.
    replay, small, kernel : float
        Measured microseconds: the look-ups alone; the kernel with a small table; the kernel.
    """

    lookups: float
    lines: float
    touched: float
    table: float
    low: float
    high: float
    replay: float
    small: float
    kernel: float


class Job(NamedTuple):
    """The work of one kernel for one sentence: its call, and its look-ups.

    Attributes
    ----------
    call : function
    places : ndarray, uint32
    keys : int
        Number of blocks of the table in which these lie.
    """

    call: Callable[[], object]
    places: np.ndarray
    keys: int


# -- the look-ups of a sentence ----------------------------------------------------------------------------------------


def pair_rows(n_words: int) -> PartRows:
    """Return the rows of all arcs in the order in which `score_pairs` visits them."""
    arcs = part_space(full_arc_space(n_words), "arc")
    nodes, codes = PART_TYPES["arc"].rows(arcs.arcs, arcs.start("arc"))
    order = np.lexsort((nodes[:, 1], nodes[:, 0]))
    return PartRows(nodes[order], codes[order])


def places_of(hashed: WordHashes, rows: PartRows) -> tuple[np.ndarray, int]:
    """Return the places of all look-ups in the weight table, in order, and the number of blocks that they lie in."""
    places = make_places(hashed, rows.nodes, rows.codes).places
    plain = hashed.plain
    return places, len(places) - len(rows.nodes) * plain.n_plain * (len(plain.codes) - 1)


def _pair_scores(batch: JoinedTokens, hashed: WordHashes, weights: np.ndarray) -> np.ndarray:
    """Return the scores of all arcs of the one sentence of a batch."""
    return score_pairs(batch, hashed, weights)[0]


def jobs(parser: Parser, batch: Batch, number: int, size: int | None) -> dict[str, Job]:
    """Return the work of each kernel for one sentence, on the model's tables or only their first ``size`` weights."""
    tokens, tables, found = batch.tokens[number], parser.model.weights, {}
    weights = {name: tables[name] if size is None else tables[name][:size] for name in ("pruner", "parser", "labeler")}
    hashed = hash_tokens(tokens, parser.loaded.pruner_table, len(weights["pruner"]))
    places = places_of(hashed, pair_rows(tokens.n_nodes - 1))
    alone = join([tokens])
    found["pairs"] = Job(partial(_pair_scores, alone, hashed, weights["pruner"]), *places)
    parts = batch.spaces[number]
    pairs = parser.loaded.scorer.features(tokens, parts, len(weights["parser"])).pairs
    for name, (hashed, rows) in zip(parts.names, pairs, strict=True):
        found[name] = Job(partial(score_parts, hashed, rows, weights["parser"]), *places_of(hashed, rows))
    hashed = hash_tokens(tokens, parser.loaded.labeler.table, len(weights["labeler"]))
    rows, labels = label_parts(batch.found[number][0].tree), len(parser.model.labels)
    places, keys = places_of(hashed, rows)
    firsts = np.arange(0, labels, LINE, dtype=np.uint32)
    places = ((places & ~np.uint32(LINE - 1))[:, None] ^ firsts).reshape(-1)
    found["label"] = Job(partial(label_scores, hashed, rows, labels, weights["labeler"]), places, keys * len(firsts))
    return found


TABLE_OF = {"pairs": "pruner", "label": "labeler"} | dict.fromkeys(PART_TYPES, "parser")
"""The weight table that each kernel reads."""


@kernel
def _replay(weights, places, zero):
    """Sum the weights at the places."""
    total = zero[0]
    for i in range(places.shape[0]):
        total += weights[places[i]]
    return total


@kernel
def _replay_lines(weights, places, row):
    """Sum the vectors of weights at the places."""
    for i in range(places.shape[0]):
        begin = np.uint64(places[i])
        for j in range(row.shape[0]):
            row[j] += weights[begin + np.uint64(j)]


# -- measuring ---------------------------------------------------------------------------------------------------------


def batches_of(parser: Parser, source: Path, sentences: int) -> list[Batch]:
    """Parse the first sentences of a file and keep the results of all stages."""
    group = islice(conll.read(source), sentences)
    return [run_stages(batch, TIMED.values()) for batch in stages.batches_of(parser, group)]


def measure(parser: Parser, source: Path, repeats: int, sentences: int) -> tuple[dict[str, Limit], dict]:
    """Compare every scoring kernel with its limit.

    Parameters
    ----------
    parser : Parser
    source : Path
    repeats, sentences : int
        Uses the first ``sentences`` sentences of the file.

    Returns
    -------
    limits : dict of str to Limit
        By kernel: ``pairs``, the part types of the model, ``label``.
    paces : dict of int to memory.Pace
        By size of the table in bytes.
    """
    batches = batches_of(parser, source, sentences)
    big = [[jobs(parser, b, i, None) for i in range(len(b.sentences))] for b in batches]
    small = [[jobs(parser, b, i, SMALL) for i in range(len(b.sentences))] for b in batches]
    weights = {name: parser.model.weights[table] for name, table in TABLE_OF.items()}
    runs = {"kernel": partial(_call, big), "small": partial(_call, small), "replay": partial(_replay_all, big, weights)}
    times = interleave(runs, repeats)
    paces = {size: pace(size, min(repeats, 5)) for size in SIZES}
    words = sum(len(sentence) for batch in batches for sentence in batch.sentences)
    found = {}
    for name in big[0][0]:
        lookups = sum(len(job[name].places) for group in big for job in group) / words
        lines = sum(job[name].keys for group in big for job in group) / words
        size = weights[name].itemsize
        touched = float(np.mean([_touched([job[name].places for job in group], size) for group in big]))
        near = (lookups - lines) * paces[SIZES[0]].independent
        estimates = [(near + lines * independent_at(paces, n)) / 1e3 for n in (touched, weights[name].nbytes)]
        measured = [1e6 * times[run][name].cpu / words for run in ("replay", "small", "kernel")]
        found[name] = Limit(lookups, lines, touched, weights[name].nbytes, *estimates, *measured)
    return found, paces


def _touched(places: list[np.ndarray], itemsize: int) -> int:
    """Return the total size of the cache lines in which the places lie."""
    return LINE_BYTES * len(np.unique(np.concatenate(places) // np.uint32(LINE_BYTES // itemsize)))


def _call(batches: list[list[Mapping[str, Job]]]) -> dict[str, Seconds]:
    """Call each kernel for all sentences of a batch before the next kernel, as the parser does."""
    clock = Clock()
    for group in batches:
        for name in group[0]:
            clock.time(name, lambda name=name, group=group: [job[name].call() for job in group])
    return dict(clock.seconds)


def _replay_all(batches: list[list[Mapping[str, Job]]], weights: Mapping[str, np.ndarray]) -> dict[str, Seconds]:
    """Do only the look-ups of all kernels, in the same order."""
    clock = Clock()
    zeros = {name: np.zeros(1, np.int64 if w.dtype == np.int16 else np.float64) for name, w in weights.items()}
    row = np.zeros(LINE, np.int32 if weights["label"].dtype == np.int16 else np.float64)
    for group in batches:
        for name in group[0]:
            if name == "label":
                clock.time(
                    name, lambda group=group: [_replay_lines(weights["label"], j["label"].places, row) for j in group]
                )
            else:
                clock.time(
                    name,
                    lambda name=name, group=group: [_replay(weights[name], j[name].places, zeros[name]) for j in group],
                )
    return dict(clock.seconds)


def table(limits: Mapping[str, Limit]) -> str:
    """Return the limits as plain text."""
    heads = ("look-ups", "lines", "KB", "table", "low", "high", "replay", "small", "kernel")
    lines = [f"{'':<12}" + "".join(f"{head:>9}" for head in heads)]
    for name, x in limits.items():
        counts = (x.lookups, x.lines, x.touched / 1024, x.table / 1024)
        times = (x.low, x.high, x.replay, x.small, x.kernel)
        lines.append(f"{name:<12}" + "".join(f"{v:>9.0f}" for v in counts) + "".join(f"{v:>9.2f}" for v in times))
    return "\n".join(
        [*lines, "look-ups and lines per word; KB that a batch touches, KB of the table; microseconds per word"]
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=320)
    options = parser.parse_args()
    parser = Parser(Model.load(options.model))
    limits, paces = measure(parser, options.file, options.repeats, options.sentences)
    for size, (dependent, independent) in paces.items():
        sys.stdout.write(
            f"{size // 1024:>6} KB: {dependent:.2f} ns per dependent read, {independent:.2f} ns per independent read\n"
        )
    sys.stdout.write(table(limits) + "\n")


if __name__ == "__main__":
    main()
