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


LIMIT = 2**24


def gate(a):
    """How far open a gate is: the logistic function by the continued fraction of the hyperbolic tangent."""
    half = min(max(a / 2, -4.9), 4.9)
    above = half * (135135 + half**2 * (17325 + half**2 * (378 + half**2)))
    return (1 + above / (135135 + half**2 * (62370 + half**2 * (3150 + half**2 * 28)))) / 2


def in_context(vectors, context, units=None):
    """The sums of each word: each layer's cells, times their gates, are added to the vectors; then the output.

    ``context`` are weights of three words for each layer, biases, weights of the output, and the scales of cells and
    gates of each layer and the factor of the output; in training there are no scales, and ``units`` are factors of the
    inputs of each layer.
    """
    layers, biases, output, scales = context
    n, width = len(vectors), len(output)
    for number, (layer, bias) in enumerate(zip(layers, biases, strict=True)):
        kept = [1] * width if units is None else units[number]
        of_cells, of_gates = (1, 1) if scales is None else scales[0][number]
        given = [[x * factor for x, factor in zip(vector, kept, strict=True)] for vector in vectors]

        def product(i, k, given=given, layer=layer, bias=bias):
            beside = [x for j in (i - 1, i, i + 1) for x in (given[j] if 0 <= j < n else [0] * width)]
            return bias[k] + sum(x * layer[e][k] for e, x in enumerate(beside))

        found = [list(vector) for vector in vectors]
        for k in range(width):
            order, cell = range(n) if k < (width + 1) // 2 else reversed(range(n)), 0
            for i in order:
                remains, shown = (gate(product(i, j * width + k) * of_gates) for j in (1, 2))
                cell = remains * cell + (1 - remains) * (product(i, k) * of_cells)
                found[i][k] += shown * cell if scales is None else round(shown * cell)
        vectors = found if scales is None else [[max(-LIMIT, min(LIMIT, x)) for x in row] for row in found]
    sums = [
        [sum(x * row[k] for x, row in zip(vector, output, strict=True)) for k in range(len(output[0]))]
        for vector in vectors
    ]
    if scales is None:
        return sums
    return [[max(-LIMIT, min(LIMIT, round(x * scales[1]))) for x in row] for row in sums]


def sums_in_context(sentence, vocabularies, index, weights, context, dropped=None, units=None):
    """The sums of each node of a sentence; None without layers over words in context."""
    words = weights[0]
    if context is None:
        return None
    vectors = []
    for node in range(len(sentence) + 1):
        rows = rows_of(sentence, vocabularies, index, node, None, None if dropped is None else dropped[node])
        vectors.append([sum(words[r][k] for r in rows) for k in range(len(words[0]))])
    return in_context(vectors, context, units)


def hidden(sentence, vocabularies, index, weights, pair, tagged=(None, None), dropped=None, sums=None):
    """The hidden layer of an arc before the positive part; ``tagged`` are the columns of its two words.

    ``sums`` are the sums of all words, if they come from layers over words in context.
    """
    words, between, positions, output, _ = weights
    h, m = pair
    heads = rows_of(sentence, vocabularies, index, h, tagged[0], None if dropped is None else dropped[h])
    modifiers = rows_of(sentence, vocabularies, index, m, tagged[1], None if dropped is None else dropped[m])
    tags = [number_of(sentence, vocabularies, i, "pos") for i in range(min(h, m) + 1, max(h, m))]
    size, found = len(output), []
    for k in range(size):
        total = positions[position_of(h, m)][k] + sum(between[t][k] for t in tags)
        if sums:
            total += sums[h][k] + sums[m][size + k]
        else:
            total += sum(words[r][k] for r in heads) + sum(words[r][size + k] for r in modifiers)
        found.append(total)
    return found


def score(sentence, vocabularies, index, weights, pair, tagged=(None, None), dropped=None, mask=None, sums=None):
    """The score of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, tagged, dropped, sums)
    return sum(max(x, 0) * w * factor for x, w, factor in zip(layer, weights[3], mask, strict=True))


def label_scores(sentence, vocabularies, index, weights, pair, dropped=None, mask=None, sums=None):
    """The score of each label of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, dropped=dropped, sums=sums)
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
