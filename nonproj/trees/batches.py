"""Batches of user-supplied arrays: one sentence, a padded array, or a list of arrays of different sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.types import Float32s, Float64s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ArrayBatch(NamedTuple):
    """Scores of ``B`` sentences.

    Attributes
    ----------
    values : ndarray, float32 or float64
        The first axis is the batch; contiguous, padded with zeros.
    many : bool
        Whether a batch was given, not a single sentence.
    lengths : ndarray of shape (B,), int64, or None
        The number of words of each sentence, if a list of arrays of different sizes was given.
    """

    values: Float32s | Float64s
    many: bool
    lengths: Int64s | None


def as_batch(values: ArrayLike, axes: str, name: str) -> ArrayBatch:
    """Return scores as a batch.

    Parameters
    ----------
    values : array-like, or list of array-like
    axes : str
        The axes of a sentence's scores; those called ``N`` have its number of nodes as their length.
    name : str
        Name of the scores in error messages.

    Raises
    ------
    ValueError
        The shape is wrong, or the values are not real numbers.

    Examples
    --------
    >>> batch = as_batch([[[0, 1], [2, 3]], [[4]]], "NN", "scores")
    >>> batch.lengths, batch.values[1]
    (array([1, 0]), array([[4., 0.],
           [0., 0.]]))
    """
    if isinstance(values, list | tuple) and values and all(_axes(item) == len(axes) for item in values):
        items = [_numbers(item, f"{name}[{b}]") for b, item in enumerate(values)]
        for b, item in enumerate(items):
            _check_shape(item.shape, axes, f"{name}[{b}]", "")
        if len({item.shape[axes.count("N") :] for item in items}) > 1:
            raise ValueError(f"{name} has arrays of different numbers of {axes[-1]}; the same for all is expected")
        shape = len(items), *map(max, zip(*(item.shape for item in items), strict=True))
        kind: Any = np.float64 if any(item.dtype == np.float64 for item in items) else np.float32
        padded: Any = np.zeros(shape, kind)
        for own, item in zip(padded, items, strict=True):
            own[tuple(map(slice, item.shape))] = item
        sizes = np.array([len(item) - 1 for item in items])
        return ArrayBatch(padded, True, sizes if (sizes != sizes[0]).any() else None)
    array = _numbers(values, name)
    many = array.ndim == len(axes) + 1
    _check_shape(array.shape[1:] if many else array.shape, axes, name, " or (B, {})", array.shape)
    made: Any = np.ascontiguousarray(array if many else array[None])
    return ArrayBatch(made, many, None)


def check_lengths(lengths: ArrayLike | None, batch: ArrayBatch) -> Int64s:
    """Return the number of words of each sentence, int64[B]; by default the maximum that the arrays allow.

    Raises
    ------
    ValueError
        ``lengths`` do not match the batch.
    """
    size, most = len(batch.values), batch.values.shape[1] - 1
    if lengths is None:
        return np.full(size, most) if batch.lengths is None else batch.lengths
    if batch.lengths is not None:
        raise ValueError("lengths is for padded arrays; a list of arrays of different sizes needs none")
    found = np.atleast_1d(np.asarray(lengths))
    if found.shape != (size,):
        raise ValueError(f"lengths has shape {np.shape(lengths)}; ({size},) is expected, one for each sentence")
    if found.dtype.kind not in "iu":
        raise ValueError(f"lengths is of dtype {found.dtype}; integers are expected")
    wrong = np.flatnonzero((found < 0) | (found > most))
    if len(wrong):
        raise ValueError(f"lengths[{wrong[0]}] is {found[wrong[0]]}; an integer from 0 to {most} is expected")
    return found.astype(np.int64)


def _axes(values: object) -> int:
    """Return the number of axes of an array; -1 where rows have different lengths."""
    try:
        return np.ndim(values)  # type: ignore[arg-type]
    except ValueError:
        return -1


def _numbers(values: ArrayLike, name: str) -> Float32s | Float64s:
    """Return an array of real numbers."""
    if _axes(values) < 0:
        raise ValueError(f"{name} has rows of different lengths")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex; real scores are expected")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of dtype {array.dtype}; numbers are expected")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _check_shape(shape: tuple[int, ...], axes: str, name: str, more: str, given: tuple[int, ...] = ()) -> None:
    """Raise `ValueError` unless the scores of a sentence have these axes."""
    nodes = {size for size, axis in zip(shape, axes, strict=False) if axis == "N"}
    if len(shape) != len(axes) or len(nodes) != 1 or 0 in shape:
        wanted = ", ".join(axes)
        expected = f"({wanted})" + more.format(wanted)
        raise ValueError(f"{name} has shape {given or shape}; {expected} with N = words + 1 is expected")
