"""Weights of the log-linear model, by coordinate search for BLEU on held-out sentence pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nonproj_systems.translation.model import TranslationModel
from nonproj_systems.translation.stack import decode_by_stacks

STEPS = (0.2, 0.1)
"""Steps of the rounds; a round tries to raise and to lower each weight by its step."""

LEAST_LM = 0.05
"""Minimum weight of the language model."""


def evaluate(model: TranslationModel, source: Sequence[Any], target: Sequence[Any], beam: int = 10) -> float:
    """Return the BLEU score, on tokens, of stack decoding with a small beam."""
    found = []
    for tokens in source:
        instance, texts = model.instance(tokens)
        found.append([word for option in decode_by_stacks(instance, beam) for word in texts[option]])
    return bleu(found, target)


def bleu(found: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the BLEU score of tokens with one reference, from 0 to 100, without smoothing, by ``sacrebleu``.

    Examples
    --------
    >>> round(bleu([["a", "b", "c", "d", "e"]], [["a", "b", "c", "d", "f"]]), 2)
    66.87
    """
    from sacrebleu.metrics.bleu import BLEU  # takes longer to import than all that decoding needs

    lines, expected = ([" ".join(tokens) for tokens in side] for side in (found, references))
    score: float = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(lines, [expected]).score
    return score


def tune(
    model: TranslationModel,
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    *,
    beam: int = 10,
    steps: Sequence[float] = STEPS,
    log: Callable[[str], object] = lambda text: None,
) -> float:
    """Set the weights of a model to the best that coordinate search finds, and return their BLEU score.

    Parameters
    ----------
    model : TranslationModel
        Its weights are the starting point of the search.
    source, target : sequence of sequence of str
        Tokens of sentence pairs that are not those of training.
    beam : int
        Beam of the stack decoder.
    steps : sequence of float
        One for each round.
    log : callable
        Called with one line about each improvement.
    """
    best = evaluate(model, source, target, beam)
    log(f"BLEU {best:.2f} before tuning")
    for step in steps:
        for name in list(model.weights):
            old = dict(model.weights)
            for sign in (1, -1):
                new = {**old, name: round(old[name] + sign * step, 6)}
                if new["lm"] < LEAST_LM:
                    continue
                model.set_weights(new)
                found = evaluate(model, source, target, beam)
                if found > best:
                    best = found
                    log(f"BLEU {best:.2f} with {name} {new[name]:g}")
                    break
            else:
                model.set_weights(old)
    return best
