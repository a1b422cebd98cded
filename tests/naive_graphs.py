"""Enhanced graphs from the definitions: reading through empty nodes, and candidate arcs by all pairs of nodes."""

import itertools

from nonproj.types import Sentence


def arcs_between_words(sentence: Sentence) -> list[set[tuple[int, str]]]:
    """The arcs into each word, along every way through different empty nodes."""
    rows = [line.rstrip("\n").split("\t") for line in sentence.lines if line[:1].isdigit()]
    arcs = [(*arc.split(":", 1), row[0]) for row in rows if "-" not in row[0] for arc in row[8].split("|")]
    ways = [(head, (label,), word, ()) for head, label, word in arcs]
    while any("." in head for head, *_ in ways):
        longer = []
        for head, labels, word, seen in ways:
            if "." not in head:
                longer.append((head, labels, word, seen))
            elif head not in seen:
                longer += [(h, (x, *labels), word, (*seen, head)) for h, x, below in arcs if below == head]
        ways = longer
    own = [set() for _ in sentence.rows]
    for head, labels, word, _ in ways:
        if "." not in word:
            own[int(word) - 1].add((int(head), ">".join(labels)))
    return own


def way_up(heads: list[int], node: int) -> list[int]:
    """A node, its head, the head of this, and so on to the root; ``heads`` are those of words."""
    return [node, *way_up(heads, heads[node - 1])] if node else [0]


def path(heads: list[int], labels: list[str], down: int, up: int) -> str:
    """The labels on the way between two nodes of a tree."""
    rising, falling = way_up(heads, down), way_up(heads, up)
    steps = [f"^{labels[node - 1]}" for node in rising if node not in falling]
    return " ".join(steps + [f"v{labels[node - 1]}" for node in falling[::-1] if node not in rising])


def candidates(heads: list[int], labels: list[str], paths: list[str]) -> set[tuple[int, int, str]]:
    """The pairs of nodes whose path is one of some, and that path."""
    nodes = range(len(heads) + 1)
    pairs = ((down, up) for down, up in itertools.product(nodes, nodes) if down and down != up)
    found = {(down, up, path(heads, labels, down, up)) for down, up in pairs}
    return {each for each in found if each[2] in paths}


def is_connected(graph: list[list[tuple[int, str]]]) -> bool:
    """Whether arcs lead from the root to every word."""
    reached = {0}
    for _ in graph:
        reached |= {word for word, arcs in enumerate(graph, 1) if any(head in reached for head, _ in arcs)}
    return len(reached) == len(graph) + 1
