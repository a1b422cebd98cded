"""Random gold sentences and texts, and trees and analyses that are judged against them."""

import random
import unicodedata

import numpy as np

from nonproj.evaluation.scores import Evaluation
from nonproj.types import Sentence

TAGS, LABELS, LEMMAS = ("NOUN", "VERB", "X"), ("nsubj", "obl:arg", "obl", "case", "punct"), ("_", "a", "b")
FEATURES = ("Case=Nom", "Case=Acc", "Number=Sing", "Own=Yes")
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
    words = enumerate(columns, 1)
    rows = [[str(i), form, "_", tag, "_", "_", str(h), label, "_", "_"] for i, (form, tag, h, label) in words]
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


def evaluated(data):
    """The evaluation of such trees."""
    evaluation = Evaluation()
    for sentence, heads, labels in data:
        evaluation.add(sentence, np.array(heads[1:]), iter(labels))
    return evaluation


def naive_punctuation(form):
    return all(unicodedata.category(character).startswith("P") for character in form)


def _analysis(chance: random.Random, text: str, pieces: list[int]) -> str:
    """CoNLL-U of a text in sentences, tokens and words, some of them on the given boundaries, the rest drawn."""
    blocks, position = [], 0
    while position < len(text):
        size = min(chance.choice((4, 8)) if chance.random() < 0.6 else chance.randint(1, 12), len(text) - position)
        tokens, end = [], position + size
        while position < end:
            length = min(pieces[position] if chance.random() < 0.8 else chance.choice((1, 2, 3)), end - position)
            form = text[position : position + length]
            many = chance.random() < (0.5 if form.startswith("A") else 0.05)  # words may be equal to each other
            words = chance.choices((form, form[:1], "x", "A", "a"), k=chance.randint(2, 3)) if many else [form]
            tokens.append((form, words))
            position += length
        blocks.append(_block(chance, tokens))
    return "".join(blocks)


def _block(chance: random.Random, tokens: list[tuple[str, list[str]]]) -> str:
    """A sentence with drawn tags and a drawn tree, in which many heads are those of the word before."""
    n = sum(len(words) for _, words in tokens)
    lines, number, root = [], 0, chance.randint(1, n)
    for form, words in tokens:
        if len(words) > 1:
            lines.append(f"{number + 1}-{number + len(words)}\t{form}" + "\t_" * 8)
        for word in words:
            number += 1
            head = 0 if number == root else number - 1 if number > root else number + 1
            if abs(number - root) > 1 and chance.random() < 0.3:
                head = chance.randint(root, number - 1) if number > root else chance.randint(number + 1, root)
            label = "root" if head == 0 else chance.choice(LABELS)
            tags = [chance.choice(LEMMAS), *(TAGS[0] if chance.random() < 0.8 else chance.choice(TAGS) for _ in "ux")]
            features = "|".join(sorted({chance.choice(FEATURES[:2]), *chance.sample(FEATURES[2:], 1)})) or "_"
            lines.append("\t".join([str(number), word, *tags, features, str(head), label, "_", "_"]))
    return "\n".join(lines) + "\n\n"


def analyses(seed: int, size: int = 60) -> tuple[str, str, str]:
    """Three analyses of a text."""
    chance = random.Random(seed)
    text = "".join(chance.choice("abA.?") for _ in range(size))
    pieces = [chance.choice((1, 2, 2, 4)) for _ in text]
    first, second, third = (_analysis(chance, text, pieces) for _ in range(3))
    return first, second, third
