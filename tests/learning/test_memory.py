"""Memory that training keeps, and memory that it frees: sizes of objects, not of the process."""

import io
import tracemalloc
import weakref

import numpy as np
import pytest
import toy
from models import prepared

from nonproj.components import confidence
from nonproj.components.tagger import pack_tags, retagged, unpack_tags
from nonproj.components.trainer import train
from nonproj.io import conll
from nonproj.io.copies import with_rows
from nonproj.learning.candidate_arcs import pack_arcs
from nonproj.learning.corpus import ArcSpaces
from nonproj.learning.perceptron import examples_of
from nonproj.linear.concatenation import concatenated
from nonproj.linear.perceptron import AveragedWeights
from nonproj.linear.weights import quantise
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.types import Sentence

SMALL = toy.FROM_GOLD_TAGS | {"training.epochs": 1, "labeler.epochs": 1, "network.epochs": 1}


def random_spaces(count, seed=0):
    """Candidate arcs of sentences of different lengths, of some of which there are none."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, count)
    return [arc_space_from_mask(random.random((n, n)) < random.random()) for n in sizes]


def size_of(make):
    """The bytes that an object takes when it has been made."""
    make()
    tracemalloc.start()
    kept = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return size


# -- the material of training


def test_arcs_in_blocks_are_the_arcs():
    spaces = random_spaces(40)
    stored = ArcSpaces(spaces)
    for arcs, found in zip(spaces, stored, strict=True):
        for array, same in zip(arcs, found, strict=True):
            assert same.dtype == np.int32 and same.flags.c_contiguous and same.flags.writeable
            assert same.tolist() == array.tolist()
    assert stored[-1].head.tolist() == spaces[-1].head.tolist()
    with pytest.raises(IndexError):
        stored[40]


def test_bytes_of_training_data_for_each_word():
    """Candidate arcs and what the parser learns from, beside the sentences: fewer bytes than lists of arrays took."""
    config = Config().with_overrides(SMALL)
    material = prepared(toy.sentences(60), config)[0]
    words, arcs = sum(map(len, material.tagged)), sum(len(each.head) for each in material.numbers.spaces)
    examples = examples_of(material, config.parts)
    kept = size_of(lambda: (ArcSpaces(material.numbers.spaces), examples_of(material, config.parts)))
    assert kept < 12 * arcs + 60 * words < size_of(lambda: list(examples))


# -- sentences


def test_equal_strings_of_a_treebank_are_one_object():
    text = toy.treebank(20)
    sentences = conll.read_all(io.StringIO(text))
    assert [each.rows for each in sentences] == [each.rows for each in conll.read(io.StringIO(text))]
    strings = [string for sentence in sentences for row in sentence.rows for string in row]
    assert len({*map(id, strings)}) == len({*strings})
    assert "".join(line for sentence in sentences for line in sentence.lines) == text


def test_copies_with_other_tags_share_what_is_equal():
    first, second = toy.sentences(2)
    rows = [[*first.rows[0][:3], "X", *first.rows[0][4:]], *(row.copy() for row in first.rows[1:])]
    copy = retagged(first, rows)
    assert copy.rows == rows and first.rows[0][3] != "X"
    for same in ("rows", "lines"):
        pairs = zip(getattr(copy, same)[: len(rows)], getattr(first, same), strict=False)
        assert [found is own for found, own in pairs] == [False] + [True] * (len(rows) - 1)
    assert "".join(copy.lines) == "".join(with_rows(first, rows).lines)
    with pytest.raises(ValueError, match="zip"):
        retagged(second, second.rows[1:])
    [again] = unpack_tags(pack_tags([first]), [first])
    assert all(row is own for row, own in zip(again.rows, first.rows, strict=True))


def test_packed_tags_and_arcs_by_their_definition():
    row = ["1", "a\ud800", "b", "c", "d", "e\ud800", "0", "_", "_", "_"]
    sentences = [Sentence([row, row]), Sentence([]), Sentence([row])]
    lines = ["\t".join(row[2:6])] * 3
    assert pack_tags(sentences).tobytes() == "\n".join(lines).encode("utf-8", "surrogatepass")
    spaces = random_spaces(20, 1)
    wanted = [[i, h, m] for i, arcs in enumerate(spaces) for h, m in zip(arcs.head, arcs.modifier, strict=True)]
    packed = pack_arcs(spaces)
    assert packed.dtype == np.int32 and packed.tolist() == wanted
    assert pack_arcs([]).shape == (0, 3)


# -- tables


@pytest.mark.parametrize("bits", [4, 19])
def test_the_rounded_mean_is_the_mean_rounded(bits):
    random, averaged = np.random.default_rng(0), AveragedWeights(bits)
    averaged.weights[:] = random.integers(-50, 50, 1 << bits)
    averaged.total[:] = random.integers(-(10**7), 10**7, 1 << bits)
    averaged.step = 1000
    table, scale = quantise(averaged.mean())
    found, own = averaged.rounded_mean()
    assert own == scale and found.dtype == np.int16 and found.tobytes() == table.tobytes()


# -- what a stage frees


def test_the_second_parser_is_freed_before_the_classifier_is_learnt(monkeypatch, few_words):
    alive, seen = [], []
    make, run = confidence.second_parser, confidence.run_apart

    def made(*arguments):
        parser, fitted = make(*arguments)
        alive.extend(map(weakref.ref, (parser, parser.model)))
        return parser, fitted

    monkeypatch.setattr(confidence, "second_parser", made)
    monkeypatch.setattr(confidence, "run_apart", lambda *given: seen.extend(each() for each in alive) or run(*given))
    train(toy.noisy_sentences(40), Config().with_overrides(SMALL | {"confidence.share": 0.5}))
    assert seen == [None, None]


def test_arrays_are_concatenated_and_freed():
    parts = [np.full((n, 3), n, np.int32) for n in (2, 0, 5, 1)]
    wanted, alive = np.concatenate(parts), [weakref.ref(part) for part in parts]
    found = concatenated(parts)
    assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    assert not parts and not any(each() is not None for each in alive)
    assert concatenated([np.arange(4, dtype=np.uint8)]).tolist() == [0, 1, 2, 3]
