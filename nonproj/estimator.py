"""The parser as a scikit-learn estimator."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nonproj.errors import ConfigError
from nonproj.evaluation.parsing import evaluate_parser
from nonproj.evaluation.scores import nonprojective
from nonproj.io import conll
from nonproj.learning.trainer import train
from nonproj.model import Model
from nonproj.options.config import Config
from nonproj.parts.registry import set_name
from nonproj.pipeline import Parse, Parser
from nonproj.types import Decoded, Sentence

_KEYS = {
    "parts": "parts",
    "epochs": "training.epochs",
    "margin": "training.margin",
    "bits": "features.bits",
    "threshold": "pruner.threshold",
    "max_heads": "pruner.max_heads",
    "folds": "pruner.folds",
    "labeler_epochs": "labeler.epochs",
    "max_iterations": "decoding.max_iterations",
    "exact": "decoding.exact",
    "projective": "decoding.projective",
    "single_root": "decoding.single_root",
    "random_state": "seed",
}
"""The option of `Config` that each parameter sets."""

_DEFAULT = Config()


class DependencyParser(BaseEstimator):
    """A non-projective dependency parser, with the defaults of `nonproj.options.config.Config`.

    All methods take sentences ``X`` as a list of `nonproj.types.Sentence` or ``conllu.TokenList`` (also mixed), or as
    the path of a CoNLL-X or CoNLL-U file.

    Parameters
    ----------
    parts : {"grandparent", "sibling", "arc"} or list of str, default="grandparent"
        The part types that are scored: arcs, siblings and grandparents (G+S), arcs and siblings, arcs alone; or a list.
    epochs : int
        Training epochs of the perceptron.
    margin : float
        Margin per wrong arc by which the gold tree should score higher; 0 for the plain perceptron.
    bits : int
        log2 of the size of the weight table.
    threshold : float
        Heads whose marginal is below this fraction of the best head's are pruned in training.
    max_heads : int
        Maximum number of candidate heads per word.
    folds : int
        Number of folds for pruning the training data by jackknifing; 0 for a single pruner.
    labeler_epochs : int
        Training epochs of the labeler.
    max_iterations : int
        Maximum number of iterations of the subgradient method per sentence.
    exact : bool
        Whether branch and bound closes remaining duality gaps, so that each tree is optimal over its candidate arcs.
    projective : bool or "auto"
        Whether to return projective trees only; "auto" follows the training sentences.
    single_root : bool or "auto"
        Whether trees have exactly one root; "auto" follows the training sentences.
    random_state : int, RandomState instance or None
        Seed of the order of the sentences.

    Attributes
    ----------
    model_ : Model
        The trained model.

    Examples
    --------
    >>> parser = DependencyParser(epochs=5).fit("train.conllu")  # doctest: +SKIP
    >>> parser.predict("test.conllu")[0]  # doctest: +SKIP
    array([2, 0, 2], dtype=int32)
    """

    def __init__(
        self,
        parts="grandparent",
        *,
        epochs=_DEFAULT.training.epochs,
        margin=_DEFAULT.training.margin,
        bits=_DEFAULT.features.bits,
        threshold=_DEFAULT.pruner.threshold,
        max_heads=_DEFAULT.pruner.max_heads,
        folds=_DEFAULT.pruner.folds,
        labeler_epochs=_DEFAULT.labeler.epochs,
        max_iterations=_DEFAULT.decoding.max_iterations,
        exact=_DEFAULT.decoding.exact,
        projective=_DEFAULT.decoding.projective,
        single_root=_DEFAULT.decoding.single_root,
        random_state=_DEFAULT.seed,
    ):
        self.parts = parts
        self.epochs = epochs
        self.margin = margin
        self.bits = bits
        self.threshold = threshold
        self.max_heads = max_heads
        self.folds = folds
        self.labeler_epochs = labeler_epochs
        self.max_iterations = max_iterations
        self.exact = exact
        self.projective = projective
        self.single_root = single_root
        self.random_state = random_state

    def fit(self, X, y: Sequence[Sequence[int]] | None = None) -> DependencyParser:
        """Train on sentences with gold trees.

        Parameters
        ----------
        X : list of sentences, or path
        y : list of sequences of int, optional
            Gold heads of the n words of each sentence, from 0 (the root) to n; by default the sentences' own.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter or ``y`` is invalid.
        DataError
            The file is malformed, or a sentence has no gold heads.
        """
        try:
            config = Config().with_overrides(self._options())
            model = train(_with_heads(_sentences(X), y), config)
        except ConfigError as error:
            names = {key: name for name, key in _KEYS.items()} | {"treebank.train": "X"}
            raise ValueError(f"{names.get(error.key, error.key)}: {error.message}") from None
        self._use(model)
        if model.meta["interrupted"]:
            raise KeyboardInterrupt
        return self

    def predict(self, X) -> list[np.ndarray]:
        """Return the heads of each sentence of n words, int32[n], from 0 (the root) to n."""
        return [decoded.heads[1:] for decoded in self.predict_with_certificates(X)]

    def predict_with_certificates(self, X) -> list[Decoded]:
        """Return the tree of each sentence with its score, bound and certificate.

        If ``certified``, no tree over the arcs left by pruning scores higher; ``heads`` starts with the root's -1.
        """
        check_is_fitted(self)
        return [parse.decoded for _, parse in self._parser.parse_all(_sentences(X, ignore_heads=True))]

    def parse(self, X) -> list:
        """Return the sentences, each in its original type, with predicted heads and labels."""
        check_is_fitted(self)
        originals = X if not isinstance(X, str | Path) else _sentences(X, ignore_heads=True)
        parses = self._parser.parse_all(_sentences(originals, ignore_heads=True))
        return [_annotated(original, *pair) for original, pair in zip(originals, parses, strict=True)]

    def score(self, X, y: Sequence[Sequence[int]] | None = None) -> float:
        """Return the unlabelled attachment score without punctuation, from 0 to 1; parameters as for `fit`."""
        check_is_fitted(self)
        return evaluate_parser(self._parser, _with_heads(_sentences(X), y)).uas

    def save(self, path: str | Path) -> None:
        """Write the trained model to a file, which the command line also reads."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | Path) -> DependencyParser:
        """Return a fitted parser from a model file.

        Raises
        ------
        ModelError
            The file is not a model.
        """
        model = Model.load(path)
        config = model.config.as_dict()
        parser = cls(**{name: reduce(getitem, key.split("."), config) for name, key in _KEYS.items()})
        parser.parts = set_name(model.config.parts)
        parser._use(model)
        return parser

    def _options(self) -> dict:
        """Return the parameters by their names in the configuration."""
        options = {key: getattr(self, name) for name, key in _KEYS.items()}
        if not isinstance(self.random_state, int | np.integer):
            options["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        return {key: value.item() if isinstance(value, np.generic) else value for key, value in options.items()}

    def _use(self, model: Model) -> None:
        self.model_ = model
        self._parser = Parser(model)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags

    def __getstate__(self) -> dict:
        state = dict(super().__getstate__())
        if state.pop("_parser", None) is not None:
            state["model_"] = self.model_.to_bytes()
        return state

    def __setstate__(self, state: dict) -> None:
        state = dict(state)
        model = state.pop("model_", None)
        super().__setstate__(state)
        if model is not None:
            self._use(Model.from_bytes(model))


def _sentences(X, **rules: bool) -> list[Sentence]:
    """Return the sentences of any accepted input, read by these rules."""
    if isinstance(X, str | Path):
        return list(conll.read(X, **rules))
    if isinstance(X, Sentence) or not isinstance(X, Iterable):
        raise ValueError(f"X is a {type(X).__name__}; a list of sentences or the path of a treebank is expected")
    items = list(X)
    for i, item in enumerate(items):
        if not isinstance(item, Sentence):
            if not hasattr(item, "serialize"):
                raise ValueError(f"X[{i}] is a {type(item).__name__}; a Sentence or a conllu.TokenList is expected")
            items[i] = conll.from_conllu(item, **rules)
    return items


def _with_heads(sentences: list[Sentence], y) -> list[Sentence]:
    """Return the sentences with the gold heads ``y``, if given."""
    if y is None:
        return sentences
    if len(y) != len(sentences):
        raise ValueError(f"y has {len(y)} entries, {len(sentences)} expected, one for each sentence")
    changed = []
    for i, (sentence, given) in enumerate(zip(sentences, y, strict=True)):
        heads = np.concatenate([[-1], np.asarray(given)]).astype(np.int32)
        if len(heads) != len(sentence) + 1:
            raise ValueError(f"y[{i}] has {len(heads) - 1} heads, {len(sentence)} expected, one for each word")
        try:
            nonprojective(heads)
        except ValueError as error:
            raise ValueError(f"y[{i}], with the root's -1 before it: {error}") from None
        changed.append(dataclasses.replace(sentence, heads=heads))
    return changed


def _annotated(original, sentence: Sentence, parse: Parse):
    """Return the sentence with its predicted tree, in the original type."""
    if not isinstance(original, Sentence):
        return conll.to_conllu(sentence, parse.decoded.heads, parse.labels)
    [parsed] = conll.read(io.StringIO(conll.replace(sentence, parse.decoded.heads, parse.labels)))
    return dataclasses.replace(parsed, path=sentence.path, line=sentence.line)
