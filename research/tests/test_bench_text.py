"""The benchmark from raw text to trees: its input, arithmetic and tables, with programs that know the answer."""

from __future__ import annotations

import doctest
import re
import sys

import pytest

pytest.importorskip("udtools")

from research.benchmarks import text
from research.benchmarks.clock import Seconds

FILES = ("greek/el_gdt-ud-test.conllu", "english-ewt/en_ewt-ud-test.conllu")


def test_examples():
    assert doctest.testmod(text).failed == 0


@pytest.mark.parametrize("name", FILES)
def test_the_text_is_that_of_the_sentences_in_their_paragraphs(name, treebanks):
    sentences = text.blocks(treebanks / name)
    made, position = text.raw_text(sentences), 0
    for lines in sentences:
        said = next(line for line in lines if line.startswith("# text = ")).removeprefix("# text = ")
        start = made.index(said, position)
        between = made[position:start]
        begins = any(line.startswith(("# newpar", "# newdoc")) for line in lines)
        assert between == ("\n\n" if begins and position else between.strip("\n")) and len(between) <= 2
        position = start + len(said)
    assert made[position:] == "\n"


@pytest.mark.parametrize("name", FILES)
def test_gold_tokens_are_the_words_without_what_is_known_of_them(name, treebanks, tmp_path):
    sentences = text.blocks(treebanks / name)
    found = text.gold_tokens(sentences)
    rows = [line.split("\t") for line in found.split("\n") if line and not line.startswith("#")]
    assert {value for row in rows for value in row[2:9]} == {"_"}
    gold = [line.split("\t") for lines in sentences for line in lines if not line.startswith("#")]
    assert [(row[0], row[1], row[9]) for row in rows] == [(r[0], r[1], r[9]) for r in gold if "." not in r[0]]
    assert found.count("\n\n") == len(sentences)


@pytest.fixture
def programs(treebanks, tmp_path) -> dict[str, text.Job]:
    """Two programs that write the gold file, one of them with wrong lemmas, and each a file in place of its model."""
    gold = treebanks / FILES[0]
    wrong = tmp_path / "wrong.conllu"
    wrong.write_text(
        re.sub(r"(?m)^(\d+\t[^\t]+)\t[^\t]+", r"\1\tx", gold.read_text(encoding="utf-8")), encoding="utf-8"
    )
    found = {}
    for name, answer in (("nonproj", gold), ("UDPipe", wrong)):
        code = f"import shutil, sys; assert open(sys.argv[1]).read(1); shutil.copy({str(answer)!r}, sys.argv[2])"
        command = [sys.executable, "-S", "-c", code, "IN", "OUT"]
        found[name] = text.Job(command, command, wrong)
    return found


def test_figures_and_tables(programs, treebanks, tmp_path, monkeypatch, capsys):
    scores = text.figures(programs, treebanks / FILES[0], tmp_path)
    assert list(scores) == ["raw text", "gold tokens"]
    assert all(figures["nonproj"][metric]["f1"] == 1.0 for figures in scores.values() for metric in text.METRICS)
    lemmas = scores["raw text"]["UDPipe"]["Lemmas"]["f1"]
    assert 0.0 <= lemmas < 0.1
    taken = {"short": Seconds(1.0, 0.5), "long": Seconds(9.0, 4.5)}
    monkeypatch.setattr(text, "run", lambda _, source, target: taken[source.stem])
    speed = text.speeds(programs, treebanks / FILES[0], tmp_path, 15_000, 2)
    first = text.raw_text(text.blocks(treebanks / FILES[0])[:1]).strip()
    assert (tmp_path / "long.txt").read_text(encoding="utf-8").count(first) == 2
    words = scores["raw text"]["nonproj"]["Words"]["gold"]
    assert speed == dict.fromkeys(programs, {"start": 0.5, "speed": 2 * words / 4.0})
    shown = text.table(programs, scores, speed)
    assert f"| Lemmas | 100.00 | {100 * lemmas:.2f} | 100.00 | {100 * lemmas:.2f} |" in shown
    assert f"| words per second from text to trees | {words / 2:,.0f} | {words / 2:,.0f} |" in shown


def test_udpipe_is_used_where_it_is_trained(tmp_path, capsys):
    train = tmp_path / "t.conllu"
    train.write_text("x")
    assert list(text.jobs(tmp_path / "m", train, tmp_path, "use")) == ["nonproj"]
    assert "is not trained on" in capsys.readouterr().err
    text.pipeline_path(tmp_path, train).write_bytes(b"model")
    assert text.jobs(tmp_path / "m", train, tmp_path, "train")["UDPipe"].raw[-1] == "tokenize"
    assert list(text.jobs(tmp_path / "m", train, tmp_path, "none")) == ["nonproj"]


def test_udpipe_says_what_it_cannot_read(tmp_path):
    udpipe = pytest.importorskip("ufal.udpipe")
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    with pytest.raises(RuntimeError):
        text.train_pipeline(udpipe, tmp_path / "bad.conllu", tmp_path / "m.udpipe")
    assert not (tmp_path / "m.udpipe").exists()
    with pytest.raises(SystemExit, match="UDPipe cannot load it"):
        text.run_udpipe(str(tmp_path / "bad.conllu"), "", "", "conllu")
