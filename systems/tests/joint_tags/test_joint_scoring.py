"""Scores over candidate tags: places of features against their definition, chains against the tagger."""

from __future__ import annotations

import naive_joint
import naive_scoring
import numpy as np
import pytest
from joint_problems import has_two_candidates_of_a_word
from problems import KINDS, draw_arcs_of_words, draw_candidates, draw_scores
from toy import draw_sentence

from nonproj.options.sections import TaggerConfig
from nonproj.parts.registry import part_set
from nonproj.parts.space import part_space
from nonproj.scoring.hashing import make_places
from nonproj.scoring.joined import join_rows
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import PADDING, ROOT, TokenEncoder
from nonproj.tagging.analyzer import Analyzer
from nonproj.types import Sentence
from nonproj_systems.joint_tags.chain import ChainScores, max_marginals, prune_chain
from nonproj_systems.joint_tags.scoring import (
    encode_readings,
    hash_tagged_words,
    join_tagged,
    joint_rows,
    joint_tables,
    score_jointly,
)
from nonproj_systems.joint_tags.space import joint_space, joint_types
from nonproj_systems.tag_chains import tag_chains

BITS = 12
FILES = load_templates(parts="third")


def draw_tagged_sentence(rng, n, types):
    """A random sentence, rows of its candidate tags, and the parts over them."""
    sentence, counts, rows = draw_candidates(rng, n)
    names = [part_type.name for part_type in part_set(types)]
    return sentence, rows, joint_space(draw_arcs_of_words(rng, n, True), counts, joint_types(names))


@pytest.mark.parametrize("types", ["grandparent", "third"])
@pytest.mark.parametrize("seed", range(4))
def test_features_over_tagged_words_equal_the_definition(seed, types):
    """Two sentences in a batch."""
    rng, compared = np.random.default_rng(seed), [0, 0]
    drawn = [draw_tagged_sentence(rng, n, types) for n in (4, 3)]
    known = [draw_sentence(rng, 5), *(Sentence(rows[::2]) for _, rows, _ in drawn)]
    encoder = TokenEncoder.from_sentences(known, attributes_of(FILES), rare=1)
    tables = joint_tables(Scorer(FILES, encoder.attributes, types))
    best = [encoder.encode(sentence) for sentence, _, _ in drawn]
    own = [encoder.encode(Sentence(rows)) for _, rows, _ in drawn]
    words = join_tagged([space for _, _, (space, _) in drawn], best, own)
    for number, part_type in enumerate(drawn[0][2][1].types):
        pairs = [joint_rows(*each, number) for _, _, each in drawn]
        joined = join_rows(pairs, words.own)
        found = make_places(hash_tagged_words(tables[part_type.name], words, 1 << BITS), joined.nodes, joined.codes)
        p = 0
        for i, (sentence, rows, (space, parts)) in enumerate(drawn):
            word = space.word.tolist()
            for nodes, side in naive_scoring.listed(part_type.name, parts.arcs):
                places = sorted(found.places[found.start[p] : found.start[p + 1]].tolist())
                p += 1
                if has_two_candidates_of_a_word(nodes, word):
                    continue
                spec = FILES[part_type.name]
                wanted = naive_joint.joint_places(sentence, rows, word, encoder.vocabularies, spec, nodes, BITS, side)
                assert places == wanted, (i, part_type.name, nodes)
                compared[i] += 1
        assert p == len(found.start) - 1
    assert min(compared) > 20


@pytest.mark.parametrize("types", ["arc", "sibling", ("arc", "grandparent"), "grandparent", "third"])
def test_with_one_candidate_each_scores_are_those_of_the_parser(types):
    rng = np.random.default_rng(7)
    sentence = draw_sentence(rng, 6)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), rare=1)
    scorer, tokens = Scorer(FILES, encoder.attributes, types), encoder.encode(sentence)
    weights = rng.integers(-9, 9, 1 << BITS).astype(np.int16)
    arcs = draw_arcs_of_words(rng, 6, True)
    space, tagged = joint_space(arcs, [1] * 7, joint_types([each.name for each in part_set(types)]))
    words = join_tagged([space], [tokens], [tokens])
    [joint] = score_jointly(scorer, joint_tables(scorer), words, [(space, tagged)], weights, 0.5)
    parts = part_space(arcs, types)
    alone = scorer.score_unlabelled(scorer.features(tokens, parts, len(weights)), weights, 0.5)
    for name in tagged.names:
        if name in parts.names:
            assert joint[tagged.range(name)].tolist() == alone[parts.range(name)].tolist()
        else:
            assert not joint[tagged.range(name)].any()


@pytest.fixture(scope="module")
def analyzer():
    """A tagger of few, ambiguous words, and its training data."""
    rng, sentences = np.random.default_rng(0), []
    for _ in range(60):
        rows = []
        for i in range(int(rng.integers(1, 9))):
            form, noisy = str(rng.choice(["a", "b", "ab", "ba", "cab"])), rng.random() < 0.4
            upos = "N" if (len(form) % 2 == 1) != noisy else "V"
            feats = f"k={form[-1]}" if rng.random() < 0.7 else "_"
            rows.append([str(i + 1), form, form.upper(), upos, "_", feats, "0", "x", "_", "_"])
        sentences.append(Sentence(rows))
    return Analyzer.fit(sentences, TaggerConfig(bits=12, epochs=3)), sentences


def test_the_best_sequence_of_a_chain_is_the_taggers(analyzer):
    model, sentences = analyzer
    keys, lengths = [row[1] for s in sentences for row in s.rows], [len(s) for s in sentences]
    tags, chains = iter(model.tagger.tag_with_margins(keys, lengths)[0]), tag_chains(model.tagger, keys, lengths)
    assert max(chain.count.max() for chain in chains) > 2
    for chain, length in zip(chains, lengths, strict=True):
        own = [next(tags) for _ in range(length)]
        first = np.concatenate([[0, 1], 1 + np.cumsum(chain.count)])
        full = with_root(chain)
        names = [[model.tagger.tags.tags[t] for t in row[:k]] for row, k in zip(chain.tags, chain.count, strict=True)]
        chosen = [0, *(row.index(tag) for row, tag in zip(names, own, strict=True))]
        best = max_marginals(full, first)
        assert naive_joint.chain_score(chosen, first, full) == pytest.approx(best.max())
        kept, fewer = prune_chain(full, first, 1e9, 9)
        assert [row[c] for row, c in zip(names, kept[1:, 0], strict=True)] == own or kept[1:, 0].tolist() != chosen[1:]
        assert max_marginals(fewer, np.append(0, np.cumsum((kept >= 0).sum(axis=1)))).max() == pytest.approx(best.max())


def with_root(chain):
    """The scores of a chain with a candidate for the root."""
    k = chain.own.shape[1]
    own = np.concatenate([[0.0], *(row[:count] for row, count in zip(chain.own, chain.count, strict=True))])
    pair, triple = np.zeros((1, k, k)), np.zeros((1, k, k, k))
    return ChainScores(own, np.concatenate([pair, chain.pair]), np.concatenate([triple, chain.triple]))


@pytest.mark.parametrize("kind", KINDS)
def test_pruned_chains_equal_the_definition(kind):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 5))
        counts = np.append(1, rng.integers(1, 5, n))
        first, k = np.append(0, np.cumsum(counts)), int(counts.max())
        shapes = (first[-1],), (n + 1, k, k), (n + 1, k, k, k)
        chain = ChainScores(*(draw_scores(rng, kind, shape) for shape in shapes))
        limit, gap = int(rng.integers(1, 4)), float(rng.integers(0, 4))
        marginals = naive_joint.tag_max_marginals(first, chain)
        kept, fewer = prune_chain(chain, first, gap, limit)
        sizes = (kept >= 0).sum(axis=1)
        best = max(naive_joint.chain_score(tags, first, chain) for tags in naive_joint.all_tags(first))
        assert naive_joint.chain_score(kept[:, 0].tolist(), first, chain) == pytest.approx(best)
        for i, row in enumerate(kept.tolist()):
            own = marginals[first[i] : first[i + 1]]
            wanted = sorted((x for x in own if x >= best - gap - 1e-9), reverse=True)[:limit]
            assert own[row[: sizes[i]]].tolist() == pytest.approx(wanted)
            assert len(set(row[: sizes[i]])) == sizes[i]
        fewer_first = np.append(0, np.cumsum(sizes))
        for tags in naive_joint.all_tags(fewer_first):
            full = [int(kept[i, t]) for i, t in enumerate(tags)]
            score = naive_joint.chain_score(tags, fewer_first, fewer)
            assert score == pytest.approx(naive_joint.chain_score(full, first, chain))


def test_readings_of_a_word_have_the_enclosure_of_the_word():
    row = ["_", "X", "_", "_", "0", "x", "_", "_"]
    sentence = Sentence([[str(i), form, *row] for i, form in enumerate(["(", "a", ")", "b"], 1)])
    encoder = TokenEncoder.from_sentences([sentence], ["form", "enclosure"], rare=1)
    nodes = np.array([0, 1, 1, 2, 2, 3, 4], np.int32)  # of the bracket and of "a" two readings
    rows = [sentence.rows[node - 1] for node in nodes[1:]]
    readings = encode_readings(encoder, rows, encoder.encode(sentence), nodes)
    assert readings.atoms[PADDING:-PADDING, 1].tolist() == [ROOT, 5, 5, 6, 6, 5, 5]
