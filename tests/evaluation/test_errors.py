"""Error tables against their definitions, and the command that prints them."""

import json
import random

import pytest
from instances import seeds
from judged import random_tree, sentence_of, text_of
from naive_crossing import crossing_arcs
from naive_errors import counted_words, ratio, scores

from nonproj.cli.main import main
from nonproj.evaluation.errors import ARC_LENGTHS, DEPTHS, SENTENCE_LENGTHS, error_tables
from nonproj.evaluation.report import error_report
from nonproj.evaluation.scores import Evaluation, is_punctuation

KEYS = {"tag": 4, "label": 5}
BINS = {"depth": (0, DEPTHS), "arc_length": (1, ARC_LENGTHS), "sentence_length": (2, SENTENCE_LENGTHS)}


def two_parsers(seed):
    """Gold sentences, and the trees and labels of a good and of a random parser."""
    generator = random.Random(seed)
    sentences, outputs = [], [[], []]
    for n in (1, 2, 3, 5, 8, 12, 20, 25, 33, 45):
        gold, labels = random_tree(generator, n), generator.choices("abc", k=n)
        forms = generator.choices(("ord", "x", ".", ",", "$", "«", "3.5"), k=n)
        sentences.append(sentence_of(gold, labels, forms, generator.choices("NVA_", k=n)))
        near = random_tree(generator, n) if generator.random() < 0.3 else gold
        outputs[0].append((near, [generator.choice("abc") if generator.random() < 0.4 else a for a in labels]))
        outputs[1].append((random_tree(generator, n), generator.choices("abd", k=n)))
    return sentences, outputs


def evaluations_of(sentences, outputs):
    result = []
    for output in outputs:
        result.append(Evaluation())
        for sentence, (heads, labels) in zip(sentences, output, strict=True):
            result[-1].add(sentence, heads[1:], labels)
    return result


def close(ours, theirs):
    return ours == [None if share is None else pytest.approx(share, abs=1e-12) for share in theirs]


def crossing_kinds(sentences, output, punctuation):
    """Each word: whether its head is right; whether its arc crosses, in the gold tree and in the other; its labels."""
    kinds = []
    for sentence, (heads, labels) in zip(sentences, output, strict=True):
        gold = [int(head) for head in sentence.tree]
        own = [int(head) for head in heads]
        crossing = crossing_arcs(gold), crossing_arcs(own)
        kinds += [
            (own[m] == gold[m], m in crossing[0], m in crossing[1], sentence.rows[m - 1][7], labels[m - 1])
            for m in range(1, len(gold))
            if punctuation or not is_punctuation(sentence.rows[m - 1][1])
        ]
    return kinds


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("punctuation", [False, True])
def test_tables_equal_the_definitions(seed, punctuation):
    sentences, outputs = two_parsers(seed)
    errors = error_tables(evaluations_of(sentences, outputs), punctuation=punctuation)
    words = counted_words(sentences, outputs, punctuation)
    assert errors["words"] == len(words) > 50

    def holds(row, chosen):
        count, uas, las = scores(chosen, len(outputs))
        return row["words"] == count and close(row["uas"], uas) and close(row["las"], las)

    for table, column in KEYS.items():
        rows = errors["tables"][table]
        assert {row["name"] for row in rows} == {word[column] for word in words}
        assert all(holds(row, [word for word in words if word[column] == row["name"]]) for row in rows)
        assert [row["words"] for row in rows] == sorted((row["words"] for row in rows), reverse=True)
    for table, (column, bins) in BINS.items():
        rows = errors["tables"][table]
        assert sum(row["words"] for row in rows) == len(words)
        for row, (name, low, high) in zip(rows, bins, strict=True):
            assert row["name"] == name
            assert holds(row, [word for word in words if low <= word[column] <= (high or (10**9 if low else 0))])
    projective, crossing = errors["tables"]["nonprojective"]
    assert holds(projective, [word for word in words if not word[3]])
    assert holds(crossing, [word for word in words if word[3]])
    for i, output in enumerate(outputs):
        kinds = crossing_kinds(sentences, output, punctuation)
        for kind, row in ((False, projective), (True, crossing)):
            found = [(right, gold) for right, gold, own, *_ in kinds if own == kind]
            assert row["predicted"][i] == len(found)
            assert close([row["precision"][i]], [ratio(right and gold == kind for right, gold in found)])
        rows = {row["name"]: row for row in errors["tables"]["nonprojective_label"]}
        for label in "abcd":
            of_gold = [word for word in kinds if word[1] and word[3] == label]
            found = [right and gold and of == label for right, gold, own, of, by in kinds if own and by == label]
            row = rows.get(label, {"words": 0, "predicted": [0, 0]})
            if label != "d":  # which no gold tree has
                assert (row["words"], row["predicted"][i]) == (len(of_gold), len(found))
                assert not found or close([row["precision"][i]], [ratio(found)])


@pytest.mark.parametrize("seed", range(6))
def test_precision_and_confusions_equal_the_definitions(seed):
    sentences, outputs = two_parsers(seed)
    errors = error_tables(evaluations_of(sentences, outputs))
    words = counted_words(sentences, outputs, False)
    for row in errors["tables"]["label"]:
        for i in range(len(outputs)):
            chosen = [word for word in words if word[6][i][1] == row["name"]]
            assert row["predicted"][i] == len(chosen)
            assert close([row["precision"][i]], [ratio(word[6][i][0] and word[5] == row["name"] for word in chosen)])
    found = {(pair["gold"], pair["predicted"]): pair["counts"] for pair in errors["confusions"]}
    expected = {}
    for word in words:
        for i, (_, label) in enumerate(word[6]):
            if label != word[5]:
                expected.setdefault((word[5], label), [0] * len(outputs))[i] += 1
    assert found == expected and len(expected) > 3
    totals = [sum(pair["counts"]) for pair in errors["confusions"]]
    assert totals == sorted(totals, reverse=True)


def test_without_labels():
    evaluation = Evaluation()
    evaluation.add(sentence_of([-1, 2, 0], "ab", "xx"), [0, 1])
    errors = error_tables([evaluation])
    assert errors["confusions"] is None and "label" not in errors["tables"]
    assert errors["tables"]["depth"][1] == {"name": "2", "words": 1, "uas": [0.0], "las": None}
    assert "LAS" in error_report(errors)


def test_no_sentences_and_no_evaluations():
    assert error_tables([Evaluation()])["words"] == 0
    assert error_report(error_tables([Evaluation()]))
    with pytest.raises(ValueError, match="no evaluation"):
        error_tables([])


def test_other_sentences_are_refused():
    sentences, outputs = two_parsers(1)
    evaluation = evaluations_of(sentences, outputs)[0]
    with pytest.raises(ValueError, match="not of the same gold sentences"):
        error_tables([evaluation, Evaluation()])


def test_command(tmp_path, capsys):
    sentences, outputs = two_parsers(5)
    paths = [tmp_path / "gold.conll", tmp_path / "a.conll", tmp_path / "b.conll"]
    paths[0].write_text(text_of(*sentences))
    for path, output in zip(paths[1:], outputs, strict=True):
        parsed = [sentence_of(h, ls, s.forms) for s, (h, ls) in zip(sentences, output, strict=True)]
        path.write_text(text_of(*parsed))
    gold, a, b = map(str, paths)
    direct = evaluations_of(sentences, outputs)
    assert main(["evaluate", "--errors", "--json", gold, a]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == error_tables(direct[:1])
    assert main(["evaluate", "--errors", "--json", gold, a, b]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == error_tables(direct)
    assert main(["evaluate", "--errors", gold, a, b]) == 0
    text = capsys.readouterr().out
    assert text.endswith(error_report(error_tables(direct)))
    row = error_tables(direct)["tables"]["tag"][0]
    shares = [f"{100 * share:.2f}" for share in row["uas"]]
    assert any(line.split()[:4] == [row["name"], str(row["words"]), *shares] for line in text.splitlines())
    assert main(["evaluate", gold, a]) == 0
    assert "by tag" not in capsys.readouterr().out
