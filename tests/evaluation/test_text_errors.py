"""Parsed text against gold text: words aligned as by the official evaluation, errors by kind, and the command."""

import io
import json
from pathlib import Path

import naive_text_errors as naive
import numpy as np
import pytest
from command import run_copy
from instances import seeds
from judged import analyses, sentence_of

from nonproj.cli.main import main
from nonproj.errors import DataError
from nonproj.evaluation.alignment import align, judge_text
from nonproj.evaluation.report import text_error_report
from nonproj.evaluation.text_errors import CAUSES, SEGMENTATION, text_errors
from nonproj.evaluation.universal import ud_scores, universal_features
from nonproj.io import conll
from nonproj.io.objects import from_words

OFFICIAL = {"upos": "UPOS", "xpos": "XPOS", "ufeats": "UFeats", "lemmas": "Lemmas", "uas": "UAS", "las": "LAS"}


def parsed(text: str):
    return list(conll.read(io.StringIO(text)))


@pytest.mark.parametrize("seed", seeds(40))
def test_tables_equal_the_definitions(seed):
    texts = analyses(seed)
    (gold, *systems), kept, known = map(parsed, texts), {"Case", "Number"}, set("abA")
    errors = text_errors(gold, systems, known, kept)
    tables, expected = errors["tables"], naive.read(texts[0])
    words = naive.flat(expected)
    assert errors["words"] == len(words)
    for i, text in enumerate(texts[1:]):
        found, (_, _, pairs) = naive.read(text), align(gold, systems[i])
        causes = naive.causes(expected, found, pairs)
        assert {row["name"]: row["counts"][i] for row in tables["cause"]} == {name: causes[name] for name in CAUSES}
        differences = naive.token_differences(expected, found)
        for row in tables["word"]:
            assert row["counts"][i] == sum(n for (kind, *_), n in differences.items() if kind == row["name"])
        counted = {(row["gold"], row["predicted"]): row["counts"][i] for row in errors["confusions"]["words"]}
        assert {pair: n for pair, n in counted.items() if n} == {(a, b): n for (_, a, b), n in differences.items()}
        features = naive.features(expected, found, pairs, kept)
        for row in tables["feature"]:
            for kind in ("missing", "wrong", "superfluous"):
                assert row[kind][i] == features.pop((row["name"], kind), 0)
        assert not features
        ends = naive.boundaries(expected), naive.boundaries(found)
        for key, places in (("gold", ends[0]), ("missed", ends[0] - ends[1]), ("wrong", ends[1] - ends[0])):
            total = [row[key] if key == "gold" else row[key][i] for row in tables["sentence"]]
            assert sum(total) == len(places)
        to = dict(pairs)
        for row in tables["known"]:
            inside = {"all words": {True, False}, "known words": {True}, "unknown words": {False}}[row["name"]]
            chosen = [g for g, word in enumerate(words) if (word[2][1] in known) in inside]
            assert row["gold"] == len(chosen) and row["aligned"][i] == sum(g in to for g in chosen)
    assert [row["name"] for row in tables["word"]] == list(SEGMENTATION)


@pytest.mark.parametrize("seed", range(40, 60))
def test_all_words_are_as_many_as_in_the_official_evaluation(seed):
    pytest.importorskip("udtools")
    texts = analyses(seed)
    gold, *systems = map(parsed, texts)
    errors = text_errors(gold, systems, {"ab"}, universal_features())
    for i, text in enumerate(texts[1:]):
        official = ud_scores(io.StringIO(texts[0]), io.StringIO(text))
        (everything, *kinds), causes = errors["tables"]["known"], errors["tables"]["cause"]
        assert everything["aligned"][i] == official["Words"]["correct"]
        for metric, name in OFFICIAL.items():
            for rows in ([everything], kinds, errors["tables"]["tag"], errors["tables"]["label"]):
                right = sum(row[metric][i] * row["aligned"][i] for row in rows if row["aligned"][i])
                assert right == pytest.approx(official[name]["correct"], abs=1e-9)
        wrong = sum(row["counts"][i] for row in causes)
        assert wrong == official["LAS"]["gold"] - official["LAS"]["correct"]


def test_the_cases_have_every_kind():
    texts = [map(parsed, analyses(seed)[:2]) for seed in range(40)]
    found = [text_errors(gold, [system]) for gold, system in texts]
    for table in ("cause", "word"):
        for i, row in enumerate(found[0]["tables"][table]):
            assert sum(each["tables"][table][i]["counts"][0] for each in found) > 3, row["name"]


ROW = "{}\t{}\t{}\t{}\t_\t{}\t{}\t{}\t_\t_\n"
GOLD = (
    "1-2\tdu\t" + "\t".join("_" * 8) + "\n" + ROW.format(1, "de", "de", "ADP", "_", 3, "case")
    + ROW.format(2, "le", "le", "DET", "Gender=Masc|Number=Sing", 3, "det")
    + ROW.format(3, "vin", "vin", "NOUN", "Gender=Masc", 0, "root") + ROW.format(4, ".", ".", "PUNCT", "_", 3, "punct")
    + "\n" + ROW.format(1, "Oui", "oui", "INTJ", "_", 0, "root") + "\n"
)  # fmt: skip
SYSTEM = (
    ROW.format(1, "du", "du", "DET", "_", 2, "det")
    + ROW.format(2, "vin", "vine", "VERB", "Gender=Fem|Case=Nom", 0, "root")
    + ROW.format(3, ".", ".", "PUNCT", "_", 2, "punct") + ROW.format(4, "Oui", "oui", "INTJ", "_", 2, "dep") + "\n"
)  # fmt: skip


def test_an_example():
    errors = text_errors(parsed(GOLD), [parsed(SYSTEM)], {"vin", "."})
    assert [row["counts"][0] for row in errors["tables"]["cause"]] == [2, 0, 1, 0, 0, 0]
    assert errors["tables"]["sentence"] == [{"name": ".", "gold": 1, "missed": [1], "wrong": [0]}]
    assert errors["confusions"]["lemma"] == [{"gold": "vin", "predicted": "vine", "counts": [1]}]
    report = text_error_report(errors)
    assert "  multiword token not expanded" in report and "        1  du = de + le -> du\n" in report
    row = next(line for line in report.splitlines() if line.startswith("  unknown words"))
    assert row.split()[2:] == ["3", "1", "100.00", "100.00", "100.00", "0.00", "0.00"]


MARKED = ("\u0e01\u0e35", "\u0e19\u0e49\u0e33", "\u0915\u0940", "\u0915\u094d", "e\u0301", "\u05e9\u05b8", "1", "a")
"""Words that end with a vowel sign of Thai or Hindi, a virama, an accent or a point, and others."""


def test_marks_belong_to_their_letters():
    """Every boundary after a word is after a letter or digit; a heart with a variation selector is a heart."""
    forms = [*MARKED, "\u2764\ufe0f", ".", "a"]
    gold = "".join(ROW.format(1, form, "_", "X", "_", 0, "root") + "\n" for form in forms)
    joined = "".join(ROW.format(i, form, "_", "X", "_", i - 1, "root") for i, form in enumerate(forms, 1)) + "\n"
    rows = text_errors(parsed(gold), [parsed(joined)])["tables"]["sentence"]
    names = {row["name"]: (row["gold"], row["missed"], row["wrong"]) for row in rows}
    count = len(MARKED)
    assert names == {"a letter or digit": (count, [count], [0]), "\u2764": (1, [1], [0]), ".": (1, [1], [0])}
    assert text_errors(parsed(joined), [parsed(gold)])["tables"]["sentence"][0]["wrong"] == [count]


def test_texts_without_sentences_systems_or_trees():
    assert text_errors([], [[]])["words"] == 0
    assert text_error_report(text_errors([], [[]]))
    assert text_errors(parsed(GOLD), [])["words"] == 5
    with pytest.raises(DataError, match="HEAD is absent"):
        text_errors(parsed(GOLD.replace("\t3\t", "\t_\t").replace("\t0\t", "\t_\t")), [parsed(SYSTEM)])


@pytest.fixture
def files(tmp_path) -> list[str]:
    pytest.importorskip("udtools")
    texts = {"gold": GOLD, "a": SYSTEM, "b": GOLD, "train": ROW.format(1, "vin", "_", "_", "_", 0, "root") + "\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [str(tmp_path / name) for name in texts]


def test_the_command(files, capsys):
    gold, a, b, train = files

    def output(*words: str) -> str:
        assert main(["evaluate", "--ud", gold, *words]) == 0
        return capsys.readouterr().out

    expected = text_errors(parsed(GOLD), [parsed(SYSTEM)], {"vin"}, universal_features())
    result = json.loads(output(a, "--errors", "--train", train, "--json"))
    assert result["errors"] == expected and result["system"]["scores"]["Words"]["gold"] == 5
    assert output(a, "--errors", "--train", train) == output(a) + text_error_report(expected)
    both = json.loads(output(a, b, "--errors", "--json"))["errors"]
    assert both == text_errors(parsed(GOLD), [parsed(SYSTEM), parsed(GOLD)], None, universal_features())
    assert all(row["counts"][1] == 0 for row in both["tables"]["cause"])
    assert "UPOS A    UPOS B" in output(a, b, "--errors")


def test_a_pipe_is_read_once(files, capsys):
    gold, a, _, _ = files
    with open(a, encoding="utf-8") as stream:
        found = run_copy("nonproj", "evaluate", "--ud", "--errors", gold, "-", stdin=stream)
    assert main(["evaluate", "--ud", "--errors", gold, a]) == 0
    assert found.stdout == capsys.readouterr().out and "confused tags" in found.stdout


def test_faulty_files_and_options(files, capsys, tmp_path):
    gold, a, _, _ = files
    Path(a).write_text(SYSTEM.replace("Oui", "Ouo"), encoding="utf-8")
    assert main(["evaluate", "--ud", "--errors", gold, a]) == 2
    assert capsys.readouterr().err.startswith(f"nonproj: {a}:4: the text continues with ")
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    assert main(["evaluate", "--ud", "--errors", gold, str(tmp_path / "cut.gz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    for words in (["--train", a, "--ud"], ["--train", a, "--errors"], ["--train", a]):
        with pytest.raises(SystemExit):
            main(["evaluate", gold, a, *words])
        assert "--train needs --ud and --errors" in capsys.readouterr().err


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
