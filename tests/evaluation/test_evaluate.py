"""Evaluation against the definitions, word by word; the permutation test against the enumeration of all exchanges."""

import io
import itertools
import json
import random

import numpy as np
import pytest
from instances import seeds
from judged import FORMS, cases, evaluated, naive_punctuation, random_tree, sentence_of, text_of
from naive_crossing import crossing_arcs
from naive_errors import counted_words, ratio
from naive_trees import all_trees

from nonproj.errors import DataError
from nonproj.evaluation.scores import Evaluation, evaluate, is_punctuation
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.trees.crossing import nonprojective
from nonproj.types import Decoded

# The naive implementation


def naive_figures(data, with_punctuation):
    sentences, trees, labels = zip(*data, strict=True)
    words = counted_words(sentences, [list(zip(trees, labels, strict=True))], with_punctuation)
    for word in words:
        [(word.right, word.given, word.own)] = word.ours
        word.both = word.right and word.given == word.label
    own, common = [word.right for word in words if word.own], sum(w.right and w.own and w.crosses for w in words)
    gold, seen = sum(word.crosses for word in words), {word.sentence for word in words}
    return {
        "words": len(words),
        "uas": ratio(word.right for word in words),
        "las": ratio(word.both for word in words),
        "label_accuracy": ratio(word.given == word.label for word in words),
        "complete": ratio(all(word.right for word in words if word.sentence == number) for number in seen),
        "complete_labelled": ratio(all(word.both for word in words if word.sentence == number) for number in seen),
        "root_accuracy": ratio(word.right for word in words if word.arc_length == 0),
        "nonprojective": {
            "gold": gold,
            "predicted": len(own),
            "common": common,
            "right_head": ratio(own),
            "precision": common / len(own) if own else None,
            "recall": common / gold if gold else None,
            "f1": 2 * common / (gold + len(own)) if gold or own else None,
        },
    }


def near(ours, theirs):
    """Equal in structure, floats to rounding."""
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(near(ours[key], theirs[key]) for key in theirs)
    return ours == (pytest.approx(theirs, abs=1e-12) if isinstance(theirs, float) else theirs)


# Figures


@pytest.mark.parametrize("seed", seeds(25))
def test_figures_equal_the_definitions(seed):
    data = cases(seed)
    evaluation = evaluated(data)
    figures = evaluation.as_dict()
    assert near(figures["without_punctuation"], naive_figures(data, False))
    assert near(figures["with_punctuation"], naive_figures(data, True))
    assert figures["sentences"] == len(data) == len(evaluation)
    assert figures["words"] == sum(len(sentence) for sentence, _, _ in data)
    assert (evaluation.uas, evaluation.las) == tuple(figures["without_punctuation"][name] for name in ("uas", "las"))
    assert json.loads(json.dumps(figures)) == figures
    gold = text_of(*(sentence for sentence, _, _ in data))
    output = text_of(*(sentence_of(heads, labels, sentence.forms) for sentence, heads, labels in data))
    by_file = evaluate(conll.read(io.StringIO(gold)), conll.read(io.StringIO(output)))
    assert by_file.as_dict() == figures | {"given": "words, sentences and tags as in the gold file"}


@pytest.mark.thorough
def test_gold_against_gold_is_perfect(treebanks):
    """Danish has as many words and non-projective arcs as published."""
    path = treebanks / "danish/danish_ddt_train.conll"
    figures = evaluate(conll.read(path), conll.read(path)).as_dict()["with_punctuation"]
    assert {figures[key] for key in ("uas", "las", "label_accuracy", "complete_labelled", "root_accuracy")} == {1.0}
    assert figures["nonprojective"]["precision"] == figures["nonprojective"]["recall"] == 1.0
    assert (figures["words"], figures["nonprojective"]["gold"]) == (94343, 944)


def test_an_arc_that_crosses_in_one_tree_only_is_not_a_common_one():
    """3 -> 1 passes over 2: it is non-projective where 2 hangs on 4, not where 2 hangs on 3."""
    gold, predicted = [-1, 3, 3, 4, 0], [-1, 3, 4, 4, 0]
    evaluation = evaluated((sentence_of(tree, "dddd", "abcd"), predicted, "dddd") for tree in (gold, predicted))
    lines = [line.split() for line in evaluation.table().splitlines() if line.startswith("non-projective arcs, ")]
    figures = {line[2]: line[-1] for line in lines}
    expected = {"precision": "50.00", "recall": "100.00", "F1": "66.67", "right": "100.00"}
    assert figures == expected | {"predicted": "2", "gold": "1", "in": "1"}


def test_unlabelled_trees():
    data = cases(4)
    evaluation = Evaluation()
    for sentence, heads, _ in data:
        evaluation.add(sentence, heads[1:])
    figures = evaluation.as_dict()["without_punctuation"]
    assert figures["uas"] == pytest.approx(naive_figures(data, False)["uas"])
    assert evaluation.las is figures["label_accuracy"] is figures["complete_labelled"] is None
    sentence, heads, labels = data[0]
    with pytest.raises(ValueError, match="labels are given for some sentences but not for others"):
        evaluation.add(sentence, heads[1:], labels)


def test_empty_evaluation():
    figures = Evaluation().as_dict()
    assert (figures["sentences"], figures["words"], figures["without_punctuation"]["uas"]) == (0, 0, None)
    assert "0 sentences" in Evaluation().table()


def test_certificates_and_speed():
    sentence, heads, labels = cases(5)[0]
    evaluation = Evaluation()
    for agreed, certified, iterations in ((True, True, 3), (False, True, 10), (False, False, 200), (True, True, 0)):
        decoded = Decoded(np.array(heads), 1.0, 1.0, agreed, certified, iterations, 0.5)
        evaluation.add(sentence, heads[1:], labels, decoded)
    assert evaluation.as_dict()["speed"] is None
    evaluation.seconds = 0.5
    figures = evaluation.as_dict()
    assert figures["certificates"] == {"sentences": 4, "agreed": 0.5, "certified": 0.75, "mean_iterations": 53.25}
    assert figures["speed"] == {"seconds": 0.5, "words_per_second": 8.0 * len(sentence), "sentences_per_second": 8.0}
    table = evaluation.table()
    assert "50.00" in table and "75.00" in table and f"{8 * len(sentence)} words per second" in table


# Non-projective arcs


def test_nonprojective_arcs():
    """Of all small trees, and of some long ones."""
    generator, small = random.Random(7), [tree for n in range(1, 6) for tree in all_trees(n)]
    for heads in [*small, *(random_tree(generator, n) for n in (30, 64, 65, 200))]:
        flags = nonprojective(np.array(heads[1:], dtype=np.int32))
        assert flags.dtype == bool
        assert (np.flatnonzero(flags) + 1).tolist() == crossing_arcs(heads)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1], "heads has a cycle, a tree is expected"),
        ([1], "heads has a cycle, a tree is expected"),
        ([0, 5], r"heads\[1\] is 5, a number from 0 to 2 expected"),
        ([-1], r"heads\[0\] is -1, a number from 0 to 1 expected"),
    ],
)
def test_nonprojective_rejects_what_is_not_a_tree(heads, message):
    with pytest.raises(ValueError, match=message):
        nonprojective(heads)


def test_punctuation():
    for form in (*FORMS, "。", "a.", "§", "–", "¿", "+", "<", "@", "%", "€", "1", " "):
        assert is_punctuation(form) == naive_punctuation(form), form
    assert [is_punctuation(form) for form in ("_", "``", "-LRB-", "%")] == [True, False, False, True]


# Errors


def row(number, form, head="0"):
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"


TWO = row(1, "a") + row(2, "b") + "\n"
HINT = "; 'nonproj evaluate --ud' compares files whose tokens differ"


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (TWO, row(1, "a") + row(2, "B") + "\n", "{out}:2: FORM is 'B', but 'b' in {gold}:2" + HINT),
        (TWO + TWO, TWO + row(1, "a") + "\n", "{out}:4: a sentence of 1 words, but of 2 in {gold}:4" + HINT),
        (TWO, "# y\n# z\n" + TWO[:-1] + row(3, "c"), "{out}:3: a sentence of 3 words, but of 2 in {gold}:1" + HINT),
        (TWO + "# x\n" + TWO, TWO, "{out}:2: the sentences end here, after 1, but continue in {gold}:5"),
        (TWO, TWO + TWO, "{gold}:2: the sentences end here, after 1, but continue in {out}:4"),
        (TWO, row(1, "a") + row(2, "b", "_") + "\n", "{out}:1: HEAD is absent (_); evaluation needs a tree"),
        (row(1, "a", "_"), row(1, "a"), "{gold}:1: HEAD is absent (_); evaluation needs gold heads"),
    ],
)
def test_files_with_different_words(gold, predicted, message, tmp_path):
    paths = tmp_path / "gold.conll", tmp_path / "out.conll"
    for path, text in zip(paths, (gold, predicted), strict=True):
        path.write_text(text)
    with pytest.raises(DataError) as caught:
        evaluate(*map(conll.read, paths))
    assert str(caught.value) == message.format(gold=paths[0], out=paths[1])


def test_a_rejected_sentence_is_not_counted():
    evaluation = Evaluation()
    sentence = sentence_of([-1, 0, 1], "ab", "xy")
    for heads, labels, message in (
        ([2, 1], "ab", "cycle"),
        ([0, 1], "abc", "shorter"),
        ([0, 1, 1], "ab", "heads has the shape"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluation.add(sentence, heads, labels)
    evaluation.add(sentence, [0, 1], "ab")
    assert evaluation.as_dict()["words"] == 2 and evaluation.las == 1.0


def test_compare_of_equal_and_of_different_outputs():
    generator, labels = random.Random(9), "a" * 10
    trees = [(random_tree(generator, 10), random_tree(generator, 10)) for _ in range(60)]
    sentences = [sentence_of(gold, labels, "x" * 10) for gold, _ in trees]
    good, bad, same = (
        evaluated((sentence, both[kind], labels) for sentence, both in zip(sentences, trees, strict=True))
        for kind in (0, 1, 0)
    )
    assert compare(good, same)["las"] == {"first": 1.0, "second": 1.0, "difference": 0.0, "p": 1.0}
    assert compare(good, same, labelled=False)["las"] is None
    result = compare(good, bad, resamples=199)
    assert (result["sentences"], result["words"]) == (60, 600)
    assert result["uas"]["difference"] == pytest.approx(1 - bad.uas)
    assert result["uas"]["p"] == 2 / 200  # no random sign pattern is as extreme
    assert compare(bad, good)["uas"]["difference"] == -result["uas"]["difference"]


def naive_p_value(data, other, with_labels, punctuation):
    """Enumerate all exchanges of the two parses of each sentence."""

    def correct(sentence, heads, labels):
        rows = zip(sentence.heads, heads[1:], sentence.rows, labels, strict=True)
        counted = (row for row in rows if punctuation or not naive_punctuation(row[2][1]))
        return sum(gold == head and (not with_labels or row[7] == label) for gold, head, row, label in counted)

    pairs = [(correct(*one), correct(*two)) for one, two in zip(data, other, strict=True)]
    observed = abs(sum(a - b for a, b in pairs))
    totals = [
        abs(sum((b - a) * sign for sign, (a, b) in zip(signs, pairs, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(pairs))
    ]
    return sum(total >= observed for total in totals) / len(totals)


@pytest.mark.parametrize("punctuation", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_compare_equals_the_enumeration_of_all_exchanges(seed, punctuation):
    generator = random.Random(seed)
    data, other = cases(seed, count=9, longest=10), []
    for sentence, heads, _ in data:
        n = len(sentence)
        trees = random_tree(generator, n), heads
        other.append((sentence, trees[generator.random() >= 0.7], generator.choices("abc", k=n)))
    one, two = evaluated(data), evaluated(other)
    result, back = (compare(*pair, punctuation=punctuation) for pair in ((one, two), (two, one)))
    scope = "with_punctuation" if punctuation else "without_punctuation"
    first, second = (each.as_dict()[scope] for each in (one, two))
    for name in ("uas", "las"):
        exact = naive_p_value(data, other, name == "las", punctuation)
        assert result[name]["p"] == pytest.approx(exact, abs=1e-12) == back[name]["p"]
        assert (result[name]["first"], result[name]["second"]) == (first[name], second[name])
        assert result[name]["difference"] == pytest.approx(first[name] - second[name])
        sampled, again = (compare(one, two, punctuation=punctuation, resamples=400)[name]["p"] for _ in range(2))
        assert sampled == again == pytest.approx(exact, abs=0.15)  # of fewer than the 512 sign patterns


@pytest.mark.parametrize("count", [0, 1])
def test_compare_of_very_few_sentences(count):
    one, two = Evaluation(), Evaluation()
    for _ in range(count):
        one.add(sentence_of([-1, 0, 1], "aa", "xx"), [0, 1])
        two.add(sentence_of([-1, 0, 1], "aa", "xx"), [2, 0])
    result = compare(one, two)
    assert (result["sentences"], result["las"]) == (count, None)
    assert result["uas"] == {"first": float(count), "second": 0.0, "difference": float(count), "p": 1.0}


def test_compare_rejects_different_sentences():
    one, other = (evaluated(cases(seed)) for seed in (0, 1))
    with pytest.raises(ValueError, match="not of the same gold sentences"):
        compare(one, other)
