"""Random gold sentences, and trees that are judged against them."""

import random
import unicodedata

import numpy as np

from nonproj.types import Sentence

FORMS = ("ord", "x", ".", ",", "``", "_", "$", "...", "«", "3.5", "--", "'s")


def random_tree(generator, n):
    """A tree of n words, head by head from a random order: any tree can come."""
    order = generator.sample(range(1, n + 1), n)
    heads = [-1] + [0] * n
    for i, modifier in enumerate(order):
        heads[modifier] = generator.choice([0, *order[:i]])
    return heads


def sentence_of(heads, labels, forms, tags=None) -> Sentence:
    columns = zip(forms, tags or "N" * len(labels), heads[1:], labels, strict=True)
    rows = [
        [str(i), form, "_", tag, "_", "_", str(head), label, "_", "_"]
        for i, (form, tag, head, label) in enumerate(columns, 1)
    ]
    return Sentence(rows, np.array(heads, dtype=np.int32))


def text_of(*sentences) -> str:
    return "".join("".join("\t".join(row) + "\n" for row in s.rows) + "\n" for s in sentences)


def cases(seed, count=12, longest=45):
    """Random gold sentences with predicted heads and labels, the prediction near the gold."""
    generator = random.Random(seed)
    result = []
    for _ in range(count):
        n = generator.choice([1, 2, 3, 5, 8, 12, 20, 25, 33, longest])
        gold = random_tree(generator, n)
        predicted = list(gold) if generator.random() < 0.3 else random_tree(generator, n)
        forms = [generator.choice(FORMS) for _ in range(n)]
        labels = [generator.choice("abc") for _ in range(n)]
        ours = list(labels) if generator.random() < 0.3 else [generator.choice("abc") for _ in range(n)]
        result.append((sentence_of(gold, labels, forms), predicted, ours))
    return result


def naive_punctuation(form):
    return all(unicodedata.category(character).startswith("P") for character in form)
