"""``nonproj train --strict``: the rules of CoNLL-U that reading does not need, by the official validator."""

from __future__ import annotations

import gzip
import io

import pytest
from command import SMALL
from toy import treebank

from nonproj.cli.main import main
from nonproj.errors import DataError
from nonproj.evaluation.universal import check_format

pytest.importorskip("udtools.validator")

GOOD = """\
# sent_id = a-1
# text = vámonos al mar alto
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj|2.1:nsubj\t_
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
2.2\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\t_\tPronType=Art,Dem\t5\tdet\t5:det\t_
5\tmar alto\tmar\tNOUN\t_\t_\t1\tobl:arg\t1:obl:a\tSpaceAfter=No

"""

# The validator gives the first line after the comments for an error in a comment about the sentence.
BAD = [
    ("mar alto\n", "mar alt\n", 11, "Mismatch between the text attribute and the FORM field"),
    ("a-1\n", "a 1\n", 3, "Spurious sent_id line"),
    ("# text = vámonos al mar alto\n", "", 2, "Missing the text attribute"),
    ("vámonos al", "va\u0301monos al", 2, "Unicode not normalized"),
    ("No\n\n", "No\n", 11, "Missing empty line after the sentence"),
    ("\tobj\t", "\t\t", 5, "Empty value in column DEPREL"),
    ("2.2", "2.3", 7, "Empty node id 2.3, expected 2.2"),
    ("PRON", "PRN", 5, "Unknown UPOS tag: 'PRN'"),
    ("1:obj|2.1:nsubj", "1:obj|2:nsubj", 5, "Self-loop in DEPS for '2'"),
    ("Mood=Imp|Number=Plur", "Number=Plur|Mood=Imp", 4, "Morphological features must be sorted"),
    ("1:obl:a", "7:obl", 11, "Undefined enhanced head reference"),
]


def stream(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def test_good_sentences():
    check_format(stream(GOOD + GOOD.replace("a-1", "a-2")))
    check_format(io.StringIO(GOOD))


@pytest.mark.parametrize(("old", "new", "line", "message"), BAD)
def test_violations(old, new, line, message):
    with pytest.raises(DataError) as caught:
        check_format(stream(GOOD.replace(old, new, 1)))
    assert str(caught.value).startswith(f"<stream>:{line}: {message}")


def test_training_on_demand(tmp_path, capsys):
    (tmp_path / "good.conllu").write_text("".join(GOOD.replace("a-1", f"a-{i}") for i in range(20)), encoding="utf-8")
    (tmp_path / "twice.conllu.gz").write_bytes(gzip.compress((GOOD + GOOD).encode()))
    (tmp_path / "toy.conll").write_text(treebank(20), encoding="utf-8")
    train = ["train", "-o", str(tmp_path / "a.nonproj"), *SMALL, "--strict", "-q"]
    assert main([*train, str(tmp_path / "good.conllu")]) == 0
    capsys.readouterr()
    for name, line in (("twice.conllu.gz", 15), ("toy.conll", 1)):
        assert main([*train, str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"nonproj: {tmp_path / name}:{line}: ") and error.endswith(" (--strict)\n")
    assert main([*train, "-"]) == 2
    assert capsys.readouterr().err == "nonproj: --strict: needs a file: a pipe cannot be read again\n"
