"""The tagger: training, and tagging with tables of forms that each thread keeps from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.kernels.threads import PerThread
from nonproj.linear.folds import blocks
from nonproj.linear.perceptron import CONTINUED_STEP
from nonproj.linear.state import Schema
from nonproj.linear.streams import Stream, generator
from nonproj.linear.weights import check_table, quantise
from nonproj.networks.context import CONTEXT
from nonproj.options.sections import TaggerConfig
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.vectors import WordVectors
from nonproj.tagging.chain import FormRows, make_chain
from nonproj.tagging.decoding import ChainExamples, GoldTags, Pruning, score_words, tag_text
from nonproj.tagging.encoded import EncoderTagScorer
from nonproj.tagging.given import RestrictedWord
from nonproj.tagging.learning import LEXICON_FOLDS, MARGIN, ChainStart, Progress, learn_chain
from nonproj.tagging.lexicon import LEXICON, Counter, Lexicon, check_lexicon, find_forms, form_keys
from nonproj.tagging.network import NETWORK, NETWORK_PROJECTION, VECTOR_WORDS, FormLayers, TagNetwork, check_network
from nonproj.tagging.network_learning import TagCorpus, learn_tag_network
from nonproj.tagging.tagset import TAG_COLUMNS, TagSet, check_tags
from nonproj.tagging.templates import chain_templates
from nonproj.tagging.words import (
    SMOOTHING,
    WORD_ATTRIBUTES,
    FormTable,
    is_symbol,
    make_words,
    outside,
    tables_of_folds,
)
from nonproj.types import Sentence

_CACHED_FORMS = 30_000
_OWN = 2.0
"""Distance from the best score by the form alone beyond which candidates are dropped, in pruning thresholds."""

THRESHOLD, MAX_TAGS = 250.0, 6
"""Limits of a word's candidates for the pass of second order: their loss in the pass of first order, in units of the
weights before rounding, and their number."""

NETWORK_WEIGHT = 0.75
"""Factor of the network's scores, in nats, relative to the margin."""

WITH_VECTORS = 2.0
"""Further factor of the scores of a network with word vectors, which cover more words than the chain knows."""

WITH_PIECES = 1.5
"""Further factor of the scores of a network with vectors of words by their pieces."""

_NO_TAGS = np.empty(0, np.int32)

OF_SYMBOLS = ("PUNCT", "SYM", "X")
"""The UPOS of forms that consist of unknown symbols; any, if the tag set lacks these."""

_CANDIDATES = 8
"""Number of tags that a pretrained encoder allows for an unknown word."""

EncodedWords: TypeAlias = tuple[EncoderTagScorer, np.ndarray]
"""A scorer of tags by a pretrained encoder, and the hidden layers of words."""


class FormCache:
    """A thread's cache of the forms that it has tagged, with tables that depend on a form alone.

    Attributes
    ----------
    row : dict
        The row of each key in the tables.
    used : int
        Rows used; row 0 stands for positions outside the sentence.
    words : FormTable
    own : ndarray of shape (n_rows, limit), float64
        The scores of each form's candidates by the word alone.
    network : FormLayers
        Layers of a network for each form; sizes are 0 without one.
    """

    def __init__(self, words: FormTable, network: FormLayers):
        self.row: dict[Any, int] = {}
        self.used, self.words, self.own, self.network = 1, words, np.zeros(words.tag.shape), network

    def add(self, keys: list[Any], made: FormTable, scores: np.ndarray, network: FormLayers) -> None:
        """Add the rows of new keys, in arrays that grow by doubling."""
        end = self.used + len(keys)
        if end > len(self.own):
            size = max(end, 2 * len(self.own), 1024)
            self.words, self.own = FormTable(*(_grown(array, size) for array in self.words)), _grown(self.own, size)
            self.network = FormLayers(*(_grown(array, size) for array in self.network))
        for array, new in zip((*self.words, self.own, *self.network), (*made, scores, *network), strict=True):
            array[self.used : end] = new
        self.row.update(zip(keys, range(self.used, end), strict=True))
        self.used = end


class Tagger:
    """A trained tagger; threads may share it.

    Parameters
    ----------
    tags : TagSet
    lexicon : Lexicon
        Lexicon of the whole training data.
    templates : dict
        The content of the template file.
    weights : ndarray, int16
        The table, its size a power of two.
    scale : float
    network : TagNetwork or None
        Its scores are added to those of the chain.
    """

    schema: ClassVar[Schema] = Schema(
        {"tags": list, "templates": dict, "scale": float},
        {"weights": ("int16", 1), **LEXICON},
        [
            Schema({"first": int}, {}),
            Schema({}, NETWORK),
            Schema({}, VECTOR_WORDS),
            Schema({}, CONTEXT),
            Schema({}, NETWORK_PROJECTION),
        ],
    )

    def __init__(
        self,
        tags: TagSet,
        lexicon: Lexicon,
        templates: dict[str, Any],
        weights: np.ndarray,
        scale: float,
        network: TagNetwork | None = None,
    ):
        self.tags, self.lexicon, self.templates, self.weights, self.scale = tags, lexicon, templates, weights, scale
        self.columns = tuple(c for i, c in enumerate(TAG_COLUMNS) if any(tag[i] != "_" for tag in tags.tags))
        self.table = chain_templates(templates, "tagger", WORD_ATTRIBUTES)
        self.chain = make_chain(tags, self.table, len(weights).bit_length() - 1)
        self.pruning = Pruning(THRESHOLD / scale, MAX_TAGS)
        self.margin = MARGIN / scale
        self.network, self.factor = network, _factor(network) * self.margin
        first = network.outside if network else _no_network(1)
        self._of_symbols = np.array([i for i, tag in enumerate(tags.tags) if tag[0] in OF_SYMBOLS], np.int32)
        self._forms = PerThread(partial(FormCache, outside(self.table, SMOOTHING.limit, 1), first))

    def tag_with_margins(
        self, keys: list[Any], lengths: list[int], encoded: EncodedWords | None = None
    ) -> tuple[list[tuple[str, str, str]], np.ndarray]:
        """Return the tag of each word, and the margin of the best sequence with it over those with another, float64.

        Margins are between sequences of first order, and infinite for words with one candidate.

        Parameters
        ----------
        keys : list
            Keys of all words, sentence by sentence: a form, a tuple of a form and given UPOS, XPOS and FEATS, where
            None is any, or a `RestrictedWord`.
        lengths : list of int
            The numbers of words of the sentences.
        encoded : optional
            As for `score`.
        """
        forms, rows = self.look_up(self._with_candidates(keys, lengths, *encoded) if encoded else keys)
        text = FormRows(np.cumsum([0, *lengths], dtype=np.int64), rows)
        own = self.score(forms, text, encoded)
        found, margins = tag_text(self.chain, forms.words, own, text, self.weights, self.pruning)
        tags: Any = self.tags.tags
        return list(map(tags.__getitem__, found.tolist())), margins * self.scale

    def score(self, forms: FormCache, text: FormRows, encoded: EncodedWords | None = None) -> np.ndarray:
        """Return the scores of the candidates of each word by its form and by the network, float64[n_words, limit].

        ``encoded`` is a scorer by a pretrained encoder with the hidden layers of the words.
        """
        scores: np.ndarray = forms.own[text.form]
        if self.network:
            self.network.score(forms.network, forms.words, text, self.factor, scores)
        if encoded:
            tags, hidden = encoded
            tags.add(hidden, forms.words, text, self.margin, scores)
        return scores

    def _with_candidates(
        self, keys: list[Any], lengths: list[int], tags: EncoderTagScorer, hidden: np.ndarray
    ) -> list[Any]:
        """Return keys that restrict words missing in the lexicon to the tags that a pretrained encoder prefers."""
        plain = dict.fromkeys(key for key in keys if type(key) is str)
        seen = find_forms(self.lexicon, form_keys(list(plain)))[:, :2].max(axis=1, initial=-1) >= 0
        known, best = dict(zip(plain, seen.tolist(), strict=True)), tags.best(hidden, lengths, _CANDIDATES)
        pairs = zip(keys, best, strict=True)
        return [RestrictedWord(key, own) if own and not known.get(key, True) else key for key, own in pairs]

    def look_up(self, keys: list[Any]) -> tuple[FormCache, np.ndarray]:
        """Return tables of forms, and the row in them of each key, int32; see `tag_with_margins`."""
        forms = self._forms.own
        if forms.used + len(keys) > _CACHED_FORMS:
            forms = self._forms.renewed()
        rows = list(map(forms.row.get, keys))
        if None in rows:
            new = [key for key in dict.fromkeys(keys) if key not in forms.row]
            for kept in (False, True):
                if some := [key for key in new if isinstance(key, RestrictedWord) == kept]:
                    forms.add(some, *self._describe(some, kept))
            rows = list(map(forms.row.get, keys))
        return forms, np.array(rows, np.int32)

    def _describe(self, keys: list[Any], kept: bool) -> tuple[FormTable, np.ndarray, FormLayers]:
        """Return the tables that depend on forms alone, for some keys; ``kept`` if all allowed tags are kept."""
        forms = [key if type(key) is str else key[0] for key in keys]
        if kept:
            allowed = [np.array(key.tags, np.int32) for key in keys]
            smoothing, threshold = SMOOTHING._replace(threshold=0.0), np.inf
        else:
            symbols = self._unknown_symbols(keys)
            allowed = [_NO_TAGS if type(key) is str else self.tags.allowed(key[1:]) for key in keys]
            allowed = [self._of_symbols if key in symbols else own for key, own in zip(keys, allowed, strict=True)]
            smoothing, threshold = SMOOTHING, _OWN * self.pruning.threshold
        made = make_words(self.lexicon, forms, self.tags, allowed, self.table, smoothing)
        if kept:
            made = made._replace(count=np.minimum(made.count, [len(k.tags) + k.others for k in keys]).astype(np.int32))
        scores = score_words(self.chain, made, self.weights)
        network = self.network.layers(forms) if self.network else _no_network(len(forms))
        return *_drop(made, scores, threshold), network

    def _unknown_symbols(self, keys: list[Any]) -> set[str]:
        """Return the forms that consist of symbols missing in the lexicon, such as emoji: see `OF_SYMBOLS`."""
        forms = [key for key in keys if type(key) is str and is_symbol(key)]
        if not forms:
            return set()
        parts = sorted({*forms, *"".join(forms)})
        places = find_forms(self.lexicon, form_keys(parts))[:, 0].tolist()
        known = {part for part, place in zip(parts, places, strict=True) if place >= 0}
        return {form for form in forms if known.isdisjoint((form, *form))}

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sentence],
        options: TaggerConfig,
        templates: dict[str, Any],
        seed: int,
        progress: Progress,
        vectors: WordVectors | PieceVectors | None = None,
        start: Tagger | None = None,
    ) -> Tagger:
        """Train a tagger, or continue one: its network stays, and the chain learns with its scores."""
        tags = TagSet.from_sentences(sentences, start.tags if start else None)
        if tags.n_units > 1 << options.bits:
            raise ConfigError("tagger.bits", f"{options.bits} are too few for {len(tags)} tags")
        forms: dict[str, int] = {}
        form = np.array([forms.setdefault(row[1], len(forms)) for s in sentences for row in s.rows], np.int64)
        gold = np.array([tags.number.get((row[3], row[4], row[5]), -1) for s in sentences for row in s.rows], np.int64)
        tag, texts = np.maximum(gold, 0), list(forms)
        counter = Counter(form_keys(texts), form, tag, start.lexicon if start else None)
        sizes = np.array([len(s) for s in sentences])
        fold = np.repeat(blocks(len(sentences), LEXICON_FOLDS), sizes)
        table = chain_templates(templates, "tagger", WORD_ATTRIBUTES)

        def make(numbers: np.ndarray, others: np.ndarray) -> FormTable:
            chosen = [texts[i] for i in numbers]
            return make_words(counter.count(others), chosen, tags, [_NO_TAGS] * len(chosen), table)

        words, rows = tables_of_folds(outside(table, SMOOTHING.limit, 1), form, fold, make)
        text = FormRows(np.cumsum([0, *sizes], dtype=np.int64), rows)
        network = start.network.extended(tags) if start and start.network else None
        first = ChainStart()
        if start:
            if len(start.weights) != 1 << options.bits:
                raise ModelError("the weights of the tagger in the model are not those of its options")
            beside = _scores_of(network, texts, form, words, text) if network else None
            first = ChainStart(beside, np.float32(start.scale) * start.weights, CONTINUED_STEP)
        chain, weights = make_chain(tags, table, options.bits), np.zeros(1 << options.bits, np.float32)
        target = GoldTags(_nearest(words, rows, tag, tags), MARGIN / first.step)
        examples = ChainExamples(chain, words, text, target)
        for number in range(options.restarts):
            orders = [generator(seed, Stream.TAGGER, number, epoch) for epoch in range(options.epochs)]
            run = learn_chain(f"tagger {number + 1},", examples, MAX_TAGS, orders, progress, first)
            weights += run / options.restarts
        table16, scale = quantise(weights * np.float32(first.step))
        if options.network_epochs and not start:
            corpus = TagCorpus(text.start, form, gold)
            rng, epochs = generator(seed, Stream.TAG_NETWORK), options.network_epochs
            network = learn_tag_network(texts, corpus, tags, epochs, rng, progress, vectors)
        return cls(tags, counter.count(np.ones(len(form), bool)), templates, table16, scale, network)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the tagger."""
        meta = {"tags": [list(tag) for tag in self.tags.tags], "templates": self.templates, "scale": self.scale}
        meta |= {"first": self.tags.first} if self.tags.first < len(self.tags) else {}
        network = self.network.arrays() if self.network else {}
        return meta, {"weights": self.weights, **self.lexicon.arrays(), **network}

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, np.ndarray], pieces: PieceVectors | None = None
    ) -> Tagger:
        """Return the tagger of a state; raise `ModelError`, or `ConfigError` about its templates, if it is invalid."""
        if not 0 < meta["scale"] < 1e30:
            raise ModelError("the scale of the tagger's weights is not a positive number")
        tags = TagSet(check_tags(meta["tags"]), meta.get("first"))
        if not 1 <= tags.first <= len(tags):
            raise ModelError(f"the tagger has {len(tags)} tags, of which {tags.first} are the first ones")
        weights, lexicon = check_weights(arrays, "tagger", tags.n_units), check_lexicon(arrays, len(tags), "tagger")
        network = check_network(arrays, tags, pieces)
        return cls(tags, lexicon, meta["templates"], weights, meta["scale"], network)


def check_weights(arrays: dict[str, np.ndarray], name: str, n_units: int) -> np.ndarray:
    """Return the weight table of a model; raise `ModelError` if it is too small for hashes combined with parts."""
    return check_table(arrays["weights"], ("int16",), max(10, n_units.bit_length()), f"the weights of the {name}", 28)


def _factor(network: TagNetwork | None) -> float:
    """Return the factor of a network's scores, relative to the margin."""
    if network is None:
        return NETWORK_WEIGHT
    return NETWORK_WEIGHT * (WITH_VECTORS if network.words else WITH_PIECES if network.projected else 1.0)


def _scores_of(network: TagNetwork, forms: list[str], form: np.ndarray, words: FormTable, text: FormRows) -> np.ndarray:
    """Return a network's scores of the candidates of words in training, float64[n_words, limit].

    ``form`` has the number of each word's form, and ``text`` its row in ``words``.
    """
    of_rows = np.zeros(len(words.tag), np.int64)
    of_rows[text.form] = form
    layers = network.layers([forms[i] for i in of_rows.tolist()])
    for array, first in zip(layers, network.outside, strict=True):
        array[0] = first[0]
    scores = np.zeros((len(text.form), words.tag.shape[1]))
    network.score(layers, words, text, _factor(network) * MARGIN, scores)
    return scores


def _no_network(n: int) -> FormLayers:
    """Return empty layers of forms, for taggers without a network."""
    return FormLayers(np.zeros((n, 0, 0), np.float32), np.zeros((n, 0), np.float32))


def _drop(words: FormTable, scores: np.ndarray, threshold: float) -> tuple[FormTable, np.ndarray]:
    """Return the candidates whose score by the word alone is within a threshold of the best, best first, and scores."""
    scores[np.arange(scores.shape[1]) >= words.count[:, None]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, order, 1)
    count = (scores >= scores[:, :1] - threshold).sum(axis=1)
    prior = np.take_along_axis(words.prior, order[:, :, None], 1)
    tag = np.take_along_axis(words.tag, order, 1)
    return words._replace(count=np.minimum(count, words.count).astype(np.int32), tag=tag, prior=prior), scores


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return an array with more rows, zeros at the end."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _nearest(words: FormTable, rows: np.ndarray, tag: np.ndarray, tags: TagSet) -> np.ndarray:
    """Return the number of each word's tag among its candidates, or of the candidate that shares most parts with it."""
    pairs, inverse = np.unique(rows.astype(np.int64) << 32 | tag, return_inverse=True)
    found = np.zeros(len(pairs), np.int32)
    parts = [set(tags.units[a:b].tolist()) for a, b in zip(tags.unit_start, tags.unit_start[1:], strict=False)]
    for i, (row, wanted) in enumerate(zip(pairs >> 32, pairs & 0xFFFFFFFF, strict=True)):
        listed = words.tag[row, : words.count[row]].tolist()
        found[i] = (
            listed.index(wanted)
            if wanted in listed
            else max(range(len(listed)), key=lambda c: len(parts[listed[c]] & parts[wanted]))
        )
    return found[inverse]
