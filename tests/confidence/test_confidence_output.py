"""Confidence where users meet it: files, objects, the command line, calibration; and learnt from a real treebank."""

from __future__ import annotations

import dataclasses
import io
import json
import random

import naive_confidence
import numpy as np
import pytest
import toy
from staged import staged

import nonproj
from nonproj.cli.main import main
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.confidence.classifier import TREE_FEATURES, AdditiveModel, Classifier, ConfidenceModels
from nonproj.confidence.evidence import FEATURES
from nonproj.errors import ModelError
from nonproj.evaluation.alignment import judge_text
from nonproj.evaluation.calibration import Outcomes, judge
from nonproj.integrations.estimator import DependencyParser
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.formats import TextInput
from nonproj.trees.marginals import marginals

SMALL = {"features.bits": 16, "pruner.bits": 16, "labeler.bits": 16, "training.epochs": 2, "labeler.epochs": 2}
SMALL |= {"tagger.epochs": 0, "segmenter.epochs": 0, "pruner.folds": 0, "network.epochs": 2}
# The pruner is overconfident on the toy language, so all heads would be certain.
LOOSE = {"decoding.threshold": 1e-9}


def by_marginals(model):
    """A classifier that knows marginals and labels only, for a model of the toy language, which makes no mistakes."""
    knots, values = np.zeros((len(FEATURES), 2)), np.zeros((len(FEATURES), 2))
    knots[0], values[0] = (-12.0, 12.0), (-4.0, 4.0)
    shares = np.linspace(-2.0, 1.0, len(model.labels))
    of_words = AdditiveModel(knots, values, shares, np.zeros(1), np.zeros(1))
    zeros = np.zeros((len(TREE_FEATURES), 2))
    trees = zeros + [[0.0, 1.0]], zeros + [[1.0, -1.0]]
    models = ConfidenceModels(of_words, of_words, AdditiveModel(*trees, np.zeros(1), np.zeros(1), np.zeros(1)))
    return Classifier(1e6, given=models)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A model of the toy language, and a classifier."""
    model = train(toy.sentences(30), Config().with_overrides(SMALL | LOOSE))
    assert "confidence" not in model.components
    folder = tmp_path_factory.mktemp("confidence")
    model.save(folder / "without.nonproj")
    meta, arrays = by_marginals(model).state()
    model.components["confidence"] = meta
    model.weights |= {f"confidence.{name}": array for name, array in arrays.items()}
    model.save(folder / "toy.nonproj")
    return folder / "toy.nonproj"


@pytest.fixture
def treebank(tmp_path):
    """A file with MISC: some words have a probability already."""
    rows = toy.treebank(12, seed=5).split("\n")
    rows = [row[:-1] + ("Gloss=x|Confidence=0.5|Y=1" if i % 2 else "_") if row else row for i, row in enumerate(rows)]
    (tmp_path / "in.conll").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path / "in.conll"


def parsed(path, treebank, *words):
    """The sentences that the command line writes."""
    target = treebank.with_name("out.conll")
    assert main(["parse", str(path), str(treebank), "-q", "-o", str(target), *words]) == 0
    return list(conll.read(target, ignore_heads=True))


def test_probabilities_are_written_into_misc(path, treebank):
    expected = dict(enumerate(Parser(Model.load(path)).parse_all(conll.read(treebank))))
    for i, sentence in enumerate(parsed(path, treebank, "--confidence")):
        given, parse = expected[i]
        sure = parse.confidence
        assert any(line.startswith(f"# nonproj confidence = {round(sure.tree, 4)}") for line in sentence.lines)
        for row, old, p, q in zip(sentence.rows, given.rows, sure.heads, sure.labels, strict=True):
            items = [item.partition("=")[::2] for item in row[9].split("|")]
            found = dict(items)
            assert len(items) == len(found)
            assert float(found.pop("Confidence")) == pytest.approx(p, abs=0.0051)
            assert float(found.pop("LabelledConfidence")) == pytest.approx(q, abs=0.0051)
            assert found == ({} if old[9] == "_" else {"Gloss": "x", "Y": "1"})
            assert 0.0 < q <= p < 1.0
    assert all("Labelled" not in line for s in parsed(path, treebank) for line in s.lines)


@pytest.mark.parametrize("words", [(), ("--jobs", "2")])
def test_what_is_below_the_minimum_is_left_out_or_marked(path, treebank, words):
    trees = [parse for _, parse in Parser(Model.load(path)).parse_all(conll.read(treebank))]
    minimum = float(np.median(np.concatenate([tree.confidence.labels for tree in trees])))
    fewer = parsed(path, treebank, "--min-confidence", str(minimum), *words)
    missing = 0
    for tree, left in zip(trees, fewer, strict=True):
        for m, row in enumerate(left.rows):
            head, label = str(tree.decoded.heads[m]), tree.labels[m]
            low, low_label = tree.confidence.heads[m] < minimum, tree.confidence.labels[m] < minimum
            assert row[6:8] == ["_" if low else head, "_" if low_label else label]
            missing += low_label
    assert missing > 5


def test_the_rest_can_be_parsed_around_what_is_sure(path, treebank):
    """Heads that are left out are found again where those that are left bind."""
    whole = parsed(path, treebank)
    parsed(path, treebank, "--min-confidence", "0.9")
    again = parsed(path, treebank.with_name("out.conll"), "--constraints", "head")
    assert [row[6] for s in again for row in s.rows] == [row[6] for s in whole for row in s.rows]


def test_records_have_the_probabilities(path, treebank):
    parsed(path, treebank, "--stats", str(treebank.with_name("stats")))
    records = [json.loads(line) for line in treebank.with_name("stats").read_text().splitlines()]
    for record, (_, parse) in zip(records, Parser(Model.load(path)).parse_all(conll.read(treebank)), strict=True):
        assert record["confidence"] == round(parse.confidence.tree, 4)
        assert record["head_confidence"] == pytest.approx(parse.confidence.heads, abs=1e-4)
        assert record["label_confidence"] == pytest.approx(parse.confidence.labels, abs=1e-4)


@pytest.mark.parametrize("words", [("--confidence",), ("--min-confidence", "0.5")])
def test_a_model_without_a_classifier_says_so_in_one_line(path, treebank, words, capsys):
    without = path.with_name("without.nonproj")
    assert main(["parse", str(without), str(treebank), "-q", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["evaluate", "-m", str(without), str(treebank), "-q", "--calibration"]) == 2
    message = capsys.readouterr().err
    assert message == f"nonproj: {without}: the model has no confidence classifier; retrain it with " + (
        "confidence.share above 0\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parse", "MODEL", "IN", "--min-confidence", "1.5"], "'1.5' is not a number from 0 to 1"),
        (["evaluate", "IN", "IN", "--calibration"], "--calibration needs --model"),
        (["evaluate", "-m", "MODEL", "IN", "--text"], "--text needs --calibration"),
    ],
)
def test_wrong_options_are_refused(path, treebank, words, message, capsys):
    words = [{"MODEL": str(path), "IN": str(treebank)}.get(word, word) for word in words]
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_objects_have_the_probabilities(path):
    nlp = nonproj.load(path)
    sentence = nlp.parse(["den", "hund", "ser", "hus", "."])
    assert [word.confidence for word in sentence] == sentence.confidence.heads.tolist()
    assert [word.label_confidence for word in sentence] == sentence.confidence.labels.tolist()
    assert sentence.statistics["confidence"] == round(sentence.confidence.tree, 4)
    pytest.importorskip("pandas")
    document = nlp("den hund ser hus.")
    frame = document.to_frame()
    assert frame["confidence"].tolist() == [word.confidence for word in document.words]
    off = nonproj.load(path, confidence=False)("den hund ser hus.")
    assert off[0].confidence is None
    assert off.to_frame()["label_confidence"].isna().all()


@pytest.mark.parametrize("options", [{"nbest": 3}, {"full": True}, {"projective": True}, {"single_root": True}])
def test_other_ways_of_decoding_have_probabilities(path, options):
    model = Model.load(path)
    parser = Parser(model, dataclasses.replace(model.config.decoding, **options))
    plain = Parser(model)
    for (_, parse), (_, usual) in zip(
        parser.parse_all(toy.sentences(20, 9)), plain.parse_all(toy.sentences(20, 9)), strict=True
    ):
        assert len(parse.confidence.heads) == len(parse.labels)
        same = np.array_equal(parse.decoded.heads, usual.decoded.heads)
        assert not same or parse.confidence.heads == pytest.approx(usual.confidence.heads, abs=0.2)
        assert all(other.confidence is None for other in parse.others or ())


def test_the_estimator_has_the_probabilities(path):
    parser = DependencyParser.load(path)
    pairs, trees = parser.predict_with_confidence(toy.sentences(5, 3)), parser.predict(toy.sentences(5, 3))
    for (heads, sure), tree in zip(pairs, trees, strict=True):
        assert heads.tolist() == tree.tolist()
        assert len(sure.heads) == len(heads)


def test_spacy_tokens_have_the_probabilities(path):
    spacy = pytest.importorskip("spacy")
    pipe = spacy.blank("da")
    pipe.add_pipe("nonproj", config={"model": str(path)})
    doc = pipe("den hund ser hus  .")
    sure = nonproj.load(path, single_root=True).parse([token.text for token in doc if not token.is_space]).confidence
    words = [token for token in doc if not token.is_space]
    assert [token._.confidence for token in words] == pytest.approx(sure.heads)
    assert [token._.label_confidence for token in words] == pytest.approx(sure.labels)
    assert next(doc.sents)._.confidence == pytest.approx(sure.tree)
    assert doc._.confidence == pytest.approx(sure.heads.mean())


# -- calibration


@pytest.mark.parametrize("seed", range(5))
def test_figures_of_calibration_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 21, 200) / 20 if seed % 2 else rng.random(200)
    judged = Outcomes(p, rng.random(200) < p)
    assert judged.calibration_error() == pytest.approx(naive_confidence.calibration_error(p, judged.right, 10))
    assert judged.area() == pytest.approx(naive_confidence.area(p, judged.right))
    best = sorted(range(200), key=lambda i: -p[i])[:150]
    assert judged.accuracy_of_surest(0.75) == pytest.approx(np.mean([judged.right[i] for i in best]))
    assert 0.0 < judged.noise()[0] < min(0.1, judged.noise()[1])
    assert np.isnan(Outcomes(p, p < 2.0).area())


def test_calibration_is_reported(path, treebank, capsys):
    words = ["evaluate", "-m", str(path), str(treebank), "-q", "--calibration"]
    assert main([*words, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    judged = judge(Parser(Model.load(path)).parse_all(conll.read(treebank)))
    assert figures["heads"]["calibration_error"] == judged["heads"].calibration_error()
    assert figures["trees"]["count"] == 12
    assert main(words) == 0
    assert "heads and labels" in capsys.readouterr().out
    with pytest.raises(ModelError, match="no confidence classifier"):
        judge(Parser(Model.load(path.with_name("without.nonproj"))).parse_all(conll.read(treebank)))


# -- plain text

RAW = {"tagger.epochs": 2, "segmenter.epochs": 2, "network.epochs": 0, "training.tags": "gold", "tagger.restarts": 1}
RAW |= {"confidence.share": 0.5, "tagger.bits": 14, "tagger.network_epochs": 2, "tagger.folds": 2, "segmenter.bits": 14}


def confused(count, seed):
    """Sentences with raw text, some of whose arcs and boundaries are drawn, so that parser and segmenter fail."""
    chance, found = random.Random(seed), []
    for block in toy.raw_treebank(count, seed).strip().split("\n\n"):
        lines = [line.split("\t") for line in block.split("\n")[2:]]
        for row in lines:
            if row[7] != "root" and chance.random() < 0.1:
                row[6] = next(other[0] for other in lines if other[7] == "root")
        if chance.random() < 0.4:  # no full stop, and a small letter at the beginning
            lines = lines[:-1]
            lines[0][1] = lines[0][1].lower()
        found.append("\n".join("\t".join(row) for row in lines) + "\n\n")
    return "".join(found)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A model with tagger, segmenter and classifier, and a file with raw text."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "gold.conllu").write_text(confused(60, 5), encoding="utf-8")
    training = list(conll.read(io.StringIO(confused(240, 4))))
    model = train(training, Config().with_overrides(SMALL | RAW | LOOSE))
    model.save(folder / "raw.nonproj")
    return folder / "raw.nonproj", folder / "gold.conllu"


def test_a_classifier_is_learnt_for_each_kind_of_words(raw):
    classifier = Parser(Model.load(raw[0])).loaded.classifier
    assert all(getattr(classifier, kind) is not None for kind in ("given", "tagged", "text"))


def test_confidence_of_plain_text_counts_wrong_words_and_sentences(raw, capsys):
    words = ["evaluate", "-m", str(raw[0]), str(raw[1]), "-q", "--calibration", "--json"]
    figures = []
    for more in ([], ["--tag"], ["--text"]):
        assert main([*words, *more]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    gold = list(conll.read(raw[1]))
    nlp = nonproj.load(raw[0])
    text = raw_text(paragraphs(gold)).text
    parsed = list(nlp.parser.parse_all(nlp.segment(text)))
    verdicts = judge_text(gold, *zip(*((s, p.decoded.heads, p.labels) for s, p in parsed), strict=True))
    of_text = figures[2]
    assert of_text["heads"]["count"] == sum(len(s) for s, _ in parsed)
    assert of_text["heads"]["right"] == np.concatenate([verdict.heads for verdict in verdicts]).mean()
    assert of_text["trees"]["right"] == np.mean([verdict.tree for verdict in verdicts]) < figures[0]["trees"]["right"]
    assert of_text["heads"]["mean"] < figures[0]["heads"]["mean"], "the segmenter's mistakes are part of it"
    assert abs(of_text["heads"]["mean"] - of_text["heads"]["right"]) < 0.1


def test_text_in_one_call_and_in_workers_has_the_same_confidence(raw, tmp_path):
    text = raw_text(paragraphs(conll.read(raw[1]))).text
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    outputs = []
    for jobs in ("1", "2"):
        out = tmp_path / f"{jobs}.conllu"
        words = ["parse", str(raw[0]), str(tmp_path / "in.txt"), "--text", "--confidence", "-j", jobs, "-q"]
        assert main([*words, "-o", str(out)]) == 0
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    written = [float(row[9].split("Confidence=")[1].split("|")[0]) for s in conll.read(out) for row in s.rows]
    assert written == pytest.approx([word.confidence for word in nonproj.load(raw[0])(text).words], abs=0.006)


def test_given_words_have_no_margins_and_given_lines_no_doubt_about_sentences(raw):
    nlp = nonproj.load(raw[0])
    text = "Den hund ser hus.\nden kat jager hus\n"
    assert all(sentence.boundary_margins is None for sentence in nlp.segment(text, TextInput("words")))
    lines = nlp.segment(text, TextInput("lines"))
    assert len(lines) == 2
    assert {abs(x) for sentence in lines for x in sentence.boundary_margins[:, 1].tolist()} == {1e6}
    assert all(sentence.boundary_margins is None for sentence in nonproj.load(raw[0], confidence=False).segment(text))


@pytest.fixture(scope="module")
def danish(treebanks):
    """Sentences of the Danish treebank to train on, and others."""
    sentences = list(conll.read(treebanks / "danish" / "danish_ddt_train.conll"))
    return sentences[:300], sentences[-100:]


@pytest.mark.thorough
def test_probabilities_are_learnt_from_a_treebank(danish):
    """They are near the share of right heads of sentences not seen, and rank them better than marginals."""
    options = {"confidence.share": 0.4, "training.tags": "gold"}
    model = train(danish[0], Config().with_overrides(SMALL | options))
    assert model.meta["confidence"]["words"] > 1000
    parser = Parser(Model.from_bytes(model.to_bytes()), tags="none")
    judged = judge(parser.parse_all(danish[1]))
    heads, found = judged["heads"], []
    for sentence in danish[1]:
        tree = parser.parse(sentence).decoded.heads
        scores = staged(parser, sentence).first_order[0]
        p = marginals(scores, parser.request.options.single_root)[0]
        found.append(p[tree, np.arange(1, len(tree) + 1)])
    assert heads.calibration_error() < 0.06
    assert heads.area() > Outcomes(np.concatenate(found), heads.right).area() + 0.01
    assert heads.accuracy_of_surest(0.5) > heads.right.mean() + 0.08
    assert judged["labels"].calibration_error() < 0.08
    assert judged["trees"].area() > 0.6
    text = io.StringIO()
    conll.write(((s, p.decoded.heads, p.labels) for s, p in parser.parse_all(danish[1][:3])), text)
    assert text.getvalue().count("\n\n") == 3


# -- training that is resumed

NOISY = SMALL | {"confidence.share": 0.5, "training.tags": "gold"}


@pytest.fixture(scope="module")
def noisy():
    """Sentences, and a model that was trained on them."""
    sentences = toy.noisy_sentences(160)
    return sentences, train(sentences, Config().with_overrides(NOISY))


def check_same_classifier(model, other):
    """Assert that two models have the same classifier, bit for bit, and the same facts about it."""
    assert model.components["confidence"] == other.components["confidence"]
    assert model.meta["confidence"] == other.meta["confidence"]
    names = [name for name in model.weights if name.startswith("confidence.")]
    assert len(names) > 10
    for name in names:
        assert model.weights[name].tobytes() == other.weights[name].tobytes()


@pytest.mark.thorough
def test_a_resumed_training_keeps_the_classifier(noisy, tmp_path, caplog):
    sentences, whole = noisy
    checkpoint = tmp_path / "checkpoint"
    train(sentences, Config().with_overrides(NOISY | {"training.epochs": 1}), run=RunOptions(checkpoint=checkpoint))
    caplog.clear()
    with caplog.at_level("INFO", "nonproj"):
        resumed = train(sentences, Config().with_overrides(NOISY), run=RunOptions(checkpoint=checkpoint, resume=True))
    assert "resuming after epoch 1" in caplog.text
    assert "confidence" not in caplog.text  # it is not learnt again
    check_same_classifier(resumed, whole)
    assert resumed.weights["parser"].tobytes() == whole.weights["parser"].tobytes()
