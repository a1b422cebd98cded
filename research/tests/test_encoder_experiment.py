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
from research.experiments import neural, neural_training, text  # noqa: E402
from research.experiments.setting import Setting  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


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


def test_ways_to_train_are_compared(setting, monkeypatch):
    ways = {name: (title, changes | {"encoder.epochs": 1}) for name, (title, changes) in neural_training.WAYS.items()}
    monkeypatch.setattr(neural_training, "WAYS", ways)
    neural_training.measure(setting, ["tamil"])
    rows = read_rows(setting.results / neural_training.FILE)
    assert [(row["way"], row["method"]) for row in rows] == [
        (way, method) for way in ways for method in neural_training.SHOWN
    ]
    by_way = {way: {row["method"]: row for row in rows if row["way"] == way} for way in ways}
    for way in ("words", "trees"):  # without structures, siblings and grandparents score nothing
        assert by_way[way]["exact"]["uas"] == by_way[way]["arborescence"]["uas"]
    page = (setting.results / "neural-training.md").read_text(encoding="utf-8")
    assert [f"| {title} |" in page for title, _ in ways.values()] == [True] * len(ways)
