"""From parts to scores, and the transposed update: ``scores = F w`` and ``w += F' delta``.

A part is a row of words, one for each slot of its templates.  Row by row the kernels add the words' shares of the hash
(`nonproj.scoring.templates`), shift them to places in the weight table, and sum the weights there, or add to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._kernel import inlined_kernel, kernel
from ..types import ArcSpace, PartIndex
from .alphabet import END, MARGIN, START, Tokens
from .templates import TemplateTable

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


class Hashed(NamedTuple):
    """What is needed to look up parts of one type in one sentence.

    Attributes
    ----------
    shares : ndarray of shape (max(n_slots, 3), N + 2, n_templates), uint64
        Each word's share of the hash of each template, in each slot; zeros for a slot that the type of part lacks.
    previous : ndarray of shape (n_between, N), int32
        For each template over the words between, the nearest word before each that has the same attribute; -1: none.
    tokens : Tokens
    table : TemplateTable
    shift : int
        64 less the number of bits of the weight table's size.
    """

    shares: np.ndarray
    previous: np.ndarray
    tokens: Tokens
    table: TemplateTable
    shift: np.uint64


def hash_tokens(tokens: Tokens, table: TemplateTable, n_weights: int) -> Hashed:
    """Compute every word's share of every template's hash.

    Parameters
    ----------
    tokens : Tokens
        Of N nodes.
    table : TemplateTable
        The templates of one type of part.
    n_weights : int
        Size of the weight table, a power of two.
    """
    n_templates = table.salt.shape[0]
    n_slots = (table.term_start.shape[0] - 1) // max(n_templates, 1)
    shares = np.empty((max(n_slots, 3), tokens.n_nodes + 2, n_templates), np.uint64)
    previous = np.empty((table.n_between, tokens.n_nodes), np.int32)
    _hash_tokens(tokens.atoms, table, n_slots, shares, previous)
    return Hashed(shares, previous, tokens, table, np.uint64(64 - (n_weights.bit_length() - 1)))


@kernel
def _hash_tokens(atoms, table, n_slots, shares, previous):
    """Fill ``shares[slot, node, template]``, the salt going with the first slot, and ``previous[i, node]``."""
    n_nodes, n_templates = shares.shape[1], shares.shape[2]
    for slot in range(n_slots):
        for node in range(n_nodes):
            for t in range(n_templates):
                key = table.salt[t] if slot == 0 else np.uint64(0)
                row = slot * n_templates + t
                for i in range(table.term_start[row], table.term_start[row + 1]):
                    if node < n_nodes - 2:
                        atom = atoms[node + MARGIN + table.term_offset[i], table.term_attribute[i]]
                    else:
                        atom = START if node == n_nodes - 2 else END
                    key += table.term_coefficient[i] * np.uint64(atom)
                shares[slot, node, t] = key
    for slot in range(n_slots, shares.shape[0]):
        for node in range(n_nodes):
            for t in range(n_templates):
                shares[slot, node, t] = 0
    for i in range(previous.shape[0]):
        column = table.between_attribute[table.n_plain + i]
        for node in range(previous.shape[1]):
            before = node - 1
            while before >= 0 and atoms[before + MARGIN, column] != atoms[node + MARGIN, column]:
                before -= 1
            previous[i, node] = before


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


def _room(hashed: Hashed) -> np.ndarray:
    """A buffer that holds the places of any one part."""
    table, tokens = hashed.table, hashed.tokens
    places = table.n_plain * table.codes.shape[0]
    places += table.n_between * tokens.n_nodes
    if table.n_feat:
        most = int(np.diff(tokens.feat_start).max(initial=0))
        places += table.n_feat * max(most * most, most)
    return np.empty(max(places, 1), np.uint32)


def quantise(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights as int16, and the unit in which they are given.

    Half the bytes are half the cache misses, and look-ups are little else; the unit is 1/32767 of the largest weight,
    far below what training leaves to chance.

    Examples
    --------
    >>> quantise(np.array([0.5, -2.0, 0.0], np.float32))[0].tolist()
    [8192, -32767, 0]
    """
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    unit = largest / 32767
    return np.rint(weights / unit).astype(np.int16), unit


def score_parts(hashed: Hashed, parts: Parts, weights: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the score of each part.

    Parameters
    ----------
    hashed : Hashed
        From `hash_tokens`, for the same type of part.
    parts : Parts
        P of them.
    weights : ndarray, float32 or int16
        A power of two of them.
    unit : float
        What a weight of 1 stands for.

    Returns
    -------
    ndarray of shape (P,), float64
    """
    scores = np.empty(parts.nodes.shape[0])
    _score_parts(hashed, parts.nodes, parts.codes, weights, float(unit), _room(hashed), scores)
    return scores


def add_parts(
    hashed: Hashed, parts: Parts, delta: np.ndarray, step: float, weights: np.ndarray, total: np.ndarray
) -> None:
    """Add ``delta`` times each part's features to the weights, and ``step`` times that to the averager's total.

    Parameters
    ----------
    hashed, parts
        As for `score_parts`.
    delta : ndarray of shape (P,), float64
        Gold less predicted; parts of delta 0 cost nothing.
    step : float
        The number of the update, as lazy averaging needs it: the average over ``T`` updates is ``weights - total / T``.
    weights, total : ndarray, float32 and float64
        Changed in place.
    """
    _add_parts(hashed, parts.nodes, parts.codes, delta, step, weights, total, _room(hashed))


@inlined_kernel
def _hash_part(shares, nodes, p, keys):
    """Add the shares of part p's words: the key of each template."""
    n_nodes, n_templates = shares.shape[1], shares.shape[2]
    flat = shares.reshape(shares.size)
    first = nodes[p, 0] * n_templates
    second = (n_nodes + nodes[p, 1]) * n_templates
    for t in range(n_templates):
        keys[t] = flat[first + t] + flat[second + t]
    for slot in range(2, nodes.shape[1]):
        further = (slot * n_nodes + nodes[p, slot]) * n_templates
        for t in range(n_templates):
            keys[t] += flat[further + t]


@inlined_kernel
def _places(hashed, nodes, codes, p, keys, places):
    """Write part p's places in the weight table and return how many there are."""
    table, shift = hashed.table, hashed.shift
    n_plain = table.n_plain
    _hash_part(hashed.shares, nodes, p, keys)
    count = 0
    for c in table.codes:
        code = np.uint32(codes[p, c]) << table.code_shift
        for t in range(n_plain):
            places[count + t] = np.uint32(keys[t] >> shift) ^ code
        count += n_plain
    if table.n_between + table.n_feat > 0:
        count = _special_places(table, hashed.tokens, hashed.previous, shift, nodes, codes, p, keys, places, count)
    return count


@inlined_kernel
def _special_places(table, tokens, previous, shift, nodes, codes, p, keys, places, count):
    """Write the places of the templates that are not plain behind the count that are there; return the new count."""
    if table.n_between > 0:
        count = _between_places(table, tokens.atoms, previous, shift, nodes, codes, p, keys, places, count)
    if table.n_feat > 0:
        count = _feat_places(table, tokens.feat_start, tokens.feat, shift, nodes, codes, p, keys, places, count)
    return count


@inlined_kernel
def _between_places(table, atoms, previous, shift, nodes, codes, p, keys, places, count):
    """Places of the templates over the distinct attributes of the words between head and modifier."""
    columns, coefficients = table.between_attribute, table.between_coefficient
    low, high = min(nodes[p, 0], nodes[p, 1]), max(nodes[p, 0], nodes[p, 1])
    code = np.uint32(codes[p, DIRECTION]) << table.code_shift
    for i in range(table.n_between):
        t = table.n_plain + i
        column, coefficient, key = columns[t], coefficients[t], keys[t]
        for b in range(low + 1, high):
            # An attribute counts once: where no earlier word of the span has it.
            if previous[i, b] <= low:
                place = key + coefficient * np.uint64(atoms[b + MARGIN, column])
                places[count] = np.uint32(place >> shift) ^ code
                count += 1
    return count


@inlined_kernel
def _feat_places(table, start, feat, shift, nodes, codes, p, keys, places, count):
    """Places of the templates over single features of the head, of the modifier, or over their pairs."""
    coefficients = table.feat_coefficient
    h, m = nodes[p, 0], nodes[p, 1]
    code = np.uint32(codes[p, DIRECTION]) << table.code_shift
    for t in range(table.n_plain + table.n_between, table.salt.shape[0]):
        of_head, of_modifier = coefficients[0, t], coefficients[1, t]
        n_head = start[h + 1] - start[h] if of_head else 1
        n_modifier = start[m + 1] - start[m] if of_modifier else 1
        for i in range(n_head):
            key = keys[t]
            if of_head:
                key += of_head * np.uint64(feat[start[h] + i])
            for j in range(n_modifier):
                if of_modifier:
                    pair = key + of_modifier * np.uint64(feat[start[m] + j])
                else:
                    pair = key
                places[count] = np.uint32(pair >> shift) ^ code
                count += 1
    return count


@kernel
def _score_parts(hashed, nodes, codes, weights, unit, places, scores):
    """Sum the weights at each part's places.

    Plain templates, nearly all, are neither written down nor counted up in one chain, so that many loads are under way
    at once.
    """
    table, shift, shares, tokens, previous = (
        hashed.table,
        hashed.shift,
        hashed.shares,
        hashed.tokens,
        hashed.previous,
    )
    wanted, n_plain, n_special = table.codes, table.n_plain, table.n_between + table.n_feat
    n_nodes, n_templates = shares.shape[1], shares.shape[2]
    flat = shares.reshape(shares.size)
    keys = np.empty(n_templates, np.uint64)
    for p in range(nodes.shape[0]):
        one = nodes[p, 0] * n_templates
        two = (n_nodes + nodes[p, 1]) * n_templates
        three = 2 * n_nodes * n_templates
        if nodes.shape[1] > 2:
            three += nodes[p, 2] * n_templates
        first, second = np.float64(0.0), np.float64(0.0)
        for c in range(0, wanted.shape[0] - 1, 2):
            code, other = np.uint64(codes[p, wanted[c]]), np.uint64(codes[p, wanted[c + 1]])
            for t in range(n_plain):
                place = (flat[one + t] + flat[two + t] + flat[three + t]) >> shift
                first += weights[place ^ code]
                second += weights[place ^ other]
        if wanted.shape[0] % 2 == 1:
            code = np.uint64(codes[p, wanted[wanted.shape[0] - 1]])
            for t in range(n_plain):
                first += weights[((flat[one + t] + flat[two + t] + flat[three + t]) >> shift) ^ code]
        if n_special > 0:
            for t in range(n_plain, n_templates):
                keys[t] = flat[one + t] + flat[two + t]
            for i in range(_special_places(table, tokens, previous, shift, nodes, codes, p, keys, places, 0)):
                second += weights[places[i]]
        scores[p] = (first + second) * unit


@kernel
def _add_parts(hashed, nodes, codes, delta, step, weights, total, places):
    """Add to the weights at the places of each part whose delta is not zero."""
    keys = np.empty(hashed.table.salt.shape[0], np.uint64)
    for p in range(nodes.shape[0]):
        if delta[p] != 0.0:
            count = _places(hashed, nodes, codes, p, keys, places)
            for i in range(count):
                weights[places[i]] += np.float32(delta[p])
                total[places[i]] += step * delta[p]
