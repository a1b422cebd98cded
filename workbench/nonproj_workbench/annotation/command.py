"""``nonproj annotate``: correct trees in the browser."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import logging
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nonproj.cli.common import check_outputs, reading_rules
from nonproj.cli.loading import compile_ahead, decoding_options, load_model
from nonproj.errors import ConfigError, DataError, DependencyError, FileError, counted, needs, one_line
from nonproj.io.beside import check_no_links
from nonproj.io.checks import ReadingRules
from nonproj.io.files import open_output
from nonproj.io.kinds import A_MODEL, beginning_of, is_model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj_workbench.validation import check_level

if TYPE_CHECKING:
    from nonproj_workbench.annotation.comparison import Comparison
    from nonproj_workbench.annotation.retraining import Retraining
    from nonproj_workbench.annotation.session import Session
    from nonproj_workbench.annotation.suggesting import Suggester

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Serve a page for annotation until a signal arrives."""
    for package in ("starlette", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise DependencyError(needs("annotation needs", package, "server"))
    from nonproj_workbench.annotation.app import make_app
    from nonproj_workbench.annotation.checking import Checker
    from nonproj_workbench.annotation.run import listen, serve
    from nonproj_workbench.annotation.session import Session, SessionOptions
    from nonproj_workbench.annotation.storage import Storage

    _check(options)
    rules, suggester = reading_rules(options), _suggester(options)
    with listen(options.port) as listener:
        path, comparison = _opened(options, rules)
        tags = suggester.tags if suggester else ()
        make_checker = functools.partial(Checker.of, level=options.level, language=options.language, tags=tags)
        session_options = SessionOptions(make_checker, comparison, _retraining(options, path, suggester))
        with Session(Storage(path, rules), suggester, options.trust, session_options) as session:
            _report(session, options)
            token = os.environ.get("NONPROJ_TOKEN") or secrets.token_urlsafe(16)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={token}"
            serve(make_app(session, token), listener, functools.partial(_announce, address))
    log.info("saved %s", one_line(path))
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise an error for options that do not fit."""
    if options.file == "-":
        raise FileError("-", "annotation needs a file, which it writes")
    if options.compare and not options.output:
        raise ConfigError("--compare", "needs -o OUT, the file that gets the adjudicated trees")
    if options.retrain_with and options.retrain is None:
        raise ConfigError("--retrain-with", "needs --retrain")
    check_level(options.level or 0, options.language)
    inputs = {"file": options.file, "second file": options.compare, "model": options.model}
    inputs["treebank of --retrain-with"] = options.retrain_with
    check_outputs({"output": options.output}, inputs)


def _opened(options: argparse.Namespace, rules: ReadingRules) -> tuple[str, Comparison | None]:
    """Return the file to edit, which is created if it is not the input, and the annotators to compare."""
    from nonproj_workbench.annotation.comparison import Comparison
    from nonproj_workbench.annotation.storage import SUFFIX, read_texts

    comparison = None
    try:
        if options.compare:
            comparison = Comparison([options.file, options.compare], rules)
        if not options.output:
            read_texts(options.file, _existing(options.file), rules._replace(ignore_heads=True))
            return options.file, None
        exists = os.path.exists(options.output) or os.path.exists(options.output + SUFFIX)
        if exists and comparison is None:
            hint = f"to continue, nonproj annotate {one_line(options.output)}"
            raise FileError(options.output, f"exists already; {hint}, or remove it")
        if exists and comparison is not None:
            found = len(read_texts(options.output, _existing(options.output), rules._replace(ignore_heads=True)))
            if found != len(comparison):
                message = f"has {counted(found, 'sentence')}, the files to compare have {len(comparison)}"
                raise FileError(options.output, f"{message}; remove it to start anew")
            return options.output, comparison
        if comparison is not None:
            texts = comparison.start()
        else:
            texts = read_texts(options.file, _existing(options.file), rules._replace(ignore_heads=True))
        with open_output(options.output) as stream:
            stream.writelines(texts)
        return options.output, comparison
    except DataError as error:
        if b"\t" not in beginning_of(error.path):
            hint = f"nonproj parse --text MODEL {one_line(error.path)} -o trees.conllu"
            raise FileError(error.path, f"is not a treebank; make trees of plain text first: {hint}") from None
        raise


def _existing(path: str) -> Path:
    """Return a path; raise `FileError` unless it is an existing file, and not a model."""
    if is_model(beginning_of(path)):
        raise FileError(path, A_MODEL)
    if not Path(path).is_file():
        raise FileError(path, "not a file; a file of a treebank is expected" if Path(path).exists() else "no such file")
    return Path(path)


def _suggester(options: argparse.Namespace) -> Suggester | None:
    """Return the suggester of trees; None without a model."""
    if not options.model:
        return None
    return _load(options, options.model)


def _load(options: argparse.Namespace, path: str) -> Suggester:
    """Return the suggester of trees by the model in a file."""
    from nonproj_workbench.annotation.suggesting import Suggester

    model = load_model(path, options.file)
    decoding = decoding_options(model.config.decoding, options)
    if path == options.model:
        compile_ahead(options, model, decoding)
    return Suggester(Parser(model, decoding, "missing"), path)


def _retraining(options: argparse.Namespace, path: str, suggester: Suggester | None) -> Retraining | None:
    """Return the trainer of models in the background; None without ``--retrain``."""
    if options.retrain is None:
        return None
    from nonproj_workbench.annotation.retraining import Retraining

    config, start = Config.load(options.config) if options.config else None, None
    output = f"{path}.nonproj"
    if options.retrain_with:
        _existing(options.retrain_with)
    if config is None and suggester is not None:
        config, kept = suggester.parser.model.config, suggester.parser.model.component("encoder") is None
        start = options.model if kept and not options.retrain_with else None
    if start and Path(start).exists() and Path(output).exists() and os.path.samefile(start, output):
        output = f"{path}.2.nonproj"
    check_no_links(output, os.path.dirname(path))
    if options.model and not start and not options.retrain_with:
        log.warning("new models learn from %s alone; --retrain-with TREEBANK adds other sentences", one_line(path))
    load = functools.partial(_load, options)
    return Retraining(output, config, options.retrain, options.retrain_with, start, load)


def _report(session: Session, options: argparse.Namespace) -> None:
    """Log the contents of the file."""
    storage, treebank = session.storage, session.treebank
    sentences = counted(len(treebank.units), "sentence")
    log.info("%s: %s, %d done", one_line(storage.name), sentences, treebank.count_done())
    if storage.repeated:
        log.info("repeated %d edits of a process that was killed", storage.repeated)
    if options.model and options.trust == "done" and treebank.is_unmarked:
        hint = "if they are people's, start with --trust all"
        log.info("its heads count as predictions, which other edits may change; %s", hint)


def _announce(address: str) -> None:
    """Print the address of the page."""
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    log.info("open this address in a browser; Ctrl-C saves and ends")
