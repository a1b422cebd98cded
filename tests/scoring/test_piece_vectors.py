"""Vectors of words by their pieces: the definition, the folder that they are read from, and models that have them."""

import dataclasses
import itertools
import json
import math
import re
import unicodedata

import encoders
import numpy as np
import pytest
from further import with_vectors
from staged import encoded, scored
from toy import sentences

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, FileError, ModelError
from nonproj.io.objects import from_words
from nonproj.learning import piece_vectors as learning
from nonproj.learning.piece_vectors import principal_axes, read_piece_vectors
from nonproj.linear.state import load
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.encoders.pieces import Pieces
from nonproj.scoring.joined import join
from nonproj.scoring.piece_vectors import PieceVectors, ProjectedVectors
from nonproj.scoring.vocabulary import TokenEncoder

LETTERS = "abdeghiklnoprstuvz"


def draw_pieces(rng, n=60, dimensions=5):
    """Random pieces in their order, some of which begin words, with scores and rows."""
    drawn = {"".join(rng.choice(list("▁" + LETTERS), rng.integers(1, 4))) for _ in range(n)}
    pieces = sorted({text[0] + text[1:].replace("▁", "") for text in drawn} - {"▁"})
    scores = -rng.random(len(pieces)).astype(np.float32) * 9 - 1
    return PieceVectors(pieces, scores, rng.integers(-127, 128, (len(pieces), dimensions), np.int8))


def naive_vector(vectors, form):
    """The mean of the rows of the pieces of the most probable segmentation, of all that there are."""
    text = "".join("▁" + part for part in unicodedata.normalize("NFKC", form).split())
    row_of, found = dict(zip(vectors.pieces, vectors.rows.tolist(), strict=True)), []
    score = dict(zip(vectors.pieces, vectors.scores.tolist(), strict=True))
    for cuts in itertools.product((False, True), repeat=max(len(text) - 1, 0)):
        places = [0, *(i for i, cut in enumerate(cuts, 1) if cut), len(text)]
        parts = [text[a:b] for a, b in itertools.pairwise(places)]
        if all(part in score or len(part) == 1 for part in parts):
            found.append((sum(score.get(part, -30.0) for part in parts), parts))
    rows = [row_of[part] for part in max(found)[1] if part in score] if text else []
    return [round(sum(column) / len(rows)) for column in zip(*rows, strict=True)] if rows else [0] * vectors.dimensions


@pytest.mark.parametrize("seed", range(5))
def test_the_vector_of_a_word_is_the_mean_of_its_pieces(seed):
    rng = np.random.default_rng(seed)
    vectors = draw_pieces(rng)
    forms = ["".join(rng.choice(list(LETTERS + "x?"), rng.integers(1, 9))) for _ in range(40)]
    forms += ["", " ", "ein haus", "ﬁne", "?", "▁", vectors.pieces[-1].strip("▁")]
    assert vectors.of(forms).tolist() == [naive_vector(vectors, form) for form in forms]
    assert vectors.of([]).shape == (0, 5)
    assert vectors.of(forms[:1]).tolist() == vectors.of(forms)[:1].tolist()


def test_they_are_stored_and_checked():
    vectors = draw_pieces(np.random.default_rng(0))
    meta, arrays = vectors.state()
    found = load(PieceVectors, (meta, arrays))
    assert found.pieces == vectors.pieces and found.of(["haus"]).tolist() == vectors.of(["haus"]).tolist()
    *others, _ = pieces = vectors.pieces
    texts = ["\n".join(each).encode() for each in (others, [*others, pieces[0]], [*others, "▁z\x07"])]
    damaged = [
        *({"text": np.frombuffer(text, np.uint8)} for text in (*texts, b"\xff" * 3)),
        *({"scores": np.full_like(vectors.scores, number)} for number in (np.nan, 0.5)),
        *({"rows": rows} for rows in (arrays["rows"][:, :0], arrays["rows"][:-1], vectors.rows)),
    ]
    for each in damaged:
        with pytest.raises(ModelError):
            load(PieceVectors, (meta, arrays | each))


def test_projected_rows_are_exact_and_bounded():
    rng = np.random.default_rng(1)
    vectors = draw_pieces(rng)
    of_words, matrix = vectors.of(["haus", "tier", "x"]), rng.integers(-(2**31), 2**31, (5, 7), np.int32)
    for each in (matrix, matrix >> 16):
        exact = of_words.astype(object) @ each.astype(object)
        expected = [[max(-32767, min(32767, round(whole / 256))) for whole in row] for row in exact]
        assert ProjectedVectors(vectors, each).rows(of_words).tolist() == expected


def test_sentences_have_the_vectors_of_their_words():
    vectors, given = draw_pieces(np.random.default_rng(2)), [*sentences(4), *sentences(1)]
    encoder = TokenEncoder.from_sentences(given, ["form", "pos"], 1, vectors=vectors)
    assert list(encoder.vocabularies) == ["form", "pos", "feat"]
    tokens = [encoder.encode(sentence) for sentence in given]
    for sentence, own in zip(given, tokens, strict=True):
        assert own.vectors.tolist() == [[0] * 5, *vectors.of(sentence.forms).tolist()]
    for some in (tokens[:1], tokens):
        batch = join(some)
        expected = np.zeros((batch.n_nodes, 5), np.int8)
        for own, first, end in zip(some, batch.first, batch.end, strict=True):
            expected[first:end] = own.vectors
        np.testing.assert_array_equal(batch.vectors, expected)


def test_axes_are_the_first_principal_components():
    rng = np.random.default_rng(3)
    rows = (rng.normal(size=(400, 6)) * [9.0, 1.0, 4.0, 0.5, 2.0, 0.1] + 7.0).astype(np.float32)
    found = principal_axes(rows, 3)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-5)
    _, expected = np.linalg.eigh(np.cov(rows.T))
    np.testing.assert_allclose(np.abs(found.T @ expected[:, ::-1][:, :3]), np.eye(3), atol=1e-3)


def write_folder(path, pieces, rows, **changes):
    """Write what is read of an encoder: its tokenizer, the rows of its pieces, and its card."""
    settings = json.loads(encoders.unigram())
    vocabulary = [[piece, -1.0 - math.sqrt(i) / 9] for i, piece in enumerate(pieces)]
    settings["model"]["vocab"] = [*settings["model"]["vocab"][:4], *vocabulary]
    encoders.write_folder(path, "unigram", {"embeddings.word_embeddings.weight": rows.astype(np.float32)})
    (path / "tokenizer.json").write_text(json.dumps(settings | changes), encoding="utf-8")
    return path


PIECES = sorted({f"▁{a}" for a in LETTERS} | {a + b for a in LETTERS for b in LETTERS} | {*LETTERS} | {"яд", "▁2", "."})


@pytest.fixture
def folder(tmp_path):
    rows = np.random.default_rng(4).normal(size=(len(PIECES) + 4, 8))
    return write_folder(tmp_path / "data" / "encoders" / "tiny", PIECES, rows)


@pytest.fixture(autouse=True)
def few_dimensions(monkeypatch):
    monkeypatch.setattr(learning, "DIMENSIONS", 4)


def test_a_model_gets_the_pieces_of_its_scripts(folder, monkeypatch):
    found = read_piece_vectors(folder, ["haus", "tier", "2", "."])
    assert found.pieces == sorted(set(PIECES) - {"яд"})
    assert found.rows.std() == pytest.approx(24.0, rel=0.1) and np.abs(found.rows).max() <= 127
    assert "яд" in read_piece_vectors(folder, ["haus", "яд"]).pieces
    assert "яд" not in read_piece_vectors(folder, ["haus" * 1000, "яд"]).pieces  # of whose script there is too little
    monkeypatch.setattr(learning, "MOST_PIECES", 9)
    assert len(read_piece_vectors(folder, ["haus"]).pieces) == 9


def test_pieces_are_those_of_the_tokenizer(folder):
    vectors, rng = read_piece_vectors(folder, ["haus", "яд", "1"]), np.random.default_rng(5)
    forms = ["".join(rng.choice(list(LETTERS + "2.яд?"), rng.integers(1, 9))) for _ in range(300)]
    names = [*"1234", *PIECES]
    [cut] = Pieces((folder / "tokenizer.json").read_text(encoding="utf-8")).cut([forms])
    ends = np.cumsum(cut.lengths)
    for vector, end, length in zip(vectors.of(forms), ends, cut.lengths, strict=True):
        own = [names[i] for i in cut.ids[end - length : end] if i > 3]
        rows = [vectors.rows[vectors.pieces.index(name)].astype(int) for name in own]
        assert vector.tolist() == (np.rint(np.mean(rows, axis=0)).tolist() if rows else [0] * 4)


def test_other_folders_are_refused_in_a_line(folder, tmp_path):
    rows = np.zeros((len(PIECES) + 4, 8))
    cases = [
        ({}, rows + np.inf, "not finite"),
        ({}, np.ones((3, 8)), r"shape \(3, 8\)"),
        ({}, rows[:, :2], "rows of the shape"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, rows, "not a unigram tokenizer"),
        ({"model": {"type": "Other", "vocab": []}}, rows, "of the kind 'Other'"),
    ]
    for changes, table, message in cases:
        with pytest.raises(FileError, match=message) as caught:
            read_piece_vectors(write_folder(tmp_path / "other", PIECES, table, **changes), ["haus"])
        assert "\n" not in str(caught.value)
    for name in ("tokenizer.json", "model.safetensors"):
        other = write_folder(tmp_path / f"lacks {name}", PIECES, rows + 1.0)
        (other / name).unlink()
        with pytest.raises(FileError, match="no such file"):
            read_piece_vectors(other, ["haus"])
    (folder / "model.safetensors").write_bytes(b"12345678{}")
    with pytest.raises(FileError, match="has no tensor"):
        read_piece_vectors(folder, ["haus"])


@pytest.mark.parametrize("context", [0, 16])
def test_a_model_knows_words_that_training_has_not_seen(context, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = train(sentences(40), with_vectors("tiny", **{"network.context": context}))
    saved = tmp_path / "a.nonproj"
    model.save(saved)
    (folder / "model.safetensors").unlink()
    assert main(["inspect", str(saved), "--card"]) == 0
    assert re.search(r"\| word vectors \| `tiny`, by \d+ pieces .* licence: mit \|", capsys.readouterr().out)
    parsers = [Parser(each, tags="all") for each in (Model.load(saved), model)]
    heads = [[parser.parse(s).decoded.heads.tolist() for s in sentences(5)] for parser in parsers]
    assert heads[0] == heads[1]
    scores, known, tags = [], [], []
    for form in ("quorpu", "quarpa"):  # whose suffixes, prefixes and n-grams are all unknown
        sentence = from_words([(1, "Xx", "_", "N"), (2, form, "_", "V"), (3, "Yy", "_", "N")])
        known.append(encoded(parsers[0], sentence).vectors[2].tolist())
        scores.append(scored(parsers[0], sentence)[1].tolist())
        tags.append(parsers[0].loaded.analyzer.tagger.network.layers([form]).hidden.tolist())
    assert known[0] != known[1] and scores[0] != scores[1] and tags[0] != tags[1]
    weights = {name: array for name, array in model.weights.items() if not name.startswith("vectors.")}
    components = {name: each for name, each in model.components.items() if name != "vectors"}
    with pytest.raises(ModelError, match="not those of the model"):
        Parser(dataclasses.replace(model, weights=weights, components=components), tags="all")


def test_a_continued_model_keeps_its_vectors(folder):
    model = train(sentences(20), with_vectors(folder))
    continued = train(sentences(10), start=model)
    assert continued.meta["vectors"] == model.meta["vectors"]
    np.testing.assert_array_equal(continued.weights["vectors.rows"], model.weights["vectors.rows"])


def test_a_name_that_was_not_fetched_is_refused_in_a_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^features.vectors: .*'e5-small'.*fetch_encoder.py e5-small$"):
        train(sentences(5), Config().with_overrides({"features.vectors": "e5-small"}))
