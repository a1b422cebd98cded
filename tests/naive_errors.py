"""Error tables from their definitions, word by word."""

import unicodedata

from naive_crossing import crossing_arcs


def counted_words(sentences, outputs, punctuation):
    """Each word's depth, lengths of gold arc and sentence, crossing, tag, gold label, [(head right, label)]."""
    words = []
    for number, sentence in enumerate(sentences):
        gold = [int(head) for head in sentence.tree]
        crossing = crossing_arcs(gold)
        for m in range(1, len(gold)):
            form = sentence.rows[m - 1][1]
            if not punctuation and all(unicodedata.category(character).startswith("P") for character in form):
                continue
            depth, node = 1, m
            while gold[node] != 0:
                depth, node = depth + 1, gold[node]
            length = abs(gold[m] - m) if gold[m] else 0
            ours = [(heads[m] == gold[m], labels[m - 1]) for heads, labels in (output[number] for output in outputs)]
            tag, label = sentence.rows[m - 1][3], sentence.rows[m - 1][7]
            words.append((depth, length, len(gold) - 1, m in crossing, tag, label, ours))
    return words


def ratio(flags):
    flags = list(flags)
    return sum(flags) / len(flags) if flags else None


def scores(words, count):
    """Number of words, UAS and LAS of each output."""
    uas = [ratio(word[6][i][0] for word in words) for i in range(count)]
    las = [ratio(word[6][i][0] and word[6][i][1] == word[5] for word in words) for i in range(count)]
    return len(words), uas, las
