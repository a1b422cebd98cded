"""``nonproj serve``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from pathlib import Path

from nonproj.cli.common import decoding_options
from nonproj.errors import ConfigError, NonprojError
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.workers.parsing import ModelRef

MAX_WORDS = 1000
"""Maximum sentence length, unless ``--max-words`` or the model's option is lower: memory grows with its square."""


def run(options: argparse.Namespace) -> int:
    """Serve models over HTTP until a signal arrives."""
    try:
        from nonproj.server.copies import private_copy
        from nonproj.server.hosts import check_host, check_origin
        from nonproj.server.run import ServerOptions, run_server
    except ModuleNotFoundError as error:
        raise NonprojError(f"the package {error.name} is missing; pip install 'nonproj[server]'") from None
    from nonproj.workers.processes import cores

    hosts, origins = list(map(check_host, options.allowed_host)), list(map(check_origin, options.allowed_origin))
    jobs = cores() if options.jobs == -1 else options.jobs or 1
    limits = ServerOptions(
        options.host,
        options.port,
        jobs,
        options.waiting,
        options.timeout,
        options.max_bytes,
        options.max_worker_memory,
        hosts,
        origins,
    )
    models: dict[str, ModelRef] = {}
    with contextlib.ExitStack() as stack:
        descriptors: list[int] = []
        for path in options.models:
            name = Path(path).name.removesuffix(".nonproj")
            if name in models:
                raise ConfigError(path, f"another model is also called {name!r}; file names must differ")
            copy = stack.enter_context(private_copy(path))
            models[name] = ModelRef.of(copy.path, _decoding(copy.model, options))
            descriptors += copy.descriptors
        run_server(models, limits, descriptors)
    return 0


def _decoding(model: Model, options: argparse.Namespace) -> DecodingConfig:
    """Return the decoding options of a model."""
    decoding = decoding_options(model.config.decoding, options)
    if options.max_words is None:
        decoding = dataclasses.replace(decoding, max_words=min(decoding.max_words, MAX_WORDS))
    return decoding
