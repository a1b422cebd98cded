"""Learning enhanced graphs from trees: paths, templates of labels, and the classifier."""

from __future__ import annotations

import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nonproj.errors import DataError
from nonproj.io.columns import LEMMA
from nonproj.io.graphs import Graph, read_graph
from nonproj.learning.hyperparameters import GRAPHS
from nonproj.linear.folds import blocks
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.streams import Stream, generator
from nonproj.linear.weights import quantise
from nonproj.scoring.graphs import LONGEST, UNIT, Candidate, Features, GraphModel, Inventory, TreeWords
from nonproj.types import Int32s, Sentence

REFERENCE = "ref"
"""The label of the arc from an antecedent to a relative word, in all treebanks of Universal Dependencies."""

log = logging.getLogger("nonproj")


@dataclass(frozen=True)
class GraphExamples:
    """Sentences with trees, and their graphs.

    Attributes
    ----------
    sentences : list of Sentence
    graphs : list of Graph
    """

    sentences: list[Sentence]
    graphs: list[Graph]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> GraphExamples:
        """Return those sentences that have a tree and a graph; warn of malformed graphs."""
        found = cls([], [])
        for sentence in sentences:
            try:
                graph = read_graph(sentence)
            except DataError as error:
                log.warning("%s; this graph is not learnt", error)
                continue
            if graph is not None and sentence.tree is not None and (sentence.tree[1:] >= 0).all():
                found.sentences.append(sentence)
                found.graphs.append(graph)
        return found

    def subset(self, numbers: Sequence[int]) -> GraphExamples:
        """Return the sentences with these numbers."""
        return GraphExamples([self.sentences[i] for i in numbers], [self.graphs[i] for i in numbers])

    @property
    def heads(self) -> list[list[int]]:
        """The heads of each sentence."""
        return [[] if sentence.heads is None else sentence.heads.tolist() for sentence in self.sentences]

    def trees(self, relative: Sequence[str] = ()) -> Iterator[tuple[TreeWords, Graph]]:
        """Yield the trees, given the lemmas of relative words, and the graphs."""
        known = frozenset(relative)
        for sentence, heads, graph in zip(self.sentences, self.heads, self.graphs, strict=True):
            yield TreeWords(sentence.rows, heads, sentence.labels, known), graph

    def enhanced(self) -> int:
        """Return the number of words whose arcs are not those of the tree."""
        return sum(
            arcs != [(words.heads[word], words.labels[word])]
            for words, graph in self.trees()
            for word, arcs in enumerate(graph, 1)
        )

    def f1(self, model: GraphModel) -> float:
        """Return the F1 of the arcs, with their labels, that a model predicts for the gold trees."""
        predicted = model.graphs(self.sentences, self.heads, [sentence.labels for sentence in self.sentences])
        both = itertools.chain.from_iterable(map(zip, self.graphs, predicted))
        pairs = [(set(gold), set(found)) for gold, found in both]
        return (
            2 * sum(len(gold & found) for gold, found in pairs) / sum(len(gold) + len(found) for gold, found in pairs)
        )


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


def learn_inventory(examples: GraphExamples) -> Inventory:
    """Return the paths of graphs, and for each the templates that together make all labels.

    Each template is the one that makes the most of the labels that those before it do not make.
    """
    lemmas = Counter[str]()
    for sentence, graph in zip(examples.sentences, examples.graphs, strict=True):
        pairs = zip(sentence.rows, graph, strict=True)
        lemmas.update(row[LEMMA].lower() for row, arcs in pairs if any(label == REFERENCE for _, label in arcs))
    relative = sorted(lemma for lemma, count in lemmas.items() if count >= GRAPHS.relative)
    labels = defaultdict[str, Counter[tuple[str, ...]]](Counter)
    for words, graph in examples.trees(relative):
        for down, arcs in enumerate(graph, 1):
            for up, label in arcs:
                path, nodes = path_of(words, down, up)
                if up != down and path.count(" ") < LONGEST:
                    labels[path][explain(words, nodes, label)] += 1
    everywhere = Counter[str]()
    for own in labels.values():
        for templates, count in own.items():
            everywhere.update(dict.fromkeys(templates, count))
    paths = sorted(labels)
    return Inventory(paths, [_cover(labels[path], everywhere) for path in paths], relative)


def _cover(left: Counter[tuple[str, ...]], everywhere: Counter[str]) -> list[str]:
    """Return the templates of a path, given the templates of each label and how often, and how often on all paths."""
    found = list[str]()
    while left and len(found) < GRAPHS.templates:
        count = Counter[str]()
        for templates, times in left.items():
            count.update(dict.fromkeys(templates, times))
        found.append(max(count, key=lambda template: (count[template], everywhere[template])))
        left = Counter({templates: times for templates, times in left.items() if found[-1] not in templates})
    return found


def learn_graphs(examples: GraphExamples, epochs: int, seed: int) -> GraphModel:
    """Return a model of graphs, with a classifier if one is right more often than the odds on held-out sentences."""
    fold = blocks(len(examples.graphs), 5)
    part = _learn(examples.subset(np.flatnonzero(fold > 0).tolist()), epochs, seed)
    held_out = examples.subset(np.flatnonzero(fold == 0).tolist())
    odds, both = held_out.f1(replace(part, weights=None)), held_out.f1(part)
    log.info("graphs: F1 on held-out sentences: %.2f by paths, %.2f with a classifier", 100 * odds, 100 * both)
    return _learn(examples, epochs if both > odds else 0, seed)


def _learn(examples: GraphExamples, epochs: int, seed: int) -> GraphModel:
    """Return a model of graphs; without epochs, it has no classifier."""
    inventory = learn_inventory(examples)
    starts = inventory.starts
    made, right = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.int64)
    for words, graph in examples.trees(inventory.relative):
        for own in inventory.candidates(words):
            for place, is_right in enumerate(_judged(own, graph), starts[own.path]):
                made[place] += is_right is not None
                right[place] += is_right is True
    certain = (made == right) & (made >= GRAPHS.sure)
    is_sure = np.array([certain[first:end].all() for first, end in itertools.pairwise(starts.tolist())], np.bool_)
    odds = np.rint(UNIT * np.round(np.log(right + 0.1) - np.log(made - right + 0.1), 4)).astype(np.int32)
    model = GraphModel(inventory, odds, is_sure)
    return replace(model, weights=_learn_weights(examples, model, epochs, seed)) if epochs else model


def _judged(candidate: Candidate, graph: Graph) -> list[bool | None]:
    """Return whether each label of a candidate is that of an arc in the graph; None where there is no label."""
    gold = dict(graph[candidate.nodes[0] - 1]).get(candidate.nodes[-1])
    return [None if label is None else label == gold for label in candidate.labels]


def _learn_weights(examples: GraphExamples, model: GraphModel, epochs: int, seed: int) -> np.ndarray:
    """Return the weights of the classifier."""
    examples = examples.subset(range(0, len(examples.graphs), 1 + len(examples.graphs) // GRAPHS.sentences))
    features, gold, places = Features(model.inventory, model.is_sure, 1 << GRAPHS.bits), list[bool](), list[Int32s]()
    for number, (words, graph) in enumerate(examples.trees(model.inventory.relative), 1):
        candidates = list(model.inventory.candidates(words))
        features.add(words, candidates)
        judged = itertools.chain(*(_judged(own, graph) for own in candidates if not model.is_sure[own.path]))
        gold += [is_right for is_right in judged if is_right is not None]
        if number % GRAPHS.at_once == 0 or number == len(examples.graphs):
            places.append(features.places())
    options = LogisticOptions(GRAPHS.bits, epochs, GRAPHS.learning_rate)
    weights = fit(np.concatenate(places), np.array(gold, np.uint8), options, generator(seed, Stream.GRAPHS))
    return quantise(weights)[0]
