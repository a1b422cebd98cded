"""Doubtful sentences, decided by their trees: against enumeration of all sequences, and from text to trees."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from instances import seeds
from toy import FROM_GOLD_TAGS, raw_treebank, read

from nonproj.components.preparation import prepare
from nonproj.components.trainer import train
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser, tree_scores
from nonproj.text.alternatives import COST, WEIGHT, Alternatives, best_ends, decide, probabilities, undecided
from nonproj.text.layout import lay_out
from nonproj.text.sentences import SentenceModel, alternatives, score_ends
from nonproj.text.token_table import TokenTable, token_table
from nonproj.text.usage import Usage

Stretch = tuple[int, int]


def sequences(first: int, last: int, stretches: list[Stretch]) -> list[list[Stretch]]:
    """All ways to cover the tokens from first to last."""
    if first == last:
        return [[]]
    return [[s, *rest] for s in stretches if s[0] == first for rest in sequences(s[1], last, stretches)]


def random_alternatives(seed: int) -> tuple[Alternatives, np.ndarray, int]:
    """Some stretches of up to seven tokens by their ends, with values of trees, of which some are missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    every = [(b, e) for e in range(1, n + 1) for b in range(e)]
    kept = [place for place in every if rng.random() < 0.6 or place[1] - place[0] == 1]
    begin, end = np.array(kept, np.int64).T
    trees = np.where(rng.random(len(kept)) < 0.1, -np.inf, rng.normal(0, 2000, len(kept)))
    return Alternatives(begin, end, np.log(rng.random(len(kept)))), trees, n


@pytest.mark.parametrize("seed", seeds(100))
def test_decisions_equal_those_by_enumeration(seed):
    found, trees, n = random_alternatives(seed)
    places = list(zip(found.begin.tolist(), found.end.tolist(), strict=True))
    value = dict(zip(places, (found.log_probability + WEIGHT * trees).tolist(), strict=True))
    mass = dict.fromkeys(places, 0.0)
    covers = [s for s in sequences(0, n, places) if all(value[p] > -math.inf for p in s)]
    scores = np.full(n, 7, np.float32)
    decide(scores, found, trees)
    if not covers:
        assert probabilities(found, WEIGHT * trees) is None and (scores == 7).all()
        return
    weights = [math.exp(sum(value[place] for place in sequence)) for sequence in covers]
    for sequence, weight in zip(covers, weights, strict=True):
        for place in sequence:
            mass[place] += weight / sum(weights)
    assert probabilities(found, WEIGHT * trees) == pytest.approx([mass[place] for place in places])
    best = max(covers, key=lambda sequence: sum(mass[place] - COST for place in sequence))
    shares = np.array([mass[place] for place in places])
    assert best_ends(found, np.where(trees > -np.inf, shares - COST, -np.inf)) == [end for _, end in best]
    ends = {end: sum(mass[place] for place in places if place[1] == end) for end in range(1, n)}
    assert scores[-1] == 7  # the end of the part is certain
    for end, share in ends.items():
        assert (scores[end - 1] > 0) == (end in [e for _, e in best])
        odds = math.log(min(max(share, 1e-9), 1 - 1e-9) / (1 - min(max(share, 1e-9), 1 - 1e-9)))
        if (odds > 0) == (scores[end - 1] > 0):
            assert scores[end - 1] == pytest.approx(odds, rel=1e-4, abs=2e-3)


@pytest.mark.parametrize("seed", seeds(100))
def test_parts_are_as_small_as_they_can_be(seed):
    found, _, n = random_alternatives(seed)
    places = list(zip(found.begin.tolist(), found.end.tolist(), strict=True))
    free = [p for p in range(n + 1) if not any(b < p < e for b, e in places)]
    parts = [[k for k, (b, e) in enumerate(places) if a <= b and e <= z] for a, z in itertools.pairwise(free)]
    assert [sorted(part.tolist()) for part in undecided(found)] == [part for part in parts if len(part) > 1]


@pytest.mark.parametrize("seed", seeds(20))
def test_without_trees_the_decisions_are_those_of_the_segmenter(seed):
    rng = np.random.default_rng(seed)
    layout = lay_out('a b ( c\n\nd " .\n\ne f')  # so short that no beginning is improbable
    weights = rng.normal(0, 0.1, 1 << 10).astype(np.float32)
    usage = Usage(*(np.zeros(1 << 6, np.uint8) for _ in range(3)))
    table = TokenTable(*token_table(layout, layout.start, layout.end))
    sentence_model = SentenceModel(usage, weights, 0.25)
    scores = score_ends(table, sentence_model)
    found, changed = alternatives(table, sentence_model, 1e-9), scores.copy()
    for part in undecided(found):
        decide(changed, found.chosen(part), np.zeros(len(part)))
    assert ((changed > 0) == (scores > 0)).all()
    np.testing.assert_allclose(changed, scores, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def model():
    """A model whose segmenter has seen each sentence once, and doubts."""
    options = FROM_GOLD_TAGS | {"training.epochs": 2, "segmenter.epochs": 1, "segmenter.network_share": 0.0}
    return train(read(raw_treebank(40).replace(".", "x")), Config().with_overrides(options))


def test_trees_decide_by_default_without_punctuation(model):
    """A treebank whose sentences do not end with punctuation says so in its model, and the option overrides it."""
    assert model.meta["unpunctuated"] and model.config.decoding.sentences_by_trees == "auto"
    assert Parser(model).segmenter.tree_scores is not None
    decoding = dataclasses.replace(model.config.decoding, sentences_by_trees=False)
    assert Parser(model, decoding).segmenter.tree_scores is None
    punctuated = dataclasses.replace(model, meta={**model.meta, "unpunctuated": False})
    assert Parser(punctuated).segmenter.tree_scores is None


def test_a_continued_model_splits_text_as_before(model):
    """Its segmenter stays."""
    assert train(read(raw_treebank(8, 3)), start=model).meta["unpunctuated"]


@pytest.mark.parametrize(("ends", "expected"), [(0, True), (1, True), (2, False), (40, False)])
def test_hardly_any_sentence_ends_with_punctuation(ends, expected):
    """One of 40 sentences is less than 5 %, two are not."""
    text = raw_treebank(ends) + raw_treebank(40 - ends, 1).replace(".", "x")
    _, context = prepare(read(text), Config())
    assert context.meta.get("unpunctuated", False) is expected


def test_trees_decide_between_doubtful_sentences_of_text(model, monkeypatch):
    """Each alternative is parsed once, and what trees say is what the segmenter does."""
    parser = Parser(model, dataclasses.replace(model.config.decoding, sentences_by_trees=True))
    text = " ".join(line[9:] for line in raw_treebank(12, 5).replace(".", "x").splitlines() if "# text" in line)
    asked, found = [], []
    for value in (-1e6, 1e6):

        def scores(given, value=value):
            asked.append([sentence.forms for sentence in given])
            return np.full(len(asked[-1]), value)

        monkeypatch.setattr(parser.segmenter, "tree_scores", scores)
        found.append(parser.segmenter.segment(text))
    few, many = found
    assert len(few) < len(many)
    assert sum((s.forms for s in few), []) == sum((s.forms for s in many), [])
    assert asked[0] == asked[1] and {tuple(s.forms) for s in few + many} & set(map(tuple, asked[0]))


def test_scores_are_those_of_the_best_trees(model):
    parser = Parser(model)
    sentences = read(raw_treebank(70, 3))
    expected = [parse.decoded.score for _, parse in parser.parse_all(sentences)]
    assert tree_scores(parser, iter(sentences)).tolist() == pytest.approx(expected)
