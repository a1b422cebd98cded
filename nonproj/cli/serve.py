"""``nonproj serve``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import signal
from collections.abc import Iterator
from pathlib import Path

from nonproj.errors import ConfigError, DependencyError, needs
from nonproj.model.model import Model
from nonproj.text.lexicon import UserLexicon
from nonproj.workers.parsing import ModelRef

MAX_WORDS = 1000
"""Maximum sentence length without ``--max-words``, unless the model's is lower: memory grows with its square."""


def run(options: argparse.Namespace) -> int:
    """Serve models over HTTP until a signal arrives."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # until the server can reload
    try:
        return _run(options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(options: argparse.Namespace) -> int:
    try:
        from nonproj.server.app import ServerOptions
        from nonproj.server.hosts import check_host, check_origin
        from nonproj.server.run import run_server
    except ModuleNotFoundError as error:
        raise DependencyError(needs("the server needs", str(error.name), "server")) from None
    from nonproj.workers.processes import cores

    limits = ServerOptions._make(getattr(options, name) for name in ServerOptions._fields)
    limits = limits._replace(
        jobs=cores() if options.jobs == -1 else options.jobs or 1,
        allowed_host=list(map(check_host, options.allowed_host)),
        allowed_origin=list(map(check_origin, options.allowed_origin)),
    )
    names: set[str] = set()
    for path in options.models:
        if name_of(path) in names:
            raise ConfigError(path, f"another model is also called {name_of(path)!r}; file names must differ")
        names.add(name_of(path))
    run_server(functools.partial(_load, options), limits)
    return 0


def name_of(path: str) -> str:
    """Return the name by which requests select a model.

    Examples
    --------
    >>> name_of("models/danish-arc.nonproj")
    'danish-arc'
    """
    return Path(path).name.removesuffix(".nonproj")


@contextlib.contextmanager
def _load(options: argparse.Namespace) -> Iterator[dict[str, ModelRef]]:
    """Copy the models for the duration of the context; yields references to the copies by name."""
    from nonproj.server.copies import private_copy

    with contextlib.ExitStack() as stack:
        models = {name_of(path): stack.enter_context(private_copy(path)) for path in options.models}
        lexicon = UserLexicon.of(options.lexicon)
        yield {name: _reference(model, options.max_words, lexicon) for name, model in models.items()}


def _reference(model: Model, max_words: int | None, lexicon: UserLexicon | None) -> ModelRef:
    """Return the reference from which workers load a model."""
    decoding = model.config.decoding
    limit = min(decoding.max_words, MAX_WORDS) if max_words is None else max_words
    return ModelRef.of(str(model.path), dataclasses.replace(decoding, max_words=limit))._replace(lexicon=lexicon)
