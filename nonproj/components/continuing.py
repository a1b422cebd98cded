"""Continuing a model on other sentences: what stays, and which options may differ.

Perceptrons start from the model's averaged weights, and average over the steps that follow.  Known strings, labels and
tags keep their numbers, and new ones are added.  Networks, lemmatizer weights, segmenter and confidence classifier
stay: perceptrons learn with the networks' scores, which are not overconfident on sentences that are new to them.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable
from typing import Any

from nonproj.components.base import Vocabulary
from nonproj.errors import ConfigError
from nonproj.evaluation.card import record
from nonproj.evaluation.suitability import first_sentences, misfit_warning
from nonproj.learning.hyperparameters import CONTINUED
from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.options.config import Config, options
from nonproj.options.sections import TreebankConfig
from nonproj.scoring.labels import TAG, AllowedLabels
from nonproj.types import Sentence

_EPOCHS = ("pruner.epochs", "labeler.epochs", "tagger.epochs", "tagger.restarts")

FREE = ("seed", "treebank", "training", "decoding", *_EPOCHS)
"""The options, or sections of options, that may differ from those of the model."""

KEPT = ("coarse_tags", "confidence", "unpunctuated", "vectors")
"""History keys copied from the continued model."""

log = logging.getLogger("nonproj")


def continued_config(start: Model) -> Config:
    """Return the options of a model, except the files and names of its treebank, and the epochs."""
    config = start.config
    treebank = TreebankConfig(root=config.treebank.root, partial=config.treebank.partial)
    return dataclasses.replace(
        config, treebank=treebank, training=dataclasses.replace(config.training, epochs=CONTINUED.epochs)
    )


def check_continued(start: Model, config: Config, sentences: Iterable[Sentence]) -> None:
    """Raise `ConfigError` if a model cannot be continued with these options; warn if the sentences do not fit it."""
    if not start.is_trained:
        raise ConfigError("--from", "this is a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
    if start.component("encoder"):
        raise ConfigError("--from", "a model with a pretrained encoder cannot be continued; train it on all sentences")
    before, after = start.config.as_dict(), config.as_dict()
    for key, _ in options():
        section, _, name = key.rpartition(".")
        one, other = (values[section][name] if section else values[name] for values in (before, after))
        if one != other and section not in FREE and key not in FREE:
            raise ConfigError(key, f"the model that is continued has {one}, which cannot be changed to {other}")
    if text := misfit_warning(start, "the treebank", first_sentences(sentences), "all"):
        log.warning(text)


def vocabulary_of(start: Model) -> Vocabulary:
    """Return the strings and labels of a model, with their numbers."""
    encoder, table = start.encoder(), start.weights.get(LABEL_LINES)
    lines = None if table is None else AllowedLabels(table, encoder.attributes.index(TAG))
    return Vocabulary(start.labels, encoder, lines, start.weights.get(LABEL_PLACES))


def history_of(start: Model) -> dict[str, Any]:
    """Return sizes and names of a model's training data, for the history of one that continues it."""
    history, before = start.meta, record(start.meta, "continued")
    data = record(history, "data")
    own = f"{data.get('name') or data.get('train_file') or 'not named'} ({data.get('licence') or 'licence unknown'})"
    others = record(history, "related").get("treebanks"), record(history, "silver").get("texts")
    named = "; ".join(str(each) for each in (before.get("treebanks"), own, *others) if each)
    return {"sentences": history.get("sentences", 0), "words": history.get("words", 0), "treebanks": named}
