"""Pruning of lexicalised charts: posteriors of Model 1 without words and without the tags of heads.

An item of the lexicalised chart is kept if its coarse item, which has no lexical head, has at least a given posterior
probability (coarse-to-fine parsing, Charniak et al. 2006).  `nonproj_systems.constituency.collins_chart` explains the
items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.constituency.brackets import TOP
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.collins_tables import MAX_SYMBOLS, MODIFIER, kind_of
from nonproj_systems.constituency.collins_trees import BASE

MAX_UNARY = 4
"""Maximum length of a chain of phrases with one child each over the same words; the treebank has none longer."""

WORD_SCALE = 12.0
"""Factor of the inside probabilities per word, about the inverse of a word's share, against underflow."""


class Grammar(NamedTuple):
    """The states of the model, and its coarse probabilities.

    Attributes
    ----------
    parent, head : ndarray of shape (S,), int64
        Category and head child of each state.
    base : ndarray of shape (S,), bool
        Whether the category is NPB.
    by_head, first_by_head : ndarray of int64
        ``by_head[first_by_head[x]:first_by_head[x + 1]]`` are the states with head child ``x``.
    start : ndarray of shape (S,), float64
        Probability of the head child, given the category.
    modifier : ndarray of shape (2, 3, S, number of symbols), float64
        Probability of a modifier by side, distance and state.
    stop : ndarray of shape (2, 3, S), float64
    chains : ndarray of shape (number of symbols, number of symbols), float64
        Total probability of chains of at most `MAX_UNARY` phrases with one child each, from the top to the bottom.
    verb : ndarray of shape (number of symbols,), bool
    """

    parent: np.ndarray
    head: np.ndarray
    base: np.ndarray
    by_head: np.ndarray
    first_by_head: np.ndarray
    start: np.ndarray
    modifier: np.ndarray
    stop: np.ndarray
    chains: np.ndarray
    verb: np.ndarray


class Kept(NamedTuple):
    """Masks of the coarse items that are kept.

    Attributes
    ----------
    complete : ndarray of shape (n, n, number of symbols), bool
    right : ndarray of shape (n, n, S, 3), bool
    left : ndarray of shape (n, n, S, 4), bool
    """

    complete: np.ndarray
    right: np.ndarray
    left: np.ndarray


def coarse_grammar(model: Collins) -> Grammar:
    """Return the coarse grammar of a model."""
    size, states = len(model.symbols), model.states
    n_states, base = len(states), model.symbol_ids.get(BASE, -1)
    order = np.argsort(states[:, 1], kind="stable")
    first = np.searchsorted(states[order, 1], np.arange(size + 1))
    heads = {(p, h): n for p, h, n in _events_of_heads(model)}
    totals = np.bincount(states[:, 0], [heads[p, h] for p, h in states.tolist()], size)
    start = np.array([heads[p, h] / totals[p] for p, h in states.tolist()])
    found, counts = {}, np.zeros((2, 3, n_states, size))
    for context, outcome, number in model.events[kind_of(model.events[:, 0]) == MODIFIER + 2].tolist():
        side, d, h, p = context >> 54 & 1, context >> 52 & 3, context >> 7 & 127, context & 127
        row = found.setdefault((side, d, p, h), np.zeros(size))
        row[outcome // MAX_SYMBOLS] += number
    for s, (p, h) in enumerate(states.tolist()):
        for side in range(2):
            for d in range(3):
                key = (side, 0, p, 0) if p == base else (side, d, p, h)
                row = found.get(key)
                counts[side, d, s] = 0.0 if row is None else row / row.sum()
    stop = counts[:, :, :, 0].copy()
    counts[:, :, :, 0] = 0.0
    single, chains = np.zeros((size, size)), np.eye(size)
    single[states[:, 0], states[:, 1]] = start * stop[0, 0] * stop[1, 0]
    np.fill_diagonal(single, 0.0)
    for _ in range(MAX_UNARY):
        chains = np.eye(size) + single @ chains
    parent, head = (np.ascontiguousarray(states[:, i]) for i in (0, 1))
    return Grammar(parent, head, parent == base, order, first, start, counts, stop, chains, model.verbs)


def _events_of_heads(model: Collins) -> list[list[int]]:
    """Return category, head child and occurrences of each state."""
    rows = model.events[kind_of(model.events[:, 0]) == 2]
    return np.column_stack([rows[:, 0] & (MAX_SYMBOLS - 1), rows[:, 1:]]).tolist()


def keep_probable(model: Collins, grammar: Grammar, tags: np.ndarray, threshold: float) -> Kept | None:
    """Return the coarse items whose posterior is at least a threshold; None if the grammar has no tree.

    Parameters
    ----------
    model : Collins
    grammar : Grammar
    tags : ndarray of shape (n,), int64
    threshold : float
        0 keeps all items that are part of a tree.
    """
    n, n_states, size = len(tags), len(grammar.parent), len(grammar.verb)
    shapes = (n, n, size), (n, n, n_states, 3), (n, n, n_states, 4)
    inside, outside = ([np.zeros(shape) for shape in shapes] for _ in range(2))
    verbs = np.cumsum([0, *grammar.verb[tags]])
    _inside(grammar, tags, verbs, *inside)
    top = model.symbol_ids[TOP]
    total = inside[0][0, n - 1, top]
    if not 0.0 < total < np.inf:
        return None
    outside[0][0, n - 1, top] = 1.0
    _outside(grammar, verbs, *inside, *outside)
    limit = total * threshold
    kept = []
    for i, o in zip(inside, outside, strict=True):
        i *= o
        kept.append((i >= limit) & (i > 0.0))
    return Kept(*kept)


@kernel
def _alive(values: Float64s) -> Int64s:
    """Return the indices of the positive values of a vector."""
    found, count = np.empty(values.shape[0], np.int64), 0
    for x in range(values.shape[0]):
        if values[x] > 0.0:
            found[count] = x
            count += 1
    return found[:count]


@kernel
def _inside(grammar: Grammar, tags: Int64s, verbs: Int64s, complete: Float64s, right: Float64s, left: Float64s) -> None:
    """Fill in the inside probabilities of all coarse items."""
    n, size = complete.shape[0], complete.shape[2]
    for j in range(n):
        for i in range(j, -1, -1):
            for k in range(i, j):
                _extend(grammar, 1, right[i, k], complete[k + 1, j], verbs[j + 1] > verbs[k + 1], right[i, j])
                _extend(grammar, 0, left[k + 1, j], complete[i, k], verbs[k + 1] > verbs[i], left[i, j])
            bottom = np.zeros(size)
            for s in range(grammar.parent.shape[0]):
                for d in range(1, 3):
                    left[i, j, s, 3] += right[i, j, s, d] * grammar.stop[1, d, s]
                for d in range(1, 4):
                    bottom[grammar.parent[s]] += left[i, j, s, d] * grammar.stop[0, d % 3, s]
            if i == j:
                bottom[tags[i]] = WORD_SCALE
            for x in _alive(bottom):
                for p in range(size):
                    complete[i, j, p] += grammar.chains[p, x] * bottom[x]
            for s in range(grammar.parent.shape[0]):
                value = complete[i, j, grammar.head[s]] * grammar.start[s]
                right[i, j, s, 0] = value
                left[i, j, s, 0] = value * grammar.stop[1, 0, s]


@kernel
def _extend(
    grammar: Grammar, side: int, heads: Float64s, modifiers: Float64s, has_verb: bool, target: Float64s
) -> None:
    """Add a modifier to the left (side 0) or right (side 1) of each item."""
    alive = _alive(modifiers)
    if alive.shape[0] == 0:
        return
    for s in range(heads.shape[0]):
        for d in range(heads.shape[1]):
            if heads[s, d] > 0.0:
                total = 0.0
                for x in alive:
                    total += grammar.modifier[side, d % 3, s, x] * modifiers[x]
                target[s, 2 if d == 2 or has_verb else 1] += heads[s, d] * total


@kernel
def _outside(
    grammar: Grammar,
    verbs: Int64s,
    complete: Float64s,
    right: Float64s,
    left: Float64s,
    out_complete: Float64s,
    out_right: Float64s,
    out_left: Float64s,
) -> None:
    """Fill in the outside probabilities of all coarse items."""
    n, size = complete.shape[0], complete.shape[2]
    for j in range(n - 1, -1, -1):
        for i in range(j + 1):
            used = out_complete[i, j].copy()
            for s in range(grammar.parent.shape[0]):
                out_right[i, j, s, 0] += out_left[i, j, s, 0] * grammar.stop[1, 0, s]
                used[grammar.head[s]] += out_right[i, j, s, 0] * grammar.start[s]
            for x in range(size):
                total = 0.0
                for p in range(size):
                    total += used[p] * grammar.chains[p, x]
                out_complete[i, j, x] = total
            for s in range(grammar.parent.shape[0]):
                above = out_complete[i, j, grammar.parent[s]]
                for d in range(1, 4):
                    out_left[i, j, s, d] += above * grammar.stop[0, d % 3, s]
                for d in range(1, 3):
                    out_right[i, j, s, d] += out_left[i, j, s, 3] * grammar.stop[1, d, s]
            for k in range(i, j):
                _share(grammar, 1, right[i, k], complete[k + 1, j], verbs[j + 1] > verbs[k + 1],
                       out_right[i, j], out_right[i, k], out_complete[k + 1, j])  # fmt: skip
                _share(grammar, 0, left[k + 1, j], complete[i, k], verbs[k + 1] > verbs[i],
                       out_left[i, j], out_left[k + 1, j], out_complete[i, k])  # fmt: skip


@kernel
def _share(
    grammar: Grammar,
    side: int,
    heads: Float64s,
    modifiers: Float64s,
    has_verb: bool,
    above: Float64s,
    out_heads: Float64s,
    out_modifiers: Float64s,
) -> None:
    """Pass outside probabilities on to head and modifier of each extension to the left (side 0) or right (side 1)."""
    alive = _alive(modifiers)
    for s in range(heads.shape[0]):
        for d in range(heads.shape[1]):
            outer = above[s, 2 if d == 2 or has_verb else 1]
            if outer > 0.0 and heads[s, d] > 0.0:
                for x in alive:
                    share = outer * grammar.modifier[side, d % 3, s, x]
                    out_heads[s, d] += share * modifiers[x]
                    out_modifiers[x] += share * heads[s, d]
