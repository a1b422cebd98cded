"""The linear models of segmentation against their twin, and their handling of addresses and multiword tokens."""

from __future__ import annotations

import io
import itertools
import random
from types import SimpleNamespace

import naive_text as naive
import numpy as np
import pytest

from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.linear.logistic import Options, fit
from nonproj.options.sections import SegmenterConfig
from nonproj.text import sentence_training
from nonproj.text.characters import KINDS, characters
from nonproj.text.corpus import Surface, raw_text
from nonproj.text.layout import NO_BLANKS, PARAGRAPH, lay_out, spans
from nonproj.text.multiword import Multiwords
from nonproj.text.segmenter import Segmenter
from nonproj.text.sentence_features import N_FEATURES, N_STATES, TOKENS_AROUND, sentence_examples
from nonproj.text.sentence_network import N_ROWS, SentenceNetwork, empty_network
from nonproj.text.sentence_network_learning import BITS, Examples, _learn, joined, network_examples
from nonproj.text.sentence_training import ENOUGH, SHARES, SentenceModel, choose_share, sentences_found
from nonproj.text.sentences import score_ends
from nonproj.text.token_table import token_table
from nonproj.text.tokens import ALWAYS, TokenModel, tokenize
from nonproj.text.training_text import TrainingText
from nonproj.text.usage import Usage, case_classes, letter_case

ALPHABET = "aabbcAB11..,!?'\"(()- \t\n\r\u0301\u200d:$\u00df"


def random_text(chance: random.Random) -> str:
    return "".join(chance.choice(ALPHABET + " " * 8) for _ in range(chance.randint(0, 80)))


def random_weights(chance: random.Random, integers: bool) -> np.ndarray:
    random = np.random.default_rng(chance.randrange(1 << 30))
    if integers:
        return random.integers(-1, 2, 1 << 8).astype(np.float32)
    return random.normal(size=1 << 10).astype(np.float32)


@pytest.mark.parametrize("seed", range(60))
def test_layout_and_decisions_equal_the_twin(seed):
    chance = random.Random(seed)
    text = random_text(chance)
    layout = lay_out(characters(text))
    found = list(zip(layout.start.tolist(), layout.end.tolist(), layout.blanks.tolist(), strict=True))
    assert found == naive.chunks(text)
    assert [int(h) for h in layout.chunk] == [naive.string_hash(text[a:b]) for a, b, _ in found]

    weights = random_weights(chance, integers=seed % 2 == 0)
    table = np.random.default_rng(seed)
    candidate = table.integers(0, 2, (KINDS, KINDS)).astype(np.uint8)
    known = table.integers(0, 4, 1 << 6).astype(np.uint8)
    start, end, log_odds = tokenize(layout, TokenModel(candidate, known, weights))
    tokens = list(zip(start.tolist(), end.tolist(), strict=True))
    expected = naive.tokens_with_log_odds(text, candidate, lambda h: known[h >> 26], weights)
    assert tokens == [(begin, end) for begin, end, _ in expected]
    assert log_odds == pytest.approx([odds for _, _, odds in expected])

    after = {b: PARAGRAPH if blanks == NO_BLANKS else blanks for _, b, blanks in found}
    pairs = [(text[a:b], after.get(b, NO_BLANKS)) for a, b in tokens]
    usage = Usage(*(table.integers(0, most, 1 << 6).astype(np.uint8) for most in (26, 37, 37)))
    usage.tag[::2] = 0
    weights = (weights * 0.1).astype(np.float32)  # so that no beginning is improbable
    scores = score_ends(token_table(layout, start, end), usage, weights, 0.25, 0.15)
    expected = naive.score_ends(pairs, *twin_of(usage), weights, 0.25, 0.15)
    assert scores.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    network = random_network(seed)
    scores = score_ends(token_table(layout, start, end), usage, weights, 0.25, 0.15, network)
    expected = naive.score_ends(pairs, *twin_of(usage), weights, 0.25, 0.15, network)
    assert scores.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def random_network(seed: int) -> SentenceNetwork:
    random = np.random.default_rng((seed, 1))
    shapes = (256, 4), (TOKENS_AROUND, 4, 8), (2 * N_STATES, 8), (9,)
    return SentenceNetwork(*(0.3 * random.standard_normal(shape, np.float32) for shape in shapes))


def twin_of(usage: Usage):
    """The case and the class of forms: that of the form, or else of its suffix."""

    def of(table: np.ndarray, form: str) -> int:
        return int(table[naive.string_hash(form) >> 26])

    return lambda form: of(usage.case, form), lambda form: of(usage.tag, form) or of(usage.suffix, form[-3:])


@pytest.mark.parametrize("seed", range(10))
def test_improbable_beginnings_are_given_up(seed, monkeypatch):
    """There are never more beginnings than can be probable, and a certain end leaves one."""
    random = np.random.default_rng(seed)
    layout = lay_out(characters('a b c ( d " e f ) . ' * 300))
    weights = random.normal(-0.2, 0.2 * seed / 10, 1 << 10).astype(np.float32)
    usage = Usage(*(np.zeros(1 << 6, np.uint8) for _ in range(3)))
    table = token_table(layout, layout.start, layout.end)
    scores = score_ends(table, usage, weights, -0.2 * N_FEATURES - 2.0 + seed)
    assert len(scores) == len(layout.start) and not np.isnan(scores).any() and scores[-1] == np.inf
    assert not (scores == 0).any()


def test_sentences_are_chosen_by_their_probability():
    """After each token a sentence ends with probability 0.4: one of ten tokens is never the best, as costs show."""
    layout = lay_out(characters("a " * 10))
    table, usage = token_table(layout, layout.start, layout.end), Usage(*(np.zeros(1 << 6, np.uint8),) * 3)
    weights, threshold = np.zeros(1 << 8, np.float32), float(np.log(0.6 / 0.4))
    many = score_ends(table, usage, weights, threshold, 0.0)
    few = score_ends(table, usage, weights, threshold, 0.9)
    assert (many > 0).all() and (few > 0).sum() == 1
    np.testing.assert_allclose(few[:-1], -threshold, rtol=1e-5)


def test_the_twin_sees_abbreviations():
    for text in ("e.g.", "U.S.A", "(i.e.,", "U.S.-led", "a.b..", "a.(b."):
        assert lay_out(characters(text)).flags.tolist() == [16] and naive.DOTTED.fullmatch(text), text
    for text in ("a.", "a.b", "word.b.", "a.1.b", "U.S.abcd", "a..b.", "1.a.b."):
        assert lay_out(characters(text)).flags.tolist() == [0] and not naive.DOTTED.fullmatch(text), text


def test_training_equals_the_twin():
    random = np.random.default_rng(5)
    rows, gold = random.integers(0, 16, (40, 3)).astype(np.int32), random.integers(0, 2, 40).astype(np.uint8)
    found = fit(rows, gold, Options(4, 2, 0.1), seed=3)
    weights, squares, order = np.zeros(16), np.full(16, 1e-6), np.random.default_rng(3)
    for _ in range(2):
        before = weights.copy()
        for index in order.permutation(40):
            naive.logistic_step(rows[index].tolist(), bool(gold[index]), 0.1, weights, squares)
    assert not np.array_equal(before, weights)
    np.testing.assert_allclose(found, weights, rtol=1e-3, atol=1e-4)


def test_capitalization_is_counted():
    raw = raw_text([[[Surface("En", True), Surface("hund", True)], [Surface("Hund", True), Surface("En", True)]]])
    layout = lay_out(characters(raw.text))
    start, end = spans(layout, raw.token_ends)
    counts = letter_case(token_table(layout, start, end), raw.sentence_ends[end - 1], 1 << 10)
    rows = {word: counts[naive.string_hash(word) >> 22].tolist() for word in ("hund", "en")}
    assert rows == {"hund": [1, 0, 1, 2], "en": [0, 1, 1, 2]}
    classes = case_classes(counts)
    assert np.count_nonzero(classes) == 2 and classes.max() < 26


ADDRESSES = {
    "(http://www.a-b.de/c?d=1&e=2).": ["(", "http://www.a-b.de/c?d=1&e=2", ")", "."],
    "www.a.de/b,": ["www.a.de/b", ","],
    "<jane.doe@mail.example.org>": ["<", "jane.doe@mail.example.org", ">"],
    "a@b.": ["a@b", "."],
    "@home": ["@", "home"],
    "a@": ["a", "@"],
    "awww.b": ["awww", ".", "b"],
    "a//b": ["a", "//", "b"],
}


@pytest.mark.parametrize(("text", "tokens"), ADDRESSES.items())
def test_addresses_are_whole(text, tokens):
    """Where all kinds are separated otherwise."""
    layout = lay_out(characters(text))
    marks = np.array([layout.kind[i] != layout.kind[i + 1] for i in range(len(text) - 1)] + [True])
    start, end = spans(layout, marks)
    assert [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)] == tokens


def paragraphs(text: str) -> list:
    """A paragraph of one sentence per line; ``a|b`` is a multiword token."""
    return [
        [
            [Surface(t.replace("|", ""), True, tuple(t.split("|")) if "|" in t else ()) for t in line.split()]
            for line in text.splitlines()
        ]
    ]


def test_multiword_tokens_depend_on_their_neighbours():
    found = Multiwords.fit(paragraphs("we like it|s a lot\nshe saw its tail\n" * 20))
    assert found.expand(["it", "likes", "its", "tail"]) == {}
    assert found.expand(["we", "like", "Its", "a", "lot"]) == {2: ("It", "s")}


def test_rules_expand_unseen_tokens():
    found = Multiwords.fit(paragraphs("Ann|'s Bob|'s dog|'s is|n't do|n't has|n't let us go cats\n" * 5))
    assert found.expand(["Cat's", "wasn't", "'s", "horse"]) == {0: ("Cat", "'s"), 1: ("was", "n't")}


def test_words_that_are_not_parts_of_the_token():
    found = Multiwords.fit([[[Surface("zum", True, ("zu", "dem")), Surface("vom", True, ("von", "dem"))]] * 5])
    assert found.expand(["Zum", "VOM", "dem"]) == {0: ("Zu", "dem"), 1: ("VON", "DEM")}


def test_the_network_learns_as_the_twin():
    """Steps at random places, with rows and units left out, move the same weights."""
    for seed in range(5):
        random, n = np.random.default_rng(seed), 12
        rows = random.integers(0, 256, (9, N_ROWS)).astype(np.int32)
        tokens = random.integers(0, 9, (n, TOKENS_AROUND)).astype(np.int32)
        state, gold = random.integers(0, 2 * N_STATES, n).astype(np.int32), random.integers(0, 2, n).astype(np.uint8)
        network = random_network(seed)
        squares = SentenceNetwork(*(np.full(table.shape[:-1], 0.01, np.float32) for table in network[:3]), None)
        squares = squares._replace(output=np.full(9, 0.01, np.float32))
        twin, of_twin = ([table.astype(float) for table in tables] for tables in (network, squares))
        order = random.permutation(n)
        kept = random.random((n, TOKENS_AROUND, N_ROWS)) < 0.7
        units = ((random.random((n, 8)) < 0.7) / 0.7).astype(np.float32)
        _learn(Examples(rows, tokens, state, gold), order, kept, units, 0.1, network, squares)
        for q, i in enumerate(order):
            naive.network_step(rows[tokens[i]], state[i], bool(gold[i]), kept[q], units[q], 0.1, twin, of_twin)
        for found, expected in zip((*network, *squares), (*twin, *of_twin), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("seed", range(10))
def test_the_network_learns_from_the_places_of_the_linear_model(seed):
    text = random_text(random.Random(seed)) + " a"
    layout = lay_out(characters(text))
    table, numbers = token_table(layout, layout.start, layout.end), np.random.default_rng(seed)
    usage = Usage(*(numbers.integers(0, most, 1 << 6).astype(np.uint8) for most in (26, 37, 37)))
    ends, missed = numbers.random(len(layout.start)) < 0.3, numbers.random(len(layout.start)) < 0.2
    _, gold = sentence_examples(table, ends, usage, 10, missed)
    examples = network_examples(table, ends, usage, missed)
    assert examples.gold.tolist() == gold.tolist()
    pairs = [(text[a:b], PARAGRAPH if blanks == NO_BLANKS else blanks) for a, b, blanks in naive.chunks(text)]
    places = [t for t, (_, blanks) in enumerate(pairs) if blanks != PARAGRAPH]
    twice = joined([examples, examples])
    for q, t in enumerate(places):
        expected = [naive.token_rows(each, *twin_of(usage), BITS) for each in naive.tokens_around(pairs, t)]
        for found, number in ((examples, q), (twice, q), (twice, len(places) + q)):
            assert found.rows[found.tokens[number]].tolist() == expected


def test_a_segmenter_keeps_its_network():
    lines = "1\tDet\t_\tPRON\t_\t_\t2\tx\t_\t_\n2\tregner\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
    lines += "3\t.\t_\tPUNCT\t_\t_\t2\tx\t_\t_\n\n"
    sentences = list(conll.read(io.StringIO(lines * 20)))
    without, with_network = (Segmenter.fit(sentences, SegmenterConfig(network_share=share)) for share in (0.0, 0.25))
    assert not any(name.startswith("network") for name in without.state()[1])
    meta, arrays = with_network.state()
    again = Segmenter.from_state(meta, dict(arrays))
    text = "Det regner. Det regner. Regner det"
    assert [s.forms for s in again.segment(text)] == [s.forms for s in with_network.segment(text)]
    assert len(again.segment("Det regner. Det regner.")) == 2
    for name, value in {
        "network_rows": np.zeros((100, 16), np.float32),
        "network_output": np.zeros(5, np.float32),
        "network_states": np.full_like(arrays["network_states"], np.nan),
    }.items():
        with pytest.raises(ModelError, match="the segmenter's network"):
            Segmenter.from_state(meta, arrays | {name: value})


# -- the choice of the network's share ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_sentences_found_are_those_with_both_ends_and_none_between(seed, monkeypatch):
    random = np.random.default_rng(seed)
    words = [[Surface("a", True)] * int(random.integers(1, 4)) for _ in range(int(random.integers(1, 8)))]
    text = TrainingText(raw_text([words]), np.full((KINDS, KINDS), ALWAYS, np.uint8))
    count = sum(map(len, words))
    ends = np.append(random.random(count - 1) < 0.5, True)
    monkeypatch.setattr(sentence_training, "score_ends", lambda *_, **__: np.where(ends, 1.0, -1.0))
    model = SentenceModel(None, None, empty_network())
    gold = list(itertools.accumulate(map(len, words), initial=0))
    system = [0, *(np.flatnonzero(ends) + 1).tolist()]
    expected = [pair in set(itertools.pairwise(system)) for pair in itertools.pairwise(gold)]
    assert sentences_found(model, text, 0.0).tolist() == expected


def choose(found, monkeypatch, sizes=(100,) * 5):
    """Return the share chosen where, of each fold, this number of sentences is found with each share, and the folds."""
    texts = [[SimpleNamespace(size=size, number=number)] for number, size in enumerate(sizes)]
    learnt = []

    def learn(others, options, seed, with_network, progress):
        assert with_network
        learnt.append([text.number for text, *_ in others])
        return SentenceModel(None, np.ones(1, np.float32), empty_network())

    def hits(model, text, threshold):
        share = 1.0 - float(model.weights[0])
        return np.arange(text.size) < found[share]

    monkeypatch.setattr(sentence_training, "_learn", learn)
    monkeypatch.setattr(sentence_training, "sentences_found", hits)
    return choose_share(texts, SegmenterConfig(), 0), learnt


def test_a_share_is_chosen_only_if_its_gain_is_clear(monkeypatch):
    assert [choose({0.0: 50, SHARES[0]: 50 + gain}, monkeypatch)[0] for gain in (-9, 0, 1)] == [0.0, 0.0, SHARES[0]]
    assert choose({0.0: 50, SHARES[0]: 51}, monkeypatch, (100,) * 2)[0] == 0.0  # two sentences may be chance
    assert choose({0.0: 50, SHARES[0]: 60}, monkeypatch, (100,))[0] == 0.0  # nothing is held out


def test_no_more_folds_are_held_out_than_needed(monkeypatch):
    found = {0.0: 50, SHARES[0]: 50}
    _, learnt = choose(found, monkeypatch, (ENOUGH // 2,) * 5)
    assert learnt == [[1, 2, 3, 4], [0, 2, 3, 4]]
    _, learnt = choose(found, monkeypatch, (10,) * 3)
    assert learnt == [[1, 2], [0, 2], [0, 1]]
