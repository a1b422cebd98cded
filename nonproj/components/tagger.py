"""Tags and lemmas: the columns LEMMA to FEATS, and the tags that the parser learns from.

A chain of second order scores the tags of neighbouring words by the templates of ``tagger.yaml``; the best sequence is
found by the Viterbi algorithm, and the averaged perceptron with a margin learns the weights (`nonproj.tagging.tagger`).
The scores of a network over character n-grams are added.  Lemmas are edit scripts, of which a linear model chooses one
for each word with its tag (`nonproj.tagging.lemmatizer`).

The parser learns from gold tags, from those of taggers that have not seen the sentence, or from a copy with each, as
``training.tags`` says: one that has only seen gold tags does not know the mistakes of its tagger.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import sys
import time
from collections.abc import Sequence

import numpy as np

from nonproj.components.base import Component, FitContext, jackknife
from nonproj.components.preparation import WRITTEN
from nonproj.errors import ModelError
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS, filled_columns
from nonproj.io.copies import with_rows
from nonproj.io.partial import is_partial
from nonproj.learning.together import Together, compare
from nonproj.learning.training_data import TrainingData, taken
from nonproj.linear.streams import Stream, generator
from nonproj.model.model import Model
from nonproj.tagging.analyzer import Analyzer, quick
from nonproj.types import Sentence

TAGGED_ALONE = 100_000
"""From this number of words on, taggers learn from the treebank alone, and not from further sentences."""

TAG_COLUMNS = "tag_columns"
"""The array of a checkpoint that holds the tags of the training sentences."""

log = logging.getLogger("nonproj")


class TaggerComponent(Component):
    """The tagger and lemmatizer."""

    name, kind = "tagger", Analyzer

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> Analyzer | None:
        """Learn the columns LEMMA to FEATS, unless all are empty; those that a model lacks are not learnt later."""
        config = context.config
        start = context.start.loaded(Analyzer) if context.start else None
        if start:
            sentences = completed([sentence for sentence in sentences if is_tagged(sentence)], start)
        if not config.tagger.epochs or not filled_columns(sentences) or (context.start and not start):
            return start
        alone = context.part_of or context.data.tagged_alone
        further = [] if alone else context.data.further_sentences
        learnt = where(sentences, ~np.array(lack_tags(sentences)))
        if further and (missing := missing_column(further, sentences)):
            text = "the %s sentences have no %s; the tagger does not learn from them"
            log.warning(text, context.data.kind, WRITTEN[missing][0] if missing in WRITTEN else "LEMMA")
        learnt += further_for_tagger(further, sentences, learnt, config.seed)
        folder, vectors = config.features.folder, context.files.vectors
        analyzer = Analyzer.fit(learnt, config.tagger, config.seed, context.progress, folder, vectors, start)
        return analyzer if analyzer.columns else None

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the sentences with the tags that the parser learns from; copies of a sentence are neighbours."""
        config, analyzer, data = context.config, context.fitted[cls.name], context.data
        if analyzer is None:
            return data
        options = dataclasses.replace(config, tagger=quick(config.tagger))
        lacking, further = np.array(lack_tags(sentences)), data.further_sentences
        together = data.related and not data.tagged_alone and not missing_column(further, sentences)
        beside = data if together else TrainingData()
        apart = context.having(config=options, data=beside, fitted={})
        if lacking.any():
            log.info("%d sentences lack tags, which are predicted", lacking.sum())
            rows = analyzer.annotate(where(sentences, lacking))
            filled = [with_rows(*pair) for pair in zip(where(sentences, lacking), rows, strict=True)]
            sentences = replaced(sentences, lacking, filled)
        learnt = where(sentences, ~lacking)
        versions = [completed(sentences, analyzer) if context.start else list(sentences)]
        if config.training.tags != "gold" and len(learnt) > 1:
            began, folds = time.perf_counter(), min(config.tagger.folds, len(learnt))
            found = jackknife(cls, learnt, apart, folds, overwrite=True)
            pairs = zip(learnt, found, strict=True)
            versions.append(replaced(versions[0], ~lacking, [retagged(own, other.rows) for own, other in pairs]))
            log.info("tags of %d folds: %.1f s", folds, time.perf_counter() - began)
        versions = versions if config.training.tags == "both" else versions[-1:]
        predicted = [sentence for copies in zip(*versions, strict=True) for sentence in copies]
        given = (
            config.training.tags == "gold" and all(map(is_tagged, further)) and not missing_column(further, sentences)
        )
        if further and not given:
            seen = not data.tagged_alone and further_for_tagger(further, sentences, learnt, config.seed)
            if seen:  # their tagger has not seen them
                analyzer = cls.fit(sentences, apart.having(data=TrainingData())) or analyzer
            rows = analyzer.annotate(further, overwrite=True)
            further = [with_rows(*pair) for pair in zip(further, rows, strict=True)]
        return data._replace(sentences=predicted, copies=len(versions), further=0).with_further(further)

    @classmethod
    def compare(cls, sentences: Sequence[Sentence], together: FitContext, alone: FitContext) -> Together | None:
        """Return what related treebanks are worth, by taggers that have not seen a sentence; None without these."""
        sentences, further = where(sentences, ~np.array(lack_tags(sentences))), together.data.further_sentences
        folds, seed = min(together.config.tagger.folds, len(sentences)), together.config.seed
        if folds < 2 or not further_for_tagger(further, sentences, sentences, seed):
            return None
        right = []
        for context in (alone, together):
            found = jackknife(cls, sentences, context, folds, overwrite=True)
            right.append(np.array([_right_tags(*pair) for pair in zip(sentences, found, strict=True)], np.int64))
        return compare("tags", np.array([len(sentence) for sentence in sentences], np.int64), *right)

    @classmethod
    def pack(cls, data: TrainingData) -> dict[str, np.ndarray]:
        """Return the tags of the sentences."""
        return {TAG_COLUMNS: pack_tags(data.sentences)}

    @classmethod
    def unpack(cls, saved: Model, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the sentences with the tags in a checkpoint."""
        tags = context.config.training.tags if context.fitted[cls.name] else "gold"
        both = tags == "both" and lack_tags(sentences).count(False) > 1
        copies = 2 if both else 1
        repeated = [sentence for sentence in sentences for _ in range(copies)]
        tagged = unpack_tags(saved.weights.get(TAG_COLUMNS), [*repeated, *context.data.further_sentences])
        return context.data._replace(sentences=tagged, copies=copies)


def _right_tags(gold: Sentence, found: Sentence) -> int:
    """Return how many words have the right UPOS, XPOS and features."""
    pairs = zip(gold.rows, found.rows, strict=True)
    return sum(own[UPOS : FEATS + 1] == other[UPOS : FEATS + 1] for own, other in pairs)


def where(sentences: Sequence[Sentence], mask: np.ndarray) -> list[Sentence]:
    """Return the sentences for which a mask is true."""
    return list(itertools.compress(sentences, mask))


def completed(sentences: Sequence[Sentence], analyzer: Analyzer) -> list[Sentence]:
    """Return sentences in which the columns that an analyzer fills, and these do not, are predicted."""
    absent = set(analyzer.columns) - set(filled_columns(sentences))
    if not absent:
        return list(sentences)
    found = []
    for sentence, rows in zip(sentences, analyzer.annotate(sentences), strict=True):
        pairs = zip(sentence.rows, rows, strict=True)
        chosen = [[new[c] if c in absent else text for c, text in enumerate(own)] for own, new in pairs]
        found.append(with_rows(sentence, chosen))
    return found


def replaced(sentences: Sequence[Sentence], mask: np.ndarray, others: Sequence[Sentence]) -> list[Sentence]:
    """Return sentences with others in the place of those for which a mask is true."""
    found = list(sentences)
    for i, other in zip(np.flatnonzero(mask), others, strict=True):
        found[i] = other
    return found


def further_for_tagger(
    further: Sequence[Sentence], sentences: Sequence[Sentence], learnt: Sequence[Sentence], seed: int
) -> list[Sentence]:
    """Return random further sentences for a tagger, about as many words as those that it learns from.

    Empty if they lack a column of the treebank, or if it has `TAGGED_ALONE` words or more, whose own tags teach more:
    see ``research/history.md``.
    """
    words, further = sum(map(len, learnt)), [sentence for sentence in further if is_tagged(sentence)]
    if words >= TAGGED_ALONE or missing_column(further, sentences):
        return []
    order = generator(seed, Stream.SILVER_OF_TAGGER).permutation(len(further))
    return [further[i] for i in np.sort(order[: taken(further, words)])]


def is_tagged(sentence: Sentence) -> bool:
    """Return whether each word has a tag."""
    return all(row[UPOS] != "_" or row[XPOS] != "_" for row in sentence.rows)


def missing_column(further: Sequence[Sentence], sentences: Sequence[Sentence]) -> int:
    """Return the last column, of LEMMA to FEATS, that the treebank fills and further sentences do not; 0 for none."""
    return max(set(filled_columns(sentences)) - set(filled_columns(further)), default=0)


def retagged(sentence: Sentence, rows: list[list[str]]) -> Sentence:
    """Return a copy of a sentence with other tags; rows that are equal, as most are, are not stored twice.

    Examples
    --------
    >>> sentence = Sentence([["1", "Regn", "regn", "N", *"______"], ["2", ".", ".", "T", *"______"]])
    >>> copy = retagged(sentence, [["1", "Regn", "regn", "V", *"______"], ["2", ".", ".", "T", *"______"]])
    >>> [row is own for row, own in zip(copy.rows, sentence.rows)], copy.rows[0][3]
    ([False, True], 'V')
    """
    shared = [own if own == row else row for own, row in zip(sentence.rows, rows, strict=True)]
    return with_rows(sentence, shared)


def pack_tags(sentences: Sequence[Sentence]) -> np.ndarray:
    """Return the columns LEMMA to FEATS of all words as one array of bytes, uint8: a line of text for each word.

    Examples
    --------
    >>> sentence = Sentence([["1", "Regn", "regn", "N", "NC", "_", "0", "ROOT", "_", "_"]])
    >>> packed = pack_tags([sentence])
    >>> packed.tobytes()
    b'regn\\tN\\tNC\\t_'
    >>> unpack_tags(packed, [sentence])[0].rows == sentence.rows
    True
    """
    texts = ("\n".join("\t".join(row[LEMMA : FEATS + 1]) for row in s.rows) for s in sentences if s.rows)
    return np.frombuffer(b"\n".join(text.encode("utf-8", "surrogatepass") for text in texts), np.uint8)


def unpack_tags(packed: np.ndarray | None, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences with the tags from `pack_tags`; raise `ModelError` if they are of other sentences."""
    if packed is None:
        raise ModelError("it has the tags of other sentences")
    try:
        lines = iter(packed.tobytes().decode("utf-8", "surrogatepass").split("\n"))
        tagged = []
        for sentence in sentences:
            rows = []
            for row in sentence.rows:
                columns = next(lines).split("\t")
                if len(columns) != FEATS + 1 - LEMMA:
                    raise ValueError
                rows.append([*row[:LEMMA], *map(sys.intern, columns), *row[FEATS + 1 :]])
            tagged.append(retagged(sentence, rows))
        if next(lines, None) is not None:
            raise ValueError
    except (StopIteration, ValueError):
        raise ModelError("it has the tags of other sentences") from None
    return tagged


def lack_tags(sentences: Sequence[Sentence]) -> list[bool]:
    """Return which sentences with partial trees have words without a tag, from which no tagger is to learn.

    None has, if all have: the treebank then has words without tags.

    Examples
    --------
    >>> rows = [["1", "Regn", *"________"]], [["1", "Regn", "_", "N", "_", "_", "0", "ROOT", "_", "_"]]
    >>> lack_tags([Sentence(rows[0], np.array([-1, -1])), Sentence(rows[1], np.array([-1, 0]))])
    [True, False]
    """
    used = [column for column in filled_columns(sentences) if column in (UPOS, XPOS)]
    lacking = [
        bool(used) and is_partial(sentence) and any(all(row[c] == "_" for c in used) for row in sentence.rows)
        for sentence in sentences
    ]
    return [False] * len(lacking) if all(lacking) else lacking
