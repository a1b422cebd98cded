"""The page about enhanced graphs: gold trees and raw text, beside the baselines."""

import io
from pathlib import Path

import pytest
from toy import raw_treebank

from nonproj.io import conll

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")
pytest.importorskip("udtools")

from research.experiments import graphs, text  # noqa: E402
from research.experiments.setting import ExperimentSettings  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402

EMPTY = "2.1\t_\t_\t_\t_\t_\t_\t_\t1:conj\t_\n"


def toy(count: int, seed: int) -> str:
    """A treebank of the toy language, in whose graphs objects have another label."""
    found = ""
    for own in conll.read(io.StringIO(raw_treebank(count, seed))):
        pairs = zip(own.heads.tolist(), own.labels, strict=True)
        graph = [[(head, "obj:x" if label == "obj" else label)] for head, label in pairs]
        found += conll.replace(own, own.heads, graph=graph)
    return found


def test_a_treebank_is_measured_beside_the_baselines(tmp_path: Path):
    files = tmp_path / "train.conllu", tmp_path / "test.conllu"
    for path, count, seed in zip(files, (60, 8), (0, 9), strict=True):
        path.write_text(toy(count, seed), encoding="utf-8")
    setting = ExperimentSettings(tmp_path / "results", tmp_path / "models", files={"tamil": files}, config=text.SHORT)
    graphs.measure(setting, ["tamil"])
    rows = {row["row"]: row for row in read_rows(setting.results / graphs.FILE)}
    assert list(rows) == list(graphs.ROWS)
    assert rows["gold trees: DEPS = tree"]["ELAS"] < rows["gold trees: nonproj"]["ELAS"] == 1.0
    assert rows["gold trees: DEPS = tree"]["EULAS"] == 1.0
    assert rows["raw text: DEPS = tree"]["LAS"] == rows["raw text: nonproj"]["LAS"]
    assert "| UD Tamil TTB 2.12 | gold trees: DEPS = tree |" in (setting.results / "graphs.md").read_text("utf-8")


def test_arcs_through_empty_nodes_are_collapsed():
    lines = "1\ta\ta\tX\t_\t_\t0\troot\t0:root\t_\n2\tb\tb\tX\t_\t_\t1\tobj\t2.1:obj\t_\n"
    [own] = conll.read(io.StringIO(f"{lines}{EMPTY}\n"))
    assert "\t1:conj>obj\t" in graphs.collapsed(own) and EMPTY in graphs.collapsed(own)
