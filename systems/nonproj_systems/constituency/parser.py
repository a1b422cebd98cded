"""Words in, a tree with its certificate out: by the grammar alone, with fixed tags, or jointly with the tagger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj_systems.constituency.brackets import TOP, Tree
from nonproj_systems.constituency.chart import TaggedWords, build_forest
from nonproj_systems.constituency.forest import Forest, best_derivation, pruned
from nonproj_systems.constituency.grammar import Grammar
from nonproj_systems.constituency.joint import Decoded, JointOptions, decode
from nonproj_systems.constituency.model import Model
from nonproj_systems.constituency.spans import probable_symbols
from nonproj_systems.constituency.symbols import TAG, Built, built_by_binary, built_by_unary
from nonproj_systems.constituency.tagger import Trellis

GRAMMAR, FIXED, JOINT = METHODS = ("grammar", "fixed", "joint")
"""The grammar alone; the grammar with the tagger's best tags; both together."""

MAX_WORDS = 100
"""Maximum number of words of a sentence: time grows with the cube of its length."""


class ParsingOptions(NamedTuple):
    """Options of parsing.

    Attributes
    ----------
    coarse_threshold : float
        Symbols over spans are pruned if the best tree of the coarser grammar with them is less probable than this
        share of its best tree.
    threshold : float
        Edges of the forest with a lower marginal are pruned.
    tag_threshold : float
        Tags whose probability for a word is lower than this share of the best one's are not candidates.
    joint : JointOptions
    """

    coarse_threshold: float = 1e-4
    threshold: float = 1e-7
    tag_threshold: float = 1e-4
    joint: JointOptions = JointOptions()


class Parsed(NamedTuple):
    """The tree of a sentence, its value and, if it was decoded jointly, its certificate.

    Attributes
    ----------
    tree : Tree
    found : bool
        Whether the grammar has a tree for the sentence; otherwise the tree is a flat one over the tagger's tags.
    value : float
        The log-probability of the tree, with ``JOINT`` plus that of its tags, up to a constant that depends only on
        the words.
    decoded : Decoded or None
        With ``JOINT``, the certificate.
    """

    tree: Tree
    found: bool
    value: float
    decoded: Decoded | None


class SentenceForest(NamedTuple):
    """The pruned forest of a sentence, and the trellis over the same variables."""

    forest: Forest
    trellis: Trellis


class Parser:
    """Parses sentences with a model.

    Parameters
    ----------
    model : Model
    options : ParsingOptions

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> from nonproj_systems.constituency.model import train
    >>> texts = ["(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN cat)) (VP (VBZ runs)))"]
    >>> parser = Parser(train([parse_tree(text) for text in texts]))
    >>> parsed = parser.parse("the cat sleeps".split())
    >>> print(parsed.tree, parsed.decoded.status)
    (TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))) agreed
    """

    def __init__(self, model: Model, options: ParsingOptions = ParsingOptions()):  # noqa: B008
        self.model, self.options = model, options

    def parse(self, words: Sequence[str], method: str = JOINT) -> Parsed:
        """Return the tree of a sentence.

        Parameters
        ----------
        words : sequence of str
            At least one; parentheses as the treebank writes them (``-LRB-``).
        method : str
            ``GRAMMAR``, ``FIXED`` or ``JOINT``.

        Raises
        ------
        SizeError
            The sentence is too long.
        ValueError
            There are no words, or the method is unknown.
        """
        if not len(words):
            raise ValueError("the sentence has no words; one or more are expected")
        if method not in METHODS:
            raise ValueError(f"unknown method {method!r}; {', '.join(METHODS)} are known")
        tags = self.model.tagger.tag(words) if method == FIXED else None
        return self.parse_forest(words, self.forest(words, tags), method)

    def parse_forest(self, words: Sequence[str], found: SentenceForest | None, method: str = JOINT) -> Parsed:
        """Return the tree of a sentence whose forest is known; see `forest` and `parse`."""
        if found is None:
            tags = self.model.tagger.tag(words)
            leaves = tuple(Tree(tag, word=word) for tag, word in zip(tags, words, strict=True))
            return Parsed(Tree(TOP, (Tree("X", leaves),)), False, -np.inf, None)
        decoded = None
        if method == JOINT:
            decoded = decode(found.forest, found.trellis, self.options.joint)
            value, edges = decoded.value, decoded.edges
        else:
            value, edges = best_derivation(found.forest, np.zeros(len(found.trellis.tag)))
        return Parsed(tree_of(self.model.grammar, found.forest, edges, words), True, value, decoded)

    def forest(self, words: Sequence[str], tags: Sequence[str] | None = None) -> SentenceForest | None:
        """Return the pruned forest of a sentence; None if the grammar has no tree.

        Parameters
        ----------
        words : sequence of str
        tags : sequence of str, optional
            The single candidate tag of each word.

        Raises
        ------
        SizeError
            The sentence is too long.
        """
        if len(words) > MAX_WORDS:
            raise SizeError(f"a sentence of {len(words)} words; at most {MAX_WORDS} can be parsed: split it")
        lexicon = self.model.tagger.lexicon
        if tags is None:
            candidates = [_plausible(lexicon.probabilities(word), self.options.tag_threshold) for word in words]
        else:
            candidates = [np.array([lexicon.tags.index(tag)]) for tag in tags]
        threshold = self.options.coarse_threshold
        while True:
            try:
                return self._forest(words, candidates, threshold)
            except SizeError:
                threshold = 10.0 * max(threshold, 1e-5)  # long sentences are pruned harder
                if threshold > 1.0:
                    raise

    def _forest(self, words: Sequence[str], candidates: list[np.ndarray], threshold: float) -> SentenceForest | None:
        """Return the pruned forest over candidate tags, by a threshold for the coarser grammar."""
        model, n = self.model, len(words)
        allowed = self._coarse_pass(words, candidates, threshold)
        if allowed is None:
            return None
        candidates = [tags[allowed[i, i + 1, model.coarse_symbols[tags]]] for i, tags in enumerate(candidates)]
        position, symbol, variable, scores, size = [], [], [], [], 0
        for i, word in enumerate(words):
            table = model.lexicon.scores(word)
            for tag in candidates[i]:
                refined = model.refined[tag]
                position += [i] * len(refined)
                symbol.append(model.symbols[refined])
                variable += [size] * len(refined)
                scores.append(table[refined])
                size += 1
        entries = TaggedWords(np.array(position), np.concatenate(symbol), np.array(variable), np.concatenate(scores))
        forest = build_forest(model.grammar, n, entries, allowed)
        if not forest.n_items:
            return None
        forest = pruned(forest, np.zeros(size), self.options.threshold)
        return SentenceForest(*_without_unused(forest, model.tagger.trellis(words, candidates)))

    def _coarse_pass(self, words: Sequence[str], candidates: list[np.ndarray], threshold: float) -> np.ndarray | None:
        """Return a mask of the coarser symbols allowed over each span; None if there is no tree."""
        model, n = self.model, len(words)
        sizes = [len(each) for each in candidates]
        tags = np.concatenate(candidates)
        scores = [model.tagger.lexicon.scores(word)[each] for word, each in zip(words, candidates, strict=True)]
        variables = np.arange(len(tags))
        entries = TaggedWords(
            np.repeat(np.arange(n), sizes), model.coarse_symbols[tags], variables, np.concatenate(scores)
        )
        return probable_symbols(model.coarse, n, entries, threshold)


def _plausible(probabilities: np.ndarray, threshold: float) -> np.ndarray:
    """Return the tags whose probability is at least a share of the highest."""
    return np.flatnonzero(probabilities >= threshold * probabilities.max())


def _without_unused(forest: Forest, trellis: Trellis) -> tuple[Forest, Trellis]:
    """Return a forest and a trellis over only the variables that the forest uses."""
    used = np.zeros(len(trellis.tag) + 1, np.bool_)
    used[forest.variable] = True
    used[-1] = False
    number = np.where(used, np.cumsum(used) - 1, -1)
    first = np.concatenate([[0], np.cumsum(used)])[trellis.first]
    kept = used[:-1]
    trellis = Trellis(first.astype(np.int64), trellis.tag[kept], trellis.emission[kept], trellis.transition)
    return forest._replace(variable=number[forest.variable].astype(np.int32)), trellis


def tree_of(grammar: Grammar, forest: Forest, edges: np.ndarray, words: Sequence[str]) -> Tree:
    """Return the tree of a derivation, given by its edges from the root down, left before right."""
    items = forest.items_of(edges)
    built: list[Built] = []
    for edge, item in zip(edges[::-1].tolist(), items[::-1].tolist(), strict=True):
        symbol, rule = grammar.symbols[forest.items[item, 0]], int(forest.rule[edge])
        if forest.left[edge] < 0:
            built.append(Built(TAG, (Tree(symbol.label, word=words[forest.items[item, 1]]),)))
        elif forest.right[edge] < 0:
            built.append(built_by_unary(symbol, grammar.chains[rule - grammar.n_binary], built.pop()))
        else:
            left = built.pop()
            built.append(built_by_binary(symbol, left, built.pop()))
    return built[0].trees[0]
