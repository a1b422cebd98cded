"""All lexicalised trees of a tagged sentence under Model 1, as a forest.

Items, over the words ``i`` to ``j``, with a lexical head ``h`` and a state ``s``, which is a category P with its head
child H:

- *complete*: a phrase or tag;
- *right*: P with head child H and the modifiers to its right so far, at distance ``d``;
- *left*: P with H, all modifiers to its right, and those to its left so far; distance 0 means no modifiers at all,
  and 3 modifiers only to the right;
- *hook*: the best modifier over the words ``i`` to ``j`` for a head ``h`` outside, in state ``s`` and at distance
  ``d``, regardless of the rest of its phrase.

Hooks make an O(n^5) chart one of O(n^4) (Eisner and Satta 1999): a hook chooses the modifier's category and lexical
head, and only then the other end of the head's phrase is chosen.  Phrases with a single child form chains of at most
`MAX_UNARY`, in *layers*, so that the forest has no cycles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj.kernels.kernel import kernel
from nonproj.types import Bools
from nonproj_systems.constituency.brackets import TOP
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.collins_coarse import MAX_UNARY, Grammar, Kept
from nonproj_systems.constituency.collins_tables import (
    Tables,
    head_probability,
    modifier_context,
    modifier_probability,
    root_probability,
    word_probability,
)
from nonproj_systems.constituency.forest import Forest, make_forest

COMPLETE, LAYER, RIGHT, LEFT, HOOK_RIGHT, HOOK_LEFT, GOAL = range(7)
"""Kinds of items."""

KIND, BEGIN, END, SYMBOL, DISTANCE, WORD = range(6)
"""Columns of ``items``; ``SYMBOL`` is a category for complete items and layers, or else a state."""

_NEXT, _GROUP, _COLUMNS = 6, 7, 8

MAX_EDGES = 2**25
"""Maximum number of edges of a chart, about a gigabyte."""


class Build(NamedTuple):
    """The chart under construction, and the items of each span as linked lists."""

    items: np.ndarray
    edges: np.ndarray
    scores: np.ndarray
    counts: np.ndarray
    lists: np.ndarray
    found: np.ndarray
    starts: np.ndarray
    hooks: np.ndarray
    chains: np.ndarray


class Given(NamedTuple):
    """The sentence: words, tags, and the number of verbs before each word."""

    words: np.ndarray
    tags: np.ndarray
    verbs: np.ndarray


def chart(model: Collins, grammar: Grammar, words: np.ndarray, tags: np.ndarray, kept: Kept) -> Forest | None:
    """Return the forest of the trees of a sentence; None if there are none.

    Variable ``h * (n + 1) + m`` is the arc from word ``h`` to word ``m``, from 1, with 0 for the root.

    Parameters
    ----------
    model : Collins
    grammar : Grammar
        Grammar of the same model.
    words, tags : ndarray of shape (n,), int64
        Numbers of the words and tags.
    kept : Kept
        Coarse items that survive pruning.

    Raises
    ------
    SizeError
        There are too many edges.
    """
    given = Given(words, tags, np.cumsum([0, *grammar.verb[tags]]))
    n, n_states, size = len(words), len(grammar.parent), len(grammar.verb)
    n_items = 2**12 + n * int(np.count_nonzero(kept.right) + np.count_nonzero(kept.left))
    n_edges = 3 * n_items
    while n_edges <= MAX_EDGES:
        build = Build(
            np.zeros((n_items, _COLUMNS), np.int32),
            np.zeros((n_edges, 4), np.int32),
            np.zeros(n_edges),
            np.array([1, 0, 0, 0], np.int64),
            np.full((3, n, n), -1, np.int32),
            np.full((3, n * max(4 * n_states, size)), -1, np.int32),
            np.full((2, n, 4 * n * n_states), -1, np.int32),
            np.full((n_items, n), -1, np.int32),
            np.full((MAX_UNARY + 1) * size * n, -1, np.int32),
        )
        _fill(model.tables, grammar, kept, given, build, model.symbol_ids[TOP])
        used_items, used_edges = build.counts[:2].tolist()
        if used_items < n_items and used_edges < n_edges:
            edges, items = build.edges[:used_edges], build.items[1:used_items, :6]  # item 0 and arc 0 are none
            edges[edges[:, 3] == 0, 3] = -1
            edges[:, :3] -= 1
            return make_forest(items, edges[:, 0], edges[:, 1:], build.scores[:used_edges])
        n_items, n_edges = 3 * n_items, 3 * n_edges
    raise SizeError(f"a chart of {n} words has more than {MAX_EDGES} edges; prune more, or split the sentence")


@kernel
def _add_item(build: Build, kind: int, i: int, j: int, symbol: int, d: int, h: int) -> int:
    """Return the number of a new item; without space for it, only count it."""
    number = min(build.counts[0], build.items.shape[0] - 1)
    build.counts[0] += 1
    item = build.items[number]
    item[0], item[1], item[2], item[3], item[4], item[5], item[6] = kind, i, j, symbol, d, h, -1
    return number


@kernel
def _add_edge(build: Build, head: int, left: int, right: int, arc: int, score: float) -> None:
    """Add an edge."""
    number = min(build.counts[1], build.edges.shape[0] - 1)
    build.counts[1] += 1
    edge = build.edges[number]
    edge[0], edge[1], edge[2], edge[3] = head, left, right, arc
    build.scores[number] = score


@kernel
def _get(build: Build, table: int, key: int, i: int, j: int, symbol: int, d: int, h: int) -> int:
    """Return an item of the current span, made and listed if it is new; each kind has a table of its own."""
    kind = COMPLETE if table == 0 else RIGHT if table == 1 else LEFT
    number = build.found[table, key]
    if number < 0 or build.items[number, 1] != i or build.items[number, 2] != j or build.items[number, 0] != kind:
        number = _add_item(build, kind, i, j, symbol, d, h)
        if number < build.items.shape[0] - 1:  # the last entry receives items without space
            build.found[table, key] = number
            build.items[number, _NEXT] = build.lists[table, i, j]
            build.lists[table, i, j] = number
    return number


@kernel
def _fill(tables: Tables, grammar: Grammar, kept: Kept, given: Given, build: Build, top: int) -> None:
    """Add all items and edges, span by span: by increasing end, then by decreasing beginning."""
    n = given.tags.shape[0]
    for j in range(n):
        for i in range(j, -1, -1):
            # Hooks first, to keep items in topological order.
            _make_hooks(tables, grammar, kept.right[i, j], given, build, 1, i, j)
            for k in range(i, j):
                _extend(kept.right[i, j], given, build, 1, i, k, j)
            _stop_right(tables, grammar, kept, given, build, i, j)
            _make_hooks(tables, grammar, kept.left[i, j], given, build, 0, i, j)
            for k in range(i, j):
                _extend(kept.left[i, j], given, build, 0, i, k, j)
            _complete(tables, grammar, kept, given, build, i, j)
            _begin_phrases(tables, grammar, kept, given, build, i, j)
    goal, whole = _add_item(build, GOAL, 0, n - 1, top, 0, 0), build.lists[0, 0, n - 1]
    while whole >= 0:
        h = build.items[whole, WORD]
        if build.items[whole, SYMBOL] == top:
            probability = root_probability(tables, given.words[h], given.tags[h])
            if probability > 0.0:
                _add_edge(build, goal, whole, 0, h + 1, np.log(probability))
        whole = build.items[whole, _NEXT]


@kernel
def _make_hooks(
    tables: Tables, grammar: Grammar, kept: Bools, given: Given, build: Build, side: int, i: int, j: int
) -> None:
    """Make the hooks of items over i..k for modifiers over k+1..j, or the other way round, for all k."""
    for k in range(i, j):
        has_verb = given.verbs[j + 1] > given.verbs[k + 1] if side == 1 else given.verbs[k + 1] > given.verbs[i]
        other, begin, end = (j, k + 1, j) if side == 1 else (i, i, k)
        item = build.lists[1, i, k] if side == 1 else build.lists[2, k + 1, j]
        while item >= 0 and build.lists[0, begin, end] >= 0:
            s, d, group = build.items[item, SYMBOL], build.items[item, DISTANCE], build.items[item, _GROUP]
            if kept[s, 2 if d == 2 or has_verb else 1] and build.hooks[group, other] == -1:
                build.hooks[group, other] = _hook(tables, grammar, given, build, item, side, begin, end)
            item = build.items[item, _NEXT]


@kernel
def _extend(kept: Bools, given: Given, build: Build, side: int, i: int, k: int, j: int) -> None:
    """Combine items over i..k with their hooks for the words k+1..j, or the other way round."""
    has_verb = given.verbs[j + 1] > given.verbs[k + 1] if side == 1 else given.verbs[k + 1] > given.verbs[i]
    n, other, table = given.tags.shape[0], j if side == 1 else i, 2 - side
    item = build.lists[1, i, k] if side == 1 else build.lists[2, k + 1, j]
    while item >= 0:
        s, d, h = build.items[item, SYMBOL], build.items[item, DISTANCE], build.items[item, WORD]
        longer = 2 if d == 2 or has_verb else 1
        hook = build.hooks[build.items[item, _GROUP], other]
        if kept[s, longer] and hook >= 0:
            target = _get(build, table, (s * 4 + longer) * n + h, i, j, s, longer, h)
            _set_group(build, target, side, n)
            _add_edge(build, target, item if side == 1 else hook, hook if side == 1 else item, 0, 0.0)
        item = build.items[item, _NEXT]


@kernel
def _set_group(build: Build, item: int, side: int, n: int) -> None:
    """Assign an item to its group: items of equal head, state, distance and end on that side share hooks."""
    s, d, h = build.items[item, SYMBOL], build.items[item, DISTANCE], build.items[item, WORD]
    end = build.items[item, END] if side == 1 else build.items[item, BEGIN]
    key = (s * 4 + d) * n + h
    group = build.starts[side, end, key]
    if group < 0:
        group = min(build.counts[2], build.hooks.shape[0] - 1)
        build.counts[2] += 1
        build.starts[side, end, key] = group
    build.items[item, _GROUP] = group


@kernel
def _hook(
    tables: Tables, grammar: Grammar, given: Given, build: Build, item: int, side: int, begin: int, end: int
) -> int:
    """Make the hook of an item for the modifiers over some words; return its number, or -2 if there are none."""
    s, d, h = build.items[item, SYMBOL], build.items[item, DISTANCE] % 3, build.items[item, WORD]
    n, p, head, word = given.tags.shape[0], grammar.parent[s], grammar.head[s], h
    if grammar.base[s]:
        head, d, word = 0, 0, begin - 1 if side == 1 else end + 1
    w, t, hook, context = given.words[word], given.tags[word], -2, modifier_context(side, d, head, p)
    modifier = build.lists[0, begin, end]
    while modifier >= 0:
        x, m = build.items[modifier, SYMBOL], build.items[modifier, WORD]
        probability = modifier_probability(tables, context, w, t, x, given.tags[m])
        if probability > 0.0:
            probability *= word_probability(tables, context, w, t, x, given.tags[m], given.words[m])
        if probability > 0.0:
            if hook < 0:
                kind = HOOK_RIGHT if side == 1 else HOOK_LEFT
                hook = _add_item(build, kind, begin, end, s, d, h)
            _add_edge(build, hook, modifier, 0, (h + 1) * (n + 1) + m + 1, np.log(probability))
        modifier = build.items[modifier, _NEXT]
    return hook


@kernel
def _stop(tables: Tables, grammar: Grammar, given: Given, s: int, d: int, h: int, side: int, edge: int) -> float:
    """Return the probability that a phrase has no more modifiers on a side; ``edge`` is its last word there."""
    head, word, d = grammar.head[s], h, d % 3
    if grammar.base[s]:
        head, d, word = 0, 0, edge
    context = modifier_context(side, d, head, grammar.parent[s])
    return modifier_probability(tables, context, given.words[word], given.tags[word], 0, 0)


@kernel
def _stop_right(tables: Tables, grammar: Grammar, kept: Kept, given: Given, build: Build, i: int, j: int) -> None:
    """Complete the right sides of phrases that have modifiers there."""
    item, n = build.lists[1, i, j], given.tags.shape[0]
    while item >= 0:
        s, d, h = build.items[item, SYMBOL], build.items[item, DISTANCE], build.items[item, WORD]
        if kept.left[i, j, s, 3]:
            probability = _stop(tables, grammar, given, s, d, h, 1, j)
            if probability > 0.0:
                target = _get(build, 2, (s * 4 + 3) * n + h, i, j, s, 3, h)
                _set_group(build, target, 0, n)
                _add_edge(build, target, item, 0, 0, np.log(probability))
        item = build.items[item, _NEXT]


@kernel
def _complete(tables: Tables, grammar: Grammar, kept: Kept, given: Given, build: Build, i: int, j: int) -> None:
    """Complete phrases and tags over a span, and the chains of phrases with one child above them."""
    n, size = given.tags.shape[0], grammar.verb.shape[0]
    first = build.counts[0]
    if i == j and kept.complete[i, j, given.tags[i]]:
        _add_edge(build, _add_item(build, LAYER, i, i, given.tags[i], 0, i), 0, 0, 0, 0.0)
    item = build.lists[2, i, j]
    while item >= 0:
        s, d, h = build.items[item, SYMBOL], build.items[item, DISTANCE], build.items[item, WORD]
        p = grammar.parent[s]
        probability = _stop(tables, grammar, given, s, d, h, 0, i) if kept.complete[i, j, p] else 0.0
        if probability > 0.0:
            bottom = _layer(build, first, i, j, p, 0, h, p * n + h)
            _add_edge(build, bottom, item, 0, 0, np.log(probability))
        item = build.items[item, _NEXT]
    begin, end = first, min(build.counts[0], build.items.shape[0])
    for depth in range(1, MAX_UNARY + 1):
        for item in range(begin, end):
            x, h = build.items[item, SYMBOL], build.items[item, WORD]
            for place in range(grammar.first_by_head[x], grammar.first_by_head[x + 1]):
                s = grammar.by_head[place]
                p = grammar.parent[s]
                if p != x and kept.complete[i, j, p]:
                    probability = head_probability(tables, p, x, given.words[h], given.tags[h])
                    probability *= _stop(tables, grammar, given, s, 0, h, 1, j)
                    probability *= _stop(tables, grammar, given, s, 0, h, 0, i)
                    if probability > 0.0:
                        above = _layer(build, first, i, j, p, depth, h, (depth * size + p) * n + h)
                        _add_edge(build, above, item, 0, 0, np.log(probability))
        begin, end = end, min(build.counts[0], build.items.shape[0])
    for item in range(first, end):
        x, h = build.items[item, SYMBOL], build.items[item, WORD]
        _add_edge(build, _get(build, 0, x * n + h, i, j, x, 0, h), item, 0, 0, 0.0)


@kernel
def _layer(build: Build, first: int, i: int, j: int, p: int, depth: int, h: int, key: int) -> int:
    """Return the layer of a phrase, created if new; ``depth`` is the number of phrases with one child from it down."""
    number = build.chains[key]
    if number < first or number >= build.counts[0] or build.items[number, SYMBOL] != p:
        number = _add_item(build, LAYER, i, j, p, depth, h)
        build.chains[key] = number
    return number


@kernel
def _begin_phrases(tables: Tables, grammar: Grammar, kept: Kept, given: Given, build: Build, i: int, j: int) -> None:
    """Begin phrases whose head child is a complete item over a span."""
    n, head = given.tags.shape[0], build.lists[0, i, j]
    while head >= 0:
        x, h = build.items[head, SYMBOL], build.items[head, WORD]
        for place in range(grammar.first_by_head[x], grammar.first_by_head[x + 1]):
            s = grammar.by_head[place]
            probability = 0.0
            if kept.right[i, j, s, 0] or kept.left[i, j, s, 0]:
                probability = head_probability(tables, grammar.parent[s], x, given.words[h], given.tags[h])
            if probability > 0.0:
                right = _get(build, 1, s * 4 * n + h, i, j, s, 0, h)
                _set_group(build, right, 1, n)
                _add_edge(build, right, head, 0, 0, np.log(probability))
                probability = _stop(tables, grammar, given, s, 0, h, 1, j)
                if probability > 0.0 and kept.left[i, j, s, 0]:
                    left = _get(build, 2, s * 4 * n + h, i, j, s, 0, h)
                    _set_group(build, left, 0, n)
                    _add_edge(build, left, right, 0, 0, np.log(probability))
        head = build.items[head, _NEXT]
