"""Fixtures of several test files."""

import dataclasses
import logging
import os
from functools import partial

import instances
import pytest


def pytest_configure(config) -> None:
    """Take fewer random instances if thorough tests are left out."""
    instances.set_thorough("not thorough" not in config.option.markexpr)


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
def toy_folder(tmp_path_factory, model_of):
    """A folder with a treebank, the small model, and the output of one process for a file."""
    from pieces import make_files

    return make_files(tmp_path_factory.mktemp("toy"), model_of("small"))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages on the path, and an empty current folder; nonproj has no models of its own."""
    monkeypatch.setattr("nonproj.model.installed.BUNDLED", tmp_path / "own")
    for name in ("site", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "site"


@pytest.fixture(scope="module")
def few_words():
    """Learn confidence from few words, in copies of this process that need not import what they use."""
    from sklearn import linear_model, model_selection  # noqa: F401

    from nonproj.components import confidence

    few = dataclasses.replace(confidence.CONFIDENCE, min_words=50, min_wrong=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "CONFIDENCE", few)
        yield


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser; the tests that need one are skipped without it."""
    from browsing import browsing

    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
