"""The schema of the strings in model files: their characters, maximum lengths and maximum counts.

Models come from untrusted sources, and their strings reach output, messages and tables.  Every loader checks its
strings by a `StringKind`; training omits invalid strings, or refuses them with their line, so every model that it
writes can be read. The limits fit those of the reader: a sentence with the maximum number of words
(``decoding.max_words``) and the longest strings in each column stays below the limit on a sentence's lines.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from nonproj.errors import ModelError

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_BUT_TABS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
_LARGEST = 1 << 63
_SHOWN = 40


class StringKind(NamedTuple):
    """The constraints on strings of one kind.

    Attributes
    ----------
    what : str
        Name of such a string in messages.
    longest : int
        Maximum length in characters.
    most : int
        Maximum number of strings.
    empty : bool
        Whether a string may be empty.
    blanks : bool
        Whether it may contain blanks.
    tabs : bool
        Whether it may contain tabs.  Other control characters and lone surrogates are never allowed.
    """

    what: str
    longest: int
    most: int
    empty: bool = False
    blanks: bool = True
    tabs: bool = False


LABEL = StringKind("label", 200, 256)
TAG = StringKind("tag", 200, 20_000)
FEATURES = StringKind("column FEATS", 400, 20_000)
SCRIPT = StringKind("edit script", 400, 30_000, tabs=True)
VOCABULARY = StringKind("string", 1000, 1 << 22, empty=True, tabs=True)
CLUSTERED = StringKind("word", 1000, 1 << 24)
TOKEN = StringKind("token", 30, 50_000, blanks=False)
MULTIWORD = StringKind("multiword token", 200, 1 << 18, blanks=False)
WORD = StringKind("word", 1000, 1 << 22, blanks=False)
NAME = StringKind("name", 200, 10_000, empty=True)
TEXT = StringKind("text", 4096, 1 << 20, empty=True)

MOST_WORDS, LONGEST_EXPANSION = 20, 200
"""Maximum number of words of a multiword token, and maximum number of their characters together."""


def fits(text: str, kind: StringKind) -> bool:
    """Return whether a string satisfies the constraints of a kind.

    Examples
    --------
    >>> fits("nsubj", LABEL), fits("", LABEL), fits("a\\x97", LABEL), fits("N\\tCase=Nom", VOCABULARY)
    (True, False, False, True)
    """
    return _problem(text, kind) is None


def problem(values: object, kind: StringKind) -> str | None:
    """Return why a value of a model is not a valid list of strings of a kind, or None.

    Examples
    --------
    >>> problem(["nsubj", "obj"], LABEL)
    >>> problem(["nsubj", "x" * 3_000_000], LABEL)
    "the label 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' has 3000000 characters, at most 200 are allowed"
    """
    if type(values) is not list or not all(type(value) is str for value in values):
        return f"a list of strings expected, each a {kind.what}"
    if len(values) > kind.most:
        return f"{len(values)} times a {kind.what}, at most {kind.most} are allowed"
    everything = "".join(values)
    usual = not _control_of(kind).search(everything) and (kind.blanks or everything.split() in ([], [everything]))
    if usual and (kind.empty or "" not in values) and max(map(len, values), default=0) <= kind.longest:
        return None
    return next(filter(None, (_problem(value, kind) for value in values)), None)


def check_strings(values: object, kind: StringKind, owner: str) -> list[str]:
    """Return a list of strings of a kind; raise `ModelError`, whose message begins with the owner, if it is invalid."""
    if found := problem(values, kind):
        raise ModelError(f"{owner}: {found}")
    checked: Any = values
    return checked


def problem_of_record(record: object) -> str | None:
    """Return why a value is not a record of single values by name, or None."""
    if type(record) is not dict:
        return "a record of names and values expected"
    found = problem(list(record), NAME) or problem([value for value in record.values() if type(value) is str], TEXT)
    if found:
        return found
    for name, value in record.items():
        if type(value) in (dict, list):
            return f"the value of {name!r} is not a single one"
        if type(value) is int and not -_LARGEST <= value < _LARGEST:
            return f"the value of {name!r} is too large"
    return None


def escaped(value: Any) -> Any:
    """Return JSON values with all strings of the kind `TEXT`: forbidden characters are escaped, long strings cut.

    Used for file names, which may contain anything.

    Examples
    --------
    >>> escaped({"treebank": "d\\udce6nsk.conll"})
    {'treebank': 'd\\\\udce6nsk.conll'}
    """
    if isinstance(value, dict):
        return {escaped(name): escaped(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [escaped(inner) for inner in value]
    if not isinstance(value, str) or fits(value, TEXT):
        return value
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), value[: TEXT.longest // 6])


def _problem(text: str, kind: StringKind) -> str | None:
    """Return why a string is not of a kind."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if len(text) > kind.longest:
        return f"the {kind.what} '{shown}' has {len(text)} characters, at most {kind.longest} are allowed"
    if not text and not kind.empty:
        return f"a {kind.what} is empty"
    if _control_of(kind).search(text):
        return f"the {kind.what} '{shown}' has a control character or a lone surrogate"
    if not kind.blanks and text and text.split() != [text]:
        return f"the {kind.what} '{shown}' has a blank"
    return None


def _control_of(kind: StringKind) -> re.Pattern[str]:
    """Return the pattern of the characters that strings of a kind must not have."""
    return _CONTROL_BUT_TABS if kind.tabs else _CONTROL
