"""Every word's share of every template's hash, and the places of the templates over sets of values.

The hash of a part is the sum of its words' shares, modulo 2**32, of which the highest bits are the place in the weight
table.  A share is the sum of the upper halves of coefficient times attribute, modulo 2**64 each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.parts.geometry import DIRECTION
from nonproj.scoring.templates import TemplateTable
from nonproj.scoring.vocabulary import END, MARGIN, START, Tokens
from nonproj.types import PartRows


class Plain(NamedTuple):
    """What is needed to look up the plain templates, in as few arrays as can be: handing one to a kernel costs time.

    Attributes
    ----------
    shares : ndarray of shape (n_slots, N + 2, n_templates), uint32
        Each word's share of the hash of each template, in each slot.
    n_plain : int
        The first so many templates are plain.
    codes : ndarray, int32
        Numbers of the geometrical codes with which each of these is looked up.
    shift : uint32
        32 less the number of bits of the weight table's size.
    """

    shares: np.ndarray
    n_plain: int
    codes: np.ndarray
    shift: np.uint32


class Sets(NamedTuple):
    """What is needed to look up the templates over the words between and over single features.

    Attributes
    ----------
    atoms, feat_start, feat
        Of `Tokens`.
    firsts : ndarray of shape (n_between, N, D + 1), int32
        For each template over the words between, the words to the right of each where an attribute stands for the first
        time, in their order; N after the last.
    attribute, coefficient, feat_coefficient, n_between, code_shift
        Of `TemplateTable`.
    """

    atoms: np.ndarray
    feat_start: np.ndarray
    feat: np.ndarray
    firsts: np.ndarray
    attribute: np.ndarray
    coefficient: np.ndarray
    feat_coefficient: np.ndarray
    n_between: int
    code_shift: np.uint32


class Hashed(NamedTuple):
    """What is needed to look up parts of one type in one sentence."""

    plain: Plain
    sets: Sets


class Special(NamedTuple):
    """The places of the templates over sets of values: those of part ``p`` are ``places[start[p]:start[p + 1]]``.

    Both arrays are empty where there are no such templates.

    Attributes
    ----------
    start : ndarray of shape (P + 1,), int64
    places : ndarray, uint32
    """

    start: np.ndarray
    places: np.ndarray


_NO_FIRSTS = np.empty((0, 0, 0), np.int32)
_NO_SPECIAL = Special(np.empty(0, np.int64), np.empty(0, np.uint32))


def hash_tokens(tokens: Tokens, table: TemplateTable, n_weights: int) -> Hashed:
    """Compute every word's share of every template's hash.

    Parameters
    ----------
    tokens : Tokens
        Of N nodes.
    table : TemplateTable
        The templates of one type of part.
    n_weights : int
        Size of the weight table, a power of two, at most 2 ** 32.
    """
    n_templates = table.salt.shape[0]
    n_slots = (table.term_start.shape[0] - 1) // max(n_templates, 1)
    shares = np.empty((n_slots, tokens.n_nodes + 2, n_templates), np.uint32)
    _hash_tokens(tokens.atoms, *_terms(table), shares)
    shift = np.uint32(32 - (n_weights.bit_length() - 1))
    return Hashed(Plain(shares, table.n_plain, table.codes, shift), _sets(tokens, table))


def _sets(tokens: Tokens, table: TemplateTable) -> Sets:
    """Put together what the templates over sets need."""
    firsts = _NO_FIRSTS
    if table.n_between:
        firsts = _find_firsts(tokens.atoms, table.between_attribute[table.n_plain : table.n_plain + table.n_between])
    return Sets(
        *tokens,
        firsts,
        table.between_attribute,
        table.between_coefficient,
        table.feat_coefficient,
        table.n_between,
        table.code_shift,
    )


def _terms(table: TemplateTable) -> tuple[np.ndarray, ...]:
    """The arrays that say how plain terms are hashed."""
    return (
        table.salt,
        table.term_start,
        table.term_template,
        table.term_offset,
        table.term_attribute,
        table.term_coefficient,
    )


def special_places(hashed: Hashed, parts: PartRows) -> Special:
    """Return the places of the templates over the words between and over single features, of each part."""
    if hashed.plain.n_plain == hashed.plain.shares.shape[2]:
        return _NO_SPECIAL
    return Special(*_special_places(hashed, parts.nodes, parts.codes))


@inlined_kernel
def _upper(coefficient, atom):
    """Return the upper half of a product modulo 2**64."""
    return np.uint32((coefficient * np.uint64(atom)) >> np.uint64(32))


@kernel
def _hash_tokens(atoms, salt, start, template, offset, attribute, coefficient, shares):
    """Fill ``shares[slot, node, template]``, the salt going with the first slot."""
    n_slots, n_nodes, n_templates = shares.shape
    for slot in range(n_slots):
        first, end = start[slot * n_templates], start[(slot + 1) * n_templates]
        for node in range(n_nodes):
            for t in range(n_templates):
                shares[slot, node, t] = _upper(salt[t], 1) if slot == 0 else np.uint32(0)
            for i in range(first, end):
                if node < n_nodes - 2:
                    atom = atoms[node + MARGIN + offset[i], attribute[i]]
                else:
                    atom = START if node == n_nodes - 2 else END
                shares[slot, node, template[i]] += _upper(coefficient[i], atom)


@kernel
def _find_firsts(atoms, columns):
    """Return ``firsts[i, low]``: words, then N."""
    n_nodes = atoms.shape[0] - 2 * MARGIN
    firsts = np.empty((columns.shape[0], n_nodes, _count_distinct(atoms, columns) + 1), np.int32)
    for i in range(columns.shape[0]):
        column = columns[i]
        firsts[i, n_nodes - 1, 0] = n_nodes
        for low in range(n_nodes - 2, -1, -1):
            # The next word leads its own list, from which its attribute's next occurrence is taken.
            firsts[i, low, 0] = low + 1
            count, k = 1, 0
            while firsts[i, low + 1, k] < n_nodes:
                word = firsts[i, low + 1, k]
                if atoms[word + MARGIN, column] != atoms[low + 1 + MARGIN, column]:
                    firsts[i, low, count] = word
                    count += 1
                k += 1
            firsts[i, low, count] = n_nodes
    return firsts


@kernel
def _count_distinct(atoms, columns):
    """Return how many different values the words have in one of the columns, at most."""
    n_nodes = atoms.shape[0] - 2 * MARGIN
    seen = np.empty(n_nodes, np.int32)
    most = 0
    for column in columns:
        count = 0
        for word in range(1, n_nodes):
            atom, k = atoms[word + MARGIN, column], 0
            while k < count and seen[k] != atom:
                k += 1
            if k == count:
                seen[count] = atom
                count += 1
        most = max(most, count)
    return most


@inlined_kernel
def _hash_part(flat, n_nodes, n_templates, n_plain, shift, nodes, p, keys):
    """Hash part p under each template; the keys of plain templates become places."""
    one = nodes[p, 0] * n_templates
    if nodes.shape[1] == 1:
        for t in range(n_templates):
            keys[t] = flat[one + t]
    else:  # two words at once: almost all types have them
        two = (n_nodes + nodes[p, 1]) * n_templates
        for t in range(n_templates):
            keys[t] = np.uint32(flat[one + t] + flat[two + t])
    for slot in range(2, nodes.shape[1]):
        further = (slot * n_nodes + nodes[p, slot]) * n_templates
        for t in range(n_templates):
            keys[t] = np.uint32(keys[t] + flat[further + t])
    for t in range(n_plain):
        keys[t] = np.uint32(keys[t] >> shift)


@inlined_kernel
def _between_places(atoms, firsts, row, low, high, key, coefficient, column, shift, code, places, count):
    """Write the places of one template over the distinct attributes of the words between; return the new count."""
    k = 0
    while firsts[row, low, k] < high:
        atom = atoms[firsts[row, low, k] + MARGIN, column]
        places[count] = np.uint32(np.uint32(np.uint32(key + _upper(coefficient, atom)) >> shift) ^ code)
        count += 1
        k += 1
    return count


@inlined_kernel
def _feat_places(feat, start, h, m, key, of_head, of_modifier, shift, code, places, count):
    """Write the places of one template over features of head or modifier, or their pairs; return the new count."""
    for i in range(start[h], start[h + 1] if of_head > 0 else start[h] + 1):
        outer = np.uint32(key + _upper(of_head, feat[i])) if of_head > 0 else key
        for j in range(start[m], start[m + 1] if of_modifier > 0 else start[m] + 1):
            pair = np.uint32(outer + _upper(of_modifier, feat[j])) if of_modifier > 0 else outer
            places[count] = np.uint32(np.uint32(pair >> shift) ^ code)
            count += 1
    return count


@kernel
def _room(feat_start, n_feat, firsts):
    """Return how many such places any one part can have at most."""
    most = 1
    for node in range(feat_start.shape[0] - 1):
        most = max(most, feat_start[node + 1] - feat_start[node])
    return firsts.shape[0] * firsts.shape[2] + n_feat * most * most


@kernel
def _special_places(hashed, nodes, codes):
    """Return the arrays of a `Special`."""
    shares, n_plain, shift = hashed.plain.shares, hashed.plain.n_plain, hashed.plain.shift
    atoms, feat_start, feat, firsts = hashed.sets.atoms, hashed.sets.feat_start, hashed.sets.feat, hashed.sets.firsts
    columns, between = hashed.sets.attribute, hashed.sets.coefficient
    of_head, of_modifier = hashed.sets.feat_coefficient[0], hashed.sets.feat_coefficient[1]
    first_feat, n_templates = n_plain + hashed.sets.n_between, columns.shape[0]
    start = np.zeros(nodes.shape[0] + 1, np.int64)
    places = np.empty(64 + 8 * nodes.shape[0], np.uint32)
    room, count = _room(feat_start, n_templates - first_feat, firsts), 0
    for p in range(nodes.shape[0]):
        h, m = nodes[p, 0], nodes[p, 1]
        code = np.uint32(np.uint32(codes[p, DIRECTION]) << hashed.sets.code_shift)
        if count + room > places.shape[0]:
            places = np.concatenate((places[:count], np.empty(count + room + 64, np.uint32)))
        for t in range(n_plain, n_templates):
            key = np.uint32(0)
            for slot in range(nodes.shape[1]):
                key = np.uint32(key + shares[slot, nodes[p, slot], t])
            if t < first_feat:
                count = _between_places(
                    atoms,
                    firsts,
                    t - n_plain,
                    min(h, m),
                    max(h, m),
                    key,
                    between[t],
                    columns[t],
                    shift,
                    code,
                    places,
                    count,
                )
            else:
                count = _feat_places(
                    feat, feat_start, h, m, key, of_head[t], of_modifier[t], shift, code, places, count
                )
        start[p + 1] = count
    return start, places[:count]
