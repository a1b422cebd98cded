"""The record of a treebank in a model: name, licence and language."""

from pathlib import Path

import pytest
from command import SMALL
from scripts import imported
from toy import treebank

from nonproj.cli.main import main
from nonproj.cli.provenance import provenance
from nonproj.cli.treebanks import KNOWN, describe, licence_beside
from nonproj.model.model import Model
from nonproj.options.config import Config

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


def test_the_treebanks_of_the_scripts_are_known():
    files = {path.stem: Config.load(path).treebank for path in (ROOT / "configs").glob("*.yaml")}
    assert set(files) >= {"danish", "dutch", "basque", "english-wsj", "english-ewt", "greek", "turkish", "smoke"}
    with imported("treebanks") as (treebanks,):
        assert len(KNOWN) == len(treebanks.TREEBANKS)
        for language, known in treebanks.TREEBANKS.items():
            code = known.code or Path(known.train).name.partition("_")[0]
            assert describe("renamed", known.train_digest) == (known.title, known.licence, code)
            named = files.get(language)
            assert named is None or (named.train, named.test) == (f"data/{known.train}", f"data/{known.test}")


@pytest.mark.skipif(not (SHARED / "ud").is_dir(), reason="the treebanks are not there")
def test_a_known_file_is_recognised_wherever_it_lies(tmp_path):
    (tmp_path / "mine.conllu").write_bytes((SHARED / "ud/Tamil-TTB/ta_ttb-ud-train.conllu").read_bytes())
    data = provenance(Config(), str(tmp_path / "mine.conllu"), None, 0)["data"]
    facts = data["name"], data["licence"], data["language"]
    assert facts == ("UD Tamil TTB 2.12", "CC BY-NC-SA 3.0, for research", "ta")


def test_training_records_what_a_folder_of_universal_dependencies_says(tmp_path, capsys):
    folder = tmp_path / "ud-treebanks-v2.99" / "UD_Faroese-Toy"
    folder.mkdir(parents=True)
    train, model = folder / "fo_toy-ud-train.conllu", tmp_path / "toy.nonproj"
    train.write_text(treebank(30), encoding="utf-8")
    readme = "License: of the scripts\n\n=== Machine-readable metadata ===\nLicense: CC BY-SA 4.0\nParallel: no\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    assert main(["train", str(train), "-o", str(model), *SMALL]) == 0
    assert main(["inspect", "--card", str(model)]) == 0
    card = capsys.readouterr().out
    for line in ("| treebank | UD Faroese Toy 2.99 |", "| language | fo |", "| licence | CC BY-SA 4.0 |"):
        assert line in card
    words = ["--set", "treebank.name=Mine", "--set", "treebank.licence=none"]
    assert main(["train", str(train), "-o", str(model), *SMALL, *words]) == 0
    data = Model.load(model).meta["data"]
    assert (data["name"], data["licence"], data["language"]) == ("Mine", "none", "fo")


def test_licences(tmp_path):
    """A line in the part for programs, not in other parts; or the address of a licence of Creative Commons."""
    for name, text, expected in (
        ("README.md", "# My data\nLicense: MIT\n", None),
        ("LICENSE.txt", "http://creativecommons.org/licenses/by-nc-sa/2.5/ or a letter", "CC BY-NC-SA 2.5"),
        ("README.md", "License: no\n=== Machine-readable metadata (DO NOT REMOVE!) ===\nLicense: MIT \n", "MIT"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert licence_beside(str(tmp_path / "train.conllu")) == expected


def test_an_unknown_treebank_has_no_licence(tmp_path):
    assert describe(str(tmp_path / "xy_other-ud-train.conllu"), "0" * 64) == ("UD xy_other", None, "xy")
    assert describe(str(tmp_path / "train.conllu"), None) == (None, None, None)
