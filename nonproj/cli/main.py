"""The command line: what can be asked for.  What is then done stands in `nonproj.cli.commands`.

This module imports nothing heavy, so ``nonproj --help`` and a misspelt option are answered at once.
"""

from __future__ import annotations

import argparse
import difflib
import logging
import os
import sys
from typing import NoReturn

from nonproj.errors import NonprojError

EXIT_ERROR, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 130, 141

log = logging.getLogger("nonproj")


class Arguments(argparse.ArgumentParser):
    """A parser of arguments that answers a mistake in one line, with the nearest thing that it knows."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Leave with one line and exit code 2."""
        self.exit(EXIT_ERROR, f"{self.prog}: {message} (try '{self.prog} --help')\n")

    def _check_value(self, action, value) -> None:
        if action.choices is not None and value not in action.choices:
            kind = "command" if isinstance(action, argparse._SubParsersAction) else "/".join(action.option_strings)
            known = [str(choice) for choice in action.choices]
            self.error(f"unknown {kind} {value!r}{_nearest(str(value), known)}; known: {', '.join(known)}")

    def check_options(self, words: list[str]) -> None:
        """Refuse a long option that is not known, before a missing one is complained of."""
        known = [text for text in self._option_string_actions if text.startswith("--")]
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                break
            if word.startswith("--") and name not in known:
                self.error(f"unknown option {name}{_nearest(name, known)}")


def _nearest(word: str, known: list[str]) -> str:
    """Say which known word may have been meant, if any is near."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def build_parser() -> tuple[Arguments, dict[str, Arguments]]:
    """Return the parser of the whole command line, and those of the commands by name."""
    parser = Arguments(
        prog="nonproj",
        description="A non-projective dependency parser that says of each tree whether it is provably the best one.",
        epilog="'nonproj COMMAND --help' explains a command.  Files may be '-' for standard input or output, and .gz.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Arguments)
    verbosity = Arguments(add_help=False)
    verbosity.add_argument("-v", "--verbose", action="count", default=0, help="say more on standard error")
    verbosity.add_argument("-q", "--quiet", action="count", default=0, help="say less: no progress, only warnings")
    added = {}
    for add, name, text in (
        (_add_train, "train", "train a model on a treebank"),
        (_add_parse, "parse", "parse CoNLL-X or CoNLL-U, as a stream"),
        (_add_evaluate, "evaluate", "compare a parse, or a model's parses, with a treebank"),
        (_add_inspect, "inspect", "say what is in a model"),
    ):
        added[name] = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[verbosity]
        )
        add(added[name])
    return parser, added


def _add_train(parser: Arguments) -> None:
    parser.add_argument("train", nargs="?", metavar="TRAIN", help="treebank with gold heads (default: the config's)")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    parser.add_argument("-c", "--config", metavar="YAML", help="configuration; the options below go before it")
    parser.add_argument(
        "--parts",
        metavar="SET",
        help="part types: arc, sibling, grandparent, or a list such as arc,grandparent",
    )
    parser.add_argument("--test", metavar="FILE", help="treebank to evaluate the model on when it is trained")
    parser.add_argument(
        "--held-out",
        metavar="SHARE|FILE",
        help="share of the sentences (as 0.1), or another treebank, to evaluate on after each epoch",
    )
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over the treebank")
    parser.add_argument("--seed", type=int, metavar="N", help="of the random order of the sentences")
    parser.add_argument("--resume", action="store_true", help="go on from MODEL.checkpoint, if it is there")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="set any option of the configuration; may be repeated",
    )
    group = parser.add_argument_group("workers")
    group.add_argument("--scheduler", metavar="ADDRESS", help="train by the Dask cluster of tcp://HOST:8786")
    group.add_argument(
        "--shards", type=_shards, metavar="N", help="parts of the treebank to train on at once (default: one a worker)"
    )


def _jobs(text: str) -> int:
    """Read a number of processes."""
    if not text.removeprefix("-").isdecimal() or int(text) not in {-1, *range(1, 1025)}:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 1024, or -1 for one on each core")
    return int(text)


def _shards(text: str) -> int:
    """Read a number of parts."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return int(text)


def _add_workers(parser: Arguments, cluster: bool = True) -> None:
    group = parser.add_argument_group("workers").add_mutually_exclusive_group()
    group.add_argument(
        "-j", "--jobs", type=_jobs, metavar="N", help="processes that share the work (default: 1; -1: one on each core)"
    )
    if cluster:
        group.add_argument(
            "--scheduler", metavar="ADDRESS", help="share the work over the Dask cluster of tcp://HOST:8786"
        )


def _add_decoding(parser: Arguments) -> None:
    group = parser.add_argument_group("decoding, in place of what the model says")
    group.add_argument("--projective", action="store_true", default=None, help="only projective trees")
    roots = group.add_mutually_exclusive_group()
    roots.add_argument("--single-root", dest="single_root", action="store_true", default=None, help="exactly one root")
    roots.add_argument("--multi-root", dest="single_root", action="store_false", default=None, help="one root or more")
    group.add_argument("--max-iterations", type=int, metavar="K", help="of the subgradient method, for each sentence")
    group.add_argument(
        "--exact",
        action=argparse.BooleanOptionalAction,
        help="search by branch and bound where these leave a gap (default: as in the model, which is yes)",
    )
    group.add_argument(
        "--full",
        action=argparse.BooleanOptionalAction,
        help="look for trees among all arcs, pruned ones too, so that certificates hold for the whole model",
    )


def _add_parse(parser: Arguments) -> None:
    parser.usage = "nonproj parse [options] MODEL [IN]\n       nonproj parse [options] -m MODEL [IN]"
    parser.add_argument("-m", "--model", metavar="MODEL", help="a model made by 'nonproj train', if it is not MODEL")
    parser.add_argument("files", nargs="*", metavar="MODEL [IN]", help="a model, and a file (default: standard input)")
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="file to write (default: standard output)")
    parser.add_argument("--stats", metavar="FILE", help="write what is known of each tree as lines of JSON")
    parser.add_argument("--stats-comments", action="store_true", help="write it as comments above each sentence")
    _add_workers(parser)
    _add_decoding(parser)


def _add_evaluate(parser: Arguments) -> None:
    parser.add_argument("gold", metavar="GOLD", help="treebank with gold heads")
    parser.add_argument("system", nargs="?", metavar="SYSTEM", help="the same sentences as a parser sees them")
    parser.add_argument("-m", "--model", metavar="MODEL", help="parse GOLD with a model in place of reading SYSTEM")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    _add_workers(parser, cluster=False)
    _add_decoding(parser)


def _add_inspect(parser: Arguments) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model made by 'nonproj train'")
    parser.add_argument("--verify", action="store_true", help="read every byte and compare the checksums")
    parser.add_argument("--json", action="store_true", help="as JSON")


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Read the command line; leaves with exit code 2 where it is wrong.

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
    if options.command == "evaluate" and not options.system and len(extra) == 1 and extra[0][0] != "-":
        options.system = extra.pop()  # argparse does not see it behind an option
    if options.command == "parse":
        _take_files(options, extra, commands["parse"])
    if extra:
        commands.get(options.command, parser).error(f"unknown argument {extra[0]!r}")
    if options.command == "evaluate":
        _check_evaluate(options, commands["evaluate"])
    if not options.command and not options.version:
        parser.error(f"a command is expected: {', '.join(commands)}")
    return options


def _take_files(options: argparse.Namespace, extra: list[str], parser: Arguments) -> None:
    """Tell model and input apart; argparse leaves files behind options in ``extra``."""
    behind = [word for word in extra if word == "-" or not word.startswith("-")]
    files = options.files + behind
    extra[:] = [word for word in extra if word not in behind]
    if options.model is None:
        if not files:
            parser.error("a model is expected: MODEL or -m MODEL")
        options.model = files.pop(0)
    options.input = files.pop(0) if files else "-"
    extra += files


def _check_evaluate(options: argparse.Namespace, parser: Arguments) -> None:
    """An evaluation is of a file or of a model."""
    if (options.system is None) == (options.model is None):
        parser.error("either SYSTEM, a parsed file, or --model is expected")
    decoding = {"--jobs": options.jobs, "--projective": options.projective, "--max-iterations": options.max_iterations}
    for name in ("exact", "full"):
        decoding[f"--{name}" if getattr(options, name) else f"--no-{name}"] = getattr(options, name)
    decoding["--single-root" if options.single_root else "--multi-root"] = options.single_root
    for name, value in decoding.items():
        if options.model is None and value is not None:
            parser.error(f"{name} is about parsing; it needs --model")


def _start_logging(options: argparse.Namespace) -> None:
    """Messages go to standard error: those of training without being asked for, all others with ``-v``."""
    usual = logging.INFO if options.command == "train" else logging.WARNING
    level = usual + 10 * (options.quiet - options.verbose)
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
        By default those of the process.

    Returns
    -------
    int
        0; 2 for an error of the user's, with one line on standard error; 130 after Ctrl-C; 141 where nobody reads on.
    """
    options = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    if options.version:
        from nonproj import __version__

        sys.stdout.write(f"nonproj {__version__}\n")
        return 0
    _start_logging(options)
    try:
        from nonproj.cli import commands

        code = getattr(commands, options.command)(options)
        sys.stdout.flush()
        return code
    except NonprojError as error:
        sys.stderr.write(f"nonproj: {error}\n")
        return EXIT_ERROR
    except KeyboardInterrupt:
        sys.stderr.write("nonproj: interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:  # a full disk, for one
        sys.stderr.write(f"nonproj: {error.strerror or error}\n".lower())
        _forget_output()
        return EXIT_ERROR


def _forget_output() -> None:
    """Send what the interpreter still flushes at its end nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
