"""The lemmatizer: a classifier over edit scripts, given a form and its tag.

It is the tagger's model without neighbours: the scripts take the place of tags, and a word is a form with its tag.  The
candidates are the scripts that were seen with the same form and tag, or with the tag and the form's suffixes.  A script
that replaces the form, or most of it, is only a candidate for forms that it was seen with; unknown symbols are their
own lemmas.
"""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.threads import PerThread
from nonproj.linear.folds import blocks
from nonproj.linear.hashing import hash_numbers, hash_suffixes, hash_texts
from nonproj.linear.state import Schema
from nonproj.linear.streams import Stream, generator
from nonproj.linear.weights import quantise
from nonproj.options.sections import TaggerConfig
from nonproj.tagging.chain import Chain, FormRows, make_chain
from nonproj.tagging.decoding import ChainExamples, GoldTags, score_words
from nonproj.tagging.learning import LEXICON_FOLDS, MARGIN, ChainStart, Progress, learn_chain
from nonproj.tagging.lexicon import (
    LEXICON,
    Counter,
    Keys,
    Lexicon,
    Smoothing,
    check_lexicon,
    find_forms,
    find_keys,
    list_candidates,
)
from nonproj.tagging.scripts import apply_script, is_doubtful, is_script, is_whole, make_script
from nonproj.tagging.tagger import check_weights
from nonproj.tagging.templates import ChainTemplates, chain_templates
from nonproj.tagging.words import (
    TEXT_ATTRIBUTES,
    FormTable,
    bin_counts,
    bin_probabilities,
    is_symbol,
    logarithm,
    outside,
    share_words,
    tables_of_folds,
    text_atoms,
)
from nonproj.types import Sentence

MAX_SCRIPTS = 30_000
"""Maximum number of scripts, the most frequent ones; their numbers are int16 in files."""

LEMMA_ATTRIBUTES = (*TEXT_ATTRIBUTES, "upos", "pos", "tag")
"""Attributes of templates: `TEXT_ATTRIBUTES` of the form; the UPOS of its tag, UPOS and XPOS, and the whole triple."""

_SUFFIX = 8
_SMOOTHING = Smoothing(suffix=1.0, lower=1.0, form=0.3, threshold=1e-3, limit=12)
_CACHED_WORDS = 200_000

Word = tuple[str, str, str, str]
"""A form with its UPOS, XPOS and FEATS."""


class Lemmatizer:
    """A trained lemmatizer; threads may share it.

    Parameters
    ----------
    scripts : list of str
    lexicon : Lexicon
        Lexicon of scripts.
    known : tuple of ndarray
        Sorted hashes of lemmas with their UPOS, and their counts, both int32.
    templates : dict
        The content of the template file.
    weights : ndarray, int16
        The table, its size a power of two.
    """

    schema: ClassVar[Schema] = Schema(
        {"scripts": list, "templates": dict},
        {"weights": ("int16", 1), "known_key": ("int32", "known"), "known_count": ("int32", "known"), **LEXICON},
    )

    def __init__(
        self,
        scripts: list[str],
        lexicon: Lexicon,
        known: tuple[Any, ...],
        templates: dict[str, Any],
        weights: np.ndarray,
    ):
        self.scripts, self.lexicon, self.known = scripts, lexicon, known
        self.templates, self.weights = templates, weights
        self.table = chain_templates(templates, "lemmatizer", LEMMA_ATTRIBUTES)
        self.chain = _script_chain(scripts, self.table, len(weights).bit_length() - 1)
        self._n_forms = np.bincount(lexicon.lower.tag, minlength=len(scripts)).tolist()
        self._lemma: PerThread[dict[Word, str]] = PerThread(dict)

    def lemmas(self, words: list[Word]) -> list[str]:
        """Return the lemma of each word; without a candidate, it is the form."""
        known = self._lemma.own
        if len(known) > _CACHED_WORDS:
            known.clear()
        found: list[Any] = list(map(known.get, words))
        if None in found:
            new = [word for word in dict.fromkeys(words) if word not in known]
            made, lemmas = _make_words(self.lexicon, self.known, new, self.scripts, self.table, self._n_forms)
            scores = score_words(self.chain, made, self.weights)
            scores[np.arange(scores.shape[1]) >= made.count[:, None]] = -np.inf
            best = zip(new, lemmas, scores.argmax(axis=1).tolist(), strict=True)
            known.update((word, row[i] if row else word[0]) for word, row, i in best)
            found = list(map(known.get, words))
        return found

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sentence],
        options: TaggerConfig,
        templates: dict[str, Any],
        seed: int,
        progress: Progress,
        start: Lemmatizer | None = None,
    ) -> Lemmatizer | None:
        """Train a lemmatizer on the words that have a lemma; return None if no lemma can be learnt.

        A continued lemmatizer gets more scripts, words and lemmas; its weights stay.
        """
        examples = [
            (fold, (row[1], row[3], row[4], row[5]), row[2])
            for fold, sentence in zip(blocks(len(sentences), LEXICON_FOLDS).tolist(), sentences, strict=True)
            for row in sentence.rows
            if row[2] != "_" or row[1] == "_"
        ]
        scripts_of = {pair: make_script(*pair) for pair in {(word[0], lemma) for _, word, lemma in examples}}
        made = (scripts_of[word[0], lemma] for _, word, lemma in examples)
        counts = Count(script for script in made if is_script(script))  # no control characters
        scripts = [script for script, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        scripts = list(dict.fromkeys([*start.scripts, *scripts] if start else scripts))[:MAX_SCRIPTS]
        if not scripts:
            return None
        number = {script: i for i, script in enumerate(scripts)}
        examples = [e for e in examples if scripts_of[e[1][0], e[2]] in number]
        words: dict[Word, int] = {}
        form = np.array([words.setdefault(word, len(words)) for _, word, _ in examples], np.int64)
        target = np.array([number[scripts_of[word[0], lemma]] for _, word, lemma in examples], np.int64)
        fold = np.array([fold for fold, _, _ in examples], np.int64)
        lemma = lemma_keys([(word[1], lemma) for _, word, lemma in examples]).astype(np.int64)
        counter = Counter(word_keys(list(words)), form, target, start.lexicon if start else None)
        lexicon = counter.count(np.ones(len(form), bool))
        if start:
            known = _count_keys(np.concatenate([np.repeat(*start.known), lemma]))
            return cls(scripts, lexicon, known, templates, start.weights)
        table = chain_templates(templates, "lemmatizer", LEMMA_ATTRIBUTES)
        listed = list(words)

        def make(numbers: np.ndarray, others: np.ndarray) -> FormTable:
            known = _count_keys(lemma[others])
            return _make_words(counter.count(others), known, [listed[i] for i in numbers], scripts, table)[0]

        tables, rows = tables_of_folds(outside(table, _SMOOTHING.limit, 3), form, fold, make)
        weights = _train(tables, rows, target, _script_chain(scripts, table, options.bits), options, seed, progress)
        return cls(scripts, lexicon, _count_keys(lemma), templates, quantise(weights)[0])

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the lemmatizer."""
        known = {"known_key": self.known[0], "known_count": self.known[1]}
        meta = {"scripts": self.scripts, "templates": self.templates}
        return meta, {"weights": self.weights, **self.lexicon.arrays(), **known}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Lemmatizer:
        """Return the lemmatizer of a state; raise `ModelError`, or `ConfigError` about templates, if it is invalid."""
        scripts, known = meta["scripts"], (arrays["known_key"], arrays["known_count"])
        if not 1 <= len(scripts) <= MAX_SCRIPTS or not all(map(is_script, scripts)):
            raise ModelError(f"the lemmatizer has no list of 1 to {MAX_SCRIPTS} edit scripts")
        if (known[0][1:] <= known[0][:-1]).any() or known[1].min(initial=0) < 0:
            raise ModelError("the lemmatizer's table of known lemmas is not sorted")
        weights = check_weights(arrays, "lemmatizer", 1 + sum(1 + len(script.split("\t")) for script in scripts))
        lexicon = check_lexicon(arrays, len(scripts), "lemmatizer")
        return cls(scripts, lexicon, known, meta["templates"], weights)


def lemma_keys(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return the hashes of lemmas with their UPOS, given UPOS and lemma of each, int32."""
    return hash_texts([f"{upos} {lemma}" for upos, lemma in pairs]).view(np.int32)


def word_keys(words: Sequence[Word]) -> Keys:
    """Return the hashes of forms with their tags, as the keys of a lexicon of scripts."""
    lowers = [form.lower() for form, *_ in words]
    by_upos, by_tag, texts, lower_texts = [], [], [], []
    for (form, upos, xpos, feats), lower in zip(words, lowers, strict=True):
        tag, case = f"{upos}|{xpos}|{feats}", "l" if form == lower else "t" if form[1:] == lower[1:] else "u"
        by_upos.append(f"{upos} {case} ")
        by_tag.append(f"{tag} {case} ")
        texts.append(f"{form} {tag}")
        lower_texts.append(f"{lower} {upos}")
    suffix = np.stack([hash_suffixes(each, lowers, _SUFFIX).view(np.int32) for each in (by_upos, by_tag)], axis=2)
    sizes = 2 * np.minimum([len(lower) for lower in lowers], _SUFFIX).astype(np.int64) + 2
    form, lower = hash_texts(texts).view(np.int32), hash_texts(lower_texts).view(np.int32)
    return Keys(form, lower, suffix.reshape(len(words), -1), sizes)


def _script_chain(scripts: list[str], table: ChainTemplates, bits: int) -> Chain:
    """Return scripts and templates as kernels read them; a script's parts are the script, its case and its two ends."""
    numbers: dict[Any, int] = {}
    units = []
    for script in scripts:
        fields = script.split("\t") if script[0] != "=" else ["="]
        parts: list[Any] = [script, *enumerate(fields)]
        units.append([numbers.setdefault(part, len(numbers) + 1) for part in parts])
    return make_chain(_Scripts(units), table, bits)


class _Scripts:
    """Scripts with the interface of a `TagSet`, without attributes and levels."""

    def __init__(self, units: list[list[int]]):
        self.unit_start = np.cumsum([0, *map(len, units)], dtype=np.int32)
        self.units = np.array([unit for listed in units for unit in listed], np.uint32)
        self.unit_attribute = np.full(len(self.units), -1, np.int32)
        self.values = np.zeros((len(units) + 1, 1), np.int32)
        self.levels = np.zeros((len(units) + 1, 3), np.int32)


def _count_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, sorted, and their counts, int32."""
    found, count = np.unique(keys, return_counts=True)
    return found.astype(np.int32), count.astype(np.int32)


def _make_words(
    lexicon: Lexicon,
    known: tuple[Any, ...],
    words: list[Word],
    scripts: list[str],
    table: ChainTemplates,
    n_forms: list[int] | None = None,
) -> tuple[FormTable, list[list[str]]]:
    """Return the `FormTable` of forms with tags, whose candidates are applicable scripts, and each candidate's lemma.

    ``n_forms`` are the numbers of forms that each script was seen with, for `is_doubtful`; None in training, where
    doubtful scripts are negative examples.
    """
    groups = np.zeros(len(scripts), np.int32)
    allowed = [np.empty(0, np.int32)] * len(words)
    places = find_forms(lexicon, word_keys(words))
    found = list_candidates(lexicon, places, groups, allowed, _SMOOTHING)
    lemmas: list[list[str]] = []
    for i, (word, tags, count) in enumerate(zip(words, found.tag.tolist(), found.count.tolist(), strict=True)):
        row, kept, symbol = [], [], is_symbol(word[0])
        for c, script in enumerate(tags[:count]):
            lemma = apply_script(scripts[script], word[0])
            doubtful = is_whole(scripts[script])  # the copula's lemma, say, is no guess for an unknown verb
            if n_forms:
                doubtful |= symbol or is_doubtful(scripts[script], word[0], n_forms[script])
            if doubtful and not _was_seen(lexicon, places[i], script):
                continue
            if lemma is not None and lemma not in row:
                row.append(lemma)
                kept.append(c)
        if len(kept) < count:
            found.tag[i, : len(kept)], found.p[i, : len(kept)] = found.tag[i, kept], found.p[i, kept]
            found.count[i] = len(kept)
        lemmas.append(row)
    keys, candidates = np.zeros(found.tag.shape, np.int32), np.arange(found.tag.shape[1]) < found.count[:, None]
    pairs = zip(words, lemmas, strict=True)
    keys[candidates] = lemma_keys([(word[1], lemma) for word, row in pairs for lemma in row])
    own, shares = share_words(_atoms(words), table)
    place = find_keys(known[0], keys)
    seen = np.where(place >= 0, known[1][place], 0) if len(known[0]) else np.zeros(keys.shape, np.int32)
    seen = np.minimum(logarithm(seen + 1.0), 6)
    counts = bin_counts(found.seen)[:, None]
    likely = bin_probabilities(found.p)
    prior = hash_numbers(np.stack([likely * 64 + counts + 1, seen * 32 + likely + 2048, seen + 4096], axis=2))
    return FormTable(own, shares, found.count, found.tag, prior), lemmas


def _was_seen(lexicon: Lexicon, places: np.ndarray, script: int) -> bool:
    """Return whether a script was seen with a form or its lower case; ``places`` is its row of `find_forms`."""
    pairs = zip(places[:2].tolist(), (lexicon.form, lexicon.lower), strict=True)
    return any(
        place >= 0 and script in table.tag[table.start[place] : table.start[place + 1]] for place, table in pairs
    )


def _atoms(words: Sequence[Word]) -> np.ndarray:
    """Return the hashes of `LEMMA_ATTRIBUTES` of each word, int64."""
    tags = [text for _, upos, xpos, feats in words for text in (upos, f"{upos}|{xpos}", f"{upos}|{xpos}|{feats}")]
    of_tags = hash_texts(tags).reshape(len(words), 3)
    return np.column_stack([text_atoms([form for form, *_ in words]), of_tags]).astype(np.int64)


def _train(
    words: FormTable,
    rows: np.ndarray,
    target: np.ndarray,
    chain: Chain,
    options: TaggerConfig,
    seed: int,
    progress: Progress,
) -> np.ndarray:
    """Return averaged weights, float32, learnt from each distinct word and script once per fold."""
    pairs = np.unique(rows.astype(np.int64) << 32 | target)
    rows, target = (pairs >> 32).astype(np.int32), pairs & 0xFFFFFFFF
    match = (words.tag[rows] == target[:, None]) & (np.arange(words.tag.shape[1]) < words.count[rows][:, None])
    usable = match.any(axis=1)
    gold = GoldTags(match[usable].argmax(axis=1).astype(np.int32), MARGIN)
    text = FormRows(np.arange(usable.sum() + 1, dtype=np.int64), rows[usable])
    examples = ChainExamples(chain, words, text, gold)
    orders = [generator(seed, Stream.LEMMATIZER, epoch) for epoch in range(options.epochs)]
    return learn_chain("lemmatizer", examples, words.tag.shape[1], orders, progress, ChainStart())
