"""Random language models and decoding problems for the tests of translation."""

import numpy as np

from nonproj_systems.translation.instance import make_instance
from nonproj_systems.translation.language_model import BEGIN, END, MAX_WORDS, make_automaton


def draw_scores(rng, kind, size):
    """Scores below 0: continuous, or small integers, which tie."""
    return -rng.integers(0, 4, size).astype(float) if kind == "integer" else -2 * rng.random(size)


def draw_lm(rng, kind, n_words, density=0.5):
    """A random language model as an automaton and as dictionaries; no n-gram scores less than backing off."""
    words = [w for w in range(n_words) if w != BEGIN]
    uni = draw_scores(rng, kind, n_words)
    uni[BEGIN] = -99.0
    scores, off = {(w,): float(uni[w]) for w in words}, {}
    for w in range(n_words):
        off[w,] = float(draw_scores(rng, kind, 1)[0])
    pairs = [(a, b) for a in range(n_words) for b in words if a != END and rng.random() < density]
    for a, b in pairs:
        scores[a, b] = off[a,] + scores[b,] - float(draw_scores(rng, kind, 1)[0])
    triples = [(a, b, c) for a, b in pairs for c in words if (b, c) in scores and rng.random() < density]
    contexts = {triple[:2] for triple in triples}
    off |= {pair: float(draw_scores(rng, kind, 1)[0]) if pair in contexts else 0.0 for pair in pairs}
    for a, b, c in triples:
        scores[a, b, c] = off[a, b] + scores[b, c] - float(draw_scores(rng, kind, 1)[0])
    numbers = [a * MAX_WORDS + b for a, b in pairs], [(a * MAX_WORDS + b) * MAX_WORDS + c for a, b, c in triples]
    automaton = make_automaton(
        np.array(numbers[0], np.int64),
        np.array(numbers[1], np.int64),
        [uni, np.array([scores[p] for p in pairs]), np.array([scores[t] for t in triples])],
        [np.array([off[w,] for w in range(n_words)]), np.array([off[p] for p in pairs])],
    )
    return automaton, (scores, off)


def draw_problem(rng, kind, n_words, n_phrases, n_target=6, limit=2):
    """A random decoding problem: the instance, and the twin's arguments."""
    lm, tables = draw_lm(rng, kind, n_target)
    phrases = []
    for k in range(n_words + n_phrases):
        start = k if k < n_words else int(rng.integers(n_words))
        end = start + 1 if k < n_words else int(rng.integers(start + 1, min(start + 3, n_words) + 1))
        target = [int(w) for w in rng.integers(2, n_target, int(rng.integers(1, 4)))]
        target = [0 if w == END else w for w in target]
        phrases.append((start, end, target, float(draw_scores(rng, kind, 1)[0])))
    phrases = sorted(phrases, key=lambda phrase: (phrase[0], tuple(phrase[2]), phrase[1]))
    distortion = float(draw_scores(rng, kind, 1)[0])
    return make_instance(n_words, phrases, lm, distortion, limit), (n_words, phrases, tables, distortion, limit)
