"""What every component of a model has in common: it is fitted, applied to a batch, stored and loaded.

A component declares its name and what it needs from others, which come before it.  The trainer fits a list of
components in their order, and the pipeline applies them in the same order.  Jackknifing and the checks of a stranger's
file are written here, for any component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.types import Sentence

State: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]
"""JSON values and arrays, from which a component can be made again."""

_M = TypeVar("_M")
_R = TypeVar("_R")


class Schema(NamedTuple):
    """What is in the state of a component.

    Attributes
    ----------
    values : mapping of str to type or tuple of types
        The JSON values, each by its type.
    arrays : mapping of str to tuple of str and int
        The arrays: dtype and number of dimensions of each.
    """

    values: Mapping[str, type | tuple[type, ...]]
    arrays: Mapping[str, tuple[str, int]]


class Setting(NamedTuple):
    """What a component is fitted with, beside its sentences.

    Attributes
    ----------
    config : Any
        The options of the whole model, a `nonproj.options.config.Config`.
    progress : callable
        ``progress(iterable, description)`` wraps the long loops.
    fitted : mapping of str to Component
        The components that were fitted before, by name, among them those that it needs; None for one without anything
        to learn.
    predicted : mapping of str to sequence
        What earlier components predict for the training data, cross-fitted: sentences with the tagger's tags, and the
        pruner's candidate arcs.
    material : Any
        The sentences as numbers, a `nonproj.learning.material.Material`, once there are tags.
    shards : Any
        The workers that train a parser, a `nonproj.learning.mixing.Shards`; None for this process alone.
    """

    config: Any
    progress: Callable[..., Any] = lambda items, _: items
    fitted: Mapping[str, Any] = {}
    predicted: Mapping[str, Any] = {}
    material: Any = None
    shards: Any = None


class Component(Protocol):
    """A part of a model that is learnt from sentences.

    Attributes
    ----------
    name : str
        Under which a model stores it.
    needs : tuple of str
        The components that come before it.
    schema : Schema
        Of its state.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    schema: ClassVar[Schema]

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], setting: Setting) -> Component | None:
        """Return a component that has learnt from sentences; None if there is nothing to learn."""

    def apply(self, batch: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with what it predicts."""

    def state(self) -> State:
        """Return what `from_state` makes it from."""

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Component:
        """Return the component of a state that obeys its schema; raise `ModelError` if it is still none."""


KNOWN: dict[str, type[Component]] = {}
"""Components of others that models may have, by name."""


def register(component: type[Component]) -> type[Component]:
    """Make a component known by its name, so that models with it can be loaded; ``ValueError`` if the name is taken."""
    if KNOWN.get(component.name, component).__qualname__ != component.__qualname__:
        raise ValueError(f"there is a component named {component.name} already")
    KNOWN[component.name] = component
    return component


def load(component: type[Component], state: State) -> Component:
    """Return a component from its state, after the checks of its schema."""
    check_state(state, component.schema, f"the component '{component.name}'")
    return component.from_state(*state)


def check_state(state: tuple[object, Mapping[str, np.ndarray]], schema: Schema, owner: str) -> None:
    """Raise `ModelError`, which names the owner, unless a state has exactly what its schema says.

    Examples
    --------
    >>> check_state(({"scale": "1"}, {}), Schema({"scale": float}, {}), "the tagger")
    Traceback (most recent call last):
    nonproj.errors.ModelError: the tagger has no 'scale' of type float
    """
    values, arrays = state
    if type(values) is not dict:
        raise ModelError(f"{owner} has no values")
    for name in [*values, *schema.values]:
        kinds = schema.values.get(name, ())
        if name not in values or type(values[name]) not in (kinds if isinstance(kinds, tuple) else (kinds,)):
            expected = getattr(kinds, "__name__", None) or " or ".join(kind.__name__ for kind in kinds)  # type: ignore[union-attr]
            raise ModelError(f"{owner} has no '{name}' of type {expected}" if kinds else f"{owner} has a '{name}'")
    for name in [*arrays, *schema.arrays]:
        if name not in schema.arrays:
            raise ModelError(f"{owner} has an array '{name}', which is not its own")
        dtype, ndim = schema.arrays[name]
        if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            raise ModelError(f"{owner} has no array '{name}' of {dtype} with {ndim} dimensions")


class Ordered(Protocol):
    """What has a place in a list of components: see `Component`."""

    name: str
    needs: tuple[str, ...]


def check_order(components: Iterable[Ordered]) -> None:
    """Raise ``ValueError`` unless components have different names, and what each needs comes before it."""
    known: set[str] = set()
    for component in components:
        missing = sorted(set(component.needs) - known)
        if missing:
            raise ValueError(f"the component {component.name} needs {missing[0]}, which does not come before it")
        if component.name in known:
            raise ValueError(f"there is a component named {component.name} already")
        known.add(component.name)


def blocks(count: int, folds: int, size: int = 20) -> np.ndarray:
    """Return the fold of each sentence, int64[count]: neighbours, of one text, are in the same fold.

    Examples
    --------
    >>> blocks(8, 2, 3).tolist()
    [0, 0, 0, 1, 1, 1, 0, 0]
    """
    return np.arange(count) // max(1, min(size, count // folds)) % folds


def cross_fit(
    fold: np.ndarray, fit: Callable[[np.ndarray], _M], apply: Callable[[_M, np.ndarray], Sequence[_R]]
) -> list[_R]:
    """Return for each example what a model makes of it that was fitted on the examples of the other folds.

    Parameters
    ----------
    fold : ndarray of int
        The fold of each example; that of one fold only is made by a model of all examples.
    fit : callable
        Returns a model of the examples with these numbers, int64.
    apply : callable
        Returns what a model makes of the examples with these numbers.

    Examples
    --------
    >>> values = np.array([1.0, 3.0, 5.0])
    >>> cross_fit(np.array([0, 1, 1]), lambda rest: values[rest].mean(), lambda mean, inside: [mean] * len(inside))
    [np.float64(4.0), np.float64(1.0), np.float64(1.0)]
    """
    made: list[Any] = [None] * len(fold)
    numbers = np.unique(fold)
    for number in numbers:
        inside = np.flatnonzero(fold == number)
        rest = np.flatnonzero(fold != number) if len(numbers) > 1 else inside
        for i, result in zip(inside.tolist(), apply(fit(rest), inside), strict=True):
            made[i] = result
    return made


def jackknife(
    component: type[Component], sentences: Sequence[Sentence], setting: Setting, folds: int
) -> list[Sentence]:
    """Return sentences with what a component predicts that was fitted on the sentences of the other folds."""

    def fit(rest: np.ndarray) -> Component | None:
        return component.fit([sentences[i] for i in rest], setting)

    def apply(model: Component | None, inside: np.ndarray) -> list[Sentence]:
        batch = [sentences[i] for i in inside]
        return batch if model is None else model.apply(batch)

    return cross_fit(blocks(len(sentences), folds), fit, apply)
