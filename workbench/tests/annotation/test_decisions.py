"""Decisions in MISC and comments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opening import opened, row, sentence, suggester_of

from nonproj.io.constraints import read_constraints
from nonproj.types import Sentence
from nonproj_workbench.annotation.decisions import (
    Decisions,
    as_columns,
    check,
    cleaned,
    decisions_of,
    find_cycle,
    marks_of,
    store,
)
from nonproj_workbench.annotation.draft import Draft, EditError

TEXT = sentence(2, 0, 2)


@settings(deadline=None)
@given(st.data())
def test_decisions_survive_the_file(data):
    """Stored decisions are read again, and the other attributes stay, in their order."""
    draft = Draft.of(
        row(1, "a", 2, "x", misc="SpaceAfter=No|X") + row(2, "b", 0, "y") + row(3, "c", 2, "z", misc="A=1") + "\n"
    )
    heads = {
        w: data.draw(st.sampled_from([h for h in range(4) if h != w])) for w in data.draw(st.sets(st.integers(1, 3)))
    }
    labels = {w: data.draw(st.sampled_from(["x", "nsubj:pass", "a=b"])) for w in data.draw(st.sets(st.integers(1, 3)))}
    forbidden = {
        w: {data.draw(st.sampled_from([h for h in range(4) if h != w]))} for w in data.draw(st.sets(st.integers(1, 3)))
    }
    decisions = Decisions(heads, labels, forbidden)
    store(draft, decisions)
    assert decisions_of(Draft.of(draft.text())) == decisions
    assert cleaned(draft.text()) == without_attributes(draft)
    store(draft, Decisions({}, {}, {}))
    assert [r[9] for r in draft.words] == ["SpaceAfter=No|X", "_", "A=1"]


def without_attributes(draft):
    new = draft.copy()
    new.comments = [line for line in new.comments if "annotation" not in line]
    for r, misc in zip(new.words, ["SpaceAfter=No|X", "_", "A=1"], strict=True):
        r[9] = misc
    return new.text()


def test_trust():
    """Heads of the file count as decisions by the mode of trust."""
    assert decisions_of(Draft.of(TEXT), "done").size == decisions_of(Draft.of(TEXT), "none").size == 0
    assert decisions_of(Draft.of(TEXT), "all").heads == {1: 2, 2: 0, 3: 2}
    for trust in ("done", "all", "none"):
        found = decisions_of(Draft.of("# annotation = done\n" + TEXT), trust)
        assert found.done and found.heads == {1: 2, 2: 0, 3: 2} and found.labels == dict.fromkeys((1, 2, 3), "x")
        assert decisions_of(Draft.of("# annotation = open\n" + TEXT), trust).size == 0


def test_a_sentence_that_is_done_needs_no_attributes():
    draft = Draft.of(TEXT.replace("_\n", "Head=2|Deprel=x\n", 1))
    store(draft, decisions_of(Draft.of("# annotation = done\n" + TEXT)))
    assert draft.text() == "# annotation = done\n" + TEXT


def test_a_file_of_decisions_stays_as_it_is():
    """With all heads trusted, storing decisions on all of them adds no attributes."""
    draft = Draft.of(TEXT)
    store(draft, decisions_of(draft, "all"), "all")
    assert draft.text() == TEXT
    store(draft, decisions_of(draft, "all").without(1), "all")
    assert draft.text().startswith("# annotation = open\n") and decisions_of(draft, "all").heads == {2: 0, 3: 2}


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_cycles_are_found(heads):
    """By following each word up: a word that comes back to itself is in a cycle."""
    given_heads = {w: h for w, h in enumerate(heads, 1) if h != w and h <= len(heads)}
    inside = set()
    for word in given_heads:
        at = given_heads[word]
        for _ in heads:
            if at == word:
                inside.add(word)
            at = given_heads.get(at, 0)
    found = find_cycle(given_heads)
    assert bool(found) == bool(inside) and set(found) <= inside
    assert all(given_heads[a] == b for a, b in zip(found, [*found[1:], *found[:1]], strict=True))


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (Decisions({1: 2, 2: 3, 3: 1}, {}, {}), r"cycle: 3 → 2 → 1 → 3; free one of the words 1, 2, 3"),
        (Decisions({1: 0, 3: 0}, {}, {}), "2 roots, one is allowed: free one of 1, 3"),
        (Decisions({1: 2}, {}, {1: {2}}), "the head 2 of word 1 is decided and forbidden"),
        (Decisions({}, {}, {1: {0, 2, 3}}), "every head of word 1 is forbidden"),
    ],
)
def test_contradictions_name_the_arcs(decisions, message):
    with pytest.raises(EditError, match=message):
        check(decisions, 3, True)


def test_several_roots_may_be_allowed():
    check(Decisions({1: 0, 3: 0}, {}, {}), 3, False)


@pytest.mark.parametrize("misc", ["Head=7", "Head=1", "Head=x", "NotHead=-1", "Head=", "Head=²"])
def test_attributes_that_are_no_numbers_of_words_are_no_decisions(misc):
    assert decisions_of(Draft.of(row(1, "a", 0, misc=misc) + row(2, "b", 1) + "\n")).size == 0


def test_the_parser_reads_the_same_constraints():
    decisions = Decisions({1: 2}, {1: "obj"}, {2: {1, 3}})
    found = read_constraints(Sentence(as_columns(decisions, Draft.of(TEXT).words)), "misc")
    assert found.labels == {1: "obj"}
    assert found.allowed[:, 1].nonzero()[0].tolist() == [2]
    assert found.allowed[:, 2].nonzero()[0].tolist() == [0]
    assert found.allowed[:, 3].nonzero()[0].tolist() == [0, 1, 2]


def test_marks_of_other_attributes():
    assert marks_of("Overhead=3|Headline=x|NoDeprel=1") == []


CONFIDENT = "Confidence=0.7|LabelledConfidence=0.6|SpaceAfter=No"


def test_the_confidence_of_an_arc_that_is_changed_or_decided_leaves_misc(tmp_path):
    text = "".join(row(i, f"w{i}", head, "x", misc=CONFIDENT) for i, head in enumerate((0, 1, 2, 3), 1)) + "\n"
    with opened(tmp_path / "a.conllu", text) as client:
        client.edit(0, "keep", word=4)  # as it is
        client.edit(0, "deprel", word=3, value="x")
        client.edit(0, "head", word=1, head=2)  # so word 2 gets another head, undecided
        misc = [word["misc"] for word in client.get("sentence/0")["words"]]
        assert client.heads() == [2, 0, 2, 3]
        assert misc == ["SpaceAfter=No|Head=2", "SpaceAfter=No", "Confidence=0.7|SpaceAfter=No|Deprel=x"] + [
            "SpaceAfter=No|Head=3|Deprel=x"
        ]
        client.edit(0, "undo"), client.edit(0, "undo"), client.edit(0, "undo")
        assert {word["misc"] for word in client.get("sentence/0")["words"]} == {CONFIDENT}
        client.edit(0, "column", word=1, column="lemma", value="a")
        assert {word["misc"] for word in client.get("sentence/0")["words"]} == {CONFIDENT}
        client.edit(0, "done", value=True)
        assert {word["misc"] for word in client.get("sentence/0")["words"]} == {"SpaceAfter=No"}


def test_an_arc_that_is_predicted_anew_has_no_confidence_in_misc(tmp_path, noisy_model):
    words = (("hund", "NOUN", 0), ("ser", "VERB", 1), ("kat", "NOUN", 2), (".", "PUNCT", 2))
    text = "".join(row(i, form, head, "x", tag, CONFIDENT) for i, (form, tag, head) in enumerate(words, 1)) + "\n"
    with opened(tmp_path / "a.conllu", text, suggester_of(noisy_model)) as client:
        client.edit(0, "decode")
        assert client.heads() == [2, 0, 2, 2]
        labels = [word["deprel"] for word in client.get("sentence/0")["words"]]
        assert "x" not in labels
        left = ["SpaceAfter=No"] * 2 + ["Confidence=0.7|SpaceAfter=No"] * 2
        assert [word["misc"] for word in client.get("sentence/0")["words"]] == left
