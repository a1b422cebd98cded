"""Two annotators: agreement and adjudication."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opening import opened, row, sentence

from nonproj.errors import FileError
from nonproj_workbench.annotation.agreement import agreement, coefficients
from nonproj_workbench.annotation.comparison import Comparison

SECOND = row(1, "w1", 0, "x") + row(2, "w2", 1, "y") + row(3, "w3", 2, "x", "N") + "\n"
FILES = [sentence(0, 1) + sentence(0, 1, 1) + sentence(0), sentence(0, 1) + SECOND + row(1, "v1", 0, "z") + "\n"]


@pytest.fixture
def compared(tmp_path):
    """The comparison of two files, and the file of adjudicated trees."""
    paths = [tmp_path / "a.conllu", tmp_path / "b.conllu"]
    for path, text in zip(paths, FILES, strict=True):
        path.write_text(text)
    comparison = Comparison(list(map(str, paths)))
    return comparison, tmp_path / "out.conllu", "".join(comparison.start())


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_kappa_from_its_definition(pairs):
    """Observed agreement, beyond that of annotators who choose independently with their own frequencies."""
    n, first, second = len(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / n
    expected = sum(first[value] * second[value] for value in "abc") / n**2
    found = coefficients(pairs)
    assert found["agreement"] == pytest.approx(observed)
    if expected == 1:
        assert found["kappa"] is None
    else:
        assert found["kappa"] == pytest.approx((observed - expected) / (1 - expected))


def test_agreement_of_two_files(compared):
    found = compared[0].agreement()
    assert (found["sentences"], found["words"]) == (2, 5)
    assert (found["sentences_left_out"], found["words_left_out"]) == (1, 1)
    assert found["heads"]["agreement"] == 0.8 and found["labels"]["agreement"] == 0.8
    assert found["heads and labels"]["agreement"] == 0.6 and found["upos"]["agreement"] == 0.8
    assert found["disagreements"] == [["x", "y", 1]] and "feats" not in found


def test_only_decided_words_are_compared():
    """Two annotators who have not begun agree on nothing, though a parser has filled in the same trees."""
    text = "# annotation = open\n" + sentence(0, 1)
    found = agreement([(text, text)])
    assert found["words"] == 0 and found["words_left_out"] == 2 and "heads" not in found
    found = agreement([(text.replace("_\n", "Head=0\n", 1), sentence(0, 1))])
    assert found["words"] == 1 and found["heads"] == {"agreement": 1.0, "kappa": None}


def test_agreed_words_are_decided(compared):
    comparison, path, text = compared
    with opened(path, text, comparison=comparison) as client:
        facts = client.get("file")
        assert facts["compare"] == {"first": "a.conllu", "second": "b.conllu"}
        assert facts["sentences"]["done"] == [1, 0, 0] and facts["sentences"]["differs"] == [0, 2, 1]
        answer = client.get("sentence/1")
        assert [bool(word["decided"]) for word in answer["words"]] == [True, False, False]
        assert [(each["word"], each["column"]) for each in answer["differs"]] == [
            (2, "deprel"),
            (3, "upos"),
            (3, "xpos"),
            (3, "head"),
        ]
        assert answer["other"]["words"][2] == {
            "head": 2,
            "deprel": "x",
            "upos": "N",
            "xpos": "N",
            "feats": "_",
            "lemma": "_",
        }
        assert client.get("agreement")["words"] == 5


def test_adjudication(compared):
    comparison, path, text = compared
    with opened(path, text, comparison=comparison) as client:
        assert client.edit(1, "take", word=3, source="second")["row"]["differs"] == 1
        word = client.get("sentence/1")["words"][2]
        assert (word["head"], word["deprel"], word["upos"]) == (2, "x", "N") and word["decided"] == ["head", "deprel"]
        client.edit(1, "take", word=2, source="first")
        client.edit(1, "done", value=True)
        assert client.get("sentence/2")["differs"] == [{"word": 0, "column": "words", "settled": False}]
        assert "the words of the two sentences differ" in client.refused(2, "take", word=1, source="second")
        client.edit(2, "take_all", source="second")
        client.edit(2, "done", value=True)
        assert client.get("file")["sentences"]["differs"] == [0, 0, 0]
        assert "while two annotators are compared" in client.refused(1, "split_sentence", word=1)
        assert "one of first and second" in client.refused(1, "take", word=1, source="third")
        found = client.http.get("/api/export?clean=1", headers=client.headers).text
    assert found == sentence(0, 1) + SECOND.replace("1\ty", "1\tx") + row(1, "v1", 0, "z") + "\n"


def test_all_of_one_annotator(compared):
    comparison, path, text = compared
    with opened(path, text, comparison=comparison) as client:
        client.edit(1, "take_all", source="second")
        client.edit(1, "undo")
        client.edit(1, "redo")
        assert client.get("file")["sentences"]["differs"][1] == 0
        assert client.http.get("/api/export?clean=1", headers=client.headers).text.split("\n\n")[1] + "\n\n" == SECOND


def test_files_of_other_sentences(tmp_path):
    for name, text in (("a", sentence(0)), ("b", sentence(0) * 2)):
        (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match="has 2 sentences, .* has 1; the same sentences are expected"):
        Comparison([str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(FileError, match="no such file"):
        Comparison([str(tmp_path / "a"), str(tmp_path / "c")])
