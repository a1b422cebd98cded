"""The linear models of segmentation against their twin, and their handling of addresses and multiword tokens."""

import io
import math
import random
from dataclasses import replace

import naive_text as naive
import numpy as np
import pytest
from hard_texts import treebank
from instances import seeds
from naive_network import check_gradients, in_training
from toy import raw_treebank

from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.state import load
from nonproj.networks.context import ContextWeights
from nonproj.networks.hyperparameters import SENTENCES
from nonproj.networks.training import Dropout
from nonproj.options.sections import SegmenterConfig
from nonproj.text import sentence_network_learning
from nonproj.text.characters import KINDS, LOWER, UPPER
from nonproj.text.corpus import SurfaceToken, raw_text
from nonproj.text.layout import BROKEN, NO_BLANKS, PARAGRAPH, SENTENCE_GOES_ON, WRAPPED, lay_out, spans
from nonproj.text.multiword import Multiwords
from nonproj.text.segmenter import Segmenter
from nonproj.text.sentence_features import N_FEATURES, N_STATES, sentence_examples
from nonproj.text.sentence_network import N_ROWS, PieceNodes, SentenceNetwork, nodes_of, sums_of
from nonproj.text.sentence_network_learning import (
    BITS,
    EndExamples,
    TrainableSentenceNetwork,
    joined,
    network_examples,
)
from nonproj.text.sentences import SentenceModel, score_ends
from nonproj.text.token_table import PADDING, TokenTable, token_table
from nonproj.text.tokens import SOMETIMES, TokenModel, token_examples, tokenize
from nonproj.text.training import known_tokens
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


@pytest.mark.parametrize("seed", seeds(60))
def test_layout_and_decisions_equal_the_twin(seed):
    chance = random.Random(seed)
    text = random_text(chance)
    layout = lay_out(text)
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
    network, some = random_network(seed), {t for t in range(len(tokens)) if chance.random() < 0.3}
    plain = SentenceModel(usage, weights, 0.25)
    for model, own, closed in (
        (plain, None, ()),
        (plain._replace(network=network), network, ()),
        (plain._replace(network=network), network, some),
    ):
        for t in closed:
            layout.decided[tokens[t][1] - 1] = SENTENCE_GOES_ON
        table = TokenTable(*token_table(layout, start, end))
        scores = score_ends(table, model, 0.15)
        expected = naive.score_ends(pairs, *twin_of(usage), weights, 0.25, 0.15, own, closed)
        assert scores.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert not any(scores[t] > 0 and pairs[t][1] != PARAGRAPH for t in some)


def random_network(seed: int) -> SentenceNetwork:
    random = np.random.default_rng((seed, 1))
    tables = (0.3 * random.standard_normal(shape, np.float32) for shape in ((256, 4), (2 * N_STATES, 8), (9,)))
    hidden, output = (random.integers(-127, 128, shape) for shape in ((2, 4, 36), (4, 16)))
    scales, bias = 10.0 ** random.uniform(-3, -2, (2, 12)), random.normal(size=(2, 12))
    context = hidden, scales, bias, output, random.uniform(20, 80, 16), np.ones(1)
    return SentenceNetwork(*tables, ContextWeights(*(np.float32(table) for table in context)))


def twin_of(usage: Usage):
    """The case and the class of forms: that of the form, or else of its suffix."""

    def of(table: np.ndarray, form: str) -> int:
        return int(table[naive.string_hash(form) >> 26])

    return lambda form: of(usage.case, form), lambda form: of(usage.tag, form) or of(usage.suffix, form[-3:])


def test_a_chunk_says_nothing_of_its_own_tokens():
    """In training, a token is known if another chunk has it, as it is for a chunk that training has not seen."""

    def examples(tokens: list[SurfaceToken], known: bool) -> np.ndarray:
        everywhere = np.full((KINDS, KINDS), SOMETIMES, np.uint8)
        text = TrainingText(raw_text([[tokens]]), everywhere)
        table = known_tokens(text) if known else np.zeros(1 << 16, np.uint8)
        return token_examples(text.layout, text.raw.token_ends, everywhere, table, 20)[0]

    divided = [SurfaceToken("ab", False), SurfaceToken(".", False), SurfaceToken("cd", True)]
    tokens = [*divided, *divided, SurfaceToken("ef-g", True), SurfaceToken("(h", True)]
    assert np.array_equal(examples(tokens, known=True), examples(tokens, known=False))
    for form in ("ab", "cd", "ef", "g", "h"):
        more = [*tokens, SurfaceToken(form, True)]
        assert not np.array_equal(examples(more, known=True), examples(more, known=False)), form


@pytest.mark.parametrize("seed", seeds(10))
def test_improbable_beginnings_are_given_up(seed):
    """There are never more beginnings than can be probable, and a certain end leaves one."""
    random = np.random.default_rng(seed)
    layout = lay_out('a b c ( d " e f ) . ' * 300)
    weights = random.normal(-0.2, 0.2 * seed / 10, 1 << 10).astype(np.float32)
    usage = Usage(*(np.zeros(1 << 6, np.uint8) for _ in range(3)))
    table = TokenTable(*token_table(layout, layout.start, layout.end))
    scores = score_ends(table, SentenceModel(usage, weights, -0.2 * N_FEATURES - 2.0 + seed))
    assert len(scores) == len(layout.start) and not np.isnan(scores).any() and scores[-1] == np.inf
    assert not (scores == 0).any()


def test_the_twin_sees_abbreviations():
    chance, seen = random.Random(0), set()
    for _ in range(3000):
        text = chance.choice("aB") + "".join(chance.choice('aaB1....-("') for _ in range(chance.randint(1, 7)))
        seen.add(bool(naive.DOTTED.fullmatch(text)))
        assert lay_out(text).flags.tolist() == [16 * bool(naive.DOTTED.fullmatch(text))], text
    assert seen == {True, False}


@pytest.mark.parametrize("first", [0, 2])
def test_training_equals_the_twin(first):
    random = np.random.default_rng(5)
    rows, gold = random.integers(0, 16, (40, 3)).astype(np.int32), random.integers(0, 2, 40).astype(np.uint8)
    found = fit(rows, gold, LogisticOptions(4, 2, 0.1, first), np.random.default_rng(3))
    weights, order = np.zeros(16), np.random.default_rng(3)
    for features in (first, 3) if first else (3,):
        squares = np.full(16, 1e-6)
        for _ in range(2):
            before = weights.copy()
            for index in order.permutation(40):
                naive.logistic_step(rows[index, :features].tolist(), bool(gold[index]), 0.1, weights, squares)
    assert not np.array_equal(before, weights)
    np.testing.assert_allclose(found, weights, rtol=1e-3, atol=1e-4)


def test_capitalization_is_counted():
    raw = raw_text(paragraphs("En hund\nHund En"))
    layout = lay_out(raw.text)
    start, end = spans(layout, raw.token_ends)
    counts = letter_case(TokenTable(*token_table(layout, start, end)), raw.sentence_ends[end - 1], 1 << 10)
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
    "awww.b": ["awww", ".", "b"],
    "a//b": ["a", "//", "b"],
    "(report.docx),": ["(", "report.docx", ")", ","],
    "my-archive_2.tar.gz.": ["my-archive_2.tar.gz", "."],
    "bbc.co.uk/news?a=1.": ["bbc.co.uk/news?a=1", "."],
    "now...Amazon.com's": ["now", "...", "Amazon.com", "'", "s"],
    "com.": ["com", "."],
    ".com": [".", "com"],
    "C#/F#": ["C#", "/", "F#"],
    "(.NET)": ["(", ".NET", ")"],
    "ASP.NET": ["ASP.NET"],
    "a++": ["a", "++"],
    "abc#": ["abc", "#"],
    "x.net.y": ["x.net", ".", "y"],
    "o'neil%sales-7@a.org,": ["o'neil%sales-7@a.org", ","],
    "'+b=c@a.org'": ["'", "+", "b=c@a.org", "'"],
    "a/b&c_d@x.org": ["a", "/", "b&c_d@x.org"],
    "L.Ed.2d": ["L.Ed.2d"],
    "App.4th.": ["App.4th", "."],
    "F.3days": ["F", ".", "3", "days"],
    "rule.3d": ["rule", ".", "3", "d"],
    "Index.2nd": ["Index", ".", "2", "nd"],
}


@pytest.mark.parametrize(("text", "tokens"), ADDRESSES.items())
def test_addresses_and_names_are_whole(text, tokens):
    """All kinds of characters but upper and lower case are separated."""
    layout = lay_out(text)
    kinds = [LOWER if kind == UPPER else kind for kind in layout.kind]
    marks = np.array([kinds[i] != kinds[i + 1] for i in range(len(text) - 1)] + [True])
    start, end = spans(layout, marks)
    assert [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)] == tokens


def paragraphs(text: str) -> list:
    """A paragraph of one sentence per line; ``a|b`` is a multiword token."""
    return [
        [
            [SurfaceToken(t.replace("|", ""), True, tuple(t.split("|")) if "|" in t else ()) for t in line.split()]
            for line in text.splitlines()
        ]
    ]


def test_multiword_tokens_depend_on_their_neighbours():
    found = Multiwords.fit(paragraphs("we like it|s a lot\nshe saw its tail\n" * 20))
    assert found.expand(["it", "likes", "its", "tail"])[0] == {}
    assert found.expand(["we", "like", "Its", "a", "lot"])[0] == {2: ("It", "s")}


def test_rules_expand_unseen_tokens():
    found = Multiwords.fit(paragraphs("Ann|'s Bob|'s dog|'s is|n't do|n't has|n't let us go cats\n" * 5))
    assert found.expand(["Cat's", "wasn't", "'s", "horse"])[0] == {0: ("Cat", "'s"), 1: ("was", "n't")}


def test_words_that_are_not_parts_of_the_token():
    several = [SurfaceToken("zum", True, ("zu", "dem")), SurfaceToken("vom", True, ("von", "dem"))]
    found = Multiwords.fit([[[*several, *(SurfaceToken(form, True) for form in ("Baum", "Haus", "den"))]] * 5])
    assert found.expand(["Zum", "VOM", "dem"])[0] == {0: ("Zu", "dem"), 1: ("VON", "DEM")}


def test_long_paragraphs_are_cut_into_pieces_that_overlap():
    """A paragraph of three pieces, one that just is a single piece, and one of two."""
    random, network = np.random.default_rng(0), random_network(0)
    words = [[str(random.choice(["a", "bb", "Ab", "1", "?!"])) for _ in range(n)] for n in (400, 192, 193, 1)]
    text = "\n\n".join(" ".join(each) for each in words)
    layout = lay_out(text)
    usage = Usage(*(random.integers(0, most, 1 << 6).astype(np.uint8) for most in (26, 37, 37)))
    table = TokenTable(*token_table(layout, layout.start, layout.end))
    found = sums_of(network.encode(table, usage))
    pairs = [(text[a:b], PARAGRAPH if blanks == NO_BLANKS else blanks) for a, b, blanks in naive.chunks(text)]
    expected = naive.sums_of_places(pairs, *twin_of(usage), network)
    for t, sums in enumerate(expected):
        assert found[PADDING + t].tolist() == (sums or [0.0] * 8)
    assert len(expected) == len(found) - 2 * PADDING == 786 and np.abs(found).max() > 0.1


def draw_learner(seed: int, **changes: int):
    """A learner with random tables, and nodes of three pieces, of which some places are not learnt."""
    random, n = np.random.default_rng(seed), 14
    rows = random.integers(0, 256, (n, N_ROWS)).astype(np.int32)
    state, gold = random.integers(0, 2 * N_STATES, n).astype(np.int32), random.random(n) < 0.5
    learnt = random.random(n) < 0.8
    learnt[[4, 13]] = False  # the ends of the paragraphs
    pieces = np.array([[0, 5, 0, 5], [5, 12, 5, 9], [7, 14, 9, 14]])
    hyper = replace(SENTENCES, **changes)
    learner = TrainableSentenceNetwork(EndExamples(rows, state, gold, learnt, pieces), random, hyper)
    for table in learner.dense:
        table += 0.3 * random.standard_normal(table.shape, np.float32)
    nodes = PieceNodes(*nodes_of(pieces[[2, 0, 1]]))
    places = np.flatnonzero(nodes.own & learnt[nodes.token])
    assert [token for token, own in zip(nodes.token, nodes.own, strict=True) if own] == [*range(9, 14), *range(9)]
    inputs = (random.random((hyper.layers, 1, hyper.width)) < 0.8) / 0.8
    units = (random.random((len(places), hyper.hidden)) < 0.7) / 0.7
    kept = random.random((len(nodes.token), N_ROWS)) < 0.8
    return learner, nodes, places, kept, Dropout(inputs.astype(np.float32), units.astype(np.float32))


@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_of_the_network_is_that_of_its_loss(seed, monkeypatch):
    monkeypatch.setattr(sentence_network_learning, "BITS", 8)
    learner, nodes, places, kept, dropout = draw_learner(seed, width=4, hidden=3)
    found = learner.gradient(learner.inputs(nodes, places, kept), nodes.token[places], dropout)
    examples = learner.examples
    of_rows = np.zeros(learner.layers.rows.table.shape)
    of_rows[found.rows[0].rows.row] = found.rows[0].gradient

    def value(rows, states, output, bias, *context):
        total, tables = 0.0, (context[:2], context[2:4], context[4])
        vectors = [
            sum((rows[row] for row, there in zip(examples.rows[token], each, strict=True) if there), np.zeros(4))
            for token, each in zip(nodes.token, kept, strict=True)
        ]
        for first, end in zip(nodes.first, nodes.end, strict=True):
            sums = in_training(vectors[first:end], tables, dropout.context[:, 0].astype(float))
            for number, i in enumerate(places):
                if first <= i < end:
                    before, after, token = sums[i - first][:3], sums[i - first + 1][3:], nodes.token[i]
                    hidden = np.maximum(np.add(before, after) + states[examples.state[token]], 0)
                    p = 1 / (1 + math.exp(-((hidden * dropout.units[number]) @ output + bias[0])))
                    total -= math.log(p if examples.gold[token] else 1 - p)
        return total

    tables = [table.astype(float) for table in (learner.layers.rows.table, *learner.dense)]
    assert found.loss == pytest.approx(value(*tables), rel=1e-4)
    check_gradients(value, tables, [of_rows, *found.dense], np.random.default_rng(seed), 4)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_network_learns_from_the_places_of_the_linear_model(seed, lines):
    text = random_text(random.Random(seed)) + " a"
    layout = lay_out(text)
    table, numbers = TokenTable(*token_table(layout, layout.start, layout.end)), np.random.default_rng(seed)
    usage = Usage(*(numbers.integers(0, most, 1 << 6).astype(np.uint8) for most in (26, 37, 37)))
    ends, missed = numbers.random(len(layout.start)) < 0.3, numbers.random(len(layout.start)) < 0.2
    _, gold = sentence_examples(table, ends, usage, 10, missed)
    examples = network_examples(table, ends, usage, missed, lines)
    pairs = [(text[a:b], PARAGRAPH if blanks == NO_BLANKS else blanks) for a, b, blanks in naive.chunks(text)]
    places = [t for t, (_, blanks) in enumerate(pairs) if blanks != PARAGRAPH]
    assert examples.gold[places].tolist() == gold.tolist()
    learnt = [t for t in places if not lines or pairs[t][1] in (WRAPPED, BROKEN)]
    assert np.flatnonzero(examples.learnt).tolist() == learnt
    twice = joined([examples, examples])
    assert twice.pieces.tolist() == [*examples.pieces.tolist(), *(examples.pieces + len(pairs)).tolist()]
    begin = 0
    for t, pair in enumerate(pairs):
        state = naive.state_number(*naive.state_of(pairs, begin, t, twin_of(usage)[1]))
        expected = naive.token_rows(pairs, t, *twin_of(usage), BITS)
        for found in (examples.rows[t], twice.rows[t], twice.rows[len(pairs) + t]):
            assert found.tolist() == expected
        assert examples.state[t] == state + N_STATES * (pair[1] == BROKEN)
        begin = t + 1 if pair[1] == PARAGRAPH or ends[t] and not missed[t] else begin


def test_a_segmenter_keeps_its_network():
    sentences = list(conll.read(io.StringIO(treebank(["Det regner +."] * 20))))
    without, with_network = (Segmenter.fit(sentences, SegmenterConfig(network_share=share)) for share in (0.0, 0.25))
    assert not any(name.startswith("network") for name in without.state()[1])
    meta, arrays = with_network.state()
    again = Segmenter.from_state(meta, dict(arrays))
    text = "Det regner. Det regner. Regner det"
    assert [s.forms for s in again.segment(text)] == [s.forms for s in with_network.segment(text)]
    assert len(again.segment("Det regner. Det regner.")) == 2
    wrong = [{name: arrays[name][..., :-2]} for name in ("network_rows", "network_output", "context_output")]
    for changed in (*wrong, {"network_states": np.full_like(arrays["network_states"], np.nan)}):
        with pytest.raises(ModelError, match="network|context"):
            load(Segmenter, (meta, arrays | changed))


def test_segmenters_with_other_templates_are_refused():
    segmenter = Segmenter.fit(list(conll.read(io.StringIO(raw_treebank(30)))), SegmenterConfig(bits=12))
    meta, arrays = segmenter.state()
    with pytest.raises(ModelError, match=r"^the segmenter has 5 templates, \d+ expected; train"):
        Segmenter.from_state(meta | {"templates": 5}, arrays)
