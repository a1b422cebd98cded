"""The parts of each type that a sentence's arcs allow, as rows of words and geometrical codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.types import ArcSpace, PartIndex

DIRECTION, DISTANCE = 1, 2
"""Numbers of geometrical codes; 0 is none, and 2 is the order of the three words for grandparent parts."""


class Parts(NamedTuple):
    """The parts of one type in one sentence.

    Attributes
    ----------
    nodes : ndarray of shape (P, n_slots), int32
        The words of each part; node ``N`` stands for START (or none) and ``N + 1`` for END.
    codes : ndarray of shape (P, 3), uint8
        The three geometrical codes of each part, as in `nonproj.scoring.templates.CODES`.
    """

    nodes: np.ndarray
    codes: np.ndarray


def arc_parts(arcs: ArcSpace) -> Parts:
    """Return the arcs as parts of words (head, modifier)."""
    nodes = np.empty((arcs.head.shape[0], 2), np.int32)
    codes = np.empty((nodes.shape[0], 3), np.uint8)
    _fill_arcs(arcs, nodes, codes)
    return Parts(nodes, codes)


def sibling_parts(arcs: ArcSpace, index: PartIndex) -> Parts:
    """Return the transitions of all half-automata as parts of words (head, previous sibling, modifier)."""
    nodes = np.empty((index.sibling_start[-1], 3), np.int32)
    codes = np.empty((nodes.shape[0], 3), np.uint8)
    _fill_siblings(arcs, index, nodes, codes)
    return Parts(nodes, codes)


def grandparent_parts(arcs: ArcSpace, index: PartIndex) -> Parts:
    """Return the chains as parts of words (grandparent, head, modifier)."""
    nodes = np.empty((index.grandparent_start[-1], 3), np.int32)
    codes = np.empty((nodes.shape[0], 3), np.uint8)
    _fill_grandparents(arcs, index, nodes, codes)
    return Parts(nodes, codes)


@kernel
def _distance_bin(distance):
    """Bins of McDonald et al. 2005: 1, 2, 3, 4, 5 to 9, 10 and more."""
    if distance < 5:
        return max(distance, 1) - 1
    return 4 if distance < 10 else 5


@kernel
def _fill_arcs(arcs, nodes, codes):
    """Words and codes of every arc."""
    for a in range(nodes.shape[0]):
        h, m = arcs.head[a], arcs.modifier[a]
        right = 1 if m > h else 0
        nodes[a, 0] = h
        nodes[a, 1] = m
        codes[a, 0] = 0
        codes[a, DIRECTION] = 1 + right
        codes[a, DISTANCE] = 3 + 2 * _distance_bin(abs(h - m)) + right


@kernel
def _fill_siblings(arcs, index, nodes, codes):
    """Words and codes of every transition; the distance is between the siblings (head and sibling at the ends)."""
    n_nodes = arcs.start.shape[0] - 1
    for q in range(2 * n_nodes):
        h, right = q // 2, q % 2
        first = arcs.out_start[q]
        k = arcs.out_start[q + 1] - first
        part = index.sibling_start[q]
        for b in range(1, k + 2):
            m = arcs.modifier[arcs.out[first + b - 1]] if b <= k else n_nodes + 1
            for a in range(b):
                s = arcs.modifier[arcs.out[first + a - 1]] if a > 0 else n_nodes
                near = h if a == 0 else s
                far = near if b == k + 1 else m
                nodes[part, 0] = h
                nodes[part, 1] = s
                nodes[part, 2] = m
                codes[part, 0] = 0
                codes[part, DIRECTION] = 1 + right
                codes[part, DISTANCE] = 3 + 2 * _distance_bin(abs(far - near)) + right
                part += 1


@kernel
def _fill_grandparents(arcs, index, nodes, codes):
    """Words and codes of every chain; the order code tells which of the three words stands before which."""
    n_nodes = arcs.start.shape[0] - 1
    for h in range(1, n_nodes):
        part = index.grandparent_start[h]
        for i in range(arcs.start[h], arcs.start[h + 1]):
            g = arcs.head[i]
            for j in range(arcs.out_start[2 * h], arcs.out_start[2 * h + 2]):
                m = arcs.modifier[arcs.out[j]]
                nodes[part, 0] = g
                nodes[part, 1] = h
                nodes[part, 2] = m
                codes[part, 0] = 0
                codes[part, DIRECTION] = 1 + (1 if m > h else 0)
                codes[part, 2] = 3 + 4 * (1 if h > g else 0) + 2 * (1 if m > h else 0) + (1 if m > g else 0)
                part += 1
