"""The best arborescences of a batch of sentences, from arrays of scores of arcs alone; compiled."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.trees.arborescence import best_arborescence_dense
from nonproj.trees.checks import BAD_SCORE, FOUND
from nonproj.trees.domain import LARGEST, LOW, highest_forbidden
from nonproj.trees.rounding import relative_matrix, score_outward
from nonproj.types import Float32s, Float64s, Int32s, Int64s


@kernel
def decode_batch(
    scores: Float32s | Float64s, lengths: Int64s, single_root: bool, heads: Int32s, totals: Float64s, bounds: Float64s
) -> tuple[int, int]:
    """Write heads, score and bound of each sentence; return the first one that fails, or -1, and its status."""
    for b in range(scores.shape[0]):
        n_nodes = lengths[b] + 1
        if n_nodes == 1:
            continue
        own = np.empty((n_nodes, n_nodes))
        for h in range(n_nodes):
            for m in range(n_nodes):
                own[h, m] = scores[b, h, m]
        if not _settle_domain(own):
            return b, BAD_SCORE
        relative = relative_matrix(own)
        status = best_arborescence_dense(relative, single_root, heads[b, :n_nodes])
        if status != FOUND:
            return b, status
        totals[b], bounds[b] = score_outward(own, relative, heads[b, :n_nodes])
    return -1, FOUND


@kernel
def _settle_domain(scores: Float64s) -> bool:
    """Replace the scores of forbidden arcs by minus infinity; return whether none of the others is too large to add."""
    n_nodes, count, lowest, largest = scores.shape[0], 0, 0.0, 0.0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m:
                lowest = min(lowest, scores[h, m])
                if scores[h, m] > -np.inf:
                    largest = max(largest, abs(scores[h, m]))
    if lowest < LOW:
        values = np.empty(n_nodes * n_nodes)
        for h in range(n_nodes):
            for m in range(1, n_nodes):
                if h != m:
                    values[count] = scores[h, m]
                    count += 1
        highest, largest = highest_forbidden(values[:count]), 0.0
        for h in range(n_nodes):
            for m in range(1, n_nodes):
                if h != m:
                    if scores[h, m] <= highest:
                        scores[h, m] = -np.inf
                    else:
                        largest = max(largest, abs(scores[h, m]))
    return largest <= LARGEST
