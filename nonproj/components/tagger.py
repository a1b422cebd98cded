"""Tags and lemmas: the columns LEMMA to FEATS, and the tags that the parser learns from.

A chain of second order scores the tags of neighbouring words by the templates of ``tagger.yaml``; the best sequence is
found by the Viterbi algorithm, and the averaged perceptron with a margin learns the weights (`nonproj.tagging.tagger`).
The scores of a network over character n-grams are added.  Lemmas are made by edit scripts; a linear model chooses one
for each word with its tag (`nonproj.tagging.lemmatizer`).

The parser learns from gold tags, from those of taggers that have not seen the sentence, or from a copy with each, as
``training.tags`` says: a parser trained on gold tags only is not prepared for the mistakes of its tagger.
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
from nonproj.learning.corpus import Corpus, sentences_per_epoch
from nonproj.learning.hyperparameters import AUXILIARY
from nonproj.learning.related_gain import RelatedGain, compare
from nonproj.linear.state import Fitted, load
from nonproj.linear.streams import Stream, generator
from nonproj.model.model import Model
from nonproj.tagging.analyzer import Analyzer, quick
from nonproj.types import Sentence

TAG_COLUMNS = "tag_columns"
"""The array of a checkpoint that holds the tags of the training sentences."""

log = logging.getLogger("nonproj")


class TaggerComponent(Component):
    """The component that trains the tagger and lemmatizer."""

    name, kind = "tagger", Analyzer

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn the columns LEMMA to FEATS, unless all are empty; a continued model does not learn columns it lacks."""
        config, sentences, auxiliary = context.config, corpus.sentences, corpus.auxiliary
        start = context.start.loaded(Analyzer, context.pieces) if context.start else None
        if start:
            sentences = completed([sentence for sentence in sentences if is_tagged(sentence)], start)
        if not config.tagger.epochs or not filled_columns(sentences) or (context.start and not start):
            return start or Fitted()
        separate = context.part_of or not auxiliary.is_for_tagger
        others = [] if separate else auxiliary.sentences
        learnt = where(sentences, ~np.array(lack_tags(sentences)))
        if others and (missing := missing_column(others, sentences)):
            text = "the %s sentences have no %s; the tagger does not learn from them"
            log.warning(text, auxiliary.description, WRITTEN[missing][0] if missing in WRITTEN else "LEMMA")
        learnt += auxiliary_for_tagger(others, sentences, learnt, config.seed)
        folder, vectors = config.features.folder, context.files.vectors
        analyzer = Analyzer.fit(learnt, config.tagger, config.seed, context.progress, folder, vectors, start)
        return analyzer if analyzer.columns else Fitted()

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the tagger in a checkpoint, with the vectors of words that it has learnt from."""
        state = saved.component(cls.name)
        return load(Analyzer, state, context.pieces) if state else Fitted()

    @classmethod
    def extend(cls, corpus: Corpus, context: FitContext, saved: Model | None = None) -> Corpus:
        """Return the corpus with the tags that the parser learns from; copies of a sentence are neighbours."""
        if saved:
            return unpacked(corpus, context, saved)
        config, analyzer, sentences = context.config, context.fitted_as(Analyzer), corpus.sentences
        if analyzer is None:
            return corpus
        context = context.having(config=dataclasses.replace(config, tagger=quick(config.tagger)), fitted={})
        auxiliary, others = corpus.auxiliary, corpus.auxiliary.sentences
        joint = auxiliary.is_related and auxiliary.is_for_tagger and not missing_column(others, sentences)
        lacking = np.array(lack_tags(sentences))
        if lacking.any():
            log.info("%d sentences lack tags, which are predicted", lacking.sum())
            rows = analyzer.annotate(where(sentences, lacking))
            filled = [with_rows(*pair) for pair in zip(where(sentences, lacking), rows, strict=True)]
            sentences = replaced(sentences, lacking, filled)
        learnt = where(sentences, ~lacking)
        versions = [completed(sentences, analyzer) if context.start else list(sentences)]
        if config.training.tags != "gold" and len(learnt) > 1:
            began, folds = time.perf_counter(), min(config.tagger.folds, len(learnt))
            examples = corpus.having(sentences=learnt) if joint else Corpus(learnt)
            found = jackknife(cls, examples, context, folds, overwrite=True)
            pairs = zip(learnt, found, strict=True)
            versions.append(replaced(versions[0], ~lacking, [retagged(own, other.rows) for own, other in pairs]))
            log.info("tags of %d folds: %.1f s", folds, time.perf_counter() - began)
        versions = versions if config.training.tags == "both" else versions[-1:]
        tagged = [sentence for copies in zip(*versions, strict=True) for sentence in copies]
        given = config.training.tags == "gold" and all(map(is_tagged, others)) and not missing_column(others, sentences)
        if others and not given:
            if auxiliary.is_for_tagger and auxiliary_for_tagger(others, sentences, learnt, config.seed):
                separate = cls.fit(Corpus(sentences), context)  # which has not seen them
                analyzer = separate if isinstance(separate, Analyzer) else analyzer
            rows = analyzer.annotate(others, overwrite=True)
            others = [with_rows(*pair) for pair in zip(others, rows, strict=True)]
        return corpus.having(tagged=tagged, copies=len(versions)).with_auxiliary(others)

    @classmethod
    def compare(cls, corpus: Corpus, context: FitContext) -> RelatedGain | None:
        """Return the gain in tagging accuracy from related treebanks, by jackknifing; None if it is not measurable."""
        sentences, others = where(corpus.sentences, ~np.array(lack_tags(corpus.sentences))), corpus.auxiliary.sentences
        folds, seed = min(context.config.tagger.folds, len(sentences)), context.config.seed
        if folds < 2 or not auxiliary_for_tagger(others, sentences, sentences, seed):
            return None
        right = []
        for each in (Corpus(sentences), corpus.having(sentences=sentences)):
            found = jackknife(cls, each, context, folds, overwrite=True)
            right.append(np.array([_right_tags(*pair) for pair in zip(sentences, found, strict=True)], np.int64))
        return compare("tags", np.array([len(sentence) for sentence in sentences], np.int64), *right)

    @classmethod
    def pack(cls, corpus: Corpus) -> dict[str, np.ndarray]:
        """Return the tags of the sentences."""
        return {TAG_COLUMNS: pack_tags(corpus.all_sentences)}


def unpacked(corpus: Corpus, context: FitContext, saved: Model) -> Corpus:
    """Return the corpus with the tags in a checkpoint."""
    tags = context.config.training.tags if context.fitted_as(Analyzer) else "gold"
    both = tags == "both" and lack_tags(corpus.sentences).count(False) > 1
    copies = 2 if both else 1
    repeated = [sentence for sentence in corpus.sentences for _ in range(copies)]
    tagged = unpack_tags(saved.weights.get(TAG_COLUMNS), [*repeated, *corpus.auxiliary.sentences])
    found = corpus.having(tagged=tagged[: len(repeated)], copies=copies)
    return found.with_auxiliary(tagged[len(repeated) :])


def _right_tags(gold: Sentence, found: Sentence) -> int:
    """Return the number of words with the right UPOS, XPOS and features."""
    pairs = zip(gold.rows, found.rows, strict=True)
    return sum(own[UPOS : FEATS + 1] == other[UPOS : FEATS + 1] for own, other in pairs)


def where(sentences: Sequence[Sentence], mask: np.ndarray) -> list[Sentence]:
    """Return the sentences for which a mask is true."""
    return list(itertools.compress(sentences, mask))


def completed(sentences: Sequence[Sentence], analyzer: Analyzer) -> list[Sentence]:
    """Return sentences with predictions in the columns that an analyzer fills and these sentences do not."""
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
    """Return sentences with others in place of those for which a mask is true."""
    found = list(sentences)
    for i, other in zip(np.flatnonzero(mask), others, strict=True):
        found[i] = other
    return found


def auxiliary_for_tagger(
    others: Sequence[Sentence], sentences: Sequence[Sentence], learnt: Sequence[Sentence], seed: int
) -> list[Sentence]:
    """Return random auxiliary sentences for a tagger, with about the number of words that it learns from.

    Empty if they lack a column of the treebank, or if the treebank is large, so that its own tags teach more:
    see ``research/history.md``.
    """
    words, others = sum(map(len, learnt)), [sentence for sentence in others if is_tagged(sentence)]
    if words >= AUXILIARY.tagger_words or missing_column(others, sentences):
        return []
    order = generator(seed, Stream.SILVER_OF_TAGGER).permutation(len(others))
    return [others[i] for i in np.sort(order[: sentences_per_epoch(others, words)])]


def is_tagged(sentence: Sentence) -> bool:
    """Return whether each word has a tag."""
    return all(row[UPOS] != "_" or row[XPOS] != "_" for row in sentence.rows)


def missing_column(others: Sequence[Sentence], sentences: Sequence[Sentence]) -> int:
    """Return the last of the columns LEMMA to FEATS that ``sentences`` fill and ``others`` do not; 0 for none."""
    return max(set(filled_columns(sentences)) - set(filled_columns(others)), default=0)


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
    """Return a mask of the sentences with partial trees and untagged words, from which no tagger learns.

    All are False if all sentences are such: then the treebank has words without tags on purpose.

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
