"""The command ``nonproj-systems constituency``: train, parse and evaluate phrase structure."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nonproj.cli.values import positive
from nonproj.errors import DataError, FileError, NonprojError, SizeError

if TYPE_CHECKING:
    from nonproj_systems.constituency.brackets import Tree


def add_arguments(parser) -> None:
    """Add the arguments of the command to its parser."""
    actions = [
        ("train", "train a model on trees in brackets", _add_train),
        ("parse", "parse sentences: one per line, words separated by blanks", _add_parse),
        ("evaluate", "score parsed trees by the conventions of evalb", _add_evaluate),
    ]
    parser.add_commands("action", "ACTION", actions)


def _add_train(parser) -> None:
    add = parser.add_argument
    add("trees", nargs="+", metavar="TREES", help="files of trees, or folders of such files (*.mrg)")
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    text = "order of horizontal Markovisation: number of previous children that condition the next (default: 1)"
    add("--horizontal", type=int, choices=range(6), default=1, metavar="N", help=text)
    text = "order of vertical Markovisation; 2 annotates phrases with their parent (default: 2)"
    add("--vertical", type=int, choices=(1, 2), default=2, metavar="N", help=text)


def _add_parse(parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model made by 'nonproj-systems constituency train'")
    add("input", nargs="?", default="-", metavar="IN", help="the sentences (default: standard input)")
    add("-o", "--output", default="-", metavar="OUT", help="output file of trees (default: standard output)")
    text = "the grammar alone, the grammar with the tagger's best tags, or joint decoding (default: joint)"
    add("--method", choices=("grammar", "fixed", "joint"), default="joint", help=text)
    text = "maximum number of iterations of the subgradient method per sentence (default: 50)"
    add("--max-iterations", type=positive, default=50, metavar="K", help=text)


def _add_evaluate(parser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="a file of gold trees")
    parser.add_argument("parsed", metavar="PARSED", help="a file of parsed trees of the same sentences")


def run(options: argparse.Namespace) -> int:
    """Run one action; return the exit code."""
    if options.action is None:
        raise NonprojError("constituency: an action is expected: train, parse or evaluate")
    return {"train": _train, "parse": _parse, "evaluate": _evaluate}[options.action](options)


def tell(options: argparse.Namespace, text: str) -> None:
    """Write a message to standard error, unless ``-q`` is given."""
    if not options.quiet:
        sys.stderr.write(f"nonproj-systems: {text}\n")


def read_given(options: argparse.Namespace) -> list[Tree]:
    """Return the plain trees of all files and folders that the command line names, at least one."""
    from nonproj_systems.constituency.brackets import tree_files
    from nonproj_systems.constituency.split import read_plain
    from nonproj_systems.progress import progress

    files = [path for given in options.trees for path in ([given] if given == "-" else tree_files(given))]
    trees = [tree for path in progress(files, "reading", bool(options.quiet)) for tree in read_plain([path])]
    if not trees:
        raise FileError(options.trees[0], "all trees consist of traces; trees with words are expected")
    return trees


def _train(options: argparse.Namespace) -> int:
    from nonproj_systems.constituency.model import TrainingOptions, train

    trees = read_given(options)
    defaults = TrainingOptions()
    annotation = defaults.annotation._replace(horizontal=options.horizontal, vertical=options.vertical)
    model = train(trees, defaults._replace(annotation=annotation))
    model.save(options.output)
    words = sum(len(tree.leaves()) for tree in trees)
    rules = model.grammar.n_binary + len(model.grammar.chains)
    tell(options, f"{options.output}: {len(trees)} trees, {words} words; {rules} rules, "
                   f"{len(model.tagger.lexicon.tags)} tags")  # fmt: skip
    return 0


def _parse(options: argparse.Namespace) -> int:
    from nonproj_systems.constituency.brackets import escaped
    from nonproj_systems.constituency.joint import JointOptions
    from nonproj_systems.constituency.model import Model
    from nonproj_systems.constituency.parser import Parser, ParsingOptions

    parser = Parser(Model.load(options.model), ParsingOptions(joint=JointOptions(options.max_iterations)))

    def find(_: int, words: list[str]) -> tuple[Tree, str]:
        """Return the tree of words, and a description of how it was found."""
        parsed = parser.parse([escaped(word) for word in words], options.method)
        status = parsed.decoded.status if parsed.decoded else "parsed"
        return parsed.tree, status if parsed.found else "outside the grammar"

    return parse_lines(options, find)


def parse_lines(options: argparse.Namespace, find: Callable[[int, list[str]], tuple[Tree, str]]) -> int:
    """Write the tree that ``find`` returns for each line's number and words; report how often each status occurs."""
    from nonproj.io.files import open_output
    from nonproj_systems.progress import progress

    statuses, began = Counter(), time.process_time()
    with open_output(options.output) as stream:
        for line, words in progress(_sentences(options.input), "parsing", bool(options.quiet)):
            text = ""
            if words:
                try:
                    tree, status = find(line, words)
                except SizeError as error:
                    raise DataError(input_name(options), line, str(error)) from None
                text = str(tree)
                statuses[status] += 1
            stream.write(f"{text}\n")
    found = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    tell(options, f"{statuses.total()} sentences: {found or 'none'}; {time.process_time() - began:.1f} s")
    return 0


def input_name(options: argparse.Namespace) -> str:
    """Return the name of the input in errors."""
    return "<stdin>" if options.input == "-" else options.input


def _sentences(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line and its words."""
    from nonproj.io.files import open_input, stream_error, text_lines

    stream, name, closing = open_input(path)
    number = 0
    with closing:
        try:
            for number, line in enumerate(text_lines(stream), 1):
                yield number, line.split()
        except (OSError, UnicodeDecodeError, EOFError) as error:
            raise stream_error(error, name, number) from None


def _evaluate(options: argparse.Namespace) -> int:
    from nonproj_systems.constituency.brackets import plain, read_trees
    from nonproj_systems.constituency.evalb import SHORT, compare_all, total

    gold, parsed = ([plain(tree) for tree in read_trees(path)]
                    for path in (options.gold, options.parsed))  # fmt: skip
    gold, parsed = ([tree for tree in trees if tree is not None] for trees in (gold, parsed))
    counts = compare_all(gold, parsed, options.parsed)
    short = [each for each, tree in zip(counts, gold, strict=True) if len(tree.leaves()) <= SHORT]
    lines = [f"{'':22}{'all':>8}{f'<= {SHORT} words':>15}"]
    both = total(counts), total(short)
    for name, of in (
        ("labelled precision", lambda c: c.precision),
        ("labelled recall", lambda c: c.recall),
        ("labelled F1", lambda c: c.f1),
        ("tag accuracy", lambda c: c.tag_accuracy),
        ("exact trees", lambda c: c.exact / max(c.sentences, 1)),
        ("trees without crossing", lambda c: c.uncrossed / max(c.sentences, 1)),
    ):
        lines.append(f"{name:22}{100 * of(both[0]):8.2f}{100 * of(both[1]):15.2f}")
    lines.append(f"{'sentences':22}{both[0].sentences:8}{both[1].sentences:15}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
