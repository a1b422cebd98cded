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
from nonproj.learning.corpus import ArcSpaces, LazyList
from nonproj.learning.perceptron import examples_of
from nonproj.linear.concatenation import concatenated
from nonproj.linear.perceptron import AveragedWeights
from nonproj.linear.weights import quantise
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space_from_mask, full_arc_space
from nonproj.types import Sentence

SMALL = {"features.bits": 14, "pruner.bits": 14, "labeler.bits": 14, "tagger.bits": 14, "pruner.folds": 0}
SMALL |= {"training.epochs": 1, "labeler.epochs": 1, "tagger.epochs": 1, "tagger.restarts": 1, "network.epochs": 1}
SMALL |= {"tagger.network_epochs": 1, "segmenter.epochs": 0, "tagger.folds": 2}


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
    assert len(stored) == len(spaces)
    for arcs, found in zip(spaces, stored, strict=True):
        for array, same in zip(arcs, found, strict=True):
            assert same.dtype == np.int32 and same.flags.c_contiguous and same.flags.writeable
            assert same.tolist() == array.tolist()
    assert stored[-1].head.tolist() == spaces[-1].head.tolist()
    with pytest.raises(IndexError):
        stored[40]


def test_arcs_in_blocks_take_little_more_than_their_numbers():
    spaces = [full_arc_space(4)] * 500
    numbers = sum(array.nbytes for arcs in spaces for array in arcs)
    stored = ArcSpaces(spaces)
    assert sum(sum(array.nbytes for array in arcs) for arcs in stored) == numbers
    assert size_of(lambda: ArcSpaces(spaces)) < numbers + 200 * len(spaces)
    assert size_of(lambda: [type(arcs)(*map(np.copy, arcs)) for arcs in spaces]) > numbers + 400 * len(spaces)


def test_items_are_made_when_they_are_needed():
    made = []
    items = LazyList(lambda number: made.append(number) or -number, np.array([4, 2, 7]))
    assert len(items) == 3 and not made
    assert items[1] == -2 and made == [2]
    assert list(items) == [-4, -2, -7]


def material_of(sentences, **options):
    """The training data of these sentences, with their candidate arcs."""
    return prepared(sentences, Config().with_overrides(SMALL | options))[0]


PARTS = Config().parts


def test_bytes_of_training_data_for_each_word():
    """Candidate arcs and what the parser learns from, beside the sentences: fewer bytes than lists of arrays took."""
    material = material_of(toy.sentences(60), **{"confidence.share": 0.0})
    words = sum(map(len, material.tagged))
    arcs = sum(len(each.head) for each in material.numbers.spaces)
    assert size_of(lambda: (ArcSpaces(material.numbers.spaces), examples_of(material, PARTS))) < 12 * arcs + 60 * words
    assert size_of(lambda: list(examples_of(material, PARTS))) > 12 * arcs + 60 * words


# -- sentences


def test_equal_strings_of_a_treebank_are_one_object():
    text = toy.treebank(20)
    sentences = conll.read_all(io.StringIO(text))
    assert [each.rows for each in sentences] == [each.rows for each in conll.read(io.StringIO(text))]
    strings = [string for sentence in sentences for row in sentence.rows for string in row]
    assert len({id(string) for string in strings}) == len(set(strings))
    assert "".join(line for sentence in sentences for line in sentence.lines) == text


def test_copies_with_other_tags_share_what_is_equal():
    first, second = toy.sentences(2)
    rows = [row.copy() for row in first.rows]
    rows[0][3] = "X"
    copy = retagged(first, rows)
    assert copy.rows == rows and first.rows[0][3] != "X"
    assert [row is own for row, own in zip(copy.rows, first.rows, strict=True)] == [False] + [True] * (len(rows) - 1)
    assert [line is own for line, own in zip(copy.lines, first.lines, strict=True)][:2] == [False, True]
    assert "".join(copy.lines) == "".join(with_rows(first, rows).lines)
    assert next(conll.read(io.StringIO("".join(copy.lines)))).rows == rows
    with pytest.raises(ValueError, match="zip"):
        retagged(second, second.rows[1:])


def test_tags_of_a_checkpoint_share_what_is_equal():
    sentences = toy.sentences(5)
    copies = unpack_tags(pack_tags(sentences), sentences)
    assert all(
        row is own for a, b in zip(copies, sentences, strict=True) for row, own in zip(a.rows, b.rows, strict=True)
    )


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


def test_the_second_parser_is_freed_before_the_classifier_is_learnt(monkeypatch):
    alive, seen = [], []
    make, run = confidence.second_parser, confidence.run_apart

    def made(*arguments):
        parser, fitted = make(*arguments)
        alive.extend(map(weakref.ref, (parser, parser.model)))
        return parser, fitted

    def fitted(*arguments):
        seen.append([each() for each in alive])
        return run(*arguments)

    monkeypatch.setattr(confidence, "second_parser", made)
    monkeypatch.setattr(confidence, "run_apart", fitted)
    options = SMALL | {"confidence.share": 0.5, "training.tags": "gold"}
    train(toy.noisy_sentences(160), Config().with_overrides(options))
    assert seen == [[None, None]]


def test_arrays_are_concatenated_and_freed():
    parts = [np.full((n, 3), n, np.int32) for n in (2, 0, 5, 1)]
    wanted, alive = np.concatenate(parts), [weakref.ref(part) for part in parts]
    found = concatenated(parts)
    assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    assert not parts and not any(each() is not None for each in alive)
    flat = [np.arange(4, dtype=np.uint8)]
    assert concatenated(flat).tolist() == [0, 1, 2, 3]
