"""The experiment about rounded weights: sizes, accuracy, and the page."""

from __future__ import annotations

import pytest
from toy import raw_treebank

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")
pytest.importorskip("udtools")

from research.experiments import rounding, text  # noqa: E402
from research.experiments.setting import Setting  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


def test_packages_shrink_with_rounding_and_rows_are_kept(tmp_path):
    files = {"tamil": (tmp_path / "train.conllu", tmp_path / "test.conllu")}
    for path, count, seed in zip(files["tamil"], (40, 15), (0, 1), strict=True):
        path.write_text(raw_treebank(count, seed), encoding="utf-8")
    # Without the tagger's network, whose dense weights are not rounded and would be most of so small a model.
    config = tmp_path / "short.yaml"
    config.write_text(text.SHORT.read_text("utf-8").replace("tagger:", "tagger:\n  network_epochs: 0"), "utf-8")
    setting = Setting(tmp_path / "results", tmp_path / "models", files=files, config=config)
    rounding.measure(setting, ["tamil"], (0.0, 1.0))
    rows = read_rows(setting.results / rounding.FILE)
    assert [row["amount"] for row in rows] == [0, 1]
    assert rows[1]["wheel"] < 0.8 * rows[0]["wheel"] < rows[0]["megabytes"]
    assert rows[1]["megabytes"] == pytest.approx(rows[0]["megabytes"], rel=0.01)
    assert all(0 < row[name] <= 1 for row in rows for name in ("upos", "uas", "las", "raw_las"))
    rounding.measure(setting, ["tamil"], (1.0, 2.0))
    assert read_rows(setting.results / rounding.FILE)[:2] == rows
    page = (setting.results / "rounding.md").read_text(encoding="utf-8")
    assert page.count("| UD Tamil TTB 2.12 |") == 3 and "Made from: " in page
