"""Compiled queries and their matches.

A match is a word for the first word pattern of the query and one for each named pattern; every other pattern is
satisfied if some word matches it.  Named words are enumerated by backtracking; a part of the query without names is a
property of a word, which is computed once for each word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from nonproj_workbench.search.attributes import Condition, acceptor, condition_of
from nonproj_workbench.search.patterns import OF_BOTH, All, Formula, Link, Not, Relation, Test, WordPattern, names_of
from nonproj_workbench.search.syntax import parse
from nonproj_workbench.search.words import SearchedSentence

MOST_STEPS = 1_000_000
"""Maximum number of words tried in a sentence, before the search in it is abandoned."""


class SentenceMatches(NamedTuple):
    """The matches in a sentence.

    Attributes
    ----------
    matches : list of tuple of int
        Each is the first word and the named words, from 1; sorted.
    complete : bool
        False if the search was abandoned after `MOST_STEPS` steps.
    """

    matches: list[tuple[int, ...]]
    complete: bool = True


class _Word(NamedTuple):
    """A compiled word pattern.

    Attributes
    ----------
    number : int
        Number of the node in the query.
    condition : Condition
    name : int
        The number of its name, or -1.
    parts : list of _Goal
        The relations that must all hold.
    names : frozenset of int
        The names in the node and below it.
    """

    number: int
    condition: Condition
    name: int
    parts: list[_Goal]
    names: frozenset[int]


class _Goal(NamedTuple):
    """A compiled formula over relations: of kind ``link``, ``not``, ``all`` or ``any``."""

    kind: str
    parts: list[_Goal]
    names: frozenset[int]
    relation: Relation = Relation("")
    accepts: Callable[[str], bool] | None = None
    word: _Word | None = None


class Query:
    """A query.

    Parameters
    ----------
    text : str

    Attributes
    ----------
    text : str
    names : list of str
        The names of words.
    uses_other : bool
        Whether the query needs a second tree.

    Raises
    ------
    QueryError
        The query is malformed.

    Examples
    --------
    >>> from nonproj_workbench.search.words import Tree
    >>> from nonproj.io.objects import from_words
    >>> words = SearchedSentence(from_words(["the", "dog", "barks"]), Tree([2, 3, 0], ["det", "nsubj", "root"]))
    >>> Query("barks >nsubj (dog > {}=d)").find(words).matches
    [(3, 1)]
    """

    def __init__(self, text: str):
        self.text = text
        node = parse(text)
        self.names = names_of(node)
        self.uses_other = _uses_other(node)
        self._count = 0
        self._first = self._compiled(node)

    def _compiled(self, node: WordPattern) -> _Word:
        """Return a compiled node."""
        number, self._count = self._count, self._count + 1
        goal = self._goal(node.links)
        name = self.names.index(node.name) if node.name else -1
        own = frozenset([name]) if node.name else frozenset()
        return _Word(number, condition_of(node.condition), name, _conjuncts(goal), own | goal.names)

    def _goal(self, formula: Formula) -> _Goal:
        """Return a compiled formula over relations."""
        if isinstance(formula, Link):
            word, label = self._compiled(formula.node), formula.relation.label
            accepts = None if label is None else acceptor(label)
            return _Goal("link", [], word.names, formula.relation, accepts, word)
        assert not isinstance(formula, Test)
        given = (formula.part,) if isinstance(formula, Not) else formula.parts
        parts = [self._goal(each) for each in given]
        kind = "not" if isinstance(formula, Not) else "all" if isinstance(formula, All) else "any"
        return _Goal(kind, parts, frozenset().union(*(each.names for each in parts)))

    def find(self, words: SearchedSentence) -> SentenceMatches:
        """Return the matches in a sentence."""
        search = _Matcher(words, len(self.names))
        complete = True
        try:
            for word in range(1, len(words) + 1):
                search.first = word
                search.enter(self._first, word, [])
        except _TooLongError:
            complete = False
        return SentenceMatches(sorted(search.found), complete)


def _conjuncts(goal: _Goal) -> list[_Goal]:
    """Return the parts of a conjunction, nested ones included."""
    return [part for each in goal.parts for part in _conjuncts(each)] if goal.kind == "all" else [goal]


def _uses_other(part: Formula | WordPattern) -> bool:
    """Return whether a pattern refers to the other tree."""
    if isinstance(part, Test):
        return part.attribute.other or part.attribute.key in OF_BOTH
    if isinstance(part, WordPattern):
        return _uses_other(part.condition) or _uses_other(part.links)
    if isinstance(part, Link):
        return part.relation.other or _uses_other(part.node)
    if isinstance(part, Not):
        return _uses_other(part.part)
    return any(_uses_other(each) for each in part.parts)


class _TooLongError(Exception):
    """Too many words were tried."""


class _Matcher:
    """The search in a sentence."""

    def __init__(self, words: SearchedSentence, names: int):
        self.words, self.bound, self.first = words, [0] * names, 0
        self.found: set[tuple[int, ...]] = set()
        self.known: dict[tuple[int, int], bool] = {}
        self.left = MOST_STEPS

    def enter(self, node: _Word, word: int, rest: list[tuple[_Goal, int]]) -> None:
        """Find the matches in which a node is a certain word, and ``rest`` holds."""
        if not node.condition(self.words, word):
            return
        own = [(goal, word) for goal in node.parts]
        if node.name < 0 or self.bound[node.name] == word:
            self.solve(own + rest)
        elif not self.bound[node.name]:
            self.bound[node.name] = word
            self.solve(own + rest)
            self.bound[node.name] = 0

    def solve(self, goals: list[tuple[_Goal, int]]) -> None:
        """Find the matches in which all goals hold: first test those without unbound names, then bind names."""
        open_goals = []
        for goal, word in goals:
            if any(not self.bound[name] for name in goal.names):
                open_goals.append((goal, word))
            elif not self.holds(goal, word):
                return
        if not open_goals:
            self.found.add((self.first, *self.bound))
            return
        chosen = next(i for i, (goal, _) in enumerate(open_goals) if goal.kind == "link")
        goal, word = open_goals.pop(chosen)
        assert goal.word is not None
        for other in self.related(goal, word):
            self.enter(goal.word, other, open_goals)

    def holds(self, goal: _Goal, word: int) -> bool:
        """Return whether a formula, whose names are bound, holds."""
        if goal.kind == "link":
            node = goal.word
            assert node is not None
            return any(self.is_(node, other) for other in self.related(goal, word))
        if goal.kind == "not":
            return not self.holds(goal.parts[0], word)
        if goal.kind == "all":
            return all(self.holds(part, word) for part in goal.parts)
        return any(self.holds(part, word) for part in goal.parts)

    def is_(self, node: _Word, word: int) -> bool:
        """Return whether a word satisfies a node whose names are bound."""
        if node.names:
            return self.test(node, word)
        key = node.number, word
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.test(node, word)
        return found

    def test(self, node: _Word, word: int) -> bool:
        """Return whether a word satisfies a node, without looking it up in the cache."""
        if node.name >= 0 and self.bound[node.name] != word:
            return False
        return node.condition(self.words, word) and all(self.holds(goal, word) for goal in node.parts)

    def related(self, goal: _Goal, word: int) -> Iterable[int]:
        """Yield the words in a relation to a word."""
        relation, accepts = goal.relation, goal.accepts
        labels = self.words.tree_of(relation.other).labels
        downwards = relation.sign[0] == ">"
        for other in related(self.words, relation, word):
            self.left -= 1
            if self.left < 0:
                raise _TooLongError
            if accepts is None or accepts(labels[other if downwards else word]):
                yield other


def related(words: SearchedSentence, relation: Relation, word: int) -> Iterable[int]:
    """Return the words in a relation to a word, regardless of labels.

    Examples
    --------
    >>> from nonproj_workbench.search.words import Tree
    >>> from nonproj.io.objects import from_words
    >>> words = SearchedSentence(from_words(["the", "dog", "barks"]), Tree([2, 3, 0], ["det", "nsubj", "root"]))
    >>> list(related(words, Relation(">>"), 3)), list(related(words, Relation("..", high=1), 1))
    ([2, 1], [2])
    """
    sign = relation.sign
    if sign in ("==", ".", "..", "-", "--"):
        return _in_order(relation, word, len(words))
    tree, high = words.tree_of(relation.other), relation.high or len(words)
    if sign == ">>":
        return tree.below(word, relation.low, high)
    if sign == "<<":
        return tree.above(word, relation.low, high)
    if sign == "><":
        return tree.crossing[word]
    head = tree.heads[word]
    if sign[0] == ">":
        found = tree.children[word]
    elif sign[0] == "<":
        found = [head] if head > 0 else []
    else:
        found = [each for each in tree.children[head] if each != word] if head >= 0 else []
    if sign.endswith("++"):
        return [each for each in found if each > word]
    return [each for each in found if each < word] if sign.endswith("--") else found


def _in_order(relation: Relation, word: int, n: int) -> Iterable[int]:
    """Return the words at a place relative to a word of ``n``."""
    sign = relation.sign
    if sign == "==":
        return (word,)
    low, high = (1, 1) if len(sign) == 1 else (relation.low, relation.high or n)
    if sign[0] == ".":
        return range(word + low, min(word + high, n) + 1)
    return range(word - low, max(word - high, 1) - 1, -1)
