"""The parser as a scikit-learn estimator."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nonproj.components.base import RunOptions
from nonproj.components.progress import TrainingProgress, expected_times
from nonproj.components.trainer import train
from nonproj.confidence.classifier import Confidence
from nonproj.errors import ConfigError
from nonproj.evaluation.parsing import given_input
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.suitability import FitCheck
from nonproj.integrations.sentences import Predictions, Treebank, annotated, listed, sentences_of, with_heads
from nonproj.model.installed import located
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.registry import set_name
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.types import Decoded, Sentence
from nonproj.workers.objects import parse_in_processes

_KEYS = {
    "parts": "parts",
    "epochs": "training.epochs",
    "margin": "training.margin",
    "bits": "features.bits",
    "threshold": "pruner.threshold",
    "max_heads": "pruner.max_heads",
    "folds": "pruner.folds",
    "labeler_epochs": "labeler.epochs",
    "tags": "training.tags",
    "max_iterations": "decoding.max_iterations",
    "exact": "decoding.exact",
    "projective": "decoding.projective",
    "single_root": "decoding.single_root",
    "random_state": "seed",
}
"""The option in `Config` of each parameter."""

_DECODING = [name for name, key in _KEYS.items() if key.startswith("decoding.")]
"""The parameters that affect parsing, not only training."""

_DEFAULT = Config()

log = logging.getLogger("nonproj")


@dataclass(eq=False, repr=False)
class DependencyParser(BaseEstimator):
    """A non-projective dependency parser, with the defaults of `nonproj.options.config.Config`.

    All methods take sentences ``X`` as a list or generator of `nonproj.types.Sentence` or ``conllu.TokenList`` (also
    mixed), or as the path of a CoNLL-X or CoNLL-U file.  Threads may share a fitted parser.  ``max_iterations``,
    ``exact``, ``projective`` and ``single_root`` can be changed later by ``set_params``; the others affect only `fit`.

    Parameters
    ----------
    parts : {"third", "grandparent", "sibling", "arc"} or list of str, default="grandparent"
        The part types of the model: third-order parts; arcs, siblings and grandparents (G+S); arcs and
        siblings; arcs alone; or a list.
    epochs : int
        Training epochs of the perceptron.
    margin : float
        Required margin of the gold tree, per wrong arc; 0 for the plain perceptron.
    bits : int
        log2 of the size of the weight table.
    threshold : float
        Heads whose marginal is below this share of the best head's are pruned in training.
    max_heads : int
        Maximum number of candidate heads per word.
    folds : int
        Number of folds for cross-fitted pruning of the training data; 0 for a single pruner.
    labeler_epochs : int
        Training epochs of the labeler.
    tags : {"gold", "predicted", "both"}
        The tags of the training sentences: their own, those predicted by jackknifing, or both, in two copies of each
        sentence.
    max_iterations : int
        Maximum number of iterations of the subgradient method per sentence.
    exact : bool
        Whether branch and bound closes remaining duality gaps, so that each tree is optimal over its candidate arcs.
    projective : bool or "auto"
        Whether to return projective trees only; "auto" follows the training sentences.
    single_root : bool or "auto"
        Whether trees have exactly one root; "auto" follows the training sentences.
    random_state : int, RandomState instance or None
        Seed of all random choices.
    n_jobs : int or None
        Number of parsing processes, -1 for one per core; training uses one.  Starting them takes a few seconds.
    verbose : int
        1 for the progress of training on standard error, 2 for all messages and progress bars.

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

    parts: str | Sequence[str] = "grandparent"
    _: KW_ONLY
    epochs: int = _DEFAULT.training.epochs
    margin: float = _DEFAULT.training.margin
    bits: int = _DEFAULT.features.bits
    threshold: float = _DEFAULT.pruner.threshold
    max_heads: int = _DEFAULT.pruner.max_heads
    folds: int = _DEFAULT.pruner.folds
    labeler_epochs: int = _DEFAULT.labeler.epochs
    tags: str = _DEFAULT.training.tags
    max_iterations: int = _DEFAULT.decoding.max_iterations
    exact: bool = _DEFAULT.decoding.exact
    projective: bool | str = _DEFAULT.decoding.projective
    single_root: bool | str = _DEFAULT.decoding.single_root
    random_state: int = _DEFAULT.seed
    n_jobs: int | None = None
    verbose: int = 0
    _made: tuple[tuple[Any, ...], Parser] | None = field(init=False, default=None)
    _fit: FitCheck | None = field(init=False, default=None)

    def fit(self, X: Treebank, y: Sequence[Sequence[int]] | None = None) -> DependencyParser:
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
            sentences = with_heads(sentences_of(X), y)
            with _messages(self.verbose, config, sum(map(len, sentences))) as progress:
                model = train(sentences, config, run=RunOptions(progress=progress))
        except ConfigError as error:
            raise _value_error(error) from None
        self._use(model)
        if model.meta["interrupted"]:
            raise KeyboardInterrupt
        return self

    def predict(self, X: Treebank) -> list[np.ndarray]:
        """Return the heads of each sentence of n words, int32[n], from 0 (the root) to n."""
        return Predictions(decoded.heads for decoded in self.predict_with_certificates(X))

    def predict_with_certificates(self, X: Treebank) -> list[Decoded]:
        """Return the tree of each sentence with its score, bound and certificate.

        If ``certified``, no tree over the candidate arcs scores higher.
        """
        return Predictions(parse.decoded for _, parse in self._parse_all(X))

    def predict_with_confidence(self, X: Treebank) -> list[tuple[np.ndarray, Confidence | None]]:
        """Return each sentence's heads, int32[n], and their probabilities of being right; None without a classifier."""
        return Predictions((parse.decoded.heads, parse.confidence) for _, parse in self._parse_all(X))

    def parse_all(self, X: Treebank) -> list[Any]:
        """Return the sentences, each in its original type, with predicted heads and labels."""
        originals = sentences_of(X, ignore_heads=True) if isinstance(X, str | Path) else listed(X)
        return [annotated(each, *pair) for each, pair in zip(originals, self._parse_all(originals), strict=True)]

    def evaluate(self, X: Treebank, y: Sequence[Sequence[int]] | None = None) -> Evaluation:
        """Return all metrics of the comparison with the gold trees, such as ``uas``, ``las`` and certificate rates.

        Parameters are as for `fit`.

        Raises
        ------
        DataError
            A sentence has no gold heads.
        """
        gold, evaluation = with_heads(sentences_of(X), y), Evaluation()
        for sentence, (_, parse) in zip(gold, self._parse_all(gold), strict=True):
            evaluation.add(sentence, parse.decoded.heads, parse.labels, parse.decoded)
        evaluation.given = given_input(self._parser)
        return evaluation

    def score(self, X: Treebank, y: Sequence[Sequence[int]] | None = None) -> float:
        """Return the unlabelled attachment score without punctuation, from 0 to 1; parameters as for `fit`.

        Raises
        ------
        ValueError
            There are no words, or only punctuation.
        """
        return _known(self.evaluate(X, y).uas)

    def _parse_all(self, X: Treebank) -> Iterator[tuple[Sentence, Parse]]:
        """Parse with the requested number of processes."""
        check_is_fitted(self)
        self._fit = self._fit or FitCheck(self.model_)
        sentences = self._fit.over(sentences_of(X, ignore_heads=True))
        if self.n_jobs in (None, 1):
            return self._parser.parse_all(sentences)
        if not isinstance(self.n_jobs, int | np.integer) or not (self.n_jobs == -1 or self.n_jobs > 0):
            raise ValueError(f"n_jobs: {self.n_jobs!r} is invalid, a number of processes, -1 or None expected")
        return parse_in_processes(self._parser, sentences, int(self.n_jobs))

    def save(self, path: str | Path) -> None:
        """Write the trained model to a file, which the command line also reads."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | Path) -> DependencyParser:
        """Return a fitted parser from a model file, or from an installed model by its name.

        Raises
        ------
        ModelError
            The file is not a model.
        """
        model = Model.load_trained(located(path) if isinstance(path, str) else path)
        config: Any = model.config.as_dict()
        parameters: dict[str, Any] = {name: reduce(getitem, key.split("."), config) for name, key in _KEYS.items()}
        parser = cls(**parameters)
        parser.parts = set_name(model.config.parts)
        parser._use(model)
        return parser

    @property
    def _parser(self) -> Parser:
        """The parser with the current parameters, rebuilt when they have changed."""
        key = tuple(getattr(self, name) for name in _DECODING)
        known = self._made
        if known is None or known[0] != key:
            options = {_KEYS[name]: _plain(value) for name, value in zip(_DECODING, key, strict=True)}
            try:
                decoding = self.model_.config.with_overrides(options).decoding
                known = self._made = key, Parser(self.model_, decoding)
            except ConfigError as error:
                raise _value_error(error) from None
        return known[1]

    def _options(self) -> dict[str, Any]:
        """Return the values of the parameters, by the names of the options that they set."""
        options = {key: getattr(self, name) for name, key in _KEYS.items()}
        if not isinstance(self.random_state, int | np.integer):
            options["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        return {key: _plain(value) for key, value in options.items()}

    def _use(self, model: Model) -> None:
        self.model_ = model
        self._made = self._fit = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in ("_made", "_fit"):
            state.pop(name, None)
        if "model_" in state:
            state["model_"] = self.model_.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        model = state.pop("model_", None)
        super().__setstate__(state)
        if model is not None:
            self._use(Model.from_bytes(model))


def las_scorer(estimator: DependencyParser, X: Treebank, y: Sequence[Sequence[int]] | None = None) -> float:
    """Return the labelled attachment score without punctuation, from 0 to 1, as a scorer of scikit-learn.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> cross_val_score(DependencyParser(), sentences, scoring=las_scorer)  # doctest: +SKIP
    """
    return _known(estimator.evaluate(X, y).las)


def _known(score: float | None) -> float:
    """Return a score; raise ValueError if there is none."""
    if score is None:
        raise ValueError("X has no words, or only punctuation; there is nothing to score")
    return score


def _plain(value: Any) -> Any:
    """Return a value as a plain Python type."""
    return value.item() if isinstance(value, np.generic) else value


def _value_error(error: ConfigError) -> ValueError:
    """Return an error about an option as one about a parameter."""
    names = {key: name for name, key in _KEYS.items()} | {"treebank.train": "X"}
    return ValueError(f"{names.get(error.key, error.key)}: {error.message}")


@contextlib.contextmanager
def _messages(verbose: int, config: Config, words: int) -> Iterator[Any]:
    """Show the progress of training on a number of words inside the context; yields the progress function, or None."""
    if not verbose:
        yield None
        return
    shown, messages = TrainingProgress(expected_times(config, words), sys.stderr), logging.StreamHandler(sys.stderr)
    messages.setLevel(logging.WARNING if verbose == 1 else logging.INFO)
    handlers, level = [shown, messages] if verbose == 1 else [messages], log.level
    for handler in handlers:
        log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        if verbose > 1:
            from tqdm import tqdm

            yield lambda items, description: tqdm(items, desc=description, leave=False, file=sys.stderr)
        else:
            yield shown.wrap
    finally:
        shown.clear()
        for handler in handlers:
            log.removeHandler(handler)
        log.setLevel(level)
