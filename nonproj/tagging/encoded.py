"""Scores of tags from the vectors of a pretrained encoder, which are added to those of the tagger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.tagging.chain import Text
from nonproj.tagging.network import sum_parts
from nonproj.tagging.tagset import TagSet
from nonproj.tagging.words import Words
from nonproj.types import Float32s, Float64s, Int32s


class EncodedTags:
    """Scores the tags of a tagger; threads may share it.

    Parameters
    ----------
    scorer : EncoderScorer
        With a layer of tags.
    tags : TagSet
        The tagger's.

    Raises
    ------
    ModelError
        The layer is for other tags.
    """

    def __init__(self, scorer: EncoderScorer, tags: TagSet):
        assert scorer.tags is not None
        output = scorer.tags.arrays["tag_output"]
        if len(output) != tags.n_units:
            raise ModelError(f"the encoder scores {len(output)} parts of tags; the tagger has {tags.n_units}")
        self.scorer, self.layer, self.of_tags = scorer, scorer.tags, sum_parts(output, tags)

    def hidden(self, texts: Sequence[Sequence[str]]) -> Float32s:
        """Return the hidden layers of all words of some sentences, float32[n_words, TAG_UNITS], given their forms."""
        vectors = [each[1:] for each in self.scorer.vectors(texts, kept=True)]
        found: Float32s = self.layer.hidden(np.concatenate(vectors))
        return found

    def add(self, hidden: Float32s, words: Words, text: Text, factor: float, scores: Float64s) -> None:
        """Add a factor times the scores of all candidates of the words of some sentences.

        Parameters
        ----------
        hidden : ndarray of shape (n_words, TAG_UNITS), float32
            The result of `hidden`.
        words : Words
        text : Text
        factor : float
        scores : ndarray of shape (n_words, limit), float64
        """
        _add_scores(hidden, self.of_tags, words.count, words.tag, text.form, self.layer.scale * factor, scores)


def encoded_tags(scorer: EncoderScorer | None, tags: TagSet | None) -> EncodedTags | None:
    """Return what scores tags by an encoder; None if there is no encoder with a layer of tags, or no tagger."""
    return EncodedTags(scorer, tags) if scorer is not None and scorer.tags is not None and tags is not None else None


@kernel
def _add_scores(
    hidden: Float32s, of_tags: Float32s, count: Int32s, tag: Int32s, form: Int32s, factor: float, scores: Float64s
) -> None:
    """Add the scores of the candidates of each word that has several."""
    for i in range(form.shape[0]):
        row = form[i]
        if count[row] < 2:
            continue
        for c in range(count[row]):
            total, t = 0.0, tag[row, c]
            for k in range(hidden.shape[1]):
                total += np.float64(hidden[i, k]) * of_tags[t, k]
            scores[i, c] += factor * total
