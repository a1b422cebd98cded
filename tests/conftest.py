"""What several test files need."""

import logging

import pytest


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine; without a dashboard it would still ask for port 8787."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser; the tests that need one are skipped without it."""
    from browsing import browsing

    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
