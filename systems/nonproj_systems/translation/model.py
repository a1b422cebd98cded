"""A trained translation model: phrase table, language model and weights, in one file; training from sentence pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.strings import WORD, check_strings
from nonproj_systems import models
from nonproj_systems.translation.alignment import align, make_corpus
from nonproj_systems.translation.instance import Instance, make_instance
from nonproj_systems.translation.language_model import BEGIN, END, MAX_WORDS, Automaton, estimate
from nonproj_systems.translation.phrases import MAX_PHRASE, PhraseTable, make_table
from nonproj_systems.translation.symmetrization import combine
from nonproj_systems.translation.text import MAX_TOKENS, Vocabulary

WEIGHTS = {
    "lm": 0.5,
    "phrase": 0.2,
    "inverse_phrase": 0.2,
    "lexical": 0.2,
    "inverse_lexical": 0.2,
    "words": 0.5,
    "phrases": -0.2,
    "distortion": -0.2,
}
"""Weights before tuning.

Factors of log-probabilities: language model; target given source phrase, and the reverse; both also word by word.  Then
scores of a target word, of a phrase, and of a word between the end of one phrase and the beginning of the next.
"""

TRANSLATIONS = 10
"""Maximum number of translations considered for a source phrase, the best by weighted score."""

LIMIT = 4
"""Distortion limit, in words."""

_KIND, _VERSION = "translation", 2

_LARGEST = 1e6
"""Maximum absolute value of scores and weights: larger ones are not plausible, and their sums might not be finite."""

_TYPES = (
    *("int64", "int32", "float64", "int32", "float64", "int32", "int32"),
    *("int64", "int64", "int32", "float32", "int64", "int32"),
)
"""Types of the arrays of the language model and the phrase table."""


class TranslationModel:
    """A translation model: phrase table, language model and weights.

    Parameters
    ----------
    source, target : Vocabulary
    table : PhraseTable
    lm : Automaton
        Language model, unweighted.
    weights : mapping of str to float, optional
        As `WEIGHTS`.

    Raises
    ------
    ValueError
        If a weight is unknown or not finite, or that of the language model is negative.
    """

    def __init__(
        self,
        source: Vocabulary,
        target: Vocabulary,
        table: PhraseTable,
        lm: Automaton,
        weights: Mapping[str, float] | None = None,
    ):
        self.source, self.target, self.table, self.lm = source, target, table, lm
        self.set_weights(WEIGHTS if weights is None else weights)

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Set the weights."""
        if set(weights) != set(WEIGHTS) or not np.isfinite(list(weights.values())).all():
            raise ValueError(f"weights {dict(weights)}; finite numbers for {', '.join(WEIGHTS)} are expected")
        self.weights = {name: float(weights[name]) for name in WEIGHTS}
        self._lm = self.lm.scaled(self.weights["lm"])
        names = "phrase", "inverse_phrase", "lexical", "inverse_lexical"
        lengths = np.diff(self.table.target_start)[self.table.target]
        weighted = self.table.scores.astype(np.float64) @ [self.weights[name] for name in names]
        self._entry_score = weighted + lengths * self.weights["words"] + self.weights["phrases"]

    def instance(
        self, tokens: Sequence[str], translations: int = TRANSLATIONS, limit: int = LIMIT
    ) -> tuple[Instance, list[list[str]]]:
        """Return the decoding problem of a sentence, and the target tokens of its phrases.

        Parameters
        ----------
        tokens : sequence of str
        translations : int
            Maximum number of translations of a source phrase.
        limit : int
            Distortion limit.

        Notes
        -----
        A word that is not a phrase by itself may be copied, as an unknown word of the language model.

        Raises
        ------
        SizeError
            If there are too many tokens.
        """
        numbers, found, surface = self.source.numbers(tokens), [], {}
        for start in range(len(numbers)):
            node, single = 0, False
            for end in range(start + 1, len(numbers) + 1):
                node = self.table.find(node, numbers[end - 1])
                if not node:
                    break
                first, last = self.table.entry_start[node], self.table.entry_start[node + 1]
                order = np.argsort(-self._entry_score[first:last], kind="stable")[:translations] + first
                single |= end == start + 1 and last > first
                for entry in order.tolist():
                    words = self.table.words(int(self.table.target[entry])).tolist()
                    found.append((start, end, words, float(self._entry_score[entry])))
            if not single:
                found.append((start, start + 1, [0], self.weights["words"] + self.weights["phrases"]))
                surface[start] = [tokens[start]]
        instance = make_instance(len(numbers), found, self._lm, self.weights["distortion"], limit)
        texts = [[self.target.words[word] for word in instance.target(o)] for o in range(len(instance.start))]
        for o, start in enumerate(instance.start.tolist()):
            if start in surface and instance.end[o] == start + 1:
                texts[o] = surface[start]
        return instance, texts

    def save(self, path: str | Path) -> None:
        """Write the model to a file.

        Raises
        ------
        FileError
            If the file cannot be written.
        """
        arrays = {f"table_{name}": array for name, array in self.table._asdict().items()}
        arrays |= {f"lm_{name}": array for name, array in self.lm._asdict().items()}
        values = {"source": self.source.words, "target": self.target.words, "weights": self.weights}
        models.write(path, _KIND, _VERSION, values, arrays)

    @classmethod
    def load(cls, path: str | Path) -> TranslationModel:
        """Read a model from a file.

        Raises
        ------
        ModelError
            If the file is not such a model.
        """
        values, arrays = models.read(path, _KIND, _VERSION)
        try:
            if set(values) != {"source", "target", "weights"}:
                raise ValueError("source, target and weights expected")
            table = PhraseTable(*(arrays[f"table_{name}"] for name in PhraseTable._fields))
            lm = Automaton(*(arrays[f"lm_{name}"] for name in Automaton._fields))
            _check(values, table, lm)
            return cls(Vocabulary(values["source"]), Vocabulary(values["target"]), table, lm, values["weights"])
        except (KeyError, ValueError, TypeError, IndexError, ModelError) as error:
            raise ModelError(f"{path}: the model for translation is damaged ({error}); train it again") from None


def _check(values: Mapping[str, Any], table: PhraseTable, lm: Automaton) -> None:
    """Raise a ValueError if a number in a model is out of its range, so that no kernel reads beyond an array."""
    if [str(array.dtype) for array in (*lm, *table)] != list(_TYPES) or any(array.ndim != 1 for array in lm):
        raise ValueError("wrong types of numbers")
    for side in ("source", "target"):
        words = check_strings(values[side], WORD, f"the {side} vocabulary")
        if not 3 <= len(words) <= MAX_WORDS or len(set(words)) < len(words):
            raise ValueError(f"the {side} vocabulary is not of 3 to {MAX_WORDS} different words")
    weights = values["weights"]
    if type(weights) is not dict or not all(type(x) is float and abs(x) <= _LARGEST for x in weights.values()):
        raise ValueError("weights are not numbers")
    _check_arrays(table, lm, len(values["target"]))


def _check_arrays(table: PhraseTable, lm: Automaton, n_target: int) -> None:
    """Raise a ValueError if an array of the phrases or of the language model has a number out of its range."""
    n_states = len(lm.last_word)
    n_phrases, n_nodes = len(table.target_start) - 1, len(table.child) + 1
    starts = ((lm.arc_start, n_states, len(lm.arc_word)), (table.entry_start, n_nodes, len(table.target)))
    for start, size, total in (*starts, (table.target_start, n_phrases, len(table.target_words))):
        if start.shape != (size + 1,) or start[0] != 0 or start[-1] != total or (np.diff(start) < 0).any():
            raise ValueError("wrong offsets")
    ranges = (
        (lm.arc_word, n_target),
        (lm.arc_next, n_states),
        (lm.backoff_state, n_states),
        (table.target, n_phrases),
        (table.target_words, n_target),
    )
    if not all((array >= 0).all() and (array < size).all() for array, size in ranges):
        raise ValueError("a number out of range")
    sizes = ((lm.arc_score, len(lm.arc_word)), (lm.arc_next, len(lm.arc_word)), (lm.backoff_score, n_states))
    if any(array.shape != (size,) for array, size in sizes) or table.scores.shape != (len(table.target), 4):
        raise ValueError("arrays of different lengths")
    if n_states <= n_target or lm.arc_start[1] != n_target or lm.arc_next.min() < 1:
        raise ValueError("wrong states")
    _check_states(lm, n_target)
    if (np.diff(table.child) <= 0).any():
        raise ValueError("wrong source phrases")
    if not all((np.abs(array) <= _LARGEST).all() for array in (lm.arc_score, lm.backoff_score, table.scores)):
        raise ValueError("a score that is not finite, or too large")
    lengths = np.diff(table.target_start)
    if (lengths < 1).any() or (lengths > MAX_TOKENS).any() or np.isin(table.target_words, (BEGIN, END)).any():
        raise ValueError("wrong target phrases")
    _check_backoff(lm, n_target)


def _check_backoff(lm: Automaton, n_target: int) -> None:
    """Raise a ValueError if an arc scores less than backing off: the bounds of decoding rely on this."""
    state = np.repeat(np.arange(len(lm.last_word)), np.diff(lm.arc_start))
    key = state * n_target + lm.arc_word
    arcs = np.flatnonzero(state)
    word, below = lm.arc_word[arcs], lm.backoff_state[state[arcs]]
    wanted = below.astype(np.int64) * n_target + word
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    further = lm.backoff_score[below] + lm.arc_score[word]  # without a word of context
    score = np.where(key[place] == wanted, lm.arc_score[place], further)
    if (lm.arc_score[arcs] < lm.backoff_score[state[arcs]] + score - 1e-9).any():
        raise ValueError("an n-gram scores less than backing off")


def _check_states(lm: Automaton, n_target: int) -> None:
    """Raise a ValueError unless states, their words and their arcs are consistent."""
    states = np.arange(len(lm.last_word))
    key = np.repeat(states, np.diff(lm.arc_start)) * n_target + lm.arc_word
    of_word = lm.last_word[1 : 1 + n_target].tolist() == list(range(n_target))
    right = of_word and (np.diff(key) > 0).all() and (lm.last_word[lm.arc_next] == lm.arc_word).all()
    pairs = slice(1 + n_target, None)
    if (
        not right
        or (lm.backoff_state[pairs] != 1 + lm.last_word[pairs]).any()
        or lm.backoff_state[: 1 + n_target].any()
    ):
        raise ValueError("states and words do not fit")


def train(
    source: list[list[str]],
    target: list[list[str]],
    *,
    longest: int = MAX_PHRASE,
    log: Callable[[str], object] = lambda text: None,
) -> TranslationModel:
    """Train a model, with the weights `WEIGHTS`, on the tokens of sentence pairs.

    Parameters
    ----------
    source, target : list of list of str
        Tokens of each sentence pair; none is empty.
    longest : int
        Maximum length of a phrase, in words.
    log : callable
        Called with one line about each step.

    Examples
    --------
    >>> model = train([["ja"], ["nein", "ja"]] * 3, [["yes"], ["no", "yes"]] * 3)
    >>> instance, texts = model.instance(["nein"])
    >>> texts
    [['no']]
    """
    vocabularies = Vocabulary.of(source), Vocabulary.of(target, ("<unk>", "<s>", "</s>"))
    numbers = [
        [vocabulary.numbers(sentence) for sentence in side]
        for vocabulary, side in zip(vocabularies, (source, target), strict=True)
    ]
    log(f"{len(source)} sentence pairs, {len(vocabularies[0])} source and {len(vocabularies[1])} target words")
    forward = align(make_corpus(numbers[0], numbers[1]))
    backward = align(make_corpus(numbers[1], numbers[0]))
    points = [combine(f, b) for f, b in zip(forward, backward, strict=True)]
    log(f"{sum(int(p.sum()) for p in points)} alignment points")
    table = make_table(*numbers, points, longest)
    log(f"{len(table.target)} phrase pairs")
    lm = estimate(numbers[1], len(vocabularies[1]))
    log(f"{len(lm.arc_word)} n-grams")
    return TranslationModel(*vocabularies, table, lm)
