"""``nonproj audit``: from a treebank to the report, the table and the marked copies."""

import csv
from pathlib import Path

import pytest
from command import ROOT, SMALL
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import conll

MODEL = str(ROOT / "tests" / "golden" / "model.nonproj")
MALFORMED = "# sent_id = bad\n1\tb\tb\tX\t_\t_\t0\troot\t_\n\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_models_of_folds_find_a_planted_error(capsys):
    """The marked copy differs in MISC only, and nothing else is left in the folder."""
    sentences = treebank(120).split("\n\n")
    place = next(i for i, text in enumerate(sentences) if "\tNOUN\tNOUN\t_\t" in text)
    sentences[place] = sentences[place].replace("\tNOUN\tNOUN\t_\t", "\tDET\tDET\t_\t", 1)
    Path("trees.conllu").write_text("\n\n".join(sentences), encoding="utf-8")
    command = ["audit", "trees.conllu", "-o", "folder", "--folds", "2", "--level", "0", *SMALL]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("suspicions: ")
    with open("folder/suspicions.csv", encoding="utf-8") as stream:
        (first, *_) = [row for row in csv.DictReader(stream) if row["kind"] == "tag"]
    assert (first["annotated"].split()[0], first["predicted"].split()[0]) == ("DET", "NOUN")
    given, copies = list(conll.read("trees.conllu")), list(conll.read("folder/trees.conllu"))
    assert [row[:9] for s in copies for row in s.rows] == [row[:9] for s in given for row in s.rows]
    assert "SuspectUPOS=NOUN" in Path("folder/trees.conllu").read_text(encoding="utf-8")
    assert sorted(path.name for path in Path("folder").iterdir()) == ["report.html", "suspicions.csv", "trees.conllu"]


def test_an_audit_of_a_few_sentences_is_refused(capsys):
    Path("five.conllu").write_text(treebank(5), encoding="utf-8")
    assert main(["audit", "five.conllu", "-o", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "nonproj: TREEBANK: each model would learn from 4 sentences, and needs 50 at least, better 500;"
    )
    assert error.count("\n") == 1 and not Path("out").exists()


def test_a_malformed_sentence_is_left_out(capsys):
    first, *rest = treebank(12).split("\n\n")
    Path("bad").write_text("\n\n".join([first, MALFORMED + rest[0], *rest[1:]]))
    command = ["audit", "bad", "-m", MODEL, "-o", "folder", "--level", "0"]
    assert main(command) == 2
    assert main([*command, "--on-error", "skip"]) == 1
    assert "nonproj: 1 broken sentence left out" in capsys.readouterr().err
    assert len(list(conll.read("folder/bad"))) == 12


def test_a_file_that_does_not_fit_the_model_is_reported_once(capsys):
    good = Path(MODEL).with_name("input.conll").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in good.splitlines(keepends=True)]
    odd = "".join("\t".join([*row[:4], f"{row[4]}x", *row[5:]] if len(row) > 1 else row) for row in rows)
    masked = "\n".join(f"{m}\t_\t_\tX\tX\t_\t{m - 1}\tdep\t_\t_" for m in range(1, 9)) + "\n\n"
    warnings = {}
    for name, text in {"good": good, "odd": odd, "masked": masked * 5}.items():
        Path(name).write_text(text, encoding="utf-8")
        assert main(["audit", "-m", MODEL, name, "-o", "folder", "--level", "0"]) == 0
        warnings[name] = capsys.readouterr().err.splitlines()
    assert not any("fit" in text or "masked" in text for text in warnings["good"])
    [line] = [text for text in warnings["odd"] if "tag" in text]
    assert line.startswith("odd does not fit the model: 100 % of the tags (")
    [line] = [text for text in warnings["masked"] if "masked" in text]
    assert line.startswith("masked: 100 % of the words are _: ")
