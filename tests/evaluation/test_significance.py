"""The paired permutation test against the enumeration of all exchanges."""

import itertools
import random

import pytest
from judged import cases, evaluated, naive_punctuation, random_tree, sentence_of

from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare


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
