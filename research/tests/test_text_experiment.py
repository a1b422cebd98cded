"""The table from raw text beside Stanza: measured once, resumed, and marked where it is of an earlier version."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from toy import raw_treebank

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")
pytest.importorskip("udtools")

from research.experiments import text  # noqa: E402
from research.experiments.provenance import recorded, sections  # noqa: E402
from research.experiments.setting import ExperimentSettings  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> ExperimentSettings:
    """A setting with toy treebanks for two languages, and the small models of the short run."""
    folder, files = tmp_path_factory.mktemp("text"), {}
    for seed, language in enumerate(("tamil", "latin")):
        files[language] = folder / f"{language}-train.conllu", folder / f"{language}-test.conllu"
        for path, count, number in zip(files[language], (40, 8), (seed, seed + 10), strict=True):
            path.write_text(raw_treebank(count, number), encoding="utf-8")
    return ExperimentSettings(folder / "results", folder / "models", files=files, config=text.SHORT)


@pytest.fixture
def setting(trained, tmp_path) -> ExperimentSettings:
    """Settings with a folder of results of their own."""
    return replace(trained, results=tmp_path)


def lines_of(page: str, title: str) -> list[list[str]]:
    """The rows of a treebank in the table of a page."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    first = next(i for i, row in enumerate(rows) if row[0] == title)
    last = next((i for i, row in enumerate(rows) if i > first and row[0]), len(rows))
    return [row[1:] for row in rows[first:last]]


def test_a_treebank_is_measured_once_and_the_others_keep_their_figures(setting, monkeypatch):
    text.measure(setting, ["tamil"])
    page = (setting.results / "text.md").read_text(encoding="utf-8")
    ours, *theirs = lines_of(page, "UD Tamil TTB 2.12")
    row = read_rows(setting.results / "text.csv")[0]
    assert ours == ["nonproj", *(f"{100 * row[name]:.2f}" for name in text.METRICS)]
    assert theirs == [[name, *(f"{x:.2f}" for x in values)] for name, values in PUBLISHED.items()]
    assert 0.5 < row["Words"] <= 1.0
    assert lines_of(page, "UD Latin Perseus 2.12")[0][:2] == ["nonproj", "not measured"]
    assert lines_of(page, "mean of the first 8")[0][:2] == ["nonproj", "not measured"]
    assert recorded(page) == sections()["text"][2]()

    def run(setting, language):
        assert language == "latin", "resumed"
        return row | {"language": language, "LAS": 0.125}

    monkeypatch.setattr(text, "run", run)
    text.measure(setting, ["tamil", "latin"])
    page = (setting.results / "text.md").read_text(encoding="utf-8")
    assert lines_of(page, "UD Tamil TTB 2.12") == [ours, *theirs]
    assert lines_of(page, "UD Latin Perseus 2.12")[0][-2] == "12.50"
    assert [each["language"] for each in read_rows(setting.results / "text.csv")] == ["latin", "tamil"]


PUBLISHED = {  # of Tamil
    "Stanza 1.5.1": (89.61, 98.74, 78.51, 79.63, 82.55, 58.39, 50.97, 41.40),
    "UDPipe 2": (94.26, 97.52, 84.29, 84.09, 88.79, 70.63, 61.98, 50.53),
}


def some_rows(setting, languages):
    """Made-up rows: the LAS of the first language is 0.1, of the second 0.2, and so on."""
    return [
        {"language": language, "made": text.made(setting, language)}
        | {name: number / 10 if name == "LAS" else 0.5 for name in text.METRICS}
        for number, language in enumerate(languages, 1)
    ]


def test_rows_of_an_earlier_version_are_marked(setting):
    rows = some_rows(setting, ("tamil", "latin"))
    assert text.EARLIER not in text.figures_table(setting, rows, text.LANGUAGES)
    rows[1]["made"] += "0"
    page = text.figures_table(setting, rows, text.LANGUAGES)
    assert lines_of(page, "UD Latin Perseus 2.12")[0][0] == f"nonproj {text.EARLIER}"
    assert lines_of(page, "UD Tamil TTB 2.12")[0][0] == "nonproj"
    assert page.endswith(f"{text.NOTE}; see [text.csv](text.csv) for the inputs of each row.")


def test_means_are_over_the_release_and_only_complete(setting):
    page = text.figures_table(setting, some_rows(setting, text.ALL), text.ALL)
    ours, stanza, udpipe = lines_of(page, "mean of the first 8")
    assert ours[:2] == ["nonproj", "50.00"] and ours[-2] == "45.00"  # the mean of 10, 20, ..., 80
    assert stanza[0] == "Stanza 1.5.1" and stanza[-2] == "67.15"  # as published for the eight
    assert udpipe[0] == "UDPipe 2" and udpipe[-2] == "70.83"
    ours, udpipe = lines_of(page, "mean of all 24")
    assert ours[-2] == "125.00" and udpipe[0] == "UDPipe 2" and udpipe[-2] == "72.45"
    rows = some_rows(setting, text.LANGUAGES[1:])
    assert lines_of(text.figures_table(setting, rows, text.LANGUAGES), "mean of the first 8")[0][1] == "not measured"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")
def test_make_asks_for_udpipe_only_on_request():
    def planned(*words):
        return subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "-m research.experiments text --data " in planned("bench-text-all")
    command = planned("bench-text", "LANG=greek")
    assert "--udpipe none" in command and "[bench]" not in command and 'fetch.py "greek" ' in command
    assert "--udpipe train" in planned("bench-text", "LANG=greek", "UDPIPE=train")
