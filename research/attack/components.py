"""Lanes of forged components: each forgery is rejected in one line, or works as a component must."""

from __future__ import annotations

import random
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from nonproj.confidence.classifier import TREE_FEATURES, AdditiveModel, Classifier, ConfidenceModels
from nonproj.confidence.evidence import KINDS
from nonproj.errors import DataError, ModelError
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.text.formats import WORDS, TextInput
from research.attack import forgery, material
from research.attack.campaign import Lane
from research.attack.parses import check_parsing
from research.attack.properties import check_message, require
from research.attack.text import TEXTS, check_segmentation, draw_input

SECONDS = 10.0
"""Processor seconds that a forged model may take to be loaded and used a little."""

MEMORY = 4 << 30
"""Bytes that forged models may take; see `research.attack.campaign.Lane`."""

_UNTAGGED = "".join(
    "\t".join(row.split("\t")[:2] + ["_"] * 8) + "\n" if row.split("\t")[0].isdigit() else f"{row}\n"
    for row in material.rich_treebank(3, 8).split("\n")[:-1]
)


class Component(Lane):
    """Forges one component of models that have all of them, and uses accepted models."""

    component = ""
    memory = MEMORY
    trainings = ("arc", "sibling")

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.originals = []
        for parts in self.trainings:
            model = Model.from_bytes(material.model_with_components(parts))
            self.complete(model)
            self.originals.append(forgery.take_apart(model.to_bytes()))
            require(self.component in model.components, f"no {self.component} was trained")
        for original in self.originals:  # compiles
            for seed in range(9):
                self.use(random.Random(seed), self._parser(Model.from_bytes(forgery.assemble(original))))

    def complete(self, model: Model) -> None:
        """Add components that such a small training run does not produce."""

    def case(self, rng: random.Random, number: int) -> str:
        """Forge one component, and use the model."""
        data = forgery.forge_component(rng, rng.choice(self.originals), self.component)
        self.current = {"model.nonproj": data}
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                model = Model.from_bytes(data)
                parser = self._parser(model)
                loaded = parser.loaded
                _ = loaded.analyzer, parser.segmenter, loaded.classifier, loaded.pretrained, loaded.encoded_tags
            except ModelError as error:
                check_message(error)
                outcome = "rejected"
            else:
                self.use(rng, parser)
                outcome = "accepted"
        seconds = time.process_time() - began
        require(seconds < SECONDS, f"it takes {seconds:.1f} s")
        return outcome

    def _parser(self, model: Model) -> Parser:
        return Parser(model)

    def use(self, rng: random.Random, parser: Parser) -> None:
        """Use the component."""
        for text in (_UNTAGGED, material.CONLLU):
            try:
                check_parsing(text.encode(), parser, 64)
            except DataError as error:
                check_message(error)
                require(f"max_words is {parser.request.max_words}" in str(error), str(error))


class Tagger(Component):
    """Forges taggers and lemmatizers."""

    name = component = "tagger"

    def _parser(self, model: Model) -> Parser:
        return Parser(model, tags="all")


class Segmenter(Component):
    """Forges segmenters, trained ones and rules."""

    name = component = "segmenter"
    trainings = ("arc",)

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.originals.append(forgery.take_apart(material.model_with_components("arc", rich=False)))

    def use(self, rng: random.Random, parser: Parser) -> None:
        """Segment some texts."""
        for text in rng.sample(TEXTS, 4):
            check_segmentation(parser.segmenter, text, draw_input(rng))
        for form in ("Den'hund", "DEN'HUND", "ΐ'kat"):
            parser.segmenter.segment(f"{form} ser.", TextInput(WORDS))


class Network(Component):
    """Forges networks."""

    name = component = "network"


class Encoder(Component):
    """Forges pretrained encoders, and the layers on top of them."""

    name = component = "encoder"

    def complete(self, model: Model) -> None:
        """Add a small encoder of random numbers."""
        from encoders import random_scorer, write_folder

        with tempfile.TemporaryDirectory() as folder:
            units = Parser(model).loaded.analyzer.tags.n_units
            scorer = random_scorer(write_folder(Path(folder) / "encoder"), len(model.labels), units)
        model.add_component("encoder", scorer.state())

    def use(self, rng: random.Random, parser: Parser) -> None:
        """Parse, unless weights are so large that vectors or scores overflow."""
        try:
            super().use(rng, parser)
        except ModelError as error:
            check_message(error)
            require("not finite" in str(error), str(error))


class Confidence(Component):
    """Forges confidence classifiers."""

    name = component = "confidence"

    def complete(self, model: Model) -> None:
        """Add a classifier of random numbers: learning one needs more words."""
        generator = np.random.default_rng(1)

        def additive(features: int) -> AdditiveModel:
            knots, values = np.sort(generator.normal(size=(features, 5)), axis=1), generator.normal(size=(features, 5))
            return AdditiveModel(knots, values, generator.normal(size=3), generator.normal(size=9), np.zeros(1))

        sizes = {kind: (len(columns), len(columns), len(TREE_FEATURES)) for kind, columns in KINDS.items()}
        models = {kind: ConfidenceModels(*map(additive, counts)) for kind, counts in sizes.items()}
        state, arrays = Classifier(10.0, **models).state()
        model.components["confidence"] = state
        model.weights |= {f"confidence.{name}": array for name, array in arrays.items()}

    def use(self, rng: random.Random, parser: Parser) -> None:
        """Parse, and look at the probabilities."""
        _, _, found = check_parsing(_UNTAGGED.encode(), parser, 64, comments=True)
        of_text = parser.parse_all(parser.segmenter.segment("Den hund ser hus. Den'kat"))
        for _, parse in [*found, *of_text]:
            confidence = parse.confidence
            require(confidence is not None, "no confidence")
            values = np.array([*confidence.heads, *confidence.labels, confidence.tree])
            require(((values >= 0.0) & (values <= 1.0)).all(), f"these are no probabilities: {values.tolist()}")
            require((confidence.labels <= confidence.heads).all(), "a labelled arc is surer than the arc")
