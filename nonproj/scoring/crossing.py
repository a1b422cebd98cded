"""Costs of crossed arcs, from the probability that an arc of a tree is crossed.

A logistic model, with the templates of ``crossing.yaml``, predicts the probability from the words and the label of an
arc.  An arc that is often crossed costs nothing; others cost more, the less likely it is that they are crossed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.linear.state import Fitted, Schema, State
from nonproj.linear.weights import check_table
from nonproj.scoring.hashing import Places, hash_tokens, make_places
from nonproj.scoring.joined import JoinedTokens
from nonproj.scoring.labels import with_labels
from nonproj.scoring.templates import CODE_BITS, CROSSED_ARC, LABEL_BITS, TemplateTable
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float64s, Int64s, PartRows

FREE = 2.5
"""Negative logarithm of a probability, 8 %: an arc that is at least as likely to be crossed costs nothing."""


@dataclass(frozen=True, eq=False)
class CrossingScorer(Fitted):
    """The logistic model of crossed arcs.

    Attributes
    ----------
    weights : ndarray, int16
        The weight table, whose size is a power of two.
    scale : float
        Factor of the sums of weights.
    unit : float
        Cost of an arc that is crossed with a probability of ``exp(-FREE - 1)``.
    """

    name: ClassVar[str] = CROSSED_ARC
    schema: ClassVar[Schema] = Schema({"scale": float, "unit": float}, {"weights": ("int16", 1)})
    weights: np.ndarray
    scale: float
    unit: float

    def costs(self, tokens: Tokens | JoinedTokens, arcs: PartRows, labels: Int64s, table: TemplateTable) -> Float64s:
        """Return the cost of each labelled arc if it is crossed, float64[A].

        Logarithms are rounded, because their last digits depend on the processor.
        """
        sums = self.scale * sums_of(crossing_places(tokens, arcs, labels, table, len(self.weights)), self.weights)
        return self.unit * np.maximum(np.round(np.logaddexp(0.0, -sums), 6) - FREE, 0.0)

    def state(self) -> State:
        """Return the state from which `from_state` restores the model."""
        return {"scale": self.scale, "unit": self.unit}, {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> CrossingScorer:
        """Return the model of a state; raise `ModelError` if it is invalid."""
        table = check_table(arrays["weights"], ("int16",), LABEL_BITS + CODE_BITS, "the weights of crossed arcs")
        if not (0.0 < values["scale"] < 1e30 and 0.0 <= values["unit"] < 1e30):
            raise ModelError("the scale or the unit of the costs of crossed arcs is out of its range")
        return cls(table, values["scale"], values["unit"])


def crossing_places(
    tokens: Tokens | JoinedTokens, arcs: PartRows, labels: Int64s, table: TemplateTable, n_weights: int
) -> Places:
    """Return the places of the features of labelled arcs in a table of weights."""
    return with_labels(make_places(hash_tokens(tokens, table, n_weights), arcs.nodes, arcs.codes), labels)


def sums_of(listed: Places, weights: np.ndarray) -> Float64s:
    """Return the sum of the weights at the places of each arc, float64[A]; 0 without places."""
    arc = np.repeat(np.arange(len(listed.start) - 1), np.diff(listed.start))
    return np.bincount(arc, weights[listed.places], len(listed.start) - 1).astype(np.float64)
