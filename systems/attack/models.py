"""Lane of the systems' models: damaged and forged files are rejected in one line, or work as they must."""

from __future__ import annotations

import json
import random
import time
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj_systems.constituency import model as phrases
from nonproj_systems.constituency.brackets import Tree, parse_tree
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.lexicalised import LexicalisedParser
from nonproj_systems.constituency.parser import METHODS, Parser
from nonproj_systems.translation import model as translation
from nonproj_systems.translation.text import tokenize
from nonproj_systems.translation.translator import translate
from research.attack import forgery
from research.attack.campaign import Lane
from research.attack.components import MEMORY
from research.attack.properties import check_message, require

SECONDS = 10.0
"""Processor seconds that a forged model may take to be loaded and used for some sentences."""

_TREES = [
    "(S (NP (NNP United)) (VP (VBZ flies) (NP (DT some) (JJ large) (NN jet))) (. .))",
    "(S (NP (NNS flies)) (VP (VBP see) (NP (DT a) (NN jet)) (PP (IN with) (NP (NNS eyes)))) (. .))",
    "(S (NP (NP (DT the) (NNS jets)) (PP (IN of) (NP (NNP United)))) (VP (VBP fly)) (. .))",
    "(S (NP (DT the) (NN jet)) (VP (VBZ flies) (PP (IN with) (NP (DT a) (JJ large) (NNS eyes)))) (. .))",
]
_SOURCE = ["Ein Hund rennt.", "Ein Mann rennt.", "Der Mann schläft.", "Der Hund schläft.", "Ein Hund schläft."] * 3
_TARGET = ["A dog is running.", "A man is running.", "The man sleeps.", "The dog sleeps.", "A dog sleeps."] * 3


class System(NamedTuple):
    """A system: the file of a model, and what loads and uses a file."""

    data: bytes
    use: Callable[[Path], None]


class Models(Lane):
    """Damages and forges models of constituency, lexicalised phrase structure and translation."""

    name = "models"
    memory = MEMORY

    def __init__(self, folder: Path):
        super().__init__(folder)
        trees = [parse_tree(text) for text in _TREES]
        pairs = [[tokenize(line) for line in side] for side in (_SOURCE, _TARGET)]
        self.path, self.systems = folder / "model", {}
        for name, model, use in (
            ("constituency", phrases.train(trees), use_constituency),
            ("lexicalised", Collins.train(trees, min_count=1), use_lexicalised),
            ("translation", translation.train(*pairs), use_translation),
        ):
            model.save(self.path)
            use(self.path)  # compiles
            self.systems[name] = System(self.path.read_bytes(), use)

    def case(self, rng: random.Random, number: int) -> str:
        """Damage or forge one model, and use it."""
        name = rng.choice(sorted(self.systems))
        data, use = self.systems[name]
        data = forge(rng, data) if rng.random() < 0.85 else damage(rng, data)
        self.current = {f"{name}.model": data}
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                use(self.path)
                outcome = f"{name}, accepted"
            except ModelError as error:
                check_message(error, str(self.path))
                outcome = f"{name}, rejected"
        seconds = time.process_time() - began
        require(seconds < SECONDS, f"it takes {seconds:.1f} s")
        return outcome


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return a damaged file, or one of another format: an archive or array of numpy, a nested header."""
    change = rng.randrange(4)
    if change == 0:
        depth = rng.choice((10, 13, 500, 990, 20_000))
        nested = forgery.Text('{"a":' * depth + "1" + "}" * depth)
        return forgery.put_together({"kind": "translation", "version": 2, "values": nested, "arrays": {}}, {})
    if change == 1:
        return rng.choice((b"PK\x03\x04", b"\x93NUMPY\x01\x00")) + data[rng.randrange(16) :]
    return forgery.damage(rng, data)


def forge(rng: random.Random, data: bytes) -> bytes:
    """Return a file with different contents and valid checksums."""
    parts = forgery.take_apart(data)
    header, arrays = json.loads(forgery.encode(parts.header)), dict(parts.arrays)
    change = rng.randrange(8)
    if change <= 2:
        values = header["values"]
        for _ in range(rng.choice((1, 1, 2, 4))):
            forgery.replace_somewhere(rng, values if rng.random() < 0.9 else header)
    elif change <= 4:
        forgery.forge_strings(rng, header["values"])
    else:
        for _ in range(rng.choice((1, 1, 2))):
            forgery.change_array(rng, arrays, header)
    return forgery.assemble(forgery.Parts(header, arrays))


def check_tree(tree: Tree, words: list[str]) -> None:
    """Check that a tree is read again from its brackets, with the same words."""
    require(parse_tree(str(tree)).words() == words, f"other words than {words}: {tree}")


def use_constituency(path: Path) -> None:
    """Parse some sentences by all methods."""
    parser = Parser(phrases.Model.load(path))
    for words in (["United", "flies", "some", "jets", "."], ["a", "jet", "sees", "1990", "eyes"]):
        for method in METHODS:
            parsed = parser.parse(words, method)
            check_tree(parsed.tree, words)
            if parsed.decoded is not None and parsed.decoded.certified:
                require(np.isfinite(parsed.value), f"certified: {parsed.value}")


def use_lexicalised(path: Path) -> None:
    """Parse some tagged sentences."""
    parser = LexicalisedParser.load(path)
    for text in ("the/DT jet/NN flies/VBZ ./.", "a/DT xyz/NN sees/VBZ eyes/NNS with/IN jets/NNS ./."):
        words, tags = zip(*(token.split("/") for token in text.split()), strict=True)
        check_tree(parser.parse(words, tags).tree, list(words))


def use_translation(path: Path) -> None:
    """Translate some sentences, exactly and by stacks."""
    model = translation.TranslationModel.load(path)
    for sentence in ("Der Hund rennt.", "Ein Känguru schläft."):
        for beam in (0, 5):
            found = translate(model, sentence, beam=beam)
            require(not any(unicodedata.category(c) in ("Cc", "Cs") for c in found.text), f"it gives {found.text!r}")
            require(not found.certified or np.isfinite(found.value), f"certified: {found.value}")
            require(found.bound >= found.value - 1e-6 * (1 + abs(found.value)), f"{found.bound} below {found.value}")
