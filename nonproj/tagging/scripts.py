"""Edit scripts, which make a lemma from a form (Chrupała, Dinu and van Genabith 2008, section 3).

A script changes a form at both ends, character by character, around its longest part that the lemma shares, and sets
the case of the result.  So it applies to other forms as well.  Four fields, separated by tabs::

    l   the form is lower-cased first           k   the form is edited as it is
    t   as l, then its first letter is upper    u   as l, then all is upper case
    =   the lemma is the rest of the script

    the edits of the beginning, and those of the end: ``>`` keeps a character, ``-x`` deletes x, ``+x`` inserts it

A script does not apply to a form that lacks the characters it deletes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import lru_cache

from nonproj.io.strings import SCRIPT, fits

_CASES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "l": (str.lower, str),
    "k": (str, str),
    "t": (str.lower, lambda text: text[:1].upper() + text[1:]),
    "u": (str.lower, str.upper),
}


LONGEST = 1000
"""Maximum number of characters of a form or lemma with edits, which take quadratic time to find."""

_EDIT, _EDITS = (re.compile(pattern, re.DOTALL) for pattern in (">|[-+].", "(?:>|[-+].)*"))


def make_script(form: str, lemma: str) -> str:
    """Return the script that makes the lemma from the form; the whole lemma if one of them is longer than `LONGEST`.

    Examples
    --------
    >>> make_script("Running", "run")
    'l\\t\\t-n-i-n-g'
    >>> make_script("gegangen", "gehen")
    'l\\t\\t-g-a-n-g+h>>'
    >>> make_script("went", "go")
    '=go'
    """
    if max(len(form), len(lemma)) > LONGEST:
        return f"={lemma}"
    found = []
    for case in "l" if lemma == lemma.lower() else "ktu":
        prepare, finish = _CASES[case]
        source = prepare(form)
        target = lemma if case in "lk" else lemma.lower()
        begin, start, size = SequenceMatcher(None, source, target, False).find_longest_match()
        if size:
            before = _edits(source[:begin], target[:start])
            after = _edits(source[begin + size :], target[start + size :])
            script = f"{case}\t{before}\t{after}"
            if apply_script(script, form) == lemma:
                found.append(script)
    return min(found, key=len, default=f"={lemma}")


def apply_script(script: str, form: str) -> str | None:
    """Return the result of a script for a form; None where it does not apply, or where nothing is left.

    Examples
    --------
    >>> apply_script("l\\t\\t-t-i-n-g", "Sitting"), apply_script("l\\t\\t-t-i-n-g", "Running")
    ('sit', None)
    """
    if is_whole(script):
        return script[1:]
    case, n_before, before, n_after, after = _parse(script)
    prepare, finish = _CASES[case]
    source = prepare(form)
    middle = len(source) - n_after
    if n_before > middle:
        return None
    begin, end = _edit(before, source[:n_before]), _edit(after, source[middle:])
    if begin is None or end is None:
        return None
    return finish(begin + source[n_before:middle] + end) or None


def is_whole(script: str) -> bool:
    """Return whether a script replaces the whole form, so that it does not generalise to other forms.

    Examples
    --------
    >>> [is_whole(make_script(form, lemma)) for form, lemma in (("went", "go"), ("goes", "go"))]
    [True, False]
    """
    return script[0] == "="


def is_doubtful(script: str, form: str, n_forms: int) -> bool:
    """Return whether a script keeps too little of a form to be trusted for forms that it was not seen with.

    It keeps at most one of three characters or more, or was seen with one form (``n_forms``) and inserts at least two
    characters more than it keeps, or was seen with one or two and inserts at least two characters at the beginning.

    Examples
    --------
    >>> script = make_script("ist", "sein")
    >>> is_doubtful(script, "weist", 1), apply_script(script, "weist")
    (True, 'sewein')
    >>> is_doubtful("l\\t\\t-o-k-o-n", "rokon", 9), is_doubtful("l\\t\\t-o-k-o-n", "lapokon", 9)
    (True, False)
    """
    if is_whole(script):
        return False
    case, _, before, _, after = _parse(script)
    edits = [operation for operation, _ in before + after]
    kept, inserted = len(_CASES[case][0](form)) - edits.count("-"), edits.count("+")
    beginning = sum(operation == "+" for operation, _ in before)
    return kept < 2 < len(form) or (n_forms < 2 and inserted > kept + 1) or (n_forms < 3 and beginning > 1)


@lru_cache(100_000)
def _parse(script: str) -> tuple[str, int, list[tuple[str, str]], int, list[tuple[str, str]]]:
    """Return the case and, for each end, the number of characters that its edits read, and these edits.

    An edit is an operation and its character, which is empty for ``>``.
    """
    case, *ends = script.split("\t")
    before, after = ([(edit[0], edit[1:]) for edit in _EDIT.findall(end)] for end in ends)
    return case, sum(o != "+" for o, _ in before), before, sum(o != "+" for o, _ in after), after


def _edit(edits: list[tuple[str, str]], text: str) -> str | None:
    """Return the result of edits, which read all of a text; None if they delete a character that it lacks there."""
    made, k = [], 0
    for operation, character in edits:
        if operation == "+":
            made.append(character)
            continue
        if operation == ">":
            made.append(text[k])
        elif text[k] != character:
            return None
        k += 1
    return "".join(made)


def _edits(source: str, target: str) -> str:
    """Return the shortest sequence of insertions and deletions from one text to another, as early as possible."""
    n, m = len(source), len(target)
    cost = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if i == n or j == m:
                cost[i][j] = n - i + m - j
            else:
                cost[i][j] = 1 + min(cost[i + 1][j], cost[i][j + 1])
                if source[i] == target[j]:
                    cost[i][j] = min(cost[i][j], cost[i + 1][j + 1])
    made, i, j = [], 0, 0
    while i < n or j < m:
        if i < n and cost[i][j] == 1 + cost[i + 1][j]:
            made.append("-" + source[i])
            i += 1
        elif j < m and cost[i][j] == 1 + cost[i][j + 1]:
            made.append("+" + target[j])
            j += 1
        else:
            made.append(">")
            i, j = i + 1, j + 1
    return "".join(made)


def is_script(text: object) -> bool:
    """Return whether a value is a script for `apply_script` whose lemmas may be written to files."""
    if type(text) is not str or len(text) < 2 or not fits(text, SCRIPT):
        return False
    if text[0] == "=":
        return "\t" not in text
    case, *ends = text.split("\t")
    return case in _CASES and len(ends) == 2 and all(map(_EDITS.fullmatch, ends))
