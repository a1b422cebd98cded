"""The strings in models: those allowed in a file, and that training writes no others."""

import builtins
import contextlib

import numpy as np
import pytest
from toy import FROM_GOLD_TAGS

from nonproj.components.trainer import train
from nonproj.errors import DataError, ModelError
from nonproj.io import strings
from nonproj.io.checks import LINE_COST, ReadingRules
from nonproj.linear.state import check_state, load
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.templates import LABEL_BITS
from nonproj.tagging.lemmatizer import MAX_SCRIPTS
from nonproj.tagging.tagset import MAX_TAGS
from nonproj.text.multiword import Multiwords
from nonproj.text.multiword_lexicon import MOST_READINGS
from nonproj.text.multiword_model import BITS
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

CONTROL = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\ud800", "\udfff"]


@pytest.mark.parametrize("character", CONTROL, ids=lambda c: f"{ord(c):04X}")
def test_no_string_has_control_characters_or_surrogates(character):
    for kind in (strings.LABEL, strings.TAG, strings.FEATURES, strings.VOCABULARY, strings.SCRIPT):
        assert strings.fits(f"a{character}b", kind) == (character == "\t" and kind.tabs)
    assert strings.fits(strings.escaped(f"a{character}b"), strings.LABEL)


def test_other_characters_are_allowed():
    for character in " é\u00a0\u200d\u2028\u202e\ufeff\ue000\U0001f600":
        assert (
            strings.fits(f"a{character}b", strings.LABEL) and strings.problem([f"a{character}b"], strings.LABEL) is None
        )


def test_lengths_and_counts():
    kind = strings.StringKind("name", 3, 2)
    assert strings.problem(["abc", "d"], kind) is None
    assert strings.problem(["abc", "abcd"], kind) == "the name 'abcd' has 4 characters, at most 3 are allowed"
    assert strings.problem(["a", "b", "c"], kind) == "3 times a name, at most 2 are allowed"
    assert strings.problem(["a", ""], kind) == "a name is empty"
    assert strings.problem(["a", "b c"], kind._replace(blanks=False)) == "the name 'b c' has a blank"
    for values in (None, "ab", ("a",), [1], {"a": "b"}):
        assert strings.problem(values, kind) == "a list of strings expected, each a name"
    with pytest.raises(ModelError, match="the owner: a name is empty"):
        strings.check_strings([""], kind, "the owner")


def test_records():
    assert strings.problem_of_record({"epoch": 1, "uas": 0.5, "name": "x", "none": None}) is None
    for record in ([], {"a": []}, {"a": {}}, {"a": "\x1b"}, {"\x1b": 1}, {"a": 1 << 63}, {"a": "x" * 5000}):
        assert strings.problem_of_record(record)


def test_the_schema_agrees_with_what_is_learnt():
    assert (strings.LABEL.most, strings.TAG.most, strings.SCRIPT.most) == (1 << LABEL_BITS, MAX_TAGS, MAX_SCRIPTS)
    words, columns = (
        10_000,
        3 * strings.TAG.longest + strings.FEATURES.longest + strings.SCRIPT.longest,
    )  # UPOS, XPOS, DEPREL, FEATS, LEMMA
    assert strings.LABEL.longest == strings.TAG.longest
    assert words * (columns + LINE_COST + len("\t" * 9 + "10000" * 2 + "\r\n")) < ReadingRules().max_sentence
    assert Config().with_overrides({"decoding.max_words": words})


# -- what components accept --------------------------------------------------------------------------------------------


EMPTY = {"marks": "", "entries": [], "segments": [], "tokens": []}
"""The header of a model without multiword tokens."""


def multiwords(state) -> Multiwords:
    """The multiword tokens of a model's header, after the checks of the schema."""
    check_state((state, {}), Multiwords.schema, "the multiword tokens")
    return Multiwords.from_state(state, np.ones(1 << BITS, np.float32))


ENTRY, SEGMENT = ["zum", ["zu", "dem"], 3], ["n't", "n't", 0, 0, 4, True]
WORDS = (["zu", "d\ud800m"], ["zu", "d\rm"], ["zu", "d\x85m"], ["zu"], ["zu", "de m"], ["zu", ""], ["zu", 1], "zu")
LONG_WORDS = (["zu"] * 300_000, ["zu"] * (strings.MOST_WORDS + 1), ["zu", "m" * strings.LONGEST_EXPANSION])
FORMS = (("\ud800", "n't"), ("\r", "n't"), ("n't", "n\rt"), ("", "n't"), ("n't", ""))
BAD = [{"entries": [["zum", words, 3]]} for words in (*WORDS, *LONG_WORDS)]
BAD += [{"entries": [["zum", ["zu", "dem"], count]]} for count in ("3", True, -1, 1 << 40)]
BAD += [{"entries": [entry]} for entry in (["", ["zu", "dem"], 3], ["zum", ["zu", "dem"]])]
BAD += [{"segments": [[*forms, 0, 0, 4, True]]} for forms in FORMS]
BAD += [{"segments": [["n't", "n't", *rest]]} for rest in ((0, 0, -4, True), (0, 0, 4, 1), (0, 4, True))]
BAD += [{"segments": [["n't", "not" * number, 0, 0, 4, True] for number in range(1, MOST_READINGS + 2)]}]
BAD += [{"segments": [SEGMENT] * 300_000}, {"marks": "\x00"}]
BAD += [{"tokens": [token]} for token in (["\r", 1], ["a", -1], ["a", "1"])]


@pytest.mark.parametrize("parts", BAD, ids=range(len(BAD)))
def test_multiword_tokens_of_strangers(parts):
    with pytest.raises(ModelError) as caught:
        multiwords(EMPTY | parts)
    assert len(str(caught.value)) < 500


def test_multiword_tokens_that_are_right():
    found = multiwords({"marks": "\u05b0", "entries": [ENTRY], "segments": [SEGMENT], "tokens": [["zu", 1]]})
    assert found.lexicon.entries == {"zum": [(("zu", "dem"), 3)]} and len(found.weights) == 1 << BITS
    for state in ({}, {"entries": []}, EMPTY | {"entries": {}}, [], {"more": 1}):
        with pytest.raises(ModelError):
            multiwords(state)


@pytest.mark.parametrize("language", ["char_classes", "../x", "", 1])
def test_a_language_of_a_model_is_never_imported(language, monkeypatch):
    """The rules of a language are in the model; its name is looked up nowhere."""
    imported, real = [], builtins.__import__
    meta, arrays = Segmenter.unicode().state()
    monkeypatch.setattr(builtins, "__import__", lambda name, *rest: (imported.append(name), real(name, *rest))[1])
    with pytest.raises(ModelError, match="the segmenter is of an unknown kind"):
        load(Segmenter, (meta | {"kind": "spacy"}, arrays))
    for kind in ("spacy", "unicode"):
        with pytest.raises(ModelError, match="the 'language' of the component 'segmenter' is not a record"):
            load(Segmenter, (meta | {"kind": kind, "language": language}, arrays))
    message = "the 'language' of the component 'segmenter' has no 'code' of type str"
    with pytest.raises(ModelError, match=message) if language == 1 else contextlib.nullcontext():
        load(Segmenter, (meta | {"language": meta["language"] | {"code": language}}, arrays))
    assert not [name for name in imported if name.startswith("spacy")]


@pytest.mark.parametrize("lexicon", [["a\ud800"], ["a\rb"], ["a b"], [""], ["x" * 31], "ab", [1], ["x."] * 60_000])
def test_a_lexicon_of_strangers(lexicon):
    meta, arrays = Segmenter.unicode().state()
    with pytest.raises(ModelError, match="the segmenter's lexicon|'segmenter' has no 'lexicon' of type list"):
        load(Segmenter, (meta | {"lexicon": lexicon}, arrays))


# -- what training writes ----------------------------------------------------------------------------------------------


SMALL = FROM_GOLD_TAGS | {f"{name}.epochs": 1 for name in ("tagger", "segmenter", "training", "pruner", "labeler")}
SMALL |= {"tagger.bits": 12, "tagger.restarts": 1, "tagger.network_epochs": 1, "network.epochs": 0}


def treebank(form: str = "hus", lemma: str = "hus", column: int = 9, value: str = "_") -> list[Sentence]:
    """Two sentences like it, one with a multiword token."""
    rows = [
        ["1", form, lemma, "N", "NN", "Case=Nom", "2", "subj", "_", "_"],
        ["2", "står", "stå", "V", "VB", "_", "0", "root", "_", "SpaceAfter=No"],
        ["3", ".", ".", "P", "PP", "_", "2", "punct", "_", "_"],
    ]
    rows[0][column] = value
    lines = [f"1-2\t{form}står" + "\t_" * 8 + "\n", *("\t".join(row) + "\n" for row in rows), "\n"]
    sentence = Sentence(rows, np.array([-1, 2, 0, 2], np.int32), lines, [1, 2, 3], "a.conllu", 7)
    return [sentence] * 4


HOSTILE = [*(f"x{c}" for c in CONTROL if c not in "\n\t"), "x" * 1001, "".join(map(chr, range(0x4E00, 0x6000)))]
HOSTILE += ["a\u00a0b", "a b", "\u2028"]
SURROGATES = [form for form in HOSTILE if "\ud800" <= form[-1] <= "\udfff"]
TOGETHER = [form for form in HOSTILE if form not in SURROGATES]


@pytest.mark.parametrize("forms", [pytest.param(TOGETHER, id="text"), pytest.param(SURROGATES, id="surrogates")])
def test_what_is_only_looked_up_may_be_anything(forms, tmp_path):
    """A treebank with strange forms and lemmas is trained on, and the model is read again."""
    config = Config().with_overrides(SMALL)
    sentences = [sentence for form in forms for sentence in treebank(form, form + "e")[:2]]
    if forms[0] in SURROGATES:
        config = config.with_overrides({"segmenter.epochs": 0})  # a text cannot have such characters
    train(sentences, config).save(tmp_path / "m")
    parser = Parser(Model.load(tmp_path / "m"))
    assert parser.loaded.analyzer.lemmatizer and parser.loaded.analyzer.tagger
    parser.segmenter.segment("Hus står.")
    for _, parse in parser.parse_all(sentences[::2]):
        assert len(parse.decoded.heads) == 3


@pytest.mark.parametrize(("column", "name"), [(3, "UPOS"), (4, "XPOS"), (5, "FEATS"), (7, "DEPREL")])
@pytest.mark.parametrize("value", ["a\x97", "\x1b[2J", "a\rb", "\ud800", "x" * 1000, ""], ids=ascii)
def test_what_a_model_writes_is_refused_with_its_line(column, name, value):
    with pytest.raises(DataError, match=rf"^a\.conllu:8: {name} is "):
        train(treebank(column=column, value=value), Config().with_overrides(SMALL))


def test_names_of_files_are_escaped(tmp_path):
    config = Config().with_overrides(SMALL | {"treebank.train": "d\udce6\x1b\nnsk.conll"})
    model = train(treebank(), config)
    model.meta["data"] = {"train": "d\udce6nsk.conll" * 1000}
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.config.treebank.train == r"d\udce6\x1b\nnsk.conll"
    assert again.meta["data"]["train"].startswith(r"d\udce6nsk.conll")
