"""Morphological analysis: UPOS, XPOS, FEATS and lemmas of the words of sentences, in one model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS, filled_columns
from nonproj.io.copies import with_rows
from nonproj.linear.state import Fitted, Schema, add_nested, nested
from nonproj.options.sections import TaggerConfig
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.vectors import WordVectors
from nonproj.tagging.encoded import EncoderTagScorer
from nonproj.tagging.given import GivenWord, TagOptions, WordsOf, chosen, given_in, options_of, restricted
from nonproj.tagging.lemmatizer import Lemmatizer
from nonproj.tagging.tagger import Tagger
from nonproj.tagging.tagset import TAG_COLUMNS, TagSet
from nonproj.tagging.templates import load_templates
from nonproj.types import Float64s, Sentence

_TAG, _LEMMA_KEY, _ROWS = itemgetter(UPOS, XPOS, FEATS), itemgetter(1, UPOS, XPOS, FEATS), attrgetter("rows")


class Analyzer(Fitted):
    """A trained tagger and lemmatizer; `fit` trains one.

    Attributes
    ----------
    columns : tuple of int
        The columns that it fills, of 2 (LEMMA), 3 (UPOS), 4 (XPOS) and 5 (FEATS): those that its training data have.
    words_of : callable or None
        Returns a user's lexicon entries of the words of a token, which fill absent columns.

    Examples
    --------
    >>> row = lambda form, lemma, upos: ["1", form, lemma, upos, "_", "_", "_", "_", "_", "_"]
    >>> training = [Sentence([row("Hunde", "hund", "N"), row("sover", "sove", "V")])] * 4
    >>> analyzer = Analyzer.fit(training, TaggerConfig(bits=12, epochs=2))
    >>> analyzer.columns
    (2, 3)
    >>> [row[2:4] for row in analyzer.annotate([Sentence([row("Hunde", "_", "_"), row("sover", "_", "_")])])[0]]
    [['hund', 'N'], ['sove', 'V']]
    """

    name: ClassVar[str] = "tagger"
    schema: ClassVar[Schema] = Schema(
        {}, {}, [Schema({"tagger": Tagger.schema}, {}), Schema({"lemmatizer": Lemmatizer.schema}, {})]
    )

    def __init__(self, tagger: Tagger | None, lemmatizer: Lemmatizer | None):
        self.tagger, self.lemmatizer = tagger, lemmatizer
        self.tag_columns = tagger.columns if tagger else ()
        self.columns = ((LEMMA,) if lemmatizer else ()) + self.tag_columns
        self.words_of: WordsOf | None = None

    def using(self, words_of: WordsOf | None) -> Analyzer:
        """Return an analyzer of the same models that obeys a user's lexicon."""
        found = copy.copy(self)
        found.words_of = words_of
        return found

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sentence],
        options: TaggerConfig,
        seed: int = 0,
        progress: Callable[..., Any] | None = None,
        folder: str | None = None,
        vectors: WordVectors | PieceVectors | None = None,
        start: Analyzer | None = None,
    ) -> Analyzer:
        """Train on sentences with gold LEMMA, UPOS, XPOS and FEATS; empty columns are not learnt.

        Parameters
        ----------
        sentences : sequence of Sentence
        options : TaggerConfig
        seed : int
            Seed of the order of the sentences.
        progress : callable, optional
            ``progress(iterable, description)`` wraps the long loops, as ``tqdm`` does.
        folder : str, optional
            Folder of ``tagger.yaml`` and ``lemmatizer.yaml``; built-in files take the place of missing ones.
        vectors : WordVectors or PieceVectors, optional
            Word vectors that the tagger's network learns from.
        start : Analyzer, optional
            A trained analyzer to continue, with its own templates; it does not learn columns that it lacks.

        Raises
        ------
        ConfigError
            If there is nothing to learn, or a template file is wrong.
        """
        progress = progress or (lambda items, _: items)
        files = load_templates(folder)
        columns = filled_columns(sentences)
        if not columns:
            raise ConfigError("treebank.train", "there are no lemmas and no tags to learn")
        tagger, lemmatizer = (start.tagger, start.lemmatizer) if start else (None, None)
        files |= {name: each.templates for name, each in (("tagger", tagger), ("lemmatizer", lemmatizer)) if each}
        if columns != [LEMMA] and (tagger or not start):
            tagger = Tagger.fit(sentences, options, files["tagger"], seed, progress, vectors, tagger)
        if LEMMA in columns and (lemmatizer or not start):
            lemmatizer = Lemmatizer.fit(sentences, options, files["lemmatizer"], seed, progress, lemmatizer)
        return cls(tagger, lemmatizer)

    @property
    def tags(self) -> TagSet | None:
        """The tags that it knows; None without a tagger."""
        return self.tagger.tags if self.tagger else None

    def annotate(
        self, batch: Sequence[Sentence], overwrite: bool = False, encoded: EncoderTagScorer | None = None
    ) -> list[list[list[str]]]:
        """Return new rows of each sentence, with the absent columns filled.

        Given columns are kept, and used: a given UPOS restricts the tags, and tags condition the lemmas.  A column is
        absent where it is ``_``: FEATS if it is ``_`` for all words of a sentence, the others word by word.

        Parameters
        ----------
        batch : sequence of Sentence
            Sentences; many at once are faster than one at a time.
        overwrite : bool
            Replace all of `columns`, as if they were absent.
        encoded : EncoderTagScorer, optional
            Adds scores of tags by a pretrained encoder.

        Returns
        -------
        list of list of list of str
            The ten columns of the words of each sentence.
        """
        return self.annotate_with_margins(batch, overwrite, encoded)[0]

    def annotate_with_margins(
        self, batch: Sequence[Sentence], overwrite: bool = False, encoded: EncoderTagScorer | None = None
    ) -> tuple[list[list[list[str]]], list[Float64s]]:
        """Return the rows of `annotate`, and for each sentence the margins of its tags, float64[n].

        See `nonproj.tagging.tagger.Tagger.tag_with_margins`; the margins are infinite if there is no tagger.
        """
        words = list(map(list.copy, chain.from_iterable(map(_ROWS, batch))))
        margins, given = self._tag(batch, words, overwrite, encoded)
        if self.lemmatizer:
            lemmas = self.lemmatizer.lemmas(list(map(_LEMMA_KEY, words)))
            for i, (row, lemma) in enumerate(zip(words, lemmas, strict=True)):
                if overwrite or row[LEMMA] == "_":
                    row[LEMMA] = chosen(lemma, LEMMA, given[i]) if i in given else lemma
        made, split, end = [], [], 0
        for sentence in batch:
            begin, end = end, end + len(sentence.rows)
            made.append(words[begin:end])
            split.append(margins[begin:end])
        return made, split

    def _tag(
        self, batch: Sequence[Sentence], words: list[list[str]], overwrite: bool, encoded: EncoderTagScorer | None
    ) -> tuple[Float64s, dict[int, GivenWord]]:
        """Fill the absent tags in the rows of all words; return the margins of the tags, and the entries of a user's
        lexicon that agree with the tags, by the numbers of the words."""
        given = given_in(batch, self.words_of) if self.words_of else {}
        if self.tagger is None:
            return np.full(len(words), np.inf), given
        keys: list[Any] = []
        absent: list[Sequence[int]] = []
        for sentence in batch:
            rows = sentence.rows
            if overwrite or set(map(_TAG, rows)) <= {("_", "_", "_")}:
                keys += map(itemgetter(1), rows)
                absent += [self.tag_columns] * len(rows)
                continue
            feats = any(row[FEATS] != "_" for row in rows)
            for row in rows:
                own = [c for c in self.tag_columns if row[c] == "_" and not (c == FEATS and feats)]
                known = [row[c] if c in self.tag_columns and c not in own else None for c in TAG_COLUMNS]
                keys.append((row[1], *known))
                absent.append(own)
        added = (encoded, encoded.hidden([sentence.forms for sentence in batch])) if encoded else None
        options: dict[int, TagOptions] = {}
        for i, own in given.items():
            options[i] = options_of(keys[i], own, self.tagger.tags)
            keys[i] = restricted(keys[i], options[i], len(self.tagger.tags))
        found, margins = self.tagger.tag_with_margins(keys, list(map(len, map(_ROWS, batch))), added)
        for row, columns, tag in zip(words, absent, found, strict=True):
            for column in columns:
                row[column] = tag[column - UPOS]
        for i, pairs in options.items():
            given[i] = [word for word, tags in pairs if self.tagger.tags.number[found[i]] in tags]
            others = (c for c in TAG_COLUMNS if c not in self.tag_columns and (overwrite or words[i][c] == "_"))
            for column in (*absent[i], *others):
                words[i][column] = chosen(words[i][column], column, given[i])
        return margins, given

    def apply(
        self, batch: Sequence[Sentence], overwrite: bool = False, encoded: EncoderTagScorer | None = None
    ) -> list[Sentence]:
        """Return the sentences with the absent columns filled, and with the margins of their tags.

        Sentences that lack nothing are returned unchanged, unless ``overwrite``; for ``encoded`` see `annotate`.
        """
        tagged = list(batch)
        chosen = [i for i, sentence in enumerate(batch) if overwrite or self._lacks(sentence.rows)]
        if chosen:
            found = self.annotate_with_margins(list(map(batch.__getitem__, chosen)), overwrite, encoded)
            for i, rows, margins in zip(chosen, *found, strict=True):
                tagged[i] = with_rows(batch[i], rows, margins)
        return tagged

    def _lacks(self, rows: list[list[str]]) -> bool:
        """Return whether a word lacks its tag or lemma, or all words lack features (single words may have none)."""
        for column in self.columns:
            absent = list(map(itemgetter(column), rows)).count("_")
            if absent == len(rows) if column == FEATS else absent:
                return True
        return False

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the model."""
        meta: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        add_nested(meta, arrays, "tagger", self.tagger.state() if self.tagger else None)
        add_nested(meta, arrays, "lemmatizer", self.lemmatizer.state() if self.lemmatizer else None)
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, np.ndarray], pieces: PieceVectors | None = None
    ) -> Analyzer:
        """Return the model of a `state`, given the vectors by pieces that it has learnt from, if any.

        Raises
        ------
        ModelError
            If it is invalid: all values that kernels and writers rely on are checked.
        """
        tagger, lemmatizer = nested(meta, arrays, "tagger"), nested(meta, arrays, "lemmatizer")
        if not tagger and not lemmatizer:
            raise ModelError("the tagger's state has neither a tagger nor a lemmatizer")
        try:
            return cls(
                Tagger.from_state(*tagger, pieces) if tagger else None,
                Lemmatizer.from_state(*lemmatizer) if lemmatizer else None,
            )
        except ConfigError as error:
            raise ModelError(str(error)) from None


def quick(options: TaggerConfig) -> TaggerConfig:
    """Return the options of a tagger that only tags the training data of another model."""
    return replace(options, restarts=1, network_epochs=(options.network_epochs + 1) // 2)
