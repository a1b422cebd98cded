"""What every component of a model has in common: it is fitted, applied to a batch, stored and loaded.

A component declares its name and what it needs from others, which come before it.  The trainer fits a list of
components in their order, and the pipeline applies them in the same order.  Jackknifing and the checks of a stranger's
file are written here, for any component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.types import Sentence

State: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]
"""JSON values and arrays, from which a component can be made again."""

_M = TypeVar("_M")
_R = TypeVar("_R")
_S = TypeVar("_S", bound="Stored")


Arrays: TypeAlias = Mapping[str, tuple[str, int | str]]
"""Of each array, dtype and shape: see `Schema`."""


class Schema(NamedTuple):
    """What is in the state of a component.

    Attributes
    ----------
    values : mapping of str to type, tuple of types or Schema
        The JSON values, each by its type.  A schema is that of a `nested` state.
    arrays : mapping of str to tuple of str and int or str
        The dtype of each array, and either its number of dimensions or its shape: a number, a name or ``*`` for each
        dimension, separated by blanks.  Dimensions of one name have the same size in all arrays.
    optional : sequence of Schema
        Of each, a state has either everything or nothing.
    """

    values: Mapping[str, type | tuple[type, ...] | Schema]
    arrays: Arrays
    optional: Sequence[Schema] = ()


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
    unfinished : Path or None
        A file in which a component that needs long may keep what it has learnt so far.  If it is there, an interrupted
        training goes on; it is removed when the component has been fitted.
    silver : sequence of Sentence
        Automatically parsed sentences, beside those of the treebank.
    """

    config: Any
    progress: Callable[..., Any] = lambda items, _: items
    fitted: Mapping[str, Any] = {}
    predicted: Mapping[str, Any] = {}
    material: Any = None
    shards: Any = None
    unfinished: Path | None = None
    silver: Sequence[Sentence] = ()


class Stored(Protocol):
    """What a model stores under a name.

    Attributes
    ----------
    name : str
    schema : Schema
        Of its state.
    """

    name: ClassVar[str]
    schema: ClassVar[Schema]

    @classmethod
    def from_state(cls, *arguments: Any, **options: Any) -> Any:
        """Return what a state describes that obeys the schema; raise `ModelError` if it is still unsound."""


class Component(Stored, Protocol):
    """A part of a model that is learnt from sentences.

    Attributes
    ----------
    needs : tuple of str
        The components that come before it.
    """

    needs: ClassVar[tuple[str, ...]]

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], setting: Setting) -> Component | None:
        """Return a component that has learnt from sentences; None if there is nothing to learn."""

    def apply(self, batch: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with what it predicts."""

    def state(self) -> State:
        """Return what `from_state` makes it from."""


KNOWN: dict[str, type[Component]] = {}
"""Components of others that models may have, by name."""


def register(component: type[Component]) -> type[Component]:
    """Make a component known by its name, so that models with it can be loaded; ``ValueError`` if the name is taken."""
    if KNOWN.get(component.name, component).__qualname__ != component.__qualname__:
        raise ValueError(f"there is a component named {component.name} already")
    KNOWN[component.name] = component
    return component


def load(component: type[_S], state: State, *context: Any) -> _S:
    """Return a component from its state, after the checks of its schema; ``context`` is passed to `from_state`."""
    check_state(state, component.schema, f"the component '{component.name}'")
    found: _S = component.from_state(*state, *context)
    return found


def nested(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> State | None:
    """Return the state that another has under a name, None if there is none; `add_nested` is the inverse.

    Examples
    --------
    >>> nested({"scale": 1.0, "part": {"bits": 2}}, {"part.table": np.zeros(4)}, "part")
    ({'bits': 2}, {'table': array([0., 0., 0., 0.])})
    """
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    return (values[name], own) if name in values else None


def add_nested(values: dict[str, Any], arrays: dict[str, np.ndarray], name: str, state: State | None) -> None:
    """Add a state, if there is one, to another under a name."""
    if state is not None:
        values[name] = state[0]
        arrays |= {f"{name}.{key}": array for key, array in state[1].items()}


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
        raise ModelError(f"{owner} is not a record")
    schema = _with_optional(schema, values, arrays)
    for name, kind in schema.values.items():
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if isinstance(kind, Schema):
            check_state(nested(values, arrays, name) or (None, {}), kind, f"the '{name}' of {owner}")
        elif type(values.get(name)) not in kinds:
            raise ModelError(f"{owner} has no '{name}' of type {' or '.join(each.__name__ for each in kinds)}")
    inner = tuple(f"{name}." for name, kind in schema.values.items() if isinstance(kind, Schema))
    strange = [name for name in values if name not in schema.values]
    strange += [name for name in arrays if name not in schema.arrays and not name.startswith(inner)]
    if strange:
        raise ModelError(f"{owner} has {strange[0][:40]!r}, which is not its own")
    sizes: dict[str, int] = {}
    for name, (dtype, shape) in schema.arrays.items():
        dimensions = ("* " * shape if isinstance(shape, int) else shape).split()
        expected = ", ".join(f"{each} = {sizes[each]}" if each in sizes else each for each in dimensions)
        array = arrays.get(name)
        if array is None or array.dtype != dtype or not _has_shape(array, dimensions, sizes):
            raise ModelError(f"{owner} has no array '{name}' of {dtype} with shape ({expected})")


def _with_optional(schema: Schema, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Schema:
    """Return a schema with those optional parts of which a state has anything."""
    for part in schema.optional:
        if part.values.keys() & values.keys() or part.arrays.keys() & arrays.keys():
            more = _with_optional(part, values, arrays)
            schema = Schema({**schema.values, **more.values}, {**schema.arrays, **more.arrays})
    return schema


def _has_shape(array: np.ndarray, dimensions: Sequence[str], sizes: dict[str, int]) -> bool:
    """Return whether an array has the sizes of some dimensions; add those that are not known yet to ``sizes``."""
    return array.ndim == len(dimensions) and all(
        name == "*" or size == (int(name) if name.isdigit() else sizes.setdefault(name, size))
        for name, size in zip(dimensions, array.shape, strict=True)
    )


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
        return component.fit([sentences[i] for i in rest], setting._replace(unfinished=None))

    def apply(model: Component | None, inside: np.ndarray) -> list[Sentence]:
        batch = [sentences[i] for i in inside]
        return batch if model is None else model.apply(batch)

    return cross_fit(blocks(len(sentences), folds), fit, apply)
