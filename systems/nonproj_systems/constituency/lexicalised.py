"""Parsing with Model 1 alone: a tagged sentence in, its most probable lexicalised tree out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj_systems.constituency.brackets import TOP, Tree
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.collins_chart import (
    BEGIN,
    END,
    KIND,
    LAYER,
    SYMBOL,
    chart,
)
from nonproj_systems.constituency.collins_coarse import Grammar, coarse_grammar, keep_probable
from nonproj_systems.constituency.collins_trees import without_base_phrases
from nonproj_systems.constituency.forest import Forest, best_derivation
from nonproj_systems.constituency.heads import dependencies

THRESHOLDS = (1e-5, 1e-8)
"""Posteriors below which coarse items are pruned; the next one is tried if no tree remains."""

MAX_WORDS = 150
"""Maximum number of words of a sentence: memory grows with its square."""


class Lexicalised(NamedTuple):
    """A lexicalised tree.

    Attributes
    ----------
    tree : Tree
        Without NPB.
    heads : ndarray of shape (n,), int32
        The dependencies that its lexical heads imply: the head of each word, from 1; 0 is the root.
    score : float
        Log-probability; minus infinity if the model has no tree, and this one is flat.
    """

    tree: Tree
    heads: np.ndarray
    score: float


class LexicalisedParser:
    """Parses tagged sentences with a trained Model 1.

    Parameters
    ----------
    model : Collins
    thresholds : sequence of float
        As `THRESHOLDS`.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> trees = [parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP me))))")] * 3
    >>> parser = LexicalisedParser(Collins.train(trees))
    >>> found = parser.parse(["the", "dog", "sees", "me"], ["DT", "NN", "VBZ", "PRP"])
    >>> str(found.tree), found.heads.tolist()
    ('(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP me)))))', [2, 3, 0, 3])
    """

    def __init__(self, model: Collins, thresholds: Sequence[float] = THRESHOLDS):
        self.model, self.thresholds = model, tuple(thresholds)

    @classmethod
    def load(cls, path: str | Path) -> LexicalisedParser:
        """Return the parser of a model file."""
        return cls(Collins.load(path))

    @cached_property
    def grammar(self) -> Grammar:
        """The coarse grammar of the model."""
        return coarse_grammar(self.model)

    def chart(self, words: Sequence[str], tags: Sequence[str]) -> Forest | None:
        """Return all trees of a sentence as a forest; None if there are none.

        Raises
        ------
        ValueError
            There are no words, or their number differs from that of the tags.
        SizeError
            The sentence is too long, or its chart too large.
        """
        if not len(words) or len(words) != len(tags):
            raise ValueError(f"{len(words)} words and {len(tags)} tags; words and a tag for each are expected")
        if len(words) > MAX_WORDS:
            raise SizeError(f"a sentence of {len(words)} words; at most {MAX_WORDS} can be parsed: split it")
        numbers = self.model.tag_numbers(tags)
        if not numbers.all():
            return None
        for i, threshold in enumerate(self.thresholds):
            kept = keep_probable(self.model, self.grammar, numbers, threshold)
            if kept is None:
                return None
            try:
                found = chart(self.model, self.grammar, self.model.word_numbers(words, numbers), numbers, kept)
            except SizeError:
                if not i:
                    raise
                return None
            if found is not None:
                return found
        return None

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> Lexicalised:
        """Return the most probable tree; a flat one if the model has none, for example because of a new tag."""
        graph = self.chart(words, tags)
        if graph is None:
            return flat(words, tags)
        score, edges = best_derivation(graph, np.zeros((len(words) + 1) ** 2))
        return self.read(graph, edges, score, words, tags)

    def read(
        self, graph: Forest, edges: np.ndarray, score: float, words: Sequence[str], tags: Sequence[str]
    ) -> Lexicalised:
        """Return the tree of a derivation of a forest from `chart`, given the edges as from `best_derivation`."""
        return Lexicalised(self.tree(graph, edges, words, tags), read_heads(graph, edges, len(words)), score)

    def tree(self, graph: Forest, edges: np.ndarray, words: Sequence[str], tags: Sequence[str]) -> Tree:
        """Return the tree of a derivation without NPB; the arcs of the forest may be numbered in any way."""
        return without_base_phrases(read_tree(graph, edges, words, tags, self.model.symbols))


def conll_lines(tree: Tree) -> list[str]:
    """Return the tags and dependencies of a plain tree as CoNLL-X, with a blank line at the end.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> conll_lines(parse_tree("(S (NN dog) (VB runs))"))[0].split()
    ['1', 'dog', '_', 'NN', 'NN', '_', '0', '_', '_', '_']
    """
    rows = enumerate(zip(tree.leaves(), dependencies(tree), strict=True), 1)
    return [f"{i}\t{leaf.word}\t_\t{leaf.label}\t{leaf.label}\t_\t{head}\t_\t_\t_\n" for i, (leaf, head) in rows] + [
        "\n"
    ]


def flat(words: Sequence[str], tags: Sequence[str]) -> Lexicalised:
    """Return the tree of a sentence that cannot be parsed: all words in one phrase, each headed by the last."""
    leaves = tuple(Tree(tag, (), word) for word, tag in zip(words, tags, strict=True))
    heads = np.full(len(words), len(words), np.int32)
    heads[-1] = 0
    return Lexicalised(Tree(TOP, (Tree("FRAG", leaves),)), heads, -np.inf)


def read_heads(graph: Forest, edges: np.ndarray, n_words: int) -> np.ndarray:
    """Return the heads of a derivation, int32[n]."""
    heads = np.full(n_words, -1, np.int32)
    arcs = graph.variable[edges]
    arcs = arcs[arcs >= 0]
    heads[arcs % (n_words + 1) - 1] = arcs // (n_words + 1)
    return heads


def read_tree(
    graph: Forest, edges: np.ndarray, words: Sequence[str], tags: Sequence[str], symbols: Sequence[str]
) -> Tree:
    """Return the tree of a derivation, with base phrases."""
    items = graph.items[graph.items_of(edges)]
    # A layer is a phrase; everything derived below it, up to other layers, is its children from left to right.
    spans = [(int(item[BEGIN]), int(item[END]), symbols[item[SYMBOL]]) for item in items if item[KIND] == LAYER]
    position = 0

    def build() -> Tree:
        """Return the tree of the next layer and all below it."""
        nonlocal position
        begin, end, label = spans[position]
        position += 1
        if position == len(spans) or not (begin <= spans[position][0] and spans[position][1] <= end):
            return Tree(tags[begin], (), words[begin])
        children, at = [], begin
        while at <= end:
            last = spans[position][1]
            children.append(build())
            at = last + 1
        return Tree(label, tuple(children))

    return build()
