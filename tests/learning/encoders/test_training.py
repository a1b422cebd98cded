"""Fine-tuning: PyTorch computes what parsers compute, and a tiny encoder learns a tiny language."""

from pathlib import Path

import numpy as np
import pytest
import staged
from fine_tuning import SMALL, examples, heads_alone, learner_of, options, shares
from further import Interrupt, weights_of
from toy import noisy_sentences, treebank

torch = pytest.importorskip("torch")

from nonproj.cli.main import main  # noqa: E402
from nonproj.components.base import RunOptions  # noqa: E402
from nonproj.components.trainer import train  # noqa: E402
from nonproj.errors import ModelError  # noqa: E402
from nonproj.evaluation.calibration import judge  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.io.copies import with_rows  # noqa: E402
from nonproj.learning.encoders.module import BiaffineModule, TagHead  # noqa: E402
from nonproj.parts.arcs import full_arc_space  # noqa: E402
from nonproj.parts.space import part_space  # noqa: E402
from nonproj.pipeline.parser import Parser  # noqa: E402
from nonproj.scoring.encoders.architecture import read_folder  # noqa: E402
from nonproj.scoring.encoders.heads import BiaffineLayers, EncodedSentence  # noqa: E402
from nonproj.scoring.encoders.session import Encoder  # noqa: E402
from nonproj.scoring.encoders.tags import TagLayer  # noqa: E402
from nonproj.tagging.network import sum_parts  # noqa: E402
from nonproj.tagging.tagset import TagSet  # noqa: E402


@pytest.fixture(scope="module")
def model(folder, sentences):
    """A model whose encoder scores almost alone."""
    return train(sentences, options(folder))


def test_vectors_are_those_of_the_runtime(folder):
    texts = [["den", "hund", "ser", "."], ["kathund", "sovende"], ["."]]
    learner = learner_of(folder)
    learner.bert.eval()
    with torch.no_grad():
        vectors, first = learner.vectors(examples(folder, texts))
    found = read_folder(folder)
    runtime = Encoder(found.architecture, learner.bert.arrays(), found.tokenizer).vectors(texts)
    for i, own in enumerate(runtime):
        np.testing.assert_allclose(vectors[first[i] : first[i + 1]].numpy(), own, atol=1e-4)


def drawn(layers):
    """Layers with random weights."""
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.normal_(0.0, 0.3)
    return layers


@pytest.mark.parametrize("name", ["arc", "sibling", "grandparent"])
def test_scores_are_those_of_the_runtime(name):
    rng, layers = np.random.default_rng(0), drawn(BiaffineModule(16, 3, 0.0))
    vectors, parts = rng.normal(size=(5, 16)).astype(np.float32), part_space(full_arc_space(4), name)
    own = {key: value.detach().numpy() for key, value in layers.named_parameters()}
    runtime, tensor, tree = EncodedSentence(BiaffineLayers(own), vectors), torch.from_numpy(vectors), [-1, 2, 0, 2, 3]
    hidden = {key: layers.hidden(key, tensor) for key in ("arc_head", "arc_modifier", "label_head", "label_modifier")}
    labels = layers.labels(hidden["label_head"][tree[1:]], hidden["label_modifier"][1:])
    pairs = [(runtime.of_arcs, layers.arcs(hidden["arc_head"], hidden["arc_modifier"]))]
    pairs.append((runtime.labels(np.array(tree)), labels))
    for i, part_type in enumerate(parts.types[1:], 1):
        nodes = part_type.rows(parts.arcs, parts.starts[i]).nodes
        factors, rows = layers.factors(part_type.name, tensor), torch.from_numpy(nodes.astype(np.int64))
        scores = runtime.parts(part_type.name, nodes)
        pairs.append((scores, layers.trilinear(part_type.name, factors, rows)))
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-4, atol=1e-4)


def test_scores_of_tags_are_those_of_the_runtime():
    tags = TagSet([("N", "_", "Case=Acc"), ("N", "_", "Case=Nom|Number=Sing"), ("V", "_", "_")])
    layer, vectors = drawn(TagHead(16, tags, 0.0)), np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    own = {key: value.detach().numpy() for key, value in layer.named_parameters()}
    found = TagLayer(own).hidden(vectors) @ sum_parts(own["tag_output"], tags).T
    np.testing.assert_allclose(found, layer(torch.from_numpy(vectors)).detach().numpy(), rtol=1e-4, atol=1e-4)


def test_an_encoder_learns_tags(folder, sentences):
    """Alone; of forms that the tagger has seen, and of tags that it does not decide by itself."""
    parser = Parser(train(sentences, options(folder, tagger__epochs=1, tagger__network_epochs=0, seed=1)), tags="all")
    tags, encoded = parser.loaded.analyzer.tags, parser.loaded.encoded_tags
    hidden = encoded.hidden([sentence.forms for sentence in sentences])
    alone = [tags.tags[number] for number in (hidden @ encoded.of_tags.T).argmax(axis=1).tolist()]
    both = sentences, staged.tagged(parser, sentences)
    gold, tagged = ([tuple(row[3:6]) for s in each for row in s.rows] for each in both)
    assert len(tags) > 4
    for found in (alone, tagged):
        assert np.mean([a == b for a, b in zip(found, gold, strict=True)]) > 0.97


def test_an_encoder_learns_from_the_likelihood_of_trees(folder, sentences):
    found = train(sentences, options(folder, encoder__losses="trees-structures"))
    assert heads_alone(Parser(found), sentences) >= 0.95


def test_an_encoder_learns(model, sentences):
    parser = Parser(model)
    assert min(shares(parser, sentences)) >= 0.97 and heads_alone(parser, sentences) >= 0.95


def test_the_command_trains(folder, tmp_path, capsys):
    source, output, parsed = (str(tmp_path / name) for name in ("toy.conll", "toy.nonproj", "out.conll"))
    Path(source).write_text(treebank(30), encoding="utf-8")
    changes = [f"--set={key}={value}" for key, value in (SMALL | {"encoder.epochs": 1}).items()]
    words = ["train", source, "-o", output, "--held-out", "0", *changes, "--encoder"]
    assert main([*words, str(folder)]) == main(["parse", output, source, "-o", parsed]) == 0
    assert len(list(conll.read(parsed))) == 30
    assert main(["inspect", output, "--card"]) == 0
    assert "encoder" in (shown := capsys.readouterr().out) and "(bert), licence: mit" in shown
    assert main([*words, str(tmp_path / "none")]) == 2
    assert "encoder.folder: there is no folder" in capsys.readouterr().err


def test_an_interrupted_run_goes_on(folder, sentences, model, tmp_path):
    """Ctrl-C in the fifth epoch of the encoder; the resumed run repeats no epoch and ends with the same model."""
    config, path = options(folder), tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        train(sentences, config, run=RunOptions(checkpoint=path, progress=Interrupt("encoder 5")))
    assert list(tmp_path.iterdir()) == [path]
    progress = Interrupt()
    found = train(sentences, config, run=RunOptions(checkpoint=path, resume=True, progress=progress))
    epochs = [name for name in progress.begun if name.startswith("encoder")]
    assert epochs == [f"encoder {epoch}" for epoch in range(5, 13)] and list(tmp_path.iterdir()) == [path]
    assert weights_of(found) == weights_of(model)


def test_confidence_is_learnt_with_a_second_encoder(folder, caplog, few_words):
    """Every other determiner has a head that nobody can know; half of the sentences are held out."""
    with caplog.at_level("INFO", "nonproj"):
        model = train(noisy_sentences(200), options(folder, confidence__share=0.5))
    epochs = [message for message in caplog.messages if message.startswith("confidence: encoder, epoch")]
    assert len(epochs) == SMALL["encoder.epochs"] / 2 and 0.7 < model.meta["confidence"]["uas"] < 0.95
    heads = judge(Parser(model).parse_all(noisy_sentences(400)[200:]))["heads"]
    assert heads.calibration_error() < 0.1 and heads.area() > 0.8


def test_a_script_that_the_encoder_does_not_know_is_warned_of(folder, caplog):
    for form, warned in (("\u2c80\u2c83", True), ("hund", False)):
        sentences = [with_rows(s, [[row[0], form, *row[2:]] for row in s.rows]) for s in noisy_sentences(10)]
        with caplog.at_level("WARNING", "nonproj"):
            train(sentences, options(folder, encoder__epochs=1))
        assert ("does not know the characters of 100 % of the words" in caplog.text) is warned
        caplog.clear()


def test_the_state_of_another_encoder_is_refused(folder):
    learner, other = learner_of(folder), learner_of(folder)
    text = examples(folder, [["den", "hund", "ser", "."]])
    for each in (learner, other):
        each.epoch(text, 0, lambda items: items)
    values, arrays = learner.state(1)
    assert other.restore(values, arrays) == 1
    assert all(map(torch.equal, learner.bert.parameters(), other.bert.parameters()))
    missing = {name: array for name, array in arrays.items() if name != "3.exp_avg"}
    wrong = arrays | {"3.value": np.zeros(2, np.float32)}
    for state in ((values, missing), (values, wrong), (values | {"step": "1"}, arrays)):
        with pytest.raises(ModelError, match="not the state of this encoder's training"):
            other.restore(*state)
