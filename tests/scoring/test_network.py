"""The network over arcs and labels: scores, gradients and steps against their definitions, and the parser with it."""

import dataclasses
import itertools
import math
from collections import Counter

import naive_network
import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import draw_arcs, draw_candidates, draw_tree
from staged import encoded, scored
from toy import FROM_GOLD_TAGS, draw_sentence, sentences
from updates import draw_parts

from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.learning.network import ArcBatch, ArcExample, TrainableArcNetwork, count_rows
from nonproj.linear.state import load
from nonproj.networks import context as context_layers
from nonproj.networks.context import CONTEXT, ContextWeights
from nonproj.networks.hyperparameters import arc_hyperparameters
from nonproj.networks.training import Dropout
from nonproj.options.config import Config
from nonproj.options.sections import NetworkConfig
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parser import Parser
from nonproj.scoring.joined import join
from nonproj.scoring.network import ArcWeights, Network
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.scoring.word_rows import IndexColumns, columns_for
from nonproj.types import Sentence

FILES = load_templates()
SMALL = FROM_GOLD_TAGS | {"training.epochs": 2, "network.epochs": 3, "network.size": 8, "network.context": 4}

SENTENCES = sentences(40)


def config(**changes) -> Config:
    return Config().with_overrides(SMALL | {name.replace("__", "."): value for name, value in changes.items()})


def draw_encoder(rng, n):
    """A sentence, and an encoder that knows some of its words."""
    sentence = draw_sentence(rng, n)
    return sentence, encoder_of([draw_sentence(rng, 5), Sentence(sentence.rows[::2])])


def encoder_of(sentences):
    """An encoder that knows these sentences."""
    return TokenEncoder.from_sentences(sentences, attributes_of(FILES), rare=1)


def draw_network(rng, vocabularies, size, width=0):
    """A network of random integers, some of whose entries have no row."""
    columns = IndexColumns.of(vocabularies, columns_for(vocabularies))
    index = rng.integers(0, columns.size, columns.size).astype(np.int32) * (rng.random(columns.size) < 0.8)
    tags = 5 + len(vocabularies["pos"])
    shapes = (columns.size, width or 2 * size), (tags, size), (naive_network.POSITIONS, size), (size,), (3, size)
    weights = ArcWeights(*(rng.integers(-32767, 32768, shape).astype(np.int16) for shape in shapes))
    context = ContextWeights(*naive_network.draw_context(rng, 2, width, 2 * size)) if width else None
    return Network(columns, index.astype(np.int32), weights, 0.25, 0.5, context)


def as_lists(tables):
    """Tables in Python's numbers."""
    return [table.tolist() for table in tables]


def naive_context(network, sentence, vocabularies):
    """The sums of all words of a sentence from their contexts, from the definition."""
    arguments = sentence, vocabularies, network.index, as_lists(network.weights)
    return naive_network.sums_in_context(*arguments, network.context)


@pytest.mark.parametrize("seed", seeds(12))
def test_scores_equal_the_definition_exactly(seed):
    rng = np.random.default_rng(seed)
    sentence, encoder = draw_encoder(rng, [1, 2, 3, 5, 9, 25][seed % 6])
    network = draw_network(rng, encoder.vocabularies, [1, 3, 16][seed % 3], [0, 1, 2, 5][seed % 4])
    arcs = draw_arcs(rng, len(sentence))
    layer = network.layer(encoder.encode(sentence))
    found, labels = (each(layer, arcs.head, arcs.modifier) for each in (network.scores, network.label_scores))
    weights, sums = as_lists(network.weights), naive_context(network, sentence, encoder.vocabularies)
    for value, row, pair in zip(found.tolist(), labels.tolist(), naive_trees.pairs_of(arcs), strict=True):
        arguments = sentence, encoder.vocabularies, network.index, weights, pair
        assert value == 0.25 * naive_network.score(*arguments, sums=sums)
        assert row == [0.5 * score for score in naive_network.label_scores(*arguments, sums=sums)]


@pytest.mark.parametrize("block", [1, 10, 256])
def test_sentences_of_a_batch_score_as_each_alone(monkeypatch, block):
    monkeypatch.setattr(context_layers, "_BLOCK", block)
    rng = np.random.default_rng(0)
    given = [draw_sentence(rng, n) for n in (3, 1, 7, 12)]
    encoder = encoder_of(given)
    network, tokens = draw_network(rng, encoder.vocabularies, 5, 3), [encoder.encode(s) for s in given]
    batch, spaces = join(tokens), [draw_arcs(rng, len(s)) for s in given]
    head, modifier = (np.concatenate([a[i] + k for a, k in zip(spaces, batch.first, strict=True)]) for i in (0, 1))
    for each in (network.scores, network.label_scores):
        found = each(network.layer(batch), head, modifier)
        alone = [each(network.layer(t), a.head, a.modifier) for t, a in zip(tokens, spaces, strict=True)]
        assert found.tolist() == np.concatenate(alone).tolist()


def test_vectors_of_zeros_or_next_to_it_have_no_products():
    context = ContextWeights(*naive_network.draw_context(np.random.default_rng(0), 2, 3, 4))
    bounds = np.array([0], np.int32), np.array([2], np.int32)
    found = [context.sums(np.full((2, 3), value, np.float32), bounds) for value in (0.0, 1e-40)]
    assert found[0].any() and (found[0] == found[1]).all()


@pytest.mark.parametrize("seed", range(4))
def test_scores_between_tagged_words_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    sentence, counts, rows = draw_candidates(rng, 5)
    encoder = encoder_of([sentence, Sentence(rows[::2])])
    network = draw_network(rng, encoder.vocabularies, 4, 2 * (seed % 2))
    sums = naive_context(network, sentence, encoder.vocabularies)
    word = np.repeat(np.arange(6), counts)
    pairs = [(h, m) for h in range(len(word)) for m in range(1, len(word)) if word[h] != word[m]]
    head, modifier = np.array(pairs, np.int32).T.copy()
    layer = network.layer(encoder.encode(sentence), (encoder.encode(Sentence(rows)), word))
    found = network.scores(layer, head, modifier)
    weights = as_lists(network.weights)
    for value, (h, m) in zip(found.tolist(), pairs, strict=True):
        own = rows[h - 1] if h else None, rows[m - 1]
        arc = int(word[h]), int(word[m])
        arguments = sentence, encoder.vocabularies, network.index, weights, arc
        assert value == 0.25 * naive_network.score(*arguments, tagged=own, sums=sums)


def draw_learner(seed, size=3, context=4, **changes):
    """A network in training, a sentence with its tree and candidate arcs, and dropped units."""
    rng, n = np.random.default_rng(seed), 2 + seed
    sentence, encoder = draw_encoder(rng, n)
    heads = draw_tree(rng, n)
    example = ArcExample(encoder.encode(sentence), heads, draw_parts(rng, heads, "arc").arcs, np.zeros(n, np.int64))
    hyper = dataclasses.replace(arc_hyperparameters(NetworkConfig(size=size, context=context)), **changes)
    learner = TrainableArcNetwork(encoder.vocabularies, [example, example], 4, hyper, np.random.default_rng(seed))
    for table in (*learner.weights, *(learner.layers.context.tables if learner.layers.context else ())):
        table[:] = rng.normal(size=table.shape)
    learner.weights.words[0] = 0.0
    dropped = (rng.random((n + 1, len(learner.names) + 1)) < 0.3).astype(np.uint8)
    heads[1:][rng.random(n) < 0.2] = -1  # not given, and not learnt from
    example.labels[:] = rng.integers(-1, 4, n)
    return learner, example, sentence, encoder.vocabularies, dropped


@pytest.mark.parametrize("seed", seeds(6, least=3))
def test_gradients_are_those_of_the_loss(seed):
    width = 2 * (seed % 2)
    learner, example, sentence, vocabularies, dropped = draw_learner(seed, context=width)
    units = learner.layers.context.draw() if width else None
    _, heads, arcs, labels = example
    pairs, mask = naive_trees.pairs_of(arcs), [2.0, 0.0, 1.25]
    learnt = [(int(heads[m]), m, label) for m, label in enumerate(labels.tolist(), 1) if heads[m] >= 0 <= label]

    def loss():
        weights, context = tables[:5], (tables[5:7], tables[7:9], tables[9]) if width else None
        arguments = sentence, vocabularies, learner.index, weights
        sums = naive_network.sums_in_context(*arguments, context, dropped, units)
        given = {"dropped": dropped, "mask": mask, "sums": sums}
        total = naive_network.loss([naive_network.score(*arguments, pair, **given) for pair in pairs], pairs, heads)
        for h, m, label in learnt:
            total += naive_network.label_loss(naive_network.label_scores(*arguments, (h, m), **given), label)
        return total

    tables = [table.astype(float) for table in (*learner.weights, *(learner.layers.context.tables if width else ()))]
    batch = ArcBatch.of([example])
    found = learner.gradient(batch, learner.inputs(batch, dropped), Dropout(units, np.float32(mask)))
    of_vectors, of_tags, of_positions, of_output, of_labels = (each.gradient for each in found.rows)
    assert found.loss == pytest.approx(loss(), abs=1e-4)
    wanted = [np.zeros_like(table) for table in tables]
    for node in range(len(heads)):
        for row in naive_network.rows_of(sentence, vocabularies, learner.index, node, None, dropped[node]):
            wanted[0][row] += of_vectors[node]
        wanted[1][example[0].atoms[3 + node, learner.columns.between]] += of_tags[node]
    wanted[2:] = of_positions, of_output[0], of_labels, *found.dense
    naive_network.check_gradients(lambda *_: loss(), tables, wanted, np.random.default_rng(seed), 9)
    assert sum(map(np.count_nonzero, wanted)) > 5


@pytest.mark.parametrize("width", [0, 2])
def test_the_gradient_of_a_batch_is_the_sum_of_those_of_its_sentences(width):
    learner, example, *_ = draw_learner(3, context=width)
    rng, n = np.random.default_rng(0), len(example.heads)
    trees, labels = (np.append(-1, rng.integers(-1, 1, n - 1)), draw_tree(rng, n - 1)), rng.integers(-1, 4, (2, n - 1))
    one = example._replace(arcs=full_arc_space(n - 1))
    others = [example, *(one._replace(heads=h, labels=k) for h, k in zip(trees, labels, strict=True))]

    def gradient(examples):
        batch = ArcBatch.of(examples)
        units = np.ones_like(learner.layers.context.draw()) if width else None
        inputs = learner.inputs(batch, np.zeros((batch.tokens.n_nodes, len(learner.names) + 1), np.uint8))
        found = learner.gradient(batch, inputs, Dropout(units, np.ones(3, np.float32)))
        vectors, tags, *rest = (each.gradient for each in found.rows)
        nodes = np.concatenate([np.arange(*pair) for pair in zip(batch.tokens.first, batch.tokens.end, strict=True)])
        outside = np.setdiff1d(np.arange(batch.tokens.n_nodes), nodes)
        assert not vectors[outside].any() and not tags[outside].any()
        return [vectors[nodes], tags[nodes]], [found.loss, found.wrong, *rest, *found.dense]

    of_nodes, sums = gradient(others)
    nodes_alone, sums_alone = zip(*(gradient([each]) for each in others), strict=True)
    for found, wanted in zip(of_nodes, zip(*nodes_alone, strict=True), strict=True):
        np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-4, atol=1e-4)
    for found, wanted in zip(sums, zip(*sums_alone, strict=True), strict=True):
        np.testing.assert_allclose(found, sum(wanted), rtol=1e-4, atol=1e-4)


def test_rows_are_for_what_occurs_twice():
    rng, seen = np.random.default_rng(0), Counter()
    drawn = [draw_sentence(rng, 4) for _ in range(3)]
    encoder = encoder_of(drawn)
    for sentence, node in itertools.product(drawn, range(5)):
        seen.update(itertools.chain(*naive_network.entries(sentence, encoder.vocabularies, node)))
    columns = IndexColumns.of(encoder.vocabularies, columns_for(encoder.vocabularies))
    index = count_rows(columns, [encoder.encode(s) for s in drawn], 2)
    twice = sorted(entry for entry, count in seen.items() if count >= 2)
    assert np.flatnonzero(index).tolist() == twice and index[twice].tolist() == list(range(1, len(twice) + 1))


@pytest.fixture(scope="module")
def model():
    return train(SENTENCES, config())


def test_arcs_score_with_the_network_and_trees_stay_certified(model):
    parser, plain = Parser(model), Parser(dataclasses.replace(model, components={}))
    network, differences = model.loaded(Network, model.vocabularies, len(model.labels)), 0
    for sentence in sentences(10, seed=1):
        tokens, arcs, words = encoded(parser, sentence), full_arc_space(len(sentence)), np.arange(1, len(sentence) + 1)
        layer = network.layer(tokens)
        added, labels = network.scores(layer, *arcs[:2]), network.label_scores(layer, sentence.heads, np.int32(words))
        expected = scored(plain, sentence, arcs)[1]
        expected[: len(added)] += added
        np.testing.assert_allclose(scored(parser, sentence, arcs)[1], expected, atol=1e-9)
        differences += np.count_nonzero(added)
        found, other = (each.loaded.labeler.scores(join([tokens]), sentence.tree) for each in (parser, plain))
        np.testing.assert_allclose(found, other + labels, atol=1e-9)
        assert np.ptp(labels, axis=1).all() and parser.parse(sentence).decoded.certified
    assert differences > 100


def test_its_weight_is_a_fraction_of_the_margin(model):
    other = train(SENTENCES, config(network__weight=0.3, training__margin=600.0))
    half = train(SENTENCES, config(network__label_weight=0.25)).components["network"]
    state = model.components["network"]
    assert other.components["network"]["scale"] == pytest.approx(3 * state["scale"])
    assert half == state | {"label_scale": 0.5 * state["label_scale"]}
    for name in ArcWeights._fields:
        np.testing.assert_array_equal(model.weights[f"network.{name}"], other.weights[f"network.{name}"])


@pytest.mark.parametrize("name", ["network__epochs", "network__weight", "training__margin"])
def test_models_without_a_network(name):
    assert "network" not in train(SENTENCES[:10], config(network__label_weight=0.0, **{name: 0})).components


SCALES = {"scale": math.inf}, {"label_scale": -1.0}
FORGED = [
    (lambda state, arrays: state.pop("scale"), "has no 'scale' of type float"),
    (lambda state, arrays: state.update(columns=[["pos", 4]]), "has a column that is not a pair"),
    (lambda state, arrays: state.update(columns=[["lower", 0]]), "needs the attribute 'lower'"),
    (lambda state, arrays: state.update(columns=[]), "is empty"),
    *((lambda state, arrays, bad=bad: state.update(bad), "scale of the network") for bad in SCALES),
    (lambda state, arrays: arrays["index"].__setitem__(7, len(arrays["words"])), "lacks some of its rows"),
    (lambda state, arrays: arrays["index"].__setitem__(7, -1), "lacks some of its rows"),
    (lambda state, arrays: [arrays.pop(name) for name in CONTEXT], "array 'words' is of size"),
    (lambda state, arrays: arrays["context_bias"].put(0, 1e9), "too large, or not a number"),
    (lambda state, arrays: arrays["context_bias"].put(0, -math.inf), "too large, or not a number"),
    (lambda state, arrays: arrays["context_hidden"].__setitem__((1, 1, 1), -128), "larger than 127"),
    (lambda state, arrays: arrays["context_output"].__setitem__((1, 1), -32768), "larger than 127"),
    (lambda state, arrays: arrays["context_scales"].__setitem__((1, 0), math.nan), "has a scale that is too large"),
    (lambda state, arrays: arrays["context_factors"].__setitem__(0, math.inf), "has a scale that is too large"),
    (lambda state, arrays: arrays["context_unit"].__setitem__(0, -1e30), "has a scale that is too large"),
    (lambda state, arrays: arrays.update({n: arrays[n].repeat(40, 0) for n in [*CONTEXT][:3]}), "has 80 layers"),
]


@pytest.mark.parametrize(("change", "message"), FORGED)
def test_forged_networks_are_refused(model, change, message):
    state, arrays = model.component("network")
    state, arrays = dict(state), {name: array.copy() for name, array in arrays.items()}
    change(state, arrays)
    with pytest.raises(ModelError, match=message):
        load(Network, (state, arrays), model.vocabularies, len(model.labels))


def test_arrays_of_other_shapes_and_types_are_refused(model):
    state, arrays = model.component("network")
    for name, array in arrays.items():
        sliced = [{name: array[tuple([slice(None)] * axis + [slice(1, None)])]} for axis in range(array.ndim)]
        for changed in ({}, {name: array.astype(float)}, *sliced):
            others = {key: each for key, each in arrays.items() if key != name}
            with pytest.raises(ModelError, match="array '|lacks some of its rows|of the wrong size"):
                load(Network, (state, others | changed), model.vocabularies, len(model.labels))


@pytest.mark.parametrize(("context", "pieces"), [(0, 2), (4, 1)])
def test_rows_take_steps_of_their_own_and_those_of_words_without_context_in_two_halves(context, pieces):
    learner, *_ = draw_learner(0, context=context, row_rate=0.5, first_square=0.25)
    assert [steps.squares.shape[1] for steps in learner.rows] == [pieces, 1, 1, 1, 1]
    assert all(steps.rate == 0.5 and (steps.squares == 0.25).all() for steps in learner.rows)


def test_a_network_in_16_bits_scores_as_its_learner():
    learner, example, sentence, vocabularies, _ = draw_learner(4, context=0)
    network = learner.network(1.0, 0.5)
    layer = network.layer(example.tokens)
    found, labels = (each(layer, *example.arcs[:2]) for each in (network.scores, network.label_scores))
    for value, row, pair in zip(found.tolist(), labels, naive_trees.pairs_of(example.arcs), strict=True):
        arguments = sentence, vocabularies, learner.index, learner.weights, pair
        assert value == pytest.approx(naive_network.score(*arguments), rel=1e-3, abs=0.02)
        np.testing.assert_allclose(2 * row, naive_network.label_scores(*arguments), rtol=1e-3, atol=0.02)
