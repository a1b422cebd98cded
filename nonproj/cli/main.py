"""The commands, their arguments, and error reporting.

This module imports nothing heavy, so ``nonproj --help`` and errors in options are fast.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable

from nonproj.cli import plugins
from nonproj.cli.arguments import (
    EXIT_ERROR,
    Arguments,
    add_decoding,
    add_lexicon,
    add_max_words,
    add_on_error,
    add_reading,
    add_tagging,
    with_values,
)
from nonproj.cli.command_arguments import add_distil, add_package, add_parse, add_show, add_train
from nonproj.cli.model_names import are_inputs, locate_models
from nonproj.cli.signals import MESSAGES, Signals, Terminated
from nonproj.cli.targets import is_file_name
from nonproj.cli.values import jobs, port, positive, seconds
from nonproj.errors import NonprojError, one_line
from nonproj.io.terminal import escape_terminals
from nonproj.kernels.settings import ignore_current_folder
from nonproj.model.installed import DEFAULT, VARIABLE

EXIT_BROKEN_PIPE = 141

_COLLECT_AFTER = 100_000
"""Number of new objects that triggers garbage collection; scanning the objects of all imports takes 0.1 s."""

_VERBOSITY = re.compile("-v+|-q+|--verbose|--quiet")

log = logging.getLogger("nonproj")


def build_parser(others: Iterable[str] = tuple(plugins.WORKBENCH)) -> Arguments:
    """Return the argument parser of the command line.

    Parameters
    ----------
    others : iterable of str
        Commands of other distributions; the arguments of installed ones are added.
    """
    parser = Arguments(
        prog="nonproj",
        description="A non-projective dependency parser that certifies which trees are provably optimal.",
        epilog="'nonproj COMMAND --help' describes a command.  A file may be '-' (standard input or output) or .gz.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    drawing = "draw trees: a report with errors and certificates (.html), single trees, or in the terminal"
    compiling = "compile all kernels in advance, for example in a container image, and print the cache folder"
    table = [
        ("train", "train a model on a treebank", add_train),
        ("distil", "parse text with a model, the teacher, and train another model on these trees", add_distil),
        ("parse", "parse plain text, or a CoNLL-X or CoNLL-U file or stream", add_parse),
        ("evaluate", "score a parsed file or a model, or compare two parsed files", _add_evaluate),
        ("show", drawing, add_show),
        ("inspect", "describe a model", _add_inspect),
        ("package", "make a package of a model, which pip installs", add_package),
        ("models", "list the installed models", _add_models),
        ("compile", compiling, lambda _: None),
        ("serve", "serve models over HTTP, with a start page and the REST interface of UDPipe", _add_serve),
    ]
    own = {name for name, *_ in table}
    parser.add_commands("command", "COMMAND", table + plugins.rows(name for name in others if name not in own))
    return parser


def _add_evaluate(parser: Arguments) -> None:
    add, forms = parser.add_argument, ("GOLD PARSED", "GOLD A B", "-m MODEL GOLD", "--ud GOLD A [B]")
    parser.add_example("nonproj evaluate -m english test.conllu")
    parser.usage = "\n       ".join(f"nonproj evaluate [options] {form}" for form in forms)
    text = "treebank with gold heads; a parsed file of the same sentences, or two to compare by a permutation test"
    add("files", nargs="*", metavar="GOLD [PARSED | A B]", help=text)
    add("-m", "--model", metavar="MODEL", help="parse GOLD with a model, and score the result")
    text = "the table of the CoNLL 2018 shared task, by the official script; tokens may differ"
    add("--ud", action="store_true", help=text)
    text = "add tables of errors: by label, tag, length, depth, and confused labels; with --ud: by cause"
    add("--errors", action="store_true", help=text)
    text = "with --ud --errors: the training file; words that it lacks are reported as unknown words"
    add("--train", metavar="TRAIN", help=text)
    text = "with -m: measure the calibration of the confidence instead of accuracy"
    add("--calibration", action="store_true", help=text)
    text = "with --calibration: parse the plain text of GOLD"
    add("--text", dest="from_text", action="store_true", help=text, rare=True)
    add("--json", action="store_true", help="print all figures as JSON")
    add_on_error(parser)
    add_reading(parser)
    add_tagging(parser, tested=True)
    add_decoding(parser)


def _add_inspect(parser: Arguments) -> None:
    parser.add_example("nonproj inspect english")
    parser.add_argument("model", metavar="MODEL", help="a model made by 'nonproj train'")
    parser.add_argument("--verify", action="store_true", help="verify all checksums")
    form = parser.add_alternatives()
    form.add_argument("--json", action="store_true", help="print as JSON")
    text = "print a model card, as Markdown"
    form.add_argument("--card", action="store_true", help=text)


def _add_models(parser: Arguments) -> None:
    parser.add_argument("--json", action="store_true", help="print as JSON")


def _add_serve(parser: Arguments) -> None:
    parser.add_example("nonproj serve english --port 8001")
    add = parser.add_argument
    text = (
        f"models made by 'nonproj train'; the first answers requests that name none (default: {VARIABLE} or {DEFAULT})"
    )
    add("models", nargs="*", metavar="MODEL", help=text)
    add("--host", default="127.0.0.1", help="interface to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=port, default=8001, metavar="N", help="port; 0 for any free port (default: 8001)")
    add("-j", "--jobs", type=jobs, metavar="N", help="number of worker processes (default: 1; -1: one per core)")
    text = "limit on the processing time of a request, and target for its response time (default: 30)"
    add("--timeout", type=seconds, default=30.0, metavar="SECONDS", help=text)
    text = "maximum size of a request in bytes (default: 1048576)"
    add("--max-bytes", type=positive, default=1 << 20, metavar="N", help=text, rare=True)
    text = "maximum number of waiting requests (default: 200)"
    add("--waiting", type=positive, default=200, metavar="N", help=text, rare=True)
    text = "memory limit of a worker process (default: 4096)"
    add("--max-worker-memory", type=positive, default=4096, metavar="MIB", help=text, rare=True)
    text = "allowed host name of the server besides localhost; * allows any (repeatable)"
    add("--allowed-host", action="append", default=[], metavar="NAME", help=text)
    text = "allowed origin of web pages, such as https://example.org; * allows any (repeatable)"
    add("--allowed-origin", action="append", default=[], metavar="ORIGIN", help=text)
    add_max_words(parser)
    add_lexicon(parser)


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line; exit with code 2 if it is invalid.

    Examples
    --------
    >>> options = parse_arguments(["parse", "-m", "danish.nonproj", "in.conll"])
    >>> options.command, options.model, options.input, options.output
    ('parse', 'danish.nonproj', 'in.conll', '-')
    """
    words = _behind_command(words)
    named = next((word for word in words if not word.startswith("-")), "")
    parser = build_parser([named] if named else [])
    commands = parser.commands
    if named in plugins.WORKBENCH and commands[named].get_default("plugin") is None:
        parser.exit(EXIT_ERROR, f"nonproj: {plugins.how_to_install(named)}\n")
    parser.check_options(words)
    options, extra = parser.parse_known_args(words)
    if options.command in ("parse", "evaluate"):  # argparse puts files after options into ``extra``
        behind = [word for word in extra if word == "-" or not word.startswith("-")]
        extra = [word for word in extra if word not in behind]
        assign = _assign_parse_files if options.command == "parse" else _assign_evaluate_files
        options = assign(options, options.files + behind, commands[options.command])
    if extra:
        commands.get(options.command, parser).error(f"unknown argument {extra[0]!r}")
    if options.command == "evaluate" and options.model is None:
        parsing = Arguments()
        add_tagging(parsing, tested=True)
        add_decoding(parsing)
        for name in (word.partition("=")[0] for word in words):
            if name in parsing.option_names():
                commands["evaluate"].error(f"{name} applies to parsing and needs --model")
    if not options.command and not options.version:
        parser.error(f"a command is expected: {', '.join(commands)}")
    _check_standard_input(options, commands.get(options.command, parser))
    return options


def _behind_command(words: list[str]) -> list[str]:
    """Move ``-v`` and ``-q`` from before the command to after it, where the parser expects them.

    Examples
    --------
    >>> _behind_command(["-v", "parse", "-q", "a"])
    ['parse', '-v', '-q', 'a']
    """
    count = next((number for number, word in enumerate(words) if not _VERBOSITY.fullmatch(word)), len(words))
    if words[count:] and not words[count].startswith("-"):
        return [words[count], *words[:count], *words[count + 1 :]]
    return words[count:]  # such as --version


def _check_standard_input(options: argparse.Namespace, parser: Arguments) -> None:
    """Report two inputs that are both standard input."""
    named = {"file": "FILE", "gold": "GOLD" if options.command == "evaluate" else "--gold", "parsed": "PARSED"}
    named["train"] = "TRAIN" if options.command == "train" else "--train"
    named |= {"test": "--test", "held_out": "--held-out", "other": "--other", "input": "IN", "lexicon": "--lexicon"}
    given = [(name, getattr(options, key, None)) for key, name in named.items()]
    files = [(name, file) for name, value in given for file in (value if isinstance(value, list) else [value])]
    standard = [name for name, file in files if file == "-"]
    if len(standard) > 1:
        parser.error(f"{standard[0]} and {standard[1]} cannot both be standard input (-)")


def _assign_parse_files(options: argparse.Namespace, files: list[str], parser: Arguments) -> argparse.Namespace:
    """Return the options with model and input."""
    model = options.model
    if model is None:
        if not files and not sys.stdin.closed and sys.stdin.isatty():
            parser.error("a model is expected, MODEL or -m MODEL, or text in the standard input")
        model = files.pop(0) if files and not are_inputs(files) else None
        if model is None and files[1:] and is_file_name(options.output):
            parser.error(f"several files need a folder to write to: -o FOLDER; {files[0]} is not a model")
    inputs = files or ["-"]
    for name in ("token_ranges", "cut_words", "breaks"):
        if getattr(options, name) not in (None, False) and not options.plain:
            parser.error(f"--{name.replace('_', '-')} applies to plain text: --text, --lines, --words or --tokens")
    return with_values(options, model=model, inputs=inputs, input=inputs[0])


def _assign_evaluate_files(options: argparse.Namespace, files: list[str], parser: Arguments) -> argparse.Namespace:
    """Return the options with the gold and the parsed files."""
    if not files or bool(files[1:]) == bool(options.model):
        parser.error("expected " + ("--ud GOLD A [B]" if options.ud else "GOLD PARSED, GOLD A B or -m MODEL GOLD"))
    if options.calibration and not options.model:
        parser.error("--calibration needs --model")
    if options.from_text and not options.calibration:
        parser.error("--text needs --calibration; to score parsed text, use 'nonproj parse --text' and evaluate --ud")
    if options.calibration and options.errors:
        parser.error("--calibration excludes --errors")
    if options.ud and options.model:
        parser.error("--ud compares files; write one with 'nonproj parse' first")
    if options.train and not (options.ud and options.errors):
        parser.error("--train needs --ud and --errors")
    if options.ud and options.max_line:
        parser.error("--ud reads files by its own rules and excludes --max-line")
    if files[3:]:
        parser.error(f"unknown argument {files[3]!r}")
    return with_values(options, gold=files[0], parsed=files[1:])


def start_logging(options: argparse.Namespace, default: int = logging.WARNING) -> None:
    """Log to standard error, at a level that ``-v`` lowers and ``-q`` raises."""
    first = getattr(options, "command", None) == "train" and options.quiet > 0  # then one -q only hides progress bars
    quiet = options.quiet - first
    level = default + 10 * (quiet - options.verbose)
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(levelname)s %(message)s" if level <= logging.DEBUG else "%(message)s"
    handler.setFormatter(logging.Formatter(form))
    handler.setLevel(max(level, 1))
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(max(level, 1))
    logging.getLogger("nonproj.compiling").setLevel(logging.ERROR if options.quiet else logging.NOTSET)


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        By default the arguments of the process.

    Returns
    -------
    int
        0; 1 if ``--on-error`` skipped anything; 2 for an error, with one line on standard error; 129 for
        SIGHUP, 130 for Ctrl-C, 143 for SIGTERM; 141 if the output pipe is closed.
    """
    return run_program("nonproj", _run, arguments)


def run_program(name: str, run: Callable[[list[str], bool], int], arguments: list[str] | None = None) -> int:
    """Run a program, report its errors in one line, and return its exit code, as `main` does.

    Parameters
    ----------
    name : str
        Prefix of messages.
    run : callable
        Takes the arguments, and whether the process ends afterwards; returns the exit code.
    arguments : list of str, optional
        By default the arguments of the process.
    """
    _open_standard_streams()
    if arguments is None:
        gc.set_threshold(_COLLECT_AFTER)
        ignore_current_folder()
        escape_terminals()
    try:
        try:
            return run(sys.argv[1:] if arguments is None else arguments, arguments is None)
        finally:
            sys.stdout.flush()
    except NonprojError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return EXIT_ERROR
    except (KeyboardInterrupt, Terminated) as error:
        number = error.args[0] if isinstance(error, Terminated) else signal.SIGINT
        sys.stderr.write(f"{name}: {MESSAGES[number]}\n")
        return 128 + number
    except MemoryError:
        sys.stderr.write(f"{name}: there is not enough memory\n")
        return EXIT_ERROR
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:  # such as a full disk
        reason = "standard output is closed" if error.errno == errno.EBADF else str(error.strerror or error).lower()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        place = "<stdout>: cannot be written: " if full and error.filename is None else ""
        sys.stderr.write(f"{name}: {place}{one_line(reason)}\n")
        _discard_output()
        return EXIT_ERROR


def _run(words: list[str], last: bool) -> int:
    """Run the command that the arguments name, and return its exit code."""
    options = parse_arguments(words)
    if options.version:
        from nonproj import __version__

        sys.stdout.write(f"nonproj {__version__}\n")
        return 0
    plugin: plugins.Command | None = getattr(options, "plugin", None)
    talkative = plugin is not None or options.command in ("distil", "serve")
    start_logging(options, logging.INFO if talkative else logging.WARNING)
    options = locate_models(options)
    patient = plugin.patient if plugin else options.command in ("train", "distil")
    with Signals(patient, last):
        command = importlib.import_module(plugin.module if plugin else f"nonproj.cli.{options.command}")
        if last and "numba" in sys.modules:
            _look_for_no_blas()
        code: int = command.run(options)
        return code


def _open_standard_streams() -> None:
    """Replace closed standard streams, so that no file gets their descriptors: messages vanish, other uses fail."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            usable = os.O_WRONLY if number != 1 else os.O_RDONLY  # messages to a closed standard error are dropped
            descriptor = os.open(os.devnull, usable)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names may have bytes that are not UTF-8


def _discard_output() -> None:
    """Discard the output that the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _look_for_no_blas() -> None:
    """Import numba's module that looks for BLAS with BLAS hidden: importing BLAS takes a seventh of a short run.

    No kernel uses BLAS; functions of linear algebra that others compile look for it again.
    """
    name = "scipy.linalg.cython_blas"
    if name not in sys.modules:
        sys.modules[name] = None  # type: ignore[assignment]  # so that its import fails
        with contextlib.suppress(ImportError):
            importlib.import_module("numba.np.arraymath")
        del sys.modules[name]
