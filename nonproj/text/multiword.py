"""Multiword tokens: which tokens of a text stand for several words, and for which.

Tokens that were multiword tokens in training are looked up; others are matched by rules, such as ``'s`` at the end,
that were learnt from them.  Where that is not certain, a linear model decides by the token and its neighbours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.strings import LONGEST_EXPANSION, MOST_WORDS, MULTIWORD, check_strings, fits
from nonproj.kernels.threads import PerThread
from nonproj.linear.hashing import hash_texts
from nonproj.linear.logistic import LogisticOptions, fit
from nonproj.linear.state import Schema
from nonproj.text.characters import lowered
from nonproj.text.corpus import SurfaceToken

BITS = 16
"""Binary logarithm of the size of the table of weights."""

MIN_TYPES, MIN_SHARE = 3, 0.2
"""A rule needs this many multiword tokens to support it, and this share of the tokens that it matches."""

LONGEST = 8
"""Longest string, in characters, that a rule matches."""

_N_FEATURES = 12


class ExpansionRule(NamedTuple):
    """A way to expand tokens: ``old``, at the end or at the beginning, is replaced and the other words are added.

    Attributes
    ----------
    at_end : bool
    old, new : str
    words : tuple of str
        The words after the first, or before the last.
    """

    at_end: bool
    old: str
    new: str
    words: tuple[str, ...]

    def expand(self, form: str) -> tuple[str, ...]:
        """Return the words of a token in lower case.

        Examples
        --------
        >>> ExpansionRule(True, "n't", "", ("n't",)).expand("isn't")
        ('is', "n't")
        >>> ExpansionRule(False, "l'", "", ("le",)).expand("l'eau")
        ('le', 'eau')
        """
        if self.at_end:
            return (form[: len(form) - len(self.old)] + self.new, *self.words)
        return (*self.words, self.new + form[len(self.old) :])


def rules_of(form: str, words: Sequence[str]) -> Iterator[ExpansionRule]:
    """Yield the rules that expand a token, in lower case, to these words: the most general ones."""
    for at_end in (True, False):
        outer = words[0] if at_end else words[-1]
        common = 0
        step = 1 if at_end else -1
        for a, b in zip(form[::step], outer[::step], strict=False):
            if a != b:
                break
            common += 1
        common = min(common, len(form) - 1)
        if common and len(form) - common <= LONGEST:
            if at_end:
                yield ExpansionRule(True, form[common:], outer[common:], tuple(words[1:]))
            else:
                yield ExpansionRule(False, form[: len(form) - common], outer[: len(outer) - common], tuple(words[:-1]))


class _Candidate(NamedTuple):
    words: tuple[str, ...]
    certain: bool
    names: tuple[str, ...]


def recase(form: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words with the case of the token that they expand.

    Examples
    --------
    >>> recase("Don't", ("do", "n't")), recase("AU", ("à", "le")), recase("Zum", ("zu", "dem"))
    (('Do', "n't"), ('À', 'LE'), ('Zu', 'dem'))
    """
    if sum(map(len, words)) == len(form) and "".join(words) == lowered(form):
        found, position = [], 0
        for word in words:
            found.append(form[position : position + len(word)])
            position += len(word)
        return tuple(found)
    if len(form) > 1 and form.isupper():
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words


class Multiwords:
    """The multiword tokens of a language.

    Attributes
    ----------
    entries : dict of str to (tuple of str, bool)
        For tokens in lower case, the words and whether they always stand for them.
    rules : dict of (bool, str) to ExpansionRule
        By place and matched string.
    weights : ndarray of shape (2**BITS,), float32
    """

    schema: ClassVar[Schema] = Schema({"entries": list, "rules": list}, {})

    def __init__(
        self,
        entries: dict[str, tuple[tuple[str, ...], bool]],
        rules: dict[tuple[bool, str], ExpansionRule],
        weights: np.ndarray,
    ):
        self.entries, self.rules, self.weights = entries, rules, weights
        self._lengths = [sorted({len(old) for end, old in rules if end == e}, reverse=True) for e in (False, True)]
        self._met: PerThread[dict[str, _Candidate | None]] = PerThread(dict)

    @classmethod
    def fit(cls, paragraphs: Sequence[list[list[SurfaceToken]]], seed: int = 0) -> Multiwords:
        """Learn from the tokens of each sentence of each paragraph."""
        whole: Counter[str] = Counter()
        split: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for paragraph in paragraphs:
            for token in (token for sentence in paragraph for token in sentence):
                form = lowered(token.form)
                if token.words:
                    split[form][tuple(map(lowered, token.words))] += 1
                else:
                    whole[form] += 1
        entries: dict[str, tuple[tuple[str, ...], bool]] = {}
        for form, counts in split.items():
            words = counts.most_common(1)[0][0]
            if len(entries) < MULTIWORD.most and _fit(form, words):
                entries[form] = (words, not whole[form] and counts.total() > 1)
        found = cls(entries, _learn_rules(entries, whole), np.zeros(1 << BITS, np.float32))
        if entries:
            found._learn_weights(paragraphs, seed)
        return found

    def _learn_weights(self, paragraphs: Sequence[list[list[SurfaceToken]]], seed: int) -> None:
        rows, gold = [], []
        for paragraph in paragraphs:
            tokens = [token for sentence in paragraph for token in sentence]
            forms = [token.form for token in tokens]
            for index, token in enumerate(tokens):
                candidate = self._candidate(token.form)
                if candidate is None:
                    continue
                neighbours = self._neighbours(forms, index)
                unseen = tuple(name for name in candidate.names if name[0] != "e")
                for names in (candidate.names, unseen):
                    if names:
                        rows.append(_places(names, neighbours))
                        gold.append(bool(token.words))
        if rows:
            self.weights = fit(np.array(rows, np.int32), np.array(gold, np.uint8), LogisticOptions(BITS, 10, 0.1), seed)

    @staticmethod
    def _neighbours(forms: list[str], index: int) -> tuple[str, str]:
        before = lowered(forms[index - 1]) if index else ""
        return before, lowered(forms[index + 1]) if index + 1 < len(forms) else ""

    def _candidate(self, form: str) -> _Candidate | None:
        """Return how a token can be expanded; None for nearly all tokens."""
        cache = self._met.own
        if form in cache:
            return cache[form]
        lower, found = lowered(form), None
        rule = self._rule(lower)
        names: tuple[str, ...] = ()
        if rule is not None:
            stem = lower[: -len(rule.old)][-2:] if rule.at_end else lower[len(rule.old) :][:2]
            name = f"r{rule.at_end}{rule.old}"
            inner = (stem[-1:] if rule.at_end else stem[:1]).isalpha()
            names = (f"{name} {inner}", name, f"{name} {stem}")
        if lower in self.entries:
            words, certain = self.entries[lower]
            case = "u" if form.isupper() else "t" if form[:1].isupper() else "l"
            found = _Candidate(recase(form, words), certain, (f"e{lower}", f"e{lower} {case}", *names))
        elif rule is not None:
            found = _Candidate(recase(form, rule.expand(lower)), False, names)
        if len(cache) < 1 << 18:
            cache[form] = found
        return found

    def _rule(self, lower: str) -> ExpansionRule | None:
        """Return the rule that matches most of a token."""
        best = None
        for at_end in (True, False):
            for length in self._lengths[at_end]:
                if length < len(lower) and (best is None or length > len(best.old)):
                    rule = self.rules.get((at_end, lower[-length:] if at_end else lower[:length]))
                    if rule is not None:
                        best = rule
                        break
        return best

    def expand(self, forms: list[str]) -> dict[int, tuple[str, ...]]:
        """Return the words of the multiword tokens among consecutive tokens, by index.

        Examples
        --------
        >>> paragraph = [[SurfaceToken("στο", True, ("σ", "το")), SurfaceToken("σπίτι", True)]]
        >>> Multiwords.fit([paragraph] * 2).expand(["Στο", "σπίτι"])
        {0: ('Σ', 'το')}
        """
        return self.expand_with_scores(forms)[0]

    def expand_with_scores(self, forms: list[str]) -> tuple[dict[int, tuple[str, ...]], dict[int, float]]:
        """Return what `expand` returns, and by index the log-odds of all tokens about which there was a doubt."""
        found: dict[int, tuple[str, ...]] = {}
        scores: dict[int, float] = {}
        if not self.entries:
            return found, scores
        cache = self._met.own
        for index, form in enumerate(forms):
            candidate = cache[form] if form in cache else self._candidate(form)
            if candidate is None:
                continue
            if not candidate.certain:
                scores[index] = self._score(candidate, forms, index)
            if candidate.certain or scores[index] > 0:
                found[index] = candidate.words
        return found, scores

    def _score(self, candidate: _Candidate, forms: list[str], index: int) -> float:
        """Return the log-odds that a token stands for several words."""
        places = _places(candidate.names, self._neighbours(forms, index))
        return float(self.weights[places].sum())

    def state(self) -> dict[str, Any]:
        """Return entries and rules as JSON values."""
        entries = [[form, list(words), certain] for form, (words, certain) in self.entries.items()]
        rules = [[rule.at_end, rule.old, rule.new, list(rule.words)] for rule in self.rules.values()]
        return {"entries": entries, "rules": rules}

    @classmethod
    def from_state(cls, state: dict[str, list[Any]], weights: np.ndarray) -> Multiwords:
        """Return the inverse of `state`.

        Raises
        ------
        ModelError
            An entry or a rule is not of that form.
        """
        entries = {
            form: (_words(words, (form,), 2), certain)
            for form, words, certain in _rows(state["entries"], (str, list, bool))
        }
        rules = {}
        for at_end, old, new, words in _rows(state["rules"], (bool, str, str, list)):
            if len(old) > LONGEST:
                raise ModelError(f"{_OWNER} have a rule for more than {LONGEST} characters")
            inner = (old, new) if new else (old,)
            rules[at_end, old] = ExpansionRule(at_end, old, new, _words(words, inner, 1))
        return cls(entries, rules, weights)


_OWNER = "the segmenter's multiword tokens"


def _fit(form: str, words: Sequence[str]) -> bool:
    """Return whether a token and its words may be in a model."""
    short = len(words) <= MOST_WORDS and sum(map(len, words)) <= LONGEST_EXPANSION
    return short and all(fits(text, MULTIWORD) for text in (form, *words))


def _rows(rows: list[Any], types: tuple[type, ...]) -> list[list[Any]]:
    """Return the rows of a model; raise `ModelError` unless they are lists of these types."""
    if len(rows) > MULTIWORD.most:
        raise ModelError(f"{_OWNER} are more than {MULTIWORD.most}")
    if not all(type(row) is list and tuple(map(type, row)) == types for row in rows):
        raise ModelError(f"{_OWNER} are not lists of {', '.join(kind.__name__ for kind in types)}")
    return rows


def _words(words: list[Any], others: tuple[str, ...], least: int) -> tuple[str, ...]:
    """Return the words of a token; raise `ModelError` if they, or the other strings beside them, do not fit."""
    check_strings([*others, *words], MULTIWORD, _OWNER)
    if not least <= len(words) <= MOST_WORDS or sum(map(len, words)) > LONGEST_EXPANSION:
        limits = f"{least} to {MOST_WORDS} words of up to {LONGEST_EXPANSION} characters together are allowed"
        raise ModelError(f"{_OWNER}: {len(words)} words of {sum(map(len, words))} characters; {limits}")
    return tuple(words)


def _learn_rules(entries: dict[str, Any], whole: Counter[Any]) -> dict[tuple[bool, str], ExpansionRule]:
    """Return the best rule for each matched string, if tokens support it."""
    support: dict[tuple[bool, str], Counter[Any]] = defaultdict(Counter)
    for form, (words, _) in entries.items():
        for rule in rules_of(form, words):
            support[rule.at_end, rule.old][rule] += 1
    matched: Counter[Any] = Counter()
    for form in {*entries, *whole}:
        for length in range(1, min(LONGEST, len(form) - 1) + 1):
            matched[True, form[-length:]] += 1
            matched[False, form[:length]] += 1
    found = {}
    for key, counts in support.items():
        rule, count = counts.most_common(1)[0]
        if count >= MIN_TYPES and count >= MIN_SHARE * matched[key]:
            found[key] = rule
    return found


def _places(names: Sequence[str], neighbours: tuple[str, str]) -> list[int]:
    """Return the places of the features of a candidate, always equally many; unused ones share a place."""
    before, after = neighbours
    strings = ["b", *names]
    for name in (names[0], names[-2] if len(names) > 4 else ""):
        if name:
            strings += [f"{name}<{before}", f"{name}>{after}"]
    places: list[int] = (hash_texts(strings) >> np.uint32(32 - BITS)).tolist()
    return (places + places[:1] * _N_FEATURES)[:_N_FEATURES]
