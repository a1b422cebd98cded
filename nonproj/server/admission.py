"""Which requests are admitted: those that can be answered within the time limit, at the speed of recent requests.

A queue without admission collapses under overload: every request waits until its time is nearly over, is started,
and is given up unfinished.  Here the time that a request will wait and take is estimated when it arrives; it is refused
at once if that exceeds the limit, and a request that waits is refused as soon as this becomes clear.  What is started
is never given up because it has waited.

Nothing here knows processes or clocks: the caller passes the time, so that tests can run hours of overload in a moment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from nonproj.errors import NonprojError

CAUTION = 1.25
"""Estimates are not exact: multiplied by this they must be within the limit, divided by it beyond, to refuse later."""

MEMORY = 0.97
"""Weight of all earlier requests of a kind, relative to its last one, in the estimate of its speed."""

OVERHEAD = 200
"""What a request costs beside its data, in characters."""


class BusyError(NonprojError):
    """A request is not admitted.

    Parameters
    ----------
    message : str
    retry_after : float
        Seconds after which the client may try again.
    """

    def __init__(self, message: str, retry_after: float = 1.0):
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(eq=False)
class Ticket:
    """A request that has been admitted.

    Attributes
    ----------
    kind : hashable
        Requests of a kind take about the same time for each character.
    size : int
        Number of characters.
    arrived : float
    started : float or None
        When a worker began with it; None while it waits.
    at_once : bool
        Whether a worker was idle when it arrived; then only the limit of its work counts, however long it may take.
    """

    kind: Hashable
    size: int
    arrived: float
    started: float | None = None
    at_once: bool = False

    @property
    def work(self) -> int:
        """The work that it is, in characters."""
        return self.size + OVERHEAD


class Speed:
    """Seconds for each character, averaged over recent requests.

    Examples
    --------
    >>> speed = Speed()
    >>> speed.learn(2.0, 100)
    >>> speed.seconds(300)
    6.0
    """

    def __init__(self) -> None:
        self._seconds, self._work = 0.0, 0.0

    def learn(self, seconds: float, work: int) -> None:
        """Take note of a request."""
        self._seconds = MEMORY * self._seconds + seconds
        self._work = MEMORY * self._work + work

    @property
    def known(self) -> bool:
        """Whether there has been a request."""
        return self._work > 0

    def seconds(self, work: int) -> float:
        """Return the estimated time for some work; 0 if nothing is known."""
        return self._seconds / self._work * work if self._work else 0.0


class Admission:
    """The requests that wait or are worked on, and what is known of their speed.

    Parameters
    ----------
    waiting : int
        Number of requests that may wait.
    limit : float
        Seconds in which a request should be answered; also the limit of the work on one request.

    Attributes
    ----------
    workers : int
        Number of workers that are ready for work or working.
    reload : float
        Seconds that a worker takes to start.

    Examples
    --------
    A worker that takes a second for each request of this size, and a limit of four seconds:

    >>> admission = Admission(waiting=10, limit=4.0)
    >>> admission.workers = 1
    >>> first = admission.admit("parse", 800, now=0.0)
    >>> admission.start(first, now=0.0)
    >>> admission.finish(first, now=1.0)
    >>> tickets = [admission.admit("parse", 800, now=1.0) for _ in range(3)]
    >>> admission.admit("parse", 800, now=1.0)
    Traceback (most recent call last):
    nonproj.server.admission.BusyError: busy: an answer would take about 4 s; the limit is 4 s: try again later
    """

    def __init__(self, waiting: int, limit: float):
        self.limit, self.workers, self.reload = limit, 0, 0.0
        self._waiting_limit = waiting
        self._waiting: dict[Ticket, None] = {}
        self._waiting_work: Counter[Hashable] = Counter()
        self._running: dict[Ticket, None] = {}
        self._speeds: dict[Hashable, Speed] = {}
        self._any = Speed()

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of requests that are worked on."""
        return len(self._running)

    def estimate(self, ticket: Ticket) -> float:
        """Return the estimated time of the work on a request; 0 if nothing is known."""
        return self._seconds(ticket.kind, ticket.work)

    def delay(self, now: float) -> float:
        """Return the estimated time until the work on a request that arrives now begins."""
        if self.workers > len(self._running) + len(self._waiting):
            return 0.0
        waiting = sum(self._seconds(kind, work) for kind, work in self._waiting_work.items())
        return self._before(now) + waiting / max(self.workers, 1)

    def admit(self, kind: Hashable, size: int, now: float) -> Ticket:
        """Return the ticket of a request that waits from now on.

        Raises
        ------
        BusyError
            Too many requests wait, or it could not be answered in time.
        """
        ticket, delay = Ticket(kind, size, now), self.delay(now)
        own = self.estimate(ticket)
        if len(self._waiting) >= self._waiting_limit and len(self._waiting) + len(self._running) >= self.workers:
            raise BusyError(f"busy: {len(self._waiting)} requests are waiting; try again later", max(1.0, own))
        if delay > 0 and CAUTION * (delay + own) > self.limit:
            raise self._refusal(delay + own)
        ticket.at_once = delay == 0
        self._waiting[ticket] = None
        self._waiting_work[kind] += ticket.work
        return ticket

    def start(self, ticket: Ticket, now: float) -> None:
        """Take note that the work on a request begins; the limit of its work counts from now on."""
        self._remove(ticket)
        self._running[ticket] = None
        ticket.started = now

    def wait_again(self, ticket: Ticket) -> None:
        """Put a request of which the worker died before all those that wait."""
        self._remove(ticket)
        ticket.started = None
        self._waiting = {ticket: None} | self._waiting
        self._waiting_work[ticket.kind] += ticket.work

    def finish(self, ticket: Ticket, now: float) -> None:
        """Take note that the work on a request ended, and of its speed."""
        self._remove(ticket)
        if ticket.started is not None:
            seconds = now - ticket.started
            for speed in (self._speeds.setdefault(ticket.kind, Speed()), self._any):
                speed.learn(seconds, ticket.work)

    def discard(self, ticket: Ticket) -> None:
        """Forget a request without taking note of its speed."""
        self._remove(ticket)

    def late(self, now: float) -> list[tuple[Ticket, BusyError]]:
        """Return the waiting requests that can no longer be answered in time, each with its error, and forget them."""
        found, delay = [], self._before(now)
        for ticket in list(self._waiting):
            own = self.estimate(ticket)
            waited = now - ticket.arrived
            seconds = (delay + own) / CAUTION if delay else CAUTION * own  # the next to be started has to be sure
            if not ticket.at_once and waited + seconds > self.limit:
                self._remove(ticket)
                found.append((ticket, self._refusal(delay + own)))
            else:
                delay += own / max(self.workers, 1)
        return found

    def _remove(self, ticket: Ticket) -> None:
        """Remove a request from those that wait and those that are worked on."""
        if ticket in self._waiting:
            del self._waiting[ticket]
            self._waiting_work[ticket.kind] -= ticket.work
        self._running.pop(ticket, None)

    def _seconds(self, kind: Hashable, work: int) -> float:
        """Return the estimated time of some work of a kind, or of any kind where this one has not occurred."""
        return self._speeds.get(kind, self._any).seconds(work)

    def _before(self, now: float) -> float:
        """Return the estimated time until the first request that waits is started."""
        if self.workers == 0:
            return self.reload
        if len(self._running) < self.workers:
            return 0.0
        return sum(self._left(ticket, now) for ticket in self._running) / self.workers

    def _left(self, ticket: Ticket, now: float) -> float:
        """Return the estimated time that a request in work still takes: the longer it is overdue, the longer."""
        assert ticket.started is not None
        passed = now - ticket.started
        return max(0.0, min(abs(self.estimate(ticket) - passed), self.limit - passed))

    def _refusal(self, seconds: float) -> BusyError:
        limit = f"{self.limit:g} s"
        text = f"busy: an answer would take about {seconds:.3g} s; the limit is {limit}: try again later"
        return BusyError(text, min(max(1.0, math.ceil(CAUTION * seconds - self.limit)), self.limit))
