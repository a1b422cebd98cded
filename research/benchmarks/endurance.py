"""An hour of requests at random, with reloads of the model and restarts of the server: requests lost, and memory.

    python -m research.benchmarks.endurance MODEL TREEBANK [--minutes 60] [--rates 4 6 8 10] [--memory FILE]

The program plays the part of a service manager: it holds the listening socket and passes it to the server, which has
its usual limits.  Time is divided into periods.  In each, requests arrive as a Poisson process, at the next of the
rates (`research.benchmarks.arrivals`); in its middle the server changes: it reloads its model (SIGHUP), or, after some
reloads, is upgraded as ``systemctl restart`` does it: SIGTERM, waiting for its end, and a start with the same socket.
Memory is the proportional set size, which counts shared pages once, of the server and of its workers.  A request is
lost if it gets no response, or one other than 200 and 503 (refused); it is never repeated. Exits with 1 if one is lost.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from nonproj.kernels.interpreters import environment, python
from research.benchmarks.arrivals import ANSWER_SECONDS, Arrival, arrive, children_of, memory_of, percentile, row_of
from research.benchmarks.overload import requests_of

EVENTS = ("reload", "upgrade")
"""What happens in the middle of a period: methods of `Managed`."""

START_SECONDS = 120.0
"""Time limit for a start, a reload, or an end of the server."""

_PASS = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.executable, [sys.executable, "-P", "-m", "nonproj", "serve", *sys.argv[2:]])
"""


class Sample(NamedTuple):
    """Memory at a time: seconds since the beginning; MiB of the server and of all workers, and their number."""

    seconds: float
    server: float
    workers: float
    count: int


class Managed:
    """A server to which a socket is passed, as by a service manager; a context manager."""

    def __init__(self, model: str, jobs: int, log: Path):
        self._words, self._log = [model, "--jobs", str(jobs)], log
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Managed:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(START_SECONDS)
        self._socket.close()

    def reload(self) -> None:
        """Load the model again."""
        position = self._log.stat().st_size
        self.process.send_signal(signal.SIGHUP)
        self._wait_until_said("serving the reloaded ", position)

    def upgrade(self) -> None:
        """Stop the server, and start another one."""
        self.process.terminate()
        self.process.wait(START_SECONDS)
        self._start()

    def said(self, beginning: str, position: int = 0) -> int:
        """Return the number of lines of the log, from a position, that begin in this way."""
        with open(self._log, "rb") as log:
            log.seek(position)
            return sum(line.startswith(beginning.encode()) for line in log)

    def sample(self, began: float) -> Sample | None:
        """Return the memory in use; None while there is no server."""
        try:
            server, pids = memory_of(self.process.pid)[1], children_of(self.process.pid)
        except (FileNotFoundError, ProcessLookupError):
            return None
        workers = []
        for pid in pids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                workers.append(memory_of(pid)[1])
        return Sample(time.monotonic() - began, server, sum(workers), len(workers))

    def _start(self) -> None:
        with open(self._log, "a", encoding="utf-8") as log:
            position = log.tell()
            command = python("-c", _PASS, str(self._socket.fileno()), *self._words)
            self.process = subprocess.Popen(command, pass_fds=[self._socket.fileno()], stderr=log, env=environment())
        self._wait_until_said("serving ", position)

    def _wait_until_said(self, beginning: str, position: int) -> None:
        end = time.monotonic() + START_SECONDS
        while not self.said(beginning, position):
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"the server does not say {beginning!r}; see {self._log}")
            time.sleep(0.05)


async def period(
    server: Managed, client: httpx.AsyncClient, texts: list[str], rate: float, event: str, options: argparse.Namespace
) -> tuple[list[Arrival], list[Sample]]:
    """Return the requests of a period, in whose middle the server changes, and the memory meanwhile."""
    samples: list[Sample] = []

    async def keep_sampling() -> None:
        while True:
            if (found := await asyncio.to_thread(server.sample, options.began)) is not None:
                samples.append(found)
            await asyncio.sleep(options.sample)

    async def change() -> None:
        await asyncio.sleep(options.period * 30)
        await asyncio.to_thread(getattr(server, event))

    sampling, changing = asyncio.create_task(keep_sampling()), asyncio.create_task(change())
    arrivals = await arrive(client, texts, rate, options.period * 60, options.seed)
    await changing
    sampling.cancel()
    await asyncio.wait({sampling})
    return arrivals, samples


def line_of(minutes: str, event: str, arrivals: list[Arrival], samples: list[Sample], seconds: float) -> str:
    """Return a line of the table.

    Examples
    --------
    >>> arrivals = [Arrival(0.0, 0.0, 0.5, 200, 9), Arrival(1.0, 1.0, 1.25, 200, 9)]
    >>> samples = [Sample(0.0, 90.0, 200.0, 1), Sample(1.0, 91.0, 410.0, 2), Sample(2.0, 91.0, 210.0, 1)]
    >>> line_of("3", "reload", arrivals, samples, 2.0)
    '| 3 | reload | 2 | 1.0 | 0.250 | 0.500 | 0.500 | 0 | 0 | 91 | 210 | 501 |\\n'
    """
    row = row_of(arrivals, seconds)
    longest = max((each.answered - each.due for each in arrivals if each.status == 200), default=0.0)
    sizes = [percentile([getattr(each, name) for each in samples], 0.5) for name in ("server", "workers")]
    times = " | ".join(f"{value:.3f}" for value in (row.p50, row.p99, longest))
    counts = f"{row.refused} | {row.lost} | {sizes[0]:.0f} | {sizes[1]:.0f}"
    most = max((each.server + each.workers for each in samples), default=0.0)
    return f"| {minutes} | {event} | {len(arrivals)} | {row.offered:.1f} | {times} | {counts} | {most:.0f} |\n"


async def run(options: argparse.Namespace, log: Path) -> int:
    """Measure and print; return the number of requests lost."""
    texts, write = requests_of(options.treebank, options.sentences), sys.stdout.write
    everything: list[Arrival] = []
    curve: list[Sample] = []
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
    options.began, count, made = time.monotonic(), round(options.minutes / options.period), dict.fromkeys(EVENTS, 0)
    write(
        "| minutes | in the middle | requests | a second | p50 | p99 | longest | refused | lost "
        "| server, MiB | workers, MiB | at most, MiB |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    with Managed(options.model, options.jobs, log) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=ANSWER_SECONDS, limits=limits) as client:
            for number in range(count):
                event = EVENTS[(number + 1) % (options.reloads + 1) == 0]
                options.seed, rate = number, options.rates[number % len(options.rates)]
                arrivals, samples = await period(server, client, texts, rate, event, options)
                everything, curve = everything + arrivals, curve + samples
                made[event] += 1
                minutes = f"{(number + 1) * options.period:g}"
                write(line_of(minutes, event, arrivals, samples, options.period * 60))
                sys.stdout.flush()
                if options.memory:
                    write_curve(options.memory, curve)
        replaced = server.said("replaced a worker process")
    write(line_of("all", "", everything, curve, count * options.period * 60))
    names = [f"{number} {event}s" for event, number in made.items()]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    write(f"\n{', '.join(names)}, {replaced} workers replaced for other reasons; ")
    write(f"server and workers used {used.ru_utime + used.ru_stime:.0f} s of processor time\n")
    return row_of(everything, 1.0).lost


def write_curve(path: Path, samples: list[Sample]) -> None:
    """Write all samples as a table."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(Sample._fields)
        rows.writerows([*(f"{value:.1f}" for value in each[:3]), each.count] for each in samples)


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", help="a file or the name of an installed model")
    parser.add_argument("treebank", metavar="TREEBANK", help="whose sentences are sent")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: 1)")
    parser.add_argument("--minutes", type=float, default=60.0, help="time in all (default: 60)")
    parser.add_argument("--period", type=float, default=3.0, help="minutes of a period (default: 3)")
    parser.add_argument("--rates", type=float, nargs="+", default=[4.0, 6.0, 8.0, 10.0], help="requests a second")
    parser.add_argument("--reloads", type=int, default=3, help="reloads before an upgrade (default: 3)")
    parser.add_argument("--sentences", type=int, default=10, help="sentences per request (default: 10)")
    parser.add_argument("--sample", type=float, default=10.0, help="seconds between samples of memory (default: 10)")
    parser.add_argument("--memory", type=Path, metavar="FILE", help="write the samples of memory to a CSV file")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the server's messages to a file")
    options = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and the server would, too
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log"
        log.write_text("", encoding="utf-8")
        return int(asyncio.run(run(options, log)) > 0)


if __name__ == "__main__":
    sys.exit(main())
