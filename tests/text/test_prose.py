"""Plain text with tokens set by hand: a page of prose in the languages whose treebanks have no raw text, and examples
of what is rare in treebanks.
"""

import re
from pathlib import Path

import pytest

import nonproj
from nonproj.io import conll
from nonproj.options.sections import SegmenterConfig
from nonproj.text.languages import languages
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
    text, gold = ((PROSE / f"{name}.{end}").read_text(encoding="utf-8") for end in ("txt", "gold"))
    assert [" ".join(sentence.forms) for sentence in segmenter.segment(text)] == gold.splitlines()


def paragraphs_right(segmenter: Segmenter, name: str) -> list[bool]:
    """Whether each paragraph of a page is segmented as by hand."""
    texts, golds = ((PROSE / f"{name}.{end}").read_text(encoding="utf-8").split("\n\n") for end in ("txt", "gold"))
    found = [[" ".join(sentence.forms) for sentence in segmenter.segment(text)] for text in texts]
    return [own == gold.splitlines() for own, gold in zip(found, golds, strict=True)]


def test_signs_and_abbreviations_that_are_rare_in_treebanks():
    """Paragraphs right of fifteen, by the bundled model and by rules: 0 and 1 without all that is about these."""
    english = Segmenter(UnicodeRules(language=languages()["en"]), Multiwords.fit([]), "rules")
    assert sum(paragraphs_right(nonproj.load().parser.segmenter, "unseen")) >= 8
    assert sum(paragraphs_right(english, "unseen")) >= 4


@pytest.mark.parametrize(
    "text",
    [
        "Mail jane.doe+x@mail.example.org now . | R&amp;D and &lt; b &gt; here .",
        "See Doe v. Roe , 12 F.3d 345 ( 9th Cir. 1999 ) , cf. Art. 5 para. 1 lit. b of the Act .",
        "He ran 5 km . | The others ran 3 pts. more .",
        "It was so . | 3 people came .",
    ],
)
def test_what_follows_tells_abbreviations_from_sentence_ends(text):
    sentences = [each.split(" ") for each in text.split(" | ")]
    written = re.sub(r" (?=[.,)])|(?<=[(]) |(?<=&lt;) | (?=&gt;)", "", text.replace(" | ", " "))
    assert [sentence.forms for sentence in nonproj.load().segment(written)] == sentences


@pytest.mark.parametrize("name", TREEBANKS)
def test_the_rules_of_a_language_alone(name):
    segmenter = Segmenter(UnicodeRules(language=languages()[TREEBANKS[name][0]]), Multiwords.fit([]), "rules")
    check(segmenter, name)


@pytest.mark.parametrize(
    "name", [name if name == "basque" else pytest.param(name, marks=pytest.mark.thorough) for name in TREEBANKS]
)
def test_rules_with_the_treebank(name, treebanks):
    segmenter = Segmenter.fit(list(conll.read(treebanks / TREEBANKS[name][1])), SegmenterConfig())
    assert segmenter.description == f"rules for {name.title()} (the treebank has no raw text)"
    check(segmenter, name)
