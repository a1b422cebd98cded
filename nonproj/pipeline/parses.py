"""The result of parsing a sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj.confidence.classifier import Confidence
from nonproj.io.graphs import Graph
from nonproj.types import ArcSpace, Decoded


class Parse(NamedTuple):
    """A parsed sentence.

    Attributes
    ----------
    decoded : Decoded
        The tree and its certificate, which covers ``arcs``.
    labels : list of str
        The label of each word's arc, n strings.
    arcs : ArcSpace
        The candidate arcs: those left after pruning, or all.
    pruned : Decoded or None
        The best tree over the arcs left after pruning, if the sentence was then decoded over all arcs.
    unknown_tags : int
        Number of words without a tag, or with a tag not seen in training.
    others : tuple of Parse, or None
        The next best trees, best first, if ``decoding.nbest`` is above 1.
    confidence : Confidence or None
        The probabilities that heads, labels and the tree are correct; None if the model has no classifier, or
        ``decoding.confidence`` is off.
    proof : dict or None
        Proof of this tree and the next best ones, if the parser was asked for it: see `nonproj.dual.proofs`.
    paid : float or None
        Costs of the tree's crossed arcs; None if only projective trees were allowed.
    graph : list or None
        Enhanced graph of the tree, `nonproj.io.graphs.Graph`, if the model has learnt them.
    """

    decoded: Decoded
    labels: list[str]
    arcs: ArcSpace
    pruned: Decoded | None = None
    unknown_tags: int = 0
    others: tuple[Parse, ...] | None = None
    confidence: Confidence | None = None
    proof: dict[str, Any] | None = None
    paid: float | None = 0.0
    graph: Graph | None = None

    @property
    def changed(self) -> bool:
        """Whether the tree differs from the best one over the candidate arcs."""
        return self.pruned is not None and not np.array_equal(self.pruned.tree, self.decoded.tree)

    def _repr_html_(self) -> str:
        """Return the tree for notebooks, with numbers in place of the words, which are in the sentence."""
        from nonproj.pictures.content import Picture, arcs_of
        from nonproj.pictures.svg import in_notebook

        numbers = [str(word) for word in range(1, len(self.labels) + 1)]
        arcs = arcs_of(self.decoded.heads.tolist(), self.labels)
        return in_notebook(Picture(numbers, [""] * len(numbers), arcs, []))
