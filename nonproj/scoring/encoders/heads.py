"""Scores of parts and labels from the vectors that a pretrained encoder gives to words.

Arcs and labels are scored biaffinely (Dozat and Manning 2017), siblings and grandparents by a trilinear form of low
rank (after Zhang, Li and Zhang 2020, section 3): the sum over k of ``w[k] a[k] b[k] c[k]``, where a, b and c are the
hidden layers of the three words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.kernels.threads import one_thread
from nonproj.linear.state import Arrays, Schema
from nonproj.scoring.encoders.architecture import LARGEST_NUMBER
from nonproj.types import Float32s, Float64s, Int32s

ARC_UNITS, LABEL_UNITS, RANK = 256, 128, 96
"""Hidden units of a word: as head or modifier of an arc, of a labelled arc, and as one of the words of other parts."""

SLOPE = 0.1
"""The slope of hidden units below 0 (leaky ReLU)."""

ARC = "arc"
TRILINEAR = ("sibling", "grandparent")
"""The part types with biaffine and with trilinear scores; those of other types are 0."""


def sizes_of(hidden: int | str, n_labels: int | str) -> dict[str, tuple[Any, ...]]:
    """Return the shape of each array, for vectors with ``hidden`` dimensions and a number of labels."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, units in (("arc", ARC_UNITS), ("label", LABEL_UNITS)):
        for word in ("head", "modifier"):
            found |= {f"{name}_{word}_in": (hidden, units), f"{name}_{word}_bias": (units,)}
    found |= {
        "arc_product": (ARC_UNITS, ARC_UNITS),
        "arc_head_weight": (ARC_UNITS,),
        "arc_modifier_weight": (ARC_UNITS,),
    }
    found |= {"label_product": (n_labels, LABEL_UNITS, LABEL_UNITS), "label_weight": (n_labels,)}
    found |= {f"label_{word}_weight": (LABEL_UNITS, n_labels) for word in ("head", "modifier")}
    for name in TRILINEAR:
        found |= {f"{name}_factors": (3, hidden, RANK), f"{name}_offsets": (3, RANK)}
        found |= {f"{name}_special": (3, 2, RANK), f"{name}_weight": (RANK,)}
    return found


_ARRAYS: Arrays = {name: ("float32", " ".join(map(str, shape))) for name, shape in sizes_of("hidden", "labels").items()}


class BiaffineLayers:
    """The biaffine and trilinear layers behind an encoder.

    Parameters
    ----------
    arrays : mapping of str to ndarray, float32
        With the shapes of `sizes_of`.
    """

    name: ClassVar[str] = "encoder_heads"
    schema: ClassVar[Schema] = Schema({}, _ARRAYS)

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.arrays = dict(arrays)
        own = self.arrays
        words = [f"{name}_{word}" for name in ("arc", "label") for word in ("head", "modifier")]
        columns = [own[f"{word}_in"] for word in words] + [
            each for name in TRILINEAR for each in own[f"{name}_factors"]
        ]
        biases = [own[f"{word}_bias"] for word in words] + [own[f"{name}_offsets"].ravel() for name in TRILINEAR]
        self._in, self._bias = np.ascontiguousarray(np.hstack(columns)), np.concatenate(biases)
        self._ends = np.cumsum([2 * ARC_UNITS, 2 * LABEL_UNITS, *(3 * RANK for _ in TRILINEAR)])
        self.label_product = np.ascontiguousarray(own["label_product"].transpose(1, 0, 2).reshape(LABEL_UNITS, -1))
        self.n_labels = len(own["label_weight"])

    def hidden(self, vectors: np.ndarray) -> NodeLayers:
        """Return the hidden layers of the nodes of a sentence, given their vectors, float32[N, hidden]."""
        x = vectors @ self._in
        x += self._bias
        np.maximum(x, SLOPE * x, out=x)
        arcs, labels, *factors, _ = np.split(x, self._ends, axis=1)
        found = {}
        for name, each in zip(TRILINEAR, factors, strict=True):
            with_specials = np.empty((3, len(x) + 2, RANK), np.float32)
            with_specials[:, :-2] = each.reshape(len(x), 3, RANK).transpose(1, 0, 2)
            with_specials[:, -2:] = self.arrays[f"{name}_special"]
            with_specials[0] *= self.arrays[f"{name}_weight"]
            found[name] = with_specials
        of_arc, of_label = (np.split(layer, 2, axis=1) for layer in (arcs, labels))
        return NodeLayers(of_arc[0], of_arc[1], of_label[0], of_label[1], found)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the layers."""
        return {}, self.arrays

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_labels: int, hidden: int
    ) -> BiaffineLayers:
        """Return the layers of a state that matches the schema; raise `ModelError` if it is not for these sizes."""
        for name, shape in sizes_of(hidden, n_labels).items():
            if arrays[name].shape != shape:
                raise ModelError(f"the encoder's array '{name}' has shape {arrays[name].shape}; {shape} is expected")
            if not (np.abs(arrays[name]) <= LARGEST_NUMBER).all():
                raise ModelError(f"the encoder's array '{name}' has numbers beyond {LARGEST_NUMBER:g}")
        return cls({name: np.ascontiguousarray(array) for name, array in arrays.items()})


class NodeLayers(NamedTuple):
    """The hidden layers of the N nodes of a sentence.

    Attributes
    ----------
    arc_head, arc_modifier : ndarray of shape (N, ARC_UNITS), float32
    label_head, label_modifier : ndarray of shape (N, LABEL_UNITS), float32
    factors : dict of str to ndarray of shape (3, N + 2, RANK), float32
        For each type in `TRILINEAR`, the layers of a part's three words, START and END included.
    """

    arc_head: np.ndarray
    arc_modifier: np.ndarray
    label_head: np.ndarray
    label_modifier: np.ndarray
    factors: dict[str, np.ndarray]


class EncodedSentence:
    """The scores of a sentence's parts and labels by an encoder.

    Parameters
    ----------
    layers : BiaffineLayers
    vectors : ndarray of shape (N, hidden), float32
        The vectors of its nodes.
    scale, label_scale : float
        Factors of the scores of parts and of labels.

    Attributes
    ----------
    of_arcs : ndarray of shape (N, N), float64
        The score of every arc, ``s[h, m]``, in nats.

    Examples
    --------
    >>> arrays = {name: np.ones(shape, np.float32) for name, shape in sizes_of(4, 2).items()}
    >>> EncodedSentence(BiaffineLayers(arrays), np.zeros((3, 4), np.float32)).of_arcs[:, 1].tolist()
    [66048.0, 66048.0, 66048.0]
    """

    def __init__(self, layers: BiaffineLayers, vectors: np.ndarray, scale: float = 1.0, label_scale: float = 1.0):
        self.layers, self.scale, self.label_scale = layers, scale, label_scale
        self.hidden = hidden = layers.hidden(vectors)
        own = layers.arrays
        head = hidden.arc_head @ own["arc_product"] + own["arc_modifier_weight"]
        scores = head @ hidden.arc_modifier.T + (hidden.arc_head @ own["arc_head_weight"])[:, np.newaxis]
        self.of_arcs: Float64s = scores.astype(np.float64)

    def first_order(self) -> Float64s:
        """Return the score of every arc in nats, float64[N, N]; minus infinity on the diagonal and in column 0."""
        scores = self.of_arcs.copy()
        np.fill_diagonal(scores, -np.inf)
        scores[:, 0] = -np.inf
        return scores

    def parts(self, name: str, nodes: np.ndarray) -> Float64s:
        """Return the scores of parts of a type by their words, float64[P].

        Parameters
        ----------
        name : str
            The part type.
        nodes : ndarray of shape (P, k), int32
            Nodes from the head to the modifier; N and N + 1 are START and END.
        """
        scores = self.of_arcs[nodes[:, 0], nodes[:, 1]] if name == ARC else np.zeros(len(nodes))
        if name in self.hidden.factors:
            _add_products(self.hidden.factors[name], nodes, scores)
        return np.asarray(self.scale * scores)

    def labels(self, heads: Int32s) -> Float64s:
        """Return the score of each label of each arc of a tree, float64[n, n_labels]."""
        layers, own = self.layers, self.layers.arrays
        with one_thread:
            head, modifier = self.hidden.label_head[heads[1:]], self.hidden.label_modifier[1:]
            inner = (head @ layers.label_product).reshape(len(head), layers.n_labels, LABEL_UNITS)
            scores = (inner @ modifier[:, :, np.newaxis])[:, :, 0]
            scores += head @ own["label_head_weight"] + modifier @ own["label_modifier_weight"] + own["label_weight"]
        return np.asarray(self.label_scale * scores.astype(np.float64))


@kernel
def _add_products(factors: Float32s, nodes: Int32s, scores: Float64s) -> None:
    """Add the trilinear score of each part."""
    for p in range(nodes.shape[0]):
        a, b, c = nodes[p, 0], nodes[p, 1], nodes[p, 2]
        total = 0.0
        for k in range(factors.shape[2]):
            total += np.float64(factors[0, a, k]) * factors[1, b, k] * factors[2, c, k]
        scores[p] += total
