"""Fixtures of the server's tests."""

import dataclasses
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from serving import GOLDEN, serving

from nonproj.model.model import Model

LIBRARIES = ("httpx", "prometheus_client", "python_multipart", "starlette", "uvicorn")
collect_ignore_glob = [] if all(map(find_spec, LIBRARIES)) else ["test_*.py"]


@pytest.fixture(scope="session")
def other(tmp_path_factory) -> Path:
    """A model whose labels differ from those of the first one."""
    path = tmp_path_factory.mktemp("models") / "other.nonproj"
    model = Model.load(GOLDEN)
    dataclasses.replace(model, labels=[f"second:{label}" for label in model.labels]).save(path)
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    """The file of the model that is served."""
    return Path(shutil.copy(GOLDEN, tmp_path / "toy.nonproj"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server of a very small model, under a name like that of a released one."""
    path = shutil.copy(GOLDEN, tmp_path_factory.mktemp("served") / "english-ewt-arc.nonproj")
    with serving(path, "--allowed-host", "parser.example.org", "--allowed-origin", "https://example.org") as server:
        yield server


@pytest.fixture(scope="session")
def toy_path(model_of, tmp_path_factory) -> Path:
    """A model file of the toy language."""
    return shutil.copy(model_of("complete"), tmp_path_factory.mktemp("served") / "toy-2.nonproj")


@pytest.fixture(scope="session")
def toy_server(toy_path):
    """A server of the toy language."""
    with serving(toy_path, "--jobs", "2", "--max-bytes", "20000") as server:
        yield server
