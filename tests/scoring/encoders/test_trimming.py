"""Smaller vocabularies: which pieces are kept, and that kept words are cut as before."""

import json
import random

import encoders
import pytest
from tokenizers import Tokenizer

from nonproj.errors import ModelError
from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.pieces import Pieces
from nonproj.scoring.encoders.tokenizer import names, parse
from nonproj.scoring.encoders.trimming import trim, trimmed

BOTH = ["wordpiece", "unigram"]
TREEBANK = [["the", "dogs", "see", "a", "cat"], ["unbelievable", "The", "dog"]]


def used(text, sentences):
    """The pieces of sentences."""
    return {int(number) for cut in Pieces(text).cut(sentences) for number in cut.ids}


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("limit", [0, 8, 1000])
def test_sentences_of_kept_pieces_are_cut_as_before(name, limit):
    text, source = encoders.TOKENIZERS[name](), random.Random(1)
    small, kept = trim(text, used(text, TREEBANK), limit)
    pieces, smaller = Pieces(text), Pieces(small)
    before, after = names(parse(text)), names(parse(small))
    assert [before[number] for number in kept] == after and smaller.size == len(kept)
    assert [before[number] for number in pieces.special] == [after[number] for number in smaller.special]
    words = [*{word for words in TREEBANK for word in words}, "z", "?"]
    words += ["".join(source.choices("dogcatsebl", k=source.randrange(1, 8))) for _ in range(500)]
    unchanged = 0
    for word, old, new in zip(words, pieces.cut([[w] for w in words]), smaller.cut([[w] for w in words]), strict=True):
        if set(old.ids.tolist()) <= set(kept.tolist()):
            assert kept[new.ids].tolist() == old.ids.tolist(), word
            unchanged += 1
    assert unchanged >= 9


@pytest.mark.parametrize("name", BOTH)
def test_kept_pieces_are_those_of_the_definition(name):
    text = encoders.TOKENIZERS[name]()
    settings = parse(text)
    pieces, own = names(settings), used(text, TREEBANK)
    special = {entry["id"] for entry in settings["added_tokens"]}
    bare = [piece.removeprefix("##") for piece in pieces]
    seen = set("".join(bare[number] for number in own))
    single = {number for number, piece in enumerate(bare) if len(piece) == 1 and piece in seen}
    score = dict(settings["model"]["vocab"]) if name == "unigram" else {piece: -i for i, piece in enumerate(pieces)}
    lowest = {min(range(len(pieces)), key=lambda number: score[pieces[number]])} if name == "unigram" else set()
    others = [number for number in range(len(pieces)) if number not in own and set(bare[number]) <= seen]
    others.sort(key=lambda number: -score[pieces[number]])
    assert others
    for limit in range(len(own) - 2, len(own) + len(others) + 3):
        expected = own | special | single | lowest | set(others[: max(0, limit - len(own))])
        assert trim(text, own, limit)[1].tolist() == sorted(expected)


@pytest.mark.parametrize("name", BOTH)
def test_the_smaller_tokenizer_works_elsewhere(name):
    text = encoders.TOKENIZERS[name]()
    small, kept = trim(text, used(text, TREEBANK), 0)
    whole, trimmed = Tokenizer.from_str(text), Tokenizer.from_str(small)
    for sentence in map(" ".join, TREEBANK):
        assert kept[trimmed.encode(sentence).ids].tolist() == whole.encode(sentence).ids
    assert trimmed.get_vocab_size() == len(kept)


def test_byte_pairs_stay_whole():
    text = encoders.byte_pairs()
    small, kept = trim(text, {5}, 0)
    assert small == text and kept.tolist() == list(range(len(json.loads(text)["model"]["vocab"])))


NAMES = "the post-processor of the tokenizer names pieces that it does not have"


def write_changed(folder, change):
    """Write an encoder whose tokenizer is changed."""
    settings = json.loads(encoders.wordpiece())
    change(settings)
    encoders.write_folder(folder)
    (folder / "tokenizer.json").write_text(json.dumps(settings), encoding="utf-8")
    return read_folder(folder)


def test_all_pieces_are_kept_where_texts_have_more_than_the_limit(tmp_path):
    folder = read_folder(encoders.write_folder(tmp_path))
    found = trimmed(folder, TREEBANK, 2)
    assert (found.architecture, found.tokenizer) == (folder.architecture, folder.tokenizer)
    assert trimmed(folder, TREEBANK).architecture.pieces < folder.architecture.pieces


OTHER_TOKENIZERS = [
    (lambda settings: settings["post_processor"].pop("special_tokens"), NAMES),
    (lambda settings: settings["post_processor"]["special_tokens"]["[CLS]"].update(tokens=1), NAMES),
    (lambda settings: settings["post_processor"].update({"\ud800": "x"}), "the tokenizer has half of a character"),
    (lambda settings: settings["model"]["vocab"].update(more=26), "the tokenizer has [0-9]+ pieces, the encoder"),
]


@pytest.mark.parametrize(("change", "fault"), OTHER_TOKENIZERS)
def test_a_folder_with_another_tokenizer_is_refused(change, fault, tmp_path):
    with pytest.raises(ModelError, match=fault):
        trimmed(write_changed(tmp_path, change), TREEBANK)


def test_a_tokenizer_needs_no_added_pieces(tmp_path):
    found = trimmed(write_changed(tmp_path, lambda settings: settings.pop("added_tokens")), TREEBANK).vectors(TREEBANK)
    assert [len(each) for each in found] == [6, 4]
