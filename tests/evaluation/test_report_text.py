"""Reports on parsed text whose words and sentences differ from the gold standard."""

from __future__ import annotations

import json
import random
import re

import naive_text_errors as naive
import pytest
from toy import raw_treebank

from nonproj.cli.main import main
from nonproj.evaluation.alignment import align
from nonproj.evaluation.html.items import from_files
from nonproj.evaluation.html.text import with_gold_text
from nonproj.evaluation.text_errors import text_errors
from nonproj.evaluation.universal import universal_features
from nonproj.io import conll

pytest.importorskip("udtools")


def damaged(text: str, seed: int) -> str:
    """The same text with sentences joined, words cut in two, and other heads, tags and labels."""
    chance, blocks = random.Random(seed), []
    for block in text.strip("\n").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        if chance.random() < 0.4 and len(rows[0][1]) > 1:
            for row in rows:
                row[0], row[6] = str(int(row[0]) + 1), str(int(row[6]) + 1 if row[6] != "0" else 0)
            form, rest = rows[0][1], rows[0][2:6]
            rows[0][1] = form[1:]
            rows = [["1", form[:1], *rest, "2", "dep", "_", "SpaceAfter=No"], *rows]
        for row in rows:
            if chance.random() < 0.2:
                row[3], row[7] = "X", "dep"
        if blocks and chance.random() < 0.3:
            before = blocks[-1]
            root = next(row[0] for row in before if row[6] == "0")
            for row in rows:
                row[0] = str(int(row[0]) + len(before))
                row[6] = str(int(row[6]) + len(before)) if row[6] != "0" else root
            before += rows
        else:
            blocks.append(rows)
    return "".join("".join("\t".join(row) + "\n" for row in rows) + "\n" for rows in blocks)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    gold = raw_treebank(30)
    (tmp_path / "gold.conllu").write_text(gold, encoding="utf-8")
    (tmp_path / "parsed.conllu").write_text(damaged(gold, 1), encoding="utf-8")
    (tmp_path / "train.conllu").write_text(raw_treebank(2, 5), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data_of(path) -> dict:
    """The data of a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_gold_heads_are_those_of_the_definition(folder):
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("gold.conllu", "parsed.conllu")]
    gold, parsed = (list(conll.read(folder / name)) for name in ("gold.conllu", "parsed.conllu"))
    items = with_gold_text(list(from_files(parsed)), gold)
    pairs = align(gold, parsed)[2]
    to, back = dict(pairs), {s: g for g, s in pairs}
    one, two = (naive.flat(naive.read(re.sub("(?m)^#.*\n", "", text))) for text in texts)
    place, kinds = 0, set()
    for number, item in enumerate(items):
        start = place
        for head in item.gold.heads.tolist():
            g = back.get(place)
            if g is None:
                expected = -1
            elif one[g][1] is None:
                expected = 0
            else:
                above = to.get(one[g][1], -1)
                expected = above - start + 1 if above >= 0 and two[above][0] == number else -1
            assert head == expected
            kinds.add((g is None, min(head, 1)))
            place += 1
    assert kinds == {(True, -1), (False, -1), (False, 0), (False, 1)}


def test_the_page_has_the_tables_of_the_evaluation(folder):
    words = ["show", "parsed.conllu", "--gold", "gold.conllu", "--ud", "--train", "train.conllu", "-o", "page.html"]
    assert main(words) == 0
    data = data_of(folder / "page.html")
    gold, parsed = (list(conll.read(folder / name)) for name in ("gold.conllu", "parsed.conllu"))
    known = {form for sentence in conll.read(folder / "train.conllu") for form in sentence.forms}
    errors = text_errors(gold, [parsed], known, universal_features())
    tables = {table["title"]: table["rows"] for table in data["tables"]}
    causes = [[row["name"], row["counts"][0]] for row in errors["tables"]["cause"]]
    assert tables["Words without the correct head and label"] == causes and sum(n for _, n in causes) > 10
    accuracy = [
        [row["name"], row["gold"], *(row[key][0] for key in ("aligned", "upos", "ufeats", "lemmas", "uas", "las"))]
        for row in errors["tables"]["known"]
    ]
    assert tables["Aligned words"] == accuracy and len(accuracy) == 3
    boundaries = [[row["name"], row["gold"], row["missed"][0], row["wrong"][0]] for row in errors["tables"]["sentence"]]
    assert tables["Sentence boundaries"] == boundaries
    pairs = [[pair["gold"], pair["predicted"], pair["counts"][0]] for pair in errors["confusions"]["tag"]]
    assert tables["Confused tags"] == pairs
    assert all(len(row) == len(table["columns"]) for table in data["tables"] for row in table["rows"])
    assert len(data["sentences"]) == len(parsed) < len(gold)
    las = errors["tables"]["known"][0]["las"][0] * errors["tables"]["known"][0]["aligned"][0] / errors["words"]
    assert [f"{100 * las:.2f} %", "LAS", "of the gold words"] in data["tiles"]


def test_single_sentences(folder, capsys):
    words = ["show", "parsed.conllu", "--gold", "gold.conllu", "--ud"]
    assert main(words) == 0
    assert capsys.readouterr().out.count("parsed.conllu:") == len(list(conll.read("parsed.conllu")))
    assert main([*words, "--sentence", "2", "-o", "tree.svg"]) == 0
    assert (folder / "tree.svg").read_text(encoding="utf-8").startswith("<svg")
    assert main([*words, "--sentence", "2", "-o", "page.html"]) == 0
    assert len(data_of(folder / "page.html")["sentences"]) == 1


def rows_of(*words: tuple[str, str, str]) -> str:
    """A sentence from forms, heads and labels."""
    rows = (f"{i}\t{form}\t_\tX\t_\t_\t{head}\t{label}\t_\t_\n" for i, (form, head, label) in enumerate(words, 1))
    return "".join(rows) + "\n"


def test_sentences_that_share_no_head_with_the_gold_trees(tmp_path, monkeypatch, capsys):
    """The first parsed sentence is a word whose gold head is in the second."""
    monkeypatch.chdir(tmp_path)
    a, b, c = ("a", "2", "dep"), ("b", "0", "root"), ("c", "2", "punct")
    (tmp_path / "gold.conllu").write_text(rows_of(a, b, c), encoding="utf-8")
    parsed = rows_of(("a", "0", "root")) + rows_of(("b", "0", "root"), ("c", "1", "punct"))
    (tmp_path / "parsed.conllu").write_text(parsed, encoding="utf-8")
    words = ["show", "parsed.conllu", "--gold", "gold.conllu", "--ud"]
    assert main([*words, "-o", "page.html"]) == 0
    data = data_of(tmp_path / "page.html")
    assert [sentence["h"][1] for sentence in data["sentences"]] == [[-1], [0, 1]]
    assert ["66.67 %", "LAS", "of the gold words"] in data["tiles"]
    assert main(words) == 0
    assert "x" not in capsys.readouterr().out.replace(".conllu", "")
    for output in ("tree.svg", "tree.tex", "one.html"):
        assert main([*words, "--sentence", "1", "-o", output]) == 0


def test_partial_trees_have_figures_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = rows_of(("a", "2", "dep"), ("b", "0", "root"), ("c", "2", "punct"))
    (tmp_path / "gold.conllu").write_text(gold, encoding="utf-8")
    parsed = rows_of(("a", "_", "_")) + rows_of(("b", "0", "root"), ("c", "_", "_"))
    (tmp_path / "parsed.conllu").write_text(parsed, encoding="utf-8")
    assert main(["show", "parsed.conllu", "--gold", "gold.conllu", "--ud", "-o", "page.html"]) == 0
    data = data_of(tmp_path / "page.html")
    assert data["tables"] == []
    tiles = {name: value for value, name, _ in data["tiles"]}
    assert (tiles["words with a head"], tiles["correct heads among these"]) == ("33.33 %", "100.00 %")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parsed.conllu", "--ud"], "--ud: compares a parsed file with --gold"),
        (
            ["parsed.conllu", "--ud", "--gold", "gold.conllu", "--other", "gold.conllu"],
            "it excludes --model and --other",
        ),
        (["parsed.conllu", "--gold", "gold.conllu", "--train", "train.conllu"], "--train: needs --ud"),
        (
            ["parsed.conllu", "--ud", "--gold", "gold.conllu", "--train", "train.conllu", "-o", "train.conllu"],
            "train.conllu",
        ),
        (["train.conllu", "--gold", "gold.conllu", "--ud"], "gold.conllu:1: the text continues with "),
    ],
)
def test_errors_are_one_line(folder, capsys, words, message):
    assert main(["show", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
