"""The network over arcs and labels from its definition: no prefix sums, no tables of sums, Python's numbers."""

import math

import numpy as np
import pytest
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


def rows_of_item(rows, item):
    """The rows of an item of `nonproj.networks.rows.SparseRows`, with their factors."""
    begin, end = rows.start[item : item + 2]
    factors = np.ones(end - begin) if rows.factor is None else rows.factor[begin:end].astype(float)
    return list(zip(rows.row[begin:end].tolist(), factors.tolist(), strict=True))


def sums_of_rows(rows, table):
    """The sum of each item's rows of a table, each times its factor."""
    items, zeros = range(len(rows.start) - 1), np.zeros(len(table[0]))
    return np.array([sum((factor * table[row] for row, factor in rows_of_item(rows, i)), zeros) for i in items])


def gate(x):
    """Opening of a gate: the logistic function by the continued fraction of the hyperbolic tangent.

    The result has the type of the number, float or float32.
    """
    one, two, most, *above, first, second, third = map(type(x), (1, 2, 4.9, 378, 17325, 135135, 28, 3150, 62370))
    half = min(max(x / two, -most), most)
    b = half * half
    fraction = half * (above[2] + b * (above[1] + b * (above[0] + b)))
    return (one + fraction / (above[2] + b * (third + b * (second + b * first)))) / two


def run_units(vectors, product, width):
    """Each word's vector plus its cells times their gates; ``product(i, k)`` is the product ``k`` of word ``i``.

    The first half of the units runs from left to right, the others from right to left.
    """
    n, found = len(vectors), [list(vector) for vector in vectors]
    for k in range(width):
        order, cell = range(n) if k < (width + 1) // 2 else reversed(range(n)), 0
        for i in order:
            new = product(i, k)
            remains, shown = (gate(product(i, j * width + k)) for j in (1, 2))
            cell = remains * type(new)(cell) + (type(new)(1) - remains) * new
            found[i][k] += shown * cell
    return found


def in_training(vectors, context, units):
    """The sums of each word in training.

    ``context`` are weights of three words for each layer, biases and weights of the output; ``units`` are factors of
    the inputs of each layer.
    """
    layers, biases, output = context
    n, width = len(vectors), len(output)
    for layer, bias, kept in zip(layers, biases, units, strict=True):
        given = [[x * factor for x, factor in zip(vector, kept, strict=True)] for vector in vectors]

        def product(i, k, given=given, layer=layer, bias=bias):
            beside = [x for j in (i - 1, i, i + 1) for x in (given[j] if 0 <= j < n else [0] * width)]
            return bias[k] + sum(x * layer[e][k] for e, x in enumerate(beside))

        vectors = run_units(vectors, product, width)
    columns = list(zip(*output, strict=True))
    return [[sum(x * y for x, y in zip(vector, column, strict=True)) for column in columns] for vector in vectors]


def rounded_vector(vector):
    """A vector as integers up to 127, and what a one stands for."""
    largest = max(abs(x) for x in vector)
    factor = np.float32(127) / largest if largest > 1e-30 else 0
    return [round(float(x * factor)) for x in vector], largest / np.float32(127)


def draw_context(rng, layers, width, size):
    """The tables of layers over words in context, of random integers, whose sums are about one."""
    hidden, output = (rng.integers(-127, 128, shape) for shape in ((layers, width, 9 * width), (width, size)))
    scales, bias = 10.0 ** rng.uniform(-3, -1, (layers, 3 * width)), rng.normal(size=(layers, 3 * width))
    tables = hidden, scales, bias, output, 10.0 ** rng.uniform(1, 3, size), np.array([1e-5])
    return [np.float32(table) for table in tables]


def in_context(vectors, context):
    """The sums of each word, by `nonproj.networks.context.ContextWeights`; real numbers are float32."""
    hidden, scales, biases, output, factors, unit = context
    layers, output = np.asarray(hidden, int).tolist(), np.asarray(output, int).tolist()
    n, width = len(vectors), len(output)
    vectors = [[np.float32(x) * unit[0] for x in vector] for vector in vectors]
    for layer, scale, bias in zip(layers, scales, biases, strict=True):
        vectors = [[min(max(x, np.float32(-1e6)), np.float32(1e6)) for x in vector] for vector in vectors]
        given = [rounded_vector(vector) for vector in vectors]

        def product(i, k, given=given, layer=layer, scale=scale, bias=bias):
            total = np.float32(0)
            for j, side in ((i, 1), (i - 1, 0), (i + 1, 2)):
                if 0 <= j < n:
                    integers, size = given[j]
                    added = sum(x * row[side * 3 * width + k] for x, row in zip(integers, layer, strict=True))
                    total = total + size * np.float32(added)
            return total * scale[k] + bias[k]

        vectors = run_units(vectors, product, width)
    sums = []
    for vector in vectors:
        integers, size = rounded_vector([min(max(x, np.float32(-1e6)), np.float32(1e6)) for x in vector])
        row = [sum(x * row[k] for x, row in zip(integers, output, strict=True)) for k in range(len(output[0]))]
        found = [np.float32(x) * size * factor for x, factor in zip(row, factors, strict=True)]
        sums.append([max(-(2**24), min(2**24, round(float(x)))) for x in found])
    return sums


def sums_in_context(sentence, vocabularies, index, weights, context, dropped=None, units=None):
    """The sums of each node of a sentence; None without layers over words in context."""
    words = weights[0]
    if context is None:
        return None
    vectors = []
    for node in range(len(sentence) + 1):
        rows = rows_of(sentence, vocabularies, index, node, None, None if dropped is None else dropped[node])
        vectors.append([sum(words[r][k] for r in rows) for k in range(len(words[0]))])
    return in_context(vectors, context) if units is None else in_training(vectors, context, units)


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


def score(sentence, vocabularies, index, weights, pair, mask=None, **others):
    """The score of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, **others)
    return sum(max(x, 0) * w * factor for x, w, factor in zip(layer, weights[3], mask, strict=True))


def label_scores(sentence, vocabularies, index, weights, pair, mask=None, **others):
    """The score of each label of an arc."""
    mask = mask or [1] * len(weights[3])
    layer = hidden(sentence, vocabularies, index, weights, pair, **others)
    return [sum(max(x, 0) * w * factor for x, w, factor in zip(layer, row, mask, strict=True)) for row in weights[4]]


def label_loss(scores, label):
    """Minus the log-probability of a label."""
    return math.log(sum(math.exp(s) for s in scores)) - scores[label]


def loss(scores, pairs, heads):
    """Minus the log-probabilities of the gold heads, each among the candidates of its word."""
    total = 0.0
    for m in range(1, len(heads)):
        if heads[m] < 0:
            continue
        among = {h: s for (h, modifier), s in zip(pairs, scores, strict=True) if modifier == m}
        total += math.log(sum(math.exp(s) for s in among.values())) - among[int(heads[m])]
    return total


def slope_at(table, place, value, step=1e-6):
    """The derivative of a value by one entry of a table, as a difference; the table stays as it is."""
    sides = []
    for change in (step, -2 * step, step):
        table[place] += change
        sides.append(value())
    return (sides[0] - sides[1]) / (2 * step)


def check_gradients(value, tables, gradients, random, count):
    """Compare what a step adds to tables with differences of a loss, at random places where it adds and anywhere."""
    for table, gradient in zip(tables, gradients, strict=True):
        for places in (np.argwhere(gradient), np.argwhere(np.ones(gradient.shape))):
            for place in map(tuple, random.permutation(places)[:count]):
                slope = slope_at(table, place, lambda: value(*tables), 1e-5)
                assert gradient[place] == pytest.approx(-slope, rel=1e-3, abs=1e-3)
