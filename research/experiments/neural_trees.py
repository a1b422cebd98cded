"""Five ways to decode with the scores of a pretrained encoder: the value of exact second-order trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from nonproj.dual.decoding import decode_trusted
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.io.checks import cycle_of
from nonproj.model.model import Model
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import number, prune, score, tag
from nonproj.scoring.encoders.heads import EncodedSentence
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.projective import maximum_projective_tree
from nonproj.types import Decoded, PartSpace, Sentence
from nonproj_systems.programs.linear_program import LinearOptions, linear_program
from research.experiments.store import Row

GREEDY, ARBORESCENCE, PROJECTIVE, EXACT, TOGETHER = "greedy", "arborescence", "projective", "exact", "together"
METHODS = {
    GREEDY: "greedy",
    ARBORESCENCE: "arborescence",
    PROJECTIVE: "projective",
    EXACT: "second order",
    TOGETHER: "with linear scores",
}
"""Names of the methods; all but the last use only the encoder's scores."""


def decoded_rows(model: Path, test: Path, count: int = 0) -> list[Row]:
    """Return a row for each method: accuracy over all words, validity, certificates and time.

    Parameters
    ----------
    model : Path
        With an encoder.
    test : Path
        A gold file; its words are given, and tags predicted.
    count : int
        Number of sentences; 0 for all.
    """
    parser = Parser(Model.load_trained(model), tags="all")
    gold = list(conll.read(test, require_heads=True))[: count or None]
    sentences = parser.run(gold, until=tag).sentences
    encoded = [encoded_alone(parser, sentence) for sentence in sentences]
    found = {name: decode_all(parser, name, sentences, encoded) for name in METHODS}
    judged = {name: [judge(*each) for each in zip(gold, trees, strict=True)] for name, (trees, _) in found.items()}
    evaluations = {name: evaluation_of(gold, trees) for name, (trees, _) in found.items() if name != GREEDY}
    checked = {name: disagreements(parser, name, encoded[:CHECKED], found[name][0]) for name in (EXACT, TOGETHER)}
    rows = []
    for name, (trees, seconds) in found.items():
        heads, labels = (np.concatenate([each[i] for each in judged[name]]) for i in (0, 1))
        row: Row = {"method": name, "sentences": len(gold), "words": len(heads), "uas": float(heads.mean())}
        row |= {
            "las": float((heads & labels).mean()),
            "complete": float(np.mean([each[0].all() for each in judged[name]])),
        }
        several = [parser.request.options.single_root and (tree[1:] == 0).sum() > 1 for tree, *_ in trees]
        invalid = sum(bool(more or cycle_of(tree.tolist())) for (tree, *_), more in zip(trees, several, strict=True))
        row |= dict(zip(("gain", "interval"), gain(*(judged[each] for each in (name, ARBORESCENCE))), strict=True))
        row |= {"invalid": invalid, "milliseconds": 1000 * seconds / len(gold)}
        if name in evaluations:
            figures = evaluations[name].as_dict()
            crossing = figures["with_punctuation"]["nonprojective"]
            row |= {"crossing_precision": crossing["precision"], "crossing_recall": crossing["recall"]}
            p = compare(evaluations[name], evaluations[ARBORESCENCE], punctuation=True)
            row |= {"p_uas": p["uas"]["p"], "p_las": p["las"]["p"]}
            if certificates := figures["certificates"]:
                row |= {"certified": certificates["certified"], "iterations": certificates["mean_iterations"]}
        if name in checked:
            row |= {"programs": min(CHECKED, len(gold)), "wrong": checked[name]}
        rows.append(row)
    return rows


CHECKED = 70
"""Number of trees of the last two methods that are compared with the integer program."""

SLACK = 1e-6
"""Relative difference of scores that counts as none: the tolerance of HiGHS."""

Tree = tuple[np.ndarray, list[str], Decoded | None]
"""The head of each node, the labels of the words, and the result of an exact decoder."""


def decode_all(
    parser: Parser, method: str, sentences: Sequence[Sentence], encoded: Sequence[Batch]
) -> tuple[list[Tree], float]:
    """Return the trees of sentences, and the processor seconds of decoding: scores are computed before."""
    prepare, decode = DECODERS[method]
    problems = list(map(prepare, encoded))
    decode(parser, *problems[0])  # compiles
    began = time.process_time()
    found = [decode(parser, *problem) for problem in problems]
    seconds = time.process_time() - began
    trees, names = [], parser.loaded.labels
    for batch, each in zip(encoded, found, strict=True):
        decoded = each if isinstance(each, Decoded) else None
        heads = decoded.tree if decoded else each
        if method == TOGETHER:
            [(numbers, _)] = parser.loaded.labeler.label(batch.joined, [heads])
        else:
            numbers = encoded_of(batch).labels(heads).argmax(axis=1)
        trees.append((heads, names[numbers].tolist(), decoded))
    return trees, seconds


def disagreements(parser: Parser, method: str, encoded: Sequence[Batch], trees: Sequence[Tree]) -> int:
    """Return the number of certified trees whose score differs from the optimum of the integer program."""
    wrong, options = 0, LinearOptions(integer=True, single_root=bool(parser.request.options.single_root))
    for batch, (_, _, decoded) in zip(encoded, trees, strict=False):
        parts, scores = DECODERS[method][0](batch)
        best = float(linear_program(parts, scores, options)[0].score)
        if decoded and decoded.certified:
            wrong += abs(decoded.score - best) > SLACK * (1 + abs(best))
    return wrong


def encoded_alone(parser: Parser, sentence: Sentence) -> Batch:
    """Return a batch of one tagged sentence with its candidate arcs."""
    return parser.with_request(tags="none").run([sentence], until=prune)


def encoded_of(batch: Batch) -> EncodedSentence:
    """Return the encoder's scores of the sentence of a batch."""
    found: EncodedSentence = batch.tokens[0].encoded
    return found


def arcs_of(batch: Batch) -> tuple[np.ndarray]:
    """Return the encoder's scores of all arcs."""
    return (encoded_of(batch).first_order(),)


def parts_of(batch: Batch) -> tuple[PartSpace, np.ndarray]:
    """Return the parts of a sentence, and the encoder's scores of them."""
    [parts] = number(batch).spaces
    rows = [part_type.rows(parts.arcs, start) for part_type, start in zip(parts.types, parts.starts, strict=True)]
    own = zip(parts.types, rows, strict=True)
    return parts, np.concatenate([encoded_of(batch).parts(part_type.name, each.nodes) for part_type, each in own])


def all_of(batch: Batch) -> tuple[PartSpace, np.ndarray]:
    """Return the parts of a sentence, and all scores of them."""
    batch = score(number(batch))
    return batch.spaces[0], batch.scores[0]


def exact(parser: Parser, parts: PartSpace, scores: np.ndarray) -> Decoded:
    """Return the best tree by its score, without costs of crossed arcs, as in the integer program."""
    request = parser.request
    return decode_trusted(parts, scores, request.options, request.search)[0]


def greedy(_: Parser, scores: np.ndarray) -> np.ndarray:
    """Return the best head of each word by itself, which need not be a tree."""
    heads: np.ndarray = scores.argmax(axis=0)
    heads[0] = -1
    return heads


DECODERS: dict[str, tuple[Callable[[Batch], tuple], Callable[..., np.ndarray | Decoded]]] = {
    GREEDY: (arcs_of, greedy),
    ARBORESCENCE: (arcs_of, lambda parser, scores: maximum_arborescence(scores, parser.request.options.single_root)),
    PROJECTIVE: (arcs_of, lambda parser, scores: maximum_projective_tree(scores, parser.request.options.single_root)),
    EXACT: (parts_of, exact),
    TOGETHER: (all_of, exact),
}
"""The functions that compute a method's scores, and that decode."""


def judge(gold: Sentence, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the right heads and of the right labels of a sentence."""
    heads, labels, _ = tree
    return heads[1:] == gold.heads, np.array([a == b for a, b in zip(labels, gold.labels, strict=True)], np.bool_)


def gain(first: Sequence[tuple[np.ndarray, ...]], second: Sequence[tuple[np.ndarray, ...]]) -> tuple[float, float]:
    """Return the difference in UAS of two methods on the same sentences, and half of its 95 % interval.

    Examples
    --------
    >>> right, wrong = (np.array([True, True]), None), (np.array([True, False]), None)
    >>> [round(x, 3) for x in gain([right, right, wrong], [wrong, right, wrong])]
    [0.167, 0.267]
    """
    sizes = np.array([len(each[0]) for each in first])
    counts = np.array([int(a[0].sum()) - int(b[0].sum()) for a, b in zip(first, second, strict=True)])
    return mean_gain(counts, sizes)


def mean_gain(gains: np.ndarray, words: np.ndarray) -> tuple[float, float]:
    """Return the mean gain per word, and half of its 95 % interval, from the gains and word counts of sentences.

    Examples
    --------
    >>> [round(x, 3) for x in mean_gain(np.array([0, 1, 0]), np.array([2, 2, 2]))]
    [0.167, 0.267]
    """
    mean = gains.sum() / words.sum()
    error = np.sqrt(np.square(gains - mean * words).sum()) / words.sum()
    return float(mean), float(1.96 * error)


def evaluation_of(gold: Sequence[Sentence], trees: Sequence[Tree]) -> Evaluation:
    """Return the evaluation of trees."""
    found = Evaluation()
    for sentence, (heads, labels, decoded) in zip(gold, trees, strict=True):
        found.add(sentence, heads[1:], labels, decoded)
    return found
