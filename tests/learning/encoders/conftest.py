"""Training of tiny encoders."""

from pathlib import Path

import pytest
import toy

from nonproj.types import Sentence


@pytest.fixture(scope="module", autouse=True)
def tiny_steps():
    """Train on small batches, without dropout and in single precision; give the encoder's scores all the weight."""
    pytest.importorskip("torch")
    from nonproj.learning.encoders import training

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"BATCH": 30, "DROPOUT": 0.0, "WEIGHT": 1e5, "LABEL_WEIGHT": 1e5}.items():
            patch.setattr(training, name, value)
        patch.setattr(training, "has_bfloat16", lambda device: False)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a tiny encoder."""
    from fine_tuning import write_tiny

    return write_tiny(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences of the toy language."""
    return toy.sentences(60)
