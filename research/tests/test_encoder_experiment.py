"""The experiment about encoders trains the models that are missing."""

from __future__ import annotations

import pytest
from toy import raw_treebank

pytest.importorskip("torch")
pytest.importorskip("matplotlib")
pytest.importorskip("highspy")


from encoders import write_folder  # noqa: E402

from nonproj.errors import ModelError  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.pipeline.parser import Parser  # noqa: E402
from research.experiments import neural, text  # noqa: E402
from research.experiments.setting import Setting  # noqa: E402


@pytest.fixture
def setting(tmp_path) -> Setting:
    """A setting with a toy treebank and a tiny encoder."""
    files = {"tamil": (tmp_path / "train.conllu", tmp_path / "test.conllu")}
    for path, count in zip(files["tamil"], (30, 5), strict=True):
        path.write_text(raw_treebank(count), encoding="utf-8")
    data = tmp_path / "data"
    write_folder(data / "encoders" / "e5-small")
    return Setting(tmp_path / "results", tmp_path / "models", data, files, config=text.SHORT)


def test_a_missing_model_is_trained(setting):
    path = neural.encoder_model(setting, "tamil", {"encoder.epochs": 1})
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "tamil-e5-small.nonproj",
        "tamil-grandparent.nonproj",
    ]
    model = Model.load_trained(path)
    assert "encoder" in model.components and "confidence" not in model.components and "crossing" not in model.meta
    assert Parser(model).encoded_tags is not None
    made = path.stat().st_mtime_ns
    assert neural.encoder_model(setting, "tamil", {"encoder.epochs": 1}) == path and path.stat().st_mtime_ns == made
    with pytest.raises(ModelError, match="the options of its encoder are not today's"):
        neural.encoder_model(setting, "tamil")
