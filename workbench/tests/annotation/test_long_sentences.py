"""Sentences whose trees take long: nothing else waits for them, and the longest are decoded only on demand."""

import threading

import pytest
from opening import opened, row, suggester_of, wait_until

from nonproj_workbench.annotation import suggesting, views
from nonproj_workbench.annotation.suggesting import Suggester

WORDS = (("hund", "NOUN"), ("ser", "VERB"), ("kat", "NOUN"), (".", "PUNCT"))
SHORT = "".join(row(i, form, tag=tag) for i, (form, tag) in enumerate(WORDS, 1)) + "\n"
LONG = "".join(row(i, form, tag=tag) for i, (form, tag) in enumerate(WORDS[:3] + WORDS, 1)) + "\n"
"""Longer than the limit in the tests below."""

PATIENCE = 30
"""Seconds that a test waits for another thread."""


@pytest.fixture
def model(noisy_model, monkeypatch):
    monkeypatch.setattr(Suggester, "has_confidence", False)  # nothing is computed in the background
    return suggester_of(noisy_model)


@pytest.fixture
def few(monkeypatch):
    """Trees of more than 5 words are decoded on demand."""
    for module in (suggesting, views):
        monkeypatch.setattr(module, "AT_ONCE", 5)


class Slow:
    """Lets the first decoding of a long sentence wait until it is told to go on."""

    def __init__(self, monkeypatch):
        self.started, self.go_on, self.calls = threading.Event(), threading.Event(), 0
        decode = Suggester.decode

        def slow(suggester, draft, decisions):
            if len(draft.places) > 5:
                self.calls += 1
                self.started.set()
                assert self.calls > 1 or self.go_on.wait(PATIENCE)
            return decode(suggester, draft, decisions)

        monkeypatch.setattr(Suggester, "decode", slow)


def test_other_sentences_do_not_wait_while_a_tree_is_decoded(tmp_path, model, monkeypatch):
    with opened(tmp_path / "a.conllu", LONG + SHORT, model) as client:
        client.get("sentence/0")
        slow = Slow(monkeypatch)
        answers = []
        edit = {"op": "head", "word": 1, "head": 3}
        version = client.get("sentence/0")["version"]
        thread = threading.Thread(target=lambda: answers.append(client.session.edit(0, version, edit)))
        thread.start()
        assert slow.started.wait(PATIENCE)
        client.edit(1, "head", word=1, head=3)
        client.session._writer.write()  # the file is written meanwhile, too
        assert client.get("status")["saved"] is True and not answers
        slow.go_on.set()
        thread.join()
        assert answers[0]["sentence"]["words"][0]["decided"] == ["head"]
    assert (tmp_path / "a.conllu").read_text().count("Head=3") == 2


def test_a_tree_that_is_stale_is_discarded(tmp_path, model, monkeypatch):
    with opened(tmp_path / "a.conllu", LONG, model) as client:
        version = client.get("sentence/0")["version"]
        slow, errors = Slow(monkeypatch), []

        def late():
            try:
                client.session.edit(0, version, {"op": "head", "word": 1, "head": 3})
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        thread = threading.Thread(target=late)
        thread.start()
        assert slow.started.wait(PATIENCE)
        client.session.edit(0, version, {"op": "column", "word": 1, "column": "misc", "value": "X=1"})
        slow.go_on.set()
        thread.join()
        assert [str(error) for error in errors] == ["the sentence has changed meanwhile"]
        words = client.get("sentence/0")["words"]
        assert words[0]["misc"] == "X=1" and not words[0]["decided"]


def test_an_edit_decodes_once(tmp_path, model, monkeypatch):
    """The decoded tree is shown then."""
    with opened(tmp_path / "a.conllu", SHORT, model) as client:
        client.get("sentence/0")
        parse, calls = Suggester._parse, []
        monkeypatch.setattr(Suggester, "_parse", lambda *words: calls.append(1) or parse(*words))
        answer = client.edit(0, "head", word=1, head=3)
        assert answer["sentence"]["proof"]["certified"] and len(calls) == 1


def test_an_unexpected_error_leaves_nothing_waiting(tmp_path, model, few, monkeypatch):
    with opened(tmp_path / "a.conllu", LONG * 2, model) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Suggester, "decode", lambda *words: 1 / 0)
            ask(client)
            assert "internal error" in computed(client)["demand"]["problem"]
        ask(client, 1)
        assert computed(client, 1)["proof"]["certified"]


def test_a_long_sentence_is_edited_without_decoding(tmp_path, model, few, monkeypatch):
    slow = Slow(monkeypatch)
    with opened(tmp_path / "a.conllu", LONG, model) as client:
        answer = client.get("sentence/0")
        assert answer["problem"] == "this sentence has 7 words; trees of more than 5 words are computed only on demand"
        assert answer["demand"] == {"waiting": False, "problem": ""}
        assert client.heads() == [None] * 7
        client.edit(0, "arc", word=1, head=2, value="nsubj")
        assert client.heads() == [2] + [None] * 6
        for op in ("decode", "retag"):
            assert "only on demand" in client.refused(0, op)
        client.get("sentence/0/best", 400)
        client.edit(0, "split_sentence", word=4)
        assert client.get("sentence/0")["demand"] is None and client.heads() == [2, 0, 2, 2]
    assert not slow.calls


def computed(client, i=0):
    """The sentence after its tree has been computed on demand."""
    wait_until(lambda: i not in client.get("status")["computing"])
    return client.get(f"sentence/{i}")


def ask(client, i=0, status=200):
    """Ask for a tree."""
    version = client.get(f"sentence/{i}")["version"]
    response = client.http.post(f"/api/sentence/{i}/tree", json={"version": version}, headers=client.headers)
    assert response.status_code == status, response.text
    return response.json()


def test_the_tree_of_a_long_sentence_is_computed_on_demand(tmp_path, model, few, monkeypatch):
    with opened(tmp_path / "a.conllu", LONG + SHORT, model) as client:
        client.edit(0, "head", word=1, head=3)
        slow = Slow(monkeypatch)
        assert ask(client)["demand"]["waiting"]
        assert slow.started.wait(PATIENCE)
        assert client.get("status")["computing"] == [0]
        assert ask(client)["demand"]["waiting"]  # once more, which changes nothing
        client.edit(1, "head", word=1, head=3)
        slow.go_on.set()
        answer = computed(client)
        assert answer["demand"] is None and answer["proof"]["certified"] and answer["proof"]["constrained"]
        assert client.heads()[0] == 3 and 0 in client.heads() and None not in client.heads()
        assert slow.calls == 2  # the edit, and its view, which finds the tree of the edit
        client.edit(0, "undo")
        assert client.heads() == [3] + [None] * 6
        assert "with each edit" in ask(client, 1, 400)["error"]


def test_an_edit_meanwhile_discards_the_tree(tmp_path, model, few, monkeypatch):
    slow = Slow(monkeypatch)
    with opened(tmp_path / "a.conllu", LONG, model) as client:
        ask(client)
        assert slow.started.wait(PATIENCE)
        client.edit(0, "head", word=1, head=3)
        slow.go_on.set()
        answer = computed(client)
        assert "was edited meanwhile" in answer["demand"]["problem"]
        assert client.heads() == [3] + [None] * 6


def test_the_program_ends_while_a_tree_is_computed(tmp_path, model, few, monkeypatch):
    slow = Slow(monkeypatch)
    with opened(tmp_path / "a.conllu", LONG, model) as client:
        ask(client)
        assert slow.started.wait(PATIENCE)
        session = client.session
    slow.go_on.set()
    wait_until(lambda: not session._demand.is_waiting(session.unit(0)))
    assert "is closed" in session._demand.problem(session.unit(0))
    assert (tmp_path / "a.conllu").read_text() == LONG


def test_decisions_without_a_tree_are_the_answer(tmp_path, model, few):
    with opened(tmp_path / "a.conllu", LONG, model) as client:
        client.edit(0, "head", word=1, head=2), client.edit(0, "head", word=3, head=0)
        client.edit(0, "head", word=2, head=0)
        ask(client)
        assert "2 roots" in computed(client)["demand"]["problem"]
