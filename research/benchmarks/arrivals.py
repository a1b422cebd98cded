"""Response times of the server when requests arrive at random at given rates, and during a reload of the model.

    python -m research.benchmarks.arrivals MODEL TREEBANK [--jobs 1] [--seconds 30] [--shares 0.25 0.5 0.75]

Requests arrive as a Poisson process, whether or not others have been answered (an open loop), and the response time
counts from the time at which a request was to arrive, so a client that is late, or a server that keeps clients waiting,
does not improve the figures.  Rates are shares of the capacity, which one client for each worker measures first.  Each
rate lasts for the given time and ends after all answers; a last run, at half the capacity, reloads the model in its
middle.  A request is lost if it gets no response, or one other than 200 and 503 (refused).
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import signal
import sys
import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

import httpx
import numpy as np

from nonproj.io import conll
from research.attack.live import Live

RELOAD_SHARE = 0.5
"""Share of the capacity at which the model is reloaded."""

ANSWER_SECONDS = 90.0
"""Time limit for an answer; a request without one is lost."""


class Arrival(NamedTuple):
    """A request: times when it was due and was answered, its status (0 if none), and its number of words."""

    due: float
    answered: float
    status: int
    words: int


class Row(NamedTuple):
    """Figures of a run: rates per second, percentiles of the response time in seconds, and counts."""

    offered: float
    requests: float
    words: float
    p50: float
    p95: float
    p99: float
    refused: int
    lost: int


def requests_of(path: str, count: int, seed: int = 1) -> list[str]:
    """Return texts of this number of sentences each, drawn from a treebank."""
    sentences = [
        " ".join(form.replace(" ", "\u00a0") for form in each.forms) for each in islice(conll.read(path), 2000)
    ]
    random.Random(seed).shuffle(sentences)
    endless = cycle(sentences)
    return ["\n".join(islice(endless, count)) for _ in range(200)]


def row_of(arrivals: Sequence[Arrival], seconds: float) -> Row:
    """Return the figures of requests that were to arrive within this time.

    Examples
    --------
    >>> row_of([Arrival(0.0, 2.0, 200, 9), Arrival(1.0, 1.5, 503, 9), Arrival(1.0, 3.0, 0, 9)], 3.0)[2:]
    (3.0, 2.0, 2.0, 2.0, 1, 1)
    """
    answered = [each for each in arrivals if each.status == 200]
    times = [each.answered - each.due for each in answered]
    lasted = max([seconds, *(each.answered - arrivals[0].due for each in answered)])
    return Row(
        len(arrivals) / seconds,
        len(answered) / lasted,
        sum(each.words for each in answered) / lasted,
        *np.quantile(times or [math.nan], (0.5, 0.95, 0.99), method="inverted_cdf").tolist(),
        sum(each.status == 503 for each in arrivals),
        sum(each.status not in (200, 503) for each in arrivals),
    )


async def capacity_of(client: httpx.AsyncClient, texts: list[str], jobs: int, seconds: float) -> float:
    """Return the number of requests answered per second with one client per worker."""
    answered, source, began = 0, cycle(texts), time.monotonic()

    async def keep_asking() -> None:
        nonlocal answered
        while time.monotonic() < began + seconds:
            await _ask(client, next(source), time.monotonic())
            answered += 1

    await asyncio.gather(*(keep_asking() for _ in range(jobs)))
    return answered / (time.monotonic() - began)


async def arrive(
    client: httpx.AsyncClient, texts: Sequence[str], rate: float, seconds: float, seed: int
) -> list[Arrival]:
    """Return the requests of a Poisson process of this rate, with their answers."""
    rng, source, tasks = random.Random(seed), cycle(texts), []
    due = began = time.monotonic()
    while (due := due + rng.expovariate(rate)) < began + seconds:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        tasks.append(asyncio.create_task(_ask(client, next(source), due)))
    return list(await asyncio.gather(*tasks))


async def _ask(client: httpx.AsyncClient, text: str, due: float) -> Arrival:
    try:
        fields = {"data": text, "input": "horizontal", "parser": ""}
        status = (await client.post("/process", data=fields)).status_code
    except httpx.HTTPError:
        status = 0
    return Arrival(due, time.monotonic(), status, len(text.split()))


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    texts = requests_of(options.treebank, options.sentences)
    words = sum(len(text.split()) for text in texts) / len(texts)
    limits, write = httpx.Limits(max_connections=None, max_keepalive_connections=50), sys.stdout.write
    command = ["--port", "0", "--jobs", str(options.jobs), "--timeout", str(options.timeout), "--waiting", "10000"]
    server = Live("serve", options.model, *command)
    try:
        url = f"http://127.0.0.1:{server.port}"
        async with httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, limits=limits) as client:
            await capacity_of(client, texts, options.jobs, 3.0)
            capacity = await capacity_of(client, texts, options.jobs, options.seconds / 2)
            write(f"{options.jobs} workers, {words:.0f} words per request on average\n")
            write(f"capacity: {capacity:.1f} requests/s, {capacity * words:,.0f} words/s\n")
            write("\n| load | requests/s offered | answered | words/s | p50 | p95 | p99 | refused | lost |\n")
            write("|---|---|---|---|---|---|---|---|---|\n")
            for seed, share in enumerate(options.shares):
                arrivals = await arrive(client, texts, share * capacity, options.seconds, seed)
                write(line_of(f"{share:g}", row_of(arrivals, options.seconds)))
                sys.stdout.flush()
            loop = asyncio.get_running_loop()
            loop.call_later(options.seconds / 2, server.process.send_signal, signal.SIGHUP)
            arrivals = await arrive(client, texts, RELOAD_SHARE * capacity, options.seconds, len(options.shares))
            write(line_of(f"{RELOAD_SHARE:g}, reload", row_of(arrivals, options.seconds)))
            write(f"\n{await reloads(client)}\n")
    finally:
        server.end()


async def reloads(client: httpx.AsyncClient) -> str:
    """Return the metrics of reloads as soon as there was one."""
    end = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < end:
        lines = (await client.get("/metrics")).text.splitlines()
        found = [line for line in lines if line.startswith("nonproj_reloads_total{")]
        if not all(line.endswith(" 0.0") for line in found):
            return "\n".join(found)
        await asyncio.sleep(0.1)
    raise SystemExit("the server has not reloaded its model")


def line_of(name: str, row: Row) -> str:
    """Return a line of the table.

    Examples
    --------
    >>> line_of("0.5", Row(10.0, 9.9, 1980.4, 0.1, 0.25, 0.3, 0, 0))
    '| 0.5 | 10.0 | 9.9 | 1,980 | 0.100 | 0.250 | 0.300 | 0 | 0 |\\n'
    """
    times = " | ".join(f"{value:.3f}" for value in (row.p50, row.p95, row.p99))
    rates = f"{row.offered:.1f} | {row.requests:.1f} | {row.words:,.0f}"
    return f"| {name} | {rates} | {times} | {row.refused} | {row.lost} |\n"


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("treebank", metavar="TREEBANK")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: 1)")
    parser.add_argument("--seconds", type=float, default=30.0, help="time of each rate (default: 30)")
    parser.add_argument("--sentences", type=int, default=10, help="sentences per request (default: 10)")
    parser.add_argument("--timeout", type=float, default=30.0, help="time limit of a request (default: 30)")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 0.5, 0.75, 0.9, 1.5], metavar="SHARE")
    options = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and the server would, too
    asyncio.run(run(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
