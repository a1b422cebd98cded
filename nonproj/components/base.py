"""The protocol of components: each is fitted, stored, resumed and applied.

The trainer fits a list of components in their order.  Each gets the sentences of the treebank, and a context: the
options, the components that were fitted before, and the training data as these have prepared them.  A component of your
own is a subclass of `Component` with `fit`, `apply`, `state`, `from_state` and the ``schema`` of its state, as in
``examples/word_classes.py``, from which ``examples/gloss.py`` inherits them.  Ours obey the same protocol.
What they score, by which templates, inference and loss, is in one module each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.learning.training_data import TrainingData
from nonproj.linear.folds import blocks, cross_fit
from nonproj.linear.perceptron import CONTINUED_STEP
from nonproj.linear.state import SentenceComponent, State, load
from nonproj.linear.state import register as register
from nonproj.linear.weights import quantise
from nonproj.model.model import LABEL_LINES, LABEL_PLACES, Model
from nonproj.options.config import Config
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.vectors import WordVectors
from nonproj.types import Int16s, Sentence
from nonproj.workers.copies import spread

_LARGEST = 1e30
"""Maximum absolute value of a weight in a model file."""


class TrainingFiles(NamedTuple):
    """The files that options name: templates, word clusters, word vectors, and the folder of a pretrained encoder."""

    templates: dict[str, dict[str, Any]] = {}
    clusters: Clusters | None = None
    vectors: WordVectors | None = None
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
class FitContext:
    """The context in which a component is fitted: options, data and earlier components.

    Attributes
    ----------
    config : Config
        The options of the whole model.
    progress : callable
        ``progress(iterable, description)`` wraps the long loops.
    fitted : mapping of str to Any
        The components that were fitted before, by name; None for one without anything to learn.
    data : TrainingData
        The sentences as the components before have prepared them: with predicted tags, as numbers, with candidate arcs.
    files : TrainingFiles
    jobs : int
        The number of processes, copies of this one, that train folds and components.
    meta : dict
        The training history, stored with the model, to which a component adds its figures.
    unfinished : UnfinishedFit
    part_of : str
        The component for which this one is fitted, to be examined on other sentences; empty for one of the model.
    start : Model or None
        The model that is continued: see `nonproj.components.continuing`.
    """

    config: Config
    progress: Callable[..., Any] = lambda items, _: items
    fitted: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    data: TrainingData = TrainingData()
    files: TrainingFiles = TrainingFiles()
    jobs: int = 1
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    unfinished: UnfinishedFit = UnfinishedFit()
    part_of: str = ""
    start: Model | None = None

    def having(self, **changes: Any) -> FitContext:
        """Return a context in which some attributes have other values."""
        return dataclasses.replace(self, **changes)

    def spread(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of some calls, which several processes make, if there are several."""
        return spread(calls, self.jobs, lambda items: self.progress(items, "folds"))

    def title(self, name: str) -> str:
        """Return the name of a component for log and progress bars."""
        return f"{self.part_of}: {name}" if self.part_of else name

    @property
    def step(self) -> float:
        """The size of a perceptron's updates, which is the unit of its weights."""
        return CONTINUED_STEP if self.start else 1.0

    def begin(self, name: str, weights: np.ndarray, step: float = 1.0) -> None:
        """Give a table, float32, the weights of the model that is continued, in units of a step, if there is one."""
        if self.start:
            table, scale = self.start.weights[name], self.start.meta.get("scale", {}).get(name, 1.0)
            if table.shape != weights.shape:
                raise ModelError(f"the weights of '{name}' in the model are not those of its options")
            np.multiply(table, scale / step, out=weights)


class Component(SentenceComponent):
    """A part of a model that is learnt from sentences; see `SentenceComponent` for what else it has.

    Attributes
    ----------
    needs : tuple of str
        The components that come before it.
    kind : class
        Of the result of `fit`, if it is another one.
    figures : tuple of str
        The names of the figures that it adds to the training history.
    parallel : bool
        Whether it may be fitted in another process while later ones are, because none of these needs it.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[Any] = None
    figures: ClassVar[tuple[str, ...]] = ()
    parallel: ClassVar[bool] = False

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> Any:
        """Return what was fitted, such as an instance; None if there is nothing to learn."""
        raise NotImplementedError

    @classmethod
    def resume(cls, saved: Model, context: FitContext) -> Any:
        """Return the result of `fit` from a checkpoint; raise `ModelError` if it is unsound."""
        state = saved.component(cls.name)
        return load(cls.kind or cls, state) if state else None

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the training data for later components, with cross-fitted predictions.

        The result of `fit` is in ``context.fitted``.
        """
        return context.data

    @classmethod
    def pack(cls, data: TrainingData) -> dict[str, np.ndarray]:
        """Return what `cross_predict` has added to the training data as arrays of a checkpoint."""
        return {}

    @classmethod
    def unpack(cls, saved: Model, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the result of `cross_predict` from a checkpoint; raise `ModelError` if it is unsound."""
        return context.data


class WeightTable(NamedTuple):
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


class StoredState(NamedTuple):
    """A component that nothing but the model needs."""

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
    """A component that is a table of weights; the options of its name say how large."""

    @classmethod
    def resume(cls, saved: Model, context: FitContext) -> WeightTable:
        """Return the table in a checkpoint."""
        return WeightTable(resumed_table(saved.weights, cls.name, getattr(context.config, cls.name).bits))


def check_order(components: Iterable[type[Component]]) -> None:
    """Raise ``ValueError`` unless components have different names, and what each needs comes before it."""
    known: set[str] = set()
    for component in components:
        missing = sorted(set(component.needs) - known)
        if missing:
            raise ValueError(f"the component {component.name} needs {missing[0]}, which does not come before it")
        if component.name in known:
            raise ValueError(f"there is a component named {component.name} already")
        known.add(component.name)


def jackknife(
    component: type[Component], sentences: Sequence[Sentence], context: FitContext, folds: int, **options: Any
) -> list[Sentence]:
    """Return sentences with the predictions of a component that was fitted on the other folds.

    Folds are made of blocks of neighbours (`nonproj.linear.folds.blocks`).  ``options`` are for its method `apply`.
    """
    context = context.having(unfinished=UnfinishedFit(), meta={})

    def fit(rest: np.ndarray) -> Any:
        return component.fit([sentences[i] for i in rest], context)

    def apply(fitted: Any, inside: np.ndarray) -> list[Sentence]:
        batch = [sentences[i] for i in inside]
        return batch if fitted is None else fitted.apply(batch, **options)

    return cross_fit(blocks(len(sentences), folds), fit, apply, context.spread)


def assemble(context: FitContext, rounded: bool = True) -> Model:
    """Return a model of all components that have been fitted; one with weights that are not rounded is a checkpoint."""
    data, tables = context.data, {name: each for name, each in context.fitted.items() if isinstance(each, WeightTable)}
    weights = {name: table.weights for name, table in tables.items()}
    meta = dict(sorted(context.meta.items()))  # whatever was learnt first: the same training makes the same file
    if rounded:
        pairs = {name: table.rounded() for name, table in tables.items()}
        weights = {name: table for name, (table, _) in pairs.items()}
        meta["scale"] = {name: scale for name, (_, scale) in pairs.items()}
        weights |= {LABEL_LINES: data.lines.table} if data.lines else {}
        weights |= {} if data.places is None else {LABEL_PLACES: data.places}
    model = Model(context.config, data.encoder.vocabularies, context.files.templates, data.labels, weights, meta)
    for name, fitted in context.fitted.items():
        if fitted is not None and name not in tables:
            model.add_component(name, fitted.state())
    return model
