"""Markov random fields of images, for restoration and segmentation."""

from __future__ import annotations

import numpy as np

from nonproj_systems.mrf.model import MRF, grid


def restore_binary(observed, flipped: float, weight: float) -> MRF:
    """Return the field of a black and white image some of whose pixels were flipped.

    Parameters
    ----------
    observed : array-like of shape (height, width), bool
    flipped : float
        The probability that a pixel was flipped, below one half.
    weight : float
        The score of each pair of equal neighbours.

    Examples
    --------
    >>> from nonproj_systems.mrf.inference import infer
    >>> noisy = np.ones((5, 5), bool)
    >>> noisy[2, 2] = False
    >>> infer(restore_binary(noisy, 0.1, 1.0)).labels.all()
    np.True_
    """
    observed = np.asarray(observed, np.bool_)
    if not 0.0 < flipped < 0.5:
        raise ValueError(f"flipped is {flipped}; a probability between 0 and 0.5 is expected")
    unary = np.log(np.where(observed[..., None] == np.array([False, True]), 1.0 - flipped, flipped))
    return grid(unary, weight * np.eye(2))


def restore_grey(observed, levels, deviation: float, weight: float, most: float) -> MRF:
    """Return the field of a grey image with Gaussian noise; neighbours may differ, at a limited cost.

    Parameters
    ----------
    observed : array-like of shape (height, width)
    levels : array-like of shape (k,)
        The grey levels of the states.
    deviation : float
        The standard deviation of the noise.
    weight : float
        The cost of a difference of one grey level between neighbours.
    most : float
        Difference of grey levels above which the cost does not rise, because edges of objects are sharp.

    Examples
    --------
    >>> field = restore_grey([[0.0, 9.0, 1.0]], [0.0, 10.0], 5.0, 0.5, 8.0)
    >>> field.table(0).tolist()
    [[0.0, -4.0], [-4.0, 0.0]]
    """
    observed, levels = np.asarray(observed, np.float64), np.asarray(levels, np.float64)
    unary = -0.5 * ((observed[..., None] - levels) / deviation) ** 2
    differences = np.minimum(np.abs(levels[:, None] - levels), most)
    return grid(unary, 0.0 - weight * differences)


def segment(image, centres, deviation: float, weight: float) -> MRF:
    """Return the field that assigns the pixels of an image to regions of given colours; borders follow edges.

    The weight of two neighbours falls with the squared difference of their colours, relative to its mean over the
    image (Boykov and Jolly 2001, "Interactive graph cuts").

    Parameters
    ----------
    image : array-like of shape (height, width, channels)
    centres : array-like of shape (k, channels)
        The colour of each region, as from k-means.
    deviation : float
        The standard deviation of a region's colours.
    weight : float
        The score of two equal neighbours of one colour.

    Examples
    --------
    >>> segment(np.zeros((2, 2, 3)), [[0, 0, 0], [255, 255, 255]], 30.0, 2.0).table(0).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    image, centres = np.asarray(image, np.float64), np.asarray(centres, np.float64)
    unary = -0.5 * ((image[:, :, None, :] - centres) ** 2).sum(axis=-1) / deviation**2
    across = ((image[:, 1:] - image[:, :-1]) ** 2).sum(axis=-1).ravel()
    down = ((image[1:] - image[:-1]) ** 2).sum(axis=-1).ravel()
    contrast = np.concatenate([across, down])
    weights = weight * np.exp(-0.5 * contrast / max(contrast.mean() if len(contrast) else 0.0, 1e-12))
    return grid(unary, np.eye(len(centres)), weights)
