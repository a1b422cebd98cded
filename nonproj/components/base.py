"""The protocol of components: each is fitted, stored, resumed and applied.

The trainer fits a list of components in their order.  Each gets the corpus, as prepared by earlier components, and a
context: the options, and these components, fitted.  A component of your own is a subclass of `Component` with `fit`,
`apply`, `state`, `from_state` and the ``schema`` of its state, as in ``examples/word_classes.py``, from which
``examples/gloss.py`` inherits them.  Those of a parser obey this protocol, too; the module of each describes its
templates, inference and loss.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from nonproj.dual.options import DualOptions, dual_options
from nonproj.errors import ModelError
from nonproj.learning.corpus import Corpus
from nonproj.linear.folds import blocks, cross_fit
from nonproj.linear.perceptron import CONTINUED_STEP
from nonproj.linear.state import Fitted, State, load
from nonproj.linear.state import register as register
from nonproj.linear.weights import quantise
from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.options.config import Config
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.labels import AllowedLabels
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.templates import attributes_of
from nonproj.scoring.vectors import WordVectors
from nonproj.scoring.vocabulary import FEAT, TokenEncoder
from nonproj.types import Int16s, Sentence
from nonproj.workers.copies import spread

_F = TypeVar("_F", bound=Fitted)

_LARGEST = 1e30
"""Maximum absolute value of a weight in a model file."""


class TrainingFiles(NamedTuple):
    """The contents of files that options name, and the folder of a pretrained encoder that is fine-tuned."""

    templates: dict[str, dict[str, Any]] = {}
    clusters: Clusters | None = None
    vectors: WordVectors | PieceVectors | None = None
    encoder: Path | None = None


class UnfinishedFit(NamedTuple):
    """The state of a component that has not completed its epochs, in a checkpoint.

    Attributes
    ----------
    state : State or None
        Its state when it was interrupted; None if it begins.
    save : callable
        Stores a state in place of the one before.
    """

    state: State | None = None
    save: Callable[[State], None] = lambda state: None


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Options of a training run that do not affect the model.

    Attributes
    ----------
    checkpoint : Path, optional
        Written after each component and each epoch; the caller removes it once the model is saved.
    resume : bool
        Whether to continue from the checkpoint, which must be of the same sentences and configuration; only the number
        of epochs may differ.
    progress : callable, optional
        ``progress(iterable, description)`` wraps the long loops, as ``tqdm`` does.
    jobs : int
        Number of processes, copies of this one, that train folds and confidence, where this one can be forked.
    """

    checkpoint: str | Path | None = None
    resume: bool = False
    progress: Callable[..., Any] | None = None
    jobs: int = 1


@dataclasses.dataclass(frozen=True)
class FitContext:
    """The context in which a component is fitted: options and earlier components.

    Attributes
    ----------
    config : Config
        The options of the whole model.
    run : RunOptions
    files : TrainingFiles
    start : Model or None
        The continued model: see `nonproj.components.continuing`.
    fitted : mapping of str to Fitted
        The components that were fitted before, by name.
    meta : dict
        The training history, stored with the model, to which a component adds its figures.
    unfinished : UnfinishedFit
    part_of : str
        Name of the component that fits this one to test it on other sentences; empty for a component of the model.
    """

    config: Config
    run: RunOptions = RunOptions()
    files: TrainingFiles = TrainingFiles()
    start: Model | None = None
    fitted: Mapping[str, Fitted] = dataclasses.field(default_factory=dict)
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    unfinished: UnfinishedFit = UnfinishedFit()
    part_of: str = ""

    def having(self, **changes: Any) -> FitContext:
        """Return a context with some attributes replaced."""
        return dataclasses.replace(self, **changes)

    def with_fitted(self, name: str, fitted: Fitted) -> FitContext:
        """Return a context with one more component."""
        return self.having(fitted={**self.fitted, name: fitted})

    def fitted_as(self, kind: type[_F]) -> _F | None:
        """Return the fitted component of a class; None if it is not fitted, or has learnt nothing."""
        found = self.fitted.get(kind.name)
        return found if isinstance(found, kind) else None

    def progress(self, items: Any, description: str) -> Any:
        """Wrap the items of a long loop, to show its progress."""
        return self.run.progress(items, description) if self.run.progress else items

    def spread(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make calls in the processes of the run, and return their results."""
        return spread(calls, self.run.jobs, lambda items: self.progress(items, "folds"))

    @property
    def pieces(self) -> PieceVectors | None:
        """The vectors of all words by their pieces, if the model has them."""
        return self.files.vectors if isinstance(self.files.vectors, PieceVectors) else None

    def title(self, name: str) -> str:
        """Return the name of a component for log and progress bars."""
        return f"{self.part_of}: {name}" if self.part_of else name

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary; one without strings until it is fitted."""
        if found := self.fitted_as(Vocabulary):
            return found
        return Vocabulary(["_"], TokenEncoder({name: [] for name in (*attributes_of(self.files.templates), FEAT)}))

    @property
    def decoding(self) -> DualOptions:
        """The options of decoding, for the number of roots and the projectivity of the treebank's trees."""
        single_root, projective = not self.meta.get("multi_root", True), self.meta.get("projective", False)
        return dual_options(self.config.decoding, single_root, projective)

    @property
    def step(self) -> float:
        """The size of a perceptron's updates, which is the unit of its weights."""
        return CONTINUED_STEP if self.start else 1.0

    def begin(self, name: str, weights: np.ndarray, step: float = 1.0) -> None:
        """Copy the weights of the continued model, if any, to a table, float32, in units of ``step``."""
        if self.start:
            table, scale = self.start.weights[name], self.start.meta.get("scale", {}).get(name, 1.0)
            if table.shape != weights.shape:
                raise ModelError(f"the weights of '{name}' in the model are not those of its options")
            np.multiply(table, scale / step, out=weights)


class Component(Fitted):
    """A part of a model that is learnt from sentences.

    A component of your own needs only `fit`, besides the methods of `Fitted`.  `resume` reads the result of `fit` from
    a checkpoint.  If later components learn from the predictions of this one, `extend` adds these to the corpus, and
    `pack` stores them in the checkpoint.

    Attributes
    ----------
    needs : tuple of str
        The components that come before it.
    kind : class
        Class of the result of `fit`, if it is not this one.
    figures : tuple of str
        The names of the figures that it adds to the training history.
    parallel : bool
        Whether it may be fitted in another process while later ones are, because none of these needs it.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[type[Fitted] | None] = None
    figures: ClassVar[tuple[str, ...]] = ()
    parallel: ClassVar[bool] = False

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from a corpus; return an instance, or ``Fitted()`` if there is nothing to learn."""
        raise NotImplementedError

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the result of `fit` from a checkpoint; raise `ModelError` if it is invalid."""
        state = saved.component(cls.name)
        return load(cls.kind or cls, state) if state else Fitted()

    @classmethod
    def extend(cls, corpus: Corpus, context: FitContext, saved: Model | None = None) -> Corpus:
        """Return the corpus for later components, with predictions by cross-fitting, or with those of a checkpoint.

        The result of `fit` is in ``context.fitted``.  Raises `ModelError` if the checkpoint is invalid.
        """
        return corpus

    @classmethod
    def pack(cls, corpus: Corpus) -> dict[str, np.ndarray]:
        """Return the additions of `extend` to the corpus, as arrays of a checkpoint."""
        return {}


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary(Fitted):
    """The numbers of strings and labels.

    Attributes
    ----------
    labels : list of str
        In the order of their numbers.
    encoder : TokenEncoder
    lines : AllowedLabels or None
        The labels allowed for arcs, where labels are scored with the arcs.
    places : ndarray of shape (2, n_labels), uint8, or None
        Masks of the labels of non-roots and of roots: see `nonproj.scoring.labels.forbid_misplaced`.
    """

    name: ClassVar[str] = "vocabulary"
    labels: list[str]
    encoder: TokenEncoder
    lines: AllowedLabels | None = None
    places: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class WeightTable(Fitted):
    """A table of weights, the result of fitting a linear model whose features the templates define.

    Attributes
    ----------
    weights : ndarray
        float32, or int16 in units of ``scale``, as a trained model has them.
    scale : float or None
    """

    weights: np.ndarray
    scale: float | None = None

    def rounded(self) -> tuple[Int16s, float]:
        """Return the weights as a trained model has them, and their scale."""
        return quantise(self.weights) if self.scale is None else (self.weights, self.scale)


@dataclasses.dataclass(frozen=True, eq=False)
class StoredState(Fitted):
    """A fitted component that no later one uses, as it is stored: JSON values and arrays."""

    values: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def state(self) -> State:
        """Return the state."""
        return self.values, self.arrays


def resumed_table(arrays: Mapping[str, np.ndarray], name: str, bits: int, dtype: str = "float32") -> np.ndarray:
    """Return a table of ``2 ** bits`` weights of a checkpoint.

    The digest identifies the training, but does not prove that the content is sound: the file is untrusted.

    Raises
    ------
    ModelError
        The table has another size, or a weight is too large to be stored.
    """
    table = arrays.get(name)
    if table is None or table.dtype != dtype or table.shape != (1 << bits,):
        raise ModelError(f"the weights of '{name}' are not a table of {1 << bits} numbers of {dtype}")
    if not max(table.max(), -table.min()) <= _LARGEST:
        raise ModelError(f"some weights of '{name}' are too large")
    return table


class TableComponent(Component):
    """A component that is a table of weights, whose size is the option ``bits`` of its section."""

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> WeightTable:
        """Return the table in a checkpoint."""
        return WeightTable(resumed_table(saved.weights, cls.name, getattr(context.config, cls.name).bits))


def check_order(components: Iterable[type[Component]]) -> None:
    """Raise ``ValueError`` unless components have different names and come after those that they need."""
    known: set[str] = set()
    for component in components:
        missing = sorted(set(component.needs) - known)
        if missing:
            raise ValueError(f"the component {component.name} needs {missing[0]}, which does not come before it")
        if component.name in known:
            raise ValueError(f"there is a component named {component.name} already")
        known.add(component.name)


def jackknife(
    component: type[Component], corpus: Corpus, context: FitContext, folds: int, **options: Any
) -> list[Sentence]:
    """Return the sentences of a treebank with the predictions of a component that was fitted on the other folds.

    Folds are made of blocks of neighbours (`nonproj.linear.folds.blocks`).  ``options`` are for its method `apply`.
    """
    context = context.having(unfinished=UnfinishedFit(), meta={})
    sentences = corpus.sentences

    def fit(rest: np.ndarray) -> Fitted:
        return component.fit(corpus.having(sentences=[sentences[i] for i in rest]), context)

    def apply(fitted: Fitted, inside: np.ndarray) -> list[Sentence]:
        return fitted.apply([sentences[i] for i in inside], **options)

    return cross_fit(blocks(len(sentences), folds), fit, apply, context.spread)


def assemble(context: FitContext, rounded: bool = True) -> Model:
    """Return a model of all components that have been fitted; one with weights that are not rounded is a checkpoint."""
    vocabulary, templates = context.vocabulary, context.files.templates
    tables = {name: each for name, each in context.fitted.items() if isinstance(each, WeightTable)}
    weights = {name: table.weights for name, table in tables.items()}
    meta = dict(sorted(context.meta.items()))  # sorted, so that the same training makes the same file
    if rounded:
        pairs = {name: table.rounded() for name, table in tables.items()}
        weights = {name: table for name, (table, _) in pairs.items()}
        meta["scale"] = {name: scale for name, (_, scale) in pairs.items()}
        weights |= {LABEL_LINES: vocabulary.lines.table} if vocabulary.lines else {}
        weights |= {} if vocabulary.places is None else {LABEL_PLACES: vocabulary.places}
    model = Model(context.config, vocabulary.encoder.vocabularies, templates, vocabulary.labels, weights, meta)
    for name, fitted in context.fitted.items():
        model.add_component(name, fitted.state())
    return model
