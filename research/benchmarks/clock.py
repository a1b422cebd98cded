"""Timing on a machine that other programs use too.

Subjects to compare run in alternation, so that a slow minute affects all of them.  The best repeat shows a program's
needs, the median its usual time.  Both wall-clock and processor time are kept.  Processes are not pinned to cores.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Seconds(NamedTuple):
    """Wall-clock seconds, and processor seconds of this process."""

    wall: float
    cpu: float


class Summary(NamedTuple):
    """Best and median wall-clock time and best processor time of several repeats, in seconds."""

    best: float
    median: float
    cpu: float


class Clock:
    """Accumulates the time of named stages.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.time("sum", sum, range(10))
    45
    >>> clock.seconds["sum"].wall > 0
    True
    """

    def __init__(self):
        self.seconds: dict[str, Seconds] = defaultdict(lambda: Seconds(0.0, 0.0))

    def time(self, name: str, function: Callable, *arguments, **options) -> Any:
        """Call a function, add its time to the stage, and return its result."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments, **options)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        before = self.seconds[name]
        self.seconds[name] = Seconds(before.wall + wall, before.cpu + cpu)
        return result


def interleave(
    subjects: Mapping[Any, Callable[[], Mapping[str, Seconds]]], repeats: int
) -> dict[Any, dict[str, Summary]]:
    """Run all subjects in alternation: one round that is not measured, then the repeats.

    Parameters
    ----------
    subjects : mapping of name to function
        Each returns the time of each of its stages.
    repeats : int

    Returns
    -------
    dict
        For each subject, a `Summary` for each stage and for their sum, ``"all"``.
    """
    for subject in subjects.values():
        subject()
    runs: dict[Any, list] = defaultdict(list)
    for _ in range(repeats):
        for name, subject in subjects.items():
            runs[name].append(subject())
    return {name: summarise(measured) for name, measured in runs.items()}


def summarise(runs: Sequence[Mapping[str, Seconds]]) -> dict[str, Summary]:
    """Summarise each stage, and the sum of all stages, over the repeats.

    Examples
    --------
    >>> summarise([{"a": Seconds(2, 1)}, {"a": Seconds(3, 1)}, {"a": Seconds(7, 1)}])["all"]
    Summary(best=2, median=3, cpu=1)
    """
    table = {name: [run[name] for run in runs] for name in runs[0]}
    table["all"] = [Seconds(*map(sum, zip(*run.values(), strict=True))) for run in runs]
    return {
        name: Summary(min(s.wall for s in times), statistics.median(s.wall for s in times), min(s.cpu for s in times))
        for name, times in table.items()
    }
