"""Phrase structure from the definitions: random trees, evalb's counts, grammars by enumeration."""

from __future__ import annotations

from dataclasses import dataclass

CATEGORIES = ["S", "NP", "VP", "PP", "PRT", "ADVP", "X"]
TAGS = ["NN", "VB", "IN", ",", ".", "``", ":", "RP"]


@dataclass(frozen=True)
class Node:
    """A phrase or a tag, with what the package's own trees have."""

    label: str
    children: tuple = ()
    word: str | None = None

    def leaves(self):
        """Return the tags from left to right."""
        return [self] if self.word is not None else [leaf for child in self.children for leaf in child.leaves()]

    def words(self):
        """Return the words."""
        return [leaf.word for leaf in self.leaves()]

    def tags(self):
        """Return the tags."""
        return [leaf.label for leaf in self.leaves()]

    def __str__(self):
        """Return the tree in brackets."""
        return f"({self.label} {self.word if self.word is not None else ' '.join(map(str, self.children))})"


def random_tree(rng, n, categories=CATEGORIES, depth=0):
    """Return a random tree over ``n`` words, with unary branches."""
    if n == 1 and depth and rng.random() < 0.6:
        return Node(rng.choice(TAGS), word=rng.choice("abcdef"))
    if n == 1:
        inner = random_tree(rng, 1, categories, depth + 1) if depth < 4 else Node(rng.choice(TAGS), word="a")
        return Node(rng.choice(categories), (inner,))
    cuts = sorted(rng.sample(range(1, n), rng.randint(1, min(3, n - 1))))
    if depth and rng.random() < 0.15:
        return Node(rng.choice(categories), (random_tree(rng, n, categories, depth + 1),))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    return Node(rng.choice(categories), tuple(random_tree(rng, size, categories, depth + 1) for size in sizes))


def with_words(tree, words):
    """Return a tree with other words, taken from an iterator."""
    if tree.word is not None:
        return Node(tree.label, word=next(words))
    return Node(tree.label, tuple(with_words(child, words) for child in tree.children))


def without(tree, gone):
    """Return a tree without the words of which an iterator says so; None if nothing is left."""
    if tree.word is not None:
        return None if next(gone) else tree
    children = tuple(kept for kept in [without(child, gone) for child in tree.children] if kept is not None)
    return Node(tree.label, children) if children else None


def labelled_spans(tree, begin=0):
    """Return the phrases as label, begin and end, and the end of the tree."""
    if tree.word is not None:
        return [], begin + 1
    found, end = [], begin
    for child in tree.children:
        inner, end = labelled_spans(child, end)
        found += inner
    return [(tree.label.replace("PRT", "ADVP"), begin, end), *found], end


def has_repeated_bracket(tree):
    """Return whether two brackets have the same label and words."""
    found = labelled_spans(tree)[0]
    return len(set(found)) < len(found)


def evalb(gold, parsed):
    """Return matched, gold, parsed and crossing brackets, words and correct tags, after deleting punctuation."""
    gone = [tag in (",", ":", "``", "''", ".") for tag in gold.tags()]
    trees = [without(tree, iter(gone)) for tree in (gold, parsed)]
    if trees[0] is None:
        return 0, 0, 0, 0, 0, 0
    own, other = (labelled_spans(tree)[0] for tree in trees)
    left, matched = list(own), 0
    for bracket in other:
        if bracket in left:
            left.remove(bracket)
            matched += 1
    crossing = sum(any(a < c < b < d or c < a < d < b for _, c, d in own) for _, a, b in other)
    tags = list(zip(trees[0].tags(), trees[1].tags(), strict=True))
    return matched, len(own), len(other), crossing, len(tags), sum(a == b for a, b in tags)


def is_projective_tree(heads):
    """Return whether heads, counted from 1, form a tree without crossing arcs."""
    n = len(heads)
    for word in range(1, n + 1):
        seen, at = set(), word
        while at:
            if at in seen:
                return False
            seen.add(at)
            at = heads[at - 1]
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)
