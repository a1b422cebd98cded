"""Packed forests of a sentence: CKY with a grammar, pruned by the spans of a coarser one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj.kernels.kernel import kernel
from nonproj.types import Int32s
from nonproj_systems.constituency.forest import Forest
from nonproj_systems.constituency.grammar import Grammar

MAX_CELLS = 400_000_000
"""Maximum number of spans times symbols in the table of one sentence: 1.6 GB."""


MAX_EDGES = 10_000_000
"""Maximum number of edges of the forest of one sentence: about 0.5 GB."""


class TaggedWords(NamedTuple):
    """The tags that words may have, sorted by position; several symbols may share a variable.

    Attributes
    ----------
    position, symbol, variable : ndarray of shape (L,), int32
    score : ndarray of shape (L,), float64
    """

    position: np.ndarray
    symbol: np.ndarray
    variable: np.ndarray
    score: np.ndarray


class _Rules(NamedTuple):
    """The rules that the kernels read."""

    first_binary: np.ndarray
    binary_parent: np.ndarray
    binary_right: np.ndarray
    first_unary: np.ndarray
    unary_parent: np.ndarray
    coarse: np.ndarray


class _Chart(NamedTuple):
    """Items found so far: ``rows[begin, end]`` is a span's row, ``table[row, symbol]`` an item, both -1 for none.

    ``members[row]`` are the first item of a span and the one after its last.
    """

    rows: np.ndarray
    table: np.ndarray
    members: np.ndarray
    allowed: np.ndarray


def build_forest(grammar: Grammar, n: int, words: TaggedWords, allowed: np.ndarray | None = None) -> Forest:
    """Return the forest of all trees of a sentence.

    Parameters
    ----------
    grammar : Grammar
    n : int
        Number of words.
    words : TaggedWords
    allowed : ndarray of shape (n, n + 1, S of the coarser grammar), bool, optional
        Mask of the coarser symbols that may cover the words from ``begin`` to ``end - 1``; see the module `spans`.

    Returns
    -------
    Forest
        Its rules are the numbers of binary rules, then of unary rules, then -1 for words.  Without a tree it has no
        items.

    Raises
    ------
    SizeError
        The table of spans and symbols, or the forest, would be too large.
    """
    tables, n_symbols = grammar.tables, len(grammar.symbols)
    live = np.triu(np.ones((n, n + 1), np.bool_), 1) if allowed is None else allowed.any(axis=2)
    rows = np.where(live, np.cumsum(live).reshape(live.shape) - 1, -1).astype(np.int32)
    n_rows = int(live.sum())
    if n_rows * n_symbols > MAX_CELLS:
        raise SizeError(f"a sentence of {n} words has {n_rows} spans, too many for {n_symbols} symbols; split it")
    table = np.full((n_rows, n_symbols), -1, np.int32)
    rules = _Rules(*(getattr(tables, name) for name in _Rules._fields))
    if allowed is None:
        rules, allowed = rules._replace(coarse=np.full(n_symbols, -1, np.int32)), np.ones((1, 1, 1), np.bool_)
    chart = _Chart(rows, table, np.zeros((n_rows, 2), np.int32), allowed)
    first_word = np.searchsorted(words.position, np.arange(n + 1)).astype(np.int32)
    symbols = np.asarray(words.symbol, np.int32)
    items, edges = _build(rules, chart, first_word, symbols, grammar.root, MAX_EDGES)
    if items[-1, 3] < 0:
        raise SizeError(f"a sentence of {n} words has a forest of more than {MAX_EDGES} edges; split it")
    left, right, word, rule = (np.ascontiguousarray(column) for column in edges[: items[-1, 3]].T)
    if n_rows == 0 or table[rows[0, n], grammar.root] < 0:
        items, left, right, word, rule = items[:0], left[:0], right[:0], word[:0], rule[:0]
    scores = np.concatenate([tables.binary_score, tables.unary_score, [0.0]])[rule]
    is_word = word >= 0
    scores[is_word] = np.asarray(words.score, np.float64)[word[is_word]]
    variable = np.where(is_word, np.append(words.variable, -1)[word], -1).astype(np.int32)
    first = np.ascontiguousarray(items[:, 3]) if len(items) else np.zeros(1, np.int32)
    return Forest(first, left, right, variable, scores, rule, items[:-1, :3])


@kernel
def _build(
    rules: _Rules, chart: _Chart, first_word: Int32s, word_symbols: Int32s, root: int, max_edges: int
) -> tuple[Int32s, Int32s]:
    """Return items (symbol, begin, end, first edge) with a sentinel row, and edges (left, right, word, rule).

    Spans are processed from short to long: words and binary rules, then unary rules over their results.  With more
    than ``max_edges`` edges the only item is a row of -1.
    """
    rows, members = chart.rows, chart.members
    n, n_binary = rows.shape[0], len(rules.binary_parent)
    items, edges, n_items, n_edges = np.empty((1024, 4), np.int32), np.empty((4096, 4), np.int32), 0, 0
    found, count = np.empty((1024, 5), np.int32), np.zeros(chart.table.shape[1], np.int32)
    for length in range(1, n + 1):
        for begin in range(n - length + 1):
            end = begin + length
            row = rows[begin, end]
            if row < 0:
                continue
            members[row, 0] = n_items
            if length == 1:
                found, size = _word_edges(rules, chart, first_word, word_symbols, begin, found)
            else:
                found, size = _binary_edges(rules, chart, items, begin, end, found)
            span = (row, begin, end)
            items, edges, n_items, n_edges = _add(chart, span, found, size, count, items, edges, (n_items, n_edges))
            target = root if length == n else -1
            found, size = _unary_edges(rules, chart, items, span, (members[row, 0], n_items, target), n_binary, found)
            items, edges, n_items, n_edges = _add(chart, span, found, size, count, items, edges, (n_items, n_edges))
            members[row, 1] = n_items
            if n_edges > max_edges:
                return np.full((1, 4), -1, np.int32), edges
    closed = np.empty((n_items + 1, 4), np.int32)
    closed[:n_items] = items[:n_items]
    closed[n_items] = n_edges
    return closed, edges


@kernel
def _longer(array: Int32s, size: int) -> Int32s:
    """Return the array, enlarged to at least ``size`` rows if it is shorter."""
    if size <= len(array):
        return array
    longer = np.empty((max(size, 2 * len(array)), array.shape[1]), array.dtype)
    longer[: len(array)] = array
    return longer


@kernel
def _word_edges(
    rules: _Rules, chart: _Chart, first_word: Int32s, word_symbols: Int32s, begin: int, found: Int32s
) -> tuple[Int32s, int]:
    """Return the edges over one word as (parent, left, right, word, rule), and their number."""
    size, coarse, allowed = 0, rules.coarse, chart.allowed
    found = _longer(found, first_word[begin + 1] - first_word[begin])
    for word in range(first_word[begin], first_word[begin + 1]):
        above = coarse[word_symbols[word]]
        if above < 0 or allowed[begin, begin + 1, above]:
            found[size, 0] = word_symbols[word]
            found[size, 1] = -1
            found[size, 2] = -1
            found[size, 3] = word
            found[size, 4] = -1
            size += 1
    return found, size


@kernel
def _binary_edges(
    rules: _Rules, chart: _Chart, items: Int32s, begin: int, end: int, found: Int32s
) -> tuple[Int32s, int]:
    """Return the edges of binary rules over a span, and their number."""
    first, parents, rights, coarse = rules.first_binary, rules.binary_parent, rules.binary_right, rules.coarse
    rows, table, members, allowed = chart.rows, chart.table, chart.members, chart.allowed
    size, room = 0, len(found)
    for split in range(begin + 1, end):
        left_row, right_row = rows[begin, split], rows[split, end]
        if left_row < 0 or right_row < 0:
            continue
        for left in range(members[left_row, 0], members[left_row, 1]):
            symbol = items[left, 0]
            for rule in range(first[symbol], first[symbol + 1]):
                right = table[right_row, rights[rule]]
                if right < 0:
                    continue
                parent = parents[rule]
                above = coarse[parent]
                if above >= 0 and not allowed[begin, end, above]:
                    continue
                if size == room:
                    found = _longer(found, size + 1)
                    room = len(found)
                found[size, 0] = parent
                found[size, 1] = left
                found[size, 2] = right
                found[size, 3] = -1
                found[size, 4] = rule
                size += 1
    return found, size


@kernel
def _unary_edges(
    rules: _Rules,
    chart: _Chart,
    items: Int32s,
    span: tuple[int, int, int],
    limits: tuple[int, int, int],
    n_binary: int,
    found: Int32s,
) -> tuple[Int32s, int]:
    """Return the edges of unary rules over items of a span (to parent ``only``, unless it is -1), and their number."""
    first, parents, (_, begin, end), (low, high, only) = rules.first_unary, rules.unary_parent, span, limits
    coarse, allowed, size, room = rules.coarse, chart.allowed, 0, len(found)
    for item in range(low, high):
        symbol = items[item, 0]
        for rule in range(first[symbol], first[symbol + 1]):
            parent = parents[rule]
            above = coarse[parent]
            if (only >= 0 and parent != only) or (above >= 0 and not allowed[begin, end, above]):
                continue
            if size == room:
                found = _longer(found, size + 1)
                room = len(found)
            found[size, 0] = parent
            found[size, 1] = item
            found[size, 2] = -1
            found[size, 3] = -1
            found[size, 4] = n_binary + rule
            size += 1
    return found, size


@kernel
def _add(
    chart: _Chart,
    span: tuple[int, int, int],
    found: Int32s,
    size: int,
    count: Int32s,
    items: Int32s,
    edges: Int32s,
    sizes: tuple[int, int],
) -> tuple[Int32s, Int32s, int, int]:
    """Add edges over a span, sorted by parent, and their parents as items; return both and their numbers."""
    row, begin, end = span
    n_items, n_edges = sizes
    table = chart.table
    start = n_items
    for e in range(size):
        parent = found[e, 0]
        if count[parent] == 0:
            items = _longer(items, n_items + 1)
            items[n_items, 0] = parent
            table[row, parent] = n_items
            n_items += 1
        count[parent] += 1
    edges = _longer(edges, n_edges + size)
    for item in range(start, n_items):
        parent = items[item, 0]
        items[item, 1] = begin
        items[item, 2] = end
        items[item, 3] = n_edges
        n_edges += count[parent]
        count[parent] = items[item, 3]
    for e in range(size):
        place = count[found[e, 0]]
        count[found[e, 0]] += 1
        edges[place, 0] = found[e, 1]
        edges[place, 1] = found[e, 2]
        edges[place, 2] = found[e, 3]
        edges[place, 3] = found[e, 4]
    for item in range(start, n_items):
        count[items[item, 0]] = 0
    return items, edges, n_items, n_edges
