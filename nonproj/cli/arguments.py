"""The argument parser, types of values, and the groups of options that commands share."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from nonproj.cli.values import address, factor, integer, jobs, port, positive, probability, seconds, whole
from nonproj.errors import one_line

EXIT_ERROR = 2

_FILES = frozenset(("FILE", "FOLDER", "GOLD", "MODEL", "OUT", "PARSE", "TEACHER", "TEXT", "TRAIN", "TREEBANK", "YAML"))
"""Names of arguments that are files."""

_COMPLETE_FILES = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "tcsh": "f",
    "fish": "(__fish_complete_path (commandline -ct))",
    "powershell": "_shtab_powershell_compgen_files",
}
"""What the completion of shells by the package shtab needs to know of them: its ``shtab.FILE``."""


class Arguments(argparse.ArgumentParser):
    """An argument parser that reports errors in one line and suggests the closest known name.

    Attributes
    ----------
    arguments : list of argparse.Action
        All arguments, including those of its groups, in the order in which they were added.
    commands : dict of str to Arguments
        The parsers of its commands.
    """

    def __init__(self, **options: Any) -> None:
        self.arguments: list[argparse.Action] = []
        self.commands: dict[str, Arguments] = {}
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        self.exit(EXIT_ERROR, f"{self.prog}: {one_line(message)} (try '{self.prog} --help')\n")

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument; the error for a value that is not in ``choices`` suggests the closest one."""
        return self.add_to(super().add_argument, *names, **options)

    def add_group(self, title: str) -> Group:
        """Add a group of arguments with a title in the help."""
        return Group(self, self.add_argument_group(title))

    def add_alternatives(self) -> Group:
        """Add a group of mutually exclusive arguments."""
        return Group(self, self.add_mutually_exclusive_group())

    def add_to(self, add: Callable[..., argparse.Action], *names: str, **options: Any) -> argparse.Action:
        """Add an argument through a group's method; further parameters as for `add_argument`."""
        if "choices" in options:
            options["type"] = self._one_of("/".join(names), options["choices"], options.get("type", str))
        action = add(*names, **options)
        if _FILES.intersection(str(action.metavar).replace("|", " ").split(" ")):
            setattr(action, "complete", _COMPLETE_FILES)  # noqa: B010, an attribute of shtab's
        self.arguments.append(action)
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

    def check_options(self, words: list[str]) -> None:
        """Report an unknown command or long option first, before any missing argument."""
        known = [text for action in self.arguments for text in action.option_strings if text.startswith("--")]
        for number, word in enumerate(words):
            name = word.partition("=")[0]
            if word == "--":
                break
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
            add("-q", "--quiet", action="count", default=0, help="fewer messages: no progress bars, only warnings")
            add_arguments(command)
            self.commands[name] = command


class Group:
    """Arguments of a parser that are grouped in its help or mutually exclusive.

    Parameters
    ----------
    parser : Arguments
    group : group of argparse
    """

    def __init__(self, parser: Arguments, group: Any) -> None:
        self._parser, self._group = parser, group

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument; parameters as for `Arguments.add_argument`."""
        return self._parser.add_to(self._group.add_argument, *names, **options)

    def add_alternatives(self) -> Group:
        """Add a group of mutually exclusive arguments within this one."""
        return Group(self._parser, self._group.add_mutually_exclusive_group())


def nearest(word: str, known: list[str]) -> str:
    """Return a suggestion if a known word is similar."""
    bare = {name.lstrip("-"): name for name in known}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.5)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def add_reading(parser: Arguments) -> None:
    """Add the options for reading treebanks."""
    add = parser.add_group("treebank input").add_argument
    add(
        "--strict",
        action="store_true",
        help="apply the rules of the Universal Dependencies validator (levels 1 and 2)",
    )
    add("--max-line", type=positive, metavar="BYTES", help="maximum length of a line (default: 1048576)")


def add_workers(parser: Arguments, cluster: bool = True) -> None:
    """Add the options for processes and, by default, clusters."""
    group = parser.add_group("workers")
    add = group.add_alternatives().add_argument
    add("-j", "--jobs", type=jobs, metavar="N", help="number of processes (default: 1; -1: one per core)")
    if cluster:
        add_scheduler(group, add, "use the workers of the Dask cluster at tcp://HOST:8786")


def add_scheduler(group: Group, add: Callable[..., Any], text: str) -> None:
    """Add the options for a Dask cluster; ``add`` adds an argument that excludes ``--jobs``."""
    add("--scheduler", type=address, metavar="ADDRESS", help=text)
    text = "time to wait for the scheduler and its first worker (default: 10)"
    group.add_argument("--scheduler-timeout", type=seconds, default=10.0, metavar="SECONDS", help=text)


def add_plain_text(parser: Arguments) -> None:
    """Add the options for plain text."""
    group = parser.add_group("plain text; by default the input is CoNLL-X or CoNLL-U")
    text = "the input is text, to be split into sentences and words; blank lines separate paragraphs"
    add_text_forms(group.add_alternatives().add_argument, text)
    text = "write the character offsets of each token into MISC, as in TokenRange=0:5"
    group.add_argument("--token-ranges", action="store_true", help=text)
    text = "maximum words per sentence; longer runs are split at their most probable boundary (default: 128)"
    group.add_argument("--cut-words", type=integer, metavar="N", help=text)


def add_text_forms(add: Callable[..., Any], text: str) -> None:
    """Add the forms of plain text; ``text`` is the help of the first."""
    const = "store_const"
    add("--text", dest="plain", action=const, const="text", help=text)
    add("--lines", dest="plain", action=const, const="lines", help="text with one sentence per line")
    text = "one sentence per line, its words separated by blanks"
    add("--words", dest="plain", action=const, const="words", help=text)


def add_tagging(parser: Arguments) -> None:
    """Add the options for tags."""
    add = parser.add_group("tagging").add_alternatives().add_argument
    text = "predict all tags, features and lemmas (default: only those that are _)"
    add("--tag", dest="tags", action="store_const", const="all", default="missing", help=text)
    add("--no-tag", dest="tags", action="store_const", const="none", help="leave tags as they are")


def add_decoding(parser: Arguments) -> None:
    """Add the options for decoding."""
    group = parser.add_group("decoding options; they override the model's")
    add, optional = group.add_argument, argparse.BooleanOptionalAction
    add("--projective", action=optional, help="projective trees only")
    add_root = group.add_alternatives().add_argument
    add_root("--single-root", action="store_true", default=None, help="exactly one root per tree")
    add_root("--multi-root", dest="single_root", action="store_false", default=None, help="one or more roots per tree")
    add(
        "--max-iterations",
        type=integer,
        metavar="K",
        help="maximum number of iterations of the subgradient method per sentence",
    )
    add(
        "--max-words", type=integer, metavar="N", help="maximum sentence length in words; longer sentences are an error"
    )
    add("--exact", action=optional, help="close remaining duality gaps by branch and bound")
    add("--search-limit", type=integer, metavar="N", help="work limit, in Viterbi transitions per word")
    add(
        "--full",
        action=optional,
        help="decode over all arcs, without pruning, so certificates hold for the whole model",
    )
    text = "predict tags and trees jointly for plain text and untagged sentences; with --tag, for all sentences"
    add("--joint", action=optional, help=f"{text}; in plain text, decide between doubtful sentences by their trees")


def add_train(parser: Arguments) -> None:
    """Add the arguments of ``nonproj train``."""
    add = parser.add_argument
    add("train", nargs="?", metavar="TRAIN", help="treebank with gold heads, instead of the config's treebank files")
    add_training(parser)
    group = parser.add_group("workers")
    add = group.add_argument
    text = (
        "number of processes that train the perceptrons of training.models in parallel (default: 1; -1: one per core)"
    )
    add("-j", "--jobs", type=jobs, metavar="N", help=text)
    add_scheduler(group, add, "train with the Dask cluster at tcp://HOST:8786")
    text = "number of shards of the treebank, trained in parallel (default: one per worker)"
    add("--shards", type=positive, metavar="N", help=text)
    add_reading(parser)


def add_training(parser: Arguments) -> None:
    """Add the options of training, but for workers."""
    add = parser.add_argument
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    add("--test", metavar="FILE", help="treebank to evaluate the trained model on")
    text = "fraction of the sentences (such as 0.1), or another treebank, to evaluate on after each epoch"
    add("--held-out", metavar="SHARE|FILE", help=text)
    add("--resume", action="store_true", help="continue from MODEL.checkpoint, if it exists")
    add_configuration(add)


def add_configuration(add: Callable[..., Any]) -> None:
    """Add the options that determine the configuration of a model."""
    add("-c", "--config", metavar="YAML", help="configuration; command-line options override it")
    add("--parts", metavar="SET", help="part types: arc, sibling, grandparent, third, or a list such as arc,sibling")
    add("--tags", choices=("gold", "predicted", "both"), help="tags to train the parser on; predicted: by jackknifing")
    text = (
        "pretrained encoder to fine-tune: a folder of Hugging Face, or a name to fetch (needs nonproj[train-encoder])"
    )
    add("--encoder", metavar="FOLDER|NAME", help=text)
    add("--epochs", type=integer, metavar="N", help="training epochs of the perceptron")
    add("--seed", type=integer, metavar="N", help="seed of all random choices")
    text = "set a configuration option (repeatable)"
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help=text)


def add_distil(parser: Arguments) -> None:
    """Add the arguments of ``nonproj distil``."""
    add = parser.add_argument
    add("teacher", metavar="TEACHER", help="the model that parses the text, such as one with an encoder")
    add("texts", nargs="+", metavar="TEXT", help="files of plain text, or with --lines or --words of sentences")
    add("--treebank", dest="train", required=True, metavar="TRAIN", help="treebank with gold heads to learn from, too")
    choices = parser.add_group("the text").add_alternatives().add_argument
    add_text_forms(choices, "split text into sentences and words; blank lines separate paragraphs (default)")
    group = parser.add_group("choice of sentences")
    add = group.add_argument
    text = "leave out sentences whose heads have a lower mean probability; the teacher needs a confidence classifier"
    add("--min-confidence", type=probability, default=0.0, metavar="P", help=text)
    text = "leave out sentences of this treebank (repeatable), beside those of TRAIN, --test and --held-out"
    add("--exclude", action="append", default=[], metavar="FILE", help=text)
    add("--most-words", type=positive, metavar="N", help="the most words of text to learn from (default: all)")
    add_training(parser)
    text = "number of processes that parse, and that train the models of training.models (default: 1; -1: one per core)"
    parser.add_argument("-j", "--jobs", type=jobs, metavar="N", help=text)
    add_reading(parser)


def add_annotate(parser: Arguments) -> None:
    """Add the arguments of ``nonproj annotate``."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a CoNLL-X or CoNLL-U file, with or without heads; the edits are written to it")
    text = "a model, which predicts what is not decided; without one, trees are edited by hand"
    add("-m", "--model", metavar="MODEL", help=text)
    text = "heads of FILE that are decisions: of sentences that are done; all; none, and they are predicted again"
    add("--trust", choices=("done", "all", "none"), default="done", help=f"{text} (default: done)")
    text = "another file to write; FILE stays as it is (with --compare: the file of the adjudicated trees)"
    add("-o", "--output", metavar="OUT", help=text)
    text = "the same sentences by a second annotator: show where the two differ, and adjudicate"
    add("--compare", metavar="FILE", help=text)
    add("--port", type=port, default=0, metavar="N", help="port of this machine (default: any free one)")
    group = parser.add_group("validation, by the package udtools").add_argument
    text = "highest level of the official validator, 0 for none (default: 3, with --language 5; none for CoNLL-X)"
    group("--level", type=integer, choices=range(6), metavar="N", help=text)
    group("--language", metavar="CODE", help="language of the treebank, as in en")
    add = parser.add_group("training in the background").add_argument
    text = "train a model on demand, and after each N sentences that are newly done; it is written to FILE.nonproj"
    add("--retrain", type=positive, nargs="?", const=0, metavar="N", help=text)
    add("--retrain-with", metavar="TREEBANK", help="a treebank to learn from, too")
    add("-c", "--config", metavar="YAML", help="configuration of the training (default: that of MODEL)")
    add_reading(parser)
    add_decoding(parser)


def add_audit(parser: Arguments) -> None:
    """Add the arguments of ``nonproj audit``."""
    add = parser.add_argument
    add("treebanks", nargs="+", metavar="TREEBANK", help="files of a treebank with gold heads, CoNLL-X or CoNLL-U")
    text = "folder to write to: report.html, suspicions.csv, and copies of the files with marks in MISC"
    add("-o", "--output", required=True, metavar="FOLDER", help=text)
    text = "a model that has not learnt from these files, to predict them; by default, models are trained by folds"
    add("-m", "--model", metavar="MODEL", help=text)
    text = "another file of the treebank (repeatable); it is learnt from, but not audited"
    add("--with", dest="others", action="append", default=[], metavar="FILE", help=text)
    text = "number of folds; a sentence is predicted by a model that learns from the other folds (default: 5)"
    add("--folds", type=positive, metavar="N", help=text)
    text = "maximum number of suspicions of each kind on the page and in the marks; the table has all (default: 200)"
    add("--most", type=positive, default=200, metavar="N", help=text)
    text = "levels of the official validator to check, 0 for none (default: 3, for tags of Universal Dependencies)"
    add("--level", type=integer, choices=range(6), metavar="N", help=text)
    add("--language", metavar="CODE", help="language of the treebank, as in en, for levels 4 and 5 of the validator")
    text = "continue an interrupted run: completed folds, and a checkpoint of the current one, are in FOLDER"
    add("--resume", action="store_true", help=text)
    add("-j", "--jobs", type=jobs, metavar="N", help="number of folds at a time (default: 1; -1: one per core)")
    add_configuration(parser.add_group("training of the models").add_argument)
    add_reading(parser)


def add_search(parser: Arguments) -> None:
    """Add the arguments of ``nonproj search``."""
    add = parser.add_argument
    add("query", metavar="QUERY", help="as in 'VERB >obj {upos:NOUN; Case=Gen}'; docs/search.md has the language")
    add("files", nargs="+", metavar="FILE", help="treebanks or parsed files, CoNLL-X or CoNLL-U")
    text = "the same sentences with other trees, such as gold ones, to which ~ and 'differs' refer"
    add("--other", metavar="FILE", help=text)
    text = "file to write (default: standard output)"
    add("-o", "--output", default="-", metavar="OUT", help=text)
    form = parser.add_alternatives()
    text = "write a row for each match, with these fields, as in form,head.lemma, instead of the sentences"
    form.add_argument("--table", metavar="FIELDS", help=text)
    text = "write the number of matches for each combination of these fields, instead of the sentences"
    form.add_argument("--count", metavar="FIELDS", help=text)
    add_reading(parser)


def add_package(parser: Arguments) -> None:
    """Add the arguments of ``nonproj package``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model made by 'nonproj train'")
    add("-o", "--output", default=".", metavar="FOLDER", help="folder for the wheel (default: the current one)")
    text = "name of the model, by which it is found when it is installed (default: that of the file)"
    add("--name", metavar="NAME", help=text)
    text = "version of the package (default: 1.0.0)"
    add("--package-version", default="1.0.0", metavar="VERSION", help=text)
    add("--licence", metavar="LICENCE", help="licence of the model (default: that of its treebank)")
    text = "round weights to multiples of R times their table's step, for a smaller wheel; 0: not at all (default: 1)"
    add("--rounding", type=factor, default=1.0, metavar="R", help=text)
    add("--test", metavar="FILE", help="treebank to evaluate the rounded model on, for its card")
    add_reading(parser)


def add_clean(parser: Arguments) -> None:
    """Add the arguments of ``nonproj clean``."""
    add = parser.add_argument
    add("--dry-run", action="store_true", help="list only, remove nothing")
    text = "remove compiled kernels of other installations and versions that were not used for N days (default: 30)"
    add("--unused", type=whole, default=30, metavar="N", help=text)
    text = "remove all compiled kernels, those of this installation, too; it compiles them again when they are needed"
    add("--all", action="store_true", help=text)
    add("--models", action="store_true", help="remove models downloaded from a hub, too, after asking")
    add("--yes", action="store_true", help="with --models: do not ask")


def add_show(parser: Arguments) -> None:
    """Add the arguments of ``nonproj show``."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a parsed file; with --model, sentences to parse")
    add("--gold", metavar="GOLD", help="the same sentences with gold trees: errors are shown and analysed")
    text = "with --gold: the words and sentences of the two files may differ, but not their text"
    add("--ud", action="store_true", help=text)
    text = "with --ud: the training file; words that it lacks are reported as unknown words"
    add("--train", metavar="TRAIN", help=text)
    text = "the same sentences parsed by another parser: both are shown and, with --gold, compared"
    add("--other", metavar="PARSE", help=text)
    add("-m", "--model", metavar="MODEL", help="parse FILE with a model and show the result")
    text = "file to write: a report as .html, a single tree as .svg, .png, .pdf or .tex (default: draw in the terminal)"
    add("-o", "--output", metavar="OUT", help=text)
    add("--sentence", metavar="K", help="only the sentence with this number (from 1) or this sent_id")
    text = "record the course of dual decomposition for the N sentences with the most iterations (default: 10)"
    add("--course", type=positive, nargs="?", const=10, metavar="N", help=text)
    add_reading(parser)
    add_tagging(parser)
    add_decoding(parser)
