"""Support for threads that share a parser: per-thread caches, attributes that are loaded once, and BLAS on one thread.

Everything that parsing changes is per thread.  So no lock is held while a sentence is parsed, and kernels, which
release the global interpreter lock, run concurrently.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerThread(threading.local, Generic[T]):
    """A cache with one instance per thread; it is freed with the thread, and copies and pickles are empty.

    Parameters
    ----------
    make : callable
        Returns a new, empty cache.

    Attributes
    ----------
    own : object
        The cache of the calling thread.

    Examples
    --------
    >>> cache = PerThread(dict)
    >>> cache.own["word"] = 1
    >>> thread = threading.Thread(target=lambda: print(cache.own))
    >>> thread.start()
    {}
    >>> thread.join()
    >>> cache.own
    {'word': 1}
    """

    def __init__(self, make: Callable[[], T]):  # called in each thread, on its first access
        self._make, self.own = make, make()

    def renewed(self) -> T:
        """Replace the cache of the calling thread by a new one, and return it."""
        self.own = self._make()
        return self.own

    def __reduce__(self) -> tuple[Any, ...]:
        return PerThread, (self._make,)


class LoadedOnce(Generic[T]):
    """An attribute that is computed on first access; threads that access it concurrently wait for the first.

    It replaces `functools.cached_property`, which has one lock for all objects or, from Python 3.12 on, none.

    Examples
    --------
    >>> class Parser:
    ...     @LoadedOnce
    ...     def tagger(self):
    ...         print("loading")
    ...         return "tagger"
    >>> parser = Parser()
    >>> parser.tagger, parser.tagger
    loading
    ('tagger', 'tagger')
    """

    def __init__(self, load: Callable[[Any], T]):
        self._load, self._name, self._locks = load, load.__name__, dict[int, threading.RLock]()
        self.__doc__ = load.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        if owner is None:
            return self  # type: ignore[return-value]  # as properties do, for what reads their documentation
        values, number = vars(owner), id(owner)
        with self._locks.setdefault(number, threading.RLock()):
            try:
                if self._name not in values:
                    values[self._name] = self._load(owner)
                found: T = values[self._name]
                return found
            finally:
                self._locks.pop(number, None)


class _OneThread:
    """A context in which NumPy's matrix products use one thread; contexts may be nested, or overlap in threads.

    The number of threads is set for the whole process: the first context sets it, and the last one to end restores it.
    """

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._libraries: Any = None
        self._releases: list[Callable[..., Any]] = []
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                if self._libraries is None:
                    from threadpoolctl import ThreadpoolController  # finds the loaded libraries, in milliseconds

                    self._libraries = ThreadpoolController().select(user_api="blas")
                    # In newer versions only the thread that set a number first may set it, and it may have ended.
                    for library in self._libraries.lib_controllers:
                        if hasattr(library, "clear_controlling_thread"):
                            self._releases.append(library.clear_controlling_thread)
                self._limit = self._libraries.limit(limits=1)
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                for release in self._releases:
                    release(force=True)
                self._limit.restore_original_limits()
                for release in self._releases:
                    release(force=True)


one_thread = _OneThread()
"""Context for products of small matrices, which are slower on several threads, above all on a busy machine.

Examples
--------
>>> from threadpoolctl import threadpool_info
>>> with one_thread:
...     {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
{1}
"""
