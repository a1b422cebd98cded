"""Segmentation of real text: against treebanks, against prose with tokens set by hand, and of what is rare."""

import io
import itertools
import re
from pathlib import Path

import pytest
from hard_texts import NASTY
from restoring import restore

import nonproj
from nonproj.evaluation.alignment import align
from nonproj.io import conll
from nonproj.options.sections import SegmenterConfig
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.formats import TextInput
from nonproj.text.languages import languages
from nonproj.text.multiword import Multiwords
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter


def figures(gold, found) -> list[float]:
    """F1 of tokens, words and sentences, by characters."""
    theirs, ours, pairs = align(gold, found)
    tokens = [set(zip(each.start, each.end, strict=True)) for each in (theirs, ours)]
    of_words = 200 * len(pairs) / (len(theirs.forms) + len(ours.forms))
    sentences = [set(theirs.spans), set(ours.spans)]
    of_tokens, of_sentences = (200 * len(a & b) / (len(a) + len(b)) for a, b in (tokens, sentences))
    return [of_tokens, of_words, of_sentences]


CODES = """
C++ C# F# .NET ASP.NET Node.js R&D Q&A report.docx setup.py photo.jpeg archive.tar.gz wikipedia.org bbc.co.uk
H1N1 R2D2 H2O RTX4090 iPhone12 Windows10 sha256 IPv6 MP4 x86_64 1,993,045 3.14159 192.168.0.1 v2.0.1
"""
DIVIDED = "( report.docx ) | C++ , | .NET , | wikipedia.org . | RTX4090 ; | 50 % | $ 5 | 3 pm"


@pytest.mark.thorough
def test_codes_and_names_that_training_has_not_seen(treebanks):
    """Places between letters, digits and signs are known by classes and shapes, from a part of the treebank."""
    sentences = list(itertools.islice(conll.read(treebanks / "english-ewt/en_ewt-ud-train.conllu"), 6000))
    segmenter = Segmenter.fit(sentences, SegmenterConfig(network_share=0.0))
    assert not set(CODES.split()) & set(raw_text(paragraphs(sentences)).text.split())
    expected = [[code] for code in CODES.split()] + [tokens.split() for tokens in DIVIDED.split("|")]
    text = "They said that {} is good .\n\n"
    found = [
        [form for sentence in segmenter.segment(text.format("".join(tokens))) for form in sentence.forms][3:-3]
        for tokens in expected
    ]
    assert found == expected


def test_output_passes_the_official_validator(tmp_path):
    """Levels 1 and 2, with a part of speech and a tree, which others add."""
    validator = pytest.importorskip("udtools.validator")
    segmenter, lines, number = Segmenter.unicode(), [], 0
    for text in NASTY:
        for sentence in segmenter.segment(text + "\n", TextInput(ranges=True)):
            number += 1
            for line in sentence.lines:
                columns = line.split("\t")
                if columns[0].isdigit():
                    columns[3], columns[6:8] = "X", ("0", "root") if columns[0] == "1" else ("1", "dep")
                lines.append(f"# sent_id = {number}\n" if line.startswith("# sent_id") else "\t".join(columns))
    text, reports = "".join(lines), []
    for content in (text, text.replace("SpaceAfter=No", "_")):
        path = tmp_path / "a.conllu"
        path.write_text(content, encoding="utf-8", newline="\n")
        reports.append(io.StringIO())
        validator.Validator(lang="ud", level=2, output=reports[-1]).validate_files([str(path)])
    assert number > 10 and reports[0].getvalue() == ""
    assert "missing-spaceafter" in reports[1].getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("treebanks/greek/el_gdt-ud", (99.6, 99.6, 92.5)),
        ("treebanks/english-ewt/en_ewt-ud", (98.9, 98.6, 85.5)),
        ("ud/Vietnamese-VTB/vi_vtb-ud", (87.5, 87.5, 94.5)),
        ("ud/Uyghur-UDT/ug_udt-ud", (99.5, 99.5, 77.0)),
        ("ud/Gothic-PROIEL/got_proiel-ud", (100.0, 100.0, 32.0)),
    ],
)
def test_real_treebanks(treebanks, name, least):
    """Words with blanks and sentences without punctuation too, the text of which is one line."""
    path = treebanks.parent / name
    if not path.parent.is_dir():
        pytest.skip("needs the treebanks of release 2.12")
    gold = list(conll.read(f"{path}-dev.conllu"))
    text = raw_text(paragraphs(gold)).text
    text = " ".join(text.split()) + "\n" if name.startswith("ud/") else text
    found = Segmenter.fit(list(conll.read(f"{path}-train.conllu"))).segment(text)
    assert restore(found) == text
    assert all(value >= bound for value, bound in zip(figures(gold, found), least, strict=True)), figures(gold, found)


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


FOLLOWED = [
    "Mail jane.doe+x@mail.example.org now . | R&amp;D and &lt; b &gt; here .",
    "See Doe v. Roe , 12 F.3d 345 ( 9th Cir. 1999 ) , cf. Art. 5 para. 1 lit. b of the Act .",
    "He ran 5 km . | The others ran 3 pts. more .",
    "It was so . | 3 people came .",
]


def test_what_follows_tells_abbreviations_from_sentence_ends():
    nlp = nonproj.load()
    for text in FOLLOWED:
        sentences = [each.split(" ") for each in text.split(" | ")]
        written = re.sub(r" (?=[.,)])|(?<=[(]) |(?<=&lt;) | (?=&gt;)", "", text.replace(" | ", " "))
        assert [sentence.forms for sentence in nlp.segment(written)] == sentences


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
