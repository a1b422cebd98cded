"""The averaged perceptron (Collins 2002): its weights, and lazy averages.

Callers compute scores, predict, and compare gold and predicted structures; their kernels update weights by
`change_weight`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.weights import largest, quantise, scale_for
from nonproj.types import Float32s, Float64s, Int16s

_AT_ONCE = 1 << 18
"""Number of weights averaged at a time: float64 copies of a whole table would take more memory than all else."""


CONTINUED_STEP = 0.3
"""The size of an update where a trained model is continued, relative to training from scratch.

It is a unit: weights in training are divided by it, and so are margins and the scores of networks.  With 1, a few
sentences move the weights of frequent features too far.
"""


class AveragedArrays(NamedTuple):
    """The arrays of `AveragedWeights`, which updates change in place, and the number of the next update."""

    weights: np.ndarray
    total: np.ndarray
    step: float


class AveragedWeights:
    """The weights of a perceptron in training, and the sums from which their average is computed.

    Parameters
    ----------
    bits : int
        The table has ``2 ** bits`` entries.

    Attributes
    ----------
    weights : ndarray of shape (2 ** bits,), float32
        Sums of integers, exact up to 2 ** 24.
    total : ndarray of shape (2 ** bits,), float64
        The sum of all updates, each times its step: the mean of the weights is ``weights - total / step``.
    step : int
        The next update's number, from 1; `start_epoch` sets it back to 1 where it restarts the average.

    Examples
    --------
    >>> averaged = AveragedWeights(4)
    >>> averaged.weights[3], averaged.total[3], averaged.step = 2.0, 2.0, 2  # the first update added 2
    >>> averaged.mean()[3]
    np.float32(1.0)
    """

    def __init__(self, bits: int):
        self.weights = np.zeros(1 << bits, np.float32)
        self.total = np.zeros(1 << bits, np.float64)
        self.step = 1

    def arrays(self) -> AveragedArrays:
        """Return the arrays that an update changes, and the number of the next one."""
        return AveragedArrays(self.weights, self.total, float(self.step))

    def advance(self, steps: int = 1) -> None:
        """Count steps, whether or not they have changed weights."""
        self.step += steps

    def mean(self) -> Float32s:
        """Return the mean of the weights over all steps since the average was started, float32."""
        mean = np.empty_like(self.weights)
        for part in _pieces(mean):
            mean[part] = self._mean_of(part)
        return mean

    def start_epoch(self, epoch: int, average_from: int) -> None:
        """Restart the average before epoch ``average_from``, counted from 1; ``epoch`` is the coming one, from 0."""
        if epoch + 1 == average_from:
            self.total[:], self.step = 0.0, 1

    def rounded_mean(self) -> tuple[Int16s, float]:
        """Return the mean as `nonproj.linear.weights.quantise` rounds it, without the mean in memory as a whole.

        Examples
        --------
        >>> averaged = AveragedWeights(4)
        >>> averaged.weights[:2] = 1.0, -0.5
        >>> table, scale = averaged.rounded_mean()
        >>> np.round(table[:3] * scale, 3).tolist()
        [1.0, -0.5, 0.0]
        """
        scale = scale_for(max(largest(self._mean_of(part)) for part in _pieces(self.weights)))
        rounded = np.empty(self.weights.shape, np.int16)
        for part in _pieces(self.weights):
            rounded[part] = quantise(self._mean_of(part), scale)[0]
        return rounded, scale

    def _mean_of(self, part: slice) -> Float32s:
        """Return a part of the mean, float32."""
        mean: Float32s = (self.weights[part] - self.total[part] / self.step).astype(np.float32)
        return mean


def _pieces(table: np.ndarray) -> Iterator[slice]:
    """Yield slices of a table, each small enough to be computed at once."""
    return (slice(begin, begin + _AT_ONCE) for begin in range(0, len(table), _AT_ONCE))


@kernel
def change_weight(
    weights: Float32s, total: Float64s, place: int | np.uint32, change: float | np.float32, step: float
) -> None:
    """Change one weight in update ``step``."""
    weights[place] += np.float32(change)
    total[place] += step * change
