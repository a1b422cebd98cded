"""The HTTP interface."""

import copy
import json
import time

import pytest
from opening import TOKEN, opened, row, sentence, suggester_of
from toy import treebank

WORDS = (("hund", "NOUN"), ("ser", "VERB"), ("kat", "NOUN"), (".", "PUNCT"))
BARE = "".join(row(i, form, tag=tag) for i, (form, tag) in enumerate(WORDS, 1)) + "\n"
"""A sentence of the toy language without heads."""

TREE = [2, 0, 2, 2]
"""Its tree."""


@pytest.fixture(scope="module")
def model(noisy_model):
    return suggester_of(noisy_model)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trees.conllu"


def columns(path, i=0):
    """The columns of the words of a sentence in the file."""
    return [line.split("\t") for line in path.read_text().split("\n\n")[i].splitlines() if line[:1].isdigit()]


# -- who may ask -------------------------------------------------------------------------------------------------------


def test_every_path_needs_the_token(path):
    with opened(path, sentence(0)) as client:
        paths = ["file", "status", "sentence/0", "sentence/0/best", "sentence/0/check", "check", "agreement", "export"]
        for each in paths:
            for headers in ({}, {"X-Token": "wrong"}, {"X-Token": "é".encode()}):
                response = client.http.get(f"/api/{each}", headers=headers)
                assert response.status_code == 403 and "token" in response.json()["error"]
        for each in ("sentence/0", "retrain"):
            assert client.http.post(f"/api/{each}", json={}).status_code == 403
        assert client.http.get("/").status_code == 403 and client.http.get("/?token=x").status_code == 403
        page = client.http.get(f"/?token={TOKEN}")
        assert page.status_code == 200 and "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_pages_of_others_are_refused(path):
    with opened(path, sentence(0)) as client:
        for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
            assert client.http.get("/api/file", headers=client.headers | headers).status_code == status
        assert client.http.post("/api/sentence/0", content="{}", headers=client.headers).status_code == 415


def test_requests_that_are_not_edits(path):
    with opened(path, sentence(0)) as client:
        headers = client.headers | {"Content-Type": "application/json"}
        for body in ("", "nonsense", "[]", "{}", '{"edit": 3}', "[" * 100_000):
            response = client.http.post("/api/sentence/0", content=body, headers=headers)
            assert response.status_code == 400 and response.json()["error"]
        assert client.http.post("/api/sentence/0", content=" " * (1 << 23), headers=headers).status_code == 413
        assert client.http.post("/api/sentence/9", content='{"edit": {}}', headers=headers).status_code == 404
        client.get("sentence/9", 404), client.get("sentence/99999999999999", 404), client.get("sentence/x", 404)
        client.get("status?since=x", 400), client.get("nothing", 404)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"op": "fly"}, "op is 'fly', one of head, deprel"),
        ({"op": "head", "word": 1}, "head is None, a number from 0 to 3 expected"),
        ({"op": "head", "word": 4, "head": 1}, "word is 4, a number from 1 to 3 expected"),
        ({"op": "head", "word": True, "head": 1}, "word is True"),
        ({"op": "head", "word": 1, "head": 1}, "word 1 cannot be its own head"),
        ({"op": "deprel", "word": 1, "value": ""}, "is not a label"),
        ({"op": "deprel", "word": 1, "value": "a|b"}, "is not a label"),
        ({"op": "deprel", "word": 1, "value": 5}, "label is 5, a text expected"),
        ({"op": "column", "word": 1, "column": "id", "value": "x"}, "column is 'id'"),
        ({"op": "column", "word": 1, "column": "lemma", "value": "a\tb"}, "a tab or a line break"),
        ({"op": "column", "word": 1, "column": "lemma", "value": "a\u2028b"}, "a tab or a line break"),
        ({"op": "column", "word": 1, "column": "lemma", "value": "\ud800"}, "surrogate"),
        ({"op": "column", "word": 1, "column": "form", "value": " "}, "a word cannot be empty"),
        ({"op": "comment", "comments": ["no hash"]}, "a comment starts with #"),
        ({"op": "comment", "comments": "#"}, "a list of lines"),
        ({"op": "split_word", "word": 1, "forms": ["a"]}, "split into two"),
        ({"op": "split_word", "word": 1, "forms": "ab"}, "a list of two words"),
        ({"op": "join_words", "word": 3}, "no word after the last one"),
        ({"op": "join_sentences"}, "no sentence after the last one"),
        ({"op": "split_sentence", "word": 3}, "cannot be split after its last word"),
        ({"op": "tree", "heads": [0], "labels": ["a"]}, "lists of 3 entries"),
        ({"op": "tree", "heads": [0, 1, 9], "labels": ["a", "b", "c"]}, "head is 9"),
        ({"op": "done", "value": 1}, "value is true or false"),
        ({"op": "undo"}, "nothing to undo"),
        ({"op": "redo"}, "nothing to do again"),
        ({"op": "take", "word": 1, "source": "first"}, "start with --compare"),
        ({"op": "retag"}, "start with -m MODEL"),
        ({"op": "decode"}, "start with -m MODEL"),
    ],
)
def test_refused_edits_change_nothing(path, edit, message):
    with opened(path, sentence(2, 0, 2)) as client:
        version = client.get("sentence/0")["version"]
        body = json.dumps({"version": version, "edit": edit})
        headers = client.headers | {"Content-Type": "application/json"}
        response = client.http.post("/api/sentence/0", content=body, headers=headers)
        assert response.status_code == 400 and message in response.json()["error"]
        assert client.get("sentence/0")["version"] == version
    assert path.read_text() == sentence(2, 0, 2)


def test_an_edit_of_an_earlier_version_is_answered_by_the_present_one(path):
    with opened(path, sentence(0, 1)) as client:
        old = client.get("sentence/0")["version"]
        client.edit(0, "column", word=1, column="lemma", value="x")
        body = {"version": old, "edit": {"op": "column", "word": 1, "column": "lemma", "value": "y"}}
        response = client.http.post("/api/sentence/0", json=body, headers=client.headers)
        assert response.status_code == 409 and response.json()["sentence"]["words"][0]["lemma"] == "x"


def test_the_version_is_the_same_after_a_restart(path):
    with opened(path, sentence(0, 1)) as client:
        client.edit(0, "head", word=2, head=1)
        version = client.get("sentence/0")["version"]
    with opened(path) as client:
        assert client.get("sentence/0")["version"] == version


# -- trees -------------------------------------------------------------------------------------------------------------


def test_missing_heads_are_predicted_but_not_written(path, model):
    with opened(path, BARE, model) as client:
        answer = client.get("sentence/0")
        assert client.heads() == TREE
        assert answer["proof"]["certified"] and not answer["proof"]["constrained"]
        assert all(
            not word["given"] and not word["decided"] and 0 <= word["p"]["head"] <= 1 for word in answer["words"]
        )
    assert path.read_text() == BARE


def test_a_decision_constrains_the_tree(path, model):
    with opened(path, BARE, model) as client:
        answer = client.edit(0, "head", word=1, head=0)
        assert client.heads()[0] == 0 and 0 not in client.heads()[1:]
        changed = {(each["word"], each["column"]) for each in answer["changed"]}
        assert (1, "head") in changed and (2, "head") in changed
        assert answer["sentence"]["proof"]["certified"] and answer["sentence"]["proof"]["constrained"]
        assert answer["sentence"]["words"][0]["decided"] == ["head"] and answer["row"]["decided"] == 1
        assert answer["file"] is None and answer["revision"] == client.get("status")["revision"]
        wrong = client.heads()[2]
        client.edit(0, "forbid", word=3, head=wrong)
        assert client.get("sentence/0")["words"][2]["forbidden"] == [wrong] and client.heads()[2] != wrong
        client.edit(0, "deprel", word=4, value="strange")
        assert client.get("sentence/0")["words"][3]["deprel"] == "strange"
    assert [row[9] for row in columns(path)] == ["Head=0", "_", f"NotHead={wrong}", "Deprel=strange"]
    with opened(path, None, model) as client:
        client.edit(0, "free", word=1)
        client.edit(0, "free_all")
        assert client.heads() == TREE


def test_the_tree_is_the_best_one_under_the_decisions(path, model):
    """The tree is the first of the k best ones that has the decided arc."""
    with opened(path, treebank(1, seed=5), model, trust="none") as client:
        n = len(client.heads())
        trees, score = client.get("sentence/0/best?k=50")["trees"], client.get("sentence/0")["proof"]["score"]
        assert trees[0]["heads"] == client.heads() and trees[0]["difference"] == 0 and trees[0]["differs"] == []
        assert all(a["difference"] <= b["difference"] for a, b in zip(trees, trees[1:], strict=False))
        for word in range(1, n + 1):
            for tree in trees:
                head = tree["heads"][word - 1]
                client.edit(0, "head", word=word, head=head)
                best = next(each for each in trees if each["heads"][word - 1] == head)
                assert client.get("sentence/0")["proof"]["score"] == pytest.approx(score - best["difference"])
                client.edit(0, "free_all")


def test_a_tree_of_the_suggestions_is_taken(path, model):
    doubtful = (
        row(1, "den", tag="DET") + "".join(row(i, *word[:1], tag=word[1]) for i, word in enumerate(WORDS, 2)) + "\n"
    )
    with opened(path, doubtful, model) as client:
        tree = client.get("sentence/0/best?k=3")["trees"][1]
        client.edit(0, "tree", heads=tree["heads"], labels=tree["labels"])
        assert client.heads() == tree["heads"]
        assert [word["deprel"] for word in client.get("sentence/0")["words"]] == tree["labels"]


def test_contradicting_decisions_are_refused(path, model):
    with opened(path, BARE, model) as client:
        client.edit(0, "head", word=1, head=3)
        assert "cycle: 3 → 1 → 3; free one of the words 1, 3" in client.refused(0, "head", word=3, head=1)
        client.edit(0, "head", word=2, head=0)
        assert "2 roots, one is allowed: free one of 2, 4" in client.refused(0, "head", word=4, head=0)
        client.edit(0, "free_all")
        for word in (1, 2, 3):
            client.edit(0, "forbid", word=word, head=0)
        message = client.refused(0, "forbid", word=4, head=0)
        assert "no tree has all of the decided arcs: 1 ↚ 0, 2 ↚ 0, 3 ↚ 0, 4 ↚ 0" in message


def test_keeping_and_accepting(path, model):
    with opened(path, BARE, model) as client:
        client.edit(0, "keep", word=1)
        assert client.get("sentence/0")["words"][0]["decided"] == ["head", "deprel"]
        client.edit(0, "keep_all")
        assert client.get("file")["sentences"]["decided"] == [4]
        client.edit(0, "done", value=True)
        answer = client.get("sentence/0")
        assert answer["done"] and all(word["decided"] for word in answer["words"])
        assert client.get("file")["sentences"]["doubt"] == [None]
    assert [row[9] for row in columns(path)] == ["_"] * 4
    with opened(path, None, model) as client:
        assert client.get("sentence/0")["done"] and client.get("file")["sentences"]["done"] == [1]
        client.edit(0, "head", word=4, head=3)  # a correction: the sentence stays done, nothing else changes
        assert client.heads() == [2, 0, 2, 3] and client.get("sentence/0")["done"]
        client.edit(0, "done", value=False)
        assert client.get("sentence/0")["words"][3]["decided"] == ["head", "deprel"]
    assert [row[9] for row in columns(path)][3] == "Head=3|Deprel=punct"


def test_missing_tags_are_predicted_and_given_ones_stay(path, model):
    text = row(1, "hund", tag="XYZ") + row(2, "ser") + row(3, "kat") + row(4, ".") + "\n"
    with opened(path, text, model) as client:
        assert [word["upos"] for word in client.get("sentence/0")["words"]] == ["XYZ", "VERB", "NOUN", "PUNCT"]
        client.edit(0, "column", word=1, column="upos", value="NOUN")
        client.edit(0, "retag")
    assert [row[3] for row in columns(path)] == ["NOUN", "VERB", "NOUN", "PUNCT"]


def test_what_may_be_the_annotators_absence_stays(path, model):
    """Absent lemmas and features of tagged words stay absent until they are asked for."""
    with opened(path, BARE, model) as client:
        client.edit(0, "head", word=1, head=2)
        assert [word["lemma"] for word in client.get("sentence/0")["words"]] == ["_"] * 4
        client.edit(0, "retag")
    assert [row[2] for row in columns(path)] == [form for form, _ in WORDS]


def test_decisions_written_by_hand(path, model):
    with opened(path, BARE, model) as client:
        client.edit(0, "column", word=1, column="misc", value="X=y|Head=3|Deprel=obj")
        word = client.get("sentence/0")["words"][0]
        assert (word["head"], word["deprel"], word["decided"]) == (3, "obj", ["head", "deprel"])
        for value in ("Head=7", "Head=1", "NotHead=x", "Deprel="):
            assert client.refused(0, "column", word=1, column="misc", value=value)
        client.edit(0, "column", word=1, column="misc", value="X=y")
        assert client.heads() == TREE and client.get("file")["sentences"]["decided"] == [0]


def test_trust(path, model):
    wrong = (
        "".join(
            row(i, *word[:1], head, "x", word[1])
            for i, (word, head) in enumerate(zip(WORDS, [0, 1, 1, 1], strict=True), 1)
        )
        + "\n"
    )
    for trust, heads, decided in (("done", [0, 1, 1, 1], 0), ("all", [0, 1, 1, 1], 4), ("none", TREE, 0)):
        with opened(path, wrong, model, trust=trust) as client:
            assert client.heads() == heads and client.get("file")["sentences"]["decided"] == [decided]
        assert path.read_text() == wrong
    with opened(path, wrong, model, trust="all") as client:
        client.edit(0, "head", word=4, head=3)
        assert client.heads() == [0, 1, 1, 3]
    assert path.read_text().startswith("1\t") and "Head=" not in path.read_text()


def test_heads_of_which_some_are_missing_are_kept_where_a_tree_has_them(path, model):
    text = BARE.replace("_\t_\t_\t_\n", "4\tstrange\t_\t_\n", 1)
    with opened(path, text, model) as client:
        answer = client.get("sentence/0")
        assert client.heads() == [4, 0, 2, 2] and answer["words"][0]["deprel"] == "strange"
        assert [word["given"] for word in answer["words"]] == [True, False, False, False]


def test_a_sentence_too_long_for_the_model_is_edited_by_hand(path, model):
    short = copy.copy(model)
    short.parser = model.parser.with_request(max_words=3)
    with opened(path, sentence(0, 1, 2, 3) + BARE, short) as client:
        answer = client.get("sentence/0")
        assert "no tree for 4 words, at most 3" in answer["problem"] and answer["proof"] is None
        client.edit(0, "head", word=4, head=1)
        assert client.heads() == [0, 1, 2, 1]
        assert client.heads(1) == [None] * 4
        client.edit(1, "split_sentence", word=1)
        assert client.heads(1) == [0] and client.heads(2).count(0) == 1


# -- the file ----------------------------------------------------------------------------------------------------------


def test_the_list(path, model):
    text = "# sent_id = x\n# text = A b\n" + sentence(0, 1) + sentence(0).replace("w1", "שלום")
    with opened(path, text, model) as client:
        facts = client.get("file")
        assert facts["format"] == "conllu" and facts["n"] == 2 and facts["confidence"]
        assert facts["sentences"]["id"] == ["x", "2"] and facts["sentences"]["text"] == ["A b", "שלום"]
        assert facts["sentences"]["words"] == [2, 1] and "nsubj" in facts["labels"]
        assert [client.get(f"sentence/{i}")["rtl"] for i in (0, 1)] == [False, True]


def test_export(path):
    with opened(path, sentence(2, 0)) as client:
        client.edit(0, "head", word=1, head=2)
        found = client.http.get(f"/api/export?token={TOKEN}")
        assert "Head=2" in found.text and "trees.conllu" in found.headers["content-disposition"]
        assert client.http.get("/api/export?clean=1", headers=client.headers).text == sentence(2, 0)


def test_certainty_is_computed_in_the_background(path, model):
    with opened(path, BARE * 30, model) as client:
        deadline, clock, known = time.monotonic() + 60, 0, {}
        while len(known) < 30:
            status = client.get(f"status?since={clock}")
            known |= status["doubt"]
            clock = status["clock"]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert client.get(f"status?since={clock}")["doubt"] == {}
        assert client.get("file")["sentences"]["doubt"] == [known[str(i)] for i in range(30)]


# -- undo --------------------------------------------------------------------------------------------------------------


def test_undo_of_a_split_sentence(path):
    text = sentence(0, 1, 1) + sentence(0)
    with opened(path, text) as client:
        answer = client.edit(0, "split_sentence", word=1)
        assert answer["file"] == {"revision": answer["revision"]} and client.get("file")["n"] == 3
        client.edit(1, "column", word=1, column="lemma", value="x")
        assert "undo the later edits of the other sentence" in client.refused(0, "undo")
        client.edit(1, "undo")
        client.edit(1, "undo")
        assert client.session.export() == text
        client.edit(0, "redo")
        assert client.get("file")["n"] == 3
        client.edit(0, "undo")
        client.edit(0, "join_sentences")
        client.edit(0, "undo")
    assert path.read_text() == text
