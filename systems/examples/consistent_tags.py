"""Tag the documents of a CoNLL-U file so that repeated words get the same tags, where nothing speaks against it.

    python systems/examples/consistent_tags.py models/english-ewt-grandparent.nonproj in.conllu out.conllu --weight 240

Comments ``# newdoc`` begin documents.  The method is that of systems/docs/mrf.md; the weight and which words are tied
are best chosen on held-out documents.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nonproj.errors import ModelError, NonprojError
from nonproj.io import conll
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from nonproj_systems.mrf.consistency import documents, tag_document


def retag(tagger, sentences, weight: float) -> Iterator[Sentence]:
    """Yield the sentences with consistent tags; count documents and proofs on standard error."""
    count = proven = 0
    for document in documents(sentences):
        tags, found, _ = tag_document(tagger, document, weight)
        count, proven, place = count + 1, proven + found.certified, 0
        for sentence in document:
            rows = [list(row) for row in sentence.rows]
            for row, tag in zip(rows, tags[place : place + len(rows)], strict=True):
                row[3:6] = tag
            place += len(rows)
            yield with_rows(sentence, rows)
    sys.stderr.write(f"{count} documents, {proven} proven\n")


def main() -> int:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--weight", type=float, default=240.0, help="score of each word that agrees (default: 240)")
    options = parser.parse_args()
    try:
        analyzer = Parser(Model.load(options.model)).loaded.analyzer
        if analyzer is None or analyzer.tagger is None:
            raise ModelError(f"{options.model}: the model has no tagger")
        tagged = retag(analyzer.tagger, conll.read(options.input), options.weight)
        conll.write(((sentence, None) for sentence in tagged), options.output)
    except NonprojError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
