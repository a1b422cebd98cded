"""Admission control: a request is admitted if it can be answered within the time limit at the speed of recent requests.

A queue without admission control collapses under overload: every request waits until its time is nearly over, is
started, and is abandoned unfinished.  Here the waiting and processing time of a request is estimated on arrival; it is
refused immediately if that exceeds the limit, and a waiting request is refused as soon as this becomes clear.  A
started request is never abandoned because of its waiting time.

This module uses no processes or clocks: the caller passes the time, so that tests can simulate hours of overload.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from nonproj.errors import NonprojError

CAUTION = 1.25
"""Safety factor: estimates are multiplied by it to admit a request, and divided by it to evict a waiting one."""

MEMORY = 0.97
"""Factor by which each request reduces the weight of earlier ones of its kind in the estimate of their speed."""

OVERHEAD = 200
"""Fixed cost of a request, in characters of data."""


class BusyError(NonprojError):
    """The request is not admitted.

    Parameters
    ----------
    message : str
    retry_after : float
        Seconds after which the client may try again.
    """

    def __init__(self, message: str, retry_after: float = 1.0):
        super().__init__(message)
        self.retry_after = retry_after


class TimeLimitError(NonprojError):
    """A request took too long."""


class MemoryLimitError(NonprojError):
    """A request exceeded the memory limit of a worker."""


class GoneError(NonprojError):
    """The client has disconnected."""


@dataclass(eq=False)
class Ticket:
    """An admitted request.

    Attributes
    ----------
    kind : hashable
        Requests of a kind take about the same time per character.
    size : int
        Number of characters.
    arrived : float
    started : float or None
        Time at which a worker started it; None while it waits.
    at_once : bool
        Whether a worker was idle when it arrived; then only the limit on its processing time applies.
    """

    kind: Hashable
    size: int
    arrived: float
    started: float | None = None
    at_once: bool = False

    @property
    def work(self) -> int:
        """The amount of work, in characters."""
        return self.size + OVERHEAD


class Speed:
    """Seconds per character, averaged over recent requests.

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
        """Record a request."""
        self._seconds = MEMORY * self._seconds + seconds
        self._work = MEMORY * self._work + work

    def seconds(self, work: int) -> float:
        """Return the estimated time for an amount of work; 0 if there is no record."""
        return self._seconds / self._work * work if self._work else 0.0


class Admission:
    """The requests that are waiting or being processed, and estimates of their speed.

    Parameters
    ----------
    waiting : int
        Maximum number of waiting requests.
    limit : float
        Target for the response time in seconds; also the limit on the processing time of a request.

    Attributes
    ----------
    workers : int
        Number of workers that are idle or busy.
    reload : float
        Seconds that the last worker took to start.

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
        """The number of waiting requests."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of requests being processed."""
        return len(self._running)

    def estimate(self, ticket: Ticket) -> float:
        """Return the estimated processing time of a request; 0 if there is no record."""
        return self._seconds(ticket.kind, ticket.work)

    def delay(self, now: float) -> float:
        """Return the estimated time until a request arriving now would start."""
        if self.workers > len(self._running) + len(self._waiting):
            return 0.0
        waiting = sum(self._seconds(kind, work) for kind, work in self._waiting_work.items())
        return self._before(now) + waiting / max(self.workers, 1)

    def admit(self, kind: Hashable, size: int, now: float) -> Ticket:
        """Return the ticket of a request, which waits from now on.

        Raises
        ------
        BusyError
            The queue is full, or the request could not be answered in time.
        """
        delay = self.delay(now)
        ticket = Ticket(kind, size, now, at_once=delay == 0)
        own = self.estimate(ticket)
        if len(self._waiting) >= self._waiting_limit and len(self._waiting) + len(self._running) >= self.workers:
            raise BusyError(f"busy: {len(self._waiting)} requests are waiting; try again later", max(1.0, own))
        if delay > 0 and CAUTION * (delay + own) > self.limit:
            raise self._refusal(delay + own)
        self._waiting[ticket] = None
        self._waiting_work[kind] += ticket.work
        return ticket

    def start(self, ticket: Ticket, now: float) -> None:
        """Record that a request starts; the limit on its processing time counts from now on."""
        self.discard(ticket)
        self._running[ticket] = None
        ticket.started = now

    def wait_again(self, ticket: Ticket) -> None:
        """Put a request whose worker died at the front of the queue."""
        self.discard(ticket)
        ticket.started = None
        self._waiting = {ticket: None} | self._waiting
        self._waiting_work[ticket.kind] += ticket.work

    def finish(self, ticket: Ticket, now: float) -> None:
        """Record that a request is finished, and its speed."""
        self.discard(ticket)
        if ticket.started is not None:
            seconds = now - ticket.started
            for speed in (self._speeds.setdefault(ticket.kind, Speed()), self._any):
                speed.learn(seconds, ticket.work)

    def discard(self, ticket: Ticket) -> None:
        """Remove a request without recording its speed."""
        if ticket in self._waiting:
            del self._waiting[ticket]
            self._waiting_work[ticket.kind] -= ticket.work
        self._running.pop(ticket, None)

    def late(self, now: float) -> list[tuple[Ticket, BusyError]]:
        """Remove the waiting requests that can no longer be answered in time, and return each with its error."""
        found, delay = [], self._before(now)
        for ticket in list(self._waiting):
            own = self.estimate(ticket)
            waited = now - ticket.arrived
            seconds = (delay + own) / CAUTION if delay else CAUTION * own  # stricter for one that would start now
            if not ticket.at_once and waited + seconds > self.limit:
                self.discard(ticket)
                found.append((ticket, self._refusal(delay + own)))
            else:
                delay += own / max(self.workers, 1)
        return found

    def _seconds(self, kind: Hashable, work: int) -> float:
        """Return the estimated time for work of a kind, or of any kind if there is no record of this one."""
        return self._speeds.get(kind, self._any).seconds(work)

    def _before(self, now: float) -> float:
        """Return the estimated time until the first waiting request starts."""
        if self.workers == 0:
            return self.reload
        if len(self._running) < self.workers:
            return 0.0
        return sum(self._left(ticket, now) for ticket in self._running) / self.workers

    def _left(self, ticket: Ticket, now: float) -> float:
        """Return the estimated remaining time of a running request: for an overdue one, the time since it was due."""
        assert ticket.started is not None
        passed = now - ticket.started
        return max(0.0, min(abs(self.estimate(ticket) - passed), self.limit - passed))

    def _refusal(self, seconds: float) -> BusyError:
        text = f"busy: an answer would take about {seconds:.3g} s; the limit is {self.limit:g} s: try again later"
        return BusyError(text, min(max(1.0, math.ceil(CAUTION * seconds - self.limit)), self.limit))
