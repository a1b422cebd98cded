"""Sentences in a batch have the same scores and labels as separately."""

import numpy as np
import pytest
from problems import draw_arcs_of_words
from toy import draw_sentence

from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser, batches
from nonproj.pipeline.stages import decode, label, number, prune, score
from nonproj.scoring.joined import join, join_words
from nonproj.scoring.templates import LABELLED_ARC, attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS, LABELS = 14, 19
FILES = load_templates(labelled=True, pairs=True)


def draw(seed, files=FILES, lines=False):
    """A parser of random weights, and sentences of different lengths with arcs and demanded labels."""
    rng = np.random.default_rng(seed)
    sentences = [draw_sentence(rng, n) for n in rng.permutation([1, *rng.integers(1, 12, 4), 30]).tolist()]
    encoder = TokenEncoder.from_sentences(sentences, attributes_of(files), 1)
    weights = {name: rng.integers(-3, 4, 1 << BITS).astype(np.int16) for name in ("parser", "pruner", "labeler")}
    if lines:
        size = 5 + len(encoder.vocabularies["pos"])
        weights[LABEL_LINES] = rng.integers(0, 4, (size, size, 2)).astype(np.int32)
        weights[LABEL_PLACES] = np.maximum(rng.integers(0, 2, (2, LABELS)), np.eye(2, LABELS)).astype(np.uint8)
    meta = {"scale": {"parser": 0.25, "pruner": 0.125, "labeler": 0.5}}
    parser = Parser(Model(Config(), encoder.vocabularies, files, [f"l{i}" for i in range(LABELS)], weights, meta))
    arcs = [draw_arcs_of_words(rng, len(sentence), True) for sentence in sentences]
    demanded = [{int(rng.integers(1, len(s) + 1)): int(rng.integers(LABELS))} for s in sentences[:3]] + [{}] * 3
    return parser, sentences, arcs, demanded


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_a_batch_are_those_of_its_sentences(seed, lines):
    parser, sentences, arcs, demanded = draw(seed, lines=lines)
    scorer, table = parser.loaded.scorer, parser.loaded.tables["parser"]
    batch = number(parser.run(sentences, until=prune)._replace(arcs=arcs))
    found, known = scorer.score_batch(batch.joined, batch.spaces, *table, join_words(demanded, batch.joined))
    labels = np.split(known.of_labels, np.cumsum([len(each.head) for each in arcs])[:-1])
    each = zip(batch.spaces, found, batch.tokens, demanded, labels, strict=True)
    for parts, scores, own, wanted, of_labels in each:
        [expected], own_labels = scorer.score_batch(join([own]), [parts], *table, wanted)
        assert (scores == expected).all() and (of_labels == own_labels.of_labels).all()


@pytest.mark.parametrize("seed", range(4))
def test_label_scores_that_are_known_are_not_computed_again(seed):
    parser, sentences, arcs, *_ = draw(seed, lines=seed > 1)
    batch = decode(score(number(parser.run(sentences, until=prune)._replace(arcs=arcs))))
    expected, scorer = label(batch._replace(known=None)), parser.loaded.scorer
    scorer.label_table = scorer.label_table._replace(salt=np.zeros(0, np.uint64))
    found = label(batch)
    for own, wanted in zip([*found.labels, *found.margins], [*expected.labels, *expected.margins], strict=True):
        np.testing.assert_array_equal(own, wanted)


@pytest.mark.parametrize("files", [FILES, load_templates(pairs=True), load_templates(labelled=True)])
@pytest.mark.parametrize("seed", range(4))
def test_parses_do_not_depend_on_what_is_parsed_together(seed, files):
    parser, sentences, *_ = draw(seed, files, lines=seed > 1)
    assert (parser.run(sentences, until=score).known is None) == (LABELLED_ARC not in files)
    for sentence, (_, parse) in zip(sentences, parser.parse_all(sentences), strict=True):
        found, alone = parse.decoded, parser.parse(sentence)
        assert (found.tree.tolist(), found.score) == (alone.decoded.tree.tolist(), alone.decoded.score)
        assert parse.labels == alone.labels


def test_batches_are_of_limited_size_and_leave_nothing_out():
    sentences = draw(3)[1]
    for pairs in (1, 100, 1000, 10**6):
        found = list(batches(sentences, 64, pairs))
        assert [s for part in found for s in part] == sentences
        sums = [sum(len(s) ** 2 for s in part) for part in found]
        assert all(total <= pairs or len(part) == 1 for total, part in zip(sums, found, strict=True))
        following = [len(part[0]) ** 2 for part in found[1:]]
        assert all(total + more > pairs for total, more in zip(sums[:-1], following, strict=True))
