"""Weighted grammars from trees: counts, smoothing, closure of unary chains, and the arrays that parsing needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj_systems.constituency.brackets import TOP, Tree
from nonproj_systems.constituency.symbols import (
    BETWEEN,
    LOWER,
    TAG,
    UPPER,
    Annotation,
    Rule,
    Symbol,
    rules_of,
    without_loops,
)

LONGEST_CHAIN = 4
"""Maximum number of successive unary branches."""

MAX_RULES, MAX_STEPS = 5_000_000, 100_000_000
"""Maximum numbers of rules of a grammar, and of steps for joining chains of unary branches."""

Counts = Mapping[Rule, float]


class Tables(NamedTuple):
    """A grammar as arrays, for kernels.

    Attributes
    ----------
    first_binary, first_unary : ndarray of shape (S + 1,), int32
        The rules whose left child, or only child, is symbol ``s`` are ``first[s]`` to ``first[s + 1] - 1``.
    binary_parent, binary_right : ndarray of shape (B,), int32
    binary_score : ndarray of shape (B,), float64
        Log-probabilities.
    unary_parent : ndarray of shape (U,), int32
    unary_score : ndarray of shape (U,), float64
    coarse : ndarray of shape (S,), int32
        The symbol of the coarser grammar that each symbol refines; -1 without one.
    """

    first_binary: np.ndarray
    binary_parent: np.ndarray
    binary_right: np.ndarray
    binary_score: np.ndarray
    first_unary: np.ndarray
    unary_parent: np.ndarray
    unary_score: np.ndarray
    coarse: np.ndarray


class Grammar(NamedTuple):
    """Symbols, rules between them, and the chains that unary rules stand for.

    Attributes
    ----------
    symbols : list of Symbol
    root : int
        The symbol of complete trees.
    tables : Tables
        Unary rules are numbered after the binary rules.
    chains : list of tuple of str
        For each unary rule the categories that it puts above its child, from the top down.
    """

    symbols: list[Symbol]
    root: int
    tables: Tables
    chains: list[tuple[str, ...]]

    @property
    def n_binary(self) -> int:
        """Number of binary rules."""
        return len(self.tables.binary_parent)


def count_rules(trees: Iterable[Tree], annotation: Annotation) -> dict[Rule, float]:
    """Return the count of each rule in the derivations of some trees."""
    counts: dict[Rule, float] = defaultdict(float)
    for tree in trees:
        for rule in rules_of(without_loops(tree), annotation):
            counts[rule] += 1.0
    return dict(counts)


def relative_frequencies(counts: Counts) -> dict[Rule, float]:
    """Return the probability of each rule among the rules with the same parent."""
    totals: dict[Symbol, float] = defaultdict(float)
    for rule, count in counts.items():
        totals[rule.parent] += count
    return {rule: count / totals[rule.parent] for rule, count in counts.items()}


def smoothed_by_parent(counts: Counts, weight: float, floor: float = 0.0) -> dict[Rule, float]:
    """Return rule probabilities, smoothed by those of the same phrases below any parent.

    Parameters
    ----------
    counts : mapping of Rule to float
        Counts of rules with parent annotation.
    weight : float
        Pseudo-count of the probabilities below any parent, for smoothing.
    floor : float
        Minimum probability of rules that were not seen below a parent; others are omitted.

    Raises
    ------
    SizeError
        There would be too many rules.
    """
    general: dict[Rule, float] = defaultdict(float)
    totals: dict[Symbol, float] = defaultdict(float)
    parents: dict[str, set[str]] = defaultdict(set)
    for rule, count in counts.items():
        general[_any_parent(rule)] += count
        totals[rule.parent] += count
        parents[rule.parent.label].add(rule.parent.parent)
    found = {}
    shares = relative_frequencies(general)
    if sum(len(parents[rule.parent.label]) for rule in shares) > MAX_RULES:
        raise SizeError(f"more than {MAX_RULES} rules below any parent")
    for rule, share in shares.items():
        for parent in parents[rule.parent.label]:
            specific = _with_parent(rule, parent)
            total, count = totals.get(specific.parent, 0.0), counts.get(specific, 0.0)
            probability = (count + weight * share) / (total + weight)
            if count or probability > floor:
                found[specific] = probability
    return found


def _any_parent(rule: Rule) -> Rule:
    """Return a rule without parent annotation."""
    inner = (_moved(child, "") if _is_same_phrase(rule, child) else child for child in rule.children)
    return Rule(_moved(rule.parent, ""), tuple(inner))


def _with_parent(rule: Rule, parent: str) -> Rule:
    """Return a rule with parent annotation."""
    inner = (_moved(child, parent) if _is_same_phrase(rule, child) else child for child in rule.children)
    return Rule(_moved(rule.parent, parent), tuple(inner))


def _moved(symbol: Symbol, parent: str) -> Symbol:
    return symbol._replace(parent=parent)


def _is_same_phrase(rule: Rule, child: Symbol) -> bool:
    """Return whether a child is an intermediate symbol of the parent's phrase, with the same annotation."""
    return child.kind in (LOWER, BETWEEN)


def coarser(counts: Counts) -> dict[Rule, float]:
    """Return the counts of rules without annotation: the sums over rules that differ only in it."""
    found: dict[Rule, float] = defaultdict(float)
    for rule, count in counts.items():
        found[Rule(coarse_symbol(rule.parent), tuple(map(coarse_symbol, rule.children)))] += count
    return dict(found)


def coarse_symbol(symbol: Symbol) -> Symbol:
    """Return a symbol without annotation."""
    return Symbol(symbol.kind, symbol.label)


def compile_grammar(probabilities: Mapping[Rule, float], coarse: Grammar | None = None) -> Grammar:
    """Return a grammar as arrays for parsing: unary chains joined, rules sorted by their left child.

    Parameters
    ----------
    probabilities : mapping of Rule to float
        Unary rules are from one upper symbol to an upper, lower or tag symbol.
    coarse : Grammar, optional
        The coarser grammar that prunes parsing with this one.

    Raises
    ------
    SizeError
        There are too many chains to join.
    """
    symbols = sorted({symbol for rule in probabilities for symbol in (rule.parent, *rule.children)})
    number = {symbol: i for i, symbol in enumerate(symbols)}
    unary, binary = {}, []
    for rule, probability in probabilities.items():
        parent, children = number[rule.parent], [number[child] for child in rule.children]
        if len(children) == 1:
            unary[parent, children[0]] = float(np.log(probability))
        else:
            binary.append((children[0], children[1], parent, float(np.log(probability))))
    closed = sorted((child, parent, *found) for (parent, child), found in _closure(unary, symbols).items())
    binary.sort()
    size = np.arange(len(symbols) + 1)
    columns = [np.array(column) for column in zip(*binary, strict=True)] or [np.zeros(0)] * 4
    projection = np.full(len(symbols), -1)
    if coarse is not None:
        coarse_number = {symbol: i for i, symbol in enumerate(coarse.symbols)}
        projection = np.array([coarse_number[coarse_symbol(symbol)] for symbol in symbols])
    tables = Tables(
        np.searchsorted(columns[0], size).astype(np.int32),
        columns[2].astype(np.int32),
        columns[1].astype(np.int32),
        columns[3].astype(np.float64),
        np.searchsorted([rule[0] for rule in closed], size).astype(np.int32),
        np.array([rule[1] for rule in closed], np.int32),
        np.array([rule[2] for rule in closed], np.float64),
        projection.astype(np.int32),
    )
    root = next(i for i, symbol in enumerate(symbols) if symbol.kind == UPPER and symbol.label == TOP)
    return Grammar(symbols, root, tables, [rule[3] for rule in closed])


def _closure(unary: Mapping[tuple[int, int], float], symbols: list[Symbol]) -> dict[str, Any]:
    """Return the best chain from each upper symbol down to each lower one or tag: its score and its categories.

    The step from the upper to the lower symbol of the same phrase adds no category.
    """
    steps: dict[int, list[Any]] = defaultdict(list)
    for (parent, child), score in unary.items():
        steps[parent].append((child, score))
    found, count = {}, 0
    for start in steps:
        layer = {start: (0.0, (symbols[start].label,))}
        best = dict(layer)
        for _ in range(LONGEST_CHAIN):
            reached = {}
            for symbol, (score, chain) in layer.items():
                count += len(steps.get(symbol, ()))
                if count > MAX_STEPS:
                    raise SizeError(f"more than {MAX_STEPS} steps from one symbol to another")
                for child, step in steps.get(symbol, ()):
                    kind, value = symbols[child].kind, score + step
                    longer = (*chain, symbols[child].label) if kind == UPPER else chain
                    if value > best.get(child, (-np.inf,))[0]:
                        best[child] = reached[child] = (value, longer)
            layer = reached
        for child, (score, chain) in best.items():
            kind = symbols[child].kind
            if kind == TAG:
                found[start, child] = (score, chain)
            elif kind == LOWER:  # the lower symbol brings the last category itself
                found[start, child] = (score, chain[:-1])
    return found
