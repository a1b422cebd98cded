"""Typical use, for the type checker alone: `make types` checks that the public names have the types stated here.

`assert_type` does nothing when a program runs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import nonproj
from nonproj.pictures.content import Picture


def parse_text(model: str, text: str) -> list[tuple[str, int, str]]:
    """Parse plain text."""
    nlp = nonproj.load(model, tags="all")
    assert_type(nlp, nonproj.TextParser)
    doc = nlp(text)
    assert_type(doc, nonproj.Document)
    assert_type(doc[0], nonproj.ParsedSentence)
    assert_type(doc[:2], list[nonproj.ParsedSentence])
    assert_type(doc[0].heads, NDArray[np.int32])
    assert_type(doc[0][-1], nonproj.Word)
    assert_type(doc[0].confidence, nonproj.Confidence | None)
    assert_type(doc[0].picture(), Picture)
    assert_type(next(nlp.pipe([text], batch_size=8)), nonproj.Document)
    assert_type(next(nlp.pipe([(text, 1)], as_tuples=True)), tuple[nonproj.Document, int])
    assert_type(doc.sentences, list[nonproj.ParsedSentence])
    assert_type(doc[0].certified, bool)
    assert_type(doc[0][-1].children, list[nonproj.Word])
    return [(word.form, word.head, word.label) for sentence in doc.sentences for word in sentence.words]


def decode(scores: NDArray[np.float32]) -> float:
    """Decode user-supplied scores."""
    found = nonproj.decode_scores(scores, lengths=[3, 4], single_root=True, marginals=True)
    assert_type(found, nonproj.DecodedScores)
    assert_type(found.heads, NDArray[np.int32])
    assert_type(found.certified, NDArray[np.bool_])
    assert_type(found.marginals, NDArray[np.float64] | None)
    assert_type(found.labels, NDArray[np.int32] | None)
    assert_type(nonproj.sample_trees(scores[0], 5, seed=1), NDArray[np.int32])
    return float(found.scores.sum())


def train(path: Path, test: str) -> float:
    """Train, save, load and evaluate."""
    parser = nonproj.DependencyParser("sibling", epochs=3).fit(path)
    assert_type(parser, nonproj.DependencyParser)
    parser.save("my.nonproj")
    assert_type(nonproj.DependencyParser.load("my.nonproj").evaluate(test), nonproj.Evaluation)
    for tree in parser.predict_with_certificates(test):
        assert_type(tree, nonproj.Decoded)
        assert_type(tree.heads, NDArray[np.int32])
        assert_type(tree.bound - tree.score, float)
    return parser.score(test)


def rewrite(source: str, model: str, target: str) -> int:
    """Read a treebank, parse it, write it."""
    parser = nonproj.Parser(nonproj.Model.load(model))
    sentences = nonproj.read(source, require_heads=False)
    assert_type(sentences, Iterator[nonproj.Sentence])
    try:
        return nonproj.write(((s, parser.parse(s).decoded.heads) for s in sentences), target)
    except nonproj.DataError as error:
        assert_type(str(error), str)
        return 0
