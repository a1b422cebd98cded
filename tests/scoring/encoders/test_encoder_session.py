"""Vectors of words against the encoder's definition; windows; what they do not depend on; states and their faults."""

import json
import multiprocessing
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import encoders
import naive_bert
import naive_windows
import numpy as np
import pytest
from instances import seeds

from nonproj.errors import DependencyError, ModelError, needs
from nonproj.linear.state import load
from nonproj.model import container
from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.quantisation import WORDS, embeddings_of, floats_of, four_bits, quantise
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.windows import windows

KINDS = [(False, False), (True, False), (True, True)]
"""Matrices of 32 and of eight bits, and embeddings of four bits beside the latter."""

SCALES = "attention_scale attention_output_scale inner_scale"


@pytest.fixture(scope="module", params=["wordpiece", "unigram"])
def folder(request, tmp_path_factory):
    return encoders.write_folder(tmp_path_factory.mktemp("encoder"), request.param)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return encoders.write_folder(tmp_path_factory.mktemp("encoder"))


def make(folder, rounded=False, mix=None, halves=False):
    """The encoder in a folder; ``halves``: with embeddings of four bits, other ones."""
    read = read_folder(folder)
    arrays = dict(read.arrays)
    if halves:
        rng = np.random.default_rng(1)
        integers, scale = rng.integers(-8, 8, arrays["words"].shape), np.float16([[0.013], [0.25]])
        arrays["words"] = (integers * scale[rng.integers(0, 2, len(integers))]).astype(np.float32)
    more = {} if mix is None else {"mix": np.array(mix, np.float32)}
    return Encoder(read.architecture, (quantise(arrays) if rounded else arrays) | more, read.tokenizer)


def expected(encoder, twin, words, mix=(0, 0, 1)):
    """The vectors of a sentence, from the definitions of encoder and windows."""
    cut, limit, special = encoder.pieces.cut([words])[0], encoder.limit, encoder.pieces.special
    ends = np.cumsum(cut.lengths)
    parts = [cut.ids[end - size : end][:limit].tolist() for end, size in zip(ends, cut.lengths, strict=True)]
    found, owners = naive_windows.windows([len(part) for part in parts], limit)
    root, rows = None, {}
    for number, (start, end) in enumerate(found):
        pieces = [special.first, *sum(parts[start:end], []), special.last]
        states = sum(share * each for share, each in zip(mix, twin.all_states(pieces), strict=True))
        root = states[0] if number == 0 else root
        for word in (word for word in range(start, end) if owners[word] == number):
            begin = 1 + sum(len(part) for part in parts[start:word])
            rows[word] = states[begin : begin + len(parts[word])].mean(axis=0)
    return np.array([root, *(rows[word] for word in range(len(parts)))])


@pytest.mark.parametrize("mix", [None, (0.5, -0.25, 2.0), (0, 0, 0)])
def test_vectors_follow_the_definition(folder, mix):
    """With a mix of layers, or the last one."""
    encoder, twin = make(folder, mix=mix), naive_bert.Bert(folder)
    vectors = encoder.vectors(encoders.SENTENCES)
    assert [row.shape for row in vectors] == [(len(words) + 1, 32) for words in encoders.SENTENCES]
    for words, found in zip(encoders.SENTENCES, vectors, strict=True):
        wanted = expected(encoder, twin, words, mix or (0, 0, 1))
        assert found.dtype == np.float32 and np.abs(found - wanted).max() <= (2e-5 if mix else 1e-5)


def test_words_that_are_cut_are_named_in_the_log(folder, caplog):
    encoder = make(folder)
    with caplog.at_level("WARNING", "nonproj"):
        encoder.vectors([["dog", "cat"] * encoder.limit])
        assert not caplog.messages
        encoder.vectors([["dog"], ["unbelievable" * 9, "dog", "unbelievable" * 9]])
    assert caplog.messages == [f"the encoder sees only the first {encoder.limit} pieces of 2 words"]


def test_vectors_of_eight_bits(folder):
    """They are much nearer to those of the definition, with rounding, than these are to those without.

    A value between two steps may be rounded to the other one, so they are not equal.  Processors without products of
    bytes, such as those of x86-64 without AVX2, do not round inputs.
    """
    encoder, words = make(folder, rounded=True), encoders.SENTENCES
    found, exact = (np.concatenate(each.vectors(words)) for each in (encoder, make(folder)))
    errors, roundings = [], []
    for inputs in (True, False):
        twin = naive_bert.RoundedBert(folder, inputs)
        wanted = np.concatenate([expected(encoder, twin, each) for each in words])
        errors.append(np.abs(found - wanted).mean())
        roundings.append(np.abs(exact - wanted).mean())
    assert 1e-3 < roundings[1] < roundings[0] < 0.03
    assert min(errors) < min(roundings) / 10
    cosines = (found * exact).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(exact, axis=1)
    assert cosines.min() > 0.999


@pytest.mark.parametrize("rounded", [False, True])
def test_vectors_do_not_depend_on_batch_order_and_threads(small, rounded):
    encoder, source = make(small, rounded), random.Random(1)
    alone = [encoder.vectors([words])[0] for words in encoders.SENTENCES]
    for threads in (1, 2, 3):
        order = source.sample(range(len(alone)), len(alone)) * 2
        with ThreadPoolExecutor(threads) as pool:
            batches = [[encoders.SENTENCES[i] for i in order]] * threads
            for found in pool.map(make(small, rounded).vectors, batches):
                assert all(np.array_equal(each, alone[i]) for i, each in zip(order, found, strict=True))


def test_processes_compute_the_same(small):
    """With a pickled encoder, or the session of the process that forked them."""
    encoder, context = make(small, rounded=True), multiprocessing.get_context("fork")
    wanted = encoder.vectors(encoders.SENTENCES)
    with context.Pool(1) as pool:
        assert all(map(np.array_equal, pool.apply(encoder.vectors, [encoders.SENTENCES]), wanted))
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put(encoder.vectors(encoders.SENTENCES)))
    process.start()
    assert all(map(np.array_equal, queue.get(), wanted))
    process.join(30)
    assert process.exitcode == 0


@pytest.mark.parametrize(("rounded", "halves"), KINDS)
def test_states_keep_everything(small, tmp_path, rounded, halves):
    """Also if arrays are read-only, as those of a model that several processes map."""
    encoder = make(small, rounded, (0.1, 0.2, 0.7), halves)
    container.write(tmp_path / "model", *encoder.state())
    values, arrays = container.read(tmp_path / "model")
    for array in arrays.values():
        array.flags.writeable = False
    again = load(Encoder, (values, arrays))
    assert again.architecture == encoder.architecture
    assert all(map(np.array_equal, again.vectors(encoders.SENTENCES), encoder.vectors(encoders.SENTENCES)))


# Windows of long sentences


@pytest.mark.parametrize("seed", seeds(200))
def test_windows_follow_the_definition(seed):
    random = np.random.default_rng(seed)
    limit = int(random.integers(1, 40))
    lengths = random.integers(1, min(limit, random.integers(1, 41)) + 1, random.integers(0, 60))
    start, end, owner = (each.tolist() for each in windows(lengths, limit))
    assert (list(zip(start, end, strict=True)), owner) == naive_windows.windows(lengths.tolist(), limit)


@pytest.mark.parametrize("seed", seeds(50))
def test_windows_cover_a_sentence(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 11, 300)
    start, end, owner = windows(lengths, 100)
    assert start[0] == 0 and end[-1] == 300
    assert (np.diff(start) > 0).all() and (np.diff(end) > 0).all() and (start[1:] <= end[:-1]).all()
    assert all(lengths[first:last].sum() <= 100 for first, last in zip(start, end, strict=True))
    assert ((start[owner] <= np.arange(300)) & (np.arange(300) < end[owner])).all() and (np.diff(owner) >= 0).all()
    context = [lengths[start[owner[i]] : i].sum() for i in range(20, 280)]
    assert min(context) >= 5, "words have at least an eighth of a window, less a word, before them"


# States that are damaged or a stranger's


def test_embeddings_of_four_bits_lose_nothing(small):
    """Beside the same numbers in 32 bits, and other matrices of eight bits."""
    encoder = make(small, rounded=True, halves=True)
    words = make(small, halves=True).arrays["words"]
    assert encoder.arrays["words_halves"].nbytes == words.size / 2 and "words_bytes" not in encoder.arrays
    assert np.array_equal(floats_of(encoder.arrays)["words"], words)
    full = quantise({name: array for name, array in read_folder(small).arrays.items() if name != "words"})
    wanted = Encoder(encoder.architecture, full | {"words": words}, encoder.tokenizer)
    some = np.array([2, 0, 2])
    assert np.array_equal(encoder._embeddings(some), wanted._embeddings(some))
    assert "words_bytes" in make(small, rounded=True).arrays  # these have no steps


@pytest.mark.parametrize("number", [np.nextafter(np.float32(0.75), 1), 1e6, 1e-9, 2.25, np.inf, np.nan])
def test_a_table_that_four_bits_would_change_keeps_eight(number):
    """One number that is no step from the others: a neighbour of one, too large, too small."""
    table = (np.arange(64).reshape(2, 32) % 16 - 8).astype(np.float32) / 4
    assert four_bits(table) is not None
    table[1, 5] = number
    assert four_bits(table) is None


def test_blocks_of_zeros_and_of_one_size_have_four_bits():
    table = np.repeat(np.array([[0.0], [-0.5], [7.0], [65504.0]], np.float32), 32, axis=1)
    halves, scale = four_bits(table)
    found = embeddings_of({"words_halves": halves, "words_half_scale": scale}, slice(None))
    assert np.array_equal(found, table) and four_bits(np.full((1, 32), 1e6, np.float32)) is None


OTHER_BLOCKS = [
    ("words_half_scale", lambda scale: np.concatenate([scale, scale], axis=1), "is for 2 blocks of 32"),
    ("words_half_scale", lambda scale: np.full_like(scale, 31 << 10), "values that are not finite"),
    ("words_halves", lambda halves: halves[:, :8], r"is for 1 blocks of 32"),
    ("words_halves", lambda halves: halves[1:], "half_blocks|shape"),
    *((SCALES, lambda scale, n=n: np.repeat(scale, n, axis=-1), r"is for \d+ blocks, 1 are") for n in (3, 32)),
]


@pytest.mark.parametrize(("names", "change", "fault"), OTHER_BLOCKS)
def test_blocks_of_other_sizes_and_numbers_are_refused(small, names, change, fault):
    values, arrays = make(small, rounded=True, halves=True).state()
    with pytest.raises(ModelError, match=fault):
        load(Encoder, (values, arrays | {name: change(arrays[name]) for name in names.split()}))


def test_two_kinds_of_matrices_are_refused(small):
    values, halves = make(small, rounded=True, halves=True).state()
    _, rounded = make(small, rounded=True).state()
    _, full = make(small).state()
    for other in (rounded, full, {"words": full["words"]}, {name: rounded[name] for name in WORDS}):
        with pytest.raises(ModelError, match="matrices of several kinds|has no array"):
            load(Encoder, (values, halves | other))


@pytest.mark.parametrize(("rounded", "halves"), KINDS)
def test_states_without_a_value_or_with_other_arrays_are_refused(small, rounded, halves):
    values, arrays = make(small, rounded, halves=halves).state()
    for name in values:
        with pytest.raises(ModelError, match=f"has no '{name}' of type"):
            load(Encoder, ({key: value for key, value in values.items() if key != name}, arrays))
    for name, array in arrays.items():
        others = {key: each for key, each in arrays.items() if key != name}
        fault = f"the component 'encoder' has no array '({name}|inner|words)|several kinds"
        with pytest.raises(ModelError, match=fault):
            load(Encoder, (values, others))
        changed = [array[..., None], array.astype(np.float64)]
        if name != "tokenizer":
            changed += [array[:-1], array[:0]]
            changed += [np.concatenate([array, array], axis=axis) for axis in range(array.ndim)]
        for each in changed:
            with pytest.raises(ModelError):
                load(Encoder, (values, others | {name: each}))


IMPOSSIBLE = [
    ({"layers": 0}, "the number of layers is 0, 1 to 100 is expected"),
    ({"layers": 3}, r"'positions'|has the shape \(2, .*, \(3, "),
    ({"layers": 10**9}, "the number of layers is 1000000000, 1 to 100 is expected"),
    ({"hidden": 2**62}, "the number of hidden is 4611686018427387904"),
    ({"heads": 5}, "32 dimensions cannot be divided among 5 heads"),
    ({"positions": 2}, "2 positions, at least 3 are expected"),
    ({"positions": 512}, r"'positions' has the shape \(24, 32\), \(512, 32\) is expected"),
    ({"pieces": 27}, r"'words' has the shape"),
    ({"epsilon": 0.0}, r"the epsilon of norms is 0\.0, a number in \(0, 1\) is expected"),
    ({"epsilon": float("nan")}, "the epsilon of norms is nan"),
    ({"kind": "gpt"}, "an encoder of the kind 'gpt'; one of bert, "),
]


@pytest.mark.parametrize(("changes", "fault"), IMPOSSIBLE)
def test_impossible_sizes_are_refused(small, changes, fault):
    values, arrays = make(small).state()
    with pytest.raises(ModelError, match=fault):
        load(Encoder, (values | changes, arrays))


def test_values_that_are_not_finite_are_refused(small):
    values, arrays = make(small, rounded=True).state()
    for name in (name for name, array in arrays.items() if array.dtype == np.float32):
        wrong = arrays[name].copy()
        wrong.flat[-1] = np.nan
        with pytest.raises(ModelError, match=f"the encoder's array '{name}' has values that are not finite"):
            load(Encoder, (values, arrays | {name: wrong}))
    huge = arrays | {"outer_norm": np.full_like(arrays["outer_norm"], 3e38)}
    with pytest.raises(ModelError, match="its vectors are not finite"):
        load(Encoder, (values, huge)).vectors([["dog"]])


@pytest.mark.parametrize("rounded", [False, True])
def test_changed_states_are_refused_or_give_vectors(small, rounded):
    """Some bytes of an array are changed at random."""
    values, arrays = make(small, rounded).state()
    source, refused = np.random.default_rng(4), 0
    for _ in range(100):
        name = source.choice(list(arrays))
        changed = arrays[name].copy()
        data = changed.reshape(-1).view(np.uint8)
        data[source.integers(0, data.size, 20)] = source.integers(0, 256, 20)
        try:
            found = load(Encoder, (values, arrays | {name: changed})).vectors(encoders.SENTENCES)
            assert all(np.isfinite(each).all() for each in found)
        except ModelError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 0 < refused < 100


def test_tokenizers_that_are_none_are_refused(small):
    values, arrays = make(small).state()
    more = json.loads(arrays["tokenizer"].tobytes())
    more["model"]["vocab"] |= {"x": values["pieces"]}
    for changed, fault in (
        (b"\xff", "the tokenizer of the encoder is not UTF-8"),
        (json.dumps(more).encode(), f"{values['pieces'] + 1} pieces, the encoder {values['pieces']}"),
    ):
        with pytest.raises(ModelError, match=fault):
            load(Encoder, (values, arrays | {"tokenizer": np.frombuffer(changed, np.uint8)}))


def test_missing_packages_are_named(small, monkeypatch):
    encoder = make(small)
    for package, use in (
        ("onnxruntime", lambda: encoder.vectors([["dog"]])),
        ("tokenizers", lambda: load(Encoder, encoder.state())),
        ("safetensors", lambda: read_folder(small)),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(DependencyError) as caught:
            use()
        assert str(caught.value) == needs("encoders need", package, "encoder")
