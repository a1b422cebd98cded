"""Punctuation around each word: the brackets or quotation marks that enclose it, and the commas before it.

The words within a pair of brackets or quotation marks mostly form a subtree, so few arcs cross its marks; and siblings
in one segment behave differently from siblings on two sides of a comma.  The marks need not be next to any word of a
part, so these are attributes of every word of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

OUTSIDE_ALL = "0"
"""The enclosure of words that are in no pair."""

_SINGLE = "() [] {} <> «» »« »» ‹› ›‹ “” „“ „” ”” ‘’ ‚‘ ‚’"
_PAIRS = tuple((pair[0], pair[1]) for pair in _SINGLE.split()) + (('"', '"'), ("'", "'"), ("`", "'"))
_WRITTEN_OUT = ("-LRB-", "-RRB-"), ("-LSB-", "-RSB-"), ("-LCB-", "-RCB-"), ("``", "''"), ("''", "''")
_OPENED_BY: dict[str, set[str]] = {}
for _opening, _closing in (*_PAIRS, *_WRITTEN_OUT):
    _OPENED_BY.setdefault(_closing, set()).add(_opening)
_OPENING = {mark for marks in _OPENED_BY.values() for mark in marks}

_LEVELS, _NUMBERS = 3, 3

_SEGMENTS = [str(number) for number in range(_NUMBERS)]
_SEPARATORS = frozenset([",", ";", ":", "-", "--", "–", "—", "،", "؛", "、", "，", "；", "："])

MARKS = frozenset(_OPENED_BY) | _SEPARATORS
"""Punctuation that the attributes depend on; without any, each word has the attributes of a one-word sentence."""


def enclosures(forms: Sequence[str]) -> list[str]:
    """Return for each word the pair of brackets or quotation marks that it is in.

    A closing mark matches the nearest open mark that it can close; marks within a pair that are still open then stay
    without a partner.  A mark that can do both opens a pair if it closes none.

    Parameters
    ----------
    forms : sequence of str
        The words of a sentence; marks are words of their own.

    Returns
    -------
    list of str
        ``0`` outside of all pairs, or the level of the innermost pair around the word (1, 2, or 3 and deeper) and its
        number among the sentence's pairs of that level, modulo 3.  A mark itself is outside of its pair.

    Examples
    --------
    >>> enclosures("He ( the ' old ' man ) said ' no '".split())
    ['0', '0', '1.0', '1.0', '2.0', '1.0', '1.0', '0', '0', '0', '1.1', '0']
    """
    found = [OUTSIDE_ALL] * len(forms)
    levels, numbers = [0] * len(forms), [0] * (_LEVELS + 1)
    for begin, end in sorted(_matched(forms)):
        level = min(levels[begin] + 1, _LEVELS)
        value = f"{level}.{numbers[level] % _NUMBERS}"
        numbers[level] += 1
        for i in range(begin + 1, end):
            found[i], levels[i] = value, level
    return found


def segments(forms: Sequence[str]) -> list[str]:
    """Return for each word the number of commas, semicolons, colons and dashes before it, modulo 3.

    Examples
    --------
    >>> segments("one , two - three , four".split())
    ['0', '0', '1', '1', '2', '2', '0']
    """
    found, count = [], 0
    for form in forms:
        found.append(_SEGMENTS[count])
        if form in _SEPARATORS:
            count = (count + 1) % _NUMBERS
    return found


def _matched(forms: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of the two marks of each pair; two pairs are nested or disjoint."""
    pairs: list[tuple[int, int]] = []
    if _OPENED_BY.keys().isdisjoint(forms):
        return pairs
    still_open: list[int] = []
    for i, form in enumerate(forms):
        partners = _OPENED_BY.get(form, ())
        k = len(still_open) - 1
        while k >= 0 and forms[still_open[k]] not in partners:
            k -= 1
        if k >= 0:
            pairs.append((still_open[k], i))
            del still_open[k:]
        elif form in _OPENING:
            still_open.append(i)
    return pairs
