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
from research.experiments.setting import ExperimentSettings, configuration, trained_file  # noqa: E402


def test_a_missing_model_is_trained(tmp_path):
    files = {name: (tmp_path / f"{name}-train.conllu", tmp_path / f"{name}-test.conllu") for name in ("tamil", "latin")}
    for pair in files.values():
        for path, count in zip(pair, (30, 5), strict=True):
            path.write_text(raw_treebank(count), encoding="utf-8")
    setting = ExperimentSettings(tmp_path / "results", tmp_path / "models", tmp_path / "data", files, config=text.SHORT)
    with pytest.raises(SystemExit, match="create it with: make train LANG=multilingual"):
        neural.encoder_model(setting, "tamil", {"encoder.epochs": 1})
    folder = write_folder(setting.data / "encoders" / "e5-small")
    config = configuration(setting, "latin", neural.PARTS).with_overrides({"encoder.folder": str(folder)})
    trained_file(setting.models / neural.MULTILINGUAL, setting, "latin", config)
    path = neural.encoder_model(setting, "tamil", {"encoder.epochs": 1})
    assert sorted(each.name for each in path.parent.iterdir()) == [neural.MULTILINGUAL, "tamil-multilingual.nonproj"]
    model = Model.load_trained(path)
    assert "encoder" in model.components and "confidence" not in model.components and "crossing" not in model.meta
    assert Parser(model).loaded.encoded_tags is not None
    made = path.stat().st_mtime_ns
    assert neural.encoder_model(setting, "tamil", {"encoder.epochs": 1}) == path and path.stat().st_mtime_ns == made
    with pytest.raises(ModelError, match="the options of its training are not today's"):
        neural.encoder_model(setting, "tamil")
