"""Hashes of a part's words: the places of its features in a weight table.

The hash of a part under a template (`nonproj.linear.hashing`) is the sum of its words' shares, each computed once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import share
from nonproj.linear.perceptron import AveragedArrays, change_weight
from nonproj.parts.geometry import DIRECTION
from nonproj.scoring.joined import JoinedTokens, join
from nonproj.scoring.prefetch import prefetch
from nonproj.scoring.templates import TemplateTable
from nonproj.scoring.vocabulary import END, PADDING, START, Tokens
from nonproj.types import Float64s, Int32s, Int64s, Uint8s, Uint32s, Uint64s


class PlainTemplates(NamedTuple):
    """One sentence under the plain templates, in few arrays because passing an array to a kernel takes time.

    Attributes
    ----------
    shares : ndarray of shape (n_slots, N + 2, n_templates), uint32
        Each word's share of the hash of each template, in each slot.
    n_plain : int
        Number of plain templates, which come first; the others are over sets of values.
    codes : ndarray, int32
        Columns of the geometric codes; each plain template is looked up once under each.
    shift : uint32
        32 minus log2 of the weight table's size.
    code_shift : uint32
        Shift of codes, as in `TemplateTable`.
    """

    shares: np.ndarray
    n_plain: int
    codes: np.ndarray
    shift: np.uint32
    code_shift: np.uint32


class SetTemplates(NamedTuple):
    """Tokens and templates for templates over sets: the words between, and single morphological features.

    Attributes
    ----------
    firsts : ndarray of shape (n_between, N, D + 1), int32
        For each template over the words between, and each word: the later words whose value of the attribute has not
        occurred since that word, in order, then the sentence's end.  The others are in `Tokens` and `TemplateTable`.
    """

    atoms: np.ndarray
    feat_start: np.ndarray
    feat: np.ndarray
    firsts: np.ndarray
    attribute: np.ndarray
    coefficient: np.ndarray
    feat_coefficient: np.ndarray
    n_between: int


class WordHashes(NamedTuple):
    """Hashes of the words of a sentence, or of a batch, under the templates of one part type."""

    plain: PlainTemplates
    sets: SetTemplates


class Places(NamedTuple):
    """Places in a weight table, uint32: those of part ``p`` are ``places[start[p]:start[p + 1]]``, with start int64."""

    start: np.ndarray
    places: np.ndarray


_NO_FIRSTS = np.empty((0, 0, 0), np.int32)

BLOCK = 64
"""Number of parts whose places are written before any is read: reading a place right after writing it stalls the
processor, and the places of a whole sentence do not fit into the first-level cache."""


def hash_tokens(tokens: Tokens | JoinedTokens, table: TemplateTable, n_weights: int) -> WordHashes:
    """Compute every word's share of the hash of every template, for ``n_weights`` weights, a power of two."""
    batch = tokens if isinstance(tokens, JoinedTokens) else join([tokens])
    n_templates = table.salt.shape[0]
    n_slots = (table.term_start.shape[0] - 1) // max(n_templates, 1)
    shares = np.empty((n_slots, batch.n_nodes + 2, n_templates), np.uint32)
    terms = (table.term_start, table.term_offset, table.term_attribute, table.term_coefficient)
    _hash_tokens(batch.atoms, batch.end, table.salt, *terms, shares)
    shift = np.uint32(32 - (n_weights.bit_length() - 1))
    plain = PlainTemplates(shares, table.n_plain, table.codes, shift, table.code_shift)
    firsts, columns = _NO_FIRSTS, table.between_attribute
    if table.n_between:
        between = columns[table.n_plain : table.n_plain + table.n_between]
        firsts = _find_firsts(batch.atoms, batch.first, batch.end, between)
    coefficients = table.between_coefficient, table.feat_coefficient
    sets = SetTemplates(batch.atoms, batch.feat_start, batch.feat, firsts, columns, *coefficients, table.n_between)
    return WordHashes(plain, sets)


@kernel
def _hash_tokens(
    atoms: Int32s,
    end: Int32s,
    salt: Uint64s,
    start: Int32s,
    offset: Int32s,
    attribute: Int32s,
    coefficient: Uint64s,
    shares: Uint32s,
) -> None:
    """Fill ``shares[slot, node, template]``, `BLOCK` nodes at a time, then STARTs and ENDs."""
    n_slots, n_nodes, n_templates = shares.shape
    columns, sums = np.empty((atoms.shape[1], atoms.shape[0]), np.uint32), np.empty(BLOCK, np.uint32)
    for row in range(atoms.shape[0]):
        for column in range(atoms.shape[1]):
            columns[column, row] = atoms[row, column]
    for first in range(0, n_nodes - 2, BLOCK):
        size = min(BLOCK, n_nodes - 2 - first)
        for k in range(n_slots * n_templates):
            slot, t = k // n_templates, k % n_templates
            sums[:] = share(salt[t], 1) if slot == 0 else np.uint32(0)
            for i in range(start[k], start[k + 1]):
                begin = first + PADDING + offset[i]
                _add_shares(coefficient[i], columns[attribute[i], begin : begin + size], sums)
            for j in range(size):
                shares[slot, first + j, t] = sums[j]
    for k in range(n_slots * n_templates):
        slot, t = k // n_templates, k % n_templates
        for atom in (START, END):
            key = share(salt[t], 1) if slot == 0 else np.uint32(0)
            for i in range(start[k], start[k + 1]):
                key = np.uint32(key + share(coefficient[i], atom))
            for node in end:
                shares[slot, node + atom - START, t] = key


@kernel
def _add_shares(coefficient: np.uint64, column: Uint32s, sums: Uint32s) -> None:
    """Add the shares of an attribute of some nodes to their sums."""
    for j in range(column.shape[0]):
        sums[j] += share(coefficient, column[j])


@kernel
def _find_firsts(atoms: Int32s, first: Int32s, end: Int32s, columns: Int32s) -> Int32s:
    """Return the array ``firsts`` of `SetTemplates`; each list ends with the end of its sentence."""
    n_nodes = atoms.shape[0] - 2 * PADDING
    firsts = np.empty((columns.shape[0], n_nodes, _count_distinct(atoms, first, end, columns) + 1), np.int32)
    for i in range(columns.shape[0]):
        column = columns[i]
        for s in range(first.shape[0]):
            firsts[i, end[s] - 1, 0] = end[s]
            for low in range(end[s] - 2, first[s] - 1, -1):
                # The next word comes first, and replaces the next occurrence of its attribute.
                firsts[i, low, 0] = low + 1
                count, k = 1, 0
                while firsts[i, low + 1, k] < end[s]:
                    word = firsts[i, low + 1, k]
                    if atoms[word + PADDING, column] != atoms[low + 1 + PADDING, column]:
                        firsts[i, low, count] = word
                        count += 1
                    k += 1
                firsts[i, low, count] = end[s]
    return firsts


@kernel
def _count_distinct(atoms: Int32s, first: Int32s, end: Int32s, columns: Int32s) -> int:
    """Return the largest number of different values that the words of a sentence have in one of the columns."""
    seen = np.empty(atoms.shape[0], np.int32)
    most = 0
    for column in columns:
        for s in range(first.shape[0]):
            count = 0
            for word in range(first[s] + 1, end[s]):
                atom, k = atoms[word + PADDING, column], 0
                while k < count and seen[k] != atom:
                    k += 1
                if k == count:
                    seen[count] = atom
                    count += 1
            most = max(most, count)
    return most


def make_places(hashed: WordHashes, nodes: Int32s, codes: Uint8s) -> Places:
    """Return the places of the features of some parts: plain templates, code by code, then those over sets."""
    return Places(*list_places(hashed, nodes, codes))


@kernel
def list_places(hashed: WordHashes, nodes: Int32s, codes: Uint8s) -> tuple[Int64s, Uint32s]:
    """Return the two arrays of the `Places` that `make_places` returns."""
    block = new_block(hashed, nodes.shape[0])
    write_places(hashed, nodes, codes, 0, block, np.empty(0, np.uint8), 0)
    return block.start, block.places[: block.start[-1]]


@kernel
def change_places(listed: Places, change: Float64s, averaged: AveragedArrays) -> None:
    """Add ``change``, float64[P], to the weights at each part's places."""
    start, places = listed
    weights, total, step = averaged
    for p in range(change.shape[0]):
        for i in range(start[p], start[p + 1]):
            change_weight(weights, total, places[i], change[p], step)


@kernel
def new_block(hashed: WordHashes, size: int) -> Places:
    """Return `Places` with room for the features of ``size`` parts, whatever their words."""
    feat_start, firsts, n_templates = hashed.sets.feat_start, hashed.sets.firsts, hashed.plain.shares.shape[2]
    most = 1
    for node in range(feat_start.shape[0] - 1):
        most = max(most, feat_start[node + 1] - feat_start[node])
    n_feat = n_templates - hashed.plain.n_plain - firsts.shape[0]
    of_sets = firsts.shape[0] * firsts.shape[2] + n_feat * most * most
    capacity = hashed.plain.n_plain * hashed.plain.codes.shape[0] + of_sets
    return Places(np.zeros(size + 1, np.int64), np.empty(size * capacity, np.uint32))


@kernel
def write_places(
    hashed: WordHashes, nodes: Int32s, codes: Uint8s, first: int, block: Places, memory: Uint8s, width: int
) -> int:
    """Fill a block with the places of parts ``first`` and following; return the number of these parts.

    Unless ``width`` is 0, weights of ``width`` bytes are fetched into the cache; ``memory`` is their table as bytes.
    """
    plain = hashed.plain
    shares, n_plain, wanted, shift = plain.shares, plain.n_plain, plain.codes, plain.shift
    flat, n_nodes, n_templates = shares.reshape(shares.size), shares.shape[1], shares.shape[2]
    start, places = block
    keys = np.empty(n_templates, np.uint32)
    count, end = min(start.shape[0] - 1, nodes.shape[0] - first), 0
    for k in range(count):
        p = first + k
        _hash_part(flat, n_nodes, nodes, p, keys)
        begin = end
        for c in wanted:
            code = np.uint32(np.uint32(codes[p, c]) << plain.code_shift)
            for t in range(n_plain):
                places[end + t] = np.uint32(np.uint32(keys[t] >> shift) ^ code)
            end += n_plain
        special = end
        if n_plain < n_templates:
            code = np.uint32(np.uint32(codes[p, DIRECTION]) << plain.code_shift)
            end = _write_special(hashed, keys, code, nodes[p, 0], nodes[p, 1], places, end)
        start[k + 1] = end
        if width:  # one variant of each plain template, because all share a line
            for i in range(begin, begin + n_plain):
                prefetch(memory, np.uint64(places[i]) * np.uint64(width))
            for i in range(special, end):
                prefetch(memory, np.uint64(places[i]) * np.uint64(width))
    return count


@kernel
def _hash_part(flat: Uint32s, n_nodes: int, nodes: Int32s, p: int, keys: Uint32s) -> None:
    """Write the hash of part ``p`` under each template to ``keys``."""
    n_templates, n_slots = keys.shape[0], nodes.shape[1]
    one = nodes[p, 0] * n_templates
    if n_slots == 1:
        for t in range(n_templates):
            keys[t] = flat[one + t]
    else:
        two = (n_nodes + nodes[p, 1]) * n_templates
        for t in range(n_templates):
            keys[t] = np.uint32(flat[one + t] + flat[two + t])
    for slot in range(2, n_slots):
        further = (slot * n_nodes + nodes[p, slot]) * n_templates
        for t in range(n_templates):
            keys[t] = np.uint32(keys[t] + flat[further + t])


@kernel
def _write_special(hashed: WordHashes, keys: Uint32s, code: np.uint32, h: int, m: int, places: Int32s, end: int) -> int:
    """Write the places of an arc under the templates over sets from ``places[end]`` on; return the new end."""
    sets, n_plain, shift = hashed.sets, hashed.plain.n_plain, hashed.plain.shift
    atoms, feat_start, feat, firsts = sets.atoms, sets.feat_start, sets.feat, sets.firsts
    low, high, first_feat = min(h, m), max(h, m), n_plain + sets.n_between
    for t in range(n_plain, first_feat):
        k, row, column, coefficient = 0, t - n_plain, sets.attribute[t], sets.coefficient[t]
        while firsts[row, low, k] < high:
            key = np.uint32(keys[t] + share(coefficient, atoms[firsts[row, low, k] + PADDING, column]))
            places[end] = np.uint32(np.uint32(key >> shift) ^ code)
            end += 1
            k += 1
    for t in range(first_feat, keys.shape[0]):
        of_head, of_modifier = sets.feat_coefficient[0, t], sets.feat_coefficient[1, t]
        # A template that names the features of one of the two words has one place for all features of the other.
        for i in range(feat_start[h], feat_start[h + 1] if of_head > 0 else feat_start[h] + 1):
            outer = np.uint32(keys[t] + share(of_head, feat[i])) if of_head > 0 else keys[t]
            for j in range(feat_start[m], feat_start[m + 1] if of_modifier > 0 else feat_start[m] + 1):
                key = np.uint32(outer + share(of_modifier, feat[j])) if of_modifier > 0 else outer
                places[end] = np.uint32(np.uint32(key >> shift) ^ code)
                end += 1
    return end
