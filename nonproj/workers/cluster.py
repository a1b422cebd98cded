"""The workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any
from urllib.parse import urlsplit

from nonproj import __version__
from nonproj.errors import ClusterError, NonprojError, needs

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a scheduler to answer and for a worker to register."""

RESUBMISSIONS = 3
"""Number of times a call is resubmitted after the scheduler has dropped it because its workers died."""

_PATIENCE = 30.0
"""Seconds to wait for new workers after all have disappeared."""

_SLICE = 0.25
"""Seconds between two checks for signals while waiting."""

log = logging.getLogger("nonproj")


def check_address(text: str) -> str:
    """Return the address of a scheduler with its protocol.

    Raises
    ------
    ClusterError
        It is not of the form ``HOST:PORT``, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.

    Examples
    --------
    >>> check_address("localhost:8786")
    'tcp://localhost:8786'
    """
    address = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.username
        valid = valid and address == f"{parts.scheme}://{parts.netloc}" and not set(address) & set(" \t\r\n")
    except ValueError:
        valid = False
    if not valid:
        raise ClusterError(f"{text!r} is not the address of a Dask scheduler, such as tcp://10.0.0.1:8786")
    return address


class Cluster:
    """The workers of a Dask cluster; a context manager.

    Another worker repeats the calls of a dead one.  A scheduler drops a call after several deaths of its workers,
    even if it was only queued there; it is then resubmitted, up to `RESUBMISSIONS` times.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``.
    timeout : float
        Seconds to wait for the scheduler to answer and for a first worker to register.
    heed : callable, optional
        Called several times a second while waiting for a result; it may raise `KeyboardInterrupt`.

    Raises
    ------
    ClusterError
        The address is invalid.  On entry: Dask is not installed, no scheduler answers at the address, it has no
        workers, or it or a worker has another version of nonproj.  The versions of later workers are checked with each
        call.
    """

    def __init__(self, address: str, timeout: float = CONNECT_TIMEOUT, heed: Callable[[], object] = lambda: None):
        self.address, self.timeout, self.heed = check_address(address), timeout, heed

    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError(needs("--scheduler needs", "distributed", "cluster")) from None
        _silence()
        try:
            asyncio.run(_greet(self.address, self.timeout))
            self.client = Client(self.address, timeout=self.timeout, set_as_default=False)
        except Exception as error:  # any error that another kind of server causes in Dask
            text = f"no Dask scheduler answers within {self.timeout:g} s ({self._cause(error)})"
            raise ClusterError(f"{self.address}: {text}") from None
        try:
            with self._translating():
                self.client.wait_for_workers(1, timeout=self.timeout)
                self._check_versions()
        except TimeoutError:
            self.__exit__()
            text = f"the scheduler has no workers; start some with: dask worker {self.address} --nthreads 1"
            raise ClusterError(f"{self.address}: {text}") from None
        except BaseException:
            self.__exit__()
            raise
        self._counted = float("-inf")
        return self

    def _cause(self, error: Exception) -> str:
        """Return the reason for a failed connection, in a few words; Dask itself often reports only a timeout."""
        if isinstance(error, TypeError):
            return "tls:// needs certificates, configured in Dask as distributed.comm.tls"
        if isinstance(error, ImportError):
            return str(error).splitlines()[0].lower()
        place = urlsplit(self.address)
        try:
            socket.create_connection((place.hostname, place.port), self.timeout).close()
        except OSError as refusal:
            return (refusal.strerror or "no answer").lower()
        return "the server at this address is not a scheduler"

    def _check_versions(self) -> None:
        """Raise unless scheduler and workers have this version: a worker dies on a call that it cannot import."""
        program = "__import__('nonproj').__version__"  # a string needs no package to be passed on
        answers = self.client.run(eval, program, on_error="return")
        found: dict[str, object] = {f"the worker {place}": v for place, v in answers.items()}
        try:
            found["the scheduler"] = self.client.run_on_scheduler(eval, program)
        except ImportError as error:
            found["the scheduler"] = error
        for place, version in found.items():
            if version != __version__:
                other = "no nonproj" if isinstance(version, Exception) else f"nonproj {version}"
                raise ClusterError(f"{self.address}: {_versions_differ(place, other, __version__)}")

    @contextlib.contextmanager
    def _translating(self, future: Any = None) -> Iterator[None]:
        """Raise ClusterError for a lost connection; timeouts, and errors of the call of ``future``, pass through."""
        from distributed.client import ClosedClientError

        try:
            yield
        except (OSError, CancelledError, ClosedClientError, RuntimeError) as error:  # the last: something is closed
            if isinstance(error, TimeoutError) or (future is not None and future.status == "error"):
                raise
            raise ClusterError(f"{self.address}: lost the connection to the scheduler") from None

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # there may be no scheduler left to answer
            self.client.close(timeout=2)

    @property
    def size(self) -> int:
        """Number of worker threads, counted again every five seconds because workers come and go."""
        now = time.monotonic()
        if now - self._counted > 5.0:
            self._size, self._counted = max(self._threads(), 1), now
        return self._size

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a call and return its future."""
        with self._translating():
            return self.client.submit(_call, __version__, function, *arguments, pure=False, retries=2)

    def result(self, future: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Return the result of a call that was submitted with the same function and arguments."""
        from distributed import KilledWorker

        for left in range(RESUBMISSIONS, -1, -1):
            try:
                return self._result(future)
            except KilledWorker:
                if left:
                    log.info("workers died; resubmitting their call")
                    future = self.submit(function, *arguments)
        raise ClusterError(f"{self.address}: one call kills every worker that runs it")

    def _result(self, future: Any) -> Any:
        """Return the result of a future; raise ClusterError if all workers are gone, or the connection is lost."""
        from distributed import KilledWorker
        from distributed import TimeoutError as Late

        seen = counted = time.monotonic()
        while True:
            self.heed()
            try:
                with self._translating(future):
                    return future.result(timeout=_SLICE)
            except (Late, UnboundLocalError):  # raised by Dask if a wait is cancelled just as it ends
                now = time.monotonic()
                if now - counted > _PATIENCE / 6:
                    counted, seen = now, now if self._threads() else seen
                if now - seen > _PATIENCE:
                    raise ClusterError(f"{self.address}: all workers are gone") from None
            except (NonprojError, KilledWorker):
                raise
            except Exception:  # perhaps of a later worker that cannot even import the call
                if future.status == "error":
                    self._check_versions()
                raise

    def _threads(self) -> int:
        """Return the current number of worker threads."""
        with self._translating():
            return sum(self.client.nthreads().values())


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a call on a worker, which must have the version of the caller."""
    if version != __version__:
        place = f"the worker {socket.gethostname()}"
        raise ClusterError(_versions_differ(place, f"nonproj {__version__}", version))
    return function(*arguments)


def _versions_differ(place: str, found: str, ours: str) -> str:
    return f"{place} has {found}, this machine has nonproj {ours}; install the same version on all"


def _silence() -> None:
    """Turn off Dask's messages: errors are reported here, in one line."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module="distributed")


async def _greet(address: str, timeout: float) -> None:
    """Exchange greetings with a scheduler; with another kind of server a client would wait forever."""
    from distributed import Security
    from distributed.comm.core import connect

    arguments = Security().get_connection_args("client")
    greeting = connect(address, timeout=timeout, **arguments)
    comm = await asyncio.wait_for(greeting, timeout + 1.0)  # connecting respects the timeout
    await comm.close()
