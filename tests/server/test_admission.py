"""Admission under overload, with a simulated clock: hours of load in a moment, and the same on every machine."""

import heapq
import random
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from nonproj.server.admission import CAUTION, Admission, BusyError, Ticket


@dataclass
class Outcome:
    """Results of simulated requests; ``busy`` is the time that workers spent on those answered."""

    latencies: list[float]
    killed: int = 0
    refused_at_once: int = 0
    refused_later: int = 0
    busy: float = 0.0


class Load(NamedTuple):
    """Requests that arrive at random at a rate relative to capacity, independent of the responses."""

    rate: float = 3.0
    workers: int = 2
    limit: float = 30.0
    seconds: float = 300.0
    mean: float = 0.35
    noise: float = 0.5
    slower: float = 1.0


def simulate(load: Load, seed: int) -> Outcome:
    """Serve a load: ``noise`` is the spread of the time of equal requests, ``slower`` the slowdown at half-time."""
    rng, now = random.Random(seed), 0.0
    admission = Admission(waiting=10_000, limit=load.limit)
    admission.workers = load.workers
    queue, running = deque(), []
    outcome, arrival = Outcome([]), 0.0
    while arrival < load.seconds or running:
        if running and (arrival >= load.seconds or running[0][0] <= arrival):
            now, _, ticket, killed, seconds = heapq.heappop(running)
            admission.finish(ticket, now)
            if killed:
                outcome.killed += 1
            else:
                outcome.latencies.append(now - ticket.arrived)
                outcome.busy += seconds
        else:
            now = arrival
            arrival += rng.expovariate(load.rate * load.workers / load.mean)
            try:
                queue.append(admission.admit("parse", rng.randrange(200, 3000), now))
            except BusyError as error:
                assert 1 <= error.retry_after <= load.limit
                outcome.refused_at_once += 1
        if len(running) < load.workers:
            gone = {ticket for ticket, _ in admission.late(now)}
            outcome.refused_later += len(gone)
            queue = deque(ticket for ticket in queue if ticket not in gone)
        while queue and len(running) < load.workers:
            ticket = queue.popleft()
            admission.start(ticket, now)
            spread = rng.lognormvariate(-(load.noise**2) / 2, load.noise)
            seconds = load.mean * ticket.work / 1800 * spread * (load.slower if now > load.seconds / 2 else 1.0)
            own = min(seconds, load.limit)
            heapq.heappush(running, (now + own, id(ticket), ticket, seconds > load.limit, seconds))
    return outcome


LOADS = [Load(), Load(workers=1, noise=0.8), Load(limit=5.0), Load(rate=20.0, seconds=100.0), Load(slower=4.0)]


@pytest.mark.parametrize("load", LOADS)
def test_overload_costs_no_capacity_and_no_started_request(load):
    """Goodput is at least 90 % of capacity, and 99 % of the answers come within the limit."""
    outcome = simulate(load, seed=1)
    assert outcome.killed == 0
    assert outcome.busy >= 0.9 * load.workers * load.seconds
    latencies = sorted(outcome.latencies)
    assert latencies[int(0.99 * len(latencies))] <= load.limit
    assert outcome.refused_at_once > 100
    assert outcome.refused_later < 0.1 * len(outcome.latencies)


def test_nothing_is_refused_below_capacity():
    outcome = simulate(Load(rate=0.7), seed=3)
    assert outcome.refused_at_once == outcome.refused_later == outcome.killed == 0


def learnt(seconds: float, limit: float = 10.0) -> Admission:
    """Admission for one worker, given its time for a request of 800 characters."""
    admission = Admission(waiting=100, limit=limit)
    admission.workers = 1
    ticket = admission.admit("a", 800, 0.0)
    admission.start(ticket, 0.0)
    admission.finish(ticket, seconds)
    return admission


def test_an_idle_worker_takes_what_looks_too_long():
    """Estimates may be wrong: where nobody waits, only the limit of the work itself counts."""
    admission = learnt(9.0)
    ticket = admission.admit("a", 80_000, 20.0)
    assert admission.estimate(ticket) > 100
    assert admission.late(20.001) == []
    admission.start(ticket, 20.0)
    with pytest.raises(BusyError, match="an answer would take about"):
        admission.admit("a", 800, 20.0)


def test_requests_of_other_kinds_have_speeds_of_their_own():
    admission = learnt(4.0)
    tag = Ticket("tag", 800, 0.0)
    assert admission.estimate(tag) == pytest.approx(4.0)  # nothing is known of it yet
    admission.start(tag, 0.0)
    admission.finish(tag, 0.1)
    assert admission.estimate(Ticket("tag", 800, 0.0)) == pytest.approx(0.1)
    assert admission.estimate(Ticket("a", 800, 0.0)) == pytest.approx(4.0)


def test_what_waits_is_refused_as_soon_as_it_is_too_late():
    admission = learnt(1.0)
    first = admission.admit("a", 800, 1.0)
    admission.start(first, 1.0)
    others = [admission.admit("a", 800, 1.0) for _ in range(6)]
    assert admission.late(1.0) == admission.late(2.5) == []
    late = [ticket for ticket, _ in admission.late(5.0)]  # the first is overdue by three seconds
    assert 0 < len(late) < 6 and late == others[-len(late) :]
    assert (admission.waiting, admission.running) == (6 - len(late), 1)  # what has been started stays


def test_where_no_worker_is_left_requests_wait_for_the_next():
    admission = learnt(1.0)
    admission.workers, admission.reload = 0, 2.0
    assert admission.delay(5.0) == 2.0
    admission.admit("a", 800, 5.0)
    admission.reload = 10.0 / CAUTION
    with pytest.raises(BusyError):
        admission.admit("a", 800, 5.0)


def test_a_request_of_which_the_worker_died_comes_first():
    admission = learnt(1.0)
    first = admission.admit("a", 800, 1.0)
    admission.start(first, 1.0)
    second = admission.admit("a", 800, 1.0)
    admission.wait_again(first)
    assert (admission.waiting, admission.running, first.started) == (2, 0, None)
    assert list(admission._waiting) == [first, second]
