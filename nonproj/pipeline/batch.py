"""The record that all stages of parsing share: sentences, and the results of each stage for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.confidence.classifier import Confidence
from nonproj.dual.search import SearchResult
from nonproj.io.constraints import Constraints
from nonproj.pipeline.loaded import LoadedModel
from nonproj.pipeline.parses import Parse
from nonproj.pipeline.request import Request
from nonproj.scoring.joined import JoinedTokens, join
from nonproj.scoring.scorer import LabelScores
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ArcSpace, Float64s, Int64s, PartSpace, Sentence

_NONE = np.empty(0, np.int32)
_NO_TOKENS = JoinedTokens(_NONE, _NONE, _NONE, _NONE, _NONE, 0)

_SHARED = ("loaded", "request", "joined", "known")
"""Fields that do not have an entry for each sentence."""


class Batch(NamedTuple):
    """Sentences that pass the stages together; a stage returns a copy with its fields filled.

    Fields have an entry for each sentence, unless stated otherwise; those of later stages are empty.

    Attributes
    ----------
    loaded : LoadedModel
        One for all sentences.
    request : Request
        One for all sentences.
    sentences : sequence of Sentence
        Tagged by the first stage.
    tokens : sequence of Tokens
    joined : JoinedTokens
        The tokens of all sentences.
    first_order : sequence of ndarray of shape (N, N), float64
        The score of every arc under the first-order model, in nats.
    constraints : sequence of Constraints or None
    arcs : sequence of ArcSpace
        The candidate arcs; all arcs, where a sentence was decoded over all.
    marginals : sequence of ndarray of shape (A,), float64
        The probabilities of the candidate arcs under the first-order model and the constraints.
    spaces : sequence of PartSpace
        The parts over the candidate arcs.
    scores : sequence of ndarray of shape (P,), float64
        The scores of these parts.
    known : LabelScores or None
        The scores of labels of all candidate arcs, if labels are scored with arcs.
    found : sequence of SearchResult
        The best trees, best first, over ``arcs``.
    pruned : sequence of SearchResult or None
        The best trees over the candidate arcs, where a sentence was then decoded over all arcs.
    labels : sequence of list of ndarray of shape (n,), int64
        The number of each arc's label, for each tree.
    margins : sequence of ndarray of shape (n,), float64
        The margins of the labels of the best tree: see `nonproj.scoring.tree_labels.TreeLabeler.label`.
    confidence : sequence of Confidence
    proofs : sequence of dict
    parses : sequence of Parse
    """

    loaded: LoadedModel
    request: Request
    sentences: Sequence[Sentence]
    tokens: Sequence[Tokens] = ()
    joined: JoinedTokens = _NO_TOKENS
    first_order: Sequence[Float64s] = ()
    constraints: Sequence[Constraints | None] = ()
    arcs: Sequence[ArcSpace] = ()
    marginals: Sequence[Float64s] = ()
    spaces: Sequence[PartSpace] = ()
    scores: Sequence[Float64s] = ()
    known: LabelScores | None = None
    found: Sequence[SearchResult] = ()
    pruned: Sequence[SearchResult | None] = ()
    labels: Sequence[list[Int64s]] = ()
    margins: Sequence[Float64s] = ()
    confidence: Sequence[Confidence] = ()
    proofs: Sequence[dict[str, Any]] = ()
    parses: Sequence[Parse] = ()

    def select(self, numbers: Sequence[int]) -> Batch:
        """Return the batch of some of the sentences, at least one, by their numbers."""
        fields = {name: each for name, each in self._asdict().items() if name not in _SHARED and each}
        own: dict[str, Any] = {name: [each[i] for i in numbers] for name, each in fields.items()}
        joined = join(own["tokens"]) if self.tokens else _NO_TOKENS
        return self._replace(**own, joined=joined, known=None)
