"""Line breaks that end sentences, and sentences of given words."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hard_texts import treebank
from restoring import restore

from nonproj.cli.main import main
from nonproj.io import conll
from nonproj.text.formats import TextInput
from nonproj.text.segmenter import Segmenter

GOLDEN = str(Path(__file__).resolve().parents[1] / "golden" / "model.nonproj")
TITLE = "Indkaldelse til møde\nMødet holdes mandag. Vi ses.\n\nAgenda\n 1 Velkommen\n"
BROKEN = ["Indkaldelse til møde", "Mødet holdes mandag .", "Vi ses .", "Agenda", "1 Velkommen"]
"""Its sentences if line breaks end them."""


@pytest.fixture(scope="module", params=["rules", "trained"])
def segmenter(request) -> Segmenter:
    if request.param == "rules":
        return Segmenter.unicode()
    sentences = ["Hunden ser Dr. Hansen +.", "Don't go , please +!", "Hvor er han +?"] * 24
    return Segmenter.fit(list(conll.read(io.StringIO(treebank(sentences)))))


def sentences_of(segmenter: Segmenter, text: str, **options) -> list[str]:
    return [" ".join(sentence.forms) for sentence in segmenter.segment(text, TextInput(**options))]


def test_a_line_break_ends_a_sentence_where_asked(segmenter):
    plain, broken = sentences_of(segmenter, TITLE), sentences_of(segmenter, TITLE, breaks=True)
    assert len(plain) < len(broken)
    assert any(sentence.startswith("Agenda 1") for sentence in plain)
    lines = ["".join(line.split()) for line in TITLE.splitlines()]
    assert all(any(sentence.replace(" ", "") in line for line in lines) for sentence in broken)
    assert sentences_of(Segmenter.unicode(), TITLE, breaks=True) == BROKEN


def test_breaks_change_neither_the_text_nor_its_paragraphs(segmenter):
    sentences = segmenter.segment(TITLE, TextInput(breaks=True))
    assert restore(sentences) == TITLE
    begins = [sentence.forms[0] for sentence in sentences if "# newpar\n" in sentence.lines]
    assert begins == ["Indkaldelse", "Agenda"]


def test_given_words_are_split_into_sentences(segmenter):
    words = "Hunden ser Dr. Hansen . Hvor ( i byen ) ? Don't go , please !"
    found = sentences_of(segmenter, words, format="tokens")
    assert " ".join(found) == words
    assert len(found) == 3
    assert sentences_of(segmenter, words.replace(" ", "\n"), format="tokens") == found
    assert sentences_of(segmenter, words, format="words") == [words]


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(TITLE)
    for jobs in ([], ["--jobs", "2"], ["--resume"]):
        assert main(["parse", GOLDEN, "in.txt", "--text", "--breaks", "-o", "out", *jobs]) == 0
        assert [" ".join(sentence.forms) for sentence in conll.read("out")] == BROKEN
    Path("in.txt").write_text("Mødet holdes mandag . Vi ses .\n")
    assert main(["parse", GOLDEN, "in.txt", "--tokens", "-o", "out"]) == 0
    assert [len(sentence) for sentence in conll.read("out")] == [4, 3]
    capsys.readouterr()
    assert main(["parse", GOLDEN, "in.txt", "--lines", "--breaks"]) == 2
    assert "breaks: is about running text" in capsys.readouterr().err
