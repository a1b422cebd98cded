"""Enhanced graphs: DEPS and empty nodes, read as arcs between words, and written from them.

A path through empty nodes counts as one arc between words, whose label joins the labels on the path by ``>``, as in the
evaluation of IWPT 2021.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from nonproj.errors import DataError
from nonproj.io.columns import DEPS
from nonproj.types import Sentence

Graph: TypeAlias = list[list[tuple[int, str]]]
"""The arcs into each word of a sentence, as heads and labels in ascending order."""

MOST_PATHS = 1000
"""Maximum number of paths through empty nodes followed for a word; they may be exponentially many in the nodes."""

_ARC = re.compile(r"((?:0|[1-9][0-9]*)(?:\.[1-9][0-9]*)?):([^\s|>]+(?:>[^\s|>]+)*)")
_EMPTY = re.compile(r"[0-9]+\.[0-9]+")


def read_graph(sentence: Sentence) -> Graph | None:
    """Return the graph of a sentence; None if a word has no arc in DEPS.

    Cycles, several roots and arcs that differ from the tree are allowed.

    Raises
    ------
    DataError
        DEPS is malformed, or has an arc from a node that the sentence lacks.

    Examples
    --------
    >>> rows = [["1", "Go", *"_____", "root", "0:root", "_"], ["2", "on", *"_____", "advmod", "1.1:obl|1:x", "_"]]
    >>> lines = ["\\t".join(row) + "\\n" for row in (rows[0], ["1.1", *"_______", "1:conj", "_"], rows[1])]
    >>> read_graph(Sentence(rows, lines=lines, word_lines=[0, 2]))
    [[(0, 'root')], [(1, 'conj>obl'), (1, 'x')]]
    """
    if not all(":" in row[DEPS] for row in sentence.rows):
        return None
    lines = enumerate(line.rstrip("\r\n").split("\t") for line in sentence.lines)
    cells = {name: (row, i) for i, row in lines if _EMPTY.fullmatch(name := row[0].removeprefix("\ufeff"))}
    places = sentence.word_lines or range(len(sentence))
    cells |= {str(word): (row, places[word - 1]) for word, row in enumerate(sentence.rows, 1)}
    arcs: dict[str, list[tuple[str, str]]] = {}
    for name, (row, place) in cells.items():
        found = [_ARC.fullmatch(arc) for arc in row[DEPS].split("|")]
        arcs[name] = [(arc[1], arc[2]) for arc in found if arc and (arc[1] == "0" or arc[1] in cells)]
        if len(arcs[name]) < len(found):
            text = f"DEPS is {row[DEPS][:80]!r}, HEAD:LABEL expected, separated by |, with words or empty nodes as HEAD"
            raise DataError(sentence.path, sentence.line + place, text)
    return [sorted(set(_collapsed(arcs, str(word)))) for word in range(1, len(sentence) + 1)]


def _collapsed(arcs: dict[str, list[tuple[str, str]]], word: str) -> Iterator[tuple[int, str]]:
    """Yield the arcs from words into a word; those through empty nodes, at most eight of them, visit none twice.

    Of the paths through empty nodes only the first `MOST_PATHS` are followed.
    """
    waiting, followed = [(word, "", tuple[str, ...]())], 0
    while waiting and followed <= MOST_PATHS:
        node, labels, below = waiting.pop()
        followed += 1
        for head, label in arcs[node]:
            if "." not in head:
                yield int(head), label + labels
            elif head not in below and len(below) < 8:
                waiting.append((head, f">{label}{labels}", (*below, head)))


def as_columns(graph: Graph) -> tuple[list[str], list[tuple[str, str]]]:
    """Return DEPS of each word, and the empty nodes, each with its DEPS: the inverse of `read_graph`.

    Arcs through empty nodes with the same head and labels share these nodes, which follow the first word below them.

    Examples
    --------
    >>> as_columns([[(0, "root")], [(1, "conj>obl"), (1, "x")], [(1, "conj>obj")]])
    (['0:root', '1:x|2.1:obl', '2.1:obj'], [('2.1', '1:conj')])
    """
    chains = [[(str(head), *label.split(">")) for head, label in arcs] for arcs in graph]
    names: dict[tuple[str, ...], str] = {(str(head),): str(head) for head in range(len(graph) + 1)}
    for word, found in enumerate(chains, 1):
        inner = dict.fromkeys(chain[:end] for chain in found for end in range(2, len(chain)))
        names |= {chain: f"{word}.{i}" for i, chain in enumerate([each for each in inner if each not in names], 1)}

    def cell(own: Sequence[tuple[str, ...]]) -> str:
        pairs = sorted(([*map(int, names[chain[:-1]].split("."))], chain[-1]) for chain in own)
        return "|".join(f"{'.'.join(map(str, number))}:{label}" for number, label in pairs)

    return [cell(found) for found in chains], [(name, cell([chain])) for chain, name in names.items() if chain[1:]]


def connected(graph: Graph, heads: Sequence[int], labels: Sequence[str]) -> Graph:
    """Return a graph with arcs of a tree added, into the words that the root would not reach otherwise.

    Parameters
    ----------
    graph : Graph
    heads : sequence of int
        The head of each word in the tree.
    labels : sequence of str
        The label of each word's arc in the tree.

    Examples
    --------
    >>> connected([[(0, "root")], [(3, "x")], [(2, "y")]], [0, 1, 2], ["root", "obj", "nmod"])
    [[(0, 'root')], [(1, 'obj'), (3, 'x')], [(2, 'y')]]
    """
    graph, reached, order = [*map(list, graph)], set[int](), [0]
    below, children = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for word, arcs in enumerate(graph, 1):
        children[heads[word - 1]].append(word)
        for head, _ in arcs:
            below[head].append(word)
    for node in order:
        if node and node not in reached:
            graph[node - 1] = sorted({*graph[node - 1], (heads[node - 1], labels[node - 1])})
        waiting = [node]
        while waiting:
            if (each := waiting.pop()) not in reached:
                reached.add(each)
                waiting += below[each]
        order += children[node]
    return graph
