"""The experiment about unlabelled text: what students learn from, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import raw_treebank

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")
pytest.importorskip("udtools")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from encoders import random_scorer, write_folder  # noqa: E402

from nonproj.io import conll  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.pipeline.parser import Parser  # noqa: E402
from research.experiments import distilling, neural, text  # noqa: E402
from research.experiments.setting import Setting, model_file  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


def test_students_learn_from_more_and_more_text(tmp_path):
    files = {"tamil": (tmp_path / "train.conllu", tmp_path / "test.conllu")}
    for path, count, seed in zip(files["tamil"], (40, 15), (0, 1), strict=True):
        path.write_text(raw_treebank(count, seed), encoding="utf-8")
    setting = Setting(tmp_path / "results", tmp_path / "models", files=files, config=text.SHORT)
    linear = Model.load(model_file(setting, "tamil", neural.PARTS))
    scorer = random_scorer(write_folder(tmp_path / "encoder"), len(linear.labels), Parser(linear).analyzer.tags.n_units)
    neural.with_encoder(linear, scorer.state(), linear.config).save(setting.models / "tamil-e5-small.nonproj")
    lines = []
    for seed in (1, 2, 2):  # the sentences of the test file, and others twice
        found = raw_treebank(30, seed).splitlines()
        lines += [line.removeprefix("# text = ") for line in found if line.startswith("# text")]
    source = tmp_path / "plain.txt"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    distilling.measure(setting, "tamil", [source], (0, 60, 100_000, 200_000))

    known = {tuple(row[1] for row in s.rows) for path in files["tamil"] for s in conll.read(path)}
    sizes = [len(each) for each in known_once(raw_treebank(30, 1) + raw_treebank(30, 2), known, tmp_path)]
    rows = read_rows(setting.results / distilling.FILE)
    amounts = [row["amount"] for row in rows]
    assert amounts[:2] == ["teacher", 0] and 45 <= amounts[2] <= 60 and amounts[3] == sum(sizes) and len(rows) == 4
    assert all(0.0 < row[name] <= 1.0 for row in rows for name in ("upos", "uas", "las", "raw_las"))
    assert all(row["speed"] > 0 and row["megabytes"] > 0 for row in rows)
    assert all(0.0 < row["p_las"] <= 1.0 and row["interval"] >= 0 for row in rows[2:])
    assert [round(row["gain"], 6) for row in rows[2:]] == [round(row["las"] - rows[1]["las"], 6) for row in rows[2:]]
    models = [
        Model.load_trained(setting.models / f"tamil-student-0-{amount}.nonproj") for amount in ("0", "60-1", "100000-1")
    ]
    assert [model.meta.get("silver", {"words": 0})["words"] for model in models] == amounts[1:]
    page = (setting.results / "distilling.md").read_text(encoding="utf-8")
    assert f"| {amounts[3]:,} of plain |" in page
    made = [path.stat().st_mtime_ns for path in sorted(setting.models.iterdir())]
    distilling.measure(setting, "tamil", [source], (0, 60))  # trains nothing again, and keeps the other rows
    assert [path.stat().st_mtime_ns for path in sorted(setting.models.iterdir())] == made
    assert len(read_rows(setting.results / distilling.FILE)) == 4
    distilling.measure(setting, "tamil", [source], (60,), share=0.5)
    rows = read_rows(setting.results / distilling.FILE)
    assert [row["share"] for row in rows if row["amount"] == amounts[2]] == [1.0, 0.5]
    assert Model.load_trained(setting.models / "tamil-student-0-60-0.5.nonproj").config.treebank.silver_share == 0.5
    distilling.measure(setting, "tamil", [source], (0, 60), changes={"network.size": 7})
    rows = [row for row in read_rows(setting.results / distilling.FILE) if row["options"]]
    assert [(row["amount"], row["options"]) for row in rows] == [(0, "network.size=7"), (amounts[2], "network.size=7")]
    assert Model.load_trained(setting.models / "tamil-student-0-60-1-network.size-7.nonproj").config.network.size == 7
    assert "| `network.size=7` |" in (setting.results / "distilling.md").read_text(encoding="utf-8")


def known_once(treebank: str, known: set[tuple[str, ...]], folder: Path) -> set[tuple[str, ...]]:
    """The sentences of at least three words that are not known, each once."""
    path = folder / "both.conllu"
    path.write_text(treebank, encoding="utf-8")
    found = {tuple(row[1] for row in s.rows) for s in conll.read(path)} - known
    return {words for words in found if len(words) >= 3}
