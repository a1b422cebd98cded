"""Results of single stages of a parser, for sentences whose tags are given."""

from collections.abc import Sequence

import numpy as np

from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import Stage, encode, number, prune, score, tag
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ArcSpace, PartSpace, Sentence


def staged(parser: Parser, sentence: Sentence, until: Stage = prune) -> Batch:
    """A sentence with its own tags, without constraints, after a stage."""
    return parser.with_request(tags="none", constraints="none").run([sentence], until=until)


def encoded(parser: Parser, sentence: Sentence) -> Tokens:
    """A sentence as integers."""
    return staged(parser, sentence, encode).tokens[0]


def tagged(parser: Parser, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """Sentences with the tags that the parser predicts."""
    return parser.run(sentences, until=tag).sentences


def scored(parser: Parser, sentence: Sentence, arcs: ArcSpace | None = None) -> tuple[PartSpace, np.ndarray]:
    """The parts over some arcs, by default the candidates, and their scores."""
    batch = staged(parser, sentence)
    batch = score(number(batch if arcs is None else batch._replace(arcs=[arcs])))
    return batch.spaces[0], batch.scores[0]
