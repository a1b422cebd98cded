"""Kernels that train the network over arcs and labels: losses, their gradients, and steps on the rows of words."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import follow_row
from nonproj.scoring.network import position_code
from nonproj.scoring.vocabulary import PADDING
from nonproj.types import Float32s, Float64s, Int32s, Int64s, Uint8s


@kernel
def differences(head: Int32s, modifier: Int32s, heads: Int32s, scores: Float64s, delta: Float64s) -> tuple[float, int]:
    """Write gold minus probability of each arc; return the loss, and the number of words with a wrong best head."""
    n_nodes = heads.shape[0]
    best, total, choice = np.full(n_nodes, -np.inf), np.zeros(n_nodes), np.zeros(n_nodes, np.int64)
    for a in range(head.shape[0]):
        if scores[a] > best[modifier[a]]:
            best[modifier[a]] = scores[a]
            choice[modifier[a]] = head[a]
    for a in range(head.shape[0]):
        delta[a] = np.exp(scores[a] - best[modifier[a]])
        total[modifier[a]] += delta[a]
    loss, wrong = 0.0, 0
    for a in range(head.shape[0]):
        m = modifier[a]
        if m > 0 and heads[m] < 0:
            delta[a] = 0.0
            continue
        delta[a] = -delta[a] / total[m]
        if head[a] == heads[m]:
            loss -= scores[a] - best[m] - np.log(total[m])
            delta[a] += 1.0
            wrong += choice[m] != head[a]
    return loss, wrong


@kernel
def propagate(
    arcs: tuple[Int32s, Int32s],
    delta: Float64s,
    values: tuple[Float32s, Float32s, Float32s, Float32s],
    gradient: tuple[Float32s, Float32s, Float32s, Float32s],
) -> None:
    """Add the gradient of the words' sums, of the prefix sums, of the positions and of the output."""
    head, modifier = arcs
    sums, before, positions, output = values
    of_sums, of_before, of_positions, of_output = gradient
    size = output.shape[0]
    for a in range(head.shape[0]):
        h, m, d = head[a], modifier[a], np.float32(delta[a])
        code, last, low = position_code(h, m, h == 0), max(h, m), min(h, m) + 1
        for k in range(size):
            x = sums[h, k] + sums[m, size + k] + positions[code, k] + (before[last, k] - before[low, k])
            if x > 0:
                g = d * output[k]
                of_output[k] += d * x
                of_sums[h, k] += g
                of_sums[m, size + k] += g
                of_positions[code, k] += g
                of_before[last, k] += g
                of_before[low, k] -= g


@kernel
def propagate_labels(
    gold: tuple[Int32s, Int64s],
    values: tuple[Float32s, Float32s, Float32s, Float32s],
    mask: Float32s,
    gradient: tuple[Float32s, Float32s, Float32s],
    of_labels: Float32s,
) -> float:
    """Add the gradient of the log-probabilities of the gold arcs' labels; return the loss."""
    (heads, labels), (sums, before, positions, table) = gold, values
    of_sums, of_before, of_positions = gradient
    (n_labels, size), loss = table.shape, 0.0
    layer, back, scores = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(n_labels)
    for m in range(1, heads.shape[0]):
        h = heads[m]
        if h < 0 or labels[m - 1] < 0:
            continue
        code, last, low = position_code(h, m, h == 0), max(h, m), min(h, m) + 1
        for k in range(size):
            x = sums[h, k] + sums[m, size + k] + positions[code, k] + (before[last, k] - before[low, k])
            layer[k] = max(x, np.float32(0.0)) * mask[k]
        for i in range(n_labels):
            scores[i] = 0.0
            for k in range(size):
                scores[i] += table[i, k] * layer[k]
        total = scores.max()
        total += np.log(np.exp(scores - total).sum())
        loss += total - scores[labels[m - 1]]
        back[:] = 0.0
        for i in range(n_labels):
            d = np.float32((1.0 if i == labels[m - 1] else 0.0) - np.exp(scores[i] - total))
            for k in range(size):
                of_labels[i, k] += d * layer[k]
                back[k] += d * table[i, k]
        for k in range(size):
            if layer[k] > 0:
                g = back[k] * mask[k]
                of_sums[h, k] += g
                of_sums[m, size + k] += g
                of_positions[code, k] += g
                of_before[last, k] += g
                of_before[low, k] -= g
    return loss


@kernel
def follow_words(
    places: tuple[Int32s, Int32s, Int32s],
    feat_start: int,
    index: Int32s,
    words: tuple[Int32s, Int32s, Int32s],
    dropped: Uint8s,
    gradient: Float32s,
    rate: float,
    table: Float32s,
    squares: Float32s,
) -> None:
    """Make a step of AdaGrad on all rows of each word."""
    attribute, offset, start = places
    atoms, first, feat = words
    n_columns = attribute.shape[0]
    for i in range(gradient.shape[0]):
        for c in range(n_columns):
            row = index[start[c] + atoms[i + PADDING + offset[c], attribute[c]]]
            if row and not dropped[i, c]:
                follow_row(gradient[i], rate, table[row], squares[row])
        for f in range(first[i], first[i + 1]):
            row = index[feat_start + feat[f]]
            if row and not dropped[i, n_columns]:
                follow_row(gradient[i], rate, table[row], squares[row])
