"""The benchmark of models with pretrained encoders: input, programs, arithmetic; peers where they are installed."""

from __future__ import annotations

import doctest
import json
import sys
from pathlib import Path

import pytest
from toy import raw_treebank

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")

from encoders import random_scorer, unigram, wordpiece, write_folder

from nonproj.io import conll
from nonproj.model.model import Model
from research.benchmarks import encoders, peers
from research.benchmarks.clock import Seconds
from research.benchmarks.text import blocks

ROOT = Path(__file__).resolve().parents[2]

GOLDEN = ROOT / "tests" / "golden" / "model.nonproj"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    """A treebank of 30 sentences."""
    path = tmp_path_factory.mktemp("encoders") / "toy.conllu"
    path.write_text(raw_treebank(30), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(treebank) -> Path:
    """A model with a random encoder."""
    made = Model.load(GOLDEN)
    made.add_component("encoder", random_scorer(write_folder(treebank.parent / "bert"), len(made.labels)).state())
    path = treebank.with_suffix(".nonproj")
    made.save(path)
    return path


@pytest.mark.parametrize("module", [encoders, peers])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_files_have_the_same_words(treebank, tmp_path):
    sentences = encoders.beginning(blocks(treebank), 60)
    assert encoders.count(sentences) >= 60 > encoders.count(sentences[:-1])
    files = encoders.write_files(sentences, tmp_path)
    words = [form for sentence in peers.read(files["treebank"][1]) for form in sentence.column(peers.FORM)]
    assert len(words) == encoders.count(sentences)
    assert [form for sentence in conll.read(files["words"][1]) for form in sentence.forms] == words
    text = files["raw text"][1].read_text(encoding="utf-8")
    assert "".join(text.split()) == "".join(words)
    for short, long in files.values():
        assert long.read_text(encoding="utf-8").startswith(short.read_text(encoding="utf-8").rstrip("\n"))
    assert encoders.beginning(sentences, None) == sentences


def test_the_short_file_is_at_most_a_tenth():
    lengths = (1, 15, 100, 1000)
    assert [len(encoders.start([[]] * length)) for length in lengths] == [1, 1, 10, 20]


def test_pieces_are_those_of_the_model_in_its_order(model, tmp_path):
    path = tmp_path / "pieces.json"
    tokenizer = encoders.encoder_of(model).encoder.tokenizer
    assert encoders.write_pieces(tokenizer, path)
    facts = json.loads(path.read_text(encoding="utf-8"))
    assert facts["lowercase"] and [facts["pieces"].index(piece) for piece in ("[PAD]", "[UNK]", "[CLS]")] == [0, 1, 2]
    assert len(facts["pieces"]) == len(json.loads(wordpiece())["model"]["vocab"])
    assert not encoders.write_pieces(unigram(), path)


def test_speed_from_text_and_words(model, treebank, monkeypatch, tmp_path, capsys):
    """Both programs run for the first, short files; then time is made up."""
    files, real = [], encoders.run

    def run(command, source, target):
        files.append(source.name)
        if len(files) <= 2:
            real(command, source, target)
            assert all(sentence.heads.tolist().count(0) == 1 for sentence in conll.read(target))
        return Seconds(20.0, 10.0) if source.name.startswith("long") else Seconds(4.0, 2.0)

    monkeypatch.setattr(encoders, "run", run)
    page = tmp_path / "page.md"
    page.write_text("above\n", encoding="utf-8")
    command = [str(model), str(treebank), "--without", "stanza,spacy", "--repeats", "2", "--markdown", str(page)]
    encoders.main(command)
    names = ["raw text", "words"]
    assert files == [f"short {name}" for name in names] + 2 * [f"{s} {n}" for n in names for s in ("short", "long")]
    words = encoders.count(blocks(treebank)) - encoders.count(blocks(treebank)[:3])
    shown = capsys.readouterr().out
    for name, given in (("nonproj, from text", "raw text"), ("nonproj", "words")):
        assert f"| {name} | {given} | {words / 8:,.0f} | {words / 16:,.0f} | 1.0 |" in shown
    assert "peers" not in shown and shown.strip() in page.read_text(encoding="utf-8")


def test_peers_that_are_not_installed_are_left_out(treebank, tmp_path, capsys):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    files = encoders.write_files(blocks(treebank), tmp_path)
    assert encoders.theirs(["stanza", "spacy"], str(python), files, tmp_path) == {}
    assert encoders.theirs(["spacy"], sys.executable, files, None) == {}
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("encoders: Stanza is not installed; measuring without it; install it by: pip install ")
    assert lines[1].startswith("encoders: spaCy is not installed; ") and len(lines) == 3
    assert lines[2] == "encoders: the tokenizer of the model is not of the kind WordPiece; measuring without spaCy"


def test_mistakes_are_named_before_anything_runs(model, treebank, tmp_path, capsys):
    linear, silent = tmp_path / "linear.nonproj", tmp_path / "silent.conllu"
    found = Model.load(model)
    found.components.pop("encoder")
    found.weights = {name: array for name, array in found.weights.items() if not name.startswith("encoder.")}
    found.save(linear)
    silent.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    for command, message in (
        ([tmp_path / "none", treebank], "none: no such file"),
        ([linear, treebank], "linear.nonproj: the model has no pretrained encoder"),
        ([model, silent], "silent.conllu: a sentence has no text: "),
    ):
        with pytest.raises(SystemExit, match=message):
            encoders.main([str(word) for word in command])
    with pytest.raises(SystemExit):
        encoders.main([str(model), str(treebank), "--without", "stanza,udpipe"])
    assert "--without: udpipe: no such peer; there are stanza, spacy" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(peers.PACKAGES))
def test_peers_parse_every_word(name, model, treebank, tmp_path):
    for package in ("torch", *peers.PACKAGES[name]):
        pytest.importorskip(package.replace("-", "_"))
    pieces = tmp_path / "pieces.json"
    encoders.write_pieces(encoders.encoder_of(model).encoder.tokenizer, pieces)
    files = encoders.write_files(blocks(treebank), tmp_path)
    program = encoders.theirs([name], sys.executable, files, pieces)[encoders.PEERS[name]]
    out = tmp_path / "out"
    encoders.run(program.command, files["treebank"][0], out)
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    gold = [row for sentence in peers.read(files["treebank"][0]) for row in sentence.rows]
    assert [row[0] for row in rows] == [row[peers.FORM] for row in gold]
    if name == "stanza":  # whose decoder is made to find the trees of the file
        assert [row[1:3] for row in rows] == [[row[peers.HEAD], row[peers.DEPREL]] for row in gold]
    assert program.note.startswith(f"{name} ")
