"""Accuracy and certificates over the sentences of a workload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.evaluation.scores import Evaluation, is_punctuation
from nonproj.types import Decoded
from research.experiments.setting import Problem


def unlabelled(problems: Sequence[Problem], trees: Sequence[np.ndarray]) -> float:
    """Return UAS: the share of words with the right head, without punctuation."""
    evaluation = Evaluation()
    for problem, heads in zip(problems, trees, strict=True):
        evaluation.add(problem.sentence, heads)
    return evaluation.uas


def summary(problems: Sequence[Problem], decoded: Sequence[Decoded], seconds: float) -> dict[str, float]:
    """Return accuracy, shares of agreed and certified trees, iterations and processor seconds per sentence."""
    return {
        "sentences": len(problems),
        "uas": unlabelled(problems, [each.heads for each in decoded]),
        "agreed": float(np.mean([each.agreed for each in decoded])),
        "certified": float(np.mean([each.certified for each in decoded])),
        "iterations": float(np.mean([each.iterations for each in decoded])),
        "seconds": seconds / len(problems),
    }


def counted(problem: Problem) -> np.ndarray:
    """Return a mask of the arcs whose modifier is not punctuation, bool[A]."""
    words = np.array([False] + [not is_punctuation(form) for form in problem.sentence.forms])
    return words[problem.arcs.modifier]


def words(problem: Problem) -> int:
    """Return the number of words other than punctuation."""
    return sum(not is_punctuation(form) for form in problem.sentence.forms)
