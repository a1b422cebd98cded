"""Text in, documents out, from Python."""

import io
import itertools
import pickle
import sys
import unicodedata
from pathlib import Path

import conllu
import numpy as np
import pytest
from command import ROOT
from naive_trees import all_trees
from toy import sentences, treebank

import nonproj
from nonproj.cli.main import main
from nonproj.errors import ConfigError, DataError, DependencyError, ModelError
from nonproj.io import conll
from nonproj.io.copies import surface_tokens
from nonproj.io.objects import conllu_text, from_conllu, from_words
from nonproj.pipeline.stages import prune
from nonproj.trees.crossing import nonprojective

TEXT = "Den hund ser hus sovende.\n\n  Stor kat\tjager den\nmand.  Hus kender hus.\n"


@pytest.fixture(scope="module")
def path(model_of) -> Path:
    """A model file of the toy language."""
    return model_of("complete")


@pytest.fixture(scope="module")
def nlp(path):
    """A parser of the toy language."""
    return nonproj.load(path)


@pytest.fixture(scope="module")
def doc(nlp):
    """A parsed text of three sentences."""
    return nlp(TEXT)


def test_marginals_are_those_of_all_trees(nlp):
    (p,) = nlp.marginals("hund ser hus")
    [scores] = nlp.parser.run(nlp.segment("hund ser hus"), until=prune).first_order
    expected, total = np.zeros((4, 4)), 0.0
    for heads in all_trees(3, single_root=nlp.parser.request.options.single_root):
        weight = np.exp(sum(scores[heads[m], m] for m in range(1, 4)))
        expected[heads[1:], np.arange(1, 4)] += weight
        total += weight
    np.testing.assert_allclose(p, expected / total, atol=1e-12)


def test_samples_are_as_frequent_as_marginals_say(nlp):
    text = "hund ser hus. Stor kat jager den mand."
    samples, p = nlp.samples(text, 4000, seed=1), nlp.marginals(text)
    assert [trees.shape for trees in samples] == [(4000, len(each) - 1) for each in p] and len(p) == 2
    for trees, each in zip(samples, p, strict=True):
        for m in range(1, len(each)):
            frequencies = np.bincount(trees[:, m - 1], minlength=len(each)) / len(trees)
            np.testing.assert_allclose(frequencies, each[:, m], atol=0.04)
    assert all(np.array_equal(a, b) for a, b in zip(samples, nlp.samples(text, 4000, seed=1), strict=True))


# -- documents ---------------------------------------------------------------------------------------------------------


def test_one_call_returns_everything_about_each_word(doc):
    assert len(doc) == len(doc.sentences) == 3
    assert [len(sentence) for sentence in doc] == [6, 6, 4]
    for sentence in doc:
        nonprojective(sentence.heads)  # raises unless it is a tree
        columns = (sentence.labels, sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats)
        assert [len(column) for column in (sentence.heads, *columns)] == [len(sentence)] * 7
        assert sentence.gap == sentence.bound - sentence.score >= -1e-6
        assert sentence.certified == sentence.statistics["certified"]
        for number, word in enumerate(sentence, 1):
            label, form = sentence.labels[number - 1], TEXT[word.start : word.end]
            assert (word.id, word.head, word.label, word.form) == (number, sentence.heads[number - 1], label, form)
            assert (word.deprel, word.text) == (label, form)
    assert list(doc.sents) == doc.sentences and doc[1] is doc.sentences[1]
    assert doc[0].upos == doc[0].xpos == ["DET", "NOUN", "VERB", "NOUN", "PART", "PUNCT"]
    assert doc[0].lemmas == ["den", "hund", "ser", "hus", "sovende", "."]
    assert doc[0].heads.tolist() == [2, 3, 0, 3, 2, 3]
    assert doc[0].labels == ["det", "nsubj", "root", "obj", "acl", "punct"]
    assert len(doc.words) == 16
    assert doc.certified == all(sentence.certified for sentence in doc)
    assert doc.gap == pytest.approx(sum(sentence.gap for sentence in doc), abs=1e-9)


def test_words_are_the_same_objects_at_each_access(doc):
    sentence = doc[0]
    assert all(word.parent is (sentence[word.head - 1] if word.head else None) for word in sentence)
    sentence.words.clear()  # a copy
    assert [word.id for word in sentence] == list(range(1, len(sentence) + 1))
    again = pickle.loads(pickle.dumps(sentence))
    assert again[0].sentence is again and again.words == sentence.words


def test_reprs_are_one_short_line(doc, nlp, path):
    assert repr(doc) == f"<{' '.join(TEXT.split())[:57]}...: 3 sentences, 16 words, 3 certified>"
    assert repr(doc[2]) == "<Hus kender hus.: 4 words, certified>"
    assert repr(nlp).startswith(f"TextParser({str(path)!r}: ") and repr(nlp).endswith("; tagger; parser)")
    assert (doc[0].text, str(doc)) == ("Den hund ser hus sovende.", TEXT)


def test_the_trees_are_those_of_the_parser(doc, nlp):
    for sentence in doc:
        tagged, parse = next(nlp.parser.parse_all([from_words(sentence.forms)]))
        assert [row[2:6] for row in tagged.rows] == [row[2:6] for row in sentence.sentence.rows]
        np.testing.assert_array_equal(sentence.heads, parse.decoded.heads)
        assert sentence.labels == parse.labels


def test_to_conllu_is_read_back(doc):
    text = doc.to_conllu(certificates=True)
    assert text.count("# nonproj certified = true\n") == 3
    for sentence, other in zip(doc, conll.read(io.StringIO(text), require_heads=True), strict=True):
        assert other.forms == sentence.forms
        assert other.labels == sentence.labels
        np.testing.assert_array_equal(other.heads, sentence.heads)
    assert "certified" not in doc.to_conllu()


def test_text_is_parsed_as_by_the_command_line(path, nlp, tmp_path, capsys):
    text = TEXT + "\n\nHund ser kat.\u00a0 Kat ser hund sovende" + TEXT
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    assert main(["parse", "--text", str(path), str(tmp_path / "in.txt")]) == 0
    assert nlp(text).to_conllu() == capsys.readouterr().out


def test_letters_that_are_composed_keep_their_places(nlp):
    """Forms are in Unicode's composed form, offsets count the characters of the text; so do control characters."""
    text = "Den ka\u030alhund ser\x07 hus. Hus ser hus."
    doc = nlp(text)
    forms = " ".join(word.form for word in doc.words)
    assert "\u00e5" in forms and "\u030a" not in forms
    for word in doc.words:
        assert unicodedata.normalize("NFC", text[word.start : word.end]) == word.form


def test_every_word_of_a_text_has_its_place():
    """Multiword tokens included."""
    text = (ROOT / "tests" / "prose" / "english.txt").read_text(encoding="utf-8")
    doc = nonproj.load("english")(text)
    covered = bytearray(len(text))
    tokens = [(word, *token) for sentence in doc for word, token in zip(sentence, _tokens(sentence), strict=True)]
    for word, form, _, size in tokens:
        assert text[word.start : word.end] == form
        assert form == word.form or size > 1
        covered[word.start : word.end] = b"x" * (word.end - word.start)
    assert any(size > 1 for *_, size in tokens)
    assert all(mark or character.isspace() for mark, character in zip(covered, text, strict=True))


def _tokens(sentence) -> list[tuple]:
    """The token that each word belongs to."""
    return [token for token in surface_tokens(sentence.sentence) for _ in range(token[2])]


def test_to_frame_has_a_row_for_each_word(doc, nlp):
    pytest.importorskip("pandas")
    frame = doc.to_frame()
    assert list(frame.columns[:4]) == ["sentence", "id", "form", "lemma"]
    assert frame.form.tolist() == [word.form for word in doc.words]
    assert frame["head"].tolist() == [word.head for word in doc.words]
    assert [TEXT[start:end] for start, end in zip(frame.start, frame.end, strict=True)] == frame.form.tolist()
    assert frame.groupby("sentence").size().tolist() == [6, 6, 4]
    assert frame.certified.all()
    assert nlp("").to_frame().shape == (0, len(frame.columns))
    assert nlp.parse(["hus"]).words[0].start is None


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"batch_size": 2}, {}, {"n_process": 2}], ids=repr)
def test_pipe_returns_documents_with_what_belongs_to_them(nlp, options):
    texts = [TEXT, "", "\n\n", "Hund ser kat.", ""] * 20
    given, expected = [(text, object()) for text in texts], [nlp(text).to_json() for text in texts[:5]] * 20
    found = list(nlp.pipe(iter(given), as_tuples=True, **options))
    assert [doc.to_json() for doc, _ in found] == [doc.to_json() for doc in nlp.pipe(texts, **options)] == expected
    assert all(context is own for (_, context), (_, own) in zip(found, given, strict=True))
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="n_process"):
            nlp.pipe(texts, n_process=wrong)


def test_a_frame_without_pandas_is_one_line(doc, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (doc.to_frame, lambda: nonproj.read_frame(io.StringIO(""))):
        with pytest.raises(DependencyError, match=r"^data frames need the package pandas; run: pip install "):
            call()


def test_pipe_reads_no_further_than_a_batch(nlp):
    taken = []

    def texts():
        for number in range(1000):
            taken.append(number)
            yield "Hund ser kat."

    stream = nlp.pipe(texts(), batch_size=8)
    for _ in range(5):
        next(stream)
    assert len(taken) <= 9


def test_text_must_be_a_string(nlp):
    with pytest.raises(TypeError, match="a text is of type bytes, a string is expected"):
        nlp(b"hund")
    with pytest.raises(DataError, match="surrogate"):
        nlp("hund \ud800")
    with pytest.raises(TypeError, match="a string is not a stream of texts; call the parser itself to parse one text"):
        nlp.pipe("hund")
    for item in ("hu", "hund", ("hund",), ("hund", 1, 2), 7):
        with pytest.raises(TypeError, match="with as_tuples, pairs of a text and a context are expected"):
            list(nlp.pipe([item], as_tuples=True))


def test_a_batch_has_a_sentence_at_least(nlp):
    for size, call in itertools.product((0, -1, 2.5, "3", None), (nlp.parse_all, nlp.pipe)):
        with pytest.raises(ValueError, match=f"^batch_size is {size}, a positive integer is expected$"):
            list(call(["hund"], batch_size=size))


def test_long_sentences_of_a_text_are_cut(path):
    doc = nonproj.load(path, max_words=20)("den hund ser " * 30)
    assert [word.form for word in doc.words] == ["den", "hund", "ser"] * 30
    assert max(map(len, doc)) <= 20
    assert len(doc) <= 9


# -- words and rows ----------------------------------------------------------------------------------------------------


def test_parse_takes_words_rows_sentences_and_token_lists(nlp, tmp_path):
    [sentence] = sentences(1, seed=5)
    text = treebank(1, seed=5)
    [tokens] = conllu.parse(text)
    expected = nlp.parse(sentence)
    for found in map(nlp.parse, (tokens, sentence.rows, [tuple(row[:5]) for row in sentence.rows])):
        np.testing.assert_array_equal(found.heads, expected.heads)
        assert (found.labels, found.upos) == (expected.labels, [row[3] for row in sentence.rows])
    assert nlp.parse(sentence.forms).forms == sentence.forms
    path = tmp_path / "a.conllu"
    path.write_text(treebank(5), encoding="utf-8")
    assert [len(parsed) for parsed in nlp.parse_all(path)] == [len(sentence) for sentence in sentences(5)]


NO_SENTENCES = [
    ("a string", "a string is not a list of words"),
    ([], "a sentence without words"),
    (["a", ""], "word 2 is ''"),
    (["a\tb"], "cannot contain a tab"),
    (["a\n"], "without line breaks"),
    ([3], "word 1"),
    ([["1"]], "word 1 has 1 columns"),
    ([["den", "hund"], ["den", "kat"]], "word 1 begins with 'den', its number expected; is this a list of sentenc"),
    (7, "a sentence is of type int; words, rows"),
]


@pytest.mark.parametrize(("tokens", "message"), NO_SENTENCES)
def test_what_is_no_sentence_is_named(nlp, tokens, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nlp.parse(tokens)


def test_token_lists_may_lack_columns(nlp):
    words = ["den", "hund", "ser", "."]
    bare = conllu.TokenList([{"form": word} for word in words])
    assert nlp.parse(bare).forms == words
    named = conllu.parse(treebank(1), fields=["id", "form", "lemma", "upostag"])[0]
    assert from_conllu(named).rows[0][3:5] == [sentences(1)[0].rows[0][3], "_"]
    assert conllu_text(conllu.TokenList([{"form": "a", "misc": {}, "deps": []}])).startswith("1\ta\t_")


# -- loading -----------------------------------------------------------------------------------------------------------


def test_load_changes_decoding_options(path, nlp):
    assert nonproj.load(path, projective=True, max_words=5).parser.request.options.projective
    with pytest.raises(DataError, match="max_words is 5"):
        nonproj.load(path, max_words=5).parse(["hund"] * 6)
    with pytest.raises(ConfigError, match=r"decoding.exakt.*decoding.exact"):
        nonproj.load(path, exakt=True)
    with pytest.raises(ModelError):
        nonproj.load(ROOT / "README.md")
    for wrong, name in ((3, "int"), (b"toy.nonproj", "bytes")):
        with pytest.raises(TypeError, match=f"the name of a model is of type {name}, a path is expected"):
            nonproj.load(wrong)
    for decided in (False, True):
        segmenter = nonproj.load(path, sentences_by_trees=decided).parser.segmenter
        assert (segmenter.tree_scores is not None) == decided
    copy = pickle.loads(pickle.dumps(nlp))
    assert copy(TEXT).to_conllu() == nlp(TEXT).to_conllu()
