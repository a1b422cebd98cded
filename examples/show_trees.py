"""Parse the first sentences of a file and draw their trees in the terminal.

    python examples/show_trees.py models/turkish-grandparent.nonproj test.conllu -n 3

Each arc is a bracket beside the words, with an arrow at the modifier.  Crossing brackets are non-projective arcs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from nonproj.errors import NonprojError
from nonproj.io import conll
from nonproj.model import Model
from nonproj.pipeline import Parse, Parser
from nonproj.types import Decoded, Sentence


def draw(heads: list[int]) -> list[str]:
    """Return a line of brackets for each word of a tree, ``heads[0] == -1``; arcs from the root are not drawn.

    >>> print("\\n".join(draw([-1, 2, 0, 2])))
     ┌─>
    ┌┴─
    └──>
    """
    arcs = sorted((abs(h - m), min(h, m), max(h, m)) for m, h in enumerate(heads) if h > 0)
    lanes: list[list[tuple[int, int]]] = []  # the first lane is nearest to the words
    for _, low, high in arcs:
        free = len(lanes)
        while free and all(high < a or b < low for a, b in lanes[free - 1]):
            free -= 1
        if free == len(lanes):
            lanes.append([])
        lanes[free].append((low, high))
    lines = []
    for word in range(1, len(heads)):
        line, joined = "", False
        for lane in reversed(lanes):
            mark = next((_mark(word, low, high, joined) for low, high in lane if low <= word <= high), None)
            line += mark or "─ "[not joined]
            joined = joined or any(word in arc for arc in lane)
        lines.append(line + ("─>" if heads[word] > 0 else "─ " if joined else "  "))
    return [line.rstrip() for line in lines]


def _mark(word: int, low: int, high: int, joined: bool) -> str:
    """Return the character of one bracket beside one word; ``joined`` if a line from further out reaches the word."""
    if word == low:
        return "┬" if joined else "┌"
    if word == high:
        return "┴" if joined else "└"
    return "┼" if joined else "│"


def certificate(decoded: Decoded) -> str:
    """Return a tree's certificate in words."""
    if decoded.certified:
        return f"certified: no tree over its candidate arcs scores higher ({decoded.iterations} iterations)"
    return f"no certificate: the best tree may score up to {decoded.bound - decoded.score:.3g} higher"


def show(sentence: Sentence, parse: Parse) -> str:
    """Return a drawing of one parsed sentence."""
    heads = parse.decoded.heads.tolist()
    brackets, forms = draw(heads), ["(root)", *sentence.forms]
    margin, width = max(map(len, brackets)), max(map(len, forms))
    rows = [
        f"{bracket:<{margin}} {word:>3} {forms[word]:<{width}}  {label:<12} of {heads[word]:>3} {forms[heads[word]]}"
        for word, (bracket, label) in enumerate(zip(brackets, parse.labels, strict=True), 1)
    ]
    return "\n".join([f"{sentence.path}:{sentence.line}", *rows, certificate(parse.decoded)])


def from_text(sentences: Iterable[Sentence], parser: Parser) -> Iterator[Sentence]:
    """Yield the sentences as the parser finds them in their plain text, where the treebank has it."""
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
