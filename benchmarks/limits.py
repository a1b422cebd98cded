"""The limit that scoring is held against: its look-ups, at the pace at which this machine reads memory at random.

    python -m benchmarks.limits MODEL FILE

A feature's score is one look-up in a table of weights, at a place that its hash decides.  How many there are follows
from the templates and the parts; how long each takes, from the size of what is looked at.  Beside this estimate stand
two measurements: ``replay`` reads the very places that the kernel reads, in its order and with all hashing done, and
does nothing else; ``small`` is the kernel itself over a table that fits into the first-level cache.  The first is what
memory costs, the second what arithmetic costs, and a kernel that takes hardly more than the greater one is done.
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

from benchmarks.clock import Clock, Seconds, interleave
from benchmarks.memory import LINE_BYTES, SIZES, independent_at, pace
from benchmarks.stages import STAGES, Batch, do_stage
from nonproj._kernel import kernel
from nonproj.io import conll
from nonproj.model import Model
from nonproj.parts.space import full_arc_space
from nonproj.pipeline import BATCH, Parser
from nonproj.scoring.hashing import Hashed, hash_tokens, list_places
from nonproj.scoring.labels import LINE, label_parts, label_scores
from nonproj.scoring.listing import Parts, arc_parts
from nonproj.scoring.score import score_pairs, score_parts
from nonproj.scoring.scorer import PART_TYPES

SMALL = 1 << 12
"""Weights of a table that fits into the first-level cache; labels and codes need as many."""


class Limit(NamedTuple):
    """One kernel against its limit; all but the bytes per word of the file.

    Attributes
    ----------
    lookups, lines : float
        Weights read (of labels: vectors of 16), and blocks of the table that they lie in.
    touched, table : float
        Bytes of the table that a batch of sentences looks at, in whole cache lines; and of the table.
    low, high : float
        Microseconds: lines at the pace of a table as large as what is touched, or of the table, and further look-ups at
        that of the first-level cache.
    replay, small, kernel : float
        Microseconds: the look-ups alone; the kernel over a small table; the kernel.
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
    """One kernel's work in one sentence: its call, and what it looks up.

    Attributes
    ----------
    call : function
    places : ndarray, uint32
    keys : int
        Blocks of the table among these.
    """

    call: Callable[[], object]
    places: np.ndarray
    keys: int


# -- the look-ups of a sentence ----------------------------------------------------------------------------------------


def pair_parts(n_words: int) -> Parts:
    """Return all arcs in the order in which the kernel of first-order scores goes through them."""
    nodes, codes = arc_parts(full_arc_space(n_words))
    order = np.lexsort((nodes[:, 1], nodes[:, 0]))
    return Parts(nodes[order], codes[order])


def places_of(hashed: Hashed, parts: Parts) -> tuple[np.ndarray, int]:
    """Return the places in the weight table of all parts, in the order of the look-ups, and their blocks."""
    places = list_places(hashed, parts).places
    plain = hashed.plain
    return places, len(places) - len(parts.nodes) * plain.n_plain * (len(plain.codes) - 1)


def jobs(parser: Parser, batch: Batch, number: int, size: int | None) -> dict[str, Job]:
    """Return what each kernel does for one sentence of a batch, over the model's tables or over small ones."""
    tokens, tables, found = batch.tokens[number], parser.model.weights, {}
    weights = {name: tables[name] if size is None else tables[name][:size] for name in ("pruner", "parser", "labeler")}
    hashed = hash_tokens(tokens, parser.pruner_table, len(weights["pruner"]))
    places = places_of(hashed, pair_parts(tokens.n_nodes - 1))
    found["pairs"] = Job(partial(score_pairs, hashed, weights["pruner"]), *places)
    index = batch.scored[number][0]
    pairs = parser.scorer.featurise(tokens, batch.arcs[number], index, len(weights["parser"])).pairs
    for name, (hashed, parts) in zip(PART_TYPES, pairs, strict=False):
        found[name] = Job(partial(score_parts, hashed, parts, weights["parser"]), *places_of(hashed, parts))
    hashed = hash_tokens(tokens, parser.label_table, len(weights["labeler"]))
    parts, labels = label_parts(batch.decoded[number].heads), len(parser.model.labels)
    places, keys = places_of(hashed, parts)
    firsts = np.arange(0, labels, LINE, dtype=np.uint32)
    places = ((places & ~np.uint32(LINE - 1))[:, None] ^ firsts).reshape(-1)
    found["label"] = Job(partial(label_scores, hashed, parts, labels, weights["labeler"]), places, keys * len(firsts))
    return found


TABLE_OF = {"pairs": "pruner", "label": "labeler"} | dict.fromkeys(PART_TYPES, "parser")
"""The weight table that each kernel looks at."""


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
    """Parse the first sentences of a file and keep what the stages made."""
    group, batches = list(islice(conll.read(source), sentences)), []
    for first in range(0, len(group), BATCH):
        batches.append(Batch(group[first : first + BATCH]))
        for name in STAGES[1:-1]:
            do_stage(name, parser, batches[-1])
    return batches


def measure(parser: Parser, source: Path, repeats: int, sentences: int) -> tuple[dict[str, Limit], dict]:
    """Hold every scoring kernel against its limit.

    Parameters
    ----------
    parser : Parser
    source : Path
    repeats, sentences : int
        The first so many sentences of the file are used.

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
    """Return the bytes of the cache lines that some places lie in."""
    return LINE_BYTES * len(np.unique(np.concatenate(places) // np.uint32(LINE_BYTES // itemsize)))


def _call(batches: list[list[Mapping[str, Job]]]) -> dict[str, Seconds]:
    """Call all kernels, each for all sentences of a batch before the next one, as the parser does."""
    clock = Clock()
    for group in batches:
        for name in group[0]:
            clock.time(name, lambda name=name, group=group: [job[name].call() for job in group])
    return dict(clock.seconds)


def _replay_all(batches: list[list[Mapping[str, Job]]], weights: Mapping[str, np.ndarray]) -> dict[str, Seconds]:
    """Do the look-ups of all kernels and nothing else, in the same order."""
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
    return "\n".join([*lines, "look-ups and lines a word; KB that a batch touches, of the table; microseconds a word"])


def main() -> None:
    """Measure and print."""
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
            f"{size // 1024:>6} KB: {dependent:.2f} ns a dependent read, {independent:.2f} ns an independent one\n"
        )
    sys.stdout.write(table(limits) + "\n")


if __name__ == "__main__":
    main()
