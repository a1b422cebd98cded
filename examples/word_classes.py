"""A component that predicts an attribute of the column MISC for each word, by an averaged perceptron over templates.

A subclass, as in ``gloss.py`` beside this module, declares what is predicted, ``misc``, and from what: ``templates``
over ``attributes`` of a word and its neighbours.  With ``absent``, words without the attribute have a class of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from nonproj.components.base import Component, FitContext
from nonproj.errors import ModelError
from nonproj.io.copies import with_misc
from nonproj.io.strings import LABEL, check_strings
from nonproj.learning.corpus import Corpus
from nonproj.linear.hashing import REACH, Window, hash_texts, hash_words
from nonproj.linear.perceptron import AveragedWeights
from nonproj.linear.state import Fitted, Schema, State
from nonproj.linear.streams import Stream, generator
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.linear.weights import check_table, quantise
from nonproj.types import Sentence

ABSENT = "_"
"""The class of words without the attribute."""

_MOST = 256


def _best(places: np.ndarray, n_classes: int, weights: np.ndarray) -> int:
    """Return the class whose weights have the largest sum."""
    return int(weights[places[:, None] ^ np.arange(n_classes)].sum(axis=0, dtype=np.float64).argmax())


class WordClasses(Component):
    """A linear model of the classes of words.

    Parameters
    ----------
    classes : list of str
        At most 256.
    weights : ndarray, int16
        The table, its size a power of two of at least 256.
    """

    misc: ClassVar[str]
    absent: ClassVar[bool] = False
    schema: ClassVar[Schema] = Schema({"classes": list}, {"weights": ("int16", 1)})
    templates: ClassVar[Sequence[str]]
    attributes: ClassVar[Mapping[str, Callable[[Sequence[str]], str]]]
    bits: ClassVar[int] = 16
    epochs: ClassVar[int] = 5

    def __init__(self, classes: list[str], weights: np.ndarray):
        self.classes, self.weights = classes, weights

    @classmethod
    def value(cls, row: Sequence[str]) -> str | None:
        """Return the class that a word has in its column MISC, which is `ABSENT` or None if it has none."""
        items = (item.partition("=") for item in row[9].split("|"))
        return next((value for name, _, value in items if name == cls.misc), ABSENT if cls.absent else None)

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Return a model of the words that have a class; nothing is learnt if there are none."""
        sentences = corpus.sentences
        values = [[cls.value(row) for row in sentence.rows] for sentence in sentences]
        classes = sorted({value for row in values for value in row if value is not None})[:_MOST]
        if not classes:
            return Fitted()
        number = {value: i for i, value in enumerate(classes)}
        gold = [np.array([-1 if v is None else number.get(v, -1) for v in row], np.int64) for row in values]
        places, averaged = [cls._places(sentence, 1 << cls.bits) for sentence in sentences], AveragedWeights(cls.bits)
        for epoch in range(cls.epochs):
            order = generator(context.config.seed, Stream.WORD_CLASSES, epoch).permutation(len(sentences))
            for i in context.progress(order, f"{cls.name} {epoch + 1}"):
                cls._learn(places[i], gold[i], len(classes), averaged)
                averaged.advance()
        return cls(classes, quantise(averaged.mean())[0])

    def apply(self, batch: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with the class of each word."""
        return [
            with_misc(s, [{self.misc: None if value == ABSENT else value} for value in self.predict(s)]) for s in batch
        ]

    def predict(self, sentence: Sentence) -> list[str]:
        """Return the class of each word."""
        rows = self._places(sentence, len(self.weights))
        return [self.classes[_best(row, len(self.classes), self.weights)] for row in rows]

    @staticmethod
    def _learn(places: np.ndarray, gold: np.ndarray, n_classes: int, averaged: AveragedWeights) -> None:
        """Move the weights of words with another class than the best one."""
        for row, right in zip(places, gold.tolist(), strict=True):
            best = _best(row, n_classes, averaged.weights)
            if right >= 0 and best != right:
                for number, change in ((right, 1.0), (best, -1.0)):
                    np.add.at(averaged.weights, row ^ number, np.float32(change))
                    np.add.at(averaged.total, row ^ number, averaged.step * change)

    @classmethod
    def accuracy(cls, gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float:
        """Return the share of the words with a class that have the right one, in sentences of `apply`."""
        pairs = [
            (cls.value(one), cls.value(other))
            for sentence, found in zip(gold, predicted, strict=True)
            for one, other in zip(sentence.rows, found.rows, strict=True)
        ]
        judged = [one == other for one, other in pairs if one is not None]
        return sum(judged) / max(len(judged), 1)

    def state(self) -> State:
        """Return the state from which `from_state` restores it."""
        return {"classes": self.classes}, {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> WordClasses:
        """Return the model of a state; raise `ModelError` if classes or weights are invalid."""
        classes = check_strings(values["classes"], LABEL, f"the component '{cls.name}'")
        if not 1 <= len(classes) <= _MOST:
            raise ModelError(f"the component '{cls.name}' has {len(classes)} classes; 1 to {_MOST} are expected")
        return cls(classes, check_table(arrays["weights"], ("int16",), 8, f"the component '{cls.name}'", 28))

    @classmethod
    def window(cls) -> Window:
        """Return the compiled templates, for hashing."""
        grammar = Grammar(cls.name, ("w",), tuple(cls.attributes), (-REACH, REACH))
        return window_of(compile_templates(cls.templates, grammar), grammar)

    @classmethod
    def _places(cls, sentence: Sentence, n_weights: int) -> np.ndarray:
        """Return the table positions of each word's features, int32[n, T]; words beyond the sentence have atoms 0."""
        n, width = len(sentence.rows), len(cls.attributes)
        atoms = np.zeros((n + 2 * REACH, width), np.uint32)
        texts = [attribute(row) for row in sentence.rows for attribute in cls.attributes.values()]
        atoms[REACH : REACH + n] = hash_texts(texts).reshape(n, width)
        window = cls.window()
        places = np.empty((n, len(window.salt)), np.int32)
        hash_words(window, atoms.reshape(-1), width, np.uint32(33 - n_weights.bit_length()), places)
        return places
