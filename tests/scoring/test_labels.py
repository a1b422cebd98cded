"""Labels of a tree's arcs, alone and in pairs: neighbours, codes, scores, updates, the dynamic programme, models."""

import dataclasses
import json

import naive_labels as naive
import naive_scoring
import numpy as np
import pytest
import toy
from instances import seeds
from problems import draw_features, draw_tree
from staged import encoded, staged
from toy import draw_sentence

from nonproj.components.trainer import train
from nonproj.dual.search import SearchResult
from nonproj.errors import ModelError
from nonproj.io.constraints import Constraints
from nonproj.learning.labeler import Labeler
from nonproj.linear.perceptron import AveragedArrays
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import collect, label
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.joined import join
from nonproj.scoring.label_pairs import CandidateLabels, PairScorer, candidate_labels, labelled_tree
from nonproj.scoring.labels import LINE, add_labels, label_parts, label_scores
from nonproj.scoring.templates import CODE_BITS, LABEL_PAIRS, attributes_of, load_templates, part_templates
from nonproj.scoring.tree_labels import decode_labels
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.types import Decoded

BITS, LABELS = 14, 3
FILES = load_templates(labelled=True, pairs=True)
TEMPLATES = ["h.pos m.pos", "g+1.form l-1.pos r+1.pos", "a.tag z.tag", "h.feat m.feat", "m.pos h.feat", "m.feat"]
SPEC = {"part": "label", "codes": ["none", "direction", "distance"], "templates": TEMPLATES}


@pytest.mark.parametrize("n_labels", [1, LINE, LINE + 1, 256])
@pytest.mark.parametrize("n", [1, 5, 15])
def test_every_label_of_every_arc_equals_the_twin(n, n_labels):
    rng, sentence, encoder, table = draw_features(n, SPEC, n)
    heads, weights = draw_tree(rng, n), rng.integers(-5, 6, 1 << BITS).astype(np.float32)
    hashed, parts = hash_tokens(encoder.encode(sentence), table, len(weights)), label_parts(heads)
    scores = label_scores(hashed, parts, n_labels, weights)
    gold, predicted = rng.integers(0, n_labels, (2, n))
    gold[0] = predicted[0]  # a right label moves nothing
    moved = np.zeros(len(weights))
    for p, nodes in enumerate(naive_scoring.labelled(heads.tolist())):
        places = naive_scoring.places(sentence, encoder.vocabularies, SPEC, nodes, BITS)
        lines = [place - place % LINE for place in places]
        assert scores[p].tolist() == [sum(float(weights[i ^ label]) for i in lines) for label in range(n_labels)]
        for labels, sign in ((gold, 1.0), (predicted, -1.0)):
            np.add.at(moved, [i ^ labels[p] for i in lines], sign)
    changed, total = weights.copy(), np.zeros(len(weights))
    add_labels(hashed, parts, gold, predicted, AveragedArrays(changed, total, 3.0))
    assert (changed == weights + moved).all() and (total == 3 * moved).all()


def draw(seed, n):
    """A random sentence, its tree, an encoder and the scorer of pairs."""
    rng = np.random.default_rng(seed)
    sentence, heads = draw_sentence(rng, n), draw_tree(rng, n)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), 1)
    return rng, sentence, heads, encoder, PairScorer(FILES, encoder.attributes)


def places_of_pair(sentence, vocabularies, kind, words, labels):
    """The places of a pair of labels."""
    return naive.pair_places(sentence, vocabularies, FILES[LABEL_PAIRS[kind]], words, labels, BITS)


@pytest.mark.parametrize("seed", seeds(12))
def test_pairs_of_a_tree_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    heads = draw_tree(rng, n)
    tree = labelled_tree(heads)
    for part, rows, expected in zip(LABEL_PAIRS, tree[-2:], naive.pairs_of(heads.tolist()), strict=True):
        assert rows.nodes.tolist() == [list(words) for words in expected]
        codes = [naive_scoring.code_of("position", part, words, n) for words in expected]
        assert rows.codes[:, 1].tolist() == codes
        assert 0 < min(codes) <= max(codes) < 1 << CODE_BITS
    place = np.argsort(tree.order)
    assert sorted(tree.order) == list(range(n + 1)) and (place[heads[1:]] < place[1:]).all()


@pytest.mark.parametrize("heads", [[-1, 2, 1], [-1, 0, 3, 4, 2], [-1, 1]])
def test_heads_with_a_cycle_are_refused(heads):
    with pytest.raises(ValueError, match="form a cycle"):
        labelled_tree(np.array(heads, np.int32))


@pytest.mark.parametrize("most", [1, 2, 4, 9])
@pytest.mark.parametrize("ties", [False, True])
def test_candidates_are_the_best_labels(ties, most):
    rng = np.random.default_rng(most)
    scores = rng.integers(0, 4, (40, 5)).astype(float) if ties else rng.normal(0.0, 2.0, (40, 5))
    for gold in (None, rng.integers(-1, 5, 40)):
        found = candidate_labels(scores, most, 2.0, gold)
        for i, row in enumerate(scores.tolist()):
            ordered = sorted(range(5), key=lambda label, row=row: -row[label])
            expected = [label for label in ordered if row[label] >= max(row) - 2.0][:most]
            if gold is not None and gold[i] >= 0 and gold[i] not in expected:
                expected = [*expected[: min(most, 5) - 1], int(gold[i])]
            assert found.labels[i + 1, : found.counts[i + 1]].tolist() == expected
            assert found.scores[i + 1, : found.counts[i + 1]].tolist() == [row[label] for label in expected]
        assert (found.counts[[0, -2, -1]] == 1).all() and not found.labels[[0, -2, -1], 0].any()


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@pytest.mark.parametrize("seed", range(3))
def test_scores_and_updates_equal_the_twin(seed, dtype):
    rng, sentence, heads, encoder, scorer = draw(seed, 5)
    tokens, tree, n_labels = encoder.encode(sentence), labelled_tree(heads), 40
    weights = rng.integers(-9, 10, 1 << BITS).astype(dtype)
    found = candidate_labels(rng.normal(size=(5, n_labels)), 4, 0.4)
    assert 1 in found.counts[1:6] and found.counts.max() > 1
    scores = scorer.score(tokens, tree, found, weights, 0.5)
    gold, predicted = rng.integers(0, n_labels, (2, 5))
    gold[:2] = predicted[:2]  # pairs of right labels move nothing
    moved = np.zeros(1 << BITS)
    for kind, (rows, table) in enumerate(zip(tree[-2:], scores, strict=True)):
        arguments = sentence, encoder.vocabularies, kind
        for p, words in enumerate(rows.nodes.tolist()):
            first, second = (found.labels[word, : found.counts[word]].tolist() for word in words[1:])
            for a, b in np.ndindex(len(first), len(second)):
                places = places_of_pair(*arguments, words, (first[a], second[b]))
                choice = len(first) * len(second) > 1
                assert table[p, a, b] == (0.5 * sum(int(weights[i]) for i in places) if choice else 0.0)
            for labels, sign in ((gold, 1), (predicted, -1)):
                pair = [int(labels[word - 1]) if 0 < word <= 5 else 0 for word in words[1:]]
                np.add.at(moved, places_of_pair(*arguments, words, pair), sign)
    changed, total = np.zeros(1 << BITS, np.float32), np.zeros(1 << BITS)
    scorer.add(tokens, tree, gold, predicted, AveragedArrays(changed, total, 3.0))
    assert (changed == moved).all() and (total == 3 * moved).all() and moved.any()


def random_problem(seed, ties):
    """A tree, some candidates of each word, and scores: of small integers, so that labellings tie, or continuous."""
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(1, 7)), 3

    def numbers(shape):
        return rng.integers(-1, 2, shape).astype(float) if ties else rng.normal(0.0, 2.0, shape)

    heads = draw_tree(rng, n)
    tree, count = labelled_tree(heads), np.ones(n + 3, np.int64)
    labels, scores = np.zeros((n + 3, most), np.int64), np.zeros((n + 3, most))
    count[1 : n + 1], scores[1 : n + 1] = rng.integers(1, most + 1, n), numbers((n, most))
    labels[1 : n + 1] = [rng.permutation(9)[:most] for _ in range(n)]
    pairs = [numbers((len(rows.nodes), most, most)) for rows in tree[-2:]]
    return heads, tree, CandidateLabels(labels, count, scores), pairs


@pytest.mark.parametrize("ties", [False, True])
def test_the_best_labelling_is_that_of_enumeration(ties):
    for seed in range(60):
        heads, tree, found, pairs = random_problem(seed, ties)
        words = range(1, len(heads))
        number = [{words: p for p, words in enumerate(map(tuple, rows.nodes.tolist()))} for rows in tree[-2:]]

        def score_of_pair(kind, words, places, number=number, pairs=pairs):
            return pairs[kind][number[kind][words]][places]

        allowed = [range(found.counts[m]) for m in words]
        best, optimal, highest = naive.best_labellings(heads.tolist(), allowed, found.scores[1:], score_of_pair)
        margins = np.full(len(heads) - 1, -5.0)
        labels, score = decode_labels(tree, found, pairs, margins)
        assert score == pytest.approx(best, abs=1e-9)
        assert labels.tolist() in [[found.labels[m, each[m]] for m in words] for each in optimal]
        for m in words:
            others = [highest[m, b] for b in allowed[m - 1] if found.labels[m, b] != labels[m - 1]]
            assert margins[m - 1] == pytest.approx(best - max(others) if others else -5.0, abs=1e-9)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("margin", [0.0, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_an_update_is_gold_less_the_best_labelling(seed, margin, paired):
    rng, sentence, heads, encoder, scorer = draw(seed, 4)
    table = part_templates(FILES["label"], encoder.attributes)
    labeler = Labeler(table, LABELS, BITS, margin, scorer if paired else None)
    labeler.weights[:] = rng.integers(-2, 3, 1 << BITS)
    labeler.step = 3
    before, gold = labeler.weights.copy(), rng.integers(0, LABELS, 4)
    words = naive_scoring.labelled(heads.tolist())

    def places_of(m, label):
        found = naive_scoring.places(sentence, encoder.vocabularies, FILES["label"], words[m - 1], BITS)
        return [place // 16 * 16 ^ label for place in found]

    def pair_places(*pair):
        return places_of_pair(sentence, encoder.vocabularies, *pair) if paired else []

    def places_in(labels):
        found = [place for m, label in labels.items() for place in places_of(m, label)]
        for kind, listed in enumerate(naive.pairs_of(heads.tolist())):
            for w in listed:
                found += pair_places(kind, w, (labels.get(w[1], 0), labels.get(w[2], 0)))
        return np.bincount(found, minlength=1 << BITS)

    single = [[sum(before[places_of(m, k)]) - margin * (k == gold[m - 1]) for k in range(LABELS)] for m in range(1, 5)]
    given = heads.tolist(), [range(LABELS)] * 4, single
    _, optimal, _ = naive.best_labellings(*given, lambda *pair: sum(before[pair_places(*pair)]))
    wrong = labeler.update(encoder.encode(sentence), heads, gold)
    wanted, moved = places_in(dict(enumerate(gold.tolist(), 1))), labeler.weights - before
    assert (labeler.total == 3 * moved).all() and labeler.step == 4
    fitting = [each for each in (optimal if paired else optimal[:1]) if (moved == wanted - places_in(each)).all()]
    assert wrong in [sum(labels[m] != gold[m - 1] for m in labels) for labels in fitting]  # ties to the lowest


# -- whole models


def a_parser(seed, n, **changes):
    """A parser of random weights for a sentence."""
    rng, sentence, heads, encoder, _ = draw(seed, n)
    weights = {name: rng.integers(-3, 4, 1 << BITS).astype(np.int16) for name in ("parser", "pruner", "labeler")}
    meta = {"scale": {"parser": 0.25, "pruner": 1.0, "labeler": 0.5}}
    model = Model(Config(), encoder.vocabularies, FILES, list("abc"), weights, meta)
    return Parser(dataclasses.replace(model, **changes)), sentence, heads


@pytest.mark.parametrize("demanded", [{}, {2: "c", 4: "a"}, {1: "b", 3: "of another treebank"}])
@pytest.mark.parametrize("seed", range(3))
def test_a_parser_finds_the_best_labelling_that_obeys_constraints(seed, demanded):
    parser, sentence, heads = a_parser(seed, 4)
    joined, weights, labeler = join([encoded(parser, sentence)]), parser.model.weights["labeler"], parser.loaded.labeler
    single = labeler.scores(joined, heads)

    def score_of_pair(*pair):
        return 0.5 * sum(int(weights[i]) for i in places_of_pair(sentence, parser.model.vocabularies, *pair))

    known = {word: "abc".index(label) for word, label in demanded.items() if label in "abc"}
    allowed = [[known[m]] if m in known else range(LABELS) for m in range(1, 5)]
    best, _, highest = naive.best_labellings(heads.tolist(), allowed, single, score_of_pair)
    [(numbers, margins)] = labeler.label(joined, [heads], None, known)
    chosen = dict(enumerate(numbers.tolist(), 1))
    found = [SearchResult([Decoded(heads, 0.0, 0.0, True, True, 1, 1.0)], None, None)]
    constraints = [Constraints(np.ones((5, 5), bool), demanded)]
    batch = collect(label(staged(parser, sentence)._replace(found=found, constraints=constraints)))
    assert batch.parses[0].labels == [demanded.get(m, "abc"[chosen[m]]) for m in chosen]
    assert naive.score_of(heads.tolist(), chosen, single, score_of_pair) == pytest.approx(best)
    for m in set(chosen) - set(known):
        others = [highest[m, label] for label in range(LABELS) if label != chosen[m]]
        assert margins[m - 1] == pytest.approx(best - max(others))


def test_templates_in_the_file_say_whether_pairs_are_scored():
    parser, sentence, heads = a_parser(0, 6)
    joined = join([encoded(parser, sentence)])
    files = {name: spec for name, spec in FILES.items() if name not in LABEL_PAIRS}
    without = a_parser(0, 6, templates=files)[0].loaded.labeler
    scores = without.scores(joined, heads)
    assert (scores == parser.loaded.labeler.scores(joined, heads)).all()
    [single], [paired] = (each.label(joined, [heads]) for each in (without, parser.loaded.labeler))
    assert single[0].tolist() == scores.argmax(axis=1).tolist() != paired[0].tolist()
    one = dataclasses.replace(parser.model, templates=files | {LABEL_PAIRS[0]: FILES[LABEL_PAIRS[0]]})
    with pytest.raises(ModelError, match="features.label_grandparent: the keys part, codes, templates expected"):
        Model.from_bytes(one.to_bytes())


def test_the_templates_say_whether_pairs_are_learnt(tmp_path):
    for name, spec in load_templates().items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(spec))
    assert list(load_templates(tmp_path, pairs=True)) == list(load_templates())
    for options, pairs in (({}, True), ({"features.folder": str(tmp_path)}, False)):
        options |= toy.FROM_GOLD_TAGS | {"training.epochs": 1, "network.epochs": 0}
        model = train(toy.sentences(20), Config().with_overrides(options))
        assert all((name in model.templates) == pairs for name in LABEL_PAIRS)
