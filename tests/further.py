"""Training on further sentences beside those of a treebank: options, sentences with other words, and accuracy."""

import numpy as np
import toy

from nonproj.io.copies import with_rows
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser

SMALL = toy.QUICK | {"pruner.bits": 14, "training.epochs": 3, "segmenter.epochs": 0, "confidence.share": 0}
SMALL |= dict.fromkeys(("features.bits", "labeler.bits", "tagger.bits"), 16)
SMALL |= dict.fromkeys(("tagger.epochs", "labeler.epochs", "pruner.folds"), 2)
SMALL |= {"decoding.projective": False}  # a small treebank would get projective trees


def small(**changes):
    return Config().with_overrides(SMALL | {key.replace("__", "."): value for key, value in changes.items()})


def blank(sentences):
    """The sentences without tags."""
    return [with_rows(s, [[*row[:2], "_", "_", "_", "_", *row[6:]] for row in s.rows]) for s in sentences]


def accuracy(model, sentences):
    """The share of right heads, with predicted tags."""
    parses = zip(sentences, Parser(model, tags="all").parse_all(blank(sentences)), strict=True)
    return np.concatenate([parse.decoded.heads == s.heads for s, (_, parse) in parses]).mean()


def renamed(sentences, suffix):
    """The sentences with other words, which end in the same way."""
    return [with_rows(s, [[row[0], suffix + row[1], row[1], *row[3:]] for row in s.rows]) for s in sentences]


class Interrupt:
    """Ctrl-C before an item of a loop, and the names of the loops that have begun."""

    def __init__(self, loop="", at=0):
        self.loop, self.at, self.begun = loop, at, []

    def __call__(self, items, name):
        self.begun.append(name)
        for number, item in enumerate(items):
            if (name, number) == (self.loop, self.at):
                raise KeyboardInterrupt
            yield item


def weights_of(model):
    """All arrays of a model as bytes."""
    return {name: table.tobytes() for name, table in model.weights.items()}


def with_vectors(path, **changes):
    """Options of a quick training with the vectors at a path."""
    small = SMALL | {"features.bits": 14, "labeler.bits": 14, "pruner.folds": 0, "training.epochs": 1}
    small |= {"confidence.share": 0.2, "network.size": 8, "tagger.epochs": 1, "tagger.bits": 14}
    return Config().with_overrides(small | {"features.vectors": str(path)} | changes)
