"""Trees as derivations of a binary grammar: head-outward binarisation with Markovisation, and back.

A phrase is annotated with its parent (vertical Markovisation of order 2).  Its children are attached outward from the
head: first those to the right, then those to the left.  The symbols in between remember the phrase, its head and the
last children attached (horizontal Markovisation, Klein and Manning 2003).  A phrase has two symbols: other rules use
``Upper``; a unary rule derives from it a tag, or the ``Lower`` symbol of the same or another phrase, which binary rules
build.  So each span has at most one unary rule, and a chain of unary branches is one rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nonproj_systems.constituency.brackets import Tree
from nonproj_systems.constituency.heads import head_child

TAG, UPPER, LOWER, BETWEEN = "tag", "upper", "lower", "between"


class Symbol(NamedTuple):
    """A symbol of the grammar.

    Attributes
    ----------
    kind : str
        ``TAG``, ``UPPER``, ``LOWER`` or ``BETWEEN``.
    label : str
        The tag or category.
    parent : str
        The category above; empty if the grammar has no parent annotation.
    history : tuple of str
        For ``BETWEEN``, the head and the last children attached, with their sides.
    """

    kind: str
    label: str
    parent: str = ""
    history: tuple[str, ...] = ()


class Annotation(NamedTuple):
    """The annotation of symbols.

    Attributes
    ----------
    horizontal : int
        Number of last attached children that an intermediate symbol records.
    vertical : int
        2: phrases are annotated with their parent; 1: they are not.
    tags : bool
        Whether tags are annotated with their parent.
    heads : bool
        Whether intermediate symbols are annotated with the head.
    """

    horizontal: int = 1
    vertical: int = 2
    tags: bool = True
    heads: bool = False

    def tag(self, label: str, parent: str) -> Symbol:
        """Return the symbol of a tag."""
        return Symbol(TAG, label, parent if self.tags else "")

    def phrase(self, kind: str, label: str, parent: str) -> Symbol:
        """Return a symbol of a phrase."""
        return Symbol(kind, label, parent if self.vertical > 1 else "")

    def between(self, label: str, parent: str, head: str, attached: list[str]) -> Symbol:
        """Return the symbol of a phrase under construction."""
        history = (head,) if self.heads else ()
        last = tuple(attached[-self.horizontal :]) if self.horizontal else ()
        return Symbol(BETWEEN, label, parent if self.vertical > 1 else "", history + last)

    def child(self, tree: Tree, parent: str) -> Symbol:
        """Return the symbol of a child in the rules of its parent."""
        if tree.word is not None:
            return self.tag(tree.label, parent)
        return self.phrase(UPPER, tree.label, parent)


class Rule(NamedTuple):
    """A rule: binary with two children, unary with one."""

    parent: Symbol
    children: tuple[Symbol, ...]


def without_loops(tree: Tree) -> Tree:
    """Return a tree in which no phrase is the only child of a phrase with the same label.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> print(without_loops(parse_tree("(S (NP (NP (NN a))) (VP (VB b)))")))
    (TOP (S (NP (NN a)) (VP (VB b))))
    """
    if tree.word is not None:
        return tree
    while len(tree.children) == 1 and tree.children[0].word is None and tree.children[0].label == tree.label:
        tree = tree.children[0]
    return Tree(tree.label, tuple(map(without_loops, tree.children)))


def rules_of(tree: Tree, annotation: Annotation, parent: str = "") -> Iterator[Rule]:
    """Yield the rules by which a grammar derives a tree, top down; words are left to the lexicon.

    Unary branches are single rules, from upper to upper symbol; `nonproj_systems.constituency.grammar` joins chains.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> tree = parse_tree("(NP (DT a) (JJ b) (NN c))").children[0]
    >>> for rule in rules_of(tree, Annotation(vertical=1, tags=False, heads=True)):
    ...     rule.parent.kind, rule.parent.history, [child.label for child in rule.children]
    ('upper', (), ['NP'])
    ('lower', (), ['DT', 'NP'])
    ('between', ('NN', '<JJ'), ['JJ', 'NN'])
    """
    if tree.word is not None:
        return
    upper = annotation.phrase(UPPER, tree.label, parent)
    if len(tree.children) == 1:
        yield Rule(upper, (annotation.child(tree.children[0], tree.label),))
    else:
        yield Rule(upper, (upper._replace(kind=LOWER),))
        yield from _binary_rules(tree, annotation, parent)
    for child in tree.children:
        yield from rules_of(child, annotation, tree.label)


def _binary_rules(tree: Tree, annotation: Annotation, parent: str) -> list[Rule]:
    """Return the rules that attach the children of a phrase, the outermost first."""
    labels = [child.label for child in tree.children]
    head = head_child(tree.label, labels)
    order = [(">", i) for i in range(head + 1, len(labels))] + [("<", i) for i in range(head - 1, -1, -1)]
    current, attached, found = annotation.child(tree.children[head], tree.label), [], []
    for step, (side, i) in enumerate(order):
        sibling = annotation.child(tree.children[i], tree.label)
        attached.append(side + labels[i])
        above = annotation.phrase(LOWER, tree.label, parent)
        if step + 1 < len(order):
            above = annotation.between(tree.label, parent, labels[head], attached)
        found.append(Rule(above, (current, sibling) if side == ">" else (sibling, current)))
        current = above
    return found[::-1]


class Built(NamedTuple):
    """A subtree of a derivation: its symbol's kind, and its trees (several if the kind is ``BETWEEN``)."""

    kind: str
    trees: tuple[Tree, ...]


def built_by_binary(parent: Symbol, left: Built, right: Built) -> Built:
    """Return the result of a binary rule."""
    trees = left.trees + right.trees
    return Built(parent.kind, (Tree(parent.label, trees),) if parent.kind == LOWER else trees)


def built_by_unary(parent: Symbol, chain: tuple[str, ...], child: Built) -> Built:
    """Return the result of a unary rule: the categories of a chain, from the parent down, above the child."""
    (tree,) = child.trees
    for label in reversed(chain):
        tree = Tree(label, (tree,))
    return Built(parent.kind, (tree,))
