"""The stored state of a component: JSON values and arrays from which it is restored, and the schema of both.

The checks of untrusted files are here, for any component; `nonproj.components` is about learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.types import Sentence

State: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]
"""JSON values and arrays from which a component can be restored."""

_S = TypeVar("_S", bound="Stored")


Arrays: TypeAlias = Mapping[str, tuple[str, int | str]]
"""The dtype and shape of each array: see `Schema`."""


class Schema(NamedTuple):
    """The contents of a component's state.

    Attributes
    ----------
    values : mapping of str to type, tuple of types or Schema
        The types of the JSON values; a schema for a `nested` state.
    arrays : mapping of str to tuple of str and int or str
        The dtype of each array, and either its number of dimensions or its shape: a number, a name or ``*`` for each
        dimension, separated by blanks.  Dimensions of one name have the same size in all arrays.
    optional : sequence of Schema
        Optional groups: a state contains all values and arrays of a group, or none.
    """

    values: Mapping[str, type | tuple[type, ...] | Schema]
    arrays: Arrays
    optional: Sequence[Schema] = ()


class Stored(Protocol):
    """An object that a model stores under a name.

    Attributes
    ----------
    name : str
    schema : Schema
        Schema of its state.
    """

    name: ClassVar[str]
    schema: ClassVar[Schema]

    @classmethod
    def from_state(cls, *arguments: Any, **options: Any) -> Any:
        """Restore the object from a state that matches the schema; raise `ModelError` if it is otherwise invalid."""


class Fitted(Stored):
    """A fitted component; an instance of this class itself stands for no component and is not stored."""

    name: ClassVar[str] = ""
    schema: ClassVar[Schema] = Schema({}, {})

    @classmethod
    def from_state(cls, *arguments: Any, **options: Any) -> Any:
        """Return the component of a state."""
        raise NotImplementedError

    def state(self) -> State | None:
        """Return the state for `from_state`; None if a model does not store the component under its name."""
        return None

    def apply(self, batch: Sequence[Sentence], *arguments: Any, **options: Any) -> list[Sentence]:
        """Return the sentences with the component's predictions; unchanged if it does not annotate sentences."""
        return list(batch)


KNOWN: dict[str, type[Fitted]] = {}
"""The registered components, by name."""

_C = TypeVar("_C", bound=type[Fitted])


def register(component: _C) -> _C:
    """Register a component by its name, so that models with it can be loaded; ``ValueError`` if the name is taken."""
    if KNOWN.get(component.name, component).__qualname__ != component.__qualname__:
        raise ValueError(f"there is a component named {component.name} already")
    KNOWN[component.name] = component
    return component


def load(component: type[_S], state: State, *context: Any) -> _S:
    """Return a component from its state, checked against its schema; ``context`` is passed to `from_state`."""
    check_state(state, component.schema, f"the component '{component.name}'")
    found: _S = component.from_state(*state, *context)
    return found


def nested(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> State | None:
    """Return the state nested in another under a name, None if there is none; `add_nested` is the inverse.

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
    """Raise `ModelError`, which names the owner, unless a state matches its schema exactly.

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
    """Return a schema with each optional group from which a state has at least one value or array."""
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
