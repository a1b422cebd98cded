"""Enhanced graphs: DEPS and empty nodes, read as arcs between words, and written from them.

An arc through empty nodes counts as one arc between words, whose label has the labels on the way, separated by ``>``,
as in the evaluation of IWPT 2021.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from nonproj.errors import DataError
from nonproj.io.columns import DEPS
from nonproj.types import Sentence

Graph: TypeAlias = list[list[tuple[int, str]]]
"""The arcs into each word of a sentence, as heads and labels in ascending order."""

_ARC = re.compile(r"((?:0|[1-9][0-9]*)(?:\.[1-9][0-9]*)?):([^\s|]+)")
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
    cells = {row[0].removeprefix("\ufeff"): (row, i) for i, row in enumerate(map(_cells, sentence.lines)) if row[9:]}
    cells = {name: item for name, item in cells.items() if _EMPTY.fullmatch(name)}
    places = sentence.word_lines or range(len(sentence))
    cells |= {str(word): (row, places[word - 1]) for word, row in enumerate(sentence.rows, 1)}
    arcs: dict[str, list[tuple[str, str]]] = {}
    for name, (row, place) in cells.items():
        found = [_ARC.fullmatch(arc) for arc in row[DEPS].split("|")]
        arcs[name] = [(arc[1], arc[2]) for arc in found if arc and (arc[1] == "0" or arc[1] in cells)]
        if len(arcs[name]) < len(found):
            text = f"DEPS is {row[DEPS][:80]!r}, HEAD:LABEL expected, separated by |, with words or empty nodes as HEAD"
            raise DataError(sentence.path, sentence.line + place, text)
    return [sorted(set(_collapsed(arcs, str(word), ()))) for word in range(1, len(sentence) + 1)]


def _cells(line: str) -> list[str]:
    return line.rstrip("\r\n").split("\t")


def _collapsed(
    arcs: Mapping[str, list[tuple[str, str]]], node: str, below: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    """Yield the arcs from words into a node; those through empty nodes visit none twice."""
    for head, label in arcs[node]:
        if "." not in head:
            yield int(head), label
        elif head not in below:
            yield from ((top, f"{first}>{label}") for top, first in _collapsed(arcs, head, (*below, head)))


def with_collapsed(lines: Iterable[str], path: str) -> Iterator[str]:
    """Yield the lines of a file in which DEPS has arcs through empty nodes as arcs between words.

    Raises `DataError` as `read_graph`.

    Examples
    --------
    >>> ids = ("1", "0:root"), ("1.1", "1:conj"), ("2", "1.1:obl")
    >>> lines = ["\\t".join([name, *"abcdefg", deps, "_"]) + "\\n" for name, deps in ids]
    >>> list(with_collapsed(lines, "x"))[2].split("\\t")[8]
    '1:conj>obl'
    """
    block, first = list[str](), 1
    for line in itertools.chain(lines, [""]):
        block.append(line)
        if not line.strip():
            cells = [*map(_cells, block)]
            words = [i for i, row in enumerate(cells) if row[0].isdecimal() and len(row) == 10]
            if any(_EMPTY.fullmatch(row[0]) for row in cells):
                own = Sentence([cells[i] for i in words], lines=block, word_lines=words, path=path, line=first)
                for i, arcs in zip(words, read_graph(own) or (), strict=False):
                    row = [*cells[i][:DEPS], "|".join(f"{head}:{label}" for head, label in arcs), cells[i][-1]]
                    block[i] = "\t".join(row) + block[i][len(block[i].rstrip("\r\n")) :]
            yield from filter(None, block)
            block, first = [], first + len(block)


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
    count, empty = Counter[int](), list[tuple[str, ...]]()
    for word, found in enumerate(chains, 1):
        for chain in found:
            for end in range(2, len(chain)):
                if chain[:end] not in names:
                    count[word] += 1
                    names[chain[:end]] = f"{word}.{count[word]}"
                    empty.append(chain[:end])

    def cell(own: Sequence[tuple[str, ...]]) -> str:
        pairs = ((names[chain[:-1]], chain[-1]) for chain in own)
        return "|".join(f"{name}:{label}" for name, label in sorted(pairs, key=_by_number))

    return [cell(found) for found in chains], [(names[chain], cell([chain])) for chain in empty]


def _by_number(arc: tuple[str, str]) -> tuple[list[int], str]:
    return [int(number) for number in arc[0].split(".")], arc[1]


def connected(graph: Graph, heads: Sequence[int], labels: Sequence[str]) -> Graph:
    """Return a graph with the arcs of a tree into those words that the root does not reach without them.

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
    graph, below = [*map(list, graph)], [list[int]() for _ in range(len(graph) + 1)]
    children = [list[int]() for _ in below]
    for word, arcs in enumerate(graph, 1):
        children[heads[word - 1]].append(word)
        for head, _ in arcs:
            below[head].append(word)
    reached, order = _reach(below, 0, set()), [0]
    for node in order:
        for word in children[node]:
            if word not in reached:
                graph[word - 1] = sorted({*graph[word - 1], (node, labels[word - 1])})
                _reach(below, word, reached)
        order += children[node]
    return graph


def _reach(below: Sequence[Sequence[int]], start: int, reached: set[int]) -> set[int]:
    """Add a node and all nodes below it to those that are reached, and return these."""
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += below[node]
    return reached
