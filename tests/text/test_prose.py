"""Plain text in the languages whose treebanks have no raw text: a page of prose of each, with tokens set by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nonproj.io import conll
from nonproj.options.sections import SegmenterConfig
from nonproj.text.languages import LANGUAGES
from nonproj.text.multiword import Multiwords
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter

PROSE = Path(__file__).parents[1] / "prose"
TREEBANKS = {
    "danish": ("da", "danish/danish_ddt_train.conll"),
    "dutch": ("nl", "dutch/nl_lassysmall-ud-train.conllu"),
    "basque": ("eu", "basque/basque_conll2007_train.conll"),
    "english": ("en", "english/wsj_sample_train.conll"),
}


def check(segmenter: Segmenter, name: str) -> None:
    """Compare the sentences of a page with those that were set by hand."""
    text = (PROSE / f"{name}.txt").read_text(encoding="utf-8")
    gold = [line.split(" ") for line in (PROSE / f"{name}.gold").read_text(encoding="utf-8").splitlines()]
    assert "".join(text.split()) == "".join("".join(tokens) for tokens in gold)
    found = [sentence.forms for sentence in segmenter.segment(text)]
    assert [" ".join(tokens) for tokens in found] == [" ".join(tokens) for tokens in gold]


@pytest.mark.parametrize("name", TREEBANKS)
def test_the_rules_of_a_language_alone(name):
    check(Segmenter(UnicodeRules(language=LANGUAGES[TREEBANKS[name][0]]), Multiwords.fit([]), "rules"), name)


@pytest.mark.parametrize(
    "with_spacy", [pytest.param(False, id="own"), pytest.param(True, id="spacy", marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize(
    "name", [name if name == "basque" else pytest.param(name, marks=pytest.mark.thorough) for name in TREEBANKS]
)
def test_rules_with_the_treebank(name, with_spacy, treebanks, monkeypatch):
    if with_spacy:
        pytest.importorskip("spacy")
    else:
        monkeypatch.setitem(sys.modules, "spacy", None)
    segmenter = Segmenter.fit(list(conll.read(treebanks / TREEBANKS[name][1])), SegmenterConfig())
    assert segmenter.description == f"rules for {name.title()} (the treebank has no raw text)"
    check(segmenter, name)
