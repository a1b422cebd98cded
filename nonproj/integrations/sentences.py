"""Conversion of the estimator's input and output: sentences of several types, gold heads, lists of predictions."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nonproj.io import conll
from nonproj.io.copies import as_conllu
from nonproj.io.objects import from_conllu, to_conllu
from nonproj.pipeline.parses import Parse
from nonproj.trees.crossing import nonprojective
from nonproj.types import Sentence

if TYPE_CHECKING:
    from conllu.models import TokenList

Treebank: TypeAlias = "str | Path | Iterable[Sentence | TokenList]"
"""The input of an estimator: the path of a treebank, or sentences."""

_CONLLX = {"cpostag", "postag", "upostag", "xpostag", "phead", "pdeprel"}
"""Other names of columns in token lists."""


class Predictions(list[Any]):
    """A list that NumPy converts into an array of objects, as required by `sklearn.model_selection.cross_val_predict`.

    Examples
    --------
    >>> np.concatenate([Predictions([[1, 2]]), Predictions([[3], [4, 5, 6]])])
    array([list([1, 2]), list([3]), list([4, 5, 6])], dtype=object)
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for i, item in enumerate(self):
            array[i] = item
        return array


def listed(X: object) -> list[Any]:
    """Return the items of a list or generator of sentences."""
    if isinstance(X, Sentence) or not isinstance(X, Iterable) or hasattr(X, "serialize"):
        raise ValueError(f"X is of type {type(X).__name__}; a list of sentences or the path of a treebank is expected")
    return list(X)


def sentences_of(X: Treebank, **rules: Any) -> list[Sentence]:
    """Return the sentences of any accepted input; ``rules`` are fields of `nonproj.io.checks.ReadingRules`."""
    if isinstance(X, str | Path):
        return list(conll.read(X, **rules))
    items = listed(X)
    for i, item in enumerate(items):
        if not isinstance(item, Sentence):
            if not hasattr(item, "serialize"):
                kind = type(item).__name__
                raise ValueError(f"X[{i}] is of type {kind}; a Sentence or a conllu.TokenList is expected")
            items[i] = from_conllu(item, **rules)
    return items


def with_heads(sentences: list[Sentence], y: Sequence[Sequence[int]] | None) -> list[Sentence]:
    """Return the sentences with the gold heads ``y``, if given."""
    if y is None:
        return sentences
    if len(y) != len(sentences):
        raise ValueError(f"y has {len(y)} entries, {len(sentences)} expected, one for each sentence")
    changed = []
    for i, (sentence, given) in enumerate(zip(sentences, y, strict=True)):
        heads = np.asarray(given, np.int32)
        if len(heads) != len(sentence):
            raise ValueError(f"y[{i}] has {len(heads)} heads, {len(sentence)} expected, one for each word")
        try:
            nonprojective(heads)
        except ValueError as error:
            raise ValueError(f"y[{i}]: {error}") from None
        changed.append(dataclasses.replace(sentence, tree=np.concatenate([[-1], heads]).astype(np.int32)))
    return changed


def annotated(original: Any, sentence: Sentence, parse: Parse) -> Any:
    """Return the sentence with its predicted tree, in the original type."""
    if not isinstance(original, Sentence):
        tokens = to_conllu(sentence, parse.decoded.heads, parse.labels)
        kept = original
        if len(tokens) < len(original):  # a new tree is written without the empty nodes of enhanced dependencies
            kept = [old for old in original if not (isinstance(old["id"], tuple) and old["id"][1] == ".")]
        for token, old in zip(tokens, kept, strict=True):
            known = token.keys() | _CONLLX
            token.update((name, value) for name, value in old.items() if name not in known)
        return tokens
    text = conll.replace(as_conllu(sentence), parse.decoded.heads, parse.labels, graph=parse.graph)
    [parsed] = conll.read(io.StringIO(text))
    return dataclasses.replace(parsed, path=sentence.path, line=sentence.line)
