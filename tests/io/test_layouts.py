"""CoNLL-U Plus and CoNLL-2009: the ten columns are found, and everything else is kept."""

import io

import pytest
from pieces import units_of_pieces
from rows import read

from nonproj.errors import DataError
from nonproj.io import conll, splitting
from nonproj.io.broken import MalformedUnit, read_units
from nonproj.io.checks import ReadingRules
from nonproj.io.layouts import NAMES

PLUS = (
    f"# global.columns = {' '.join(NAMES)} PARSEME:MWE\n# sent_id = 1\n1-2\tvámonos{'	_' * 8}\t*\n"
    "1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\t1:IRV\n2\tnos\tnos\tPRON\t_\t_\t1\tobj\t_\tX=Y\t1\n\n"
    "1\tSí\tsí\tINTJ\t_\t_\t0\troot\t_\t_\t*\n\n"
)
FEW = "# global.columns = FORM ID X:Y UPOS\n# a = b\nGo\t1\t*\tVERB\non\t2\t+\tADP\n\nGo\t1\t*\tVERB\n\n"
CONLL_2009 = (
    "1\tGo\tgo\tgo\tVB\tVB\tf\t_\t0\t0\tROOT\tROOT\tY\tgo.01\t_\t_\n"
    "2\ton\ton\ton\tRP\tIN\t_\t_\t1\t1\tPRT\tADV\tY\ton.01\tA1\t_\n\n"
    "1\tStop\tstop\tstop\tVB\tNN\t_\t_\t0\t0\tROOT\tROOT\t_\t_\n\n"
)


def written(items) -> str:
    target = io.StringIO(newline="")
    conll.write(items, target)
    return target.getvalue()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [PLUS, "\ufeff" + PLUS, CONLL_2009])
def test_files_of_more_columns_are_written_as_they_are(text, ending):
    text = text.replace("\n", ending)
    sentences = read(text, require_heads=True)
    assert all(len(row) == 10 for sentence in sentences for row in sentence.rows)
    assert written((sentence, None) for sentence in sentences) == text
    assert written((sentence, sentence.heads, sentence.labels) for sentence in sentences) == text


def test_the_columns_of_conllu_plus_are_found_by_their_names():
    first, second = read(FEW)
    assert [row[:4] for row in first.rows] == [["1", "Go", "_", "VERB"], ["2", "on", "_", "ADP"]]
    trees = written([(first, [0, 1], ["root", "dep"]), (second, [0], ["root"])])
    assert trees == (
        "# global.columns = FORM ID X:Y UPOS LEMMA XPOS FEATS HEAD DEPREL DEPS MISC\n# a = b\n"
        "Go\t1\t*\tVERB\t_\t_\t_\t0\troot\t_\t_\non\t2\t+\tADP\t_\t_\t_\t1\tdep\t_\t_\n\n"
        "Go\t1\t*\tVERB\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    assert written((sentence, None) for sentence in read(trees)) == trees


def test_a_new_tree_of_conll_2009_replaces_the_gold_columns_only():
    first, _ = read(CONLL_2009)
    assert first.rows[1] == ["2", "on", "on", "RP", "_", "_", "1", "PRT", "_", "_"]
    assert first.rows[0][5:8] == ["f", "0", "ROOT"]
    lines = conll.replace(first, [2, 0], ["x", "y"]).splitlines()
    assert lines[0] == "1\tGo\tgo\tgo\tVB\tVB\tf\t_\t2\t0\tx\tROOT\tY\tgo.01\t_\t_"
    assert lines[1] == "2\ton\ton\ton\tRP\tIN\t_\t_\t0\t1\ty\tADV\tY\ton.01\tA1\t_"


def test_without_heads_conll_2009_is_recognised_by_its_predicted_columns():
    text = "1\tGo\tgo\tgo\tVB\tVB\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert read(text)[0].rows[0][:4] == ["1", "Go", "go", "VB"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\t_\t_\t_\t_\n\n", "1: 14 columns, 10 expected; CoNLL-U Plus begins"),
        ("1\tGo\tgo\tVERB\t_\t_\t0\troot\t0\t0\t_\t_\t_\t_\n\n", "1: 14 columns, 10 expected"),
        ("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t0:root\t_\tx\ty\tz\t_\n\n", "1: 14 columns, 10 expected"),
        ("1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n" + CONLL_2009, "3: 16 columns, 10 expected"),
        ("# global.columns = ID ID\n1\t1\n\n", "1: # global.columns names a column twice"),
        ("# global.columns = FORM X:Y\na\t1\n\n", "1: # global.columns does not name the columns ID and FORM"),
        (PLUS + "1\tx\t_\n\n", "9: 3 columns, 11 expected, as in the lines before"),
        (CONLL_2009 + "1\tx\t_\n\n", "6: 3 columns, 14 or more expected"),
    ],
)
def test_other_columns_are_errors(text, line):
    with pytest.raises(DataError, match=line.replace(".", r"\.")):
        read(text)


@pytest.mark.parametrize("text", [PLUS, FEW, CONLL_2009])
def test_workers_know_the_columns(text):
    expected = [(sentence.line, sentence.rows, sentence.lines, sentence.order) for sentence in read(text)]
    pieces = [*splitting.split(io.StringIO(text), 1)]
    assert len(pieces) == 2
    found = units_of_pieces(pieces)
    assert [(each.line, each.rows, each.lines, each.order) for each in found] == expected


def test_the_names_of_the_columns_survive_a_malformed_first_sentence():
    text = PLUS.replace("\t*\n", "\n", 1)
    header, broken, sentence = read_units(io.StringIO(text), ReadingRules())
    assert header == PLUS[: PLUS.index("\n") + 1]
    assert isinstance(broken, MalformedUnit)
    assert sentence.order is not None
