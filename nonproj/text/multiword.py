"""Multiword tokens: tokens of a text that stand for several words, and these words.

A semi-Markov model over the characters of a token finds its best analysis into words (`nonproj.text.multiword_model`);
its neighbours contribute to the score of the token as one word.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.io.strings import MOST_WORDS
from nonproj.kernels.threads import PerThread
from nonproj.linear.hashing import hash_texts
from nonproj.linear.state import Schema
from nonproj.linear.streams import Stream, generator
from nonproj.text.characters import lowered
from nonproj.text.corpus import SurfaceToken
from nonproj.text.lexicon import UserLexicon
from nonproj.text.multiword_lexicon import KNOWN, MultiwordLexicon, Segment, Words, silent_marks
from nonproj.text.multiword_model import CONTEXT, Examples, best_paths, context_places, lattices, learn, shape_of
from nonproj.text.multiword_segments import divisions
from nonproj.text.training_text import folds_of

_UNDIVIDED = re.compile(r"[\s@#/\\_.:]")
"""Pattern of addresses, names and codes, which have only the words that they had in training."""

_MOST_REMEMBERED = 1 << 18

_Token = tuple[str, Words]
_Ends = tuple[int, ...]


class _FormAnalysis(NamedTuple):
    """Analysis of a form without regard to its neighbours.

    Attributes
    ----------
    key, affix, shape : int
        Hashes of the form and of the known segment at its end, and its shape.
    words : tuple of str
        Its best analysis into several words; empty if there is none.
    margin : float
        Score of this analysis, less that of the form as one word; 0 if there is none.
    """

    key: int
    affix: int
    shape: int
    words: Words
    margin: float


def recase(form: str, words: Words) -> Words:
    """Return words with the case of the token that they expand.

    Examples
    --------
    >>> recase("Don't", ("do", "n't")), recase("AU", ("à", "le")), recase("Zum", ("zu", "dem"))
    (('Do', "n't"), ('À', 'LE'), ('Zu', 'dem'))
    """
    if sum(map(len, words)) == len(form) and "".join(words) == lowered(form):
        ends = list(accumulate(map(len, words)))
        return tuple(form[begin:end] for begin, end in zip([0, *ends], ends, strict=False))
    if len(form) > 1 and form.isupper():
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words


class Multiwords:
    """A model that finds and expands the multiword tokens of a language.

    Attributes
    ----------
    lexicon : MultiwordLexicon
    weights : ndarray of shape (2**BITS,), float32
        Table of weights, of one entry if there are no multiword tokens.
    """

    schema: ClassVar[Schema] = MultiwordLexicon.schema

    def __init__(self, lexicon: MultiwordLexicon, weights: np.ndarray):
        self.lexicon, self.weights = lexicon, weights
        self._met: PerThread[dict[str, _FormAnalysis]] = PerThread(dict)

    @classmethod
    def fit(cls, paragraphs: Sequence[list[list[SurfaceToken]]], seed: int = 0) -> Multiwords:
        """Learn from the tokens of each sentence of each paragraph."""
        folds = [[[t for sentence in p for t in sentence] for p in fold] for fold in folds_of(paragraphs)]
        tokens = [token for fold in folds for paragraph in fold for token in paragraph]
        if not any(token.words for token in tokens):
            return cls(MultiwordLexicon("", {}, {}, {}), np.zeros(1, np.float32))
        marks = silent_marks((lowered(token.form), tuple(map(lowered, token.words))) for token in tokens)
        plain = MultiwordLexicon(marks, {}, {}, {}).plain
        counts = [Counter(_analysed(token, plain) for paragraph in fold for token in paragraph) for fold in folds]
        everything = sum(counts, Counter[_Token]())
        ends = divisions({token for token in everything if token[1]})
        others = [everything - own for own in counts] if len(folds) > 1 else counts
        lexicon = MultiwordLexicon.fit(everything, ends, marks)
        if not lexicon.entries:  # all have characters that a model file cannot hold
            return cls(lexicon, np.zeros(1, np.float32))
        lexicons = (MultiwordLexicon.fit(counted, ends, marks) for counted in others)
        return cls(lexicon, learn(_examples(folds, lexicons, ends, marks), generator(seed, Stream.MULTIWORDS)))

    def expand(self, forms: list[str]) -> tuple[dict[int, Words], dict[int, float]]:
        """Return the words of the multiword tokens among consecutive tokens, by index.

        The second result is the log-odds, by index, that a token is one, for each that may be.

        Examples
        --------
        >>> paragraph = [[SurfaceToken("στο", True, ("σ", "το")), SurfaceToken("σπίτι", True)]]
        >>> Multiwords.fit([paragraph] * 20).expand(["Στο", "σπίτι"])[0]
        {0: ('Σ', 'το')}
        """
        if not self.lexicon.entries:
            return {}, {}
        cache = self._met.own
        if len(cache) > _MOST_REMEMBERED:
            cache = self._met.renewed()
        new = [form for form in dict.fromkeys(forms) if form not in cache]
        if new:
            cache.update(zip(new, self._analyse(new), strict=True))
        found = [cache[form] for form in forms]
        several = [index for index, form in enumerate(found) if form.words]
        around = self.weights[context_places(_context(found, several))].sum(axis=1, dtype=np.float64).tolist()
        scores = {index: found[index].margin - score for index, score in zip(several, around, strict=True)}
        return {i: recase(forms[i], found[i].words) for i, score in scores.items() if score > 0}, scores

    def _analyse(self, forms: list[str]) -> Iterator[_FormAnalysis]:
        """Yield the analysis of each form."""
        segments = [_segments(form, self.lexicon) for form in forms]
        several = [index for index, found in enumerate(segments) if len(found) > 1]
        best: dict[int, tuple[Words, float]] = {}
        if several:
            found = lattices([forms[i] for i in several], [segments[i] for i in several], self.lexicon.marks)
            margins, paths = best_paths(found, self.weights)
            for index, margin, path in zip(several, margins.tolist(), paths, strict=True):
                words = tuple(word for e in path for word in segments[index][e].words)
                if 1 < len(words) <= MOST_WORDS:
                    best[index] = words, margin
        rows = _described(forms, self.lexicon)
        return (_FormAnalysis(*row, *best.get(index, ((), 0.0))) for index, row in enumerate(rows))

    @classmethod
    def from_state(cls, state: dict[str, Any], weights: np.ndarray) -> Multiwords:
        """Return the multiword tokens that `state` describes, given their weights.

        Raises
        ------
        ModelError
            A part of the state is malformed.
        """
        return cls(MultiwordLexicon.from_state(state), weights)

    def state(self) -> dict[str, Any]:
        """Return the lexicon as JSON values."""
        return self.lexicon.state()


def obey_words(lexicon: UserLexicon, forms: Sequence[str], words: dict[int, Words], doubts: dict[int, float]) -> None:
    """Replace the words of tokens by those of their first entry in a user's lexicon, unless they agree with another."""
    for index, form in enumerate(forms):
        if entries := lexicon.entries_of(form):
            pairs = [(each.token, tuple(word.form for word in each.words)) for each in entries]
            own = [each if token == form else recase(form, each) for token, each in pairs]
            doubts.pop(index, None)
            found = words.pop(index, (form,))
            found = found if found in own else own[0]
            if len(found) > 1:
                words[index] = found


def _segments(form: str, lexicon: MultiwordLexicon) -> list[Segment]:
    return lexicon.alternatives(lexicon.plain(form), not _UNDIVIDED.search(form))


def _analysed(token: SurfaceToken, plain: Callable[[str], str]) -> _Token:
    """Return a token without case and marks, and its words; no words if it is one word."""
    return plain(token.form), tuple(map(lowered, token.words))


def _described(forms: Sequence[str], lexicon: MultiwordLexicon) -> Iterator[tuple[int, int, int]]:
    """Return the key, affix and shape of each form, see `_FormAnalysis`."""
    plain = [lexicon.plain(form) for form in forms]
    keys, affixes = hash_texts(plain).tolist(), hash_texts([lexicon.affix(form) for form in plain]).tolist()
    return zip(keys, affixes, map(shape_of, forms), strict=True)


def _context(forms: Sequence[_FormAnalysis], chosen: Sequence[int]) -> np.ndarray:
    """Return the attributes `CONTEXT` of some tokens among consecutive ones, uint32."""
    edge = _FormAnalysis(0, 0, 0, (), 0.0)
    padded = [edge, *forms, edge]
    rows = [(*padded[i + 1][:3], padded[i].key, padded[i + 2].key) for i in chosen]
    return np.array(rows, np.uint32).reshape(-1, len(CONTEXT))


def _examples(
    folds: Sequence[list[list[SurfaceToken]]],
    lexicons: Iterable[MultiwordLexicon],
    ends: Mapping[_Token, _Ends],
    marks: str,
) -> Examples:
    """Return the examples of all folds, each with a lexicon of the others."""
    forms: list[str] = []
    segments: list[list[Segment]] = []
    gold: list[bool] = []
    token, context, factor = [], [], []
    for fold, lexicon in zip(folds, lexicons, strict=True):
        numbers: dict[_Token, int] = {}
        first, own = len(forms), []
        for paragraph in fold:
            chosen = []
            for index, each in enumerate(paragraph):
                key = each.form, tuple(map(lowered, each.words))
                if key not in numbers:
                    numbers[key] = len(forms)
                    forms.append(each.form)
                    segments.append(_segments(each.form, lexicon))
                    gold.extend(_gold(segments[-1], lexicon.plain(each.form), key[1], ends))
                if len(segments[numbers[key]]) > 1:
                    own.append(numbers[key] - first)
                    chosen.append(index)
            rows = _described([each.form for each in paragraph], lexicon)
            context.append(_context([_FormAnalysis(*row, (), 0.0) for row in rows], chosen))
        factor.append(_factors(own, numbers, lexicon.plain))
        token += [first + number for number in own]
    found, around = lattices(forms, segments, marks), context_places(np.concatenate(context))
    return Examples(found, np.array(gold, np.bool_), np.array(token, np.int64), around, np.concatenate(factor))


def _factors(token: list[int], forms: Iterable[_Token], plain: Callable[[str], str]) -> np.ndarray:
    """Return the weight of each example: 1 plus the logarithm of the count of its form and words, over this count.

    It is 1 for forms with several analyses, because their context decides.
    """
    readings = defaultdict[str, set[Words]](set)
    for form, words in forms:
        readings[plain(form)].add(words)
    doubtful = np.array([len(readings[plain(form)]) > 1 for form, _ in forms], np.bool_)[token]
    count = np.bincount(token, minlength=1)[token]
    return np.where(doubtful, 1.0, (1.0 + np.log(count)) / count)


def _gold(segments: list[Segment], form: str, words: Words, ends: Mapping[_Token, _Ends]) -> Iterator[bool]:
    """Yield whether each segment is in the gold analysis of a token."""
    last = ends.get((form, words), ())
    places = set(zip((0, *last), last, words, strict=False))
    for segment in segments:
        whole = segment.kind < KNOWN
        yield segment.words == words if whole else (segment.begin, segment.end, *segment.words) in places
