"""Labels of a tree's arcs: neighbours, codes, lines of the weight table; and the labeler that learns them."""

import naive_scoring as naive
import numpy as np
import pytest
from instances import seeds
from problems import draw_features, draw_tree

from nonproj.learning.labeler import Labeler
from nonproj.linear.perceptron import AveragedArrays
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import LINE, add_labels, label_parts, label_scores
from nonproj.scoring.templates import CODE_BITS, attributes_of, codes_of, load_templates, part_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.types import Sentence

BITS = 14
SPEC = {
    "part": "label",
    "codes": ["none", "direction", "distance"],
    "templates": ["h.pos m.pos", "g+1.form l-1.pos r+1.pos", "a.tag z.tag", "h.feat m.feat", "m.pos h.feat", "m.feat"],
}


@pytest.mark.parametrize("seed", seeds(15))
def test_parts_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 16))
    heads = draw_tree(rng, n)
    parts, expected = label_parts(heads), naive.labelled(heads.tolist())
    assert parts.nodes.tolist() == [list(nodes) for nodes in expected]
    for number, name in enumerate(codes_of("label")):
        codes = [naive.code_of(name, "label", nodes, n) for nodes in expected]
        assert parts.codes[:, number].tolist() == codes
        assert max(codes) < 1 << CODE_BITS


@pytest.mark.parametrize("n_labels", [1, LINE, LINE + 1, 256])
@pytest.mark.parametrize("n", [1, 5])
def test_every_label_of_every_arc_equals_the_twin(n, n_labels):
    rng, sentence, encoder, table = draw_features(n, SPEC, n)
    heads = draw_tree(rng, n)
    weights = rng.integers(-5, 6, 1 << BITS).astype(np.float32)
    hashed, parts = hash_tokens(encoder.encode(sentence), table, len(weights)), label_parts(heads)
    scores = label_scores(hashed, parts, n_labels, weights)
    gold, predicted = rng.integers(0, n_labels, n), rng.integers(0, n_labels, n)
    gold[0] = predicted[0]  # a right label moves nothing
    moved = np.zeros(len(weights))
    for p, nodes in enumerate(naive.labelled(heads.tolist())):
        lines = [place - place % LINE for place in naive.places(sentence, encoder.vocabularies, SPEC, nodes, BITS)]
        assert scores[p].tolist() == [sum(float(weights[i ^ label]) for i in lines) for label in range(n_labels)]
        if gold[p] != predicted[p]:
            np.add.at(moved, [i ^ gold[p] for i in lines], 1.0)
            np.add.at(moved, [i ^ predicted[p] for i in lines], -1.0)
    changed, total = weights.copy(), np.zeros(len(weights))
    add_labels(hashed, parts, gold, predicted, AveragedArrays(changed, total, 3.0))
    assert (changed == weights + moved).all()
    assert (total == 3 * moved).all()


def a_labeler(margin=0.0, n_labels=3):
    """A labeler, and examples whose label follows from the word's tag and the side of its head."""
    rng = np.random.default_rng(0)
    examples, sentences = [], []
    for _ in range(12):
        n = int(rng.integers(2, 8))
        tags = rng.choice(["A", "B"], n)
        rows = [[str(i), f"w{i}", "_", t, "_", "_", "0", "x", "_", "_"] for i, t in enumerate(tags.tolist(), 1)]
        sentences.append((Sentence(rows), draw_tree(rng, n), tags))
    files = load_templates()
    encoder = TokenEncoder.from_sentences([s for s, _, _ in sentences], attributes_of(files), 1)
    for sentence, heads, tags in sentences:
        right = heads[1:] < np.arange(1, len(heads))
        gold = np.where(tags == "A", right.astype(np.int64), 2)
        examples.append((encoder.encode(sentence), heads, gold))
    return Labeler(part_templates(files["label"], encoder.attributes), n_labels, BITS, margin), examples


@pytest.mark.parametrize("margin", [0.0, 4.0])
def test_an_update_moves_what_does_not_win_by_the_margin(margin):
    labeler, examples = a_labeler(margin)
    for _ in range(2):
        for tokens, heads, gold in examples:
            hashed, parts = hash_tokens(tokens, labeler.table, 1 << BITS), label_parts(heads)
            scores = label_scores(hashed, parts, 3, labeler.weights)
            best = []
            for row, label in zip(scores.tolist(), gold.tolist(), strict=True):
                row[label] -= margin
                best.append(row.index(max(row)))  # ties to the lowest
            expected, total, step = labeler.weights.copy(), labeler.total.copy(), labeler.step
            add_labels(hashed, parts, gold, np.array(best), AveragedArrays(expected, total, float(step)))
            assert labeler.update(tokens, heads, gold) == sum(a != b for a, b in zip(best, gold.tolist(), strict=True))
            assert (labeler.weights == expected).all()
            assert (labeler.total == total).all()
            assert labeler.step == step + 1
