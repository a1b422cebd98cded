"""A user's lexicon: words of a test file that its training file lacks, with their gold tags and lemmas.

The files are the text of the test file, and a table of words that is an argument of ``nonproj parse --lexicon``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from nonproj.io import conll
from research.experiments.raw import blocks, raw_text

COLUMNS = ("form", "lemma", "upos", "xpos", "feats")


def main(arguments: list[str] | None = None) -> int:
    """Write ``test.txt`` and ``words.tsv`` to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", help="treebank whose words are known")
    parser.add_argument("test", type=Path, help="treebank whose other words are drawn from")
    parser.add_argument("--count", type=int, default=50, help="number of forms (default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="default: the current one")
    options = parser.parse_args(arguments)
    known = {form.lower() for sentence in conll.read(options.train) for form in sentence.forms}
    rows = [row[1:6] for sentence in conll.read(options.test) for row in sentence.rows]
    unknown = sorted({row[0] for row in rows if row[0].lower() not in known and any(map(str.isalpha, row[0]))})
    drawn = set(np.random.default_rng(options.seed).choice(unknown, options.count, replace=False).tolist())
    lines = list(dict.fromkeys("\t".join(row) for row in [COLUMNS, *(row for row in rows if row[0] in drawn)]))
    (options.output / "words.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (options.output / "test.txt").write_text(raw_text(blocks(options.test)), encoding="utf-8")
    count = sum(row[0] in drawn for row in rows)
    sys.stdout.write(f"{len(drawn)} of {len(unknown)} unknown forms, {count} of {len(rows)} words\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
