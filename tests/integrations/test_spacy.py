"""The spaCy component, with the real library."""

import os
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command import ROOT, run_python
from problems import draw_tree
from toy import sentences

import nonproj
from nonproj.errors import ConfigError, DataError, ModelError
from nonproj.io.objects import from_words
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.trees.crossing import nonprojective

spacy = pytest.importorskip("spacy")
from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

from nonproj.integrations.spacy import NonprojComponent  # noqa: E402

TAGS = {row[1]: row[3] for sentence in sentences(60) for row in sentence.rows}
TEXT = "den hund ser hus sovende. stor kat jager den mand løbende.  hus kender hus."


@Language.component("toy_tagger")
def toy_tagger(doc):
    """Set the only tag of each word of the toy language, as the tagger of another pipeline would."""
    for token in doc:
        if not token.is_space:
            token.pos_ = token.tag_ = TAGS[token.text]
    return doc


@pytest.fixture
def path(folder) -> Path:
    """A model file of the toy language without tagger."""
    return folder / "untagged"


@pytest.fixture
def nlp(path):
    """A pipeline of the toy tagger and the parser."""
    return pipeline(path)


def pipeline(path=None, first="toy_tagger", **config):
    """Return a pipeline of the toy tagger, or something else, and the parser."""
    nlp = spacy.blank("da")
    if first:
        nlp.add_pipe(first)
    nlp.add_pipe("nonproj", config={"model": str(path)} | config if path else {})
    return nlp


def words_of(doc) -> list[list]:
    """Return the tokens of each sentence without white space."""
    return [[token for token in sentence if not token.is_space] for sentence in doc.sents]


def trees(doc) -> list[list[int]]:
    """Return the heads of each sentence without white space, 0 for the root, numbered from 1."""
    found = []
    for words in words_of(doc):
        number = {token.i: n for n, token in enumerate(words, 1)}
        found.append([0 if token.head == token else number[token.head.i] for token in words])
    return found


def expected(path, doc) -> list:
    """Return the parses of the same sentences by the parser itself, with one root."""
    rows = [
        [(str(i), token.text, "_", token.pos_ or "_", token.tag_ or "_") for i, token in enumerate(words, 1)]
        for words in words_of(doc)
    ]
    model = Model.load(path)
    decoding = model.config.with_overrides({"decoding.single_root": True}).decoding
    return [parse for _, parse in Parser(model, decoding).parse_all(map(from_words, rows))]


# -- annotations -------------------------------------------------------------------------------------------------------


def test_a_document_gets_trees_labels_and_certificates(nlp, path):
    doc = nlp(TEXT)
    assert [sentence.text.strip() for sentence in doc.sents] == [f"{part.strip()}." for part in TEXT.split(".")[:-1]]
    crossing = 0
    for sentence, words, heads, parse in zip(doc.sents, words_of(doc), trees(doc), expected(path, doc), strict=True):
        assert heads == parse.decoded.heads.tolist()
        crossing += nonprojective(parse.decoded.heads).sum()
        labels = [label if head else "ROOT" for head, label in zip(heads, parse.labels, strict=True)]
        assert [token.dep_ for token in words] == labels
        assert sentence._.certified is bool(parse.decoded.certified)
        assert (sentence._.score, sentence._.bound) == (parse.decoded.score, parse.decoded.bound)
        assert sentence._.gap == parse.decoded.bound - parse.decoded.score
    assert crossing >= 2
    assert doc._.certified is True
    assert doc._.gap == pytest.approx(0.0, abs=1e-6)
    for attribute in ("DEP", "HEAD", "SENT_START"):
        assert doc.has_annotation(attribute, require_complete=True)


def test_white_space_depends_on_the_word_before_it_and_starts_no_sentence(nlp, path):
    doc = nlp("  den hund  ser \n\n hus .\n\n hus kender hus .   ")
    assert sum(token.is_space for token in doc) >= 5
    for token in doc:
        if token.is_space:
            assert token.head.i == (max((t.i for t in doc[: token.i] if not t.is_space), default=token.head.i))
            assert token.dep_ == "dep"
    assert list(map(len, words_of(doc))) == [5, 4]
    assert trees(doc) == [parse.decoded.heads.tolist() for parse in expected(path, doc)]
    for empty in map(nlp, ("", "   ", "\n")):
        assert (empty._.certified, empty._.gap) == (True, 0.0)


def test_sentences_survive_any_crossing_arcs(path):
    """SpaCy derives sentence starts from the leftmost descendants; ours must not depend on it."""
    rng = np.random.default_rng(0)
    component = NonprojComponent(model=str(path))
    for size in (3, 30, 120):
        doc = Doc(spacy.blank("da").vocab, words=["hus"] * (2 * size))
        heads = [draw_tree(rng, size) for _ in range(2)]
        for tree in heads:
            root, *others = np.flatnonzero(tree == 0)
            tree[others] = root
        [(_, one)] = component.parser.parse_all([from_words(["hus"] * size)])
        parses = [(None, one._replace(decoded=one.decoded._replace(tree=tree))) for tree in heads]
        component.tags = "none"  # there are no rows to take tags from
        component._set(doc, [(0, size), (size, 2 * size)], parses)
        assert trees(doc) == [tree[1:].tolist() for tree in heads]
        assert [len(sentence) for sentence in doc.sents] == [size, size]
        again = Doc(doc.vocab).from_bytes(doc.to_bytes())
        assert trees(again) == trees(doc)
        assert [sentence._.certified for sentence in again.sents] == [one.decoded.certified] * 2


# -- tags and sentences of others --------------------------------------------------------------------------------------


def test_sentence_starts_of_others_are_kept(path):
    nlp, text = pipeline(path), "den hund ser hus . hus kender hus ."
    doc = Doc(nlp.vocab, words=text.split(), sent_starts=[i in (0, 2) for i in range(9)])
    assert [sentence.start for sentence in nlp(doc).sents] == [0, 2]
    doc = nlp.make_doc(text)
    doc[2].is_sent_start = True
    assert [sentence.start for sentence in pipeline(path, sentences="rule")(doc).sents] == [0, 5]
    with_sentencizer = pipeline(path, "sentencizer")
    with_sentencizer.get_pipe("sentencizer").punct_chars = {"ser"}
    assert [sentence.start for sentence in with_sentencizer(text).sents] == [0, 3]


def test_everything_comes_from_a_model_of_text(model_of):
    """Sentence starts, tags and lemmas of a blank pipeline."""
    path = model_of("complete")
    text = "Den hund ser hus sovende. Stor kat jager den mand løbende.\n\nHus kender hus."
    for nlp in (spacy.blank("da"), spacy.blank("xx")):
        nlp.add_pipe("nonproj", config={"model": str(path)})
        doc = nlp(text)
        assert [sentence[0].text for sentence in doc.sents] == ["Den", "Stor", "Hus"]
        words = sum(words_of(doc), [])
        assert [token.pos_ for token in words] == [TAGS[token.text.lower()] for token in words]
        assert [token.lemma_ for token in words] == [token.text.lower() for token in words]
        assert [token.dep_ for token in words][:6] == ["det", "nsubj", "ROOT", "obj", "acl", "punct"]
        assert words[4].head.text == "hund"
        assert doc.has_annotation("TAG", require_complete=True)
        assert doc._.certified
    parsed = nonproj.load(path)(text)
    assert [s[0].start for s in parsed] == [sentence.start_char for sentence in doc.sents]
    rule = pipeline(path, None, sentences="rule")
    assert len(list(rule("Hus ser.hus ser hus. hus").sents)) == 2


def test_long_sentences_are_cut(path):
    nlp = pipeline(path, max_words=7)
    doc = nlp("stor lille " * 10 + " hund ser .")
    assert list(map(len, words_of(doc))) == [7, 7, 7, 2]
    assert sum(len(s) for s in doc.sents) == len(doc) == 24
    limited = pipeline(path, decoding={"max_words": 3})
    doc = Doc(limited.vocab, words=["hus"] * 5, sent_starts=[True] + [False] * 4)
    with pytest.raises(DataError, match="max_words is 3"):
        limited(doc)


# -- pipelines ---------------------------------------------------------------------------------------------------------


def all_of(doc) -> tuple:
    """Return the trees, labels, certificates and gap of a document."""
    return trees(doc), [t.dep_ for t in doc], [s._.score for s in doc.sents], doc._.certified, doc._.gap


def test_pipe_equals_one_call_for_each_text(nlp):
    texts = [TEXT, "", "hus kender hus.", " ", *[f"den {w} mand jager hus løbende." for w in ("stor", "lille")] * 30]
    for text, doc in zip(texts, nlp.pipe(texts, batch_size=7), strict=True):
        assert doc.text == text
        assert all_of(doc) == all_of(nlp(text))
    assert [trees(doc) for doc in nlp.pipe(texts[:4], n_process=2)] == [trees(nlp(text)) for text in texts[:4]]


def test_errors_go_to_the_handler(path):
    nlp = pipeline(path, decoding={"max_words": 3})
    seen = []
    nlp.set_error_handler(lambda name, component, docs, error: seen.append((name, len(docs), str(error))))
    assert len(list(nlp.pipe(["hus ser.", "den hund ser hus.", "hus."], batch_size=1))) == 2
    assert [(name, count) for name, count, _ in seen] == [("nonproj", 1)]
    assert "max_words is 3" in seen[0][2]


def test_a_pipeline_survives_disk_bytes_and_pickle(path, tmp_path):
    copy = tmp_path / "gone.nonproj"
    copy.write_bytes(path.read_bytes())
    nlp = pipeline(copy, max_words=9)
    before = nlp(TEXT)
    nlp.to_disk(tmp_path / "pipeline")
    content = nlp.to_bytes()
    copy.unlink()
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.get_pipe("nonproj").max_words == 9
    from_bytes = pipeline()
    from_bytes.get_pipe("nonproj").from_bytes(nlp.get_pipe("nonproj").to_bytes())
    for other in (loaded, from_bytes, pipeline().from_bytes(content)):
        assert trees(other(TEXT)) == trees(before)
    component = pickle.loads(pickle.dumps(nlp.get_pipe("nonproj")))
    assert trees(component(toy_tagger(nlp.make_doc(TEXT)))) == trees(before)
    assert all_of(Doc(nlp.vocab).from_bytes(before.to_bytes())) == all_of(before)


WRONG_OPTIONS = [
    ({"sentences": "none"}, ValueError, "sentences: 'none' is invalid, one of auto, segmenter, rule expected"),
    ({"max_words": 0}, ValueError, "max_words: 0"),
    ({"decoding": {"exakt": True}}, ConfigError, "decoding.exakt"),
    ({"model": str(ROOT / "README.md")}, ModelError, "not a model"),
    ({"model": "none.nonproj"}, ModelError, r"none.nonproj: no such file"),
]


@pytest.mark.parametrize(("config", "error", "message"), WRONG_OPTIONS)
def test_invalid_options_are_named_when_the_component_is_added(path, config, error, message):
    with pytest.raises(error, match=message):
        pipeline(path, **config)


def test_a_component_without_a_model_says_so_at_the_first_document():
    """A component may be made before its model is read."""
    with pytest.raises(ModelError, match="'nonproj'.* has no model"):
        NonprojComponent()(spacy.blank("da").make_doc("hus"))


def test_without_a_model_the_component_has_the_default_and_questions_another_language(tmp_path, caplog):
    caplog.set_level("WARNING", "nonproj")  # other tests may have run quiet commands
    nlp = spacy.blank("de")
    nlp.add_pipe("nonproj")
    assert [each.getMessage() for each in caplog.records if "language" in each.getMessage()] == [
        "the pipeline is of the language de, but the model of en"
    ]
    nlp.to_disk(tmp_path)
    caplog.clear()
    assert spacy.load(tmp_path)("It rains.")[1].dep_ == "ROOT"
    spacy.blank("en").add_pipe("nonproj")
    assert "language" not in caplog.text


def test_spacy_finds_the_component_by_its_entry_point(path, tmp_path):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    info = tmp_path / "nonproj-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nonproj\nVersion: 0.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[spacy_factories]\n{lines}")
    code = f"""
import spacy
nlp = spacy.blank("da")
nlp.add_pipe("nonproj", config={{"model": {str(path)!r}}})
print(nlp("hus kender hus .")._.certified, nlp.get_pipe("nonproj").__class__.__module__)
"""
    done = run_python(code, cwd=tmp_path, PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT))))
    assert done.stdout == "True nonproj.integrations.spacy\n"
