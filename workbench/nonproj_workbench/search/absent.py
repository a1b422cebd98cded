"""Explanation of empty results: strings in a query that no word of the treebank has, such as tags of another scheme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from nonproj.io.columns import UPOS, XPOS
from nonproj.types import Sentence
from nonproj_workbench.search.attributes import acceptor
from nonproj_workbench.search.patterns import Formula, Link, Not, Test, Value, WordPattern
from nonproj_workbench.search.syntax import parse

_COLUMNS = {"form": 1, "upos": UPOS, "xpos": XPOS, "deprel": 7}
_NAMES = {"form": "form", "upos": "UPOS", "xpos": "XPOS", "deprel": "relation"}
_SHOWN = 10
"""Maximum number of values in a message, the most frequent ones."""


def absent(query: str, sentences: Iterable[Sentence]) -> str:
    """Return the strings of a query that no word has, and the values that occur instead; empty if all occur.

    Examples
    --------
    >>> from nonproj.types import Sentence
    >>> row = ["1", "Regn", "regn", "NOUN", "NC", "_", "0", "root", "_", "_"]
    >>> absent("V >subj NOUN", [Sentence([row])])
    'no word has the form V (tags are NOUN) or the relation subj (there are root)'
    """
    wanted = list(dict.fromkeys(_strings(parse(query))))
    counts = {key: Counter[str]() for key in _COLUMNS}
    for sentence in sentences:
        for row in sentence.rows:
            for key, column in _COLUMNS.items():
                counts[key][row[column]] += 1
    missing: dict[str, list[str]] = {}
    for key, value in wanted:
        if not any(map(acceptor(value), counts[key])):
            missing.setdefault(key, []).append(value.text)
    found = [f"the {_NAMES[key]} {' or '.join(texts)}{_instead(key, texts, counts)}" for key, texts in missing.items()]
    return f"no word has {' or '.join(found)}" if found else ""


def _strings(part: Formula | WordPattern) -> Iterator[tuple[str, Value]]:
    """Yield the columns and strings that a pattern asks for, except negated ones and those of another tree."""
    if isinstance(part, WordPattern):
        yield from _strings(part.condition)
        yield from _strings(part.links)
    elif isinstance(part, Link):
        if part.relation.label and not part.relation.other:
            yield "deprel", part.relation.label
        yield from _strings(part.node)
    elif isinstance(part, Test):
        if part.attribute.key in _COLUMNS and part.operator == "=" and not part.attribute.other:
            yield part.attribute.key, part.value
    elif not isinstance(part, Not):
        for each in part.parts:
            yield from _strings(each)


def _instead(key: str, texts: list[str], counts: dict[str, Counter[str]]) -> str:
    """Return the values that occur; for forms in capitals, which may be meant as tags, return the tags."""
    if key != "form":
        return f" (there are {_frequent(counts[key])})"
    for column in ("upos", "xpos"):
        if meant := [f"{{{column}:{text}}}" for text in texts if text in counts[column]]:
            return f" (the tag is {' or '.join(meant)})"
    if not any(text.isupper() for text in texts):
        return ""
    return f" (tags are {_frequent(counts['upos'] if set(counts['upos']) - {'_'} else counts['xpos'])})"


def _frequent(values: Counter[str]) -> str:
    """Return a phrase that lists the most frequent values and counts the others; "none" if there are none."""
    shown = [value for value, _ in values.most_common() if value != "_"]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more if shown else "none"
