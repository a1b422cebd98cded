"""Word vectors: files in word2vec's text format, and the rows that networks learn for words that the treebank lacks."""

import gzip
import struct
from dataclasses import replace

import naive_network
import numpy as np
import pytest
from further import Interrupt, weights_of, with_vectors
from staged import encoded, scored
from threadpoolctl import threadpool_limits
from toy import draw_sentence, sentences

from nonproj.cli.main import main
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError, FileError, ModelError
from nonproj.io.objects import from_words
from nonproj.learning.network import ArcExample, TrainableArcNetwork
from nonproj.model.model import Model
from nonproj.networks.hyperparameters import arc_hyperparameters
from nonproj.options.sections import NetworkConfig
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parser import Parser
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vectors import VECTOR, WordNumbers, WordVectors, chosen_rows
from nonproj.scoring.vocabulary import TokenEncoder

ROWS = {"the": [1.0, -2.0, 0.5], "Haus": [0.0, 0.25, 3.0], "New York": [1.5, 1.0, -1.0], "ñandú": [0.125, 0.0, 0.0]}


def text(header=True, end="\n"):
    lines = [f"{len(ROWS)} 3"] * header + [f"{word} {' '.join(map(str, row))}" for word, row in ROWS.items()]
    return "".join(line + end for line in lines).encode()


FILES = {"text": text(), "without header": text(header=False), "of Windows": text(end="\r\n"), "blank": text(end=" \n")}
FILES |= {"gzip": gzip.compress(text(), mtime=0)}


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_read(name, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(FILES[name])
    found = WordVectors.read(path, 100)
    expected = {word: row for word, row in ROWS.items() if " " not in word}  # no token has a blank
    assert sorted(found.words) == sorted(expected) and found.table.dtype == np.float32
    length = np.sqrt(np.mean([np.sum(np.square(row)) for row in expected.values()]))
    for word, row in zip(found.words, found.table, strict=True):
        np.testing.assert_allclose(row * length, expected[word], atol=1e-6)
    assert np.square(found.table).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_long_lines_are_read(pack, tmp_path):
    path, row = tmp_path / "vectors", " ".join(["-1.23456789e-02"] * 2000)
    path.write_bytes(pack(f"2 2000\n1e5 {row}\nb {row}\n".encode()))
    found = WordVectors.read(path, 10)
    assert found.words == ["1e5", "b"] and found.table.shape == (2, 2000)


def test_frequent_words_and_wanted_ones_are_kept(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"".join(f"w{i} {i} 1\n".encode() for i in range(100)) + b"w3 9 9\n")
    assert WordVectors.read(path, 3).words == ["w0", "w1", "w2"]
    assert WordVectors.read(path, 2, ["w70", "w1", "x"]).words == ["w0", "w1", "w70"]
    vectors = WordVectors.read(path, 1000)
    assert len(vectors.words) == 100
    assert vectors.table[3, 0] / vectors.table[3, 1] == pytest.approx(3.0)  # the first of two lines


FASTTEXT = struct.pack("<2i", 793712314, 12) + b"\0" * 100


REFUSED = [
    (None, FileError, ".*no such file"),
    *((data, FileError, ".*has no word vectors") for data in (b"", b"3 2\n", b"2 3\n" + bytes(range(1, 32)) * 400)),
    (b"one\n", DataError, ":1: the numbers of words and dimensions are expected"),
    (b"2 2\na 1 2\nb 1\n", DataError, ":3: a word and 2 numbers"),
    (b"2 2\na 1 2\nb 1 x\n", DataError, ":3: a word and 2 numbers"),
    *((content, DataError, ":2: a number is not finite") for content in (b"2 2\na 1 nan\n", b"1 2\na 1 1e39\n")),
    (b"1 9999999\na 1\n", DataError, ":1: the numbers of words and dimensions"),
    (b"2 2\na 1 2\n" + b"b" * 10_000 + b"\n", DataError, ":3: the line is longer"),
    (b"1 2\na " + struct.pack("<2f", 1.0, 2.0), DataError, ":2: a word and 2 numbers"),
    (gzip.compress(text(), mtime=0)[:-12], FileError, ".*cannot be read"),
    (gzip.compress(text(), mtime=0)[:20] + bytes(range(100)), FileError, ".*cannot be read"),
    (FASTTEXT, FileError, ".*model of fastText .*print-word-vectors"),
    (gzip.compress(FASTTEXT, mtime=0), FileError, ".*model of fastText .*print-word-vectors"),
]


@pytest.mark.parametrize(("content", "error", "message"), REFUSED)
def test_other_files_are_refused(content, error, message, tmp_path):
    path = tmp_path / "vectors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=f"^{path}{message}") as caught:
        WordVectors.read(path, 100)
    assert "\n" not in str(caught.value)


def test_numbers_of_words_are_saved_and_checked():
    numbers = WordNumbers(["der", "Der", "haus"])
    assert numbers.of(["Der", "DER", "HAUS", "x"]).tolist() == [1, 0, 2, -1]
    assert WordNumbers.from_text(numbers.text()).words == numbers.words
    for damaged in (b"a\nb\na", b"\xff", b"a\x07"):
        with pytest.raises(ModelError):
            WordNumbers.from_text(np.frombuffer(damaged, np.uint8))


def test_words_with_vectors_have_rows():
    """Also those that were never seen; scores are those of the definition with these rows."""
    rng = np.random.default_rng(0)
    sentence, other = draw_sentence(rng, 6), draw_sentence(rng, 6)
    words, files = [*dict.fromkeys(form.lower() for form in sentence.forms), "never"], load_templates()
    encoder = TokenEncoder.from_sentences([sentence, other], attributes_of(files), rare=1, vectors=words)
    assert encoder.vocabularies[VECTOR] == words
    table, tokens = rng.normal(size=(len(words), 3)).astype(np.float32), encoder.encode(sentence)
    example = ArcExample(tokens, sentence.tree, full_arc_space(6), np.zeros(6, np.int64))
    hyper = replace(arc_hyperparameters(NetworkConfig(size=2)), projection_rate=0.5)
    learner = TrainableArcNetwork(encoder.vocabularies, [example] * 2, 2, hyper, rng, WordVectors(words, table))
    network, projection = learner.network(1.0, 1.0), learner.layers.projection
    assert projection.steps.rate == 0.5
    begin = network.columns.start[learner.names.index((VECTOR, 0))] + 5
    assert not learner.index[begin : begin + len(words)].any()
    rows, projected = network.index[begin : begin + len(words)], table @ projection.matrix
    scale = np.abs(projected).max() / np.abs(network.weights.words[rows]).max()
    np.testing.assert_allclose(network.weights.words[rows] * scale, projected, atol=1e-4)
    assert naive_network.rows_of(sentence, encoder.vocabularies, network.index, 1).count(rows[0]) == 1
    chosen = chosen_rows(table, np.array([4, -1, 0, 4]))
    assert chosen.tolist() == [table[4].tolist(), [0.0] * 3, table[0].tolist(), table[4].tolist()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file of vectors, sentences, and a model that has learnt from both."""
    path, given = tmp_path_factory.mktemp("vectors") / "a.vec", sentences(40)
    rng = np.random.default_rng(0)
    forms = sorted({form.lower() for sentence in given for form in sentence.forms})
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}" for word in [*forms, "qqxqz", "other"]]
    path.write_text(f"{len(lines)} 4\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path, given, train(given, with_vectors(path))


def test_models_with_vectors_need_no_file(trained, tmp_path, capsys):
    path, given, model = trained
    saved, n_words = tmp_path / "a.nonproj", len(path.read_text().splitlines()) - 1
    model.save(saved)
    assert main(["inspect", str(saved), "--card"]) == 0
    assert f"| word vectors | `a.vec`, {n_words} words; the terms" in capsys.readouterr().out
    parsers = [Parser(each, tags="all") for each in (Model.load(saved), model)]
    heads = [[parser.parse(s).decoded.heads.tolist() for s in given[:5]] for parser in parsers]
    assert heads[0] == heads[1]
    loaded = parsers[0].loaded
    network, words = loaded.analyzer.tagger.network, loaded.model.vocabularies[VECTOR]
    assert network.words.words == words and words[-2:] == ["qqxqz", "other"]
    forms = ["qqxqz", "QQXQZ", "unknown"]
    without = type(network)(network.index, network.weights, loaded.analyzer.tags).layers(forms).hidden
    assert (np.abs(network.layers(forms).hidden - without).max(axis=(1, 2)) > 0.0).tolist() == [True, True, False]


def test_a_word_with_a_vector_is_known_without_a_treebank(trained):
    """Two words that differ in nothing but their vectors have other scores."""
    parser = Parser(trained[2], tags="none")
    scores, known = [], []
    for form in ("qqxqz", "qqwqz"):
        sentence = from_words([(1, "Xx", "_", "N"), (2, form, "_", "V"), (3, "Yy", "_", "N")])
        known.append(encoded(parser, sentence).atoms[5].tolist())
        scores.append(scored(parser, sentence)[1].tolist())
    assert sum(a != b for a, b in zip(*known, strict=True)) == 1
    assert scores[0] != scores[1]


def test_the_number_of_threads_changes_no_weight(trained):
    """The products of matrices are of the size at which numpy's library divides them."""
    path, given, model = trained
    with threadpool_limits(2, "blas"):
        assert weights_of(train(given, with_vectors(path))) == weights_of(model)


@pytest.mark.thorough
def test_training_does_not_go_on_with_changed_vectors(trained, tmp_path):
    path, given, _ = trained
    changed, checkpoint = tmp_path / "changed.vec", tmp_path / "checkpoint"
    changed.write_bytes(path.read_bytes())
    with pytest.raises(KeyboardInterrupt):
        train(given, with_vectors(changed), run=RunOptions(checkpoint=checkpoint, progress=Interrupt("network 1")))
    changed.write_text(path.read_text(encoding="utf-8").replace("qqxqz", "changed"), encoding="utf-8")
    with pytest.raises(ConfigError, match="other sentences or options"):
        train(given, with_vectors(changed), run=RunOptions(checkpoint=checkpoint, resume=True))
