"""The command ``nonproj-systems lexicalised``: Model 1 of Collins, alone or jointly with a dependency parser."""

from __future__ import annotations

import argparse
import math

from nonproj.cli.values import factor, positive
from nonproj.errors import DataError, NonprojError
from nonproj_systems.constituency.command import input_name, parse_lines, read_given, tell


def add_arguments(parser) -> None:
    """Add the arguments of the command to its parser."""
    actions = [
        ("train", "train Model 1 on trees in brackets", _add_train),
        ("parse", "parse sentences: one per line, words separated by blanks", _add_parse),
    ]
    parser.add_commands("action", "ACTION", actions)


def _add_train(parser) -> None:
    add = parser.add_argument
    add("trees", nargs="+", metavar="TREES", help="files of trees, or folders of such files (*.mrg)")
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    text = "write the trees' dependencies as CoNLL-X, to train the dependency parser with 'nonproj train'"
    add("--conll", metavar="FILE", help=text)
    text = "minimum count: rarer words are treated as unknown (default: 3)"
    add("--rare", type=positive, default=3, metavar="N", help=text)


def _add_parse(parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model made by 'nonproj-systems lexicalised train'")
    add("input", nargs="?", default="-", metavar="IN", help="the sentences (default: standard input)")
    add("-o", "--output", default="-", metavar="OUT", help="output file of trees (default: standard output)")
    text = "a dependency parser made by 'nonproj train': parse jointly with it, using its tagger"
    add("-d", "--dependencies", metavar="PARSER", help=text)
    add("--tagged", action="store_true", help="input words have tags, as in dog/NN")
    add("--hard", action="store_true", help="constrain Model 1 to the best dependency tree instead of parsing jointly")
    add("--gamma", type=factor, metavar="X", help="weight of the dependency parser's scores (default: 0.02)")
    text = "maximum number of iterations of the subgradient method per sentence (default: 50)"
    add("--max-iterations", type=positive, default=50, metavar="K", help=text)
    add("--exact", action="store_true", help="close remaining gaps by branch and bound")


def run(options: argparse.Namespace) -> int:
    """Run one action; return the exit code."""
    if options.action is None:
        raise NonprojError("lexicalised: an action is expected: train or parse")
    return {"train": _train, "parse": _parse}[options.action](options)


def _train(options: argparse.Namespace) -> int:
    from nonproj.io.files import open_output
    from nonproj_systems.constituency.collins import Collins
    from nonproj_systems.constituency.lexicalised import conll_lines

    trees = read_given(options)
    model = Collins.train(trees, options.rare)
    model.save(options.output)
    if options.conll:
        with open_output(options.conll) as stream:
            stream.writelines(line for tree in trees for line in conll_lines(tree))
    tell(options, f"{options.output}: {len(trees)} trees, {len(model.words)} words, {len(model.states)} states")
    return 0


def _parse(options: argparse.Namespace) -> int:
    find = _finder(options)
    return parse_lines(options, lambda line, tokens: find(*_split(options, line, tokens)))


def _finder(options: argparse.Namespace):
    """Return a function from words and tags to a tree and a description of how it was found."""
    from nonproj_systems.constituency.joint_dependencies import GAMMA, JointParser, tagged_sentence
    from nonproj_systems.constituency.lexicalised import LexicalisedParser

    phrases = LexicalisedParser.load(options.model)
    if options.dependencies is None:
        if not options.tagged:
            raise NonprojError(
                "words need tags: --tagged for words with tags, or --dependencies for a parser that tags"
            )
        if options.hard or options.exact or options.gamma is not None:
            raise NonprojError("--hard, --exact and --gamma need a parser of dependencies: --dependencies PARSER")

        def alone(words, tags):
            found = phrases.parse(words, tags)
            return found.tree, "parsed" if found.score > -math.inf else "outside the grammar"

        return alone
    from nonproj.model.model import Model
    from nonproj.pipeline.parser import Parser
    from nonproj.pipeline.stages import tag

    parser = Parser(Model.load(options.dependencies), tags="all")
    if parser.loaded.analyzer is None and not options.tagged:
        raise NonprojError(f"{options.dependencies}: this model has no tagger; words need tags: --tagged")
    gamma = GAMMA if options.gamma is None else options.gamma
    joint = JointParser(phrases, parser, gamma, options.max_iterations, options.exact)

    def both(words, tags):
        """Return the tree of both models, and a description of how it was found."""
        if tags is None:
            tags = [
                row[4] for row in parser.run([tagged_sentence(words, "_" * len(words))], until=tag).sentences[0].rows
            ]
        if options.hard:
            return joint.hard(words, tags).tree, "parsed"
        found = joint.parse(words, tags)
        status = "outside the grammar" if found.status == "none" else "not certified"
        return found.tree, "certified" if found.certified else status

    return both


def _split(options: argparse.Namespace, line: int, tokens: list[str]) -> tuple[list[str], list[str] | None]:
    """Return the words of a line and, if they have any, their tags."""
    from nonproj_systems.constituency.brackets import escaped

    tags = None
    if options.tagged:
        pairs = [token.rpartition("/") for token in tokens]
        for token, (word, _, tag) in zip(tokens, pairs, strict=True):
            if not word or not tag:
                text = f"{token!r} has no tag; a word with its tag is expected, as in dog/NN"
                raise DataError(input_name(options), line, text)
        tokens, tags = [word for word, _, _ in pairs], [escaped(tag) for _, _, tag in pairs]
    return [escaped(word) for word in tokens], tags
