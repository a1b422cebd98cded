"""Phrase structure from the definitions: random trees, evalb's counts, grammars by enumeration."""

import functools
import itertools
from dataclasses import dataclass

CATEGORIES = ["S", "NP", "VP", "PP", "PRT", "ADVP", "X"]
TAGS = ["NN", "VB", "IN", ",", ".", "``", ":", "RP"]


@dataclass(frozen=True)
class Node:
    """A phrase or a tag, with the attributes of the package's trees."""

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
    """Return a tree without the words marked by an iterator; None if no word remains."""
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


# -- grammars by enumeration -------------------------------------------------------------------------------------------


def markov_rules(tree, horizontal, find_head, parent=""):
    """Return the rules of a tree, parents remembered, from the definition: (parent, children) of plain tuples.

    The children of a phrase are attached to its head one by one: first those to its right, the nearest first, then
    those to its left.
    """
    if tree.word is not None:
        return []
    name, labels = tree.label, [child.label for child in tree.children]

    def known_as(child):
        return ("tag" if child.word is not None else "upper", child.label, name, ())

    found = []
    if len(labels) == 1:
        found.append((("upper", name, parent, ()), (known_as(tree.children[0]),)))
    else:
        found.append((("upper", name, parent, ()), (("lower", name, parent, ()),)))
        head = find_head(name, labels)
        made, low, high, attached = known_as(tree.children[head]), head, head, []
        while high - low + 1 < len(labels):
            if high + 1 < len(labels):
                high += 1
                pair = (made, known_as(tree.children[high]))
                attached.append(">" + labels[high])
            else:
                low -= 1
                pair = (known_as(tree.children[low]), made)
                attached.append("<" + labels[low])
            history = (labels[head], *(attached[-horizontal:] if horizontal else []))
            complete = high - low + 1 == len(labels)
            made = ("lower", name, parent, ()) if complete else ("between", name, parent, history)
            found.append((made, pair))
    for child in tree.children:
        found += markov_rules(child, horizontal, find_head, name)
    return found


def all_trees(rules, root, tagged, longest_chain=4):
    """Return (score, tags, brackets) of every derivation of a sentence by enumeration.

    Parameters
    ----------
    rules : list of (parent, children, score)
        Symbols are (kind, label, ...); chains have at most ``longest_chain`` unary rules.
    root : tuple
    tagged : list of dict of symbol to (tag, score)
        For each word.
    """
    n = len(tagged)
    expansions = {parent: [rule[1:] for rule in rules if rule[0] == parent] for parent, _, _ in rules}

    @functools.cache
    def derived(symbol, i, j, chain):
        return list(derive(symbol, i, j, chain))

    def derive(symbol, i, j, chain):
        if symbol[0] == "tag":
            if j == i + 1 and symbol in tagged[i]:
                tag, score = tagged[i][symbol]
                yield score, (tag,), (f"({symbol[1]} {i})",)
            return
        for children, score in expansions.get(symbol, ()):
            if len(children) == 1:
                if chain == longest_chain:
                    continue
                for below, tags, texts in derived(children[0], i, j, chain + 1):
                    text = f"({symbol[1]} {' '.join(texts)})" if children[0][0] != "lower" else " ".join(texts)
                    yield score + below, tags, (text,)
            else:
                for k in range(i + 1, j):
                    both = itertools.product(derived(children[0], i, k, 0), derived(children[1], k, j, 0))
                    for (one, left, texts), (two, right, others) in both:
                        inside = texts + others
                        text = (f"({symbol[1]} {' '.join(inside)})",) if symbol[0] == "lower" else inside
                        yield score + one + two, left + right, text

    return [(score, tags, texts[0]) for score, tags, texts in derive(root, 0, n, 0)]


def all_derivations(forest):
    """Return (score, edges) of every derivation of a packed forest, words' variables not scored."""

    def derive(item):
        if item < 0:
            return [(0.0, ())]
        found = []
        for e in range(forest.first[item], forest.first[item + 1]):
            for one, left in derive(forest.left[e]):
                for two, right in derive(forest.right[e]):
                    found.append((forest.score[e] + one + two, (e, *left, *right)))
        return found

    return derive(len(forest.first) - 2)


def tag_score(tags, emissions, transition):
    """Return the score of a tag sequence under a trigram model: emissions[i][tag], transition[a, b, c]."""
    boundary = len(transition) - 1
    padded = [boundary, boundary, *tags, boundary]
    total = sum(emissions[i][tag] for i, tag in enumerate(tags))
    return total + sum(transition[tuple(padded[i : i + 3])] for i in range(len(tags) + 1))


def interpolated(sentences, n_tags):
    """Return P(c | a, b) for tags as a function, by deleted interpolation (Brants 2000, figure 1)."""
    uni, bi, tri = {}, {}, {}
    for tags in sentences:
        padded = [n_tags, n_tags, *tags, n_tags]
        for a, b, c in zip(padded, padded[1:], padded[2:], strict=False):
            tri[a, b, c] = tri.get((a, b, c), 0) + 1
            bi[b, c] = bi.get((b, c), 0) + 1
            uni[c] = uni.get(c, 0) + 1
    before = {b: sum(n for (x, _), n in bi.items() if x == b) for b in range(n_tags + 1)}
    context = {}
    for (a, b, _), n in tri.items():
        context[a, b] = context.get((a, b), 0) + n
    smooth = {c: uni.get(c, 0) + 1e-3 for c in range(n_tags + 1)}
    total = sum(smooth.values())
    weights = [1e-6] * 3
    for (a, b, c), n in tri.items():
        shares = [
            (smooth[c] - 1) / max(total - 1, 1),
            (bi[b, c] - 1) / (before[b] - 1) if before[b] > 1 else 0.0,
            (n - 1) / (context[a, b] - 1) if context[a, b] > 1 else 0.0,
        ]
        weights[shares.index(max(shares))] += n

    def probability(a, b, c):
        one = smooth[c] / total
        two = bi.get((b, c), 0) / before[b] if before[b] else one
        three = tri.get((a, b, c), 0) / context[a, b] if context.get((a, b)) else two
        return (weights[0] * one + weights[1] * two + weights[2] * three) / sum(weights)

    return probability
