"""Heads of phrases in the Penn Treebank by the rules of Collins (1999, appendix A), and projective dependency trees.

A rule is a direction and categories in the order of priority: the children are searched in that direction for the first
category, then for the second, and so on; without a match the head is the first child in that direction.  Noun phrases
have rules of their own.  In a coordination the head is the first conjunct.
"""

from __future__ import annotations

from collections.abc import Sequence

from nonproj_systems.constituency.brackets import Tree

PUNCTUATION = frozenset(("``", "''", ",", ":", "."))
"""Tags that are never heads, unless a phrase has nothing else."""

RULES = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRN": ("left", ""),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
    "X": ("right", ""),
    "TOP": ("left", ""),
}
"""Direction of search and categories in the order of priority."""

NOUN_PHRASES = frozenset(("NP", "NPB", "NX"))

_NOUN_SEARCHES = (
    ("right", frozenset(("NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"))),
    ("left", frozenset(("NP", "NPB"))),
    ("right", frozenset(("$", "ADJP", "PRN"))),
    ("right", frozenset(("CD",))),
    ("right", frozenset(("JJ", "JJS", "RB", "QP"))),
)


def head_child(label: str, children: Sequence[str]) -> int:
    """Return the index of a phrase's head among its children.

    Parameters
    ----------
    label : str
        The category of the phrase, without function tags.
    children : sequence of str
        The categories, or tags, of its children.

    Examples
    --------
    >>> head_child("VP", ["MD", "VP"]), head_child("NP", ["DT", "NN", "NN"]), head_child("NP", ["NP", ",", "CC", "NP"])
    (0, 2, 0)
    """
    where = [i for i, child in enumerate(children) if child not in PUNCTUATION] or list(range(len(children)))
    if label in NOUN_PHRASES:
        found = _noun_head(children, where)
    else:
        direction, priorities = RULES.get(label, ("left", ""))
        order = where if direction == "left" else where[::-1]
        found = next((i for wanted in priorities.split() for i in order if children[i] == wanted), order[0])
    place = where.index(found)
    if place >= 2 and children[where[place - 1]] == "CC":
        return where[place - 2]
    return found


def _noun_head(children: Sequence[str], where: list[int]) -> int:
    """Return the index of a noun phrase's head among its children, given those that may be heads."""
    if children[where[-1]] == "POS":
        return where[-1]
    for direction, wanted in _NOUN_SEARCHES:
        for i in where if direction == "left" else where[::-1]:
            if children[i] in wanted:
                return i
    return where[-1]


def dependencies(tree: Tree) -> list[int]:
    """Return the head of each word, 1 for the first word and 0 for the root: a projective dependency tree.

    Examples
    --------
    >>> from nonproj_systems.constituency.brackets import parse_tree
    >>> dependencies(parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP me))) (. .))"))
    [2, 3, 0, 3, 3]
    """
    heads = [0] * len(tree.leaves())
    _attach(tree, 0, heads)
    return heads


def _attach(tree: Tree, begin: int, heads: list[int]) -> tuple[int, int]:
    """Set the heads below a node; return its lexical head, and the end of its span."""
    if tree.word is not None:
        return begin + 1, begin + 1
    lexical = []
    for child in tree.children:
        head, begin = _attach(child, begin, heads)
        lexical.append(head)
    head = lexical[head_child(tree.label, [child.label for child in tree.children])]
    for other in lexical:
        if other != head:
            heads[other - 1] = head
    return head, begin
