"""Time of a read at a random place by table size: the effect of this machine's caches.

python -m research.benchmarks.memory
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel

LINE_BYTES = 64
"""Bytes of a cache line."""

SIZES = tuple(1 << bits for bits in range(14, 27, 2))
"""Table sizes in bytes, from 16 KB, within any first-level cache, to 64 MB, beyond most last-level caches."""

READS = 1 << 19
"""Reads per measurement."""

CHUNK = 1 << 10
"""Number of places drawn beforehand; each round moves them by its own offset, so drawing them is not timed."""


class Pace(NamedTuple):
    """Nanoseconds per read, when each read depends on the one before and when reads are independent."""

    dependent: float
    independent: float


def pace(size: int, repeats: int = 5) -> Pace:
    """Measure reads at random places of a table of ``size`` bytes, a power of two; return the best of the repeats.

    Weights are int16, as in a model.  Each repeat reads different places.
    """
    chance = np.random.default_rng(size)
    lines = size // LINE_BYTES
    ring = np.empty((lines, LINE_BYTES // 4), np.uint32)  # one entry per cache line
    order = chance.permutation(lines).astype(np.uint32)
    ring[order, 0] = np.roll(order, -1)
    table = np.ones(size // 2, np.int16)  # not zeros, which the system would map to one page
    dependent = [_timed(_chase, ring, order[0], np.int64(READS)) for _ in range(repeats + 1)]
    independent = []
    for _ in range(repeats + 1):
        places = chance.integers(0, len(table), CHUNK).astype(np.uint32)
        offsets = chance.integers(0, len(table), READS // CHUNK).astype(np.uint32)
        independent.append(_timed(_gather, table, places, offsets))
    return Pace(min(dependent[1:]), min(independent[1:]))


def independent_at(paces: Mapping[int, Pace], size: float) -> float:
    """Interpolate the time of independent reads for a table of any size, on logarithmic scales.

    Examples
    --------
    >>> round(independent_at({1: Pace(9.0, 1.0), 16: Pace(9.0, 4.0)}, 4), 6)
    2.0
    """
    sizes = sorted(paces)
    logarithms = np.log([paces[known].independent for known in sizes])
    return float(np.exp(np.interp(np.log(size), np.log(sizes), logarithms)))


def _timed(function, *arguments) -> float:
    """Return processor nanoseconds per read."""
    begin = time.process_time_ns()
    function(*arguments)
    return (time.process_time_ns() - begin) / READS


@kernel
def _chase(ring, line, steps):
    """Follow the ring for a number of steps."""
    for _ in range(steps):
        line = ring[line, 0]
    return line


@kernel
def _gather(table, places, offsets):
    """Sum the table at all places, xor-ed with each of the offsets."""
    total = np.int64(0)
    for offset in offsets:
        for place in places:
            total += table[place ^ offset]
    return total


def main() -> None:
    """Run the command line."""
    for size in SIZES:
        dependent, independent = pace(size)
        sys.stdout.write(f"{size // 1024:>6} KB {dependent:>8.2f} ns dependent {independent:>8.2f} ns independent\n")


if __name__ == "__main__":
    main()
