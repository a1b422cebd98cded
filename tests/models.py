"""Models of the toy language that tests share; only tests of training train models of their own.

A model is trained by the first test that asks for it, and kept in a folder of all processes of this run of the tests.
"""

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from classifiers import add_classifier
from toy import QUICK, raw_treebank, read, sentences

from nonproj.components.base import FitContext
from nonproj.components.preparation import prepare
from nonproj.components.pruner import PrunerComponent
from nonproj.components.trainer import OF_TEXT, OF_TREES, fit_all, train
from nonproj.learning.corpus import Corpus
from nonproj.options.config import Config
from nonproj.types import Sentence

SMOKE = Path(__file__).resolve().parents[1] / "configs" / "smoke.yaml"


def prepared(sentences: list[Sentence], config: Config, auxiliary=None, start=None) -> tuple[Corpus, FitContext]:
    """Return corpus and context of the components after the pruner: with predicted tags and candidate arcs."""
    before = [*OF_TEXT, *OF_TREES[: OF_TREES.index(PrunerComponent) + 1]]
    return fit_all(before, *prepare(sentences, config, (), auxiliary, start))


class Recipe(NamedTuple):
    """Sentences to train on, options, whether the model gets a random classifier of confidence, and a configuration."""

    sentences: Callable[[], list[Sentence]]
    options: dict
    classifier: bool = False
    config: Path | None = None


_TABLES = dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits"), 16)
_LESS = _TABLES | QUICK | dict.fromkeys(("labeler.epochs", "network.epochs", "tagger.network_epochs"), 1)
_LESS |= {"tagger.bits": 16, "tagger.epochs": 2, "training.epochs": 2}

_MANY = {"pruner.threshold": 1e-4}  # a pruner that has learnt the sentences itself leaves too few arcs otherwise

RECIPES = {
    "complete": Recipe(lambda: read(raw_treebank(120)), _TABLES | QUICK | _MANY | {"training.epochs": 3}),
    "confident": Recipe(lambda: read(raw_treebank(60)), _LESS, classifier=True),
    "small": Recipe(lambda: sentences(30), {"training.epochs": 2}, config=SMOKE),
}
"""By name: a model that makes few mistakes on text, a quickly trained one with all components, and a smaller one."""


def shared_model(folder: Path, name: str) -> Path:
    """Return the file of a model in a folder, and train it if no process has done so."""
    path, recipe = folder / f"{name}.nonproj", RECIPES[name]
    with open(folder / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            config = Config.load(recipe.config) if recipe.config else Config()
            model = train(recipe.sentences(), config.with_overrides(recipe.options))
            if recipe.classifier:
                add_classifier(model)
            model.save(path)
    return path
