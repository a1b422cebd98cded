"""Properties of sequences of edits: undo restores bytes, other sentences stay, decisions are kept."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opening import opened, suggester_of
from strategies import sentences
from toy import raw_treebank

from nonproj_workbench.annotation.decisions import decisions_of
from nonproj_workbench.annotation.draft import Draft, EditError, head_of

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def edits(draw):
    """An edit, whose numbers may be too high."""
    word, head = draw(st.integers(1, 7)), draw(st.integers(0, 7))
    op = draw(
        st.sampled_from(
            [
                "head",
                "deprel",
                "arc",
                "forbid",
                "free",
                "free_all",
                "keep",
                "keep_all",
                "column",
                "retag",
                "split_word",
                "join_words",
                "multiword",
                "split_sentence",
                "join_sentences",
                "comment",
                "done",
                "undo",
                "redo",
            ]
        )
    )
    column = draw(st.sampled_from(["form", "lemma", "upos", "xpos", "feats", "deps", "misc"]))
    values = {"misc": ["_", "A=1|Head=1", "SpaceAfter=No"], "deps": ["_", "1:x"]}
    value = draw(st.sampled_from(values.get(column, ["a", "NOUN", "_"]))) if op == "column" else "obj"
    edit = {"op": op, "word": word, "head": head, "column": column, "value": value, "forms": ["a", "b"]}
    edit |= {"first": word, "last": word + draw(st.integers(0, 2)), "form": draw(st.sampled_from(["xy", None]))}
    edit |= {"comments": draw(st.sampled_from([[], ["# a = b"], ["# annotation = done"]]))}
    return edit | ({"value": draw(st.booleans())} if op == "done" else {})


def make(session, i, edit):
    """Make an edit; return whether it was accepted."""
    try:
        session.edit(i, session.unit(i).version, edit)
    except EditError:
        return False
    return True


def undo_all(session):
    """Undo until nothing is left."""
    changed = True
    while changed:
        changed = False
        for i in range(len(session.treebank.units) - 1, -1, -1):
            while i < len(session.treebank.units) and make(session, i, {"op": "undo"}):
                changed = True


@SETTINGS
@given(sentences(5), sentences(5), sentences(3), st.lists(st.tuples(st.integers(0, 2), edits()), max_size=12))
def test_undo_restores_the_bytes(tmp_path, first, second, third, wanted):
    path = tmp_path / "a.conllu"
    text = first + second + third
    with opened(path, text) as client:
        session = client.session
        for i, edit in wanted:
            if i < len(session.treebank.units):
                make(session, i, edit)
        undo_all(session)
        assert session.export() == text
        for i in range(len(session.treebank.units)):
            while i < len(session.treebank.units) and make(session, i, {"op": "redo"}):
                pass
        text = session.export()
    assert path.read_bytes().decode() == text


@SETTINGS
@given(sentences(5), sentences(5), sentences(5), st.lists(edits(), max_size=12))
def test_other_sentences_stay(tmp_path, before, edited, after, wanted):
    with opened(tmp_path / "a.conllu", before + edited + after) as client:
        session = client.session
        for edit in wanted:
            if edit["op"] not in ("join_sentences", "split_sentence"):
                make(session, 1, edit)
        texts = session.treebank.texts
        assert texts[0] == before and texts[2] == after
        Draft.of(texts[1]).check()
    assert (tmp_path / "a.conllu").read_bytes().decode() == "".join(texts)


@pytest.fixture(scope="module")
def model(noisy_model):
    return suggester_of(noisy_model)


@SETTINGS
@given(st.lists(edits(), min_size=1, max_size=10), st.sampled_from(["done", "all", "none"]))
def test_predictions_never_change_decisions(tmp_path, model, wanted, trust):
    """After each edit, the tree has all decided arcs and labels, and is a tree; decisions on other words are kept."""
    with opened(tmp_path / "a.conllu", raw_treebank(2, seed=3), model, trust=trust) as client:
        session = client.session
        for edit in wanted:
            old = decisions_of(Draft.of(session.unit(0).text), trust)
            accepted = make(session, 0, edit)
            draft = Draft.of(session.unit(0).text)
            found = decisions_of(draft, trust)
            view = session.shown.view(session.unit(0))
            words = view.shown.words
            for word, head in found.heads.items():
                assert head_of(words[word - 1], len(words)) == head
            for word, label in found.labels.items():
                assert words[word - 1][7] == label
            if edit["op"] in ("head", "deprel", "arc", "forbid", "keep", "free") and accepted:
                kept = {word: head for word, head in old.heads.items() if word != edit["word"]}
                assert kept.items() <= found.heads.items()
            if not accepted:
                assert old == found
            if not view.problem and edit["op"] in ("head", "keep", "column"):
                assert session.suggester.decode(view.shown, view.decisions).heads
        undo_all(session)
        assert session.export() == raw_treebank(2, seed=3)
