"""Speed on text that is hard to parse in time: texts without blanks, without sentence ends, of equal words and others.

    python -m research.benchmarks.hard_texts MODEL [--bytes 1000000] [NAME ...]

A text is parsed to CoNLL-U as ``nonproj parse --text`` does it, without confidence.  It passes with 2,000 words or
20,000 characters a processor second: the latter is for texts without words.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.text.formats import TextInput
from nonproj.text.input import read_text
from research.benchmarks.clock import Clock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from hard_texts import PATHOLOGICAL  # noqa: E402 (of the tests)

WORDS, CHARACTERS = 2000, 20_000
"""Minimum speeds, in words and in characters a second."""


def parse(parser: Parser, text: str) -> tuple[int, int, int]:
    """Parse a text to CoNLL-U; return the number of words, sentences and certificates."""
    options = TextInput().within(parser.request.cut_words, parser.request.max_words)
    counts = [0, 0, 0]

    def trees() -> Iterator[object]:
        """Yield the sentences with their trees, and count them."""
        for sentence, parse in parser.parse_all(read_text(io.BytesIO(text.encode()), parser.segmenter, options)):
            for i, count in enumerate((len(sentence), 1, parse.decoded.certified)):
                counts[i] += count
            yield sentence, parse.decoded.heads, parse.labels

    conll.write(trees(), io.StringIO())
    return counts[0], counts[1], counts[2]


def main() -> int:
    """Run the command line; return 1 if a text is too slow."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(PATHOLOGICAL)}")
    arguments.add_argument("--bytes", type=int, default=1_000_000, help="size of each text")
    options = arguments.parse_args()
    unknown = set(options.names) - set(PATHOLOGICAL)
    if unknown:
        arguments.error(f"unknown text {sorted(unknown)[0]!r}; known: {', '.join(PATHOLOGICAL)}")
    slow, out = 0, sys.stdout.write
    out("| text | words | sentences | certified | seconds | words a second | characters a second |\n")
    out("|---|---|---|---|---|---|---|\n")
    model = Model.load(options.model)
    parser = Parser(model, dataclasses.replace(model.config.decoding, confidence=False))
    for name in options.names or PATHOLOGICAL:
        parse(parser, PATHOLOGICAL[name](min(options.bytes, 20_000)))  # compiles what it needs
        text, clock = PATHOLOGICAL[name](options.bytes), Clock()
        words, sentences, certified = clock.time(name, parse, parser, text)
        cpu = clock.seconds[name].cpu
        out(f"| {name} | {words:,} | {sentences:,} | {100 * certified / sentences:.1f} % | {cpu:.1f} ")
        out(f"| {words / cpu:,.0f} | {len(text) / cpu:,.0f} |")
        passes = words >= WORDS * cpu or len(text) >= CHARACTERS * cpu
        out("\n" if passes else " slow\n")
        sys.stdout.flush()
        slow += not passes
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
