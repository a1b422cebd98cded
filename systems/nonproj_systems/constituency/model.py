"""A trained model of phrase structure and tags: a grammar, a coarser one that prunes it, their words, and a tagger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.strings import WORD, check_strings
from nonproj_systems.constituency.brackets import Tree
from nonproj_systems.constituency.grammar import (
    Counts,
    Grammar,
    coarse_symbol,
    coarser,
    compile_grammar,
    count_rules,
    relative_frequencies,
    smoothed_by_parent,
)
from nonproj_systems.constituency.lexicon import Lexicon, LexiconOptions
from nonproj_systems.constituency.symbols import BETWEEN, LOWER, TAG, UPPER, Annotation, Rule, Symbol
from nonproj_systems.constituency.tagger import Tagger, count_transitions
from nonproj_systems.models import read, write

KIND, VERSION = "constituency", 2

_KINDS = (TAG, UPPER, LOWER, BETWEEN)
_LOWEST, _HIGHEST = 1e-6, 1e12
"""Limits of counts, and of the options of smoothing."""

_LONGEST_HISTORY = 20


class TrainingOptions(NamedTuple):
    """Options of training.

    Attributes
    ----------
    annotation : Annotation
        Annotation of the symbols of the grammar (Markovisation).
    parent_weight : float
        Pseudo-count of the rules below any parent, for smoothing; 0: no smoothing.
    floor : float
        Minimum probability of a rule that was seen below other parents only.
    tagger, words : LexiconOptions
        Options of the tagger's lexicon, and of the grammar's.
    """

    annotation: Annotation = Annotation()
    parent_weight: float = 5.0
    floor: float = 1e-5
    tagger: LexiconOptions = LexiconOptions()
    words: LexiconOptions = LexiconOptions()


class Model:
    """A trained model, made by `train` or `Model.load`.

    Parameters
    ----------
    rules : mapping of Rule to float
        Count of each rule in the training trees.
    tokens : mapping of str to mapping of Symbol to float
        Count of each word with each tag of the grammar.
    transition : ndarray of shape (T + 1, T + 1, T + 1), float64
        Transitions of the tagger, whose tags are those of the coarser grammar in alphabetical order.
    options : TrainingOptions

    Attributes
    ----------
    grammar, coarse : Grammar
    tagger : Tagger
        The tagger, whose lexicon the coarser grammar shares.
    lexicon : Lexicon
        Lexicon of the grammar's tags.
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
            The file cannot be read, or is not such a model.
        """
        values, arrays = read(path, KIND, VERSION)
        try:
            return cls(*_contents(values, arrays))
        except (KeyError, ValueError, TypeError, IndexError, StopIteration, ModelError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error) or "it has no root"
            raise ModelError(f"{path}: a damaged model for {KIND}: {what}; train it again") from None


def _contents(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Any, ...]:
    """Return the arguments of a model from the contents of a file; raise an error if they are invalid."""
    symbols, words = _symbols(values["symbols"]), check_strings(values["words"], WORD, "the words")
    if len(set(words)) < len(words):
        raise ValueError("a word is listed twice")
    rules = {}
    for numbers, count in _rows(arrays, "rule", 3):
        rule = _rule(symbols, numbers)
        if rule in rules:
            raise ValueError("a rule is listed twice")
        rules[rule] = count
    tokens: dict[str, dict[Symbol, float]] = {word: {} for word in words}
    for (word, tag), count in _rows(arrays, "token", 2):
        if not (0 <= word < len(words) and 0 <= tag < len(symbols)) or symbols[tag].kind != TAG:
            raise ValueError("a number of a word or tag is out of range")
        tokens[words[word]][symbols[tag]] = count
    transition = arrays["transition"]
    size = len({symbol.label for symbol in symbols if symbol.kind == TAG}) + 1
    if transition.shape != (size, size, size) or transition.dtype != np.float64:
        raise ValueError("the transitions do not fit the tags")
    if not (np.abs(transition) < _HIGHEST).all():
        raise ValueError("a transition is not finite, or too large")
    return rules, tokens, np.ascontiguousarray(transition), _options(values["options"])


def _symbols(rows: object) -> list[Symbol]:
    """Return the symbols of the grammar from their JSON values; names must be valid in brackets."""
    if type(rows) is not list or not all(type(row) is list and len(row) == 4 for row in rows):
        raise ValueError("the symbols are not lists of kind, label, parent and history")
    found = []
    for kind, label, parent, history in rows:
        if kind not in _KINDS or type(history) is not list or len(history) > _LONGEST_HISTORY:
            raise ValueError("a symbol is of an unknown kind")
        names = check_strings([label, *([parent] if parent != "" else []), *history], WORD, "the symbols")
        if any(set(name) & set("()") for name in names):
            raise ValueError("a symbol has brackets in its name")
        found.append(Symbol(kind, label, parent, tuple(history)))
    if len(set(found)) < len(found):
        raise ValueError("a symbol is listed twice")
    return found


def _rule(symbols: list[Symbol], numbers: list[int]) -> Rule:
    """Return a rule from the numbers of its symbols; raise an error unless it can be in a derivation of a tree."""
    parent, *children = numbers if numbers[2] >= 0 else numbers[:2]
    if not all(0 <= number < len(symbols) for number in (parent, *children)) or numbers[2] < -1:
        raise ValueError("the number of a symbol is out of range")
    rule = Rule(symbols[parent], tuple(symbols[child] for child in children))
    below = [child.kind for child in rule.children]
    if len(children) == 1:
        right = rule.parent.kind == UPPER and below[0] in (UPPER, LOWER, TAG)
    else:
        right = rule.parent.kind in (LOWER, BETWEEN) and LOWER not in below
    if not right:
        raise ValueError("a rule has symbols of wrong kinds")
    return rule


def _rows(arrays: dict[str, np.ndarray], name: str, width: int) -> Iterator[tuple[list[int], float]]:
    """Return an iterator over the rows of an array of numbers, each with its count."""
    rows, counts = arrays[f"{name}s"], arrays[f"{name}_counts"]
    if rows.dtype != np.int32 or rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise ValueError(f"the {name}s have a wrong shape")
    if counts.dtype != np.float64 or counts.shape != (len(rows),):
        raise ValueError(f"the numbers of {name}s have a wrong shape")
    if not ((counts >= _LOWEST) & (counts <= _HIGHEST)).all():
        raise ValueError(f"the number of some {name}s is out of range")
    return zip(rows.tolist(), counts.tolist(), strict=True)


def _options(rows: object) -> TrainingOptions:
    """Return the options from their JSON values."""
    if type(rows) is not list or len(rows) != 5:
        raise ValueError("the options are incomplete")
    annotation, weight, floor, tagger, words = rows
    if not _are(annotation, (int, int, bool, bool)) or not _are([weight, floor], (float, float)):
        raise ValueError("the options have wrong types")
    lexicons = [LexiconOptions(*each) for each in (tagger, words) if _are(each, (int, float, float))]
    if len(lexicons) < 2 or not 0.0 <= weight <= _HIGHEST or not 0.0 <= floor <= 1.0:
        raise ValueError("the options have wrong types")
    for each in lexicons:
        if not (0 <= each.rare <= _HIGHEST and all(_LOWEST <= number <= _HIGHEST for number in each[1:])):
            raise ValueError("an option is out of range")
    return TrainingOptions(Annotation(*annotation), weight, floor, *lexicons)


def _are(values: object, types: tuple[type, ...]) -> bool:
    """Return whether a value is a list of values of these types."""
    return type(values) is list and tuple(map(type, values)) == types


def train(trees: Sequence[Tree], options: TrainingOptions = TrainingOptions()) -> Model:  # noqa: B008
    """Return a model of trees without traces and function tags.

    Parameters
    ----------
    trees : sequence of Tree
        As `nonproj_systems.constituency.brackets.plain` returns them.
    options : TrainingOptions

    Raises
    ------
    ValueError
        There are no trees.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
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
    """Yield the tags of a tree, as symbols of the grammar, and the words."""
    if tree.word is not None:
        yield annotation.tag(tree.label, parent), tree.word
    for child in tree.children:
        yield from _tokens(child, annotation, tree.label)
