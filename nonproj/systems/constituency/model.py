"""A trained model of phrase structure and tags: a grammar, a coarser one that prunes it, their words, and a tagger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.systems.archive import read, write
from nonproj.systems.constituency.brackets import Tree
from nonproj.systems.constituency.grammar import (
    Counts,
    Grammar,
    coarse_symbol,
    coarser,
    compile_grammar,
    count_rules,
    relative_frequencies,
    smoothed_by_parent,
)
from nonproj.systems.constituency.lexicon import Lexicon, LexiconOptions
from nonproj.systems.constituency.symbols import TAG, Annotation, Rule, Symbol
from nonproj.systems.constituency.tagger import Tagger, count_transitions

KIND, VERSION = "constituency", 1


class TrainingOptions(NamedTuple):
    """How a model is trained.

    Attributes
    ----------
    annotation : Annotation
        What the symbols of the grammar remember.
    parent_weight : float
        Rules are smoothed by those below any parent as if a symbol had been seen so often with them; 0: not at all.
    floor : float
        The lowest probability of a rule that was seen below other parents only.
    tagger, words : LexiconOptions
        For the words of the tagger, and for those of the grammar.
    """

    annotation: Annotation = Annotation()
    parent_weight: float = 5.0
    floor: float = 1e-5
    tagger: LexiconOptions = LexiconOptions()
    words: LexiconOptions = LexiconOptions()


class Model:
    """What parsing needs; made by `train` or `Model.load`.

    Parameters
    ----------
    rules : mapping of Rule to float
        How often each rule occurs in the training trees.
    tokens : mapping of str to mapping of Symbol to float
        How often each word has each tag of the grammar.
    transition : ndarray of shape (T + 1, T + 1, T + 1), float64
        The tagger's; its tags are those of the grammar in alphabetical order.
    options : TrainingOptions

    Attributes
    ----------
    grammar, coarse : Grammar
    tagger : Tagger
        Its lexicon also belongs to the coarser grammar.
    lexicon : Lexicon
        Of the tags of the grammar.
    coarse_symbols : ndarray of shape (T,), int64
        The coarser grammar's symbol of each of the tagger's tags.
    refined : list of ndarray of int64
        For each of the tagger's tags, those of ``lexicon`` that refine it.
    symbols : ndarray of int64
        The grammar's symbol of each tag of ``lexicon``.
    """

    def __init__(self, rules: Counts, tokens, transition: np.ndarray, options: TrainingOptions):
        self.rules, self.tokens, self.transition, self.options = rules, tokens, transition, options
        self.coarse: Grammar = compile_grammar(relative_frequencies(coarser(rules)))
        weight = options.parent_weight if options.annotation.vertical > 1 else 0.0
        smoothed = smoothed_by_parent(rules, weight, options.floor) if weight else relative_frequencies(rules)
        self.grammar: Grammar = compile_grammar(smoothed, self.coarse)
        tags = [symbol for symbol in self.grammar.symbols if symbol.kind == TAG]
        names = [symbol.label for symbol in self.coarse.symbols if symbol.kind == TAG]
        number = {symbol: i for i, symbol in enumerate(tags)}
        general = {name: i for i, name in enumerate(names)}
        counted = {word: {number[tag]: n for tag, n in counts.items()} for word, counts in tokens.items()}
        self.lexicon = Lexicon([tag.label for tag in tags], counted, options.words)
        merged: dict[str, Counter[Any]] = {}
        for word, counts in tokens.items():
            merged[word] = Counter()
            for tag, n in counts.items():
                merged[word][general[tag.label]] += n
        self.tagger = Tagger(Lexicon(names, merged, options.tagger), transition)
        places = {symbol: i for i, symbol in enumerate(self.coarse.symbols)}
        self.coarse_symbols = np.array([places[Symbol(TAG, name)] for name in names], np.int64)
        owner = np.array([general[coarse_symbol(tag).label] for tag in tags])
        self.refined = [np.flatnonzero(owner == tag) for tag in range(len(names))]
        self.symbols = np.array([i for i, symbol in enumerate(self.grammar.symbols) if symbol.kind == TAG], np.int64)

    def save(self, path: str | Path) -> None:
        """Write the model to a file.

        Raises
        ------
        FileError
            The file cannot be written.
        """
        symbols = sorted({symbol for rule in self.rules for symbol in (rule.parent, *rule.children)})
        number = {symbol: i for i, symbol in enumerate(symbols)}
        rules = [[number[rule.parent], *map(number.get, rule.children), -1][:3] for rule in self.rules]
        words = [(i, number[tag], n) for i, counts in enumerate(self.tokens.values()) for tag, n in counts.items()]
        values = {
            "symbols": [list(symbol) for symbol in symbols],
            "words": list(self.tokens),
            "options": [list(part) if isinstance(part, tuple) else part for part in self.options],
        }
        arrays = {
            "rules": np.array(rules, np.int32),
            "rule_counts": np.array(list(self.rules.values()), np.float64),
            "tokens": np.array([word[:2] for word in words], np.int32),
            "token_counts": np.array([word[2] for word in words], np.float64),
            "transition": self.transition,
        }
        write(path, KIND, VERSION, values, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model from a file.

        Raises
        ------
        ModelError
            The file cannot be read, or is no such model.
        """
        values, arrays = read(path, KIND, VERSION)
        try:
            return cls(*_contents(values, arrays))
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, StopIteration) as error:
            raise ModelError(f"{path}: not a model of nonproj for {KIND}") from error


def _contents(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Any, ...]:
    """Return the arguments of a model that was read from a file."""
    symbols = [Symbol(kind, label, parent, tuple(history)) for kind, label, parent, history in values["symbols"]]
    rules = {}
    for (parent, left, right), count in zip(arrays["rules"].tolist(), arrays["rule_counts"].tolist(), strict=True):
        rules[Rule(symbols[parent], tuple(symbols[child] for child in (left, right) if child >= 0))] = count
    tokens: dict[str, dict[Symbol, float]] = {word: {} for word in values["words"]}
    for (word, tag), count in zip(arrays["tokens"].tolist(), arrays["token_counts"].tolist(), strict=True):
        tokens[values["words"][word]][symbols[tag]] = count
    annotation, weight, floor, tagger, words = values["options"]
    options = TrainingOptions(
        Annotation(*annotation), float(weight), float(floor), LexiconOptions(*tagger), LexiconOptions(*words)
    )
    transition = np.ascontiguousarray(arrays["transition"], np.float64)
    size = len({symbol.label for symbol in symbols if symbol.kind == TAG}) + 1
    if transition.shape != (size, size, size):
        raise ValueError("the transitions do not fit the tags")
    return rules, tokens, transition, options


def train(trees: Sequence[Tree], options: TrainingOptions = TrainingOptions()) -> Model:  # noqa: B008
    """Return a model of trees without traces and function tags.

    Parameters
    ----------
    trees : sequence of Tree
        As `nonproj.systems.constituency.brackets.plain` returns them.
    options : TrainingOptions

    Raises
    ------
    ValueError
        There are no trees.

    Examples
    --------
    >>> from nonproj.systems.constituency.brackets import parse_tree
    >>> model = train([parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))")])
    >>> model.tagger.lexicon.tags
    ['DT', 'NN', 'VBZ']
    """
    if not trees:
        raise ValueError("there are no trees to train on; one or more are expected")
    rules = count_rules(trees, options.annotation)
    tokens: dict[str, Counter[Any]] = defaultdict(Counter)
    for tree in trees:
        for tag, word in _tokens(tree, options.annotation, ""):
            tokens[word][tag] += 1
    names = sorted({tag.label for counts in tokens.values() for tag in counts})
    number = {name: i for i, name in enumerate(names)}
    transition = count_transitions(([number[tag] for tag in tree.tags()] for tree in trees), len(names))
    return Model(rules, dict(tokens), transition, options)


def _tokens(tree: Tree, annotation: Annotation, parent: str) -> Iterator[tuple[Symbol, str]]:
    """Yield the tags of a tree, as the grammar knows them, and the words."""
    if tree.word is not None:
        yield annotation.tag(tree.label, parent), tree.word
    for child in tree.children:
        yield from _tokens(child, annotation, tree.label)
