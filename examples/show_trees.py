"""Parse the first sentences of a file and draw their trees in the terminal.

    python examples/show_trees.py models/turkish-grandparent.nonproj test.conllu -n 3

Each arc is a bracket beside the words, with an arrow at the modifier.  Crossing brackets are non-projective arcs.
``nonproj show`` draws files that are parsed already.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from nonproj.errors import NonprojError
from nonproj.evaluation.certificates import certificate_line, statistics
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pictures.content import picture_of
from nonproj.pictures.terminal import to_terminal
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence


def show(sentence: Sentence, parse: Parse) -> str:
    """Return a drawing of one parsed sentence."""
    tree = to_terminal(picture_of(sentence, parse.decoded.heads, parse.labels))
    return "\n".join([f"{sentence.path}:{sentence.line}", tree, certificate_line(statistics(parse), len(sentence))])


def from_text(sentences: Iterable[Sentence], parser: Parser) -> Iterator[Sentence]:
    """Yield the sentences found by the parser in their plain text, if the treebank has it."""
    for sentence in sentences:
        text = next((line.partition("=")[2].strip() for line in sentence.lines if line.startswith("# text =")), None)
        for found in parser.segmenter.segment(text) if text else [sentence]:
            yield replace(found, path=sentence.path, line=sentence.line)


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("model")
    arguments.add_argument("file")
    arguments.add_argument("-n", type=int, default=3, help="sentences to show (default: 3)")
    arguments.add_argument("--longest", type=int, default=15, help="skip sentences with more words (default: 15)")
    arguments.add_argument("--text", action="store_true", help="parse the plain text, where the treebank has it")
    options = arguments.parse_args()
    try:
        parser = Parser(Model.load(options.model))
        short = (sentence for sentence in conll.read(options.file) if 2 < len(sentence) <= options.longest)
        chosen = islice(short, options.n)
        for sentence, parse in parser.parse_all(from_text(chosen, parser) if options.text else chosen):
            sys.stdout.write(show(sentence, parse) + "\n\n")
    except NonprojError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
