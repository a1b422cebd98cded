"""Words of a parsed text against those of the gold standard: as the official evaluation aligns them."""

import io

import numpy as np
import pytest
from instances import seeds
from judged import analyses, sentence_of

from nonproj.errors import DataError
from nonproj.evaluation.alignment import judge_text
from nonproj.evaluation.universal import ud_scores
from nonproj.io import conll
from nonproj.io.objects import from_words


def verdicts_on(gold, system):
    return judge_text(gold, system, [s.heads for s in system], [s.labels for s in system])


@pytest.mark.parametrize("seed", seeds(150))
def test_as_many_words_are_right_as_by_the_official_evaluation(seed):
    pytest.importorskip("udtools")
    texts = [text.replace(":arg", "") for text in analyses(seed)[:2]]  # the official one compares no subtypes
    official = ud_scores(*map(io.StringIO, texts))
    gold, system = (list(conll.read(io.StringIO(text))) for text in texts)
    verdicts = verdicts_on(gold, system)
    assert [len(verdict.heads) for verdict in verdicts] == [len(s) for s in system]
    assert sum(int(verdict.heads.sum()) for verdict in verdicts) == official["UAS"]["correct"]
    assert sum(int(verdict.labels.sum()) for verdict in verdicts) == official["LAS"]["correct"]
    assert sum(verdict.tree for verdict in verdicts) <= official["Sentences"]["correct"]
    assert all(each.heads.all() and each.labels.all() and each.tree for each in verdicts_on(gold, gold))


def sentence(text, *heads):
    """A sentence with heads, all labelled ``x``."""
    return sentence_of([-1, *heads], "x" * len(heads), text.split())


RAIN = sentence("Det regner nu", 2, 0, 2)


@pytest.mark.parametrize(
    ("gold", "system", "expected"),
    [
        # a wrong word is wrong, and so are those that depend on it
        ([RAIN], [sentence("Det reg ner nu", 2, 0, 2, 2)], [([0, 0, 0, 0], False)]),
        ([RAIN], [sentence("De t regner nu", 3, 3, 0, 3)], [([0, 0, 1, 1], False)]),
        # all heads of the first sentence are right, but it is not the whole one
        ([RAIN], [sentence("Det regner", 2, 0), sentence("nu", 0)], [([1, 1], False), ([0], False)]),
        ([RAIN, sentence("Ja", 0)], [sentence("Det regner nu Ja", 2, 0, 2, 2)], [([1, 1, 1, 0], False)]),
        # the tokenizer leaves out a byte order mark or a zero width space of a treebank
        ([sentence("\ufeffTha e\u200bn seo", 0, 1, 1)], [sentence("Tha en seo", 0, 1, 1)], [([1, 1, 1], True)]),
    ],
)
def test_correct_words_and_trees(gold, system, expected):
    assert [(each.heads.astype(int).tolist(), each.tree) for each in verdicts_on(gold, system)] == expected


def test_other_characters_are_an_error_with_a_place():
    with pytest.raises(DataError, match="the text continues with 'u', the parsed one with 'ej'"):
        verdicts_on([sentence("Det nu", 0, 1)], [sentence("Det nej", 0, 1)])
    with pytest.raises(DataError, match="the text continues with '', the parsed one with 'nu'"):
        verdicts_on([sentence("Det", 0)], [sentence("Det nu", 0, 1)])
    with pytest.raises(DataError, match="HEAD is absent .*; heads are expected"):
        judge_text([from_words(["Det"])], [from_words(["Det"])], [np.array([0])], [["x"]])
