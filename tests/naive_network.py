"""The network over arcs and labels from its definition: no prefix sums, no tables of sums, Python's numbers."""

from __future__ import annotations

import math

from naive_scoring import FIRST, number_of

REACH = [("form", 0), ("lemma", 0), ("pos", 3), ("suffix2", 0), ("suffix3", 1), ("shape", 0), ("key", 2), ("morph", 2)]
REACH += [("vector", 0)]
"""The attributes of a word, and how far around it each is looked up."""

POSITIONS = 30


def columns_of(vocabularies):
    """The columns, attribute and offset, in the order of their entries in the index."""
    return [(name, k) for name, reach in REACH for k in range(-reach, reach + 1) if name in vocabularies]


def entries(sentence, vocabularies, node, row=None):
    """The entries of a node in the index: one for each column, then a list of those of its features.

    ``row`` replaces the columns of the node itself.
    """
    n, start, found = len(sentence), 0, []
    for name, k in columns_of(vocabularies):
        beside = node + k
        number = number_of(sentence, vocabularies, beside, name, row if k == 0 else None) if 0 <= beside <= n else 0
        found.append(start + number)
        start += FIRST + len(vocabularies[name])
    feats = (row or sentence.rows[node - 1])[5] if node else "_"
    known = vocabularies["feat"]
    return found, [start + FIRST + known.index(f) for f in feats.split("|") if feats != "_" and f in known]


def position_of(h, m):
    """Ten classes of distance, to the right, to the left, and from the root."""
    distance = abs(h - m)
    longest = [1, 2, 3, 4, 5, 6, 8, 12, 20, math.inf]
    side = 2 if h == 0 else int(h > m)
    return 10 * side + next(i for i, limit in enumerate(longest) if distance <= limit)


def rows_of(sentence, vocabularies, index, node, row=None, dropped=None):
    """The rows of a node that are not left out."""
    columns, feats = entries(sentence, vocabularies, node, row)
    dropped = [0] * (len(columns) + 1) if dropped is None else dropped
    kept = [e for e, out in zip(columns, dropped, strict=False) if not out] + ([] if dropped[-1] else feats)
    return [int(index[e]) for e in kept if index[e]]


def in_context(vectors, context, units=None):
    """What is added to the sums of each word: the positive part of each layer, added to the vectors, then the output.

    ``context`` are weights of three words for each layer, biases, weights of the output, and scales, by which products
    are multiplied and rounded; in training there are no scales, and ``units`` are factors of the units of each layer.
    """
    layers, biases, output, scales = context
    n, width = len(vectors), len(output)
    for number, (layer, bias) in enumerate(zip(layers, biases, strict=True)):
        found = []
        for i in range(n):
            beside = [i - 2**number, i, i + 2**number]
            inputs = [x for j in beside for x in (vectors[j] if 0 <= j < n else [0] * width)]
            row = []
            for k in range(width):
                total = bias[k] + sum(x * layer[e][k] for e, x in enumerate(inputs))
                total = max(total, 0) * units[number][k] if scales is None else round(max(total, 0) * scales[number])
                row.append(vectors[i][k] + total)
            found.append(row)
        vectors = found
    sums = [
        [sum(x * row[k] for x, row in zip(vector, output, strict=True)) for k in range(len(output[0]))]
        for vector in vectors
    ]
    return sums if scales is None else [[round(x * scales[-1]) for x in row] for row in sums]


def added_by_context(sentence, vocabularies, index, weights, context, dropped=None, units=None):
    """What is added to the sums of each node of a sentence; nothing without layers over words in context."""
    words, size = weights[0], len(weights[3])
    if context is None:
        return [[0] * 2 * size for _ in range(len(sentence) + 1)]
    vectors = []
    for node in range(len(sentence) + 1):
        rows = rows_of(sentence, vocabularies, index, node, None, None if dropped is None else dropped[node])
        vectors.append([sum(words[r][k] for r in rows) for k in range(2 * size, len(words[0]))])
    return in_context(vectors, context, units)


def hidden(sentence, vocabularies, index, weights, pair, tagged=(None, None), dropped=None, added=None):
    """The hidden layer of an arc before the positive part; ``tagged`` are the columns of its two words.

    ``added`` is what the contexts add to the sums of all words.
    """
    words, between, positions, output, _ = weights
    h, m = pair
    heads = rows_of(sentence, vocabularies, index, h, tagged[0], None if dropped is None else dropped[h])
    modifiers = rows_of(sentence, vocabularies, index, m, tagged[1], None if dropped is None else dropped[m])
    tags = [number_of(sentence, vocabularies, i, "pos") for i in range(min(h, m) + 1, max(h, m))]
    size, found = len(output), []
    for k in range(size):
        total = positions[position_of(h, m)][k] + sum(words[r][k] for r in heads)
        total += sum(words[r][size + k] for r in modifiers) + sum(between[t][k] for t in tags)
        total += added[h][k] + added[m][size + k] if added else 0
        found.append(total)
    return found


def score(sentence, vocabularies, index, weights, pair, tagged=(None, None), dropped=None, mask=None, added=None):
    """The score of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, tagged, dropped, added)
    return sum(max(x, 0) * w * factor for x, w, factor in zip(layer, weights[3], mask, strict=True))


def label_scores(sentence, vocabularies, index, weights, pair, dropped=None, mask=None, added=None):
    """The score of each label of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, dropped=dropped, added=added)
    return [sum(max(x, 0) * w * factor for x, w, factor in zip(layer, row, mask, strict=True)) for row in weights[4]]


def label_loss(scores, label):
    """Minus the log-probability of a label."""
    return math.log(sum(math.exp(s) for s in scores)) - scores[label]


def loss(scores, pairs, heads):
    """Minus the log-probabilities of the gold heads, each among the candidates of its word."""
    total = 0.0
    for m in range(1, len(heads)):
        among = {h: s for (h, modifier), s in zip(pairs, scores, strict=True) if modifier == m}
        total += math.log(sum(math.exp(s) for s in among.values())) - among[int(heads[m])]
    return total
