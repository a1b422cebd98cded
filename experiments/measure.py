"""Accuracy, certificates and time over the sentences of a workload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.setting import Problem
from nonproj.evaluation.scores import Evaluation, is_punctuation
from nonproj.types import Decoded


def unlabelled(problems: Sequence[Problem], trees: Sequence[np.ndarray]) -> float:
    """Return the unlabelled attachment score, without punctuation."""
    evaluation = Evaluation()
    for problem, heads in zip(problems, trees, strict=True):
        evaluation.add(problem.sentence, heads)
    return evaluation.uas


def summary(problems: Sequence[Problem], decoded: Sequence[Decoded], seconds: float) -> dict[str, float]:
    """Return UAS, shares of agreed and of certified trees, and iterations and processor seconds per sentence."""
    return {
        "sentences": len(problems),
        "uas": unlabelled(problems, [each.heads for each in decoded]),
        "agreed": float(np.mean([each.agreed for each in decoded])),
        "certified": float(np.mean([each.certified for each in decoded])),
        "iterations": float(np.mean([each.iterations for each in decoded])),
        "seconds": seconds / len(problems),
    }


def scored_arcs(problem: Problem) -> np.ndarray:
    """Return which arcs count in evaluation, those whose modifier is not punctuation: bool[A]."""
    words = np.array([False] + [not is_punctuation(form) for form in problem.sentence.forms])
    return words[problem.arcs.modifier]


def count_words(problem: Problem) -> int:
    """Return the number of words without punctuation."""
    return sum(not is_punctuation(form) for form in problem.sentence.forms)
