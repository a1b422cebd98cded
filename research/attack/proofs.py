"""Lane of real treebanks that are parsed with proofs, which the checker must confirm."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from nonproj.components.trainer import train
from nonproj.dual.check_proofs import Refused, check_line
from nonproj.dual.proofs import as_line
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from research.attack import material
from research.attack.campaign import Lane
from research.attack.properties import require

SETS = ("grandparent", "third", "sibling")
"""Sets of part types, one after the other."""

CHANGES: tuple[dict, ...] = (
    {},
    {"projective": True},
    {"crossing": 1.0},
    {"nbest": 4},
    {"full": True},
    {"single_root": True, "nbest": 2, "crossing": 3.0},
)
"""Decoding options, changed from those of the model."""

OPTIONS = {
    "features.bits": 14,
    "pruner.bits": 14,
    "pruner.epochs": 1,
    "pruner.folds": 0,
    "labeler.bits": 12,
    "labeler.epochs": 1,
    "network.epochs": 0,
    "tagger.epochs": 0,
    "segmenter.epochs": 0,
    "confidence.share": 0.0,
    "training.tags": "gold",
    "training.epochs": 1,
}
"""Options of a training that takes a moment."""

TRAINING, PARSED, WORDS = 60, 5, 30
"""Sentences of a treebank to train on, those parsed in a case, and their longest."""


class Proofs(Lane):
    """Parses some sentences of each treebank in turn, each with a model of its own."""

    name = "proofs"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.files = material.treebank_files()
        self.notes = {"sentences": 0, "certified": 0, "divided by the search": 0, "over all arcs": 0, "treebanks": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Parse a few sentences and check their proofs."""
        turn, place = divmod(number, max(len(self.files), 1))
        sentences = sentences_of(self.files[place] if self.files else None)
        model = model_of(self.files[place] if self.files else None, SETS[turn % len(SETS)])
        parser = Parser(model, replace(model.config.decoding, **rng.choice(CHANGES)), proofs=True)
        chosen = rng.sample(sentences, min(PARSED, len(sentences)))
        self.current = {"input.conll": "".join("".join(each.lines) + "\n" for each in chosen).encode()}
        self.notes["treebanks"] = min(number + 1, max(len(self.files), 1))
        found = [self.check(parse) for _, parse in parser.parse_all(chosen)]
        return "proved" if all(found) else "some without a certificate"

    def check(self, parse) -> bool:
        """Check the proof of a sentence; return whether it proves all of the trees."""
        trees = (parse, *(parse.others or ()))
        certified = all(each.decoded.certified for each in trees)
        try:
            heads, verdict = check_line(as_line(parse.proof))
        except Refused as error:
            require(False, f"a proof is refused: {error}")
        require(heads == [each.decoded.heads.tolist() for each in trees], "the proof is of other trees")
        require((verdict.status != "open") == certified, f"certified: {certified}, but {verdict.status}")
        complete = len(parse.arcs.head) == len(parse.labels) ** 2
        require((verdict.about["outside"] == "nothing") is complete, f"outside is {verdict.about['outside']}")
        for name, holds in (("certified", certified), ("over all arcs", complete), ("sentences", True)):
            self.notes[name] += holds
        self.notes["divided by the search"] += len(parse.proof["search"]) > 1
        return certified


@cache
def sentences_of(path: Path | None) -> tuple[Sentence, ...]:
    """Return the first sentences of a treebank, or of the toy language."""
    sentences = conll.read(path or io.BytesIO(material.toy_treebank(2 * TRAINING).encode()), require_heads=True)
    return tuple(islice((each for each in sentences if len(each) <= WORDS), 2 * TRAINING))


@cache
def model_of(path: Path | None, parts: str) -> Model:
    """Return a small model of a treebank, or of the toy language."""
    return train(list(sentences_of(path)[:TRAINING]), Config().with_overrides({"parts": parts, **OPTIONS}))
