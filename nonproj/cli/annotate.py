"""``nonproj annotate``: correct trees in the browser."""

from __future__ import annotations

import argparse
import os
import secrets
import sys

from nonproj.cli.common import compile_ahead, load_model, reading_rules
from nonproj.errors import FileError, NonprojError
from nonproj.workers.parsing import make_parser


def run(options: argparse.Namespace) -> int:
    """Serve a page for annotation until a signal arrives."""
    try:
        from nonproj.annotation.app import make_app
        from nonproj.annotation.run import listen, serve
    except ModuleNotFoundError as error:
        raise NonprojError(f"the package {error.name} is missing; pip install 'nonproj[server]'") from None
    from nonproj.annotation.session import Session
    from nonproj.annotation.storage import Storage
    from nonproj.annotation.suggesting import Suggester

    if options.file == "-":
        raise FileError("-", "annotation needs a file, which it writes")
    suggester = None
    if options.model:
        model = load_model(options.model, options.file)
        compile_ahead(options, model, model.config.decoding)
        suggester = Suggester(make_parser(model, model.config.decoding, "missing"), options.model)
    with listen(options.port) as listener:
        storage = Storage(options.file, reading_rules(options))
        with Session(storage, suggester, options.trust) as session:
            token = os.environ.get("NONPROJ_TOKEN") or secrets.token_urlsafe(16)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={token}"
            serve(make_app(session, token), listener, lambda: _announce(address))
    return 0


def _announce(address: str) -> None:
    """Print the address of the page."""
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
