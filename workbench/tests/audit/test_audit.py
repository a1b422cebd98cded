"""Evidence of errors in annotation: variation nuclei, ranking, marks and the validator's rules."""

import csv
import io
import operator
import random

import naive_audit
import numpy as np
import pytest
from toy import read

from nonproj.errors import ConfigError
from nonproj_workbench.audit import nuclei
from nonproj_workbench.audit.output import COLUMNS, marked, without_misc, write_table
from nonproj_workbench.audit.predictions import SURE, Prediction
from nonproj_workbench.audit.suspicions import Suspicion, find_suspicions
from nonproj_workbench.validation import violations

FORMS = ("a", "b", "c")


# -- variation nuclei --------------------------------------------------------------------------------------------------


def draw_treebank(seed: int) -> list:
    """Short sentences of few words, with random trees, labels, tags and lemmas, some of which are absent."""
    chance, lines = random.Random(seed), []
    for _ in range(40):
        n = chance.randint(1, 4)
        order = list(range(1, n + 1))
        chance.shuffle(order)
        heads = {word: chance.choice([0, *order[:i]]) for i, word in enumerate(order)}
        feats = chance.choice((["_"], ["A=1", "A=2"]))
        for m in range(1, n + 1):
            row = [str(m), chance.choice(FORMS), chance.choice("xy_"), chance.choice("NV_"), chance.choice("P_")]
            lines.append("\t".join([*row, chance.choice(feats), str(heads[m]), chance.choice("so_"), "_", "_"]))
        lines.append("")
    return read("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", range(8))
def test_variations_of_words_follow_the_definition(seed):
    sentences = draw_treebank(seed)
    rows = [sentence.rows for sentence in sentences]
    found = list(nuclei.word_variations(sentences, len(sentences)))
    for kind, columns in (("tag", slice(3, 6)), ("lemma", slice(2, 3))):
        ours = {each[1:3]: (each.annotation, each.own, each.others) for each in found if each.kind == kind}
        of = operator.itemgetter(columns)
        assert ours == naive_audit.word_variations(rows, lambda row, of=of: tuple(each.strip("_") for each in of(row)))
        assert ours


@pytest.mark.parametrize("seed", range(8))
def test_variations_of_pairs_follow_the_definition(seed):
    sentences = draw_treebank(seed)
    expected = naive_audit.pair_variations([sentence.rows for sentence in sentences], nuclei.LONGEST)
    found = list(nuclei.pair_variations(sentences, len(sentences)))
    assert len(found) == len(expected) > 0
    for each, ((i, low, high), ((label, way), own, others)) in zip(found, expected.items(), strict=True):
        annotated = naive_audit.annotation(sentences[i].rows, low, high)
        modifier = {"<": low, ">": high}
        assert (each.sentence, each.own, each.others) == (i, own, others)
        if way and annotated[1] == way:
            assert (each.kind, each.word, each.annotation) == ("label", modifier[way], (label,))
        elif way:
            assert (each.kind, each.word) == ("head", modifier[way])
            assert each.annotation == (str(low + high - modifier[way]), label, way)
        else:
            assert (each.kind, each.word, each.annotation) == ("head", modifier[annotated[1]], ("", "", ""))


def test_only_audited_sentences_are_suspicious_and_the_strongest_evidence_is_kept():
    sentences = draw_treebank(3)
    found = nuclei.variations(sentences, 4)
    assert found and {i for _, i, _ in found} <= set(range(4))
    every = [*nuclei.word_variations(sentences, 4), *nuclei.pair_variations(sentences, 4)]
    for place, each in found.items():
        assert each.share == max(other.share for other in every if other[:3] == place)


def test_words_far_apart_are_no_nucleus():
    n = nuclei.LONGEST + 2
    rows = [f"{m}\tw{m}\t_\t_\t_\t_\t{0 if m == 1 else 1}\td\t_\t_" for m in range(1, n + 1)]
    other = [*rows[:-1], rows[-1].replace("\t1\td", "\t0\td")]
    sentences = read("\n".join([*rows, "", *rows, "", *other, ""]) + "\n")
    assert not list(nuclei.pair_variations(sentences, 3))


# -- ranking -----------------------------------------------------------------------------------------------------------


def predicted(sentence, **changes) -> Prediction:
    """A prediction that agrees with the annotation of a sentence, but for some lists."""
    n = len(sentence)
    heads, labels, tags = [int(row[6]) for row in sentence.rows], sentence.labels, [row[3:6] for row in sentence.rows]
    tree = heads, labels, [0.9] * n, [0.8] * n, [None] * n, [False] * n, [0.0] * n, labels
    lemmas = [row[2] for row in sentence.rows]
    return Prediction(*tree, list(map(tuple, tags)), [5.0] * n, lemmas, [(1, 1)] * n)._replace(**changes)


ONE = "1\tdu\tdu\tPRON\tP\t_\t2\tnsubj\t_\t_\n2\tser\tse\tVERB\tV\tTense=Pres\t0\troot\t_\tSpaceAfter=No\n\n"


def test_agreement_is_not_suspicious():
    (sentence,) = read(ONE)
    assert not any(find_suspicions([sentence], [predicted(sentence)], {}).values())


def test_each_kind_has_its_evidence():
    (sentence,) = read(ONE)
    tags = [("PRON", "P", "_"), ("VERB", "V", "_")]
    changes = {"heads": [0, 1], "differences": [7.0, 3.0], "certified": [True, False], "best_labels": ["obj", "root"]}
    changes |= {"label_margins": [2.0, 0.0], "tags": tags, "lemmas": ["du", "ser"], "lemma_counts": [(1, 1), (9, 1)]}
    found = find_suspicions([sentence], [predicted(sentence, **changes)], {})
    assert [(each.word, each.annotated, each.predicted, each.margin, each.certified) for each in found["head"]] == [
        (1, "2", "0", 7.0, True),
        (2, "0", "1", 3.0, False),
    ]
    assert found["head"][0].confidence == pytest.approx(0.9)
    assert [each[2:5] for each in found["label"]] == [(1, "nsubj", "obj")]
    assert not found["tag"]
    assert [each[2:5] for each in found["features"]] == [(2, "VERB V Tense=Pres", "VERB V _")]
    assert [each[2:5] for each in found["lemma"]] == [(2, "se", "ser")]
    assert found["lemma"][0].margin == pytest.approx(np.log(9.5 / 1.5))


@pytest.mark.parametrize("column", [2, 3, 4, 5, 7])
def test_absent_columns_are_not_suspicious(column):
    """Whatever the model predicts there, and however the same words are annotated elsewhere."""
    sentences = read(ONE * 3)
    for row in sentences[0].rows:
        row[column] = "_"
    other = predicted(sentences[1], best_labels=["obj", "dep"], label_margins=[2.0, SURE], lemmas=["er", "er"])
    other = other._replace(tags=[("X", "X", "A=1")] * 2, tag_margins=[5.0] * 2, lemma_counts=[(9, 0)] * 2)
    left = {2: {"tag", "label"}, 3: {"features", "lemma", "label"}, 7: {"tag", "lemma"}}
    found = find_suspicions(sentences[:1], [other], nuclei.variations(sentences, 1))
    assert {kind for kind in found if found[kind]} == left.get(column, {"tag", "lemma", "label"})
    for each in found["tag"] + found["features"]:
        old, new = each.annotated.split(" "), each.predicted.split(" ")
        assert [a == b for a, b in zip(old, new, strict=True)] == [place == column - 3 for place in range(3)]


def test_a_suspicion_has_evidence():
    """Another lemma is no evidence if the form has the annotated one at least as often in training."""
    (sentence,) = read(ONE)
    lemmas = predicted(sentence, lemmas=["ihr", "ser"], lemma_counts=[(0, 0), (2, 2)])
    assert not any(find_suspicions([sentence], [lemmas], {}).values())


def test_variation_alone_is_evidence_and_raises_the_rank():
    sentences = read(ONE * 3)
    changed = [predicted(each, best_labels=["obj", "root"], label_margins=[2.0, 0.0]) for each in sentences]
    varied = {("label", 2, 1): nuclei.Variation("label", 2, 1, ("obj",), 1, 9)}
    varied |= {("head", 0, 2): nuclei.Variation("head", 0, 2, ("1", "x", ">"), 1, 1)}
    found = find_suspicions(sentences, changed, varied)
    assert [each.sentence for each in found["label"]] == [2, 0, 1]
    (head,) = found["head"]
    assert (head.predicted, head.margin, head.own, head.others) == ("1", None, 1, 1)
    assert head.confidence == pytest.approx(0.1)  # the model is sure of the annotated head


def test_unknown_labels_come_first_but_are_finite():
    sentences = read(ONE * 3)
    margins = ([4.0, 0.0], [SURE, 0.0], [2.0, 0.0])
    changed = [
        predicted(each, best_labels=["obj", "root"], label_margins=own)
        for each, own in zip(sentences, margins, strict=True)
    ]
    found = find_suspicions(sentences, changed, {})["label"]
    assert {each.margin for each in found[:2]} == {4.0} and [each.sentence for each in found] == [0, 1, 2]


# -- output ------------------------------------------------------------------------------------------------------------

HARD = (
    "\ufeff# sent_id = a b\r\n1-2\tdu'r\t_\t_\t_\t_\t_\t_\t_\tSuspectHead=kept\r\n1\tdu\tdu\tPRON\tP\t_\t2\tnsubj\t_\t"
    "SuspectHead=4|SpaceAfter=No|Gloss=a\r\n1.1\tx\t_\t_\t_\t_\t_\t_\t2:x\t_\r\n2\t|\t_\tX\t_\t_\t0\troot\t_\t_\r\n\r\n"
)


def test_marks_change_nothing_but_misc():
    (sentence,) = read(HARD)
    chosen = [
        Suspicion("head", 0, 1, "2", "", 1.0),
        Suspicion("lemma", 0, 2, "_", "a| \\b", 1.0),
        Suspicion("features", 0, 2, "X _ _", "X | A=b|C=d", 1.0),
        Suspicion("rule", 0, 0, "", "", 2, rule="one", message="1"),
        Suspicion("rule", 0, 1, "", "", 3, rule="two", message="2"),
    ]
    (copy,) = marked([sentence], chosen)
    before, after = HARD.split("\r\n"), "".join(copy.lines).split("\r\n")
    assert [line.split("\t")[:9] for line in after] == [line.split("\t")[:9] for line in before]
    assert after[1] == before[1]
    assert copy.rows[0][9] == "SuspectHead=?|SpaceAfter=No|Gloss=a|SuspectRule=one,two"
    assert copy.rows[1][9] == "SuspectLemma=a\\p\\s\\\\b|SuspectXPOS=\\p|SuspectFeats=A=b\\pC=d"
    (clean,) = marked(marked([sentence], chosen), [])
    assert "".join(clean.lines) == HARD.replace("SuspectHead=4|", "")


def test_columns_of_conll_x_are_not_misc():
    assert without_misc(read("1\tJa\tja\tI\tI\t_\t0\tROOT\t0\tROOT\n\n"))
    assert not without_misc(read(ONE))


def test_the_table_has_a_line_for_each_suspicion():
    (sentence,) = read(HARD)
    stream = io.StringIO()
    chosen = {
        "head": [Suspicion("head", 0, 2, "0", "1", 2.5, 0.75, 12.0, True, 1, 3)],
        "rule": [Suspicion("rule", 0, 0, "", "", 2, rule="text", message='a, "b"')],
    }
    write_table(stream, [sentence], chosen)
    header, *rows = list(csv.reader(io.StringIO(stream.getvalue())))
    assert tuple(header) == COLUMNS
    found = [dict(zip(header, row, strict=True)) for row in rows]
    assert found[0] | {"file": ""} == {
        **dict.fromkeys(COLUMNS, ""),
        **{"kind": "head", "rank": "1", "line": "5", "sent_id": "a b", "word": "2", "form": "|"},
        **{"annotated": "0", "predicted": "1", "score": "2.5000", "confidence": "0.7500", "margin": "12.0000"},
        **{"certified": "true", "like_this": "1", "otherwise": "3"},
    }
    assert (found[1]["line"], found[1]["word"], found[1]["message"]) == ("1", "0", 'a, "b"')


# -- the validator -----------------------------------------------------------------------------------------------------

VALID = (
    "# sent_id = 1\n# text = Du ser.\n1\tDu\tdu\tPRON\t_\t_\t2\tnsubj\t_\t_\n"
    "2\tser\tse\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
)


def broken(text, level=3, language=None):
    """The places and rules that the validator names."""
    pytest.importorskip("udtools")
    return [each[:4] for each in violations(read(text), level, language)]


def test_a_valid_treebank_breaks_no_rule():
    assert broken(VALID + VALID.replace("sent_id = 1", "sent_id = 2")) == []
    assert broken("\ufeff" + VALID + "\n\n") == []
    assert broken(VALID.replace("\n", "\r\n")) == []


def test_rules_are_reported_at_their_words_by_level():
    two = VALID.replace("sent_id = 1", "sent_id = 2")
    assert broken(VALID + two.replace("VERB", "WERB"), 2) == [(1, 2, 2, "unknown-upos")]
    assert broken(VALID + two.replace("VERB", "WERB"), 1) == []
    assert (1, 3, 3, "rel-upos-punct") in broken(VALID + two.replace(".\tPUNCT", ".\tNOUN"))
    assert [each[0] for each in broken(VALID + VALID)] == [1]  # the same sent_id
    assert [each[2] for each in broken(VALID.replace("nsubj", "nsubj:xyz"), 4, "da")] == [4]


def test_levels_of_a_language_need_the_language():
    pytest.importorskip("udtools")
    with pytest.raises(ConfigError, match="level 4 needs the code of the language"):
        violations(read(VALID), 4)
    with pytest.raises(ConfigError, match="the validator does not know 'xx1'"):
        violations(read(VALID), 5, "xx1")
