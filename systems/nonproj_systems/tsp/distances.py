"""Distances of TSPLIB95 from coordinates (Reinelt 1995, section 2): each rounds to an integer in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_PI, _RADIUS = 3.141592, 6378.388
"""The values that TSPLIB95 prescribes for geographical distances."""


def _differences(points: np.ndarray) -> np.ndarray:
    """Return the difference of each pair of points, float64[n, n, d]."""
    return points[:, None, :] - points[None, :, :]


def _nearest(lengths: np.ndarray) -> np.ndarray:
    """Round halves up, as ``(int) (x + 0.5)`` does."""
    return np.floor(lengths + 0.5)


def _euclidean(points: np.ndarray) -> np.ndarray:
    return np.sqrt((_differences(points) ** 2).sum(2))


def _pseudo_euclidean(points: np.ndarray) -> np.ndarray:
    """Return distances of type ATT: the root of a tenth of the squared distance, rounded up."""
    lengths = np.sqrt((_differences(points) ** 2).sum(2) / 10.0)
    rounded = _nearest(lengths)
    return rounded + (rounded < lengths)


def _geographical(points: np.ndarray) -> np.ndarray:
    """Return distances on the idealised sphere; coordinates are DDD.MM, degrees and minutes."""
    degrees = np.trunc(points)
    radians = _PI * (degrees + 5.0 * (points - degrees) / 3.0) / 180.0
    latitude, longitude = radians.T
    q1 = np.cos(longitude[:, None] - longitude[None, :])
    q2 = np.cos(latitude[:, None] - latitude[None, :])
    q3 = np.cos(latitude[:, None] + latitude[None, :])
    angle = np.arccos(np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0))
    return np.trunc(_RADIUS * angle + 1.0)


DISTANCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "EUC_2D": lambda points: _nearest(_euclidean(points)),
    "CEIL_2D": lambda points: np.ceil(_euclidean(points)),
    "MAN_2D": lambda points: _nearest(np.abs(_differences(points)).sum(2)),
    "MAX_2D": lambda points: _nearest(np.abs(_differences(points))).max(2),
    "GEO": _geographical,
    "ATT": _pseudo_euclidean,
}
"""Distances of all pairs by EDGE_WEIGHT_TYPE: float64[n, 2] to float64[n, n]."""


def distances(kind: str, points: np.ndarray) -> np.ndarray:
    """Return the distances of all pairs of points.

    Parameters
    ----------
    kind : str
        A key of `DISTANCES`.
    points : ndarray of shape (n, 2), float64

    Returns
    -------
    ndarray of shape (n, n), int64
        Symmetric, 0 on the diagonal.

    Examples
    --------
    >>> distances("EUC_2D", np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]])).tolist()
    [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    """
    found = DISTANCES[kind](points).astype(np.int64)
    np.fill_diagonal(found, 0)
    return found
