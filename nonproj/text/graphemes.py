"""Characters as readers see them: extended grapheme clusters (Unicode Standard Annex 29), which no token divides.

Clusters are found by Unicode's categories and a few ranges, without tables of data.  Where they differ from the annex,
clusters here are longer: they include every spacing mark and any character after a zero width joiner.  Blank
characters are never part of a cluster, because they are never part of a token.
"""

from __future__ import annotations

import unicodedata

import numpy as np

ALONE, MARK, LINKER, JOINER, PREFIX, LEADING, SYLLABLE, REGIONAL = range(8)
"""Classes of characters: ordinary ones; marks, linkers and joiners, which join the character before them (a linker also
joins the next letter, and the zero width joiner any next character); prefixes, which join the next one; leading
consonants and syllables of Hangul; letters whose pairs make a flag."""

_LINKERS = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab\ua9c0\uaaf6\U00010a3f\U00011133"
    "\U0001113e\U000113d0\U0001193e\U00011a47\U00011a99\U00011f42"
)
"""Viramas; the next consonant forms a conjunct with the one before."""

_PREFIXES = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2"
    "\U000111c3\U000113d1\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89"
    "\U00011d46\U00011f02"
)

_RANGES = (
    (0x200C, 0x200C, MARK),  # zero width non-joiner
    (0x200D, 0x200D, JOINER),
    (0x0E33, 0x0E33, MARK),  # vowels of Thai and Lao
    (0x0EB3, 0x0EB3, MARK),
    (0x1160, 0x11FF, MARK),  # vowels and finals of Hangul
    (0xD7B0, 0xD7FB, MARK),
    (0xFF9E, 0xFF9F, MARK),  # voiced sounds of halfwidth Katakana
    (0x1F3FB, 0x1F3FF, MARK),  # skin tones
    (0xE0020, 0xE007F, MARK),  # tags of flags
    (0x1100, 0x115F, LEADING),
    (0xA960, 0xA97C, LEADING),
    (0xAC00, 0xD7A3, SYLLABLE),
    (0x1F1E6, 0x1F1FF, REGIONAL),
)


def grapheme_class(character: str) -> int:
    """Return the class of a character.

    Examples
    --------
    >>> grapheme_class("\\u3099") == MARK, grapheme_class("a") == ALONE
    (True, True)
    """
    if character in _LINKERS:
        return LINKER
    if character in _PREFIXES:
        return PREFIX
    code = ord(character)
    for first, last, found in _RANGES:
        if first <= code <= last:
            return found
    return MARK if unicodedata.category(character)[0] == "M" else ALONE


def joined_with_next(classes: np.ndarray, solid: np.ndarray, letter: np.ndarray) -> np.ndarray:
    """Return whether each character is in the same cluster as the next, uint8[n].

    Parameters
    ----------
    classes : ndarray of shape (n,), uint8
    solid : ndarray of shape (n,), bool
        Whether a character is not blank.
    letter : ndarray of shape (n,), bool
        Whether it is a letter without case.
    """
    joined = np.zeros(len(classes), np.uint8)
    if len(classes) < 2:
        return joined
    follows = (classes == MARK) | (classes == LINKER) | (classes == JOINER)
    left, right = classes[:-1], classes[1:]
    found = follows[1:] | (left == JOINER) | (left == PREFIX)
    found |= (left == LEADING) & ((right == LEADING) | (right == SYLLABLE))
    places = np.arange(len(classes))
    if (classes == LINKER).any():
        base = np.maximum.accumulate(np.where(follows, 0, places))
        count = np.cumsum(classes == LINKER)
        found |= follows[:-1] & letter[1:] & (count > (count - (classes == LINKER))[base])[:-1]
    if (classes == REGIONAL).any():
        before = np.maximum.accumulate(np.where(classes == REGIONAL, -1, places))
        found |= (left == REGIONAL) & (right == REGIONAL) & ((places - before)[:-1] % 2 == 1)
    joined[:-1] = found & solid[:-1] & solid[1:]
    return joined


def bases(classes: np.ndarray, joined: np.ndarray) -> np.ndarray:
    """Return for each character the place of the one that it modifies, int64[n]: its own, unless it is a mark."""
    places = np.arange(len(classes))
    own = np.ones(len(classes), np.bool_)
    own[1:] = (joined[:-1] == 0) | ~np.isin(classes[1:], (MARK, LINKER, JOINER))
    return np.maximum.accumulate(np.where(own, places, 0))
