"""The benchmark from raw text to trees: its input, arithmetic and table, with programs that know the answer."""

import re
import sys

import pytest

pytest.importorskip("udtools")

from research.benchmarks import text
from research.benchmarks.clock import Seconds
from research.experiments.raw import blocks, raw_text

FILES = ("greek/el_gdt-ud-test.conllu", "english-ewt/en_ewt-ud-test.conllu")


@pytest.mark.parametrize("name", FILES)
def test_the_text_is_that_of_the_sentences_in_their_paragraphs(name, treebanks):
    sentences = blocks(treebanks / name)
    made, position = raw_text(sentences), 0
    for lines in sentences:
        said = next(line for line in lines if line.startswith("# text = ")).removeprefix("# text = ")
        start = made.index(said, position)
        between = made[position:start]
        begins = any(line.startswith(("# newpar", "# newdoc")) for line in lines)
        assert between == ("\n\n" if begins and position else between.strip("\n")) and len(between) <= 2
        position = start + len(said)
    assert made[position:] == "\n"


def test_figures_and_speeds_are_those_of_each_program(treebanks, tmp_path, monkeypatch):
    """One program writes the gold file, the other one with wrong lemmas."""
    gold, wrong, found = treebanks / FILES[0], tmp_path / "wrong.conllu", {}
    content = gold.read_text(encoding="utf-8")
    wrong.write_text(re.sub(r"(?m)^(\d+\t[^\t]+)\t[^\t]+", r"\1\tx", content), encoding="utf-8")
    for name, answer in (("nonproj", gold), ("UDPipe", wrong)):
        code = f"import shutil, sys; assert open(sys.argv[1]).read(1); shutil.copy({str(answer)!r}, sys.argv[2])"
        found[name] = [sys.executable, "-S", "-c", code, "IN", "OUT"]
    run, taken = text.run, {"short": Seconds(1.0, 0.5), "long": Seconds(9.0, 4.5)}
    monkeypatch.setattr(text, "run", lambda _, *files: taken.get(files[0].stem) or run(_, *files))
    lines = {name: figures for name, *figures in text.measure(found, gold, 15_000, 2)}
    assert all(lines[metric][0] == "100.00" for metric in text.METRICS)
    assert lines["UAS"] == ["100.00", "100.00"] and float(lines["Lemmas"][1]) < 10
    words = sum(line.split("\t")[0].isdigit() for line in content.splitlines())
    assert lines["words per second from text to trees"] == [f"{2 * words / 4.0:,.0f}"] * 2
    assert lines["start, processor seconds"] == ["0.5", "0.5"]


def test_udpipe_is_used_where_it_is_trained(tmp_path, capsys):
    train = tmp_path / "t.conllu"
    train.write_text("x")
    assert list(text.programs(tmp_path / "m", train, tmp_path, "use")) == ["nonproj"]
    assert "is not trained on" in capsys.readouterr().err
    text.pipeline_path(tmp_path, train).write_bytes(b"model")
    assert "run-udpipe" in text.programs(tmp_path / "m", train, tmp_path, "train")["UDPipe"]
    assert list(text.programs(tmp_path / "m", train, tmp_path, "none")) == ["nonproj"]


def test_udpipe_says_what_it_cannot_read(tmp_path):
    udpipe = pytest.importorskip("ufal.udpipe")
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    with pytest.raises(RuntimeError):
        text.train_pipeline(udpipe, tmp_path / "bad.conllu", tmp_path / "m.udpipe")
    assert not (tmp_path / "m.udpipe").exists()
    with pytest.raises(SystemExit, match="UDPipe cannot load it"):
        text.run_udpipe(str(tmp_path / "bad.conllu"), "", "")
