"""Messages on sentences."""

import pytest
from opening import opened, row, sentence, wait_until

from nonproj.errors import ConfigError
from nonproj_workbench.annotation.checking import Checker, own_messages
from nonproj_workbench.annotation.draft import Draft


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (sentence(0, 1), []),
        (sentence(0, "_"), [(2, "no-head")]),
        (sentence(0, 7), [(2, "head")]),
        (sentence(0, 2), [(2, "head")]),
        (sentence(0, 3, 2), [(2, "cycle")]),
        (sentence(2, 1), [(1, "cycle"), (None, "no-root")]),
        ("# text = other\n" + sentence(0), [(None, "text")]),
        (row(1, "a", 0, misc="Head=1") + "\n", [(1, "decision")]),
        (row(1, "a", 0) + row(2, "b", 1, misc="Head=0") + "\n", [(2, "decision")]),
    ],
)
def test_own_messages(text, expected):
    assert [(each["word"], each["id"]) for each in own_messages(Draft.of(text))] == expected


def test_messages_of_the_validator(tmp_path):
    pytest.importorskip("udtools")
    text = "# sent_id = 1\n# text = Ja\n1\tJa\tja\tWORD\t_\t_\t0\troot\t0:root\t_\n\n"
    with opened(tmp_path / "a.conllu", text * 2, make_checker=lambda form: Checker.of(form, None, None)) as client:
        assert client.get("file")["validator"] and client.session.checker.level == 3
        found = client.get("sentence/0/check")["messages"]
        assert [(each["word"], each["level"], each["id"]) for each in found] == [(1, 2, "unknown-upos")]
        client.edit(0, "column", word=1, column="upos", value="INTJ")
        assert client.get("sentence/0/check")["messages"] == []
        wait_until(lambda: client.get("check")["done"])
        assert client.get("check")["counts"] == {"1": 1}


def test_what_is_checked():
    assert Checker.of("conllx", None, None).level == 0
    pytest.importorskip("udtools")
    assert Checker.of("conllu", None, None, ["NOUN", "VERB"]).level == 3
    assert Checker.of("conllu", None, None, ["N", "V"]).level == 0
    assert Checker.of("conllu", 3, None, ["N", "V"]).level == 3  # asked for
    with pytest.raises(ConfigError, match="needs the code of the language"):
        Checker.of("conllu", 4, None)
