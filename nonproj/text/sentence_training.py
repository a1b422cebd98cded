"""Training of the models of sentence ends.

Scores are a weighted mean of those of a linear model and of a network.  The network generalises better, and the linear
model remembers more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nonproj.linear.concatenation import concatenated
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.streams import Stream, generator
from nonproj.options.sections import SegmenterConfig
from nonproj.text.corpus import N_CLASSES, SurfaceToken, raw_text
from nonproj.text.layout import PARAGRAPH, WRAPPED, table_shift
from nonproj.text.sentence_features import N_OF_MARKS, sentence_examples
from nonproj.text.sentence_network import empty_network
from nonproj.text.sentence_network_learning import joined, learn_sentence_network, network_examples
from nonproj.text.token_table import PADDING
from nonproj.text.training_text import TrainingText, folds_of
from nonproj.text.usage import Usage, case_classes, letter_case

MISSED = 0.1
"""Share of the sentence ends after which, in training, the model goes on as if it had missed them."""

LEARNING_RATE = 0.1
"""Rate of the linear models, times a factor for sentences; half and twice this factor were no better
(``research/history.md``)."""

COPIES = 1
"""Number of copies of the training text with varied line breaks, in addition to the text itself; three were no better
(``research/history.md``)."""

_CASE_BITS = 16


def learn_sentences(
    paragraphs: Sequence[list[list[SurfaceToken]]],
    candidate: np.ndarray,
    options: SegmenterConfig,
    seed: int,
    progress: Callable[..., Any],
) -> dict[str, np.ndarray]:
    """Train the models of sentence ends on a treebank's text and on its varied copies; return their tables.

    The statistics of words, for the text of a fold, are counted on the other folds.

    Parameters
    ----------
    paragraphs : sequence
        Result of `nonproj.text.corpus.paragraphs`.
    candidate : ndarray
        Whether tokens end between two kinds of characters: see `nonproj.text.tokens.TokenModel`.
    options : SegmenterConfig
    seed : int
    progress : callable
        ``progress(iterable, description)`` wraps the long loops.
    """
    folds = []
    for number, fold in enumerate(folds_of(paragraphs)):
        varying = [None, *(generator(seed, Stream.VARIED_FOLDS, number, copy) for copy in range(COPIES))]
        folds.append([TrainingText(raw_text(fold, random), candidate) for random in varying])
    plain = [texts[0] for texts in folds]
    counts = [letter_case(text.table(), text.sentence_ends, 1 << _CASE_BITS) for text in plain]
    everything, random = np.sum(counts, axis=0), generator(seed, Stream.MISSED_ENDS)
    rows, gold, examples, share = [], [], [], options.network_share
    for index, texts in enumerate(folds):
        others = plain[:index] + plain[index + 1 :]
        usage = _usage(everything - counts[index], others) if others else _usage(everything, plain)
        for copy, text in enumerate(texts):
            missed, table = random.random(len(text.start)) < MISSED, text.table()
            blanks = table.blanks[PADDING:-PADDING]
            kept = blanks[blanks != PARAGRAPH] >= WRAPPED if copy else slice(None)  # copies differ at line ends only
            more_rows, more_gold = sentence_examples(table, text.sentence_ends, usage, options.bits, missed)
            rows.append(more_rows[kept])
            gold.append(more_gold[kept])
            if share:
                examples.append(network_examples(table, text.sentence_ends, usage, missed, lines=copy > 0))
    # sentences are harder than tokens: more and smaller steps
    slow = LogisticOptions(options.bits, -(-5 * options.epochs // 3), 0.3 * LEARNING_RATE, N_OF_MARKS)
    chance = generator(seed, Stream.SENTENCES)
    weights = fit(concatenated(rows), concatenated(gold), slow, chance, lambda loop: progress(loop, "sentences"))
    network = empty_network()
    if share:
        weights *= np.float32(1.0 - share)
        chance = generator(seed, Stream.SENTENCE_NETWORK)
        network = learn_sentence_network(joined(examples), options.epochs, chance, progress)
        network = network._replace(output=network.output * np.float32(share))
    return {**_usage(everything, plain)._asdict(), "sentences": weights, **network.arrays()}


def _usage(counts: np.ndarray, texts: Sequence[TrainingText]) -> Usage:
    """Return the statistics of the words of some texts; ``counts`` are those of `letter_case`."""
    tables = [text.table() for text in texts]
    tags = np.concatenate([text.tags for text in texts])
    word = np.concatenate([table.word[PADDING:-PADDING] for table in tables])
    suffix = np.concatenate([table.suffix[PADDING:-PADDING] for table in tables])
    return Usage(case_classes(counts), _most_frequent(word, tags), _most_frequent(suffix, tags))


def _most_frequent(keys: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """Return the most frequent class for each hash, uint8; of equally frequent ones, that with the highest number."""
    size = 1 << _CASE_BITS
    pairs = (keys >> np.uint32(table_shift(size))).astype(np.int64) * N_CLASSES + tags
    pairs, counts = np.unique(pairs[tags > 0], return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    found = np.zeros(size, np.uint8)
    found[pairs // N_CLASSES] = pairs % N_CLASSES
    return found
