"""The experiments on proofs: every kind is confirmed, bounds are in order, and the pages have their tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy import treebank

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")

from research.experiments import all_arcs, proofs  # noqa: E402
from research.experiments.setting import Setting  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Files of the toy language, for which small models are trained."""
    folder = tmp_path_factory.mktemp("proofs")
    files = {"danish": (folder / "train.conll", folder / "test.conll")}
    for path, count, seed in zip(files["danish"], (40, 12), (0, 1), strict=True):
        path.write_text(treebank(count, seed), encoding="utf-8")
    return Setting(folder / "results", folder / "models", files=files, config=proofs.CONFIG)


def test_proofs_of_every_kind_are_confirmed(setting):
    proofs.measure(replace(setting, sentences=6), ["danish"], ["grandparent"])
    rows = read_rows(setting.results / proofs.FILE)
    assert [row["kind"] for row in rows] == list(proofs.KINDS)
    assert all(row["confirmed"] == row["certified"] == row["sentences"] == 6 for row in rows)
    assert all(0 < row["exact"] <= 6 and row["bytes"] > 1000 and row["seconds"] > 0 for row in rows)
    page = (setting.results / "proofs.md").read_text(encoding="utf-8")
    assert page.count("| Danish, grandparent |") == len(rows) and "6 (100.00 %)" in page and "Made from: " in page


def test_bounds_exclude_less_the_less_is_known(setting):
    all_arcs.measure(setting, ["danish"])
    (row,) = read_rows(setting.results / all_arcs.FILE)
    kinds = [row[name] for name in all_arcs.BOUNDS]
    assert row["sentences"] == 12 and kinds == sorted(kinds, reverse=True) and row["pruned"] >= kinds[0] > 0
    page = (setting.results / "all-arcs.md").read_text(encoding="utf-8")
    assert f"| pruned arcs | {row['pruned']:,} |" in page and "Made from: " in page
