"""Lane of damaged and forged models and checkpoints: each is rejected in one line, or works as a parser must."""

from __future__ import annotations

import json
import random
import time
import warnings
from pathlib import Path

from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError, ModelError, NonprojError
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from research.attack import forgery, material
from research.attack.campaign import ROOT, Lane
from research.attack.parses import check_parsing
from research.attack.properties import check_message, require
from research.attack.reads import stream_of

SECONDS = 20.0
"""Processor seconds that a forged model may take to be loaded and to parse a few short sentences."""

_TEXT = material.CONLLU.split("\n\n")[1] + "\n\n" + material.toy_treebank(2, 5)


TRAININGS: dict[str, dict] = {
    "arc": {},
    "sibling": {},
    "grandparent": {"training.decoder": "dual", "decoding.projective": True},
}
"""Part types and options of the trainings that are resumed."""


class Models(Lane):
    """Loads damaged and forged models, and parses with those that are accepted; resumes from forged checkpoints."""

    name = "models"

    def __init__(self, folder: Path):
        super().__init__(folder)
        small = ["--set", "features.bits=10", "--set", "pruner.bits=10", "--set", "labeler.bits=12"]
        self.models = []
        for parts in ("arc", "sibling", "grandparent", "arc,grandparent"):
            path = material.train(folder / "base.nonproj", "--parts", parts, *small)
            self.models.append(path.read_bytes())
        self.sentences = list(conll.read(stream_of(material.toy_treebank(6, 3).encode()), require_heads=True))
        self.checkpoints = [self._checkpoint(parts) for parts in TRAININGS]
        self.path = folder / "forged.nonproj"

    def _checkpoint(self, parts: str) -> tuple[Config, bytes]:
        """Return the options of a training and its checkpoint after the first of two epochs."""
        path = self.folder / f"{parts}.checkpoint"
        train(self.sentences, _options(parts, 1), run=RunOptions(checkpoint=path))
        return _options(parts, 2), path.read_bytes()

    def case(self, rng: random.Random, number: int) -> str:
        """Damage one model or checkpoint, and use it."""
        resumed = rng.random() < 0.2
        chosen = rng.choice(self.checkpoints if resumed else self.models)
        data = self._forged(rng, chosen[1] if resumed else chosen, "a.checkpoint" if resumed else "model.nonproj")
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # a NaN or an overflow in the arithmetic of arrays
            outcome = self._resume(chosen[0]) if resumed else self._load(rng, data)
        seconds = time.process_time() - began
        require(seconds < SECONDS, f"it takes {seconds:.1f} s")
        return outcome

    def _forged(self, rng: random.Random, original: bytes, name: str) -> bytes:
        data = forgery.forge(rng, forgery.take_apart(original)) if rng.random() < 0.8 else forgery.damage(rng, original)
        self.current = {name: data}
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)
        return data

    def _load(self, rng: random.Random, data: bytes) -> str:
        """Load a model in one of three ways; describe it and parse with it, if it is accepted."""
        ways = (
            lambda: Model.load(self.path),
            lambda: Model.from_bytes(data),
            lambda: Model.load(self.path, verified=True),
        )
        try:
            model = rng.choice(ways)()
            parser = Parser(model)
            _ = parser.loaded.analyzer, parser.segmenter
        except ModelError as error:
            check_message(error)
            return "model rejected"
        size = sum(array.nbytes for array in model.weights.values())
        require(size <= len(data), f"arrays of {size} bytes in a file of {len(data)}")
        json.dumps(model.describe()).encode("utf-8", "surrogatepass")
        try:
            check_parsing(_TEXT.encode(), parser, 64)
        except DataError as error:  # a sentence that is too long for the model's options
            check_message(error)
            require(f"max_words is {parser.request.max_words}" in str(error), str(error))
        return "model accepted"

    def _resume(self, config: Config) -> str:
        """Resume a training from a forged checkpoint."""
        try:
            model = train(self.sentences, config, run=RunOptions(checkpoint=self.path, resume=True))
            again = Model.from_bytes(model.to_bytes())
            check_parsing(_TEXT.encode(), Parser(again), 64)
        except NonprojError as error:
            require(isinstance(error, ModelError | ConfigError | DataError), f"{type(error).__name__}: {error}")
            check_message(error)
            return "checkpoint rejected"
        return "checkpoint accepted"


def _options(parts: str, epochs: int) -> Config:
    config = Config.load(ROOT / "configs" / "smoke.yaml")
    changes = {"parts": parts, "features.bits": 10, "pruner.bits": 10, "labeler.bits": 12}
    changes |= {"training.epochs": epochs, "pruner.epochs": 1, "labeler.epochs": 1, "pruner.folds": 0}
    return config.with_overrides(changes | TRAININGS[parts])
