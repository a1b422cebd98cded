"""The tagger's network: scores and gradients against their definitions, its rows, and its use in the tagger."""

from dataclasses import replace

import naive_tag_network as naive
import numpy as np
import pytest
import toy
from further import blank
from naive_network import check_gradients, draw_context, in_context, in_training
from problems import draw_tags

from nonproj.errors import ModelError
from nonproj.linear.hashing import hash_texts
from nonproj.linear.state import load
from nonproj.networks.context import ContextWeights
from nonproj.networks.hyperparameters import TAGS
from nonproj.networks.learner import Learner
from nonproj.networks.training import Dropout
from nonproj.options.sections import TaggerConfig
from nonproj.scoring.vocabulary import ATTRIBUTES
from nonproj.tagging import network_learning as learning
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.chain import FormRows
from nonproj.tagging.network import CONTEXT_SCALE, INDEX_BITS, OFFSETS, FormLayers, TagNetwork, TagWeights, form_hashes
from nonproj.tagging.network_learning import TagCorpus, TrainableTagNetwork, learn_tag_network
from nonproj.tagging.words import FormTable

FORMS = ["hus", "Huset", "husene", "x", "ΟΔΟΣ", "A-1"]
SMALL = TaggerConfig(bits=14, epochs=2, restarts=1, network_epochs=3)


def draw_network(rng, tags, width=3, size=9, context=True):
    """A network of random weights, with rows for some hashes."""
    index = np.zeros(1 << INDEX_BITS, np.int32)
    _, hashes = form_hashes(FORMS[:4])
    index[hashes] = rng.integers(0, 20, len(hashes))
    rows = rng.integers(-300, 300, (20, width)).astype(np.int16)
    rows[0] = 999  # a row that must not count
    shapes = (OFFSETS, width, size), (size,), (tags.n_units, size)
    weights = TagWeights(rows, *(rng.normal(0, 0.1, shape).astype(np.float32) for shape in shapes))
    layers = ContextWeights(*draw_context(rng, 1, width, size)) if context else None
    return TagNetwork(index, weights, tags, None, layers)


def forms_of(network, forms):
    """Layers of forms for the scores of words, the first row of what is outside."""
    pairs = zip(network.outside, network.layers(forms), strict=True)
    return FormLayers(*(np.concatenate(pair) for pair in pairs))


def rows_of(network, form):
    """The rows of a form by its definition."""
    return network.index[naive.entries(form, ATTRIBUTES["shape"](form, "_", "_", "_", "_"))].tolist()


def candidates(rng, tags, forms, limit=4):
    """Words with random candidates; the first row is that of what is outside."""
    count = np.concatenate([[0], rng.integers(1, limit + 1, len(forms))]).astype(np.int32)
    tag = np.stack([rng.permutation(len(tags))[:limit] for _ in count]).astype(np.int32)
    empty = np.zeros((len(count), 0), np.uint32)
    return FormTable(empty, empty[:, :, None], count, tag, empty[:, :, None])


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_their_definition(seed):
    rng = np.random.default_rng(seed)
    tags = draw_tags(rng, 8)
    network, words = draw_network(rng, tags, context=seed % 2), candidates(rng, tags, FORMS)
    form = rng.integers(1, len(FORMS) + 1, 7).astype(np.int32)
    text, scores = FormRows(np.array([0, 3, 3, 7]), form), np.ones((7, 4))
    network.score(forms_of(network, FORMS), words, text, 0.5, scores)
    rows, hidden, bias, output = (table.tolist() for table in network.weights)
    for first, end in ((0, 3), (3, 7)):
        forms = [FORMS[i - 1] for i in form[first:end]]
        vectors = [naive.vector(rows_of(network, f), rows) for f in forms] + [naive.vector([1], rows)]
        sums = None
        if network.context:
            exact = network.layers(forms).vectors
            np.testing.assert_allclose(exact, vectors[:-1], rtol=1e-4, atol=1e-2)
            sums = in_context(exact, network.context)
        for i in range(end - first):
            added = [x * CONTEXT_SCALE for x in sums[i]] if sums else None
            layer = naive.layer(vectors, i, hidden, bias, None, added)
            row = form[first + i]
            for c, t in enumerate(words.tag[row]):
                counts = words.count[row] > 1 and c < words.count[row]
                expected = naive.score(layer, tags, tags.tags[t], output) if counts else 0.0
                assert scores[first + i, c] == pytest.approx(1 + 0.5 * expected, rel=1e-4, abs=1e-2)


def test_ngrams_of_long_forms_are_those_of_both_ends():
    start, hashes = form_hashes(["ab" * 5000, "ab" * 100, "a" * 50 + "bc", ""])
    assert start[1] == start[2] - start[1] < 300
    wanted = hash_texts(["<", "<aaaaa", "aabc>", ">"]) >> np.uint32(32 - INDEX_BITS)
    assert set(wanted.tolist()) <= set(hashes[start[2] : start[3]].tolist())
    assert hashes[start[3] :].tolist() == naive.entries("", ATTRIBUTES["shape"]("", "_", "_", "_", "_"))


def draw_learner(seed):
    """A small network in training, with random weights."""
    rng = np.random.default_rng(seed)
    tags = draw_tags(rng, 6)
    form = rng.integers(0, len(FORMS), 8)
    tag = rng.integers(-1, len(tags), 8)
    corpus, hyper = TagCorpus(np.array([0, 3, 8]), form, tag), replace(TAGS, width=3, hidden=4)
    learner = TrainableTagNetwork(FORMS, corpus, tags, rng, hyperparameters=hyper)
    for table in (learner.layers.rows.table, *learner.dense):
        table[:] = rng.normal(0.0, 0.4, table.shape)
    return rng, learner


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_loss(seed):
    """Gradient of the second sentence, some rows and hidden units left out."""
    rng, learner = draw_learner(seed)
    corpus = learner.corpus
    words, bounds = learning._words_of(corpus.start, np.array([1]))
    form = np.concatenate([[0], corpus.form[words] + 1])
    mask = rng.integers(0, 3, (len(words), 4)).astype(np.float32)
    units = rng.integers(0, 3, (1, 1, 3)).astype(np.float32)  # the same for all words, as in the naive twin
    inputs = learner.inputs(form, bounds)
    dropout = Dropout(np.broadcast_to(units, (1, len(form), 3)), mask)
    loss, _, _, [(of_vectors, _)], (of_alone, *dense) = learner.gradient(inputs, corpus.tag[words], dropout)
    rows, alone, *tables = (table.astype(float) for table in (learner.layers.rows.table, *learner.dense))
    hidden = np.stack(np.split(alone, OFFSETS, axis=1))
    start, flat, kept = learner.forms.start, learner.forms.row.tolist(), inputs.words.factor > 0
    ends = np.cumsum(np.diff(start)[form])
    vectors = [
        naive.vector(flat[start[f] : start[f + 1]], rows, kept[end - (start[f + 1] - start[f]) : end].tolist())
        for f, end in zip(form, ends, strict=True)
    ]
    vectors = [*vectors[1:], vectors[0]]
    gold = [learner.tags.tags[t] if t >= 0 else None for t in learner.corpus.tag[3:8]]

    def value(vectors, hidden, bias, output, layer, of_layer, of_context):
        added = in_training(vectors[:-1], ([layer], [of_layer], of_context), units[:, 0].tolist())
        return naive.loss(vectors, hidden, bias, output, learner.tags, gold, mask.tolist(), added)

    assert loss == pytest.approx(value(vectors, hidden, *tables), rel=1e-4)
    of_hidden = np.stack(np.split(of_alone, OFFSETS, axis=1))
    found = [np.concatenate([of_vectors[1:], of_vectors[:1]]), of_hidden, dense[0][0], *dense[1:]]
    check_gradients(value, [np.array(vectors), hidden, *tables], found, rng, 6)


def test_steps_lower_the_loss_and_move_only_rows_of_the_words():
    hyper, rng = replace(TAGS, lexical_dropout=0.0, row_dropout=0.0, unit_dropout=0.0), np.random.default_rng(0)
    tags, form = draw_tags(np.random.default_rng(0), 6), np.array([0, 1, 2, 3, 4, 0, 1, 2])
    corpus = TagCorpus(np.array([0, 3, 8]), form, form % 3)
    learner = TrainableTagNetwork(FORMS, corpus, tags, rng, hyperparameters=hyper)
    before, steps = learner.layers.rows.table.copy(), Learner(learner, [np.arange(2)] * 30, lambda _: rng)
    losses = [steps.epoch(number)[0] for number in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    moved = np.flatnonzero((learner.layers.rows.table != before).any(axis=1))
    assert len(moved) and 0 not in moved and set(moved) <= set(learner.forms.row)


def test_rare_forms_and_ngrams_have_no_row():
    rng, corpus = np.random.default_rng(0), TagCorpus(np.array([0, 5]), np.array([0, 1, 2, 3, 3]), np.zeros(5, int))
    learner = TrainableTagNetwork(["abc", "Abc", "abd", "xyz"], corpus, draw_tags(rng, 2), rng)
    row = {text: learner.index[naive.text_hash(text) >> 14] for text in ("=abc", "=abd", "=xyz", "ab", "abc", "xy")}
    assert {text for text, number in row.items() if number} == {"=abc", "=xyz", "ab"}
    assert min(number for number in row.values() if number) > 1, "row 1 is that of what is outside"


def test_unknown_words_get_tags_by_their_ngrams():
    rng, scores = np.random.default_rng(1), np.zeros((20, 2))
    stems = ("".join(rng.choice(list("aeiklmnoprst"), 5)) for _ in range(90))
    forms = [stem + ending for stem in stems for ending in ("um", "que")]
    new, tags, corpus = forms[160:], draw_tags(rng, 2), TagCorpus(np.arange(161), np.arange(160), np.arange(160) % 2)
    network = learn_tag_network(forms[:160], corpus, tags, 12, rng, lambda items, _: items)
    both = np.tile(np.arange(2, dtype=np.int32), (21, 1))
    words = candidates(rng, tags, new)._replace(count=np.full(21, 2, np.int32), tag=both)
    network.score(forms_of(network, new), words, FormRows(np.arange(21), np.arange(1, 21, dtype=np.int32)), 1.0, scores)
    assert (scores.argmax(axis=1) == np.arange(20) % 2).mean() > 0.9


@pytest.fixture(scope="module")
def analyzer():
    return Analyzer.fit(toy.sentences(40), SMALL)


def test_the_network_takes_part_in_tagging(analyzer):
    gold, (state, arrays) = toy.sentences(30, seed=3), analyzer.state()
    arrays = arrays | {"tagger.weights": np.zeros_like(arrays["tagger.weights"])}  # so that only the network scores
    alone, untagged = load(Analyzer, (state, arrays)), blank(gold)
    found = alone.annotate(untagged)
    pairs = zip(gold, found, strict=True)
    assert np.mean([a[3] == b[3] for s, rows in pairs for a, b in zip(s.rows, rows, strict=True)]) > 0.9
    assert [alone.annotate([s])[0] for s in untagged] == found


def test_without_epochs_there_is_no_network():
    analyzer = Analyzer.fit(toy.sentences(10), replace(SMALL, network_epochs=0))
    assert analyzer.tagger.network is None
    assert not any("network" in name for name in analyzer.state()[1])
    assert load(Analyzer, analyzer.state()).tagger.network is None


DAMAGES = [
    ("index", lambda a: a - 1),
    ("index", lambda a: a + 10**6),
    ("rows", lambda a: a[:, :-1]),
    ("bias", lambda a: a * np.nan),
    *((name, lambda a: a[:-1]) for name in ("index", "hidden", "output")),
]


@pytest.mark.parametrize(("name", "change"), DAMAGES)
def test_damaged_networks_are_refused(analyzer, name, change):
    state, arrays = analyzer.state()
    name = f"tagger.network_{name}"
    with pytest.raises(ModelError, match="tagger"):
        load(Analyzer, (state, arrays | {name: change(arrays[name])}))
