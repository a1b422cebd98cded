"""What several test files need."""

import logging
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine; without a dashboard it would still ask for port 8787."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def noisy_model(tmp_path_factory) -> Path:
    """A model of the toy language with a tagger and with confidences, unsure of the heads of adjectives."""
    from toy import noisy_sentences

    from nonproj.learning.trainer import train
    from nonproj.options.config import Config

    options = {"features.bits": 16, "pruner.bits": 16, "labeler.bits": 16, "training.epochs": 2}
    options |= {"confidence.share": 0.4, "confidence.epochs": 2}
    path = tmp_path_factory.mktemp("models") / "noisy.nonproj"
    train(noisy_sentences(200), Config().with_overrides(options)).save(path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser; the tests that need one are skipped without it."""
    from browsing import browsing

    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
