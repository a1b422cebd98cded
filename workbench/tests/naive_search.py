"""Search from its definition: every assignment of words to the names of a query is tried.

A sentence is a list of ten columns for each word, and a tree a list of heads and one of labels, words counted from 1.
Patterns are those of `nonproj_workbench.search.patterns`, told apart by the names of their types.
"""

import itertools
import re
from typing import NamedTuple


class NaiveTree(NamedTuple):
    """The head and the label of each word: ``heads[word - 1]``; -1 is a word without head."""

    heads: list[int]
    labels: list[str]


class NaiveWords(NamedTuple):
    """The columns of each word, its tree, another tree, and the confidence of each head."""

    rows: list[list[str]]
    tree: NaiveTree
    other: NaiveTree
    confidence: list[float] | None = None


def all_matches(words: NaiveWords, node, names: list[str]) -> list[tuple[int, ...]]:
    """Return all pairs of a first word and words for the names that satisfy a pattern."""
    numbers = range(1, len(words.rows) + 1)
    return [
        (first, *chosen)
        for first in numbers
        for chosen in itertools.product(numbers, repeat=len(names))
        if satisfies(words, node, first, dict(zip(names, chosen, strict=True)))
    ]


def satisfies(words: NaiveWords, node, word: int, named: dict[str, int]) -> bool:
    """Return whether a word can be that of a node."""
    if node.name and named[node.name] != word:
        return False
    return holds(words, node.condition, word, named) and holds(words, node.links, word, named)


def holds(words: NaiveWords, formula, word: int, named: dict[str, int]) -> bool:
    """Return whether a formula holds for a word."""
    kind = type(formula).__name__
    if kind == "Not":
        return not holds(words, formula.part, word, named)
    if kind in ("All", "Either"):
        found = [holds(words, part, word, named) for part in formula.parts]
        return all(found) if kind == "All" else any(found)
    if kind == "Link":
        return any(
            is_related(words, formula.relation, word, other) and satisfies(words, formula.node, other, named)
            for other in range(1, len(words.rows) + 1)
        )
    return is_true(words, formula, word)


def path_up(tree: NaiveTree, word: int) -> list[int]:
    """Return a word and all above it."""
    found = [word]
    while tree.heads[found[-1] - 1] > 0:
        found.append(tree.heads[found[-1] - 1])
    return found


def do_cross(tree: NaiveTree, one: int, two: int) -> bool:
    """Return whether the arcs to two words cross; the arc from the root is a vertical line above its word."""
    heads = [tree.heads[word - 1] for word in (one, two)]
    if min(heads) < 0 or one == two or heads == [0, 0]:
        return False
    if 0 in heads:
        root, word, head = (one, two, heads[1]) if heads[0] == 0 else (two, one, heads[0])
        return min(word, head) < root < max(word, head)
    inside = [min(one, heads[0]) < end < max(one, heads[0]) for end in (two, heads[1])]
    outside = [end < min(one, heads[0]) or end > max(one, heads[0]) for end in (two, heads[1])]
    return (inside[0] and outside[1]) or (inside[1] and outside[0])


def is_related(words: NaiveWords, relation, word: int, other: int) -> bool:
    """Return whether two words are in a relation, as the documentation defines it."""
    tree = words.other if relation.other else words.tree
    head, head2 = tree.heads[word - 1], tree.heads[other - 1]
    sign, away = relation.sign, other - word
    low, high = relation.low, relation.high or len(words.rows)
    if relation.label is not None:
        label = tree.labels[(other if sign[0] == ">" else word) - 1]
        if not equals("" if label == "_" else label, relation.label):
            return False
    if sign[-2:] in ("++", "--") and len(sign) == 3 and (away > 0) != (sign[-1] == "+"):
        return False
    up, down = path_up(tree, word), path_up(tree, other)
    return {
        ">": head2 == word,
        "<": head == other,
        "$": head >= 0 and head == head2 and word != other,
        ">>": word in down and low <= down.index(word) <= high,
        "<<": other in up and low <= up.index(other) <= high,
        "><": do_cross(tree, word, other),
        "==": word == other,
        ".": away == 1,
        "-": away == -1,
        "..": low <= away <= high,
        "--": low <= -away <= high,
    }[sign[0] if len(sign) == 3 else sign]


def equals(text: str, value) -> bool:
    """Return whether a string equals or matches a value."""
    if value.kind == "regex":
        return re.fullmatch(value.text, text, re.IGNORECASE if value.ignore_case else 0) is not None
    return text.lower() == value.text.lower() if value.kind == "fold" else text == value.text


def is_true(words: NaiveWords, test, word: int) -> bool:
    """Return whether a comparison is true."""
    attribute = test.attribute
    tree = words.other if attribute.other else words.tree
    for _ in range(attribute.heads):
        word = tree.heads[word - 1]
        if word <= 0:
            return False
    value = value_of(words, tree, attribute, word)
    if test.operator == "has":
        return value not in (None, False)
    if value is None:
        return False
    if attribute.kind == "number":
        wanted = float(test.value.text)
        return {"=": value == wanted, "<": value < wanted, ">": value > wanted, "<=": value <= wanted}.get(
            test.operator, value >= wanted
        )
    return equals(value, test.value)


def value_of(words: NaiveWords, tree: NaiveTree, attribute, word: int):
    """Return the value of an attribute, or None."""
    row, head, key = words.rows[word - 1], tree.heads[word - 1], attribute.key
    if attribute.kind in ("feature", "misc"):
        column = row[5 if attribute.kind == "feature" else 9]
        pairs = dict(item.split("=", 1) for item in reversed(column.split("|")) if "=" in item)
        return pairs.get(key)
    other = words.other.heads[word - 1]
    labels = [words.tree.labels[word - 1], words.other.labels[word - 1]]
    head_differs = other >= 0 and other != words.tree.heads[word - 1]
    label_differs = other >= 0 and not head_differs and "_" not in labels and len(set(labels)) == 2
    values = {
        "form": row[1],
        "lemma": row[2],
        "upos": row[3],
        "xpos": row[4],
        "feats": row[5],
        "deprel": tree.labels[word - 1],
        "id": word,
        "length": len(words.rows),
        "head": head if head >= 0 else None,
        "distance": abs(word - head) if head > 0 else None,
        "depth": len(path_up(tree, word)) if tree.heads[path_up(tree, word)[-1] - 1] == 0 else None,
        "children": tree.heads.count(word),
        "confidence": None if words.confidence is None else words.confidence[word - 1],
        "root": head == 0,
        "headless": head < 0,
        "crossing": any(do_cross(tree, word, each) for each in range(1, len(words.rows) + 1)),
        "head-differs": head_differs,
        "label-differs": label_differs,
        "differs": head_differs or label_differs,
    }
    return None if values[key] == "_" and key != "form" else values[key]
