"""Tags made consistent over a document: sentences are chains of tags, repeated words are tied to a consensus node.

Rush, Reichart, Collins and Globerson (2012), "Improved parsing and POS tagging using inter-sentence consistency
constraints".  A sentence is the tagger's own chain of second order over its candidate tags, so a node is a word with
its tag and the one before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.tagging.tagger import Tagger
from nonproj.types import Sentence
from nonproj_systems.mrf.inference import Inference, infer
from nonproj_systems.mrf.model import MRF
from nonproj_systems.tag_chains import TagChain, tag_chains


class Document(NamedTuple):
    """The field of a document.

    Attributes
    ----------
    field : MRF
        A node for each word, sentence by sentence, then a node for each consensus.
    candidate : list of ndarray
        The candidate that each state of a word's node stands for.
    tied : list of list of int
        The words that each consensus node ties.
    """

    field: MRF
    candidate: list[np.ndarray]
    tied: list[list[int]]


def documents(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Yield the documents of a treebank: a comment ``# newdoc`` begins a new one.

    Examples
    --------
    >>> marked = Sentence([], lines=["# newdoc id = a\\n"])
    >>> [len(document) for document in documents([Sentence([]), marked, Sentence([]), marked])]
    [1, 2, 1]
    """
    found: list[Sentence] = []
    for sentence in sentences:
        if found and any(line.startswith("# newdoc") for line in sentence.lines):
            yield found
            found = []
        found.append(sentence)
    if found:
        yield found


def document_field(
    chains: Sequence[TagChain], keys: Sequence[object], weight: float, same: Callable[[int], object] = int
) -> Document:
    """Return the field of a document.

    Parameters
    ----------
    chains : sequence of TagChain
        The sentences.
    keys : sequence
        For each word the key that ties it to others, such as its form; None for no tie.
    weight : float
        The score of each tied word whose tag is that of the consensus.
    same : callable
        Part of a tag, given by its number, that has to be the consensus: by default the whole tag.

    Examples
    --------
    Two sentences of one word, which prefer different tags, the second one weakly:

    >>> def word(scores):
    ...     tags, own = np.array([[3, 5]], np.int32), np.array([scores])
    ...     return TagChain(np.array([2]), tags, own, np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 2)))
    >>> document = document_field([word([2.0, 0.0]), word([0.0, 0.5])], ["bank", "bank"], 1.0)
    >>> infer(document.field).labels.tolist()
    [0, 0, 0]
    """
    unary, candidate, edges, tables, tags = [], [], [], [], []
    for chain in chains:
        begin, before = len(unary), None
        for i, count in enumerate(chain.count.tolist()):
            states = [(b, c) for b in range(int(chain.count[i - 1]) if i else 1) for c in range(count)]
            b, c = np.array(states, np.int64).T
            unary.append(chain.own[i, c] + chain.pair[i, b, c] + (chain.triple[i, 0, b, c] if i == 0 else 0.0))
            candidate.append(c)
            tags.append(chain.tags[i])
            if i > 0:
                follows = before[1][:, None] == b
                scores = chain.triple[i, before[0][:, None], b, c]
                edges.append((begin + i - 1, begin + i))
                tables.append(np.where(follows, scores, -np.inf))
            before = b, c
    groups: dict[object, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        if key is not None:
            groups[key].append(i)
    tied = []
    for words in groups.values():
        classes = [[same(int(tag)) for tag in tags[i]] for i in words]
        known = list(dict.fromkeys(classes[n][c] for n, i in enumerate(words) for c in candidate[i].tolist()))
        if len(words) > 1 and len(known) > 1:
            for n, i in enumerate(words):
                own = np.array([known.index(classes[n][c]) for c in candidate[i].tolist()])
                edges.append((i, len(unary)))
                tables.append(weight * (own[:, None] == np.arange(len(known))))
            unary.append(np.zeros(len(known)))
            tied.append(words)
    return Document(MRF(unary, np.array(edges, np.int64).reshape(-1, 2), tables), candidate, tied)


def tag_document(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    weight: float,
    key: Callable[[str], object] = str,
    same: Callable[[tuple[str, str, str]], object] = tuple,
) -> tuple[list[tuple[str, str, str]], Inference, Document]:
    """Return consistent tags of all words of a document: UPOS, XPOS and FEATS; and how they were found.

    Parameters
    ----------
    tagger : Tagger
        The tagger of an `nonproj.tagging.analyzer.Analyzer`.
    sentences : sequence of Sentence
    weight : float
        The score of each tied word whose tag is that of the consensus; 0 leaves the tagger's own tags.
    key : callable
        Key of a form that ties a word to others; None ties it to none.
    same : callable
        Part of a tag that has to be the consensus, such as its UPOS.
    """
    forms = [form for sentence in sentences for form in sentence.forms]
    chains = tag_chains(tagger, forms, [len(sentence) for sentence in sentences])
    tags = tagger.tags.tags
    document = document_field(chains, [key(form) for form in forms], weight, lambda tag: same(tags[tag]))
    found = infer(document.field)
    chosen = [own[x] for own, x in zip(document.candidate, found.labels.tolist(), strict=False)]
    numbers = [tag for chain in chains for tag in chain.tags]
    return [tags[own[c]] for own, c in zip(numbers, chosen, strict=True)], found, document
