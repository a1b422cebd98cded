"""A preconditioner of the subgradient method for cities in clusters: each cluster's multipliers also move as one.

Where clusters are far apart, the best multipliers of a cluster's nodes differ by little from each other and by much
from zero.  Plain subgradients change few nodes at a time, and need many iterations to move the whole cluster.  With

    direction = sum over clusters C of scale[C] * (sum of the subgradient over C) * (indicator of C)

the method is the plain one in other coordinates: a multiplier for each cluster of a hierarchy.  The clusters are those
of single linkage: the components that Kruskal's algorithm meets on the way to a minimum spanning tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s


class Preconditioner(NamedTuple):
    """A positive definite matrix: the sum over clusters of scale times indicator times indicator transposed.

    Attributes
    ----------
    parent : ndarray of shape (2 n - 1,), int64
        For each cluster the smallest one that contains it; that of the last, which has all nodes, is the last itself.
        The first ``n`` clusters are the nodes, and each cluster comes before its parent.
    scale : ndarray of shape (2 n - 1,), float64
    """

    parent: np.ndarray
    scale: np.ndarray


def plain(n: int) -> Preconditioner:
    """Return the identity: the subgradient is the direction.

    Examples
    --------
    >>> precondition(plain(3), np.array([0.0, -1.0, 2.0])).tolist()
    [0.0, -1.0, 2.0]
    """
    return Preconditioner(np.full(2 * n - 1, 2 * n - 2), np.repeat([1.0, 0.0], [n, n - 1]))


def by_clusters(weights: np.ndarray) -> Preconditioner:
    """Return the preconditioner of a problem's clusters by single linkage.

    The scale of a cluster is the square root of its width: the weight at which it joins another cluster, less the
    weight at which it was formed (the "moat" of Jünger and Pulleyblank 1993).  The width of a node is at least the
    median of all nodes.

    Examples
    --------
    Two pairs of nodes, far apart: an excess of edges at the first pair moves both of its nodes.

    >>> places = np.array([0, 1, 26, 30])
    >>> found = by_clusters(abs(places[:, None] - places))
    >>> found.parent.tolist(), (found.scale**2).round(9).tolist()
    ([4, 4, 5, 5, 6, 6, 6], [2.5, 2.5, 4.0, 4.0, 24.0, 21.0, 0.0])
    >>> precondition(found, np.array([0.0, -1.0, 0.0, 0.0])).round(2).tolist()
    [-4.9, -6.48, 0.0, 0.0]
    """
    n = len(weights)
    distance = weights - min(weights.min(), 0.0)
    np.fill_diagonal(distance, 0.0)
    parent, height = np.full(2 * n - 1, 2 * n - 2), np.zeros(2 * n - 1)
    for k, (left, right, joined, _) in enumerate(linkage(squareform(distance, checks=False), "single"), n):
        parent[[int(left), int(right)]], height[k] = k, joined
    width = height[parent] - height
    near = width[:n]
    width[:n] = np.maximum(near, np.median(near[near > 0.0]) if near.any() else 1.0)
    return Preconditioner(parent, np.sqrt(width))


@kernel
def precondition_into(preconditioner: Preconditioner, slope: Float64s, sums: Float64s, direction: Float64s) -> float:
    """Write the direction for a subgradient, with ``sums`` as working memory; return their inner product."""
    parent, scale = preconditioner
    n, last = len(slope), len(parent) - 1
    for c in range(last + 1):
        sums[c] = slope[c] if c < n else 0.0
    for c in range(last):
        sums[parent[c]] += sums[c]
    product = 0.0
    for c in range(last + 1):
        product += scale[c] * sums[c] * sums[c]
    sums[last] *= scale[last]
    for c in range(last - 1, -1, -1):
        sums[c] = sums[parent[c]] + scale[c] * sums[c]
        if c < n:
            direction[c] = sums[c]
    return product


def precondition(preconditioner: Preconditioner, slope: np.ndarray) -> np.ndarray:
    """Return the direction for a subgradient, float64[n]."""
    direction = np.zeros(len(slope))
    precondition_into(preconditioner, slope, np.zeros(len(preconditioner.parent)), direction)
    return direction
