"""Trees in the form of Collins' models: base noun phrases as a category of their own, and the events of Model 1.

A noun phrase that dominates no other noun phrase, possessives aside, is relabelled NPB, and gets an NP above it unless
it is the head of one (Collins 1999, section 7.3.1).  A phrase whose only child has the same category is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nonproj_systems.constituency.brackets import Tree
from nonproj_systems.constituency.heads import head_child

BASE, NOUN, POSSESSIVE = "NPB", "NP", "POS"

STOP = "STOP"
"""The symbol that a head generates after its last modifier on a side."""

LEFT, RIGHT = 0, 1

ADJACENT, PLAIN, VERB = 0, 1, 2
"""Distance: no modifier on this side yet; some, without a verb among their words; some, with a verb."""

VERBS = frozenset(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))


class Event(NamedTuple):
    """A decision of the model.

    Attributes
    ----------
    kind : {"head", "modifier"}
    parent : str
        Category of the phrase.
    head : str
        The head child; "" for modifiers in a base noun phrase.
    word : int
        The word that the decision is conditioned on: the lexical head or, in a base noun phrase, the word next to the
        modifier.
    side, distance : int
        ``LEFT`` or ``RIGHT``, and `ADJACENT`, `PLAIN` or `VERB`; 0 for heads.
    modifier : str
        The category of the modifier, or `STOP`; "" for heads.
    modifier_word : int
        The lexical head of the modifier; -1 for none.
    """

    kind: str
    parent: str
    head: str
    word: int
    side: int = 0
    distance: int = 0
    modifier: str = ""
    modifier_word: int = -1


def with_base_phrases(tree: Tree) -> Tree:
    """Return a tree with base noun phrases marked, and without phrases whose only child has the same category.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> print(with_base_phrases(parse_tree("(S (NP (NP (DT a) (NN b)) (PP (IN c) (NP (NN d)))))")))
    (TOP (S (NP (NPB (DT a) (NN b)) (PP (IN c) (NP (NPB (NN d)))))))
    """
    return _mark(_without_copies(tree), False)


def _without_copies(tree: Tree) -> Tree:
    """Remove phrases whose only child has the same category."""
    while len(tree.children) == 1 and tree.children[0].word is None and tree.children[0].label == tree.label:
        tree = tree.children[0]
    return Tree(tree.label, tuple(map(_without_copies, tree.children)), tree.word)


def _mark(tree: Tree, heads_noun: bool) -> Tree:
    """Relabel base noun phrases; ``heads_noun``: this is the head of an NP."""
    if tree.word is not None:
        return tree
    head = head_child(tree.label, [child.label for child in tree.children])
    children = tuple(
        _mark(child, i == head and tree.label == NOUN and not _is_base(tree)) for i, child in enumerate(tree.children)
    )
    if not _is_base(tree):
        return Tree(tree.label, children)
    base = Tree(BASE, children)
    return base if heads_noun else Tree(NOUN, (base,))


def _is_base(tree: Tree) -> bool:
    """Return whether a tree is a noun phrase that contains no noun phrases other than possessive ones."""
    return tree.label == NOUN and not any(child.label == NOUN and not _is_possessive(child) for child in tree.children)


def _is_possessive(tree: Tree) -> bool:
    """Return whether the last child is a possessive ending."""
    return bool(tree.children) and tree.children[-1].label == POSSESSIVE


def without_base_phrases(tree: Tree) -> Tree:
    """Return a tree with NP for NPB, and without NPs that hold only an NPB.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> print(without_base_phrases(parse_tree("(S (NP (NPB (NN b))) (NP (NPB (NN c)) (PP (IN d))))")))
    (TOP (S (NP (NN b)) (NP (NP (NN c)) (PP (IN d)))))
    """
    if tree.word is not None:
        return tree
    if tree.label == NOUN and len(tree.children) == 1 and tree.children[0].label == BASE:
        tree = tree.children[0]
    label = NOUN if tree.label == BASE else tree.label
    return Tree(label, tuple(map(without_base_phrases, tree.children)))


def events(tree: Tree) -> tuple[int, list[Event]]:
    """Return the lexical head of a tree, counted from 0, and all decisions that generate it below its root.

    Parameters
    ----------
    tree : Tree
        With base phrases.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> head, found = events(parse_tree("(NPB (DT a) (NN b))").children[0])
    >>> head, [(event.kind, event.word, event.head, event.modifier) for event in found]
    (1, [('head', 1, 'NN', ''), ('modifier', 1, '', 'STOP'), ('modifier', 1, '', 'DT'), ('modifier', 0, '', 'STOP')])
    """
    found: list[Event] = []
    tags = tree.tags()
    head, _ = _generate(tree, 0, tags, found)
    return head, found


def _generate(tree: Tree, begin: int, tags: Sequence[str], found: list[Event]) -> tuple[int, int]:
    """Add the decisions below a node; return its lexical head and the end of its span."""
    if tree.word is not None:
        return begin, begin + 1
    spans, position = [], begin
    for child in tree.children:
        word, end = _generate(child, position, tags, found)
        spans.append((child.label, word, position, end))
        position = end
    at = head_child(tree.label, [child.label for child in tree.children])
    label, word, *_ = spans[at]
    found.append(Event("head", tree.label, label, word))
    found += _modifiers(tree.label, RIGHT, spans[at], spans[at + 1 :], tags)
    found += _modifiers(tree.label, LEFT, spans[at], spans[:at][::-1], tags)
    return word, position


def _modifiers(
    parent: str, side: int, head: tuple[Any, ...], others: list[tuple[Any, ...]], tags: Sequence[str]
) -> Iterator[Event]:
    """Yield the decisions on one side, outward from the head; the last one is to stop."""
    base, distance = parent == BASE, ADJACENT
    edge = head[3] - 1 if side == RIGHT else head[2]
    for label, word, begin, end in [*others, (STOP, -1, 0, 0)]:
        given = edge if base else head[1]
        yield Event("modifier", parent, "" if base else head[0], given, side, 0 if base else distance, label, word)
        distance = VERB if distance == VERB or not VERBS.isdisjoint(tags[begin:end]) else PLAIN
        edge = end - 1 if side == RIGHT else begin
