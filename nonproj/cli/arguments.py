"""The argument parser, and the groups of options that commands share."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from nonproj.cli.values import address, integer, jobs, positive, seconds
from nonproj.errors import closest, one_line
from nonproj.io.kinds import ON_ERROR

EXIT_ERROR = 2

_FILES = frozenset(("FILE", "FOLDER", "GOLD", "MODEL", "OUT", "PARSE", "TEACHER", "TEXT", "TRAIN", "TREEBANK", "YAML"))
"""Metavariables of arguments that are files: shells complete their names."""

_COMPLETE_FILES = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "tcsh": "f",
    "fish": "(__fish_complete_path (commandline -ct))",
    "powershell": "_shtab_powershell_compgen_files",
}
"""Completion of file names in each shell: the value of ``shtab.FILE``, without an import of shtab."""


def with_values(options: argparse.Namespace, **values: Any) -> argparse.Namespace:
    """Return a copy of the options with some values replaced."""
    return argparse.Namespace(**{**vars(options), **values})


class _Help(argparse.HelpFormatter):
    """Help formatter that hides rare options; its usage line has only positional and required arguments."""

    def __init__(self, prog: str, rare: list[argparse.Action], **options: Any) -> None:
        super().__init__(prog, **options)
        self._rare = rare

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument unless it is rare."""
        if action not in self._rare:
            super().add_argument(action)

    def add_usage(self, usage: str | None, actions: Iterable[Any], groups: Iterable[Any], prefix: Any = None) -> None:
        """Add a usage line with the required and positional arguments only."""
        shown = [action for action in actions if action.required or not action.option_strings]
        if prefix is None:  # else it becomes the name of a command, in front of the command's own arguments
            shown.insert(0, argparse.Action([], "options", nargs="?", metavar="options"))
        super().add_usage(usage, shown, (), prefix)


class _HelpAll(argparse.Action):
    """The option that prints the help with rare options."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        parser.rare.clear()
        parser.print_help()
        parser.exit()


class Arguments(argparse.ArgumentParser):
    """An argument parser that reports errors in one line and suggests the closest known name.

    Attributes
    ----------
    arguments : list of argparse.Action
        All arguments, including those of its groups, in the order in which they were added.
    rare : list of argparse.Action
        Arguments that only ``--help-all`` shows.
    commands : dict of str to Arguments
        The parsers of its commands.
    """

    def __init__(self, **options: Any) -> None:
        self.arguments: list[argparse.Action] = []
        self.rare: list[argparse.Action] = []
        self.commands: dict[str, Arguments] = {}
        super().__init__(allow_abbrev=False, formatter_class=functools.partial(_Help, rare=self.rare), **options)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        self.exit(EXIT_ERROR, f"{self.prog}: {one_line(message)} (try '{self.prog} --help')\n")

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument; the error for a value that is not in ``choices`` suggests the closest one.

        ``rare``: only ``--help-all`` shows it.
        """
        return self.add_to(super().add_argument, *names, **options)

    def add_example(self, command: str) -> None:
        """Add a command line to the help, as an example."""
        self.epilog = f"example: {command}"

    def add_group(self, title: str, rare: bool = False) -> Group:
        """Add a group of arguments with a title in the help; ``rare`` is the default of its arguments."""
        return Group(self, self.add_argument_group(title), rare)

    def add_alternatives(self) -> Group:
        """Add a group of mutually exclusive arguments."""
        return Group(self, self.add_mutually_exclusive_group())

    def add_to(
        self, add: Callable[..., argparse.Action], *names: str, rare: bool = False, **options: Any
    ) -> argparse.Action:
        """Add an argument through a group's method; further parameters as for `add_argument`."""
        if "choices" in options:
            options["type"] = self._one_of("/".join(names), options["choices"], options.get("type", str))
        action = add(*names, **options)
        if _FILES.intersection(str(action.metavar).replace("|", " ").split(" ")):
            setattr(action, "complete", _COMPLETE_FILES)  # noqa: B010, an attribute of shtab's
        self.arguments.append(action)
        if rare:
            self.rare.append(action)
        return action

    def _one_of(self, name: str, choices: Iterable[Any], convert: Callable[[str], Any]) -> Callable[[str], Any]:
        def value_of(text: str) -> Any:
            """Return the choice with this text."""
            try:
                value = convert(text)
            except ValueError:
                value = None
            if value not in choices:
                self._unknown(name, text, [str(choice) for choice in choices])
            return value

        return value_of

    def _unknown(self, kind: str, word: str, known: list[str]) -> NoReturn:
        self.error(f"unknown {kind} {word!r}{nearest(word, known)}; known: {', '.join(known)}")

    def option_names(self) -> list[str]:
        """Return the names of all options."""
        return [text for action in self.arguments for text in action.option_strings]

    def check_options(self, words: list[str]) -> None:
        """Report an unknown command or long option first, before any missing argument."""
        known = self.option_names()
        command = next((word for word in words if word in self.commands), None)
        for number, word in enumerate(words):
            name = word.partition("=")[0]
            if word == "--":
                break
            if command and name not in known and name in self.commands[command].option_names():
                self.error(f"{name} belongs behind the command: {self.prog} {command} {word}")
            if self.commands and not word.startswith("-"):
                if word not in self.commands:
                    self._unknown("command", word, list(self.commands))
                self.commands[word].check_options(words[number + 1 :])
                break
            if word.startswith("--") and name not in known:
                self.error(f"unknown option {name}{nearest(name, known)}")

    def add_commands(self, dest: str, metavar: str, table: Iterable[tuple[str, str, Callable[..., Any]]]) -> None:
        """Add commands to this parser, each with the options ``--verbose`` and ``--quiet``.

        Parameters
        ----------
        dest, metavar : str
            Name of the chosen command in the result, and in the help.
        table : iterable of (str, str, callable)
            Name, description, and a function that adds the command's arguments to its parser.
        """
        group = self.add_subparsers(dest=dest, metavar=metavar, parser_class=Arguments)
        for name, text, add_arguments in table:
            description = f"{text[0].upper()}{text[1:]}."
            command = group.add_parser(name, help=text, description=description)
            add = command.add_argument
            add("-v", "--verbose", action="count", default=0, help="more messages on standard error")
            add("-q", "--quiet", action="count", default=0, help="fewer messages, and no progress bars")
            add_arguments(command)
            if command.rare:
                add("--help-all", action=_HelpAll, nargs=0, help="show all options, with those that are rarely needed")
            self.commands[name] = command


class Group:
    """Arguments of a parser that are grouped in its help or mutually exclusive.

    Parameters
    ----------
    parser : Arguments
    group : group of argparse
    rare : bool
        Default of its arguments.
    """

    def __init__(self, parser: Arguments, group: Any, rare: bool = False) -> None:
        self._parser, self._group, self._rare = parser, group, rare

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument; parameters as for `Arguments.add_argument`."""
        return self._parser.add_to(self._group.add_argument, *names, **{"rare": self._rare} | options)

    def add_alternatives(self) -> Group:
        """Add a group of mutually exclusive arguments within this one."""
        return Group(self._parser, self._group.add_mutually_exclusive_group(), self._rare)


def nearest(word: str, known: list[str]) -> str:
    """Return a suggestion if a known word is similar, else an empty string."""
    bare = {name.lstrip("-"): name for name in known}
    near = closest(word.lstrip("-"), bare, cutoff=0.5)
    return f"; did you mean {bare[near]}?" if near else ""


def add_reading(parser: Arguments) -> None:
    """Add the options for reading treebanks."""
    add = parser.add_group("treebank input", rare=True).add_argument
    add("--max-line", type=positive, metavar="BYTES", help="maximum length of a line (default: 1048576)")


def add_on_error(parser: Arguments) -> None:
    """Add the option for malformed sentences in treebanks."""
    text = "malformed sentence: stop; or skip and report it, and exit with code 1 (default: stop)"
    parser.add_argument("--on-error", choices=ON_ERROR, default="stop", help=text, rare=True)


def add_workers(parser: Arguments) -> None:
    """Add the options for processes and clusters."""
    group = parser.add_group("workers")
    add = group.add_alternatives().add_argument
    add("-j", "--jobs", type=jobs, metavar="N", help="number of processes (default: 1; -1: one per core)")
    text = "use the workers of the Dask cluster at tcp://HOST:8786"
    add("--scheduler", type=address, metavar="ADDRESS", help=text, rare=True)
    text = "time to wait for the scheduler and its first worker (default: 10)"
    group.add_argument("--scheduler-timeout", type=seconds, default=10.0, metavar="SECONDS", help=text, rare=True)


def add_plain_text(parser: Arguments) -> None:
    """Add the options for plain text."""
    group = parser.add_group("plain text; by default the input is CoNLL-X or CoNLL-U")
    text = "the input is text, to be split into sentences and words; blank lines separate paragraphs"
    add_text_forms(group.add_alternatives().add_argument, text)
    text = "with --text or --tokens: a line break ends a sentence, too, as after titles"
    group.add_argument("--breaks", action="store_true", help=text, rare=True)
    text = "write the character offsets of each token into MISC, as in TokenRange=0:5"
    group.add_argument("--token-ranges", action="store_true", help=text, rare=True)
    text = "maximum words per sentence; longer runs are split at their most probable boundary (default: 128)"
    group.add_argument("--cut-words", type=integer, metavar="N", help=text, rare=True)


def add_text_forms(add: Callable[..., Any], text: str) -> None:
    """Add the options for the form of plain text; ``text`` is the help of ``--text``."""
    const = "store_const"
    add("--text", dest="plain", action=const, const="text", help=text)
    add("--lines", dest="plain", action=const, const="lines", help="text with one sentence per line")
    text = "one sentence per line, its words separated by blanks"
    add("--words", dest="plain", action=const, const="words", help=text, rare=True)
    text = "words separated by blanks, to be split into sentences; blank lines separate paragraphs"
    add("--tokens", dest="plain", action=const, const="tokens", help=text, rare=True)


def add_tagging(parser: Arguments, *, tested: bool = False) -> None:
    """Add the options for tags; a command that compares with gold trees (``tested``) sets the default itself."""
    add = parser.add_group("tagging", rare=True).add_alternatives().add_argument
    default = " with gold trees, if the model has learnt from predicted tags" if tested else ": only those that are _"
    text = f"predict all tags, features and lemmas (default{default})"
    add("--tag", dest="tags", action="store_const", const="all", default=None if tested else "missing", help=text)
    if tested:
        text = "use the tags of the file, and predict only those that are _"
        add("--gold-tags", dest="tags", action="store_const", const="missing", help=text)
    add("--no-tag", dest="tags", action="store_const", const="none", help="leave tags as they are")


def add_lexicon(parser: Arguments, text: str = "") -> None:
    """Add the option for a user's lexicon; ``text`` follows in its help."""
    usual = "words with their tags and lemmas, which are obeyed: CoNLL-U, a table, or a token per line"
    parser.add_argument("--lexicon", metavar="FILE", help=usual + text)


def add_decoding(parser: Arguments) -> None:
    """Add the options for decoding."""
    group = parser.add_group("decoding options; they override the model's", rare=True)
    add, optional = group.add_argument, argparse.BooleanOptionalAction
    add("--projective", action=optional, help="projective trees only")
    add_root = group.add_alternatives().add_argument
    add_root("--single-root", action="store_true", default=None, help="exactly one root per tree")
    add_root("--multi-root", dest="single_root", action="store_false", default=None, help="one or more roots per tree")
    text = "maximum number of iterations of the subgradient method per sentence"
    add("--max-iterations", type=integer, metavar="K", help=text)
    add_max_words(group)
    add("--exact", action=optional, help="close remaining duality gaps by branch and bound", rare=False)
    add("--search-limit", type=integer, metavar="N", help="work limit, in Viterbi transitions per word")
    text = "decode over all arcs, without pruning, so certificates hold for the whole model"
    add("--full", action=optional, help=text)
    add("--graphs", action=optional, help="write enhanced graphs, if the model has learnt them (default: yes)")
    text = "plain text: let trees decide between doubtful sentences (default: if the treebank has no punctuation)"
    add("--sentences-by-trees", action=optional, help=text)


def add_max_words(parser: Arguments | Group) -> None:
    """Add the option for the length of sentences."""
    text = "maximum sentence length in words; longer sentences are an error"
    parser.add_argument("--max-words", type=integer, metavar="N", help=text, rare=True)
