"""Confidence from the definitions: the trees near a tree, additive models, calibration errors."""

import math

import numpy as np
from naive_trees import is_tree


def nearby_trees(arcs, heads):
    """Trees that differ from a tree in one arc, or in two of which one takes the other's head."""
    candidates = set(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    heads = [int(h) for h in heads]
    for h, m in candidates:
        other = [*heads]
        if h != heads[m]:
            other[m] = h
            if is_tree(other):
                yield other
            elif (heads[m], h) in candidates:
                other[h] = heads[m]
                if is_tree(other):
                    yield other


def costs(arcs, heads, score, single_root):
    """By how much the best nearby tree with another head of each word scores less; ``score`` is of a tree."""
    found = [math.inf] * len(heads)
    for other in nearby_trees(arcs, heads):
        if single_root and other.count(0) != 1:
            continue
        for m in range(1, len(heads)):
            if other[m] != heads[m]:
                found[m] = min(found[m], score(heads) - score(other))
    return found


def text_features(heads, margins, large):
    """Token, token of head, begin, end, inside, between, boundary of root: from ``Sentence.boundary_margins``."""
    n, rows = len(heads) - 1, []
    begin, end = margins[0][1], margins[n][1]
    for m in range(1, n + 1):
        h = heads[m]
        inner = [-margins[k][1] for k in range(1, n)]
        passed = [-margins[k][1] for k in range(min(h, m), max(h, m))] if h else inner
        rows.append([
            margins[m][0], margins[h][0] if h else large, begin, end, min([large, *inner]), min([large, *passed]),
            large if h else min(begin, end),
        ])  # fmt: skip
    return rows


def additive(model, features, label, tag):
    """The log-odds of one word."""
    total = model.bias[0] + sum(np.interp(x, k, v) for x, k, v in zip(features, model.knots, model.values, strict=True))
    if 0 <= label < len(model.labels):
        total += model.labels[label]
    if 0 <= tag < len(model.tags):
        total += model.tags[tag]
    return total


def calibration_error(probabilities, right, bins):
    """The expected calibration error over bins of equal width."""
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = [(p, r) for p, r in zip(probabilities, right, strict=True) if low <= p < high or (p == 1.0 == high)]
        if inside:
            mean_p = sum(p for p, _ in inside) / len(inside)
            mean_r = sum(r for _, r in inside) / len(inside)
            total += len(inside) / len(right) * abs(mean_p - mean_r)
    return total


def area(probabilities, right):
    """The area under the ROC curve: how often a right word is more probable than a wrong one, ties half."""
    good = [p for p, r in zip(probabilities, right, strict=True) if r]
    bad = [p for p, r in zip(probabilities, right, strict=True) if not r]
    return sum((g > b) + 0.5 * (g == b) for g in good for b in bad) / (len(good) * len(bad))
