"""Learning enhanced graphs from trees: paths, templates of labels, and the classifier."""

from __future__ import annotations

import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from nonproj.errors import DataError
from nonproj.io.columns import LEMMA
from nonproj.io.graphs import Graph, read_graph
from nonproj.learning.hyperparameters import GRAPHS
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.streams import Stream, generator
from nonproj.linear.weights import quantise
from nonproj.scoring.graphs import LONGEST, Candidate, GraphModel, TreeWords, features
from nonproj.types import Sentence

Pair: TypeAlias = tuple[Sentence, Graph]
"""A sentence with its graph."""

REFERENCE = "ref"
"""The label of the arc from an antecedent to a relative word, in all treebanks of Universal Dependencies."""

log = logging.getLogger("nonproj")


def with_graphs(sentences: Iterable[Sentence]) -> list[Pair]:
    """Return the sentences that have a tree and a graph, with their graphs; warn of malformed graphs."""
    found = list[Pair]()
    for sentence in sentences:
        try:
            graph = read_graph(sentence)
        except DataError as error:
            log.warning("%s; this graph is not learnt", error)
            continue
        if graph is not None and sentence.tree is not None and (sentence.tree[1:] >= 0).all():
            found.append((sentence, graph))
    return found


def trees_of(pairs: Iterable[Pair], relative: Iterable[str] = ()) -> Iterator[tuple[TreeWords, Graph]]:
    """Yield the tree and the graph of each sentence; ``relative`` has the lemmas of relative words."""
    known = frozenset(relative)
    for sentence, graph in pairs:
        heads = [] if sentence.heads is None else sentence.heads.tolist()
        yield TreeWords(sentence.rows, heads, sentence.labels, known), graph


def count_enhanced(pairs: Iterable[Pair]) -> int:
    """Return the number of words whose arcs in the enhanced graph differ from their arc in the tree."""
    trees = ((zip(words.heads[1:], words.labels[1:], strict=True), graph) for words, graph in trees_of(pairs))
    return sum(arcs != [pair] for tree, graph in trees for pair, arcs in zip(tree, graph, strict=True))


def path_of(words: TreeWords, down: int, up: int) -> tuple[str, list[int]]:
    """Return the path between two nodes, and its nodes.

    Examples
    --------
    >>> words = TreeWords([["", *"______"]] * 3, [0, 1, 1], ["root", "nsubj", "conj"])
    >>> path_of(words, 2, 3), path_of(words, 3, 0)
    (('^nsubj vconj', [2, 1, 3]), ('^conj ^root', [3, 1, 0]))
    """
    rising, falling = [down], [up]
    while rising[-1]:
        rising.append(words.heads[rising[-1]])
    while falling[-1] not in rising:
        falling.append(words.heads[falling[-1]])
    rising, falling = rising[: rising.index(falling[-1]) + 1], falling[:-1][::-1]
    steps = [*(f"^{words.labels[node]}" for node in rising[:-1]), *(f"v{words.labels[node]}" for node in falling)]
    return " ".join(steps), rising + falling


def explain(words: TreeWords, nodes: Sequence[int], label: str) -> tuple[str, ...]:
    """Return the templates that make a label of an arc, given its path, from the most general to the label itself.

    Examples
    --------
    >>> words = TreeWords([["", "in", "in", *"____"], ["", "Rome", *"_____"]], [2, 0], ["case", "obl"])
    >>> explain(words, (2, 0), "obl:in")[:2], "=obl:in" in explain(words, (2, 0), "obl:in")
    (('0.deprel 0.case.last', '0.deprel 0.case.first'), True)
    """
    texts = [
        (f"{name}.{text}", v) for name, word in words.named(nodes).items() for text, v in words.texts(word).items()
    ]
    found, parts = list[str](), label.split(":")
    bases = [(source, value) for source, value in texts if source.endswith("deprel") and source[0] != "n"]
    for source, value in [*bases, *((f"={base}", base) for base in (":".join(parts[:2]), parts[0]))]:
        if label == value:
            found.append(source)
        elif label.startswith(f"{value}:"):
            rest = label[len(value) + 1 :].split(":")
            further = [[other for other, v in texts if v == part] + [f"={part}"] for part in rest]
            found += [" ".join((source, *more)) for more in itertools.islice(itertools.product(*further), 64)]
    return tuple(dict.fromkeys((*found, f"={label}")))


def learn_paths(pairs: Sequence[Pair]) -> GraphModel:
    """Return a model of the paths in enhanced graphs; the weights of its classifier are 0.

    Each template of a path is the one that makes the most labels not made by the templates before it.
    """
    labels, count, lemmas = defaultdict[str, Counter[tuple[str, ...]]](Counter), Counter[str](), set[str]()
    for sentence, graph in pairs:
        rows = zip(sentence.rows, graph, strict=True)
        lemmas.update(row[LEMMA].lower() for row, arcs in rows if any(label == REFERENCE for _, label in arcs))
        count.update(sentence.labels)
    relative = sorted(lemmas)
    for words, graph in trees_of(pairs, relative):
        for down, arcs in enumerate(graph, 1):
            for up, label in arcs:
                path, nodes = path_of(words, down, up)
                if up != down and path.count(" ") < LONGEST:
                    labels[path][explain(words, nodes, label)] += 1
    paths = {path: _cover(labels[path]) for path in sorted(labels)}
    plain = [name for name in sorted(count) if count[name] >= GRAPHS.plain]
    plain = [
        name for name in plain if paths.get(f"^{name}") == ["0.deprel"] and labels[f"^{name}"].total() == count[name]
    ]
    paths = {path: templates for path, templates in paths.items() if path.removeprefix("^") not in plain}
    return GraphModel(paths, plain, relative, np.zeros(1 << GRAPHS.bits, np.int16))


def _cover(left: Counter[tuple[str, ...]]) -> list[str]:
    """Return the templates of a path, given the counts of its labels by the templates that make them."""
    found = list[str]()
    while left and len(found) < GRAPHS.templates:
        count = Counter[str]()
        for templates, times in left.items():
            count.update(dict.fromkeys(templates, times))
        found.append(max(count, key=lambda template: count[template]))
        left = Counter({templates: times for templates, times in left.items() if found[-1] not in templates})
    return found


def learn_graphs(pairs: Sequence[Pair], seed: int) -> GraphModel:
    """Return a model of enhanced graphs, with a trained classifier."""
    model, gold, places = learn_paths(pairs), list[bool](), list[np.ndarray]()
    pairs = pairs[:: 1 + len(pairs) // GRAPHS.sentences]
    for begin in range(0, len(pairs), 500):  # in chunks, to limit the memory of their texts
        listed = list[tuple[TreeWords, Candidate]]()
        for words, graph in trees_of(pairs[begin : begin + 500], model.relative):
            for own in model.candidates(words):
                right = dict(graph[own.nodes[0] - 1]).get(own.nodes[-1])
                gold += [label == right for label in own.labels.values()]
                listed.append((words, own))
        places.append(features(listed, model.weights))
    options = LogisticOptions(GRAPHS.bits, GRAPHS.epochs, GRAPHS.learning_rate)
    weights = fit(np.concatenate(places), np.array(gold, np.uint8), options, generator(seed, Stream.GRAPHS))
    return replace(model, weights=quantise(weights)[0])
