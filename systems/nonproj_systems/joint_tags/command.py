"""The command ``nonproj-systems tags``: tags and trees together, with one certificate for both."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = "Tag and parse a CoNLL file with a model of nonproj, deciding tags and trees together."
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model made by 'nonproj train', with a tagger")
    add("input", nargs="?", default="-", metavar="IN", help="sentences in CoNLL-X or CoNLL-U (default: standard input)")
    add("-o", "--output", default="-", metavar="OUT", help="output file (default: standard output)")
    add("--tag", action="store_true", help="decide the tags of all sentences, not only of those without any")
    text = "weight of the tagger's score beside the parser's (default: 10)"
    add("--weight", type=_number, default=10.0, metavar="W", help=text)
    text = "how much less than the best sequence of tags one with a candidate may score (default: 40)"
    add("--beam", type=_number, default=40.0, metavar="B", help=text)
    add("--most", type=_positive, default=3, metavar="N", help="candidate tags of a word, at most (default: 3)")


def _number(text: str) -> float:
    """Return a number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1e9")
    return number


def _positive(text: str) -> int:
    """Return an integer from 1 to 100."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 100):
        raise argparse.ArgumentTypeError(f"{text} is not an integer from 1 to 100")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nonproj.evaluation.certificates import annotate
    from nonproj.io import conll
    from nonproj.io.files import open_output
    from nonproj.model.model import Model
    from nonproj_systems.joint_tags.parser import CandidateOptions, joint_parser

    candidates = CandidateOptions(options.weight, options.beam, options.most)
    parser = joint_parser(Model.load(options.model), None, "all" if options.tag else "missing", candidates)
    with open_output(options.output) as stream:
        conll.write(annotate(parser.parse_all(conll.read(options.input)), True, lambda record: None), stream)
    return 0
