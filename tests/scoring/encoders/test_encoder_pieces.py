"""Words to pieces, against the tokenizer itself; tokenizers that cannot be used."""

import base64
import json
import random

import encoders
import pytest
from tokenizers import Tokenizer

from nonproj.errors import ModelError
from nonproj.scoring.encoders.pieces import Pieces
from nonproj.scoring.encoders.tokenizer import parse, special_pieces

WORDS = ["The", "dogs", "unbelievable", "d\u00f3g", "a", "sees", "ab", "zebra", "thee", "the-dog", "x", "e" * 300]


def settings(name):
    return json.loads(encoders.TOKENIZERS[name]())


@pytest.mark.parametrize("name", ["wordpiece", "unigram"])
def test_pieces_are_those_of_each_word_by_itself(name):
    text = encoders.TOKENIZERS[name]()
    pieces, tokenizer = Pieces(text), Tokenizer.from_str(text)
    source = random.Random(1)
    sentences = [source.choices(WORDS, k=source.randrange(8)) for _ in range(50)]
    for words, (ids, lengths) in zip(sentences, pieces.cut(sentences), strict=True):
        expected = [tokenizer.encode(word, add_special_tokens=False).ids for word in words]
        assert lengths.tolist() == [len(each) for each in expected]
        assert ids.tolist() == [piece for each in expected for piece in each]


@pytest.mark.parametrize("name", ["wordpiece", "unigram"])
def test_words_with_an_unknown_piece_are_counted(name):
    pieces = Pieces(encoders.TOKENIZERS[name]())
    assert pieces.unknown_share([["dogs", "the"], ["dog"]]) == 0.0
    assert pieces.unknown_share([["dogs", "\u2c80\u2c83"], [], ["\u2c80", "dog\u2c80", "dog", "dog"]]) == 0.5
    assert pieces.unknown_share([]) == 0.0


def test_byte_pairs_follow_a_blank():
    """As in the training of RoBERTa, where all words but the first follow one."""
    text = encoders.byte_pairs()
    vocabulary, (cut,) = settings("byte_pairs")["model"]["vocab"], Pieces(text).cut([["dog", "dogs"]])
    assert cut.lengths.tolist() == [1, 2]
    assert cut.ids.tolist() == [vocabulary["\u0120dog"], vocabulary["\u0120dog"], vocabulary["s"]]


@pytest.mark.parametrize("name", encoders.TOKENIZERS)
def test_special_pieces_are_those_around_a_sentence(name):
    text = encoders.TOKENIZERS[name]()
    special = special_pieces(parse(text))
    assert [special.first, special.last] == Tokenizer.from_str(text).encode("").ids
    assert Pieces(text).special == special


@pytest.mark.parametrize("name", encoders.TOKENIZERS)
def test_no_word_gives_a_special_piece(name):
    """But the unknown one, which stands for what has no pieces."""
    added = [entry["content"] for entry in settings(name)["added_tokens"]]
    pieces = Pieces(encoders.TOKENIZERS[name]())
    words = [*added, *(f"{each}dog" for each in added), *(f" {each}" for each in added), "\u00a0", "\u200b", "\n"]
    special = set(range(len(added))) - {pieces.special.unknown}
    for cut in pieces.cut([[word] for word in words]):
        assert not special & set(cut.ids.tolist()) and cut.lengths.tolist() == [len(cut.ids)] and len(cut.ids)


def test_a_word_without_pieces_has_the_unknown_one():
    pieces = Pieces(encoders.wordpiece())
    cut, _ = pieces.cut([["\u00a0", "dog", "\u200b\n"], ["cat"]])
    assert cut.ids.tolist() == [1, settings("wordpiece")["model"]["vocab"]["dog"], 1]
    assert cut.lengths.tolist() == [1, 1, 1]


def test_kept_words_change_nothing(monkeypatch):
    monkeypatch.setattr("nonproj.scoring.encoders.pieces._MOST_WORDS", 5)
    few, source = Pieces(encoders.wordpiece()), random.Random(2)
    for _ in range(50):
        sentences = [source.choices(WORDS, k=4) for _ in range(3)]
        found, expected = few.cut(sentences), Pieces(encoders.wordpiece()).cut(sentences)
        assert [cut.ids.tolist() for cut in found] == [cut.ids.tolist() for cut in expected]


def test_ends_in_a_sequence_of_post_processors():
    changed = settings("byte_pairs")
    changed["post_processor"] = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, changed["post_processor"]]}
    assert Pieces(json.dumps(changed)).special == (0, 2, 3)


def changed(name, **changes):
    """A tokenizer with other settings, those of the model by their names."""
    found = settings(name)
    for key, value in changes.items():
        found[key] = found[key] | value if key == "model" else value
    return json.dumps(found)


def characters(*texts):
    """A table of characters without any, and texts to replace them by."""
    return base64.b64encode(bytes(4) + b"\0".join(text.encode() for text in texts)).decode()


def steps(*found, place="normalizer"):
    """A tokenizer with some steps."""
    name = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}[place]
    return changed("unigram", **{place: {"type": "Sequence", name: list(found)}})


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a"}
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": characters("a")}

FAULTS = {
    "not a tokenizer.json with a model and a vocabulary": [
        *("", "[" * 100_000, "{}", '{"model": 5}'),
        *(changed("wordpiece", added_tokens=each) for each in (5, [{"content": "a"}])),
    ],
    "vocabulary of the tokenizer is not one": [
        changed("wordpiece", added_tokens=[{"content": [], "special": 1}]),
        *(changed("wordpiece", model={"vocab": each}) for each in ({"a": 1}, {"a": 0, "b": 0}, {"a": 2**70}, [])),
        *(changed("unigram", model={"vocab": each}) for each in ({"a": 0}, [["a"]], [["a", "b"]])),
    ],
    "does not say which pieces are unknown, before and after": [
        *(changed("wordpiece", model={"unk_token": each}) for each in ("?", ["?"])),
        *(changed("unigram", model={"unk_id": each}) for each in (1000, None)),
        *(changed("wordpiece", post_processor=each) for each in (None, {"type": "Sequence", "processors": []})),
        changed("wordpiece", post_processor={"type": "BertProcessing", "cls": ["?", 0], "sep": ["?", 1]}),
    ],
    "a model of the kind 'WordLevel'; WordPiece, Unigram or BPE": [changed("wordpiece", model={"type": "WordLevel"})],
    "the tokenizer cannot be used: ": [
        changed("wordpiece", model={"continuing_subword_prefix": 5}),
        changed("byte_pairs", model={"merges": [["q", "q"]]}),
    ],
    "the normalizer of the tokenizer has another step than Bert": [
        *(changed("unigram", normalizer=each) for each in (5, {"type": "Lua"}, {"type": "Sequence", "normalizers": 5})),
    ],
    "the pre_tokenizer of the tokenizer has another step than": [
        changed("unigram", pre_tokenizer={"type": "Split", "pattern": {"Regex": "a"}}),
        changed("unigram", pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Sequence"}]}),
    ],
    "the normalizer of the tokenizer has 21 steps, at most 20 are expected": [steps(*[{"type": "NFC"}] * 21)],
    "the pre_tokenizer of the tokenizer has 21 steps": [steps(*[{"type": "Digits"}] * 21, place="pre_tokenizer")],
    "replaces another pattern than": [
        *(steps(REPLACE | {"pattern": each}) for each in ({"String": ""}, {"Regex": "(a*)*b"}, "a")),
    ],
    "by more than a character": [steps(REPLACE | {"content": "aa"})],
    "begins words with more than a character": [steps({"type": "Prepend", "prepend": "aa"})],
    "more than one table of characters": [steps(PRECOMPILED, PRECOMPILED)],
    "a character by more than 100 bytes": [steps(PRECOMPILED | {"precompiled_charsmap": characters("a", "b" * 101)})],
    "damaged table of characters|the tokenizer cannot be used": [steps(PRECOMPILED | {"precompiled_charsmap": "?"})],
    "damaged table of characters": [steps({"type": "Precompiled"})],
    "cuts words of 1001 characters, at most 1000": [changed("wordpiece", model={"max_input_chars_per_word": 1001})],
}


def test_byte_pairs_are_not_dropped_at_random():
    always = Pieces(changed("byte_pairs", model={"dropout": 1.0})).cut([["dog"]] * 2)
    assert [cut.ids.tolist() for cut in always] == [[settings("byte_pairs")["model"]["vocab"]["\u0120dog"]]] * 2


@pytest.mark.parametrize("fault", FAULTS)
def test_tokenizers_with_faults_are_refused(fault):
    for text in FAULTS[fault]:
        with pytest.raises(ModelError, match=fault) as caught:
            Pieces(text)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 4, 1024])
def test_panics_of_the_library_are_errors(size):
    """A table of characters whose references leave it, as read, and as used."""
    table = base64.b64encode(size.to_bytes(4, "little") + b"\xff" * size).decode()
    text = changed("unigram", normalizer={"type": "Precompiled", "precompiled_charsmap": table})
    with pytest.raises(ModelError, match="the tokenizer cannot be used: "):
        Pieces(text).cut([WORDS])


@pytest.mark.parametrize("name", encoders.TOKENIZERS)
def test_changed_tokenizers_are_refused_or_cut_words(name):
    """Bytes of its text are changed at random; every number is one of a piece."""
    text, source, refused = encoders.TOKENIZERS[name](), random.Random(3), 0
    for _ in range(400):
        position = source.randrange(len(text))
        try:
            pieces = Pieces(text[:position] + source.choice('0123456789"{}[],:aeN\\') + text[position + 1 :])
            (cut,) = pieces.cut([[*WORDS, "\u4e2d"]])
        except ModelError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert cut.ids.min() >= 0 and cut.ids.max() < pieces.size
    assert 100 < refused < 400
