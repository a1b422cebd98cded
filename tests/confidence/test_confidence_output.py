"""Confidence where users meet it: files, objects, the command line, calibration; and learnt from a real treebank."""

import dataclasses
import json
import random

import naive_confidence
import numpy as np
import pytest
import toy
from staged import staged

import nonproj
from nonproj.cli.main import main
from nonproj.components.trainer import train
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

SMALL = toy.FROM_GOLD_TAGS | dict.fromkeys(("training.epochs", "labeler.epochs", "network.epochs"), 2)
# The pruner is overconfident on the toy language, so all heads would be certain.
LOOSE = {"decoding.threshold": 1e-9}


@pytest.fixture(scope="module")
def path(model_of):
    """A model with a classifier."""
    return model_of("confident")


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
    parses = Parser(Model.load(path)).parse_all(conll.read(treebank))
    for sentence, (given, parse) in zip(parsed(path, treebank, "--confidence"), parses, strict=True):
        sure = parse.confidence
        assert any(line.startswith(f"# nonproj confidence = {round(sure.tree, 4)}") for line in sentence.lines)
        for row, old, p, q in zip(sentence.rows, given.rows, sure.heads, sure.labels, strict=True):
            items = [item.partition("=")[::2] for item in row[9].split("|")]
            found = dict(items)
            assert len(items) == len(found) and 0.0 < q <= p < 1.0
            assert float(found.pop("Confidence")) == pytest.approx(p, abs=0.0051)
            assert float(found.pop("LabelledConfidence")) == pytest.approx(q, abs=0.0051)
            assert found == ({} if old[9] == "_" else {"Gloss": "x", "Y": "1"})
    assert all("Labelled" not in line for s in parsed(path, treebank) for line in s.lines)


@pytest.mark.parametrize("words", [(), ("--jobs", "2")])
def test_what_is_below_the_minimum_is_left_out_or_marked(path, treebank, words):
    trees = [parse for _, parse in Parser(Model.load(path)).parse_all(conll.read(treebank))]
    minimum, missing = float(np.median(np.concatenate([tree.confidence.labels for tree in trees]))), 0
    for tree, left in zip(trees, parsed(path, treebank, "--min-confidence", str(minimum), *words), strict=True):
        for m, row in enumerate(left.rows):
            low, low_label = tree.confidence.heads[m] < minimum, tree.confidence.labels[m] < minimum
            assert row[6:8] == ["_" if low else str(tree.decoded.heads[m]), "_" if low_label else tree.labels[m]]
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


def test_a_model_without_a_classifier_says_so_in_one_line(model_of, treebank, capsys):
    without = str(model_of("small"))
    for words in ("parse --confidence", "parse --min-confidence 0.5", "evaluate --calibration -m"):
        assert main([*words.split(), without, str(treebank), "-q"]) == 2
        message = "the model has no confidence classifier; retrain it with confidence.share above 0"
        assert capsys.readouterr().err == f"nonproj: {without}: {message}\n"


REFUSED = [
    ("parse {0} {1} --min-confidence 1.5", "'1.5' is not a number from 0 to 1"),
    ("evaluate {1} {1} --calibration", "--calibration needs --model"),
    ("evaluate -m {0} {1} --text", "--text needs --calibration"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_wrong_options_are_refused(path, treebank, words, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.format(path, treebank).split())
    assert message in capsys.readouterr().err


def test_objects_and_tables_have_the_probabilities(path):
    nlp = nonproj.load(path)
    sentence = nlp.parse(["den", "hund", "ser", "hus", "."])
    assert [word.confidence for word in sentence] == sentence.confidence.heads.tolist()
    assert [word.label_confidence for word in sentence] == sentence.confidence.labels.tolist()
    assert sentence.statistics["confidence"] == round(sentence.confidence.tree, 4)
    document, off = (nonproj.load(path, confidence=each)("den hund ser hus.") for each in (True, False))
    assert document.to_frame()["confidence"].tolist() == [word.confidence for word in document.words]
    assert off[0].confidence is None and off.to_frame()["label_confidence"].isna().all()
    parser, given = DependencyParser.load(path), toy.sentences(5, 3)
    for (heads, sure), tree in zip(parser.predict_with_confidence(given), parser.predict(given), strict=True):
        assert heads.tolist() == tree.tolist() and len(sure.heads) == len(heads)


@pytest.mark.parametrize("options", [{"nbest": 3}, {"full": True}, {"projective": True}, {"single_root": True}])
def test_other_ways_of_decoding_have_probabilities(path, options):
    """Marginals, which are the first feature, do not depend on them."""
    model = Model.load(path, mmap=False)
    for name in (name for name in model.weights if name.endswith(("heads.values", "labels.values"))):
        model.weights[name][1:] = 0.0
    decodings = model.config.decoding, dataclasses.replace(model.config.decoding, **options)
    both = (Parser(model, decoding).parse_all(toy.sentences(20, 9)) for decoding in decodings)
    for (_, usual), (_, parse) in zip(*both, strict=True):
        assert len(parse.confidence.heads) == len(parse.labels)
        if np.array_equal(parse.decoded.heads, usual.decoded.heads):
            assert parse.confidence.heads == pytest.approx(usual.confidence.heads, abs=0.2)
        assert all(other.confidence is None for other in parse.others or ())


def test_spacy_tokens_have_the_probabilities(path):
    pipe = pytest.importorskip("spacy").blank("da")
    pipe.add_pipe("nonproj", config={"model": str(path)})
    doc = pipe("den hund ser hus  .")
    words = [token for token in doc if not token.is_space]
    sure = nonproj.load(path, single_root=True).parse([token.text for token in words]).confidence
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
    surest = sorted(range(200), key=lambda i: -p[i])[:150]
    assert judged.accuracy_of_surest(0.75) == pytest.approx(judged.right[surest].mean())
    assert 0.0 < judged.noise()[0] < min(0.1, judged.noise()[1])
    assert np.isnan(Outcomes(p, p < 2.0).area())


def test_calibration_is_reported(path, treebank, capsys):
    words = ["evaluate", "-m", str(path), str(treebank), "-q", "--calibration"]
    assert main([*words, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    judged = judge(Parser(Model.load(path), tags="all").parse_all(conll.read(treebank)))
    assert figures["heads"]["calibration_error"] == judged["heads"].calibration_error()
    assert figures["trees"]["count"] == 12
    assert main(words) == 0 and "heads and labels" in capsys.readouterr().out


# -- plain text

RAW = toy.QUICK | {"tagger.epochs": 2, "tagger.bits": 14, "segmenter.epochs": 2, "segmenter.bits": 14}
RAW |= {"network.epochs": 0, "confidence.share": 0.5}


def confused(count, seed):
    """Sentences with raw text, some of whose arcs and boundaries are drawn, so that parser and segmenter fail."""
    chance, found = random.Random(seed), ""
    for block in toy.raw_treebank(count, seed).strip().split("\n\n"):
        lines = [line.split("\t") for line in block.split("\n")[2:]]
        root = next(row[0] for row in lines if row[7] == "root")
        for row in lines:
            row[6] = root if row[7] != "root" and chance.random() < 0.1 else row[6]
        if chance.random() < 0.4:  # no full stop, and a small letter at the beginning
            lines = lines[:-1]
            lines[0][1] = lines[0][1].lower()
        found += "\n".join("\t".join(row) for row in lines) + "\n\n"
    return found


@pytest.fixture(scope="module")
def raw(tmp_path_factory, few_words):
    """A model with tagger, segmenter and classifiers for each kind of words, and a file with raw text."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "gold.conllu").write_text(confused(60, 5), encoding="utf-8")
    model = train(toy.read(confused(160, 4)), Config().with_overrides(SMALL | RAW | LOOSE))
    classifier = Parser(model).loaded.classifier
    assert all(getattr(classifier, kind) is not None for kind in ("given", "tagged", "text"))
    model.save(folder / "raw.nonproj")
    return folder / "raw.nonproj", folder / "gold.conllu"


def test_confidence_of_plain_text_counts_wrong_words_and_sentences(raw, capsys):
    figures = []
    for more in ([], ["--tag"], ["--text"]):
        assert main(["evaluate", "-m", *map(str, raw), "-q", "--calibration", "--json", *more]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    gold, nlp = list(conll.read(raw[1])), nonproj.load(raw[0])
    parsed = list(nlp.parser.parse_all(nlp.segment(raw_text(paragraphs(gold)).text)))
    verdicts = judge_text(gold, *zip(*((s, p.decoded.heads, p.labels) for s, p in parsed), strict=True))
    heads, trees = figures[2]["heads"], figures[2]["trees"]
    assert heads["count"] == sum(len(s) for s, _ in parsed)
    assert heads["right"] == np.concatenate([verdict.heads for verdict in verdicts]).mean()
    assert trees["right"] == np.mean([verdict.tree for verdict in verdicts]) < figures[0]["trees"]["right"]
    assert heads["mean"] < figures[0]["heads"]["mean"], "the segmenter's mistakes are part of it"
    assert abs(heads["mean"] - heads["right"]) < 0.1


def test_text_in_one_call_and_in_workers_has_the_same_confidence(raw, tmp_path):
    text, outputs = raw_text(paragraphs(conll.read(raw[1]))).text, []
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
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


@pytest.mark.thorough
def test_probabilities_are_learnt_from_a_treebank(treebanks):
    """They are near the share of right heads of sentences not seen, and rank them better than marginals."""
    sentences = list(conll.read(treebanks / "danish" / "danish_ddt_train.conll"))
    training, test = sentences[:300], sentences[-100:]
    model = train(training, Config().with_overrides(SMALL | {"confidence.share": 0.4}))
    assert model.meta["confidence"]["words"] > 1000
    parser, found = Parser(Model.from_bytes(model.to_bytes()), tags="none"), []
    judged = judge(parser.parse_all(test))
    for sentence in test:
        tree = parser.parse(sentence).decoded.heads
        p = marginals(staged(parser, sentence).first_order[0], parser.request.options.single_root)[0]
        found.append(p[tree, np.arange(1, len(tree) + 1)])
    heads = judged["heads"]
    assert heads.calibration_error() < 0.06 and judged["labels"].calibration_error() < 0.08
    assert heads.area() > Outcomes(np.concatenate(found), heads.right).area() + 0.01
    assert heads.accuracy_of_surest(0.5) > heads.right.mean() + 0.08 and judged["trees"].area() > 0.6
