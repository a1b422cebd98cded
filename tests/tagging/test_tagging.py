"""The tagger's model against its definition: lexicon, scores, pruning, the best sequence and the update."""

import naive_tagging as naive
import numpy as np
import pytest
from problems import draw_tags

from nonproj.errors import ConfigError
from nonproj.linear.hashing import hash_prefixes, hash_suffixes
from nonproj.linear.perceptron import AveragedWeights
from nonproj.tagging.chain import FormRows, make_chain
from nonproj.tagging.decoding import ChainExamples, GoldTags, Pruning, score_words, tag_text, train_text
from nonproj.tagging.lexicon import Counter, Smoothing, find_forms, form_keys, list_candidates
from nonproj.tagging.tagset import TagSet
from nonproj.tagging.templates import chain_templates
from nonproj.tagging.words import WORD_ATTRIBUTES, FormTable, outside, share_words, text_atoms

BITS = 12
TEMPLATES = [
    "w.form", "w.form w.shape", "w-1.form w.form", "w+2.suffix1", "w-2.form w-1.form", "p.upos", "p.pos w.form",
    "p.full w+1.form", "p.same", "p.same p.upos w.form", "q.pos", "p.full q.full", "p.upos q.upos w.form",
]  # fmt: skip
NO_TAGS = np.empty(0, np.int32)


def draw_problem(rng, n, n_forms=4, limit=4):
    """Random forms with candidates and attributes, a sentence of them, and the sentence as the twin wants it."""
    tags = draw_tags(rng, 8)
    table = chain_templates({"part": "tagger", "templates": TEMPLATES}, "tagger", WORD_ATTRIBUTES)
    atoms = rng.integers(-(2**31), 2**31, (n_forms, len(WORD_ATTRIBUTES)))
    count = rng.integers(1, limit + 1, n_forms).astype(np.int32)
    tag = np.stack([rng.permutation(len(tags))[:limit] for _ in range(n_forms)]).astype(np.int32)
    prior = rng.integers(0, 2**32, (n_forms, limit, 2)).astype(np.uint32)
    words = FormTable(*share_words(atoms, table), count, tag, prior)
    words = FormTable(*(np.concatenate(pair) for pair in zip(outside(table, limit, 2), words, strict=True)))
    form = rng.integers(1, n_forms + 1, n).astype(np.int32)
    sentence = []
    for row in form:
        listed = [tags.tags[t] for t in tag[row - 1, : count[row - 1]]]
        priors = dict(zip(listed, prior[row - 1].tolist(), strict=False))
        sentence.append((dict(zip(WORD_ATTRIBUTES, atoms[row - 1].tolist(), strict=True)), priors))
    return tags, make_chain(tags, table, BITS), words, form, sentence


def draw_weights(rng, kind):
    """Weights of all kinds: continuous, small integers (ties), and int16 as in a model."""
    if kind == "continuous":
        return rng.normal(size=1 << BITS).astype(np.float32)
    return rng.integers(-2, 3, 1 << BITS).astype(np.float32 if kind == "ties" else np.int16)


def naive_scores(weights, tags, sentence, kinds=("words", "one", "two"), candidates=None):
    """The scores of all sequences."""
    sequences = naive.sequences(candidates or [list(priors) for _, priors in sentence])
    values = weights.astype(np.float64)
    return [values[naive.features(TEMPLATES, tags, sentence, s, BITS, kinds)].sum() for s in sequences], sequences


def decode(chain, words, form, weights, pruning):
    """The tags of one sentence."""
    text = FormRows(np.array([0, len(form)]), form)
    return tag_text(chain, words, score_words(chain, words, weights)[form], text, weights, pruning)[0].tolist()


@pytest.mark.parametrize("kind", ["continuous", "ties", "int16"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_sequence_is_found(seed, kind):
    rng = np.random.default_rng(seed)
    tags, chain, words, form, sentence = draw_problem(rng, 1 + seed % 4)
    weights = draw_weights(rng, kind)
    scores, sequences = naive_scores(weights, tags, sentence)
    found = tuple(tags.tags[t] for t in decode(chain, words, form, weights, Pruning(1e30, 4)))
    assert scores[sequences.index(found)] == pytest.approx(max(scores), abs=1e-3)


@pytest.mark.parametrize(("threshold", "limit"), [(2.0, 4), (5.0, 4), (1e30, 2), (1e30, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_pruning_keeps_the_candidates_of_good_first_order_sequences(seed, threshold, limit):
    rng = np.random.default_rng(seed)
    tags, chain, words, form, sentence = draw_problem(rng, 3)
    weights = draw_weights(rng, "continuous")
    first_order, _ = naive_scores(weights, tags, sentence, ("words", "one"))
    kept = naive.pruned(first_order, [list(priors) for _, priors in sentence], threshold, limit)
    scores, sequences = naive_scores(weights, tags, sentence, candidates=kept)
    found = tuple(tags.tags[t] for t in decode(chain, words, form, weights, Pruning(threshold, limit)))
    assert scores[sequences.index(found)] == pytest.approx(max(scores), abs=1e-3)


@pytest.mark.parametrize("kind", ["continuous", "ties", "int16"])
@pytest.mark.parametrize("seed", range(4))
def test_margins_are_differences_between_the_best_sequences_of_first_order(seed, kind):
    rng = np.random.default_rng(seed)
    tags, chain, words, form, sentence = draw_problem(rng, 3)
    weights = draw_weights(rng, kind)
    text, own = FormRows(np.array([0, len(form)]), form), score_words(chain, words, weights)[form]
    margins = tag_text(chain, words, own, text, weights, Pruning(1.0, 2))[1]
    scores, sequences = naive_scores(weights, tags, sentence, ("words", "one"))
    for i, (_, priors) in enumerate(sentence):
        best = sorted(max(score for score, s in zip(scores, sequences, strict=True) if s[i] == tag) for tag in priors)
        assert margins[i] == pytest.approx(best[-1] - best[-2] if len(best) > 1 else np.inf, abs=1e-3)


@pytest.mark.parametrize("kind", ["continuous", "ties"])
@pytest.mark.parametrize("seed", range(4))
def test_an_update_adds_gold_features_and_subtracts_those_of_the_best_sequence_with_margin(seed, kind):
    rng = np.random.default_rng(seed)
    tags, chain, words, form, sentence = draw_problem(rng, 3)
    averaged, margin = AveragedWeights(BITS), 3.0
    weights, total = averaged.weights, averaged.total
    weights[:], total[:], averaged.step = draw_weights(rng, kind), rng.normal(size=1 << BITS), 7
    scores, sequences = naive_scores(weights, tags, sentence)
    chosen = rng.integers(words.count[form])
    gold = tuple(tags.tags[words.tag[row, c]] for row, c in zip(form, chosen, strict=True))
    wrongs = [sum(a != b for a, b in zip(gold, sequence, strict=True)) for sequence in sequences]
    cost = [score + margin * own for score, own in zip(scores, wrongs, strict=True)]
    before, total_before = weights.copy(), total.copy()
    text = FormRows(np.array([0, 3]), form)
    examples = ChainExamples(chain, words, text, GoldTags(chosen.astype(np.int32), margin))
    wrong = train_text(examples, np.array([0]), 4, averaged)
    fitting = []
    for value, sequence, own in zip(cost, sequences, wrongs, strict=True):
        if value >= max(cost) - 1e-3:
            delta = np.zeros(1 << BITS)
            np.add.at(delta, naive.features(TEMPLATES, tags, sentence, gold, BITS), 1)
            np.add.at(delta, naive.features(TEMPLATES, tags, sentence, sequence, BITS), -1)
            if np.allclose(weights - before, delta, atol=1e-4):
                fitting.append(own)
                np.testing.assert_allclose(total - total_before, 7 * delta, atol=1e-9)
    assert wrong in fitting


# The lexicon


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_out_of_context_follow_their_definition(seed):
    rng = np.random.default_rng(seed)
    known = ["".join(rng.choice(list("abA1-"), rng.integers(1, 5))) for _ in range(12)]
    words = [(known[rng.integers(12) if rng.random() < 0.7 else 0], int(rng.integers(5))) for _ in range(60)]
    chosen = rng.random(60) < 0.8
    numbers = {form: i for i, form in enumerate(dict.fromkeys(form for form, _ in words))}
    places, tags = np.array([(numbers[form], tag) for form, tag in words]).T
    lexicon = Counter(form_keys(list(numbers)), places, tags).count(chosen)
    forms = [*numbers, "Ba", "aab", "ZZZ", "zz9", "", "abAAbb"]
    smoothing = Smoothing(1.5, 0.7, 2.5, 0.0, 5)
    places, groups = find_forms(lexicon, form_keys(forms)), np.arange(5, dtype=np.int32)
    found = list_candidates(lexicon, places, groups, [NO_TAGS] * len(forms), smoothing)
    training = [word for word, used in zip(words, chosen, strict=True) if used]
    for i, form in enumerate(forms):
        expected = naive.probabilities(training, form, range(5), (1.5, 0.7, 2.5))
        got = dict(zip(found.tag[i].tolist(), found.p[i].tolist(), strict=True))
        assert got == pytest.approx(expected, rel=1e-9), form
        assert found.p[i].tolist() == sorted(found.p[i], reverse=True)
        same = [(f == form, f.lower() == form.lower()) for f, _ in training]
        assert found.seen[i].tolist() == np.sum(same, axis=0).tolist()


def test_allowed_tags_are_the_only_candidates_however_unlikely():
    words = np.array([0] * 5000 + [1, 2])  # each form has a tag of its own
    lexicon = Counter(form_keys("abc"), words, words).count(np.ones(len(words), bool))
    allowed = [np.array([2], np.int32), np.array([1, 2], np.int32), NO_TAGS]
    places, groups = find_forms(lexicon, form_keys("aaa")), np.arange(3, dtype=np.int32)
    found = list_candidates(lexicon, places, groups, allowed, Smoothing())
    assert found.count[0] == 1 and found.tag[0, 0] == 2
    assert set(found.tag[1, : found.count[1]].tolist()) <= {1, 2}
    assert found.tag[2, 0] == 0
    assert found.p[:2].sum(axis=1) == pytest.approx(1.0)


def test_attributes_of_a_form():
    names = WORD_ATTRIBUTES[1:]
    atoms = dict(zip(names, text_atoms(["Kaffeehaus-1990"])[0].tolist(), strict=False))
    assert atoms["lower"] % 2**32 == naive.text_hash("kaffeehaus-1990")
    assert atoms["shape"] % 2**32 == naive.text_hash("Xxx-dd")
    prefixes = [naive.text_hash("kaffeehaus"[:k]) for k in range(1, 6)]
    assert [atoms[f"prefix{k}"] % 2**32 for k in range(1, 6)] == prefixes
    assert [atoms[f"suffix{k}"] % 2**32 for k in (1, 7)] == [naive.text_hash("0"), naive.text_hash("us-1990")]
    assert dict(zip(names, text_atoms(["ab"])[0].tolist(), strict=False))["suffix3"] % 2**32 == naive.text_hash("")


@pytest.mark.parametrize("seed", range(4))
def test_beginnings_and_ends_are_hashed_as_strings_of_their_own(seed):
    rng = np.random.default_rng(seed)
    texts, tags = (["".join(rng.choice(list("aæ\U0001f600"), rng.integers(0, 6))) for _ in range(9)] for _ in range(2))
    prefixes, suffixes = hash_prefixes(texts, 4), hash_suffixes(tags, texts, 4)
    assert prefixes.tolist() == [[naive.text_hash(text[:k]) for k in range(1, 5)] for text in texts]
    for row, text, tag in zip(suffixes.tolist(), texts, tags, strict=True):
        ends = [text[len(text) - k :] if k <= len(text) else None for k in range(5)]
        assert row == [0 if end is None else naive.text_hash(tag + end) for end in ends]


# Tags and templates


def test_given_columns_restrict_the_tags_and_unknown_ones_are_ignored_from_the_last():
    tags = TagSet([("N", "N", "Case=Acc"), ("N", "N", "Case=Nom"), ("V", "V", "_")])
    assert tags.allowed(("N", None, None)).tolist() == [0, 1]
    assert tags.allowed((None, "N", "Case=Nom")).tolist() == [1]
    assert tags.allowed(("V", None, "Case=Nom")).tolist() == [2]
    assert tags.allowed(("X", "V", None)).tolist() == [0, 1, 2]


WRONG = [
    ("tagger", {"templates": ["w.from"]}, "'w.from': known attributes are form, lower, shape"),
    ("tagger", {"templates": ["w+3.form"]}, "'w+3.form': offsets go from -2 to +2"),
    ("tagger", {"templates": ["p.form"]}, "'p.form': known attributes are upos, pos, full, same"),
    ("tagger", {"templates": ["q.same"]}, "'q.same': known attributes are upos, pos, full"),
    ("tagger", {"templates": ["p.same q.pos"]}, "p.same is not for templates over two tags"),
    ("tagger", {"templates": ["h.pos"]}, "'h.pos': the words of this part are w, p, q"),
    ("lemmatizer", {"part": "tagger"}, "part is tagger, lemmatizer expected"),
    ("lemmatizer", {"codes": []}, "no such key: codes"),
    ("lemmatizer", {"templates": []}, "templates is no list of texts"),
    ("lemmatizer", {"templates": ["w-1.form"]}, "only the lemmatizer's own word can be named"),
    ("lemmatizer", {"templates": ["w.form " * 100]}, "the longest of 700 characters"),
]


@pytest.mark.parametrize(("part", "changes", "problem"), WRONG)
def test_wrong_templates_are_named(part, changes, problem):
    attributes = WORD_ATTRIBUTES if part == "tagger" else ("form",)
    with pytest.raises(ConfigError) as caught:
        chain_templates({"part": part, "templates": ["w.form"]} | changes, part, attributes)
    assert caught.value.key == f"features.{part}" and problem in caught.value.message
