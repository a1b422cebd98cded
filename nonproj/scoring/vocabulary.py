"""Vocabularies of the attributes of words, and an encoder that turns sentences into integers.

A word becomes a row of small integers, one for each attribute that the templates use, and a list of morphological
features.  The encoder keeps, for each thread, the rows of the words that it has encoded, so a known word costs one
look-up of its five columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.io.columns import MISTAKES
from nonproj.io.strings import VOCABULARY, fits
from nonproj.kernels.threads import PerThread
from nonproj.scoring.clusters import PREFIXES, Clusters
from nonproj.scoring.morphology import features_in, informative, reduce, reduced
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.punctuation import MARKS, OUTSIDE_ALL, enclosures, segments
from nonproj.scoring.vectors import VECTOR
from nonproj.types import Sentence

if TYPE_CHECKING:
    from nonproj.scoring.encoders.heads import EncodedSentence

OUTSIDE, UNKNOWN, START, END, ROOT, FIRST = 0, 1, 2, 3, 4, 5
"""Reserved numbers of every attribute: beyond the ends of the sentence, an unknown string, the two ends of a sequence
of siblings, the root; the strings of the vocabulary start at `FIRST`."""

PADDING = 3
"""Rows of `OUTSIDE` before the root and after the last word: the largest offset a template may use."""

MAX_FEATURES = 32
"""Maximum number of known features that count for a word: pairs of features of two words take quadratic time and
memory, and words of natural languages have fewer (at most 17 in the Basque treebank)."""

MOST_TAGS, LEAST_WORDS = 30, 600
"""Limits of fine tags: more than `MOST_TAGS` are too many if each has fewer than `LEAST_WORDS` words on average."""

_CACHED_WORDS = 200_000
_FIRST = itemgetter(0)


class Tokens(NamedTuple):
    """A sentence as integers.

    Attributes
    ----------
    atoms : ndarray of shape (N + 2 * PADDING, n_attributes), int32
        Node ``i`` is row ``i + PADDING``.
    feat_start : ndarray of shape (N + 1,), int32
        The morphological features of node ``i`` are ``feat[feat_start[i]:feat_start[i + 1]]``.
    feat : ndarray, int32
        Numbers of morphological features.
    encoded : nonproj.scoring.encoders.heads.EncodedSentence or None
        The scores of a pretrained encoder, if the model has one.
    vectors : ndarray of shape (N, D), int8, or None
        The vectors of nodes by the pieces of words, if the model has them; zeros for the root.
    """

    atoms: np.ndarray
    feat_start: np.ndarray
    feat: np.ndarray
    encoded: EncodedSentence | None = None
    vectors: np.ndarray | None = None

    @property
    def n_nodes(self) -> int:
        """Number N of nodes, the root included."""
        return self.feat_start.shape[0] - 1


@lru_cache(1 << 12)  # tagger, lemmatizer and parser ask for it in turn
def _shape(form: str) -> str:
    """Return the pattern of case and digits, runs cut to two: ``Danmarks`` is ``Xxx``, ``1990'erne`` is ``dd'xx``."""
    classes = ["", ""]
    for c in form:
        kind = "d" if c.isdecimal() else c if not c.isalnum() else "X" if c.isupper() else "x"
        if kind != classes[-1] or kind != classes[-2]:
            classes.append(kind)
    return "".join(classes)


ATTRIBUTES: dict[str, Callable[[str, str, str, str, str], Any]] = {
    "form": lambda form, lemma, cpos, pos, feats: form,
    "lower": lambda form, lemma, cpos, pos, feats: form.lower(),
    "lemma": lambda form, lemma, cpos, pos, feats: lemma if lemma != "_" else form.lower(),
    "cpos": lambda form, lemma, cpos, pos, feats: cpos,
    "pos": lambda form, lemma, cpos, pos, feats: pos if pos != "_" else cpos,
    "feats": lambda form, lemma, cpos, pos, feats: feats,
    "tag": lambda form, lemma, cpos, pos, feats: f"{pos if pos != '_' else cpos} {feats}",
    **{f"prefix{k}": lambda form, *_, k=k: form[:k].lower() for k in range(2, 6)},
    **{f"suffix{k}": lambda form, *_, k=k: form[-k:].lower() for k in range(1, 5)},
    "shape": lambda form, lemma, cpos, pos, feats: _shape(form),
    VECTOR: lambda form, lemma, cpos, pos, feats: (form, form.lower()),
    "key": lambda form, lemma, cpos, pos, feats: (form.lower(), f"\t{pos if pos != '_' else cpos}"),
    "morph": lambda form, lemma, cpos, pos, feats: f"{pos if pos != '_' else cpos}\t{feats}",
    "enclosure": lambda form, lemma, cpos, pos, feats: OUTSIDE_ALL,
    "segment": lambda form, lemma, cpos, pos, feats: "0",
} | dict.fromkeys(PREFIXES, lambda form, lemma, cpos, pos, feats: None)
"""Attributes of a word that templates may name, as functions of its columns FORM, LEMMA, CPOSTAG, POSTAG and FEATS.

An absent lemma is the lower-cased form, an absent fine tag the coarse one.  In a tuple, the first string in the
vocabulary counts: ``key`` is the word itself if it is common, as conjunctions and commas are, and else its tag, and
``vector`` the word, or it in lower case, if there is a vector for it.  ``morph`` is ``tag`` without the features that
are not informative about a word's label, see `nonproj.scoring.morphology`.  ``enclosure`` and ``segment`` depend on the
whole sentence, see `nonproj.scoring.punctuation`; here they are those of a word by itself.  The bit strings of clusters
depend on the model, see `nonproj.scoring.clusters`; here a word has none, and is unknown."""

_COMMON = 1000
"""A word is common if its share of the training words is at least one in this number."""

MORPH = "morph"
"""The attribute whose features are chosen in training."""

OF_SENTENCE: dict[str, Callable[[Sequence[str]], list[str]]] = {"enclosure": enclosures, "segment": segments}
"""The attributes that depend on the other words of the sentence, as functions of all forms."""

FEAT = "feat"
"""Name of the vocabulary of single morphological features."""


def _columns(row: Sequence[str], coarse: bool) -> tuple[str, str, str, str, str]:
    return row[1], row[2], row[3], "_" if coarse else row[4], row[5]


def prefer_coarse(sentences: Iterable[Sentence]) -> bool:
    """Return whether CPOSTAG (UPOS) is more useful to templates than POSTAG (XPOS).

    Positional tags, such as ``n-s---mn-``, repeat FEATS.  Most templates name ``pos``, and most of its tags would be
    too rare.  Fine tags are not finer if there are no more of them than of coarse ones.  Where CPOSTAG is absent,
    nothing can replace fine tags.

    Examples
    --------
    >>> row = lambda *tags: ["1", "x", "_", *tags, "_", "0", "root", "_", "_"]
    >>> prefer_coarse([Sentence([row("N", f"n{i}")]) for i in range(100)])
    True
    >>> prefer_coarse([Sentence([row("N", "ns"), row("N", "np"), row("V", "v")])] * 500)
    False
    """
    tags = Counter((row[3], row[4]) for sentence in sentences for row in sentence.rows)
    coarse, fine = ({tag[k] for tag in tags} for k in range(2))
    rare = len(fine) > MOST_TAGS and tags.total() < LEAST_WORDS * len(fine)
    absent = sum(count for tag, count in tags.items() if tag[0] == "_")
    return absent <= MISTAKES * tags.total() and (rare or len(fine) <= len(coarse))


def _features_of(feats: str) -> list[str]:
    return [] if feats == "_" else feats.split("|")


class _WordCache:
    """The words that a thread has encoded: their numbers, rows of integers, features, and vectors by pieces."""

    def __init__(self, n_attributes: int, dimensions: int):
        self.row: dict[tuple[Any, ...], int] = {}
        self.table = np.zeros((1024, n_attributes), np.int32)
        self.feats: list[list[int]] = []
        self.vectors = np.zeros((1024, dimensions), np.int8)

    def add(self, columns: tuple[Any, ...], atoms: list[int], feats: list[int]) -> int:
        """Add a word; return its number."""
        number = len(self.row)
        if number == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.vectors = np.concatenate([self.vectors, np.zeros_like(self.vectors)])
        self.table[number] = atoms
        self.feats.append(feats)
        self.row[columns] = number
        return number


class TokenEncoder:
    """Turns sentences into `Tokens`; threads may share it.

    Parameters
    ----------
    vocabularies : dict of str to list of str
        The known strings of each attribute, in the order of their numbers (from `FIRST`).
    clusters : Clusters, optional
        Word clusters; without them words are in no cluster.
    coarse : bool
        Ignore the column POSTAG (XPOS), see `prefer_coarse`.
    pieces : PieceVectors, optional
        Vectors of words by their pieces.

    Examples
    --------
    >>> from nonproj.types import Sentence
    >>> row = ["1", "Hus", "_", "N", "NC", "num=sg|gen=n", "0", "ROOT", "_", "_"]
    >>> encoder = TokenEncoder.from_sentences([Sentence([row])], ["form", "pos"], rare=1)
    >>> encoder.encode(Sentence([row])).atoms[3:5].tolist()
    [[4, 4], [5, 5]]
    """

    def __init__(
        self,
        vocabularies: dict[str, list[str]],
        clusters: Clusters | None = None,
        coarse: bool = False,
        pieces: PieceVectors | None = None,
    ):
        self.vocabularies, self.clusters, self.coarse, self.pieces = vocabularies, clusters, coarse, pieces
        self.attributes = [name for name in vocabularies if name != FEAT]
        self._numbers = {name: {s: i for i, s in enumerate(strings, FIRST)} for name, strings in vocabularies.items()}
        self._informative = features_in(vocabularies.get(MORPH, ()))
        self._of_sentence = [name for name in OF_SENTENCE if name in vocabularies]
        self._key = itemgetter(*((1, 2, 3, 5) if coarse else (1, 2, 3, 4, 5)))
        self._met = PerThread(partial(_WordCache, len(self.attributes), pieces.dimensions if pieces else 0))

    @classmethod
    def from_sentences(
        cls,
        sentences: Sequence[Sentence],
        attributes: Sequence[str],
        rare: int,
        clusters: Clusters | None = None,
        coarse: bool = False,
        vectors: Sequence[str] | PieceVectors = (),
        known: TokenEncoder | None = None,
    ) -> TokenEncoder:
        """Build the vocabularies of the named attributes from the strings that occur at least ``rare`` times.

        Strings are numbered by decreasing frequency, then alphabetically, so the numbers depend on the data alone.
        Words in ``vectors`` are the strings of one more attribute, `nonproj.scoring.vectors.VECTOR`, numbered in their
        order there; `PieceVectors` need no attribute, because all words have vectors.

        The strings of a ``known`` encoder come first and keep their numbers: of a tuple of strings, only the last is
        added, and the informative features are those of that encoder.
        """
        words = Counter(_columns(row, coarse) for sentence in sentences for row in sentence.rows)
        vocabularies = {}
        for name in attributes:
            counts: Counter[Any] = Counter()
            for columns, count in words.items():
                counts[_value(name, columns, clusters)] += count
            if name == MORPH:
                counts = reduced(counts, known._informative if known else informative(sentences, coarse))
            elif name in OF_SENTENCE:
                counts = Counter(value for s in sentences for value in OF_SENTENCE[name](s.forms))
            vocabularies[name] = _known(_alternatives(counts, None if known else _COMMON), rare)
        pieces = vectors if isinstance(vectors, PieceVectors) else None
        if not isinstance(vectors, PieceVectors) and vectors:
            vocabularies[VECTOR] = list(vectors)
        counts = Counter()
        for columns, count in words.items():
            for feature in _features_of(columns[4]):
                counts[feature] += count
        vocabularies[FEAT] = _known(counts, rare)
        if known:
            both = {name: dict.fromkeys([*known.vocabularies[name], *vocabularies[name]]) for name in vocabularies}
            vocabularies = {name: list(strings)[: VOCABULARY.most] for name, strings in both.items()}
        return cls(vocabularies, clusters, coarse, pieces)

    def encode(self, sentence: Sentence) -> Tokens:
        """Return a sentence of n words as integers."""
        met, keys = self._met.own, list(map(self._key, sentence.rows))
        if len(met.row) > _CACHED_WORDS:
            met = self._met.renewed()
        ids: list[Any] = list(map(met.row.get, keys))
        if None in ids:
            first = len(met.row)
            ids = [met.row[key] if key in met.row else self._add(met, key) for key in keys]
            if self.pieces:
                met.vectors[first : len(met.row)] = self.pieces.of([key[0] for key in islice(met.row, first, None)])
        n_nodes, vectors = len(ids) + 1, None
        if self.pieces:
            vectors = np.zeros((n_nodes, self.pieces.dimensions), np.int8)
            met.vectors.take(ids, 0, vectors[1:])
        atoms = np.zeros((n_nodes + 2 * PADDING, len(self.attributes)), np.int32)
        atoms[PADDING] = ROOT
        met.table.take(ids, 0, atoms[PADDING + 1 : PADDING + n_nodes])
        forms = list(map(_FIRST, keys))
        for name in () if MARKS.isdisjoint(forms) else self._of_sentence:
            numbers, found, column = self._numbers[name], OF_SENTENCE[name](forms), self.attributes.index(name)
            atoms[PADDING + 1 : PADDING + n_nodes, column] = [numbers.get(value, UNKNOWN) for value in found]
        feats = list(map(met.feats.__getitem__, ids))
        feat_start = np.fromiter(accumulate(chain((0,), map(len, feats)), initial=0), np.int32, n_nodes + 1)
        return Tokens(atoms, feat_start, np.array([*chain.from_iterable(feats)], np.int32), None, vectors)

    def _add(self, met: _WordCache, key: tuple[str, ...]) -> int:
        form, lemma, cpos, *pos, feats = key
        columns, atoms = (form, lemma, cpos, pos[0] if pos else "_", feats), []
        for name in self.attributes:
            known, value = self._numbers[name], _value(name, columns, self.clusters)
            if name == MORPH:
                value = reduce(value, self._informative)
            elif isinstance(value, tuple):
                value = next((string for string in value if string in known), None)
            atoms.append(UNKNOWN if value is None else known.get(value, UNKNOWN))
        numbers = self._numbers[FEAT]
        return met.add(key, atoms, [numbers[f] for f in _features_of(feats) if f in numbers][:MAX_FEATURES])


def _value(name: str, columns: tuple[str, str, str, str, str], clusters: Clusters | None) -> Any:
    """Return an attribute of a word, given its columns FORM, LEMMA, CPOSTAG, POSTAG and FEATS."""
    if clusters and name in PREFIXES:
        return clusters.of(columns[0], name)
    return ATTRIBUTES[name](*columns)


def _alternatives(counts: Counter[Any], common: int | None) -> Counter[Any]:
    """Return the counts of strings; in a tuple, the last string counts, and the others if they are common.

    A string is common if at least one word in ``common`` has it; with None, no string is.
    """
    if not any(isinstance(value, tuple) for value in counts):
        return counts
    least = counts.total() / common if common else np.inf
    first: Counter[str] = Counter()
    last: Counter[str] = Counter()
    for strings, count in counts.items():
        last[strings[-1]] += count
        for string in strings[:-1]:
            first[string] += count
    return last + Counter({string: count for string, count in first.items() if count >= least})


def _known(counts: Counter[Any], rare: int) -> list[str]:
    """Return the strings that occur at least ``rare`` times, by decreasing frequency, then alphabetically.

    Strings that no model file may have, such as a form with a control character, remain unknown.
    """
    frequent = [(s, count) for s, count in counts.items() if s is not None and count >= rare and fits(s, VOCABULARY)]
    return [s for s, _ in sorted(frequent, key=lambda item: (-item[1], item[0]))][: VOCABULARY.most]
