"""Error tables against their definitions, and the command that prints them."""

import json
import random

import pytest
from instances import seeds
from judged import evaluated, random_tree, sentence_of, text_of
from naive_errors import counted_words, ratio, scores

from nonproj.cli.main import main
from nonproj.evaluation.errors import ARC_LENGTHS, DEPTHS, SENTENCE_LENGTHS, error_tables
from nonproj.evaluation.report import error_report
from nonproj.evaluation.scores import Evaluation

BINS = {"depth": DEPTHS, "arc_length": ARC_LENGTHS, "sentence_length": SENTENCE_LENGTHS}


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
    return [evaluated((s, *parsed) for s, parsed in zip(sentences, output, strict=True)) for output in outputs]


def close(ours, theirs):
    return ours == [None if share is None else pytest.approx(share, abs=1e-12) for share in theirs]


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("punctuation", [False, True])
def test_tables_equal_the_definitions(seed, punctuation):
    sentences, outputs = two_parsers(seed)
    errors = error_tables(evaluations_of(sentences, outputs), punctuation=punctuation)
    words, confused = counted_words(sentences, outputs, punctuation), {}
    assert errors["words"] == len(words) > 50

    def holds(row, chosen):
        count, uas, las = scores(chosen, len(outputs))
        return row["words"] == count and close(row["uas"], uas) and close(row["las"], las)

    for table in ("tag", "label"):
        rows = errors["tables"][table]
        assert {row["name"] for row in rows} == {getattr(word, table) for word in words}
        assert all(holds(row, [word for word in words if getattr(word, table) == row["name"]]) for row in rows)
        assert [row["words"] for row in rows] == sorted((row["words"] for row in rows), reverse=True)
    for table, bins in BINS.items():
        rows = errors["tables"][table]
        assert sum(row["words"] for row in rows) == len(words)
        for row, (name, low, high) in zip(rows, bins, strict=True):
            assert row["name"] == name
            most = high or (10**9 if low else 0)
            assert holds(row, [word for word in words if low <= getattr(word, table) <= most])
    nonprojective = errors["tables"]["nonprojective"]
    assert all(holds(row, [word for word in words if word.crosses == kind]) for kind, row in enumerate(nonprojective))

    def predicted(row, i, flags):
        """Whether the precision of the words that a parser predicts to be of a kind is the share of these flags."""
        return row["predicted"][i] == len(flags) and close([row["precision"][i]], [ratio(flags)])

    for i in range(len(outputs)):
        kinds = [(*word.ours[i], word.crosses, word.label) for word in words]
        for kind, row in enumerate(nonprojective):
            assert predicted(row, i, [right and gold == kind for right, _, own, gold, _ in kinds if own == kind])
        for row in errors["tables"]["nonprojective_label"]:
            name = row["name"]
            assert row["words"] == sum(gold and label == name for *_, gold, label in kinds)
            flags = [right and gold and of == name for right, by, own, gold, of in kinds if own and by == name]
            assert predicted(row, i, flags)
        for row in errors["tables"]["label"]:
            name = row["name"]
            assert predicted(row, i, [right and of == name for right, by, _, _, of in kinds if by == name])
        for _, by, _, _, of in kinds:
            if by != of:
                confused.setdefault((of, by), [0] * len(outputs))[i] += 1
    assert {row["name"] for row in errors["tables"]["nonprojective_label"]} >= set("abc")
    assert {(pair["gold"], pair["predicted"]): pair["counts"] for pair in errors["confusions"]} == confused
    totals = [sum(pair["counts"]) for pair in errors["confusions"]]
    assert totals == sorted(totals, reverse=True) and len(confused) > 3


def test_without_labels_sentences_or_evaluations():
    evaluation = Evaluation()
    evaluation.add(sentence_of([-1, 2, 0], "ab", "xx"), [0, 1])
    errors = error_tables([evaluation])
    assert errors["confusions"] is None and "label" not in errors["tables"]
    assert errors["tables"]["depth"][1] == {"name": "2", "words": 1, "uas": [0.0], "las": None}
    assert "LAS" in error_report(errors)
    nothing = error_tables([Evaluation()])
    assert nothing["words"] == 0 and error_report(nothing)
    for evaluations, message in (([], "no evaluation"), ([evaluation, Evaluation()], "not of the same gold sentences")):
        with pytest.raises(ValueError, match=message):
            error_tables(evaluations)


def test_command(tmp_path, capsys):
    sentences, outputs = two_parsers(5)
    paths = [tmp_path / "gold.conll", tmp_path / "a.conll", tmp_path / "b.conll"]
    paths[0].write_text(text_of(*sentences))
    for path, output in zip(paths[1:], outputs, strict=True):
        parsed = [sentence_of(h, ls, s.forms) for s, (h, ls) in zip(sentences, output, strict=True)]
        path.write_text(text_of(*parsed))
    direct = evaluations_of(sentences, outputs)

    def output(*words: str) -> str:
        assert main(["evaluate", *words]) == 0
        return capsys.readouterr().out

    gold, a, b = map(str, paths)
    assert json.loads(output("--errors", "--json", gold, a))["errors"] == error_tables(direct[:1])
    assert json.loads(output("--errors", "--json", gold, a, b))["errors"] == error_tables(direct)
    text = output("--errors", gold, a, b)
    assert text.endswith(error_report(error_tables(direct))) and "by tag" not in output(gold, a)
    row = error_tables(direct)["tables"]["tag"][0]
    cells = [row["name"], str(row["words"]), *(f"{100 * share:.2f}" for share in row["uas"])]
    assert any(line.split()[:4] == cells for line in text.splitlines())
