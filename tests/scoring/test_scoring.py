"""Features and scores against the twin that reads them off the columns."""

import naive_scoring as naive
import numpy as np
import pytest
from problems import draw_features
from toy import draw_sentence

from nonproj.errors import ConfigError
from nonproj.linear.perceptron import AveragedArrays
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.parts.registry import PART_TYPES
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import add_labels, label_parts, label_scores
from nonproj.scoring.scorer import add_parts, score_parts
from nonproj.scoring.templates import load_templates, parse
from nonproj.scoring.vocabulary import FEAT, TokenEncoder

BITS = 14


def rows_of(part, arcs):
    """The rows that the kernels list, and for siblings the side of each."""
    start = PART_TYPES[part].number(arcs, 0)
    sides = np.repeat(np.arange(len(start) - 1) % 2, np.diff(start)) if part == "sibling" else None
    return PART_TYPES[part].rows(arcs, start), sides


SPECIAL = {
    "part": "arc",
    "codes": ["none", "direction", "distance"],
    "templates": [
        "h.form",
        "m-3.lower m+3.lower",
        "between.cpos",
        "h.pos between.form m.pos",
        "h.feat",
        "m.feat h.feat",
    ],
}
FILES = [("arc", "arc"), ("arc", "pruner"), ("sibling", "sibling"), ("grandparent", "grandparent"), ("arc", None)]


@pytest.mark.parametrize("part, file", FILES)
@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_the_twin(part, file, seed):
    spec = load_templates()[file] if file else SPECIAL
    n = 1 + 3 * seed
    rng, sentence, encoder, table = draw_features(seed, spec, n)
    arcs = full_arc_space(n)
    parts, sides = rows_of(part, arcs)
    weights = rng.standard_normal(1 << BITS).astype(np.float32)
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    scores = score_parts(hashed, parts, weights)
    for p in rng.permutation(len(scores))[:40]:
        side = None if sides is None else int(sides[p])
        places = naive.places(sentence, encoder.vocabularies, spec, parts.nodes[p].tolist(), BITS, side)
        assert scores[p] == pytest.approx(sum(float(weights[place]) for place in places), abs=1e-6)
        delta = np.zeros(len(scores))
        delta[p] = 2.0
        changed, total = np.zeros_like(weights), np.zeros(len(weights))
        add_parts(hashed, parts, delta, AveragedArrays(changed, total, 3.0))
        expected = np.bincount(places, minlength=len(weights))
        assert (changed == 2 * expected).all()
        assert (total == 6 * expected).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_update_is_the_transpose_of_the_score(seed):
    """x . (F w) == (F' x) . w for any x and w."""
    spec = load_templates()["grandparent"]
    rng, sentence, encoder, table = draw_features(seed, spec, 9)
    arcs = full_arc_space(9)
    parts, _ = rows_of("grandparent", arcs)
    weights = rng.integers(-5, 6, 1 << BITS).astype(np.float32)
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    x = rng.integers(-1, 2, len(parts.nodes)).astype(float)
    transposed, total = np.zeros_like(weights), np.zeros(len(weights))
    add_parts(hashed, parts, x, AveragedArrays(transposed, total, 1.0))
    assert x @ score_parts(hashed, parts, weights) == transposed.astype(float) @ weights
    assert (total == transposed).all()


@pytest.mark.parametrize("seed", range(6))
def test_labels_equal_the_twin(seed):
    spec = load_templates()["label"]
    rng, sentence, encoder, table = draw_features(seed, spec, 6)
    heads = np.array([-1, 2, 0, 2, 5, 3, 5], np.int32)
    bits, n_labels = 16, 21
    weights = rng.standard_normal(1 << bits).astype(np.float32)
    hashed, parts = hash_tokens(encoder.encode(sentence), table, len(weights)), label_parts(heads)
    scores = label_scores(hashed, parts, n_labels, weights)
    assert scores.shape == (6, n_labels)
    gold, predicted = rng.integers(0, n_labels, 6), rng.integers(0, n_labels, 6)
    changed, total = np.zeros_like(weights), np.zeros(len(weights))
    add_labels(hashed, parts, gold, predicted, AveragedArrays(changed, total, 2.0))
    expected = np.zeros(len(weights))
    for p in range(6):
        for place in naive.places(sentence, encoder.vocabularies, spec, parts.nodes[p].tolist(), bits):
            line = place // 16 * 16
            if gold[p] != predicted[p]:
                expected[line ^ gold[p]] += 1
                expected[line ^ predicted[p]] -= 1
        label = int(rng.integers(n_labels))
        found = naive.places(sentence, encoder.vocabularies, spec, parts.nodes[p].tolist(), bits)
        assert scores[p, label] == pytest.approx(sum(weights[place // 16 * 16 ^ label] for place in found), abs=1e-4)
    assert (changed == expected).all()
    assert (total == 2 * expected).all()


def test_label_parts_name_neighbours_and_own_modifiers():
    nodes = label_parts(np.array([-1, 3, 3, 0, 3, 4], np.int32)).nodes.tolist()
    assert nodes[1] == [3, 2, 0, 1, 4, 6, 6]
    assert nodes[3] == [3, 4, 0, 2, 6, 5, 5]


def test_numbers_depend_on_the_data_alone_and_rare_words_are_unknown():
    rng = np.random.default_rng(5)
    sentences = [draw_sentence(rng, 6) for _ in range(4)]
    one = TokenEncoder.from_sentences(sentences, ["form", "cpos"], rare=1)
    assert one.vocabularies == TokenEncoder.from_sentences(sentences[::-1], ["form", "cpos"], rare=1).vocabularies
    forms = [form for s in sentences for form in s.forms]
    twice = TokenEncoder.from_sentences(sentences, ["form", "cpos"], rare=2)
    assert set(twice.vocabularies["form"]) == {form for form in forms if forms.count(form) >= 2}
    assert set(one.vocabularies["form"]) == set(forms)
    assert set(one.vocabularies[FEAT]) <= {"a=1", "b=2", "c=3", "d=4"}


def test_an_encoder_forgets_and_stays_right(monkeypatch):
    monkeypatch.setattr("nonproj.scoring.vocabulary._CACHED_WORDS", 10)
    rng = np.random.default_rng(6)
    sentences = [draw_sentence(rng, 8) for _ in range(30)]
    encoder = TokenEncoder.from_sentences(sentences, ["form", "suffix2", "shape"], rare=1)
    fresh = [TokenEncoder(encoder.vocabularies).encode(s) for s in sentences]
    for _ in range(2):
        for sentence, expected in zip(sentences, fresh, strict=True):
            tokens = encoder.encode(sentence)
            assert (tokens.atoms == expected.atoms).all()
            assert tokens.feat.tolist() == expected.feat.tolist()


@pytest.mark.parametrize(
    "text, part, message",
    [
        ("h.form x.pos", "arc", "'x.pos': the words of this part are h, m"),
        ("h.colour", "arc", "'h.colour': known attributes are form, lower, "),
        ("h+4.form", "arc", "'h+4.form': offsets go from -3 to +3"),
        ("h form", "arc", "'h' in 'h form' is not of the form slot+offset.attribute"),
        ("between.pos", "sibling", "'between.pos': the words of this part are h, s, m"),
        ("h+1.feat", "arc", "'h+1.feat': single features are those of h and m themselves"),
        ("", "arc", "an empty template"),
    ],
)
def test_a_wrong_template_is_named(text, part, message):
    with pytest.raises(ConfigError) as caught:
        parse(text, part)
    assert str(caught.value).startswith(f"features.{part}: {message}")


def test_pruned_arcs_score_as_they_do_among_all():
    spec = load_templates()["arc"]
    rng, sentence, encoder, table = draw_features(3, spec, 8)
    weights = rng.standard_normal(1 << BITS).astype(np.float32)
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    everything, few = full_arc_space(8), arc_space([0, 1, 2, 5, 3], [1, 2, 3, 4, 5], 8)
    scores = dict(
        zip(
            zip(everything.head.tolist(), everything.modifier.tolist(), strict=True),
            score_parts(hashed, rows_of("arc", everything)[0], weights).tolist(),
            strict=True,
        )
    )
    found = score_parts(hashed, rows_of("arc", few)[0], weights).tolist()
    assert found == [scores[h, m] for h, m in zip(few.head.tolist(), few.modifier.tolist(), strict=True)]
