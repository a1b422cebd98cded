"""Error tables and figures from their definitions, word by word."""

from types import SimpleNamespace

from judged import naive_punctuation
from naive_crossing import crossing_arcs


def counted_words(sentences, outputs, punctuation):
    """Each word of some gold sentences, with [(head right, label, crosses)] of each output: its heads and labels."""
    words = []
    for number, sentence in enumerate(sentences):
        gold = [int(head) for head in sentence.tree]
        crossing, trees = crossing_arcs(gold), [output[number] for output in outputs]
        crosses = [crossing_arcs([int(head) for head in heads]) for heads, _ in trees]
        for m in range(1, len(gold)):
            row = sentence.rows[m - 1]
            if not punctuation and naive_punctuation(row[1]):
                continue
            word = SimpleNamespace(sentence=number, sentence_length=len(gold) - 1, tag=row[3], label=row[7])
            word.depth, node = 1, m
            while gold[node] != 0:
                word.depth, node = word.depth + 1, gold[node]
            word.arc_length, word.crosses = abs(gold[m] - m) if gold[m] else 0, m in crossing
            word.ours = [
                (heads[m] == gold[m], labels[m - 1], m in own)
                for (heads, labels), own in zip(trees, crosses, strict=True)
            ]
            words.append(word)
    return words


def ratio(flags):
    flags = list(flags)
    return sum(flags) / len(flags) if flags else None


def scores(words, count):
    """Number of words, UAS and LAS of each output."""
    uas = [ratio(word.ours[i][0] for word in words) for i in range(count)]
    las = [ratio(word.ours[i][0] and word.ours[i][1] == word.label for word in words) for i in range(count)]
    return len(words), uas, las
