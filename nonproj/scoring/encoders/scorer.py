"""A pretrained encoder and the layers behind it, as a component of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.threads import PerThread, one_thread
from nonproj.linear.state import Fitted, Schema, State, add_nested, nested
from nonproj.scoring.encoders.heads import BiaffineLayers, EncodedSentence
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.tags import TagLayer
from nonproj.scoring.vocabulary import Tokens

WEIGHT, LABEL_WEIGHT, TAG_WEIGHT = 0.7, 0.7, 1.0
"""Factors of an encoder's scores of parts, labels and tags, in margins of the linear models.  None of eleven other
settings was significantly better (``research/history.md``)."""

_MOST_KEPT = 256
"""Maximum number of sentences whose vectors a thread keeps."""


class EncoderScorer(Fitted):
    """Scores parts and labels from the vectors of an encoder.

    Parameters
    ----------
    encoder : Encoder
    heads : BiaffineLayers
    scale, label_scale : float
        Factors of the scores of parts and of labels where they are added to those of the linear models.
    tags : TagLayer or None
        Scores tags: see `nonproj.tagging.encoded`.
    learnt : ndarray of int64, optional
        Hashes, from `numbers_of`, of its training sentences: its scores of these are overconfident.
    """

    name: ClassVar[str] = "encoder"
    schema: ClassVar[Schema] = Schema(
        {"scale": float, "label_scale": float, "encoder": Encoder.schema, "heads": BiaffineLayers.schema},
        {},
        (Schema({"tags": TagLayer.schema}, {}), Schema({}, {"learnt": ("int64", 1)})),
    )

    def __init__(
        self,
        encoder: Encoder,
        heads: BiaffineLayers,
        scale: float = 1.0,
        label_scale: float = 1.0,
        tags: TagLayer | None = None,
        learnt: np.ndarray | None = None,
    ):
        self.learnt = np.zeros(0, np.int64) if learnt is None else learnt
        self.encoder, self.heads, self.scale, self.label_scale, self.tags = encoder, heads, scale, label_scale, tags
        self._recent: PerThread[dict[tuple[str, ...], np.ndarray]] = PerThread(dict)

    def add_to(self, tokens: Sequence[Tokens], texts: Sequence[Sequence[str]]) -> list[Tokens]:
        """Return the tokens of sentences with the encoder's scores, given the forms of their words."""
        vectors = self.vectors(texts)
        with one_thread:
            encoded = [EncodedSentence(self.heads, own, self.scale, self.label_scale) for own in vectors]
        return [each._replace(encoded=own) for each, own in zip(tokens, encoded, strict=True)]

    def vectors(self, texts: Sequence[Sequence[str]], kept: bool = False) -> list[np.ndarray]:
        """Return the vectors of sentences: see `Encoder.vectors`.

        With ``kept``, the thread keeps them until the next such call, unless there are many, because a tagged sentence
        is parsed next.
        """
        keys, recent = list(map(tuple, texts)), self._recent.own
        new = [key for key in dict.fromkeys(keys) if key not in recent]
        computed = dict(zip(new, self.encoder.vectors(new), strict=True))
        found = [recent[key] if key in recent else computed[key] for key in keys]
        if kept and new:
            self._recent.renewed().update(zip(keys, found, strict=True) if len(keys) <= _MOST_KEPT else ())
        return found

    def state(self) -> State:
        """Return JSON values and arrays from which `from_state` restores the component."""
        values: dict[str, Any] = {"scale": self.scale, "label_scale": self.label_scale}
        arrays: dict[str, np.ndarray] = {}
        add_nested(values, arrays, "encoder", self.encoder.state())
        add_nested(values, arrays, "heads", self.heads.state())
        add_nested(values, arrays, "tags", None if self.tags is None else self.tags.state())
        return values, arrays | ({"learnt": self.learnt} if len(self.learnt) else {})

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray], n_labels: int) -> EncoderScorer:
        """Return the component of a state that matches the schema, for a model's number of labels.

        Raises
        ------
        ModelError
            If sizes, numbers or scales are invalid, or a package is missing.
        """
        of_encoder, of_heads = nested(values, arrays, "encoder"), nested(values, arrays, "heads")
        scales = values["scale"], values["label_scale"]
        if of_encoder is None or of_heads is None or not all(0.0 < scale < 1e9 for scale in scales):
            raise ModelError("a scale of the encoder's scores is not a positive number")
        encoder, of_tags = Encoder.from_state(*of_encoder), nested(values, arrays, "tags")
        hidden = encoder.architecture.hidden
        tags = TagLayer.from_state(*of_tags, hidden) if of_tags else None
        return cls(encoder, BiaffineLayers.from_state(*of_heads, n_labels, hidden), *scales, tags, arrays.get("learnt"))


def numbers_of(texts: Iterable[Sequence[str]]) -> np.ndarray:
    """Return a 64-bit hash of each sentence, given the forms of its words, int64.

    Examples
    --------
    >>> numbers_of([["It", "rains"], ["It", "rains", "."]]).tolist()
    [-891368912237996416, 1852899445501756300]
    """
    digests = (blake2b("\t".join(text).encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64)
