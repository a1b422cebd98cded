"""The layer that scores tags from the vectors of a pretrained encoder.

The score of a tag is the product of the word's hidden layer with the sum of the output weights of the tag's parts, as
in `nonproj.tagging.network`: so all tags with a feature share its weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.linear.state import Schema, State
from nonproj.scoring.encoders.architecture import LARGEST_NUMBER
from nonproj.scoring.encoders.heads import SLOPE

TAG_UNITS = 128
"""Hidden units of a word."""


class TagLayer:
    """The layer of tags.

    Parameters
    ----------
    arrays : mapping of str to ndarray, float32
        ``tag_in`` of shape (hidden, TAG_UNITS), ``tag_bias`` of shape (TAG_UNITS,) and ``tag_output`` of shape
        (units, TAG_UNITS), a row for each part of a tag.
    scale : float
        Factor of the scores.

    Examples
    --------
    >>> arrays = {"tag_in": np.eye(2, TAG_UNITS), "tag_bias": np.zeros(TAG_UNITS)}
    >>> layer = TagLayer(arrays | {"tag_output": np.ones((3, TAG_UNITS))})
    >>> layer.hidden(np.array([[2.0, -3.0]]))[0, :2].round(2).tolist()
    [2.0, -0.3]
    """

    name: ClassVar[str] = "encoder_tags"
    schema: ClassVar[Schema] = Schema(
        {"scale": float},
        {
            "tag_in": ("float32", f"hidden {TAG_UNITS}"),
            "tag_bias": ("float32", f"{TAG_UNITS}"),
            "tag_output": ("float32", f"units {TAG_UNITS}"),
        },
    )

    def __init__(self, arrays: Mapping[str, np.ndarray], scale: float = 1.0):
        self.arrays, self.scale = dict(arrays), scale

    def hidden(self, vectors: np.ndarray) -> np.ndarray:
        """Return the hidden layers of words, float32[n, TAG_UNITS], given their vectors."""
        x = vectors @ self.arrays["tag_in"]
        x += self.arrays["tag_bias"]
        found: np.ndarray = np.maximum(x, SLOPE * x)
        return found

    def state(self) -> State:
        """Return JSON values and arrays from which `from_state` restores the layer."""
        return {"scale": self.scale}, self.arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray], hidden: int) -> TagLayer:
        """Return the layer of a state that matches the schema, for an encoder with vectors of a size.

        Raises
        ------
        ModelError
            If a size, a number or the scale is invalid.
        """
        if len(arrays["tag_in"]) != hidden:
            raise ModelError(f"the encoder's layer of tags is not for vectors of {hidden} numbers")
        if not all((np.abs(array) <= LARGEST_NUMBER).all() for array in arrays.values()):
            raise ModelError(f"the encoder's layer of tags has numbers beyond {LARGEST_NUMBER:g}")
        if not 0.0 < values["scale"] < 1e9:
            raise ModelError("the scale of the encoder's scores of tags is not a positive number")
        return cls({name: np.ascontiguousarray(array) for name, array in arrays.items()}, values["scale"])
