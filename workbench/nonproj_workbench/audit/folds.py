"""Cross-fitting of whole models: each sentence of a treebank is predicted by a model that was not trained on it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import counted
from nonproj.io import conll
from nonproj.io.broken import STOP, read_units, sentences_in
from nonproj.io.checks import ReadingRules
from nonproj.linear.folds import blocks
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from nonproj_workbench.audit.predictions import Prediction, as_json, from_json, lexicon_of, predict

log = logging.getLogger("nonproj")


class Fold(NamedTuple):
    """A fold of a treebank, and the training of the model that predicts its sentences.

    Attributes
    ----------
    paths : tuple of str
        The files of the treebank.
    others : tuple of str
        Files that the model of each fold learns from, too.
    rules : ReadingRules
    config : Config
    folds, number : int
        Number of folds, and the index of this one, from 0.
    checkpoint : str
        File of the checkpoint of the training, removed at the end.
    resume : bool
        Whether to continue from the checkpoint, if there is one.
    model : str
        File of a model that has not learnt from the treebank, and predicts the sentences; empty to train one.
    on_error : str
        ``skip`` to leave out malformed sentences: see `nonproj.io.broken`.
    """

    paths: tuple[str, ...]
    others: tuple[str, ...]
    rules: ReadingRules
    config: Config
    folds: int
    number: int
    checkpoint: str
    resume: bool
    model: str = ""
    on_error: str = STOP

    def read(self, paths: Sequence[str]) -> list[Sentence]:
        """Return the sentences of several files, all with gold heads."""
        rules = self.rules._replace(require_heads=True)
        found: list[Sentence] = []
        for path in paths:
            units = read_units(path, rules) if self.on_error != STOP else conll.read(path, rules)
            found += conll.interned(sentences_in(units, lambda broken: None))
        return found


def split(
    sentences: Sequence[Sentence], others: Sequence[Sentence], folds: int, number: int
) -> tuple[list[int], list[Sentence]]:
    """Return the numbers of the sentences of a fold, and the sentences that its model learns from.

    Folds are made of blocks of neighbours (`nonproj.linear.folds.blocks`).  A model learns from no sentence that
    has the same words as one of its fold.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> one, two, three, four = (from_words(text.split()) for text in ("This is it", "I am", "This is it", "I was"))
    >>> inside, rest = split([one, two, three], [four, one], 3, 0)
    >>> inside, [sentence.forms for sentence in rest]
    ([0], [['I', 'am'], ['I', 'was']])
    """
    fold = blocks(len(sentences), folds)
    inside = np.flatnonzero(fold == number).tolist()
    known = {tuple(sentences[i].forms) for i in inside}
    rest = [sentence for sentence, own in zip(sentences, fold.tolist(), strict=True) if own != number]
    return inside, [sentence for sentence in (*rest, *others) if tuple(sentence.forms) not in known]


def predict_fold(fold: Fold, progress: Callable[..., Any] | None = None) -> bytes:
    """Train or load the model of a fold, and return its predictions: a line of JSON for each sentence, with its number.

    ``progress(iterable, description)`` wraps the long loops.
    """
    progress = progress or (lambda items, _: items)
    sentences, others = fold.read(fold.paths), fold.read(fold.others)
    inside, material = split(sentences, others, fold.folds, fold.number)
    model = Model.load_trained(fold.model) if fold.model else _trained(fold, material, progress)
    log.info("fold %d of %d: parsing %s", fold.number + 1, fold.folds, counted(len(inside), "sentence"))
    # Lemmas are counted in the model's training data: in the other files, if the model was trained before.
    learnt = others if fold.model else material
    found = predict(Parser(model), progress([sentences[i] for i in inside], "parse"), lexicon_of(learnt))
    lines = [json.dumps({"sentence": i} | as_json(each)) + "\n" for i, each in zip(inside, found, strict=True)]
    return "".join(lines).encode()


def _trained(fold: Fold, material: Sequence[Sentence], progress: Callable[..., Any]) -> Model:
    """Train the model of a fold, or continue its training from the checkpoint."""
    log.info("fold %d of %d: training on %s", fold.number + 1, fold.folds, counted(len(material), "sentence"))
    checkpoint = Path(fold.checkpoint)
    resume = fold.resume and checkpoint.exists()
    model = train(material, fold.config, run=RunOptions(checkpoint=checkpoint, resume=resume, progress=progress))
    if model.meta["interrupted"]:
        raise KeyboardInterrupt
    return model


def read_predictions(lines: Iterator[str], sentences: Sequence[Sentence]) -> list[Prediction]:
    """Return the prediction of each sentence from the lines of all folds; ``ValueError`` if they do not fit."""
    found: dict[int, Prediction] = {}
    for line in lines:
        values = json.loads(line)
        number = values.pop("sentence")
        found[number] = from_json(values, len(sentences[number]))
    if len(found) != len(sentences):
        raise ValueError("predictions are missing")
    return [found[i] for i in range(len(sentences))]
