"""What several tests of annotation need."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import browsing
from toy import noisy_sentences

from nonproj.learning.trainer import train
from nonproj.options.config import Config

OPTIONS = {"features.bits": 16, "pruner.bits": 16, "labeler.bits": 16, "training.epochs": 2}
OPTIONS |= {"confidence.share": 0.4, "confidence.epochs": 2}


@pytest.fixture(scope="session")
def noisy_model(tmp_path_factory) -> Path:
    """A model of the toy language with a tagger and with confidences, unsure of the heads of adjectives."""
    path = tmp_path_factory.mktemp("models") / "noisy.nonproj"
    train(noisy_sentences(200), Config().with_overrides(OPTIONS)).save(path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser."""
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
