"""Joint problems of models whose labels are scored with the arcs, with a network, and of third order."""

from __future__ import annotations

from types import SimpleNamespace

import naive_joint
import naive_trees
import numpy as np
import pytest
import toy
from joint_problems import has_two_candidates_of_a_word
from problems import draw_candidates
from toy import draw_sentence

from nonproj.components.trainer import train
from nonproj.errors import ConfigError
from nonproj.io.objects import from_words
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.loaded import LoadedModel
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import encode, number, score
from nonproj.scoring.hashing import make_places
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import LABELLED_ARC, attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.types import Sentence
from nonproj_systems.joint_tags import space
from nonproj_systems.joint_tags.parser import CandidateOptions, Candidates, JointStage, joint_parser
from nonproj_systems.joint_tags.scoring import hash_tagged_words, join_tagged, joint_rows, joint_tables, score_jointly
from nonproj_systems.joint_tags.space import joint_space, no_chain

BITS, LABELS = 14, 3
FILES = load_templates(parts="third", labelled=True)
SPEC = FILES[LABELLED_ARC]
SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 14, "pruner.folds": 0, "tagger.epochs": 0}
SMALL |= {"labeler.joint": True, "training.tags": "gold", "segmenter.epochs": 0, "training.epochs": 3}
SMALL |= {"network.epochs": 0, "confidence.share": 0.0}
WITH_NETWORK = SMALL | {"network.epochs": 3, "network.size": 8, "network.context": 4, "tagger.epochs": 2}


@pytest.mark.parametrize("seed", range(3))
def test_labelled_arcs_over_tagged_words_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    sentence, counts, rows = draw_candidates(rng, 4)
    encoder = TokenEncoder.from_sentences([draw_sentence(rng, 5), Sentence(rows[::2])], attributes_of(FILES), rare=1)
    space, parts = joint_space(full_arc_space(4), counts)
    scorer = Scorer(FILES, encoder.attributes, "grandparent", LABELS)
    tokens = [encoder.encode(s) for s in (sentence, Sentence(rows))]
    tables, words = joint_tables(scorer), join_tagged([space], *([each] for each in tokens))
    hashed = hash_tagged_words(tables[LABELLED_ARC], words, 1 << BITS)
    joint = joint_rows(space, parts, 0)
    listed, word, compared = make_places(hashed, joint.nodes, joint.codes), space.word.tolist(), 0
    weights = rng.integers(-9, 10, 1 << BITS).astype(np.int16)
    [scores] = score_jointly(scorer, tables, words, [(space, parts)], weights, 0.5, {2: 1})
    del tables[LABELLED_ARC]
    [without] = score_jointly(scorer, tables, words, [(space, parts)], weights, 0.5)
    for a, pair in enumerate(naive_trees.pairs_of(parts.arcs)):
        if has_two_candidates_of_a_word(pair, word):
            continue
        places = naive_joint.joint_places(sentence, rows, word, encoder.vocabularies, SPEC, pair, BITS)
        assert sorted(listed.places[listed.start[a] : listed.start[a + 1]].tolist()) == places
        of_labels = [sum(int(weights[place - place % 16 ^ label]) for place in places) for label in range(LABELS)]
        best = of_labels[1] if word[pair[1]] == 2 else max(of_labels)
        assert scores[a] == pytest.approx(without[a] + 0.5 * best)
        compared += 1
    assert compared >= 16


def test_joint_problems_score_arcs_with_their_labels(monkeypatch):
    """With one candidate tag for each word, the scores are those of the parser."""
    model = train(toy.sentences(50), Config().with_overrides(SMALL))
    monkeypatch.setattr(LoadedModel, "analyzer", SimpleNamespace(tagger=True, lemmatizer=None, tag_columns=()))
    sentence, parser = toy.sentences(1, seed=4)[0], Parser(model, tags="none")
    arcs, words = full_arc_space(len(sentence)), len(sentence)
    space, _ = joint_space(arcs, [1] * (words + 1))
    own = [Candidates(np.ones(words + 1, np.int64), sentence.rows, no_chain(space))]
    batch = parser.run([sentence], until=encode)._replace(arcs=[arcs])
    [problem] = JointStage(parser.loaded, CandidateOptions()).problems(batch, own)
    [scores] = score(number(batch)).scores
    np.testing.assert_allclose(problem.scores[: words**2], scores[: words**2])


@pytest.mark.thorough
def test_joint_decoding_with_one_tag_for_each_word_has_the_same_scores():
    model = train(toy.sentences(40), Config().with_overrides(WITH_NETWORK))
    parser = Parser(model)
    stage = JointStage(parser.loaded, CandidateOptions(most=1))
    given = [from_words(s.forms) for s in toy.sentences(4, seed=3)]
    batch, chains = parser.run(given, until=score), stage.chains(Batch(parser.loaded, parser.request, given))
    assert parser.loaded.scorer.network is not None
    own = [
        stage.candidates(sentence, best, chain, parser.request, [])
        for sentence, best, chain in zip(given, batch.sentences, chains, strict=True)
    ]
    for problem, scores in zip(stage.problems(batch, own), batch.scores, strict=True):
        np.testing.assert_allclose(problem.scores, scores, atol=1e-9)


@pytest.mark.thorough
def test_tags_are_decided_with_parts_of_third_order(monkeypatch):
    """Sets that have no joint problem are refused."""
    model = train(toy.sentences(20), Config().with_overrides(SMALL | {"parts": "third", "tagger.epochs": 1}))
    joint_parser(model)
    monkeypatch.setattr(space, "COMPILED", ())
    with pytest.raises(ConfigError) as caught:
        joint_parser(model)
    names = "arc,sibling,grandparent,grandsibling,trisibling"
    assert str(caught.value) == f"parts: tags are not decided with the part types {names}"
