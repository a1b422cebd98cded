"""The record of treebank and test results in a model, and its card."""

import hashlib
import json
import re

import numpy as np
import pytest
from command import SMALL
from toy import treebank

from nonproj.cli.main import main
from nonproj.cli.provenance import digest
from nonproj.evaluation.calibration import Outcomes
from nonproj.evaluation.card import calibration_of_test, model_card
from nonproj.model.model import Model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two treebanks, a licence, and a model of one tested on the other."""
    folder = tmp_path_factory.mktemp("card")
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    readme = "=== Machine-readable metadata ===\nLicense: CC BY-SA 4.0\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    words = ["train", str(folder / "train.conllu"), "-o", str(folder / "toy.nonproj"), *SMALL, "--seed", "7"]
    words += ["--test", str(folder / "test.conllu"), "--held-out", "0.1", "--set", "treebank.name=Toy | 1"]
    assert main(words) == 0
    return folder


def test_the_model_remembers_its_files_and_its_test(folder, capsys):
    meta = Model.load(folder / "toy.nonproj").meta
    expected = {"name": "Toy | 1", "licence": "CC BY-SA 4.0", "held_out_sentences": 4}
    for part in ("train", "test"):
        found = hashlib.sha256((folder / f"{part}.conllu").read_bytes()).hexdigest()
        expected |= {f"{part}_file": f"{part}.conllu", f"{part}_sha256": found}
    assert meta["data"] == expected
    assert main(["evaluate", "-m", str(folder / "toy.nonproj"), str(folder / "test.conllu"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    expected = {"uas": figures["without_punctuation"]["uas"], "las_punctuation": figures["with_punctuation"]["las"]}
    expected |= {"certified": figures["certificates"]["certified"]}
    assert meta["test"].items() >= (expected | {name: figures[name] for name in ("sentences", "words")}).items()


def test_the_card_shows_what_the_model_remembers(folder, capsys):
    assert main(["inspect", "--card", str(folder / "toy.nonproj")]) == 0
    card = capsys.readouterr().out
    meta = Model.load(folder / "toy.nonproj").meta
    rows = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", card, re.MULTILINE))
    assert card.startswith("# toy.nonproj\n")
    assert rows["treebank"] == "Toy \\| 1" and rows["licence"] == "CC BY-SA 4.0"
    assert rows["training file"].endswith(f"`{meta['data']['train_sha256']}`")
    assert rows["trained on"] == f"36 sentences, {meta['words']} words" and rows["held out"] == "4 sentences"
    assert float(rows["UAS, without punctuation"].split()[0]) == pytest.approx(100 * meta["test"]["uas"], abs=0.005)
    assert rows["seed"] == "7" and rows["epochs"] == "2" and rows["numpy"]
    assert rows["`features.bits`"] == "16" and rows["`training.epochs`"] == "2"
    assert not {"`seed`", "`parts`", "`training.margin`", "`treebank.name`"} & rows.keys()
    assert 'nonproj.load("toy.nonproj")' in card and "## Confidence" not in card


def test_the_card_shows_a_calibration(folder):
    """From probabilities by hand: in the only filled bin 0.8 is expected and 3 of 4 are right."""
    judged = Outcomes(np.full(4, 0.8), np.array([True, True, True, False]))
    kept = calibration_of_test({"heads": judged, "labels": judged, "trees": judged})
    assert kept["heads_calibration_error"] == pytest.approx(0.05) and kept["labels_surest_50"] == 1.0
    description = Model.load(folder / "toy.nonproj").describe()
    description["training"] = description["training"] | {"calibration": kept}
    card = model_card("toy.nonproj", description, 1)
    assert "| heads: expected calibration error | 0.05 |" in card
    assert "| heads with labels: accuracy of the most confident 50 % | 100.00 % |" in card


def test_a_model_of_an_older_version_has_a_card(folder, tmp_path, capsys):
    model = Model.load(folder / "toy.nonproj")
    for name in ("data", "software", "test"):
        del model.meta[name]
    model.save(tmp_path / "old.nonproj")
    assert main(["inspect", "--card", str(tmp_path / "old.nonproj")]) == 0
    card = capsys.readouterr().out
    assert "| treebank | not named |" in card and "The model was not evaluated" in card and "licence | unknown" in card


def test_a_forged_history_is_shown_as_it_is(folder):
    description = Model.load(folder / "toy.nonproj").describe()
    forged = {"data": "a\nb", "software": 7, "nonprojective_arcs": None, "calibration": 1.0}
    description["training"] |= forged | {"test": {"uas": "all", "las": "x|y\n# z"}}
    card = model_card("toy\n# z.nonproj", description, 1)
    assert "| UAS, without punctuation | all |" in card and "x\\|y" in card and "\n# z" not in card


def test_what_can_be_read_only_once_has_no_digest(tmp_path):
    assert digest("/dev/stdin") is None and digest(str(tmp_path)) is None
