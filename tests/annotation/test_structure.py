"""Splitting and joining words and sentences, against their definition over objects."""

import naive_annotation as naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonproj.annotation import structure
from nonproj.annotation.draft import Draft, EditError


def draw_ranges(draw, n):
    """The first and last words of multiword tokens."""
    ranges, word = {}, 1
    while word < n:
        last = draw(st.integers(word, min(n, word + 2)))
        if last > word and draw(st.booleans()):
            ranges[word] = last
            word = last
        word += 1
    return ranges


@st.composite
def sentences(draw, most=7):
    """Lines of a sentence: words with any references, multiword tokens, empty nodes, and comments."""
    n = draw(st.integers(1, most))
    forms = [draw(st.sampled_from(["a", "bc", "ש", "漢字", "d e", "x-y", "é"])) for _ in range(n)]
    empties = [draw(st.integers(0, 2)) if draw(st.integers(0, 4)) == 0 else 0 for _ in range(n + 1)]
    names = ["0", *map(str, range(1, n + 1))]
    nodes = names + [f"{w}.{k}" for w, count in enumerate(empties) for k in range(1, count + 1)]
    ranges, lines = draw_ranges(draw, n), []

    def deps():
        def place(edge):
            whole, _, part = edge.split(":")[0].partition(".")
            return int(whole), int(part or 0), edge

        edges = draw(
            st.sets(st.sampled_from([f"{node}:{label}" for node in nodes for label in ("x", "y:z")]), max_size=3)
        )
        return "|".join(sorted(edges, key=place)) or "_"

    def misc(word):
        items = (
            ["SpaceAfter=No"] * draw(st.booleans()) + ["Gloss=g"] * draw(st.booleans()) + ["Flag"] * draw(st.booleans())
        )
        others = [name for name in names if name != str(word)]
        if word and draw(st.booleans()):
            items.append(f"Head={draw(st.sampled_from(others))}")
        if word and draw(st.booleans()):
            items += [f"NotHead={draw(st.sampled_from(others))}", "Deprel=x"]
        return "|".join(items) or "_"

    def empty_nodes(word):
        numbers = range(1, empties[word] + 1)
        lines.extend("\t".join([f"{word}.{k}", "e", *"_____", "_", deps(), misc(0)]) for k in numbers)

    empty_nodes(0)
    for word, form in enumerate(forms, 1):
        if word in ranges:
            space = draw(st.sampled_from(["_", "SpaceAfter=No"]))
            lines.append("\t".join([f"{word}-{ranges[word]}", "mwt", *"_______", space]))
        head = draw(st.sampled_from([*(name for name in names if name != str(word)), "_"]))
        label = "_" if head == "_" else draw(st.sampled_from(["nsubj", "obj"]))
        lines.append("\t".join([str(word), form, "l", "T", "t", "f=1", head, label, deps(), misc(word)]))
        empty_nodes(word)
    text = "\n".join(lines) + "\n\n"
    kind = draw(st.sampled_from(["none", "right", "other"]))
    comments = ["# sent_id = s1"] if draw(st.booleans()) else []
    if kind != "none":
        comments.append(f"# text = {naive.Sentence(text).surface() if kind == 'right' else 'something'}")
    comments += ["# note = n"] if draw(st.booleans()) else []
    return "".join(f"{line}\n" for line in comments) + text


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
