"""The experiment on proofs: every kind is confirmed, and the page has its table."""

from dataclasses import replace

import pytest
from toy import treebank

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")

from research.experiments import proofs  # noqa: E402
from research.experiments.setting import ExperimentSettings  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Files of the toy language, for which small models are trained."""
    folder = tmp_path_factory.mktemp("proofs")
    files = {"danish": (folder / "train.conll", folder / "test.conll")}
    for path, count, seed in zip(files["danish"], (40, 12), (0, 1), strict=True):
        path.write_text(treebank(count, seed), encoding="utf-8")
    return ExperimentSettings(folder / "results", folder / "models", files=files, config=proofs.CONFIG)


def test_proofs_of_every_kind_are_confirmed(setting):
    proofs.measure(replace(setting, sentences=6), ["danish"], ["grandparent"])
    rows = read_rows(setting.results / proofs.FILE)
    assert [row["kind"] for row in rows] == list(proofs.KINDS)
    assert all(row["confirmed"] == row["certified"] == row["sentences"] == 6 for row in rows)
    assert all(0 < row["exact"] <= 6 and row["bytes"] > 1000 and row["seconds"] > 0 for row in rows)
    page = (setting.results / "proofs.md").read_text(encoding="utf-8")
    assert page.count("| Danish, grandparent |") == len(rows) and "6 (100.00 %)" in page and "Made from: " in page
