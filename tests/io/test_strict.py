"""The rules of CoNLL-U that reading does not need."""

from __future__ import annotations

import io

import pytest
from command import SMALL
from toy import treebank

from nonproj.cli.main import main
from nonproj.errors import DataError
from nonproj.io import conll, splitting
from nonproj.io.checks import ReadingRules

GOOD = """\
# sent_id = a-1
# text = vámonos al mar alto
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj|2.1:nsubj\t_
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
2.2\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\tPronType=Art,Dem\t5\tdet\t_\t_
5\tmar alto\tmar\tNOUN\t_\t_\t1\tobl:arg\t1:obl:a\tSpaceAfter=No

"""

PLACE = "SpaceAfter=No expected, and only once, at a surface word"

BAD = [
    ("= vámonos al", "= vamonos al", 3, "FORM is 'vámonos', but # text continues with 'vamonos al mar al'"),
    ("mar alto\n", "mar alt\n", 11, "FORM is 'mar alto', but # text continues with 'mar alt'"),
    ("mar alto\n", "mar alto y\n", 2, "# text ends with ' y', which is not a word"),
    ("vámonos al mar", "vámonosal mar", 3, "no space follows 'vámonos' in # text; SpaceAfter=No is missing"),
    ("al mar alto\n", "al mar alto \n", 2, "# text ends with a space"),
    ("a-1\n", "a 1\n", 1, "sent_id is 'a 1', one word without a slash expected"),
    ("a-1\n", "a/1\n", 1, "sent_id is 'a/1', one word without a slash expected"),
    ("SpaceAfter=No", "SpaceAfter=Yes", 11, f"MISC has 'SpaceAfter=Yes'; {PLACE}"),
    ("SpaceAfter=No", "NoSpaceAfter=Yes", 11, f"MISC has 'NoSpaceAfter=Yes'; {PLACE}"),
    ("1:advmod\t_", "1:advmod\tSpaceAfter=No", 6, f"MISC has 'SpaceAfter=No'; {PLACE}"),
    ("5\tcase\t_\t_", "5\tcase\t_\tSpaceAfter=No", 9, f"MISC has 'SpaceAfter=No'; {PLACE}"),
    ("a-1\n", "a-1\n# sent_id = b\n", 1, "the sentence has 2 comments '# sent_id = ...', 1 expected"),
    ("# text = vámonos al mar alto\n", "", 1, "the sentence has 0 comments '# text = ...', 1 expected"),
    ("vámonos al", "va\u0301monos al", 2, "the text is not in Unicode normalization form C"),
    ("al mar alto\n", "al mar alto\r\n", 2, "the line ends with a carriage return"),
    ("# sent_id", "\n# sent_id", 1, "a blank line must be empty, and single"),
    ("No\n\n", "No\n  \n", 12, "a blank line must be empty, and single"),
    ("No\n\n", "No\n", 11, "a blank line is missing after the last sentence"),
    ("\tobj\t", "\t\t", 5, "DEPREL is empty"),
    ("\tnos\t", "\t \t", 5, "FORM is blank"),
    ("\tnos\t", "\t nos\t", 5, "FORM is ' nos', with spaces at an end or repeated"),
    ("\tmar alto", "\tmar  alto", 11, "FORM is 'mar  alto', with spaces at an end or repeated"),
    ("ADP\t_", "ADP\ta b", 9, "XPOS is 'a b', no spaces expected"),
    ("3-4\tal\t_", "3-4\tal\ta", 8, "a multiword token has values only in FORM and MISC, _ expected elsewhere"),
    ("2.2", "2.3", 7, "ID is '2.3', 2.2 expected"),
    ("PRON", "PRN", 5, "UPOS is 'PRN', not a tag of Universal Dependencies"),
    ("1:obj|2.1:nsubj", "1:obj|2:nsubj", 5, "DEPS is '1:obj|2:nsubj', with the node itself as a head"),
    ("\t1:advmod\t_\n3-4", "\t2.2:advmod\t_\n3-4", 7, "DEPS is '2.2:advmod', with the node itself as a head"),
    ("Mood=Imp|Number=Plur", "Mood", 4, "FEATS is 'Mood', Name=Value|Name=Value expected"),
    ("Mood=Imp|Number=Plur", "Number=Plur|Mood=Imp", 4, "FEATS is 'Number=Plur|Mood=Imp', which is not sorted"),
    ("Art,Dem", "Dem,Art", 10, "FEATS is 'PronType=Dem,Art', which is not sorted"),
    ("Art,Dem", "Art,Art", 10, "FEATS is 'PronType=Art,Art', which repeats a feature or a value"),
    ("2.1\tya\tya\tADV\t_\t_\t_", "2.1\tya\tya\tADV\t_\t_\t1", 6, "HEAD and DEPREL of an empty node must be _"),
    ("obl:arg", "Obl", 11, "DEPREL is 'Obl', a relation such as nsubj or acl:relcl expected"),
    ("1\tobj", "0\troot", 5, "the sentence has 2 roots, 1 expected"),
    ("1\tobj", "1\troot", 5, "HEAD is 1 and DEPREL 'root'; the root, and only the root, has HEAD 0 and DEPREL 'root'"),
    ("1:obl:a", "obl", 11, "DEPS is 'obl', head:relation|head:relation expected"),
    ("1:obl:a", "7:obl", 11, "DEPS is '7:obl', but there is no node 7"),
    ("1:obl:a", "1:root", 11, "DEPS is '1:root'; the root, and only the root, has head 0 and relation 'root'"),
    ("1:obj|2.1:nsubj", "2.1:nsubj|1:obj", 5, "DEPS is '2.1:nsubj|1:obj', which is not sorted or repeats a pair"),
    ("1\tobj", "_\tobj", 5, "HEAD is _ and DEPREL 'obj'; the root, and only the root, has HEAD 0 and DEPREL 'root'"),
]


def read(text: str, **rules):
    return list(conll.read(io.BytesIO(text.encode()), **rules))


def test_good_sentences():
    assert len(read("\ufeff" + GOOD + GOOD.replace("a-1", "a-2"), strict=True)) == 2


@pytest.mark.parametrize("size", [None, 1, 300, 10_000])
def test_sentence_ids_are_unique_in_one_piece_and_in_many(size):
    """A repeated one is an error at its own line, after the sentences before it; without --strict it is accepted."""
    sentences = [GOOD.replace("a-1", name) for name in ("a", "b", "c", "b", "d", "a")]
    text = "\ufeff# sent_id = d\n" + sentences[4].partition("\n")[2] + "".join(sentences[:4])
    for strict in (True, False):
        rules, found, errors = ReadingRules(strict=strict), [], []
        pieces = splitting.split(io.BytesIO(text.encode()), size, rules) if size else []
        whole = conll.read(io.BytesIO(text.encode()), rules)
        again = (sentence for piece in pieces for sentence in piece.read(rules))
        found = list(conll.until_error(again if size else whole, errors))
        assert len(found) == (4 if strict else 5)
        message = "<stream>:49: the sent_id is that of an earlier sentence (--strict)"
        assert [str(error) for error in errors] == ([message] if strict else [])


def test_workers_find_repeated_sentence_ids(tmp_path, capsys):
    """The two sentences are in different pieces."""
    filler = "".join(GOOD.replace("a-1", f"b-{i}") for i in range(400))
    (tmp_path / "in.conllu").write_text(GOOD + filler + GOOD, encoding="utf-8")
    (tmp_path / "train.conll").write_text(treebank(20), encoding="utf-8")
    model, out = str(tmp_path / "a.nonproj"), str(tmp_path / "out")
    assert main(["train", str(tmp_path / "train.conll"), "-o", model, *SMALL]) == 0
    errors = []
    for extra in ([], ["--jobs", "2"]):
        assert main(["parse", model, str(tmp_path / "in.conllu"), "-o", out, "--strict", *extra]) == 2
        errors.append(capsys.readouterr().err.splitlines()[-1])  # from a cold cache, one line on compiling comes before
    assert errors[0] == errors[1]
    assert errors[0].endswith(":4813: the sent_id is that of an earlier sentence (--strict)")


@pytest.mark.parametrize(("old", "new", "line", "message"), BAD)
def test_violations(old, new, line, message):
    """Each is an error only if the rules are strict."""
    assert GOOD.count(old) >= 1
    text = GOOD.replace(old, new, 1)
    assert len(read(text)) == 1
    with pytest.raises(DataError) as caught:
        read(text, strict=True)
    assert str(caught.value) == f"<stream>:{line}: {message} (--strict)"


def test_the_tree_is_ignored_on_demand():
    for head, label in (("_", "_"), ("9", "Obl"), ("5", "root")):
        text = GOOD.replace("5\tcase", f"{head}\t{label}")
        assert len(read(text, strict=True, ignore_heads=True)) == 1


def test_treebanks(treebanks):
    """A treebank of Universal Dependencies 1.4 lacks the comments that later versions demand."""
    with pytest.raises(DataError, match="comments '# sent_id"):
        list(conll.read(treebanks / "danish/danish_ddt_test.conll", strict=True))


@pytest.mark.parametrize(
    "name",
    [pytest.param("english-ewt/en_ewt-ud-test.conllu", marks=pytest.mark.thorough), "greek/el_gdt-ud-test.conllu"],
)
def test_treebanks_of_universal_dependencies_agree_with_their_text(treebanks, name):
    """Repeating one of their files is an error, in the first sentence of the repetition."""
    path = treebanks / name
    count = sum(1 for _ in conll.read(path, strict=True))
    errors: list = []
    data = path.read_bytes()
    assert len(list(conll.until_error(conll.read(io.BytesIO(data * 2), strict=True), errors))) == count
    assert "the sent_id is that of an earlier sentence" in str(errors[0])
