"""Models of fastText: those written by its definition, one of the program itself, and damaged ones."""

from __future__ import annotations

import base64
import gzip

import naive_fasttext as naive
import numpy as np
import pytest
from toy import sentences

from nonproj.components.preparation import load_vectors
from nonproj.errors import FileError
from nonproj.options.config import Config
from nonproj.scoring.fasttext import FastText, NGrams
from nonproj.scoring.vectors import WordVectors

WORDS = ["</s>", "Haus", "der", "日本", "été", "x", "😀", "a<b", "1e5"]
UNKNOWN = ["Häuser", "haus", "日本語", "y", "<", ">", "<>", "</s", "e\u0301té", "x" * 40]

OF_THE_PROGRAM = base64.b64decode(
    """
uhZPLwwAAAACAAAABQAAADwAAAABAAAABQAAAAEAAAACAAAAAgAAAB4AAAACAAAABAAAAGQAAAAtQxzr4jYaPwoAAAAKAAAAAAAAABwCAAAAAA
AA//////////9IYXVzAEEAAAAAAAAAANCx0YvQu9GM0Y4APgAAAAAAAAAAPC9zPgA8AAAAAAAAAABkZXIAOgAAAAAAAAAA8J+YgAA2AAAAAAAA
AABncsO2w59lcgA1AAAAAAAAAABkaWUAMAAAAAAAAAAA5pel5pys6KqeADAAAAAAAAAAANCx0YvQu9GMAC4AAAAAAAAAAEjDpHVzZXIALgAAAA
AAAAAAACgAAAAAAAAAAgAAAAAAAACHZwe/olQUPjAnB8CF4gbArJvRvn4mlT8mq0O/5GgIP+ly+77IqCk/csi6vo897743KAe/xt3jPZdfrb0u
3YY/tf62P0KTC0DH5RY/MVyOP/nmTcCvYQ7AZLs6PxXjM0CtXb6+cHwzPmelKcD+6la/u7QGwFbsn7+SRi0/eH9hQMbllj8wXA5AQKXGvtun5z
/fDLm/a0gyP6hPiD+wIv0/aYxkvyVGtr4AAAAAAAAAAJZeBMBFS2o/CFdmv6S1kj5FJp2/NNK9Pv2g/L8YxE4/kwuYv6J7jD5OfpI+3SbvP3LI
ur6PPe++AgcSv+ptez/YNhbAlO6cP7X+tj9CkwtAAAAAAAAAAAAfbPG/nrNzv3nHq79HWt4/PINQv+3hB0D7yvi/pGVxvpO16b66TJ0/sB1bv+
AnSD6hYEu+3o5OPwAKAAAAAAAAAAIAAAAAAAAA3+m2P4y9dr8ApoY/TK6Hv/dpGj89LL2/eElJPwzuu78wOog/o1EIv9lNrD+OchO/QY1sP/NE
1r9buKw/m4CBviigBj8PhJW/SoCuProXOr4=
"""
)
"""A model of fastText 0.9.2, of random sentences of nine words: ``-dim 2 -bucket 30 -minn 2 -maxn 4 -minCount 1``."""

VECTORS_OF_THE_PROGRAM = {
    "Haus": [-1.3235, 0.5265],
    "größer": [-1.0402, 0.7555],
    "日本語": [-0.3807, 1.551],
    "былью": [-1.6085, 0.155],
    "😀": [-1.2305, 0.6137],
    "</s>": [-0.4094, 1.1652],
    "Haustür": [-0.9965, 0.7324],
    "größte": [-1.0134, 0.7342],
    "日": [0.4198, 1.7594],
    "былины": [-0.9026, 0.8052],
    "a": [-0.687, 1.0315],
}
"""What ``fasttext print-word-vectors`` says of it."""


def draw(seed, count, size):
    return np.random.default_rng(seed).normal(size=(len(WORDS) + count, size)).astype(np.float32)


@pytest.mark.parametrize(("shortest", "longest", "count"), [(3, 6, 50), (1, 3, 7), (2, 2, 1), (0, 4, 11), (0, 0, 0)])
@pytest.mark.parametrize("version", [11, 12])
def test_vectors_are_those_of_the_definition(shortest, longest, count, version, tmp_path):
    path, matrix = tmp_path / "a.bin", draw(count, count, 3)
    path.write_bytes(naive.model(WORDS, matrix.tolist(), shortest, longest, count, ["__label__a"], version))
    model = FastText.read(path)
    assert model.words == WORDS
    for word in [*WORDS, *UNKNOWN]:
        expected = naive.vector(word, WORDS, matrix.tolist(), shortest, longest, count)
        assert model.ngrams.of(word).tolist() == naive.buckets(word, shortest, longest, count)
        found = model.vector(word)
        assert (found is None) == (expected is None), word
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_supervised_model_of_version_11_has_no_ngrams(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(naive.model(WORDS, draw(0, 5, 3).tolist(), 3, 6, 5, ["__label__a"], 11, 3))
    assert FastText.read(path).vector("Häuser") is None


def test_a_model_of_the_program_is_read(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(OF_THE_PROGRAM)
    model = FastText.read(path)
    for word, expected in VECTORS_OF_THE_PROGRAM.items():
        np.testing.assert_allclose(model.vector(word), expected, atol=1e-4)


def test_the_program_agrees(tmp_path):
    """Where it is installed; it is no requirement of the tests, as there are no wheels of it for every Python."""
    fasttext, text = pytest.importorskip("fasttext"), tmp_path / "text"
    forms = [form for sentence in sentences(60) for form in sentence.forms]
    text.write_text(" ".join([*forms, *WORDS * 3]) + "\n", encoding="utf-8")
    theirs = fasttext.train_unsupervised(str(text), dim=5, minCount=2, epoch=2, bucket=300, thread=1, verbose=0)
    theirs.save_model(str(tmp_path / "a.bin"))
    model = FastText.read(tmp_path / "a.bin")
    assert model.words == theirs.get_words()
    for word in [*model.words, *(word for word in UNKNOWN if len(word) > 1)]:
        np.testing.assert_allclose(model.vector(word), theirs.get_word_vector(word), atol=1e-6)


def test_wanted_words_have_vectors_from_their_ngrams(tmp_path):
    """Those that are not in the model, in lower case too; frequent words and wanted ones have those of the model."""
    path, matrix = tmp_path / "a.bin", draw(1, 40, 4)
    path.write_bytes(naive.model(WORDS, matrix.tolist(), 2, 4, 40))
    found = WordVectors.read(path, 2, ["x", "Der", "Häuser", "häuser", "a b", "a\x07b", ""])
    assert found.words == ["</s>", "Haus", "x", "Häuser", "häuser"]
    rows = np.array([naive.vector(word, WORDS, matrix.tolist(), 2, 4, 40) for word in found.words])
    length = np.sqrt(np.square(rows).sum(axis=1).mean())
    np.testing.assert_allclose(found.table, rows / length, rtol=1e-5, atol=1e-6)


def test_a_treebank_finds_all_its_words(tmp_path, caplog):
    path = tmp_path / "a.bin"
    path.write_bytes(naive.model(WORDS, draw(2, 40, 4).tolist(), 2, 4, 40))
    with caplog.at_level("INFO", "nonproj"):
        load_vectors(Config().with_overrides({"features.vectors": str(path)}), sentences(5))
    assert "for 100 % of the treebank's words" in caplog.text


def replaced(data, place, number, size=4):
    return data[:place] + number.to_bytes(size, "little", signed=True) + data[place + size :]


SOUND = naive.model(["a", "b"], draw(0, 3, 2)[:5].tolist(), 1, 2, 3)
DICTIONARY = 8 + 12 * 4 + 8
MATRIX = DICTIONARY + 12 + 16 + 2 * 11 + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SOUND[:30], "breaks off in its head"),
        (SOUND[: DICTIONARY + 29], "breaks off at word 1 of 2"),
        (SOUND[: MATRIX + 20], "breaks off in its matrix"),
        (replaced(SOUND, 4, 13), "no model of fastText of version 11 or 12"),
        (replaced(SOUND, 8, 1), "options that no model"),
        (replaced(SOUND, 8, 1 << 20), "options that no model"),
        (replaced(SOUND, 8 + 8 * 4, -3), "options that no model"),
        (replaced(SOUND, 8 + 10 * 4, 1 << 30), "options that no model"),
        (replaced(SOUND, DICTIONARY + 4, 3), "numbers of words that no model"),
        (replaced(SOUND, DICTIONARY + 4, 1), "has 2 words, 1 are expected"),
        (replaced(SOUND, DICTIONARY, 2_000_000_000), "breaks off|is no model of fastText: word"),
        (replaced(SOUND, DICTIONARY + 20, 3, 8), "quantised model"),
        (replaced(SOUND, MATRIX - 1, 1, 1), "quantised model"),
        (replaced(SOUND, MATRIX, 1 << 60, 8), "has a matrix of 1152921504606846976 by 2 numbers"),
        (replaced(SOUND, MATRIX + 16, 0x7FC00000), "vector of 'a' has numbers that are not finite"),
        (SOUND[: DICTIONARY + 28] + b"x" * 10_000, "word 1 of 2 has more than 4000 bytes"),
        (gzip.compress(SOUND), "compressed model of fastText; unpack it first"),
        (naive.model(WORDS, draw(0, 5, 3).tolist(), 3, 6, 5, quantised=True), "quantised model of fastText"),
        (naive.model([], draw(0, 5, 3)[:5].tolist(), 3, 6, 5), "has no word vectors"),
    ],
    ids=range(19),
)
def test_damaged_models_are_refused(content, message, tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        WordVectors.read(path, 100)
    assert str(caught.value).startswith(str(path))


def test_long_words_are_cut_in_bounded_memory():
    ngrams = NGrams(1, 100, 7)
    model = FastText([], ngrams, np.ones((7, 2_000), np.float32))
    np.testing.assert_allclose(model.vector("ö" * 1_000), 1.0)
    assert len(ngrams.of("abc")) == 5 + 4 + 3 + 2 + 1 - 2
