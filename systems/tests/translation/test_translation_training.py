"""Language model, word alignments and phrases equal their definitions."""

import math

import naive_translation
import numpy as np
import pytest
from instances import seeds
from translations import draw_lm

from nonproj.errors import DataError, FileError
from nonproj_systems.translation import alignment, language_model, phrases, symmetrization, text

SEEDS = seeds(20)


def draw_sentences(rng, count, n_words, longest, least=1, first=3):
    return [rng.integers(first, n_words, int(rng.integers(least, longest + 1))).tolist() for _ in range(count)]


# -- language model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [2, 200])
def test_kneser_ney_equals_its_twin(seed, count):
    rng = np.random.default_rng(seed)
    sentences = draw_sentences(rng, count, 9, 6)
    lm, twin = language_model.estimate(sentences, 10), naive_translation.kneser_ney(sentences, 10)
    for sentence in draw_sentences(rng, 20, 10, 6, first=2):
        words = [0 if word == language_model.END else word for word in sentence]
        score, _ = language_model.score_words(lm, [*words, language_model.END])
        assert score == pytest.approx(naive_translation.score_words(twin, words), abs=1e-9)


@pytest.mark.parametrize("count", [2, 30, 300])
def test_each_state_of_the_language_model_is_a_distribution(count):
    lm = language_model.estimate(draw_sentences(np.random.default_rng(count), count, 9, 6), 12)
    for state in range(len(lm.last_word)):
        total = sum(math.exp(language_model.score_words(lm, [word], state)[0]) for word in range(12))
        assert total == pytest.approx(1.0, abs=1e-12)


def test_backing_off_never_scores_more():
    lm = language_model.estimate(draw_sentences(np.random.default_rng(1), 300, 9, 6), 12)
    for state in range(1, len(lm.last_word)):
        for arc in range(lm.arc_start[state], lm.arc_start[state + 1]):
            lower, _ = language_model.score_words(lm, [lm.arc_word[arc]], lm.backoff_state[state])
            assert lm.arc_score[arc] >= lm.backoff_score[state] + lower


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_the_automaton_scores_as_its_tables(kind):
    rng = np.random.default_rng(5)
    lm, tables = draw_lm(rng, kind, 6)
    for _ in range(200):
        words = [0 if word == 2 else int(word) for word in rng.integers(2, 6, int(rng.integers(1, 6)))]
        expected = naive_translation.score_words(tables, words)
        assert language_model.score_words(lm, [*words, 2])[0] == pytest.approx(expected, abs=1e-9)


def test_a_model_that_prefers_to_back_off_is_refused():
    pair = np.array([3 * language_model.MAX_WORDS + 4])
    scores = [np.full(5, -1.0), np.array([-1.5]), np.zeros(0)]
    with pytest.raises(ValueError, match="an n-gram scores less than backing off; an interpolated model is expected"):
        language_model.make_automaton(pair, pair[:0], scores, [np.full(5, -0.1), np.zeros(1)])


def test_discounts_are_those_of_chen_and_goodman():
    counts = np.repeat([1, 2, 3, 4, 7], [100, 40, 20, 12, 5])
    y = 100 / 180
    expected = [1 - 2 * y * 40 / 100, 2 - 3 * y * 20 / 40, 3 - 4 * y * 12 / 20]
    assert language_model.discounts(counts) == pytest.approx(expected)
    assert language_model.discounts(np.array([1, 1, 5])).tolist() == [0.5, 1.0, 1.5]


# -- alignments --------------------------------------------------------------------------------------------------------


def draw_pairs(rng):
    given, emitted = draw_sentences(rng, 3, 5, 3, first=1), draw_sentences(rng, 3, 5, 3, first=1)
    return given, emitted, alignment.make_corpus(given, emitted)


def as_table(corpus, given, emitted, values):
    """Values of word pairs by (given, emitted)."""
    found, at = {}, 0
    for g, e in zip(given, emitted, strict=True):
        for word in e:
            for other in (0, *g):
                found[other, word] = float(values[corpus.entry[at]])
                at += 1
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_expectations_equal_those_over_all_alignments(seed):
    rng = np.random.default_rng(seed)
    given, emitted, corpus = draw_pairs(rng)
    table, pairs = rng.random(len(corpus.given_of)) + 0.01, list(zip(given, emitted, strict=True))
    twin_table = as_table(corpus, given, emitted, table)
    counts = as_table(corpus, given, emitted, alignment._model1_counts(corpus, table))
    assert counts == pytest.approx(naive_translation.model1_counts(pairs, twin_table))
    jumps = rng.random(2 * alignment.WIDTH + 1)
    found = alignment.hmm_expectations(corpus, table, jumps)
    expected = naive_translation.hmm_counts(pairs, twin_table, lambda k: jumps[k + alignment.WIDTH], alignment.NULL)
    assert as_table(corpus, given, emitted, found[0]) == pytest.approx(expected[0])
    assert {k: found[1][k + alignment.WIDTH] for k in expected[1]} == pytest.approx(expected[1])
    assert found[1].sum() == pytest.approx(sum(expected[1].values()))
    assert found[2] == pytest.approx(expected[2])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_alignment_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    given, emitted, corpus = draw_pairs(rng)
    table, jumps = rng.random(len(corpus.given_of)) + 0.01, rng.random(2 * alignment.WIDTH + 1)
    twin_table = as_table(corpus, given, emitted, table)
    for k, (g, e) in enumerate(zip(given, emitted, strict=True)):
        path = alignment._best_path(*alignment._pair(corpus, k), table, jumps) + 1
        weights = {
            each: weight
            for each, weight, _ in naive_translation.hmm_paths(
                g, e, twin_table, lambda k: jumps[k + alignment.WIDTH], alignment.NULL
            )
        }
        assert weights[tuple(path.tolist())] == pytest.approx(max(weights.values()))


def test_expectation_maximisation_raises_the_likelihood():
    rng = np.random.default_rng(3)
    given = draw_sentences(rng, 60, 12, 6, first=1)
    emitted = [[20 + word for word in sentence[::-1]] for sentence in given]
    corpus = alignment.make_corpus(given, emitted)
    table, jumps, values = alignment.train_model1(corpus, 2), np.ones(2 * alignment.WIDTH + 1), []
    for _ in range(6):
        counts, jump_counts, value = alignment.hmm_expectations(corpus, table, jumps)
        values.append(value)
        table, jumps = alignment.normalize(corpus, counts), alignment.estimate_jumps(jump_counts)
    assert (np.diff(values) > 0).all()
    right = [path.tolist() == list(range(len(path)))[::-1] for path in alignment.align(corpus)]
    assert sum(right) >= 0.8 * len(right)


@pytest.mark.parametrize("seed", seeds(100))
def test_symmetrization_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    forward, backward = rng.integers(-1, n, m), rng.integers(-1, m, n)
    found = symmetrization.combine(forward, backward)
    first = {(i, j) for j, i in enumerate(forward.tolist()) if i >= 0}
    second = {(i, j) for i, j in enumerate(backward.tolist()) if j >= 0}
    points = {(int(i), int(j)) for i, j in zip(*np.nonzero(found), strict=True)}
    assert first & second <= points <= first | second
    assert points == naive_translation.grow_diag_final_and(forward.tolist(), backward.tolist())


# -- phrases -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(100))
def test_extraction_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((int(rng.integers(1, 7)), int(rng.integers(1, 7)))) < 0.25
    longest = int(rng.integers(1, 6))
    found = [tuple(row) for row in phrases.extract(matrix, longest).tolist()]
    points = list(zip(*(axis.tolist() for axis in np.nonzero(matrix)), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == naive_translation.consistent_phrases(*matrix.shape, points, longest)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_phrase_table_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    source, target = draw_sentences(rng, 12, 7, 5), draw_sentences(rng, 12, 7, 5)
    points = [rng.random((len(f), len(e))) < 0.3 for f, e in zip(source, target, strict=True)]
    pairs = [list(zip(*(axis.tolist() for axis in np.nonzero(matrix)), strict=True)) for matrix in points]
    expected = naive_translation.phrase_scores(list(zip(source, target, strict=True)), pairs, 3)
    table = phrases.make_table(source, target, points, longest=3, keep=10_000)
    found = {}
    for words in {key[0] for key in expected}:
        node = 0
        for word in words:
            node = table.find(node, word)
        for entry in range(table.entry_start[node], table.entry_start[node + 1]):
            found[words, tuple(table.words(table.target[entry]).tolist())] = tuple(np.exp(table.scores[entry]).tolist())
    assert found.keys() == expected.keys() and len(table.target) == len(expected)
    for key, scores in expected.items():
        assert found[key] == pytest.approx(scores, rel=1e-4)
    few = phrases.make_table(source, target, points, longest=3, keep=2)
    assert np.diff(few.entry_start).max() <= 2 and (np.diff(few.child) > 0).all()


def test_phrases_may_be_long():
    text = list(range(3, 15))
    table = phrases.make_table([text], [text], [np.ones((12, 12), bool)], longest=12)  # no shorter phrase
    node = 0
    for word in text:
        node = table.find(node, word)
    entry = table.entry_start[node]
    assert node and table.entry_start[node + 1] == entry + 1
    assert table.words(table.target[entry]).tolist() == text


def test_a_phrase_that_is_not_there_is_not_found():
    table = phrases.make_table([[3, 4]], [[3, 4]], [np.eye(2, dtype=bool)])
    assert table.find(0, 5) == table.find(table.find(0, 4), 3) == 0 < table.find(table.find(0, 3), 4)


# -- text --------------------------------------------------------------------------------------------------------------


def test_errors_in_files_name_the_line(tmp_path):
    (tmp_path / "a").write_text("eins\nzwei\ndrei\n")
    (tmp_path / "b").write_text("one\ntwo\n")
    (tmp_path / "c").write_bytes(b"eins\nzw\xffei\n")
    (tmp_path / "d").write_text("\n\n")
    (tmp_path / "e").write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(DataError) as error:
        text.read_pairs(tmp_path / "a", tmp_path / "b")
    message = f"has no counterpart: {tmp_path / 'b'} ends after 2 lines; one line for each sentence is expected"
    assert str(error.value) == f"{tmp_path / 'a'}:3: {message}"
    with pytest.raises(DataError) as error:
        text.read_pairs(tmp_path / "c", tmp_path / "b")
    message = "byte 0xff is not UTF-8; recode the file to UTF-8 first"
    assert str(error.value) == f"{tmp_path / 'c'}:2: {message}"
    with pytest.raises(DataError, match=":1: no sentence pair; files with one sentence a line are expected"):
        text.read_pairs(tmp_path / "d", tmp_path / "b")
    with pytest.raises(DataError, match=":1: the gzip data end here, incomplete"):
        text.read_pairs(tmp_path / "e", tmp_path / "b")
    with pytest.raises(FileError) as error:
        text.read_pairs(tmp_path / "none", tmp_path / "b")
    assert str(error.value) == f"{tmp_path / 'none'}: no such file"
    (tmp_path / "f").write_text("one\n" + "x" * (text.MAX_LINE + 1))
    with pytest.raises(DataError, match=":2: a line of more than 1048576 bytes; one sentence a line is expected"):
        list(text.read_lines(tmp_path / "f"))


def test_empty_and_long_lines_are_left_out(tmp_path):
    (tmp_path / "a").write_text("eins\n\nzwei\n" + "lang " * 121 + "\n")
    (tmp_path / "b").write_text("one\nempty\ntwo\nlong\n")
    assert text.read_pairs(tmp_path / "a", tmp_path / "b") == ([["eins"], ["zwei"]], [["one"], ["two"]])


@pytest.mark.parametrize("line", ["Ein Mann, der 1,5 km läuft.", "a (red) hat; it's his.", "“Quoted” - well-known!"])
def test_tokens_hold_all_characters_but_spaces(line):
    assert "".join(text.tokenize(line)) == line.lower().replace(" ", "")
