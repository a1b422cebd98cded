"""Fixtures of the server's tests."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from serving import GOLDEN
from toy import QUICK, raw_treebank, read

from nonproj.components.trainer import train
from nonproj.options.config import Config

LIBRARIES = ("httpx", "prometheus_client", "python_multipart", "starlette", "uvicorn")
collect_ignore_glob = [] if all(map(find_spec, LIBRARIES)) else ["test_*.py"]


@pytest.fixture(scope="session")
def other(tmp_path_factory) -> Path:
    """A model whose labels differ from those of the first one."""
    path = tmp_path_factory.mktemp("models") / "other.nonproj"
    options = QUICK | {"features.bits": 14, "pruner.bits": 14, "labeler.bits": 14, "training.epochs": 1, "parts": "arc"}
    text = raw_treebank(40).replace("\tsubj\t", "\tsecond\t").replace("\tdet\t", "\tsecond\t")
    train(read(text), Config().with_overrides(options)).save(path)
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    """The file of the model that is served."""
    return Path(shutil.copy(GOLDEN, tmp_path / "toy.nonproj"))
