"""The arguments of the command line, and how its errors are reported.

This module imports nothing heavy, so ``nonproj --help`` and misspelt options are answered at once.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import logging
import os
import signal
import sys
from typing import NoReturn

from nonproj.cli.signals import MESSAGES, Signals, Terminated
from nonproj.errors import NonprojError, one_line

EXIT_ERROR, EXIT_BROKEN_PIPE = 2, 141

_DECODING_OPTIONS = {f"--{no}{name}" for name in ("projective", "exact", "full", "joint", "tag") for no in ("", "no-")}
_DECODING_OPTIONS |= {"--single-root", "--multi-root", "--max-iterations", "--max-words", "--search-limit"}

log = logging.getLogger("nonproj")


class Arguments(argparse.ArgumentParser):
    """An argument parser that reports errors in one line and suggests the closest known name."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        self.exit(EXIT_ERROR, f"{self.prog}: {one_line(message)} (try '{self.prog} --help')\n")

    def _check_value(self, action, value) -> None:
        if action.choices is not None and value not in action.choices:
            kind = "command" if isinstance(action, argparse._SubParsersAction) else "/".join(action.option_strings)
            known = [str(choice) for choice in action.choices]
            self.error(f"unknown {kind} {value!r}{_nearest(str(value), known)}; known: {', '.join(known)}")

    def check_options(self, words: list[str]) -> None:
        """Report an unknown long option first, before any missing argument."""
        known = [text for text in self._option_string_actions if text.startswith("--")]
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                break
            if word.startswith("--") and name not in known:
                self.error(f"unknown option {name}{_nearest(name, known)}")


def _nearest(word: str, known: list[str]) -> str:
    """Return a suggestion if a known word is similar."""
    bare = {name.lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.5)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def build_parser() -> tuple[Arguments, dict[str, Arguments]]:
    """Return the parser of the command line, and the parsers of the commands by name."""
    parser = Arguments(
        prog="nonproj",
        description="A non-projective dependency parser that certifies which trees are provably optimal.",
        epilog="'nonproj COMMAND --help' describes a command.  A file may be '-' (standard input or output) or .gz.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Arguments)
    verbosity = Arguments(add_help=False)
    add = verbosity.add_argument
    add("-v", "--verbose", action="count", default=0, help="more messages on standard error")
    add("-q", "--quiet", action="count", default=0, help="fewer messages: no progress bars, only warnings")
    added = {}
    for add_arguments, name, text in (
        (_add_train, "train", "train a model on a treebank"),
        (_add_parse, "parse", "parse plain text, or a CoNLL-X or CoNLL-U file or stream"),
        (_add_evaluate, "evaluate", "score a parsed file or a model, or compare two parsed files"),
        (_add_inspect, "inspect", "describe a model"),
        (lambda _: None, "compile", "compile all kernels now, as for an image, and print the folder that keeps them"),
        (_add_serve, "serve", "serve models over HTTP, with a start page and the REST interface of UDPipe"),
    ):
        description = f"{text[0].upper()}{text[1:]}."
        added[name] = commands.add_parser(name, help=text, description=description, parents=[verbosity])
        add_arguments(added[name])
    return parser, added


def _add_train(parser: Arguments) -> None:
    add = parser.add_argument
    add("train", nargs="?", metavar="TRAIN", help="treebank with gold heads, instead of the config's treebank files")
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    add("-c", "--config", metavar="YAML", help="configuration; command-line options override it")
    add("--parts", metavar="SET", help="part types: arc, sibling, grandparent, or a list such as arc,grandparent")
    add("--test", metavar="FILE", help="treebank to evaluate the trained model on")
    text = "fraction of the sentences (such as 0.1), or another treebank, to evaluate on after each epoch"
    add("--held-out", metavar="SHARE|FILE", help=text)
    add("--tags", choices=("gold", "predicted", "both"), help="tags to train the parser on; predicted: by jackknifing")
    add("--epochs", type=int, metavar="N", help="training epochs of the perceptron")
    add("--seed", type=int, metavar="N", help="seed of all random choices")
    add("--resume", action="store_true", help="continue from MODEL.checkpoint, if it exists")
    text = "set a configuration option; may be repeated"
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help=text)
    group = parser.add_argument_group("workers")
    add = group.add_argument
    _add_scheduler(group, add, "train with the Dask cluster at tcp://HOST:8786")
    text = "parts of the treebank to train on in parallel (default: one per worker)"
    add("--shards", type=_positive, metavar="N", help=text)
    _add_reading(parser)


def _jobs(text: str) -> int:
    """Return a number of processes."""
    if not text.removeprefix("-").isdecimal() or int(text) not in {-1, *range(1, 1025)}:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 1024, or -1 for one per core")
    return int(text)


def _positive(text: str) -> int:
    """Return a positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return int(text)


def _add_reading(parser: Arguments) -> None:
    add = parser.add_argument_group("reading of treebanks").add_argument
    add(
        "--strict",
        action="store_true",
        help="reject what the validator of Universal Dependencies rejects (levels 1, 2)",
    )
    add("--max-line", type=_positive, metavar="BYTES", help="longest line that is accepted (default: 1048576)")


def _add_workers(parser: Arguments, cluster: bool = True) -> None:
    group = parser.add_argument_group("workers")
    add = group.add_mutually_exclusive_group().add_argument
    add("-j", "--jobs", type=_jobs, metavar="N", help="number of processes (default: 1; -1: one per core)")
    if cluster:
        _add_scheduler(group, add, "use the workers of the Dask cluster at tcp://HOST:8786")


def _add_scheduler(group, add, text: str) -> None:
    add("--scheduler", type=_address, metavar="ADDRESS", help=text)
    text = "time to wait for the scheduler and its first worker (default: 10)"
    group.add_argument("--scheduler-timeout", type=_seconds, default=10.0, metavar="SECONDS", help=text)


def _address(text: str) -> str:
    """Return the address of a scheduler."""
    from nonproj.workers.cluster import check_address

    try:
        return check_address(text)
    except NonprojError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    """Return a time."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds <= 86400.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, up to a day")
    return seconds


def _add_plain_text(parser: Arguments) -> None:
    group = parser.add_argument_group("plain text; by default the input is CoNLL-X or CoNLL-U")
    add, const = group.add_mutually_exclusive_group().add_argument, "store_const"
    text = "the input is text, to be split into sentences and words; blank lines separate paragraphs"
    add("--text", dest="plain", action=const, const="text", help=text)
    add("--lines", dest="plain", action=const, const="lines", help="text with one sentence per line")
    text = "one sentence per line, its words separated by blanks"
    add("--words", dest="plain", action=const, const="words", help=text)
    text = "write the place of each token in the text into MISC, as in TokenRange=0:5"
    group.add_argument("--token-ranges", action="store_true", help=text)


def _add_tagging(parser: Arguments) -> None:
    add = parser.add_argument_group("tagging").add_mutually_exclusive_group().add_argument
    text = "predict all tags, features and lemmas (default: those that are _)"
    add("--tag", dest="tags", action="store_const", const="all", default="missing", help=text)
    add("--no-tag", dest="tags", action="store_const", const="none", help="leave tags as they are")


def _add_decoding(parser: Arguments) -> None:
    group = parser.add_argument_group("decoding options; they override the model's")
    add, optional = group.add_argument, argparse.BooleanOptionalAction
    add("--projective", action=optional, help="projective trees only")
    add_root = group.add_mutually_exclusive_group().add_argument
    add_root("--single-root", action="store_true", default=None, help="exactly one root per tree")
    add_root("--multi-root", dest="single_root", action="store_false", default=None, help="one or more roots per tree")
    add("--max-iterations", type=int, metavar="K", help="maximum iterations of the subgradient method per sentence")
    add("--max-words", type=int, metavar="N", help="longest sentence, in words; longer ones are refused")
    add("--exact", action=optional, help="close remaining duality gaps by branch and bound")
    add("--search-limit", type=int, metavar="N", help="work limit, in Viterbi transitions per word")
    add("--full", action=optional, help="decode over all arcs, without pruning: certificates are of the whole model")
    add("--joint", action=optional, help="decide tags and trees jointly, where the tagger is asked for all tags")


def _add_parse(parser: Arguments) -> None:
    add = parser.add_argument
    parser.usage = "nonproj parse [options] MODEL [IN]\n       nonproj parse [options] -m MODEL [IN]"
    add("-m", "--model", metavar="MODEL", help="a model made by 'nonproj train', instead of the first argument")
    add("files", nargs="*", metavar="MODEL [IN]", help="a model, and the file to parse (default: standard input)")
    add("-o", "--output", default="-", metavar="OUT", help="file to write (default: standard output)")
    add("--stats", metavar="FILE", help="write score, bound and certificate of each tree as lines of JSON")
    add("--stats-comments", action="store_true", help="write them as comments above each sentence")
    add("--keep-deps", action="store_true", help="keep DEPS where HEAD changes (default: DEPS becomes _)")
    _add_plain_text(parser)
    _add_reading(parser)
    _add_tagging(parser)
    _add_workers(parser)
    _add_decoding(parser)


def _add_evaluate(parser: Arguments) -> None:
    add, forms = parser.add_argument, ("GOLD PARSED", "GOLD A B", "-m MODEL GOLD", "--ud GOLD A [B]")
    parser.usage = "\n       ".join(f"nonproj evaluate [options] {form}" for form in forms)
    text = "treebank with gold heads; a parsed file of the same sentences, or two to compare by a permutation test"
    add("files", nargs="*", metavar="GOLD [PARSED | A B]", help=text)
    add("-m", "--model", metavar="MODEL", help="parse GOLD with a model, and score the result")
    text = "the CoNLL 2018 table, from sentences and words on, by the official code; tokens may differ"
    add("--ud", action="store_true", help=text)
    add("--json", action="store_true", help="print all figures as JSON")
    _add_reading(parser)
    _add_tagging(parser)
    _add_workers(parser, cluster=False)
    _add_decoding(parser)


def _add_inspect(parser: Arguments) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model made by 'nonproj train'")
    parser.add_argument("--verify", action="store_true", help="check all checksums")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def _add_serve(parser: Arguments) -> None:
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="models made by 'nonproj train'; the first is the default")
    add("--host", default="127.0.0.1", help="interface to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=_port, default=8001, metavar="N", help="port; 0 is any that is free (default: 8001)")
    add("-j", "--jobs", type=_jobs, metavar="N", help="number of processes that parse (default: 1; -1: one per core)")
    add("--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="time limit of a request (default: 30)")
    add("--max-bytes", type=_positive, default=1 << 20, metavar="N", help="size limit of a request (default: 1048576)")
    add("--waiting", type=_positive, default=200, metavar="N", help="requests that may wait (default: 200)")
    _add_decoding(parser)


def _port(text: str) -> int:
    """Return a port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 65535")
    return int(text)


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line; exit with code 2 if it is invalid.

    Examples
    --------
    >>> options = parse_arguments(["parse", "-m", "danish.nonproj", "in.conll"])
    >>> options.command, options.model, options.input, options.output
    ('parse', 'danish.nonproj', 'in.conll', '-')
    """
    parser, commands = build_parser()
    named = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    parser.check_options(words[:named])
    if named < len(words) and words[named] in commands:
        commands[words[named]].check_options(words[named + 1 :])
    options, extra = parser.parse_known_args(words)
    if options.command in ("parse", "evaluate"):  # argparse leaves files behind options in ``extra``
        behind = [word for word in extra if word == "-" or not word.startswith("-")]
        extra = [word for word in extra if word not in behind]
        assign = _assign_parse_files if options.command == "parse" else _assign_evaluate_files
        extra += assign(options, options.files + behind, commands[options.command])
    if extra:
        commands.get(options.command, parser).error(f"unknown argument {extra[0]!r}")
    if options.command == "evaluate" and options.model is None:
        for name in (word.partition("=")[0] for word in words):
            if name in ("-j", "--jobs") or name in _DECODING_OPTIONS:
                commands["evaluate"].error(f"{name} applies to parsing and needs --model")
    if not options.command and not options.version:
        parser.error(f"a command is expected: {', '.join(commands)}")
    return options


def _assign_parse_files(options: argparse.Namespace, files: list[str], parser: Arguments) -> list[str]:
    """Set model and input, and return the remaining files."""
    if options.model is None:
        if not files:
            parser.error("a model is expected: MODEL or -m MODEL")
        options.model = files.pop(0)
    options.input = files.pop(0) if files else "-"
    if options.token_ranges and not options.plain:
        parser.error("--token-ranges applies to plain text: --text, --lines or --words")
    return files


def _assign_evaluate_files(options: argparse.Namespace, files: list[str], parser: Arguments) -> list[str]:
    """Set the gold and the parsed files, and return the remaining files."""
    options.gold, options.parsed = files[:1], files[1:3]
    if not options.gold or bool(options.parsed) == bool(options.model):
        parser.error("expected GOLD PARSED, GOLD A B or -m MODEL GOLD")
    if options.ud and options.model:
        parser.error("--ud compares files; write one by 'nonproj parse' first")
    if options.ud and (options.strict or options.max_line):
        parser.error("--ud reads files by its own rules, without --strict and --max-line")
    options.gold = options.gold[0]
    return files[3:]


def _start_logging(options: argparse.Namespace) -> None:
    """Log to standard error: training and serving from level INFO on, others with ``-v`` only."""
    default = logging.INFO if options.command in ("train", "serve") else logging.WARNING
    level = default + 10 * (options.quiet - options.verbose)
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(levelname)s %(message)s" if level <= logging.DEBUG else "%(message)s"
    handler.setFormatter(logging.Formatter(form))
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(max(level, 1))


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        By default the arguments of the process.

    Returns
    -------
    int
        0; 2 for an error, with one line on standard error; 129 after SIGHUP, 130 after Ctrl-C, 143 after SIGTERM; 141
        if the output pipe is closed.
    """
    _open_standard_streams()
    try:
        return _run(sys.argv[1:] if arguments is None else arguments, last=arguments is None)
    except NonprojError as error:
        sys.stderr.write(f"nonproj: {error}\n")
        return EXIT_ERROR
    except (KeyboardInterrupt, Terminated) as error:
        number = error.args[0] if isinstance(error, Terminated) else signal.SIGINT
        sys.stderr.write(f"nonproj: {MESSAGES[number]}\n")
        return 128 + number
    except MemoryError:
        sys.stderr.write("nonproj: there is not enough memory\n")
        return EXIT_ERROR
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:  # such as a full disk
        reason = "standard output is closed" if error.errno == errno.EBADF else str(error.strerror or error).lower()
        sys.stderr.write(f"nonproj: {one_line(reason)}\n")
        _discard_output()
        return EXIT_ERROR


def _run(words: list[str], last: bool) -> int:
    """Run the command, and flush what it or the help has printed."""
    try:
        options = parse_arguments(words)
        if options.version:
            from nonproj import __version__

            sys.stdout.write(f"nonproj {__version__}\n")
            return 0
        _start_logging(options)
        with Signals(patient=options.command == "train", last=last):
            return importlib.import_module(f"nonproj.cli.{options.command}").run(options)
    finally:
        sys.stdout.flush()


def _open_standard_streams() -> None:
    """Put a stream that fails in place of each standard stream that is closed, so that no file gets its descriptor."""
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
    """Discard what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
