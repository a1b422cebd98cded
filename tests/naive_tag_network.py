"""The network that scores tags, from its definition: n-gram by n-gram and part by part."""

import math

from naive_tagging import text_hash, units_of


def entries(form, shape):
    """The entries of the index for a form: the form's, its shape's, those of its n-grams of up to six characters."""
    lower = form.lower()
    padded = ["<", *lower, ">"]
    grams = ["".join(padded[i : i + k]) for k in range(1, 7) for i in range(len(padded) - k + 1)]
    return [text_hash(text) >> 14 for text in [f"={lower}", f"#{shape}", *grams]]


def vector(rows, table, kept=None):
    """The vector of a form: its own row, and the others by the square root of their number."""
    width = len(table[0])
    kept = [1.0] * len(rows) if kept is None else kept
    factors = [1.0] + [1.0 / math.sqrt(len(rows) - 1) for _ in rows[1:]]
    used = [(factor * keep, table[row]) for row, factor, keep in zip(rows, factors, kept, strict=True) if row]
    return [sum(factor * row[d] for factor, row in used) for d in range(width)]


def layer(vectors, i, hidden, bias, mask=None, added=None):
    """The hidden layer of word ``i``; ``vectors[-1]`` is that of what is outside, ``added`` are sums from contexts."""
    n, size = len(vectors) - 1, len(bias)
    sums = [x + y for x, y in zip(bias, added or [0.0] * size, strict=True)]
    for matrix, j in zip(hidden, (i - 1, i, i + 1), strict=True):
        around = vectors[j] if 0 <= j < n else vectors[-1]
        sums = [sums[k] + sum(x * row[k] for x, row in zip(around, matrix, strict=True)) for k in range(size)]
    mask = [1.0] * size if mask is None else mask
    return [max(x, 0.0) * factor for x, factor in zip(sums, mask, strict=True)]


def score(hidden_layer, tagset, tag, output):
    """The score of a tag: the products of the hidden layer with the output weights of its parts."""
    return sum(
        x * weight for unit, _ in units_of(tagset, tag) for x, weight in zip(hidden_layer, output[unit], strict=True)
    )


def loss(vectors, hidden, bias, output, tagset, gold, masks, added):
    """Minus the log-probability of the gold tags; None for a word that is not learnt."""
    total = 0.0
    for i, tag in enumerate(gold):
        if tag is not None:
            found = layer(vectors, i, hidden, bias, masks[i], added[i])
            scores = {other: score(found, tagset, other, output) for other in tagset.tags}
            largest = max(scores.values())
            total += largest + math.log(sum(math.exp(x - largest) for x in scores.values())) - scores[tag]
    return total
