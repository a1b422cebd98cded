"""Monitoring: a log line for each request, and metrics in Prometheus format."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, MutableMapping
from functools import partial
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Receive, Scope, Send

from nonproj.errors import counted, one_line
from nonproj.server.connections import Writing
from nonproj.server.memory import resident_bytes
from nonproj.server.pool import WorkerPool
from nonproj.server.reloading import Reloader
from nonproj.server.workers import REASONS

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds, in seconds, of the histogram buckets of durations."""

OTHER = "other"
"""The path in metrics for requests for unknown paths."""

log = logging.getLogger("nonproj.access")


class RequestFacts(NamedTuple):
    """The facts of a request, for the log and the metrics.

    Attributes
    ----------
    model : str
        Empty if no model was used.
    sentences, words : int
    waited, worked : float
        Seconds in the queue and in a worker.
    """

    model: str = ""
    sentences: int = 0
    words: int = 0
    waited: float = 0.0
    worked: float = 0.0


def record(scope: Scope, facts: RequestFacts) -> None:
    """Keep the facts of a request in its scope, for `Monitor`."""
    scope.setdefault("state", {})["facts"] = facts


def facts_of(scope: Scope) -> RequestFacts:
    """Return the facts of a request."""
    return scope.get("state", {}).get("facts", RequestFacts())


class Metrics(Collector):
    """Counters of requests, and the state of a pool, of its models and of the connections.

    Parameters
    ----------
    paths : iterable of str
        The existing paths.
    pool : WorkerPool
    reloader : Reloader
    writing : Writing
        The middleware that sends responses.

    Attributes
    ----------
    registry : CollectorRegistry
    """

    def __init__(self, paths: Iterable[str], pool: WorkerPool, reloader: Reloader, writing: Writing):
        self.registry, self._paths = CollectorRegistry(), frozenset(paths)
        self._pool, self._reloader, self._writing = pool, reloader, writing
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry, buckets=BUCKETS)
        self._requests = counter("nonproj_requests", "Requests answered, by path and status.", ["path", "status"])
        text = "Time from the header of a request to the end of its response."
        self._seconds = histogram("nonproj_request_seconds", text, ["path"])
        self._waited = histogram("nonproj_queue_seconds", "Time that requests waited for a worker.")
        self._worked = histogram("nonproj_work_seconds", "Time that workers spent on requests.", ["model"])
        self._words = counter("nonproj_words", "Words in the sentences returned.", ["model"])
        self._sentences = counter("nonproj_sentences", "Sentences returned.", ["model"])
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def count(self, path: str, status: int, seconds: float, facts: RequestFacts) -> None:
        """Count a request."""
        path = path if path in self._paths else OTHER
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        if facts.model and status == 200:
            self._waited.observe(facts.waited)
            self._worked.labels(facts.model).observe(facts.worked)
            self._words.labels(facts.model).inc(facts.words)
            self._sentences.labels(facts.model).inc(facts.sentences)

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics whose values are read when they are requested."""
        pool, writing = self._pool, self._writing
        yield GaugeMetricFamily("nonproj_queue_length", "Requests waiting for a worker.", pool.waiting)
        yield GaugeMetricFamily("nonproj_queue_delay_seconds", "Estimated wait of a new request.", pool.delay())
        workers = GaugeMetricFamily("nonproj_workers", "Worker processes, by state.", labels=["state"])
        ready, idle = pool.workers.ready, pool.workers.idle
        states = {"idle": idle, "busy": ready - idle, "starting": max(0, pool.workers.size - ready)}
        replaced = CounterMetricFamily("nonproj_workers_replaced", "Workers replaced, by reason.", labels=["reason"])
        reasons = {why: pool.workers.replaced[why] for why in REASONS}
        reloads = CounterMetricFamily("nonproj_reloads", "Reloads of the models, by result.", labels=["result"])
        results = {result: self._reloader.results[result] for result in ("succeeded", "failed")}
        for family, values in ((workers, states), (replaced, reasons), (reloads, results)):
            for label, value in values.items():
                family.add_metric([label], value)
            yield family
        text = "When the models were loaded, in seconds since 1970."
        yield GaugeMetricFamily("nonproj_models_loaded_timestamp_seconds", text, self._reloader.loaded)
        memory = sum(map(resident_bytes, pool.workers.pids))
        yield GaugeMetricFamily("nonproj_workers_resident_memory_bytes", "Memory of all worker processes.", memory)
        text = "Bytes of responses that clients have not read."
        yield GaugeMetricFamily("nonproj_unsent_bytes", text, writing.unsent)
        text = "Clients that did not read their responses."
        yield CounterMetricFamily("nonproj_clients_dropped", text, writing.dropped)


class Monitor:
    """An ASGI middleware that logs and counts requests.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, metrics: Metrics):
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, then log and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 0, 0

        async def noting(message: MutableMapping[str, Any]) -> None:
            """Send a message, and record its status and size."""
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.count(scope["path"], status, seconds, facts_of(scope))
            log.info("%s", access_line(scope, status, size, seconds))


def access_line(scope: Scope, status: int, size: int, seconds: float) -> str:
    """Return the log line of a request; without the query, which may contain text.

    Examples
    --------
    >>> scope = {"client": ("127.0.0.1", 1), "method": "POST", "path": "/process"}
    >>> scope["state"] = {"facts": RequestFacts("danish", 1, 7, 0.001, 0.02)}
    >>> access_line(scope, 200, 812, 0.0234)
    '127.0.0.1 POST /process 200 812 bytes 0.023 s; danish: 1 sentence, 7 words, waited 0.001 s, worked 0.020 s'
    """
    facts, client = facts_of(scope), (scope.get("client") or ("-", 0))[0]
    line = f"{client} {scope['method']} {scope['path']} {status} {size} bytes {seconds:.3f} s"
    if facts.model:
        line += f"; {facts.model}: {counted(facts.sentences, 'sentence')}, {counted(facts.words, 'word')}"
        line += f", waited {facts.waited:.3f} s, worked {facts.worked:.3f} s"
    return one_line(line)
