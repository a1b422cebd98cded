"""Signals that end the command line program.

An exception raised by a signal handler can occur anywhere, even inside a call of a kernel, where it has crashed the
process; and Python runs no handler before a kernel returns, which may take many seconds.  Therefore a thread receives
signals immediately.  Loops over sentences poll for signals and raise an exception, so that ``with`` blocks remove
temporary files; if no loop polls within `PATIENCE`, the thread removes the files and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from nonproj.io.temporary import remove_temporaries
from nonproj.workers.pool import OWN_THREADS

PATIENCE = 0.5
"""Seconds within which the main thread must react to a signal."""

UNWINDING = 10.0
"""Seconds that the main thread then has to clean up."""

MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""Message for each signal."""


class Terminated(BaseException):
    """SIGTERM or SIGHUP was received; its number is the argument.  Like `KeyboardInterrupt`, not an `Exception`."""


def heeding(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items; after a signal raise `KeyboardInterrupt` or `Terminated` before the next item or the end."""
    for item in items:
        heed()
        yield item
    heed()


def heed() -> None:
    """Raise the exception for the signal received, if any: `KeyboardInterrupt` or `Terminated`."""
    if Signals.received is not None:
        Signals.heeded.set()
        raise KeyboardInterrupt if Signals.received == signal.SIGINT else Terminated(Signals.received)


def _record(number: int, _: object) -> None:
    """Record the first signal in the main thread: at the end of the input it may come before the other thread runs."""
    if Signals.received is None:
        Signals.received = number


class Signals:
    """A context in which `heeding`, if it runs, handles the first signal, and the second ends the process.

    Signals that were ignored stay ignored, as under ``nohup``; outside the main thread the context does nothing.

    Parameters
    ----------
    patient : bool
        Whether the first Ctrl-C may take long to act: training finishes a sentence and saves a model.
    last : bool
        Whether the process ends afterwards: an interrupt then no longer prints a traceback.
    name : str
        Name of the program, for messages.
    """

    received: int | None = None
    heeded = threading.Event()

    def __init__(self, patient: bool, last: bool, name: str = "nonproj"):
        self.patient, self.last, self.name = patient, last, name
        self._finished = threading.Event()
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Signals:
        numbers = [number for number in MESSAGES if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        if numbers and threading.current_thread() is threading.main_thread():
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._thread = threading.Thread(target=self._watch, daemon=True, name=f"{OWN_THREADS}signals")
            self._thread.start()
            self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            for number in numbers:
                self._old[number] = signal.signal(number, _record)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._old:
            return
        self._finished.set()
        self.heeded.set()
        for number, old in self._old.items():
            signal.signal(number, signal.SIG_DFL if self.last else old)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)
        Signals.received = None
        self.heeded.clear()

    def _watch(self) -> None:
        """Record the first signal; end the process at the second, or if nothing handles the first."""
        first = True
        while data := os.read(self._reader, 1):
            number = data[0]
            if number not in MESSAGES:
                continue
            again, first = not first, False
            _record(number, None)
            if not again and self.patient and number == signal.SIGINT:
                continue
            if again or not (Signals.heeded.wait(PATIENCE) and self._finished.wait(UNWINDING)):
                with contextlib.suppress(OSError):
                    os.write(2, f"{self.name}: {MESSAGES[signal.Signals(number)]}\n".encode())
                remove_temporaries()
                os._exit(128 + number)
