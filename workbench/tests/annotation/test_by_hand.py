"""Editing without a model, and files of other programs."""

import pytest
from opening import opened, row, sentence


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trees.conllu"


def test_a_head_below_the_word_turns_an_arc(path):
    with opened(path, sentence(0, 1, 2, 3)) as client:
        answer = client.edit(0, "head", word=2, head=4)
        assert client.heads() == [0, 4, 2, 1]
        assert {each["word"] for each in answer["changed"]} == {2, 4}
        client.edit(0, "keep_all")
        assert "cycle" in client.refused(0, "head", word=4, head=3)


def test_plain_editing(path):
    with opened(path, sentence("_", "_")) as client:
        assert client.heads() == [None, None]
        assert "word 1 has no head yet" in client.refused(0, "done", value=True)
        client.edit(0, "arc", word=1, head=2, value="nsubj")
        client.edit(0, "arc", word=2, head=0, value="root")
        client.edit(0, "done", value=True)
    assert path.read_text() == "# annotation = done\n" + row(1, "w1", 2, "nsubj") + row(2, "w2", 0, "root") + "\n"


def test_enhanced_dependencies_follow(path):
    text = (
        "1\ta\t_\t_\t_\t_\t2\tnsubj\t2:nsubj|3.1:x\t_\n2\tb\t_\t_\t_\t_\t0\troot\t0:root\t_\n"
        "3\tc\t_\t_\t_\t_\t2\tobj\t2:obj\t_\n3.1\te\t_\t_\t_\t_\t_\t_\t2:y\tZ=1\n\n"
    )
    with opened(path, text) as client:
        client.edit(0, "arc", word=1, head=3, value="obl")
    assert path.read_text().splitlines()[1].split("\t")[6:] == ["3", "obl", "3:obl|3.1:x", "Head=3|Deprel=obl"]
    assert path.read_text().splitlines()[2:] == text.splitlines()[1:]


ARBORATOR = (
    "# sent_id = fr_1\n# text = Il parle du temps.\n# user_id = kim\n# timestamp = 1650000000000\n"
    "1\tIl\til\tPRON\t_\tGender=Masc|Number=Sing\t2\tsubj\t_\tGloss=he\n"
    "2\tparle\tparler\tVERB\t_\tMood=Ind\t0\troot\t_\tAlignBegin=120|AlignEnd=300\n"
    "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tde\tde\tADP\t_\t_\t2\tcomp:obl\t_\t_\n"
    "4\tle\tle\tDET\t_\tDefinite=Def\t5\tdet\t_\t_\n"
    "5\ttemps\ttemps\tNOUN\t_\tGender=Masc\t3\tcomp:obj\t_\tSpaceAfter=No\n"
    "6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
)
"""Comments of users and times, MISC with alignments, labels of surface-syntactic dependencies."""

INCEPTION = (
    "#text=Er kam, sah und siegte\n"
    "1\tEr\t_\tPRON\tPPER\t_\t2\tnsubj\t2:nsubj|4:nsubj\t_\n"
    "2\tkam\t_\tVERB\tVVFIN\t_\t0\troot\t0:root\tSpaceAfter=No\n"
    "3\t,\t_\tPUNCT\t$,\t_\t2\tpunct\t2:punct\t_\n"
    "4\tsah\t_\tVERB\tVVFIN\t_\t2\tconj\t2:conj\t_\n"
    "5\tund\t_\tCCONJ\tKON\t_\t_\t_\t_\t_\n"
    "6\tsiegte\t_\tVERB\tVVFIN\t_\t_\t_\t_\t_\n\n"
)
"""A comment without blanks, no lemmas, enhanced edges, words without heads."""


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (ARBORATOR, [(5, 2, "comp:obj"), (3, 5, "mod")]),
        (INCEPTION, [(5, 6, "cc"), (6, 2, "conj")]),
    ],
)
def test_files_of_other_programs_round_trip(path, text, edits):
    """Only the edited cells change; everything else survives, byte for byte."""
    with opened(path, text * 2) as client:
        for word, head, value in edits:
            client.edit(0, "arc", word=word, head=head, value=value)
        client.edit(0, "done", value=True)
        found = client.http.get("/api/export?clean=1", headers=client.headers).text
    before, after = text.splitlines(), found[: -len(text)].splitlines()
    assert found.endswith(text) and len(before) == len(after)
    changed = {int(a.split("\t")[0]) for a, b in zip(before, after, strict=True) if a != b}
    assert changed == {word for word, _, _ in edits}
    for a, b in zip(before, after, strict=True):
        cells = [i for i, (x, y) in enumerate(zip(a.split("\t"), b.split("\t"), strict=True)) if x != y]
        assert set(cells) <= {6, 7}
