"""Model 1 and its lexicalised trees from the definition: counts by strings, all trees one by one.

A tree is ``(label, head, children)``, with the number of the child that is the head; a word is
``(tag, None, position)``.
"""

import functools
import itertools
import math
from collections import Counter

STOP, VERBS = "STOP", {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}


def words_of(tree):
    """Return the positions of a tree's words."""
    label, _, inside = tree
    return [inside] if isinstance(inside, int) else [i for child in inside for i in words_of(child)]


def lexical_head(tree):
    """Return the position of the lexical head."""
    return tree[2] if tree[1] is None else lexical_head(tree[2][tree[1]])


def decisions(tree, tags):
    """Yield (kind, context as a tuple, outcome) of all decisions below a node."""
    label, head, children = tree
    if head is None:
        return
    h, symbol = lexical_head(tree), children[head][0]
    yield "head", (label, h), symbol
    for side in ("left", "right"):
        others = children[head + 1 :] if side == "right" else children[:head][::-1]
        done = []
        for modifier in [*others, None]:
            if label == "NPB":
                covered = words_of(children[head]) + done
                given, at, distance = (max(covered) if side == "right" else min(covered)), "", "none"
            else:
                given, at = h, symbol
                verb = any(tags[i] in VERBS for i in done)
                distance = "adjacent" if not done else ("verb" if verb else "some")
            context = (side, label, at, given, distance)
            if modifier is None:
                yield "modifier", context, (STOP, None)
            else:
                yield "modifier", context, (modifier[0], lexical_head(modifier))
                done += words_of(modifier)
    for child in children:
        yield from decisions(child, tags)


class NaiveModel:
    """Counts of all contexts at all levels, and probabilities by interpolation."""

    def __init__(self, sentences, min_count, factor=5.0):
        """``sentences``: (tree, words, tags)."""
        self.factor, self.joint = factor, Counter()
        frequency = Counter(word for _, words, _ in sentences for word in words)
        self.known = {word for word, count in frequency.items() if count >= min_count}
        seen = set()
        for tree, words, tags in sentences:
            seen |= {(self.word(w), t) for w, t in zip(words, tags, strict=True)}
            for levels, outcome in self.steps(tree, [self.word(w) for w in words], tags):
                self.joint.update((level, outcome) for level in levels if level is not None)
        for tag in {tag for _, _, tags in sentences for tag in tags}:
            self.joint[("word of", tag), None] += 1
            seen.add((None, tag))
        self.seen = seen
        self.total, self.kinds = Counter(), Counter()
        for (context, _), count in self.joint.items():
            self.total[context] += count
            self.kinds[context] += 1

    def word(self, word):
        """Return a word, or None for an unknown one."""
        return word if word in self.known else None

    def steps(self, tree, words, tags):
        """Yield the levels of context, from the most specific, and the outcome of every decision of a tree."""
        h = lexical_head(tree)
        yield (None, None, "root"), tags[h]
        yield (None, ("root", tags[h]), ("word of", tags[h])), words[h]
        for kind, context, outcome in decisions(tree, tags):
            if kind == "head":
                label, g = context
                yield (("head", label, words[g], tags[g]), ("head", label, tags[g]), ("head", label)), outcome
                continue
            side, label, at, g, d = context
            symbol, m = outcome
            tag = None if m is None else tags[m]
            start = "modifier", side, label, at, d
            yield ((*start, words[g], tags[g]), (*start, tags[g]), start), (symbol, tag)
            if m is not None:
                start = "word", side, label, at, d, symbol, tag
                yield ((*start, words[g], tags[g]), (*start, tags[g]), ("word of", tag)), words[m]

    def probability(self, levels, outcome):
        """Return the interpolated probability of an outcome."""
        found = 0.0
        for depth in (2, 1, 0):
            context = levels[depth]
            if context is None or not self.total[context]:
                continue
            share = (
                1.0 if depth == 2 else self.total[context] / (self.total[context] + self.factor * self.kinds[context])
            )
            found = share * self.joint[context, outcome] / self.total[context] + (1 - share) * found
        return found

    def score(self, tree, words, tags):
        """Return the log-probability of a tree."""
        pairs = zip(map(self.word, words), tags, strict=True)
        words = [word if (word, tag) in self.seen else None for word, tag in pairs]
        total = 0.0
        for levels, outcome in self.steps(tree, words, tags):
            probability = self.probability(levels, outcome)
            if probability == 0.0:
                return -math.inf
            total += math.log(probability)
        return total


def phrases(begin, end, tags, states, chain):
    """Return an iterator over all trees of a span with at most ``chain`` unary phrases in a row at the top.

    ``states``: the allowed pairs of a category and its head child's symbol.
    """

    @functools.cache
    def listed(begin, end, chain):
        return list(over(begin, end, chain))

    def over(begin, end, chain):
        if end == begin + 1:
            yield tags[begin], None, begin
        for size in range(1, end - begin + 1):
            if size == 1 and not chain:
                continue
            for cuts in itertools.combinations(range(begin + 1, end), size - 1):
                bounds = [begin, *cuts, end]
                inner = [listed(*span, chain - 1 if size == 1 else 4) for span in itertools.pairwise(bounds)]
                for children in itertools.product(*inner):
                    for head, child in enumerate(children):
                        for label, symbol in states:
                            if symbol == child[0] and not (size == 1 and label == symbol):
                                yield label, head, children

    return over(begin, end, chain)


def arcs(tree, above=0):
    """Yield the dependencies (head, modifier) of a tree, from 1 for the first word, and 0 for the root."""
    h = lexical_head(tree)
    if above is not None:
        yield above, h + 1
    if tree[1] is not None:
        for i, child in enumerate(tree[2]):
            yield from arcs(child, None if i == tree[1] else h + 1)


def derivations(graph, item):
    """Yield all derivations of an item of a forest, as lists of edges."""
    if item < 0:
        yield []
        return
    for e in range(graph.first[item], graph.first[item + 1]):
        for left in derivations(graph, graph.left[e]):
            for right in derivations(graph, graph.right[e]):
                yield [e, *left, *right]
