"""Splitting and joining words and sentences, against their definition over objects."""

import naive_annotation as naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import sentences

from nonproj_workbench.annotation import structure
from nonproj_workbench.annotation.draft import Draft, EditError


def n_words(text):
    return len(Draft.of(text).places)


SETTINGS = settings(max_examples=150, deadline=None)


@SETTINGS
@given(sentences())
def test_a_draft_is_its_lines(text):
    assert Draft.of(text).text() == text
    assert Draft.of(text.replace("\n", "\r\n")).text() == text.replace("\n", "\r\n")
    assert naive.Sentence(text).text() == text


@SETTINGS
@given(sentences(), st.data())
def test_words_are_split_as_defined(text, data):
    word = data.draw(st.integers(1, n_words(text)))
    forms = data.draw(st.sampled_from([["a", "b"], ["d", "e"], ["ש", "漢"]]))
    found = structure.split_word(Draft.of(text), word, forms)
    found.check()
    assert found.text() == naive.split_word(text, word, forms)


@SETTINGS
@given(sentences(), st.data())
def test_words_are_joined_as_defined(text, data):
    if n_words(text) < 2:
        with pytest.raises(EditError, match="after the last"):
            structure.join_words(Draft.of(text), 1)
        return
    word = data.draw(st.integers(1, n_words(text) - 1))
    wanted = naive.join_words(text, word)
    if wanted is None:
        with pytest.raises(EditError, match="different tokens"):
            structure.join_words(Draft.of(text), word)
        return
    found = structure.join_words(Draft.of(text), word)
    found.check()
    assert found.text() == wanted


@SETTINGS
@given(sentences(), st.data())
def test_sentences_are_split_as_defined(text, data):
    if n_words(text) < 2:
        return
    word = data.draw(st.integers(1, n_words(text) - 1))
    wanted = naive.split_sentence(text, word)
    if wanted is None:
        with pytest.raises(EditError, match="within a multiword token"):
            structure.split_sentence(Draft.of(text), word)
        return
    parts = structure.split_sentence(Draft.of(text), word, ["s1"])
    assert [part.text() for part in parts] == list(wanted)
    for part in parts:
        part.check()


@SETTINGS
@given(sentences(), sentences())
def test_sentences_are_joined_as_defined(first, second):
    found = structure.join_sentences(Draft.of(first), Draft.of(second))
    found.check()
    assert found.text() == naive.join_sentences(first, second)


@SETTINGS
@given(sentences(), st.data())
def test_a_word_that_is_split_and_joined_again_is_where_it_was(text, data):
    """Forms, heads and references of all other words return."""
    word = data.draw(st.integers(1, n_words(text)))
    old = Draft.of(text)
    again = structure.join_words(structure.split_word(old, word, ["a", "b"]), word)
    for a, b in zip(old.words, again.words, strict=True):
        assert a[6:9] == b[6:9] or (a is old.words[word - 1] and {*a[8].split("|")} >= {*b[8].split("|")} - {"_"})


def test_a_new_sentence_gets_a_name_that_is_free():
    text = "# sent_id = a\n1\tx\t_\t_\t_\t_\t0\tr\t_\t_\n2\ty\t_\t_\t_\t_\t1\tr\t_\t_\n\n"
    _, second = structure.split_sentence(Draft.of(text), 1, ["a", "a-2", "a-3"])
    assert second.comment("sent_id") == "a-4"


def test_the_last_sentence_of_a_file_without_an_end_of_line():
    text = "1\tx\t_\t_\t_\t_\t0\tr\t_\t_\n2\ty\t_\t_\t_\t_\t1\tr\t_\t_"
    first, second = structure.split_sentence(Draft.of(text), 1)
    assert first.text() + second.text() == ("1\tx\t_\t_\t_\t_\t0\tr\t_\t_\n\n1\ty\t_\t_\t_\t_\t_\t_\t_\t_")
    assert structure.split_word(Draft.of(text), 2, ["a", "b"]).text().count("\n") == 2


def test_multiword_tokens():
    text = "# text = de el.\n1\tde\t_\tP\t_\t_\t2\tx\t_\t_\n2\tel\t_\tD\t_\t_\t0\troot\t_\tSpaceAfter=No|A=b\n"
    text += "3\t.\t_\t_\t_\t_\t2\tp\t_\t_\n\n"
    made = structure.set_multiword(Draft.of(text), 1, 2, "del")
    assert "# text = del.\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tde" in made.text()
    assert "\tA=b\n" in made.text()
    back = structure.set_multiword(made, 1, 2, None)
    assert back.text() == text.replace("SpaceAfter=No|A=b", "A=b|SpaceAfter=No")
    assert structure.set_multiword(made, 1, 2, "DEL").comment("text") == "DEL."
    for first, last, form, message in (
        (2, 3, "x", "is in a multiword token"),
        (3, 3, "x", "two words"),
        (1, 3, None, "no multiword token 1-3"),
        (0, 2, "x", "not the number of a word"),
        (2, 9, "x", "not the number of a word"),
    ):
        with pytest.raises(EditError, match=message):
            structure.set_multiword(made, first, last, form)
