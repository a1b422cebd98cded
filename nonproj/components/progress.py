"""The progress of training: how far it is, and the time left."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from nonproj.io.terminal import unescaped
from nonproj.options.config import Config

_INTERVAL = 0.5
"""Seconds between two updates of the line."""

_PRIOR = 0.1
"""Weight of the expected times in the estimate of the pace, as a share of their total."""


def expected_times(config: Config, words: int, jobs: int = 1) -> dict[str, float]:
    """Return the seconds that each component is expected to take, in their order.

    The constants are milliseconds per word with default options on an idle processor without a GPU, including the folds
    before a component.  Only their proportions matter once the first component is trained.  ``jobs`` is the number of
    processes.

    Examples
    --------
    >>> expected_times(Config(), 1000)["labeler"]
    0.25
    """
    training = config.training
    times = {
        "segmenter": 0.2 * config.segmenter.epochs / 6,
        "tagger": 0.7 * config.tagger.epochs / 5 * config.tagger.restarts / 3,
        "pruner": 1.6 * (0.1 if training.tags == "gold" else config.tagger.folds / 5),
        "labeler": 0.25 * config.labeler.epochs / 4,
        "confidence": 1.3 * min(1.0, config.confidence.share * 10),
        "network": 0.6 * config.network.epochs / 10,
    }
    if config.encoder.folder:  # of 12 layers, on two cores
        epochs = config.encoder.epochs
        times["encoder"] = 2.5 * (epochs if isinstance(epochs, int) else 8)
        times["confidence"] += 0.5 * times["encoder"] * min(1.0, config.confidence.share * 10)
    times["parser"] = 0.35 * training.epochs / 4
    if jobs > 1 and not config.encoder.folder:  # folds are shared, and confidence is learnt beside network and parser
        times["pruner"] *= 0.6
        times["confidence"] = max(times.pop("confidence") - times["network"] - times["parser"], 0.0)
    return {name: time * words / 1000 for name, time in times.items()}


class TrainingProgress(logging.Handler):
    """Shows the time left, in one line on a terminal, else in a line for each component; and figures of each epoch.

    It is a handler of the log, whose messages report trained components.

    Parameters
    ----------
    expected : dict of str to float
        Seconds for each component.
    stream : text stream
    """

    def __init__(self, expected: dict[str, float], stream: TextIO):
        super().__init__()
        self._expected, self._stream, self._terminal = expected, unescaped(stream), stream.isatty()
        self._began = self._drawn = time.monotonic()
        self._done, self._at = 0.0, 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a message: record a trained component, show held-out figures, or clear the line for a warning."""
        name = getattr(record, "component", None)
        if name in self._expected:
            names = list(self._expected)
            self._done = sum(self._expected[each] for each in names[: names.index(name) + 1])
            self._at = time.monotonic() - self._began
            if not self._terminal:
                self._stream.write(f"{name}: trained after {clock(self._at)}{self._left(self._at)}\n")
        elif record.levelno >= logging.WARNING:
            self.clear()
        elif getattr(record, "evaluated", False):
            self.clear()
            self._stream.write(f"{record.getMessage()}\n")

    def wrap(self, items: Iterable[Any], description: str) -> Iterator[Any]:
        """Yield the items of a loop, and update the line."""
        for item in items:
            yield item
            now = time.monotonic()
            if self._terminal and now - self._drawn > _INTERVAL:
                self._drawn, elapsed = now, now - self._began
                share = 100 * elapsed / (elapsed + self._seconds_left(elapsed))
                self._stream.write(f"\r\033[Ktraining: {share:.0f} %{self._left(elapsed)} ({description})")
                self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def _seconds_left(self, elapsed: float) -> float:
        """Return the remaining seconds, assuming the same ratio to the expected time as in the completed part."""
        total = sum(self._expected.values())
        pace = (self._at + _PRIOR * total) / (self._done + _PRIOR * total)
        return max(total * pace - elapsed, 0.05 * (total - self._done) * pace)

    def _left(self, elapsed: float) -> str:
        """Return a phrase that says the time left; empty if that is a second or less."""
        seconds = self._seconds_left(elapsed)
        return f", about {clock(seconds)} left" if seconds > 1 else ""


def clock(seconds: float) -> str:
    """Return a duration in hours, minutes and seconds.

    Examples
    --------
    >>> clock(75.2), clock(7261)
    ('1:15', '2:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
