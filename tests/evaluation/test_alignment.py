"""Words of a parsed text against those of the gold standard: as the official evaluation aligns them."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from instances import seeds

from nonproj.errors import DataError
from nonproj.evaluation.alignment import judge_text
from nonproj.evaluation.universal import ud_scores
from nonproj.io import conll
from nonproj.io.objects import from_words

LABELS = ("nsubj", "obj", "punct")


def draw(chance: random.Random, text: str) -> str:
    """CoNLL-U of a text whose sentences, tokens, multiword tokens, heads and labels are drawn."""
    blocks, position = [], 0
    while position < len(text):
        size = min(chance.randint(1, 12), len(text) - position)
        tokens, end = [], position + size
        while position < end:
            length = min(chance.choice((1, 1, 2, 3)), end - position)
            form = text[position : position + length]
            words = [form]
            if chance.random() < 0.3:  # words may differ from the token's characters, and may be equal to each other
                words = [chance.choice((form, form[:1], "de", "A", "a")) for _ in range(chance.randint(2, 3))]
            tokens.append((form, words))
            position += length
        n = sum(len(words) for _, words in tokens)
        order = chance.sample(range(1, n + 1), n)
        head = {word: chance.choice(order[:i]) if i else 0 for i, word in enumerate(order)}
        lines, number = [], 0
        for form, words in tokens:
            if len(words) > 1:
                lines.append(f"{number + 1}-{number + len(words)}\t{form}" + "\t_" * 8)
            for word in words:
                number += 1
                label = "root" if head[number] == 0 else chance.choice(LABELS)
                lines.append(f"{number}\t{word}\t_\tX\t_\t_\t{head[number]}\t{label}\t_\t_")
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


@pytest.mark.parametrize("seed", seeds(150))
def test_as_many_words_are_right_as_by_the_official_evaluation(seed):
    pytest.importorskip("udtools")
    chance = random.Random(seed)
    text = "".join(chance.choice("abAc.") for _ in range(chance.randint(1, 40)))
    gold, system = draw(chance, text), draw(chance, text)
    official = ud_scores(io.StringIO(gold), io.StringIO(system))
    sentences = list(conll.read(io.StringIO(gold))), list(conll.read(io.StringIO(system)))
    verdicts = judge_text(*sentences, [s.heads for s in sentences[1]], [s.labels for s in sentences[1]])
    assert [len(verdict.heads) for verdict in verdicts] == [len(s) for s in sentences[1]]
    assert sum(int(verdict.heads.sum()) for verdict in verdicts) == official["UAS"]["correct"]
    assert sum(int(verdict.labels.sum()) for verdict in verdicts) == official["LAS"]["correct"]
    same = sum(verdict.tree for verdict in verdicts)
    assert same <= official["Sentences"]["correct"]
    verdicts = judge_text(sentences[0], sentences[0], [s.heads for s in sentences[0]], [s.labels for s in sentences[0]])
    assert all(verdict.heads.all() and verdict.labels.all() and verdict.tree for verdict in verdicts)


def sentence(words, heads):
    """A sentence with heads, all labelled ``x``."""
    found = from_words(words)
    found.tree = np.array([-1, *heads], np.int32)
    for row in found.rows:
        row[7] = "x"
    return found


def judged(gold, system):
    """Correctness as lists."""
    found = judge_text(gold, system, [s.heads for s in system], [s.labels for s in system])
    return [(verdict.heads.astype(int).tolist(), verdict.tree) for verdict in found]


def test_a_wrong_word_is_wrong_and_so_are_those_that_depend_on_it():
    gold = [sentence(["Det", "regner", "nu"], [2, 0, 2])]
    assert judged(gold, [sentence(["Det", "reg", "ner", "nu"], [2, 0, 2, 2])]) == [([0, 0, 0, 0], False)]
    assert judged(gold, [sentence(["De", "t", "regner", "nu"], [3, 3, 0, 3])]) == [([0, 0, 1, 1], False)]


def test_a_part_of_a_sentence_is_no_tree():
    """All heads of the first sentence are right, but it is not the whole one."""
    gold = [sentence(["Det", "regner", "nu"], [2, 0, 2])]
    assert judged(gold, [sentence(["Det", "regner"], [2, 0]), sentence(["nu"], [0])]) == [([1, 1], False), ([0], False)]
    joined = [*gold, sentence(["Ja"], [0])]
    assert judged(joined, [sentence(["Det", "regner", "nu", "Ja"], [2, 0, 2, 2])]) == [([1, 1, 1, 0], False)]


def test_other_characters_are_an_error_with_a_place():
    with pytest.raises(DataError, match="the text continues with 'u', the parsed one with 'ej'"):
        judged([sentence(["Det", "nu"], [0, 1])], [sentence(["Det", "nej"], [0, 1])])
    with pytest.raises(DataError, match="the text continues with '', the parsed one with 'nu'"):
        judged([sentence(["Det"], [0])], [sentence(["Det", "nu"], [0, 1])])
    with pytest.raises(DataError, match="HEAD is absent .*; heads are expected"):
        judge_text([from_words(["Det"])], [from_words(["Det"])], [np.array([0])], [["x"]])


def test_characters_that_are_blank_in_plain_text_belong_to_no_word():
    """A treebank may have a byte order mark or a zero width space in a word; the tokenizer leaves it out."""
    gold, parsed = from_words(["\ufeffTha", "e\u200bn", "seo"]), from_words(["Tha", "en", "seo"])
    for sentence in (gold, parsed):
        sentence.tree = np.array([-1, 0, 1, 1])
        for row in sentence.rows:
            row[7] = "x"
    (verdict,) = judge_text([gold], [parsed], [parsed.heads], [parsed.labels])
    assert verdict.heads.all() and verdict.labels.all() and verdict.tree
