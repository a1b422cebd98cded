"""How tiny encoders are trained."""

from __future__ import annotations

import pytest


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
