"""Models for the component of spaCy."""

from pathlib import Path

import pytest
from toy import QUICK, raw_treebank, read, treebank

from nonproj.components.trainer import train
from nonproj.options.config import Config

OPTIONS = QUICK | dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits"), 14)
OPTIONS |= {"segmenter.epochs": 0, "confidence.share": 0.0, "training.epochs": 3}


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Models with universal tags and those of a treebank, with coarse tags that are not universal, and without tags."""
    folder, text = tmp_path_factory.mktemp("spacy"), raw_treebank(80)
    universal = text.replace("\tNOUN\tNOUN\t", "\tNOUN\tNN\t").replace("\tVERB\tVERB\t", "\tVERB\tVB\t")
    coarse = text.replace("\tNOUN\tNOUN\t_", "\tN\t_\tsg|def").replace("\tVERB\tVERB\t", "\tV\t_\t")
    for name, text, epochs in (("universal", universal, 3), ("coarse", coarse, 3), ("untagged", treebank(80), 0)):
        train(read(text), Config().with_overrides(OPTIONS | {"tagger.epochs": epochs})).save(folder / name)
    return folder
