"""Models with a pretrained encoder: files, batches, processes, exactness, and what they refuse."""

import random
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from encoders import WORDS, random_scorer, write_folder  # noqa: E402
from staged import scored, staged  # noqa: E402
from toy import treebank  # noqa: E402

from nonproj.cli.main import main  # noqa: E402
from nonproj.dual.check_proofs import check_line  # noqa: E402
from nonproj.dual.proofs import as_line  # noqa: E402
from nonproj.errors import ModelError, install_command, needs  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.io.objects import from_words  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.pipeline.parser import Parser, tree_scores  # noqa: E402
from nonproj.scoring.encoders.heads import EncodedSentence  # noqa: E402
from nonproj.scoring.encoders.scorer import EncoderScorer  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "model.nonproj"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """A model with linear weights and an encoder."""
    folder = tmp_path_factory.mktemp("model")
    model = Model.load(GOLDEN)
    model.add_component("encoder", random_scorer(write_folder(folder / "encoder"), len(model.labels)).state())
    model.save(folder / "encoder.nonproj")
    return folder / "encoder.nonproj"


@pytest.fixture(scope="module")
def parser(file) -> Parser:
    """Its parser."""
    return Parser(Model.load(file))


def sentences_of(count: int, seed: int = 0):
    """Return sentences of random words, some of which the encoder cuts into pieces."""
    chance = random.Random(seed)
    known = [*WORDS, "unbelievable", "den", "hund", "."]
    return [from_words(chance.choices(known, k=chance.randint(1, 9))) for _ in range(count)]


def write(count: int, seed: int, folder: Path) -> str:
    """Write such sentences into a file in a folder, and return its path."""
    given = sentences_of(count, seed)
    conll.write(((sentence, np.zeros(len(sentence), np.int32)) for sentence in given), folder / "in.conll")
    return str(folder / "in.conll")


def trees(parses) -> list[tuple[list[int], list[str]]]:
    """Return heads and labels."""
    return [(parse.decoded.heads.tolist(), parse.labels) for parse in parses]


def test_scores_are_added_to_those_of_the_linear_model(parser):
    linear, [sentence] = Parser(Model.load(GOLDEN)), sentences_of(1, 3)
    parts, scores = scored(parser, sentence)
    own, pretrained = scored(linear, sentence, parts.arcs)[1], parser.loaded.pretrained
    [vectors] = pretrained.encoder.vectors([sentence.forms])
    encoded = EncodedSentence(pretrained.heads, vectors)
    each = zip(parts.types, parts.starts, strict=True)
    added = [encoded.parts(part_type.name, part_type.rows(parts.arcs, start).nodes) for part_type, start in each]
    np.testing.assert_allclose(scores, own + 3.0 * np.concatenate(added), rtol=1e-12)
    tree = np.array([-1, *range(len(sentence))])
    of_labels = [each.loaded.labeler.scores(staged(each, sentence).joined, tree) for each in (parser, linear)]
    np.testing.assert_allclose(of_labels[0] - of_labels[1], 2.0 * encoded.labels(tree), atol=1e-9)


def test_trees_of_doubtful_sentences_are_scored_without_the_encoder(parser, monkeypatch):
    """It would have to read each alternative."""
    linear, given = Parser(Model.load(GOLDEN)), sentences_of(20, 5)
    expected, apart = tree_scores(linear, given), parser.with_request(encoder=False)
    assert trees(map(apart.parse, given)) == trees(map(linear.parse, given)) != trees(map(parser.parse, given))
    by_trees = Parser(parser.model, replace(parser.decoding, sentences_by_trees=True))
    monkeypatch.setattr(EncoderScorer, "vectors", lambda *_: pytest.fail("the encoder reads"))
    np.testing.assert_array_equal(by_trees.segmenter.tree_scores(given), expected)


def test_a_batch_changes_nothing(parser):
    given = sentences_of(60)
    together = [parse for _, parse in parser.parse_all(given)]
    assert trees(together) == trees(map(parser.parse, given))
    backwards = [parse for _, parse in parser.parse_all(given[::-1], 7)]
    assert trees(together) == trees(backwards[::-1])


def test_processes_and_full_and_several_trees(file, tmp_path):
    words = ["parse", str(file), write(40, 1, tmp_path), "-o"]
    for options in ([], ["--full"], ["--nbest", "3"]):
        targets = [tmp_path / "one.conll", tmp_path / "two.conll"]
        for jobs, target in enumerate(targets, 1):
            assert main([*words, str(target), "--jobs", str(jobs), *options]) == 0
        assert targets[0].read_bytes() == targets[1].read_bytes()


def test_certified_trees_are_proved(file):
    """The checker confirms the proofs of single trees and of several, many of which needed branch and bound."""
    branched = 0
    for k in (1, 3):
        model = Model.load(file)
        parser = Parser(model, replace(model.config.decoding, nbest=k), proofs=True)
        for _, parse in parser.parse_all(sentences_of(60, 7)):
            heads, verdict = check_line(as_line(parse.proof))
            trees = (parse, *(parse.others or ()))
            assert heads == [each.decoded.heads.tolist() for each in trees]
            assert verdict.status != "open" and all(each.decoded.certified for each in trees)
            branched += len(parse.proof["search"]) > 1
    assert branched > 20


def test_a_missing_package_is_named(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert main(["parse", str(file), write(1, 0, tmp_path)]) == 2
    assert install_command("encoder") in capsys.readouterr().err


@pytest.mark.parametrize(("name", "value"), [("scale", 0.0), ("label_scale", -1.0), ("scale", float("nan"))])
def test_scales_of_strangers_are_checked(file, name, value):
    model = Model.load(file)
    model.components["encoder"][name] = value
    with pytest.raises(ModelError, match="scale of the encoder's scores"):
        _ = Parser(model).loaded.pretrained


def test_an_encoder_for_other_labels_is_refused(file):
    model = Model.load(file)
    with pytest.raises(ModelError, match="the encoder's array 'label_.*' has shape"):
        model.loaded(EncoderScorer, len(model.labels) - 1)


@pytest.fixture
def train_with(tmp_path, monkeypatch):
    """Trains by the command line with an encoder, and fails if anything is learnt before the encoder is looked at."""
    source, torch = tmp_path / "toy.conll", ModuleType("torch")
    source.write_text(treebank(20), encoding="utf-8")
    torch.__spec__ = ModuleSpec("torch", None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    fit = "nonproj.components.segmenter.SegmenterComponent.fit"
    monkeypatch.setattr(fit, lambda *_: pytest.fail("a stage has begun"))
    return lambda encoder: main(["train", str(source), "-o", str(tmp_path / "model"), "--encoder", str(encoder)])


@pytest.mark.parametrize("package", ["torch", "tokenizers", "onnxruntime", "safetensors"])
def test_training_names_what_is_missing_before_it_begins(package, train_with, tmp_path, monkeypatch, capsys):
    folder = write_folder(tmp_path / "encoder")
    monkeypatch.setitem(sys.modules, package, None)
    assert train_with(folder) == 2
    assert needs("fine-tuning needs", package, "train-encoder") in capsys.readouterr().err


def test_training_refuses_what_is_no_encoder_before_it_begins(train_with, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for name, message in (("none", "there is no folder"), ("empty", "config.json")):
        assert train_with(tmp_path / name) == 2
        assert message in capsys.readouterr().err
