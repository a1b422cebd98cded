"""Error tables: attachment scores by gold label, tag, arc length, depth and sentence length, and confused labels.

One table serves one parser or several side by side: results derive from the tables of words of their evaluations, see
`nonproj.evaluation.scores.Evaluation.words`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from nonproj.evaluation.scores import Evaluation, share_of

ARC_LENGTHS = (("root", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3-6", 3, 6), ("7+", 7, None))
"""Bins of arc length: name, lowest, highest; an arc from the root has length 0."""

SENTENCE_LENGTHS = (("1-10", 1, 10), ("11-20", 11, 20), ("21-30", 21, 30), ("31-40", 31, 40), ("41+", 41, None))
"""Bins of sentence length, in words: name, lowest, highest."""

DEPTHS = (*((str(depth), depth, depth) for depth in range(1, 7)), ("7+", 7, None))
"""Bins of depth, the number of arcs from the root to a word: name, lowest, highest."""


def error_tables(
    evaluations: Sequence[Evaluation], *, punctuation: bool = False, labelled: bool = True
) -> dict[str, Any]:
    """Return attachment scores by kind of word in the gold trees, of one parser or of several side by side.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one, all of the same gold sentences, in the same order.
    punctuation : bool
        Whether punctuation counts.
    labelled : bool
        Whether labels count, if all evaluations have them.

    Returns
    -------
    dict
        ``words``, the number of words counted; ``tables``: for each of ``label``, ``tag``, ``arc_length``, ``depth``,
        ``sentence_length``, ``nonprojective`` and ``nonprojective_label`` (of non-projective arcs) a list of rows;
        ``confusions`` (None without labels, as both tables of labels are absent).  A row has its ``name``, its number
        of ``words``, and the shares ``uas`` and ``las``, one for each evaluation (``las`` is None without labels).
        Rows of labels also have ``predicted``, the number of words with this label in each parse, and ``precision``,
        the share of these whose head and label are correct.  Rows of kinds of arcs have both, too, for a correct head
        and an arc of this kind in both trees.  A confusion has the ``gold`` and the ``predicted`` label, and
        ``counts``, one for each evaluation; the most frequent come first.

    Raises
    ------
    ValueError
        There is no evaluation, or the gold sentences differ.

    Examples
    --------
    >>> from nonproj.types import Sentence
    >>> gold = Sentence([[str(i), form, "_", tag, "_", "_", "_", label, "_", "_"] for i, form, tag, label in
    ...                  ((1, "Det", "P", "subj"), (2, "regner", "V", "ROOT"))], np.array([-1, 2, 0]))
    >>> evaluation = Evaluation()
    >>> evaluation.add(gold, [2, 0], ["dobj", "ROOT"])
    >>> errors = error_tables([evaluation])
    >>> errors["tables"]["tag"][0]
    {'name': 'P', 'words': 1, 'uas': [1.0], 'las': [0.0]}
    >>> errors["confusions"]
    [{'gold': 'subj', 'predicted': 'dobj', 'counts': [1]}]
    """
    columns = [evaluation.words() for evaluation in evaluations]
    if not columns:
        raise ValueError("no evaluation is given")
    first = columns[0]
    if not all(np.array_equal(words[name], first[name]) for words in columns for name in ("sentence", "gold", "tag")):
        raise ValueError("the evaluations are not of the same gold sentences")
    labelled = labelled and all(words["label_correct"] is not None for words in columns)
    depth = _depths(first["sentence"], first["gold"])
    counted = np.ones(len(depth), dtype=bool) if punctuation else ~first["punctuation"]
    correct = [words["correct"][counted] for words in columns]
    both = [words["correct"][counted] & words["label_correct"][counted] for words in columns] if labelled else None
    kept = {name: first[name][counted] for name in ("gold_label", "tag", "gold_distance", "length")}
    crossing = first["gold_nonprojective"][counted]
    make_row = partial(_row, correct, both)
    tables = {"label": by_string(kept["gold_label"], make_row)} if labelled else {}
    tables |= {
        "tag": by_string(kept["tag"], make_row),
        "arc_length": _by_bin(kept["gold_distance"], ARC_LENGTHS, make_row),
        "depth": _by_bin(depth[counted], DEPTHS, make_row),
        "sentence_length": _by_bin(kept["length"], SENTENCE_LENGTHS, make_row),
        "nonprojective": [make_row("projective arcs", ~crossing), make_row("non-projective arcs", crossing)],
    }
    crosses = [words["predicted_nonprojective"][counted] for words in columns]
    for row, kind in zip(tables["nonprojective"], (False, True), strict=True):
        _add_precision(row, [flags == kind for flags in crosses], [right & (crossing == kind) for right in correct])
    confused = None
    if both is not None:
        gold, predicted = kept["gold_label"], [words["predicted_label"][counted] for words in columns]
        for row in tables["label"]:
            _add_precision(row, [labels == row["name"] for labels in predicted], both)
        tables["nonprojective_label"] = rows = by_string(gold, lambda name, own: make_row(name, own & crossing))
        for row in rows:
            own = [kind & (labels == row["name"]) for kind, labels in zip(crosses, predicted, strict=True)]
            _add_precision(row, own, [right & crossing for right in both])
        rows[:] = [row for row in rows if row["words"] or any(row["predicted"])]
        confused = confusions(zip(gold[gold != labels], labels[gold != labels], strict=True) for labels in predicted)
    return {"words": int(counted.sum()), "tables": tables, "confusions": confused}


def _depths(sentence: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the number of arcs from the root to each word of a table of words."""
    first = np.searchsorted(sentence, sentence)  # the row of the sentence's first word
    above = np.where(heads == 0, -1, first + heads - 1)  # the row of the head
    depth = np.ones(len(heads), dtype=np.int64)
    while len(rows := np.flatnonzero(above >= 0)):  # twice as far up each time
        depth[rows] += depth[above[rows]]
        above[rows] = above[above[rows]]
    return depth


def _row(correct: list[np.ndarray], both: list[np.ndarray] | None, name: str, chosen: np.ndarray) -> dict[str, Any]:
    """Return the scores of the chosen words."""
    return {
        "name": name,
        "words": int(chosen.sum()),
        "uas": [share_of(flags[chosen]) for flags in correct],
        "las": None if both is None else [share_of(flags[chosen]) for flags in both],
    }


MakeRow: TypeAlias = Callable[[str, np.ndarray], dict[str, Any]]
"""A function that returns a row of a table, given its name and a mask of its words, bool[n]."""


def by_string(strings: np.ndarray, make_row: MakeRow) -> list[dict[str, Any]]:
    """Return a row for each string, the most frequent first."""
    counts = Counter(strings)
    return [make_row(name, strings == name) for name in sorted(counts, key=lambda name: (-counts[name], name))]


def _by_bin(values: np.ndarray, bins: tuple[Any, ...], make_row: MakeRow) -> list[dict[str, Any]]:
    """Return a row for each bin."""
    limits = ((name, low, np.inf if high is None else high) for name, low, high in bins)
    return [make_row(name, (values >= low) & (values <= high)) for name, low, high in limits]


def _add_precision(row: dict[str, Any], chosen: list[np.ndarray], correct: list[np.ndarray]) -> None:
    """Add to a row the number of words that each parser predicts to be of its kind, and the share of correct ones."""
    row["predicted"] = [int(flags.sum()) for flags in chosen]
    row["precision"] = [share_of(right[flags]) for right, flags in zip(correct, chosen, strict=True)]


def confusions(pairs: Iterable[Iterable[Sequence[str]]]) -> list[dict[str, Any]]:
    """Return the counts of each pair of a gold and a predicted value, one per parser; the most frequent first."""
    counts = [Counter(map(tuple, each)) for each in pairs]
    every = sorted(set().union(*counts), key=lambda pair: (-sum(each[pair] for each in counts), pair))
    return [{"gold": a, "predicted": b, "counts": [each[a, b] for each in counts]} for a, b in every]
