"""Scores of tags from the vectors of a pretrained encoder, which are added to those of the tagger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.kernels.threads import one_thread
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.scoring.encoders.tags import TAG_UNITS
from nonproj.tagging.chain import FormRows
from nonproj.tagging.network import sum_parts
from nonproj.tagging.tagset import TagSet
from nonproj.tagging.words import FormTable
from nonproj.types import Float32s, Float64s, Int32s


class EncoderTagScorer:
    """Scores the tags of a tagger; threads may share it.

    Parameters
    ----------
    scorer : EncoderScorer
        The encoder, with a layer of tags.
    tags : TagSet
        Tags of the tagger.
    longest : int
        Maximum number of words of an encoded sentence; no parser takes longer ones.

    Raises
    ------
    ModelError
        The layer is for other tags.
    """

    def __init__(self, scorer: EncoderScorer, tags: TagSet, longest: int):
        assert scorer.tags is not None
        output = scorer.tags.arrays["tag_output"]
        if len(output) != tags.n_units:
            raise ModelError(f"the encoder scores {len(output)} parts of tags; the tagger has {tags.n_units}")
        self.scorer, self.layer, self.longest = scorer, scorer.tags, longest
        self.of_tags = sum_parts(output, tags)

    def hidden(self, texts: Sequence[Sequence[str]]) -> Float32s:
        """Return the hidden layers of all words of some sentences, float32[n_words, TAG_UNITS], given their forms."""
        fitting = iter(self.scorer.vectors([text for text in texts if len(text) <= self.longest], kept=True))
        found = [np.zeros((0, TAG_UNITS), np.float32)]
        with one_thread:
            for text in texts:  # one by one, because a product's last bits depend on the number of its rows
                known = self.layer.hidden(next(fitting)[1:]) if len(text) <= self.longest else None
                found.append(np.zeros((len(text), TAG_UNITS), np.float32) if known is None else known)
        return np.concatenate(found)

    def best(self, hidden: Float32s, lengths: Sequence[int], count: int) -> list[tuple[int, ...]]:
        """Return the tags with the highest scores of each word of some sentences, in the order of their numbers.

        Words of sentences that are not encoded have none.

        Parameters
        ----------
        hidden : ndarray of shape (n_words, TAG_UNITS), float32
            The result of `hidden`.
        lengths : sequence of int
            The numbers of words of the sentences.
        count : int
        """
        found, least = list[tuple[int, ...]](), min(count, len(self.of_tags)) - 1
        with one_thread:
            for words in np.split(hidden, np.cumsum(lengths)[:-1]):  # one by one, as above
                if len(words) > self.longest:
                    found += [()] * len(words)
                    continue
                order = np.argpartition(-(words @ self.of_tags.T), least)[:, : least + 1]
                found += map(tuple, np.sort(order).tolist())
        return found

    def add(self, hidden: Float32s, words: FormTable, text: FormRows, factor: float, scores: Float64s) -> None:
        """Add a factor times the scores of all candidates of the words of some sentences.

        Parameters
        ----------
        hidden : ndarray of shape (n_words, TAG_UNITS), float32
            The result of `hidden`.
        words : FormTable
        text : FormRows
        factor : float
        scores : ndarray of shape (n_words, limit), float64
        """
        add_scores(hidden, self.of_tags, words.count, words.tag, text.form, self.layer.scale * factor, scores)


def encoded_tags(scorer: EncoderScorer | None, tags: TagSet | None, longest: int) -> EncoderTagScorer | None:
    """Return the scorer of tags by an encoder; None if there is no encoder with a layer of tags, or no tagger."""
    if scorer is None or scorer.tags is None or tags is None:
        return None
    return EncoderTagScorer(scorer, tags, longest)


@kernel
def add_scores(
    hidden: Float32s, of_tags: Float32s, count: Int32s, tag: Int32s, form: Int32s, factor: float, scores: Float64s
) -> None:
    """Add a factor times the scores of tags to those of the candidates of each word that has several."""
    for i in range(form.shape[0]):
        row = form[i]
        if count[row] < 2:
            continue
        for c in range(count[row]):
            total, t = 0.0, tag[row, c]
            for k in range(hidden.shape[1]):
                total += np.float64(hidden[i, k]) * of_tags[t, k]
            scores[i, c] += factor * total
