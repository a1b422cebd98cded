"""``nonproj serve``."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from nonproj.cli.common import decoding_options, load_model
from nonproj.errors import ConfigError, NonprojError
from nonproj.workers.parsing import ModelRef

MAX_WORDS = 1000
"""Longest sentence, unless ``--max-words`` or the model's option is lower: memory grows with the square."""


def run(options: argparse.Namespace) -> int:
    """Serve models over HTTP until a signal arrives."""
    models = {}
    for path in options.models:
        decoding = decoding_options(load_model(path, "").config.decoding, options)
        if options.max_words is None:
            decoding = dataclasses.replace(decoding, max_words=min(decoding.max_words, MAX_WORDS))
        name = Path(path).name.removesuffix(".nonproj")
        if name in models:
            raise ConfigError(path, f"another model is called {name!r}, too; names of files must differ")
        models[name] = ModelRef.of(path, decoding)
    try:
        from nonproj.server.run import ServerOptions, run_server
    except ModuleNotFoundError as error:
        raise NonprojError(f"the package {error.name} is missing; pip install 'nonproj[server]'") from None
    from joblib import cpu_count

    jobs = cpu_count() if options.jobs == -1 else options.jobs or 1
    limits = ServerOptions(options.host, options.port, jobs, options.waiting, options.timeout, options.max_bytes)
    run_server(models, limits)
    return 0
