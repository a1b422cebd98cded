"""Words, sentences and documents as objects: arcs between words, sequences, JSON, CoNLL-U, streams of pairs."""

import json

import naive_trees
import numpy as np
import pytest

import nonproj
from nonproj.io.objects import from_words
from nonproj.nlp.document import Document, ParsedSentence
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parses import Parse
from nonproj.tagging.analyzer import Analyzer
from nonproj.types import Decoded


def parsed(*heads: int) -> ParsedSentence:
    """A sentence of made-up words with these heads, 0 for the root."""
    tree = np.array([-1, *heads], np.int32)
    labels = ["dep" if head else "root" for head in heads]
    words = [f"w{number}" for number in range(1, len(heads) + 1)]
    decoded = Decoded(tree, 2.0, 2.5, False, False, 7, 1.0, 3)
    return ParsedSentence(from_words(words), Parse(decoded, labels, full_arc_space(len(heads))))


# -- arcs between words ------------------------------------------------------------------------------------------------


def reaches(heads: list[int], word: int, ancestor: int) -> bool:
    """Whether the path from a word to the root passes an ancestor."""
    while word and word != ancestor:
        word = heads[word - 1]
    return word == ancestor


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_parents_children_and_subtrees_in_all_trees(n):
    for _, *heads in naive_trees.all_trees(n):
        for word in parsed(*map(int, heads)):
            assert word.head == (word.parent.id if word.parent else 0) == heads[word.id - 1]
            assert [child.id for child in word.children] == [m for m in range(1, n + 1) if heads[m - 1] == word.id]
            below = [m for m in range(1, n + 1) if reaches(heads, m, word.id)]
            assert [each.id for each in word.subtree] == below
            assert all(child.parent == word for child in word.children)


def test_words_are_equal_by_what_they_are():
    one, same, other = parsed(2, 0), parsed(2, 0), parsed(0, 1)
    assert one[0] == same[0] != other[0] and one[0] is not same[0]
    assert len({one[0], same[0], other[0]}) == 2
    assert "sentence" not in repr(one[0])


# -- sequences ---------------------------------------------------------------------------------------------------------


def test_documents_and_sentences_are_sequences():
    one, two = parsed(2, 0), parsed(0)
    doc = Document("w1 w2 w1", [one, two])
    assert (len(doc), len(doc[0]), len(doc[-1])) == (2, 2, 1)
    assert list(doc) == doc[:] == [one, two]
    assert [word.form for sentence in doc for word in sentence] == ["w1", "w2", "w1"]
    assert doc.words == [*one, *two]
    assert one[:1] == [one[0]] and one[-1].id == 2
    for sequence in (doc, one):
        with pytest.raises(IndexError):
            sequence[2]
    doc = Document("")
    assert (len(doc), list(doc), doc.words, doc.certified, doc.gap) == (0, [], [], True, 0)
    assert (doc.to_conllu(), doc.to_json()) == ("", {"text": "", "sentences": []})


# -- JSON and CoNLL-U --------------------------------------------------------------------------------------------------


def test_json_has_words_trees_and_certificates():
    doc = Document("w1 w2", [parsed(2, 0)])
    found = doc.to_json()
    assert json.loads(json.dumps(found)) == found
    (sentence,) = found["sentences"]
    assert (found["text"], sentence["text"]) == ("w1 w2", "w1 w2")
    names = set(doc.words[0].__slots__) - {"sentence"}
    assert sentence["words"] == [{name: getattr(word, name) for name in names} for word in doc.words]
    assert [word.to_dict() for word in doc.words] == sentence["words"]
    assert (sentence["certified"], sentence["score"], sentence["bound"]) == (False, 2.0, 2.5)
    assert (doc.certified, doc.gap) == (False, 0.5)


# -- streams -----------------------------------------------------------------------------------------------------------


def test_words_are_counted_before_anything_is_done(model_of, monkeypatch):
    """A sentence that is too long costs nothing, and those around it are parsed."""
    tagged, apply = [], Analyzer.apply
    monkeypatch.setattr(
        Analyzer, "apply", lambda self, given, *more: tagged.extend(map(len, given)) or apply(self, given, *more)
    )
    sentences = [from_words(["hund"] * n) for n in (2, 100_000, 3)]
    found = [parse for _, parse in nonproj.load(model_of("complete")).parser.try_all(sentences)]
    assert tagged == [2, 3] and isinstance(found[0], Parse) and isinstance(found[2], Parse)
    assert found[1].message == "a sentence of 100000 words; decoding.max_words is 5000: split it, or raise the limit"
