"""The server at three times its capacity: the share of requests answered, and response times.

    python -m research.benchmarks.overload MODEL TREEBANK [--times 3] [--seconds 120] [--jobs 1] [--timeout 30]

Requests are sentences of the treebank, as words, enough of them to keep a worker busy for about `REQUEST_SECONDS`.
First one client for each worker measures the capacity.  Then requests arrive at random, at that many times the
capacity, whether or not others have been answered (an open loop), and clients wait as long as they have to.

Goodput is measured twice: the share of the workers' time that went into answered requests while the load lasted,
which another program on the machine does not change; and answers per second relative to the capacity.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from typing import NamedTuple

import httpx

from nonproj.io import conll
from nonproj.kernels.interpreters import environment, python

REQUEST_SECONDS = 0.3
"""Time of a worker that a request takes."""

CAPACITY_SECONDS = 15.0
"""Time in which the capacity is measured."""


class Reply(NamedTuple):
    """The answer to a request: when it was sent, when answered, and the status."""

    sent: float
    answered: float
    status: int


class Served:
    """A server in a separate process; a context manager."""

    def __init__(self, options: argparse.Namespace):
        words = ["--port", "0", "--jobs", str(options.jobs), "--timeout", str(options.timeout), "--waiting", "10000"]
        command = python("-m", "nonproj", "serve", options.model, *words)
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
        self.url = ""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r" at (http://\S+)/$", line.rstrip()):
                self.url = found[1]
                break
        else:
            raise SystemExit("the server does not start")

    def __enter__(self) -> Served:
        asyncio.get_running_loop().run_in_executor(None, self._drain)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def _drain(self) -> None:
        """Read the log, so that the server never waits for a reader."""
        assert self.process.stderr is not None
        for _ in self.process.stderr:
            pass


def requests_of(path: str, count: int, seed: int = 1) -> list[str]:
    """Return texts of this number of sentences each, drawn from a treebank."""
    sentences = [
        " ".join(form.replace(" ", "\u00a0") for form in each.forms) for each in islice(conll.read(path), 2000)
    ]
    random.Random(seed).shuffle(sentences)
    endless = cycle(sentences)
    return ["\n".join(islice(endless, count)) for _ in range(200)]


async def ask(client: httpx.AsyncClient, text: str) -> Reply:
    """Send a request, and wait for the answer."""
    began = time.monotonic()
    fields = {"data": text, "input": "horizontal", "parser": ""}
    try:
        status = (await client.post("/process", data=fields)).status_code
    except httpx.HTTPError:
        status = 0
    return Reply(began, time.monotonic(), status)


async def capacity_of(client: httpx.AsyncClient, texts: list[str], jobs: int, seconds: float) -> float:
    """Return the number of requests that are answered in a second when a client for each worker asks."""
    replies: list[Reply] = []
    end = time.monotonic() + seconds
    source = cycle(texts)

    async def keep_asking() -> None:
        while time.monotonic() < end:
            replies.append(await ask(client, next(source)))

    began = time.monotonic()
    await asyncio.gather(*(keep_asking() for _ in range(jobs)))
    return len(replies) / (time.monotonic() - began)


async def overload(client: httpx.AsyncClient, texts: list[str], rate: float, seconds: float) -> list[Reply]:
    """Return the replies to requests that arrive at random at a rate."""
    rng, source, tasks = random.Random(2), cycle(texts), []
    at = end = time.monotonic()
    end += seconds
    while (at := at + rng.expovariate(rate)) < end:
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        tasks.append(asyncio.ensure_future(ask(client, next(source))))
    return list(await asyncio.gather(*tasks))


async def metrics(client: httpx.AsyncClient) -> Counter[str]:
    """Return the metrics of the server, by name without labels."""
    found: Counter[str] = Counter()
    for line in (await client.get("/metrics")).text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name.partition("{")[0]] += float(value)  # type: ignore[assignment]
    return found


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
    with Served(options) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=None, limits=limits) as client:
            sentences = 10
            for _ in range(3):  # so that a request takes the time that is wanted
                texts = requests_of(options.treebank, sentences)
                rate = await capacity_of(client, texts, 1, 3.0)
                sentences = max(1, round(sentences * REQUEST_SECONDS * rate))
            texts = requests_of(options.treebank, sentences)
            before = await capacity_of(client, texts, options.jobs, CAPACITY_SECONDS)
            was = await metrics(client)
            load = asyncio.ensure_future(overload(client, texts, options.times * before, options.seconds))
            began = time.monotonic()
            await asyncio.sleep(options.seconds)
            lasted, now = time.monotonic() - began, await metrics(client)
            replies = await load
            last = await metrics(client)
            after = await capacity_of(client, texts, options.jobs, CAPACITY_SECONDS)
    work = now["nonproj_work_seconds_sum"] - was["nonproj_work_seconds_sum"]
    done = now["nonproj_work_seconds_count"] - was["nonproj_work_seconds_count"]
    killed = last["nonproj_workers_replaced_total"] - was["nonproj_workers_replaced_total"]
    capacity = (before + after) / 2
    statuses = ", ".join(f"{n} of {status}" for status, n in sorted(Counter(each.status for each in replies).items()))
    lines = [
        f"requests of {sentences} sentences; {options.jobs} workers, time limit {options.timeout:g} s",
        f"capacity: {before:.2f} requests/s before, {after:.2f} after",
        f"load: {len(replies)} requests in {options.seconds:g} s, {len(replies) / options.seconds / capacity:.2f}-fold",
        f"goodput: {work / options.jobs / lasted:.1%} of the workers' time, {done / lasted / capacity:.1%} of capacity",
        f"answers by status: {statuses}; workers replaced: {killed:.0f}",
        spread("answered", replies, 200),
        spread("refused", replies, 503),
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines if line))


def spread(name: str, replies: list[Reply], status: int) -> str:
    """Return a line about the response times of a status; empty without such responses."""
    times = sorted(reply.answered - reply.sent for reply in replies if reply.status == status)
    if not times:
        return ""
    p50, p99 = times[len(times) // 2], times[int(0.99 * len(times))]
    return f"{name}: median {p50:.3f} s, 99 % within {p99:.3f} s, longest {times[-1]:.3f} s"


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("treebank", metavar="TREEBANK")
    parser.add_argument("--times", type=float, default=3.0, help="load relative to capacity (default: 3)")
    parser.add_argument("--seconds", type=float, default=120.0, help="time of the load (default: 120)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: 1)")
    parser.add_argument("--timeout", type=float, default=30.0, help="time limit of a request (default: 30)")
    asyncio.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
