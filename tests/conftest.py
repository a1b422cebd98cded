"""What several test files need."""

import logging
import os
from functools import partial
from pathlib import Path

import instances
import pytest

os.environ["NONPROJ_SILENT"] = "1"  # what a test expects on standard error does not depend on what is compiled already

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure(config) -> None:
    """Where thorough tests are left out, the others take fewer random instances."""
    instances.set_thorough("not thorough" not in config.option.markexpr)


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; tests that need it are skipped without it."""
    named = os.environ.get("NONPROJ_TREEBANKS", "").split(os.pathsep)[0]
    folder = Path(named or SHARED / "treebanks")
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="session")
def released(treebanks) -> Path:
    """The folder of the treebanks of Universal Dependencies 2.12, next to that of the others, or skip the test."""
    folder = treebanks.parent / "ud"
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine; without a dashboard it would still ask for port 8787."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def model_of(tmp_path_factory):
    """Return a function that finds the file of a shared model by its name in `models.RECIPES`."""
    from models import shared_model

    folder = tmp_path_factory.getbasetemp()
    return partial(shared_model, folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)


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
