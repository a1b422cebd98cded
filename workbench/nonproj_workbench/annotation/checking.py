"""The messages on a sentence: contradictions, missing heads, and errors found by the official validator."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Collection
from typing import Any, NamedTuple

from nonproj.io.checks import ReadingRules, checked
from nonproj.io.columns import HEAD, MISC
from nonproj_workbench.annotation.decisions import decisions_of, find_cycle, marks_of
from nonproj_workbench.annotation.draft import Draft, split_lines
from nonproj_workbench.annotation.structure import surface
from nonproj_workbench.annotation.views import heads_of
from nonproj_workbench.validation import UNIVERSAL_TAGS, check_level, violations

FORMAT = 2
"""The highest level of the validator that concerns the format alone."""

OF_FILES = ("edeps-identical-to-basic-trees",)
"""The validator's rules that concern a whole file."""

_lock = threading.Lock()
"""Lock held while the validator works."""


class Checker(NamedTuple):
    """Options of checking.

    Attributes
    ----------
    level : int
        The validator's highest level; 0 for none.
    language : str or None
    """

    level: int
    language: str | None = None

    @classmethod
    def of(cls, form: str, level: int | None, language: str | None, tags: Collection[str] = ()) -> Checker:
        """Return the checker of a file; by default, CoNLL-U is checked up to level 3, or 5 if a language is given.

        By default, the validator is not used if it is not installed, or if there is a model whose tags are not those of
        Universal Dependencies, because it would reject each word.

        Raises `DependencyError` or `ConfigError` if a level is demanded that cannot be checked.
        """
        if level is None:
            known = form == "conllu" and set(tags) <= UNIVERSAL_TAGS and importlib.util.find_spec("udtools") is not None
            level = 0 if not known else 5 if language else 3
        check_level(level, language)
        return cls(level, language)

    def messages(self, text: str) -> list[dict[str, Any]]:
        r"""Return the messages on the lines of a sentence.

        Returns
        -------
        list of dict
            Each with ``level`` (0 for this program's own), ``word`` or None, ``id`` of the rule, and ``text``.

        Examples
        --------
        >>> text = "1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t1\tx\t_\t_\n\n"
        >>> [(each["id"], each["text"]) for each in Checker(0).messages(text)]
        [('cycle', 'the heads form a cycle: 2 → 1 → 2'), ('no-root', 'no word has the head 0')]
        """
        found = own_messages(Draft.of(text))
        if self.level:
            sentence = checked(split_lines(text), "sentence", 1, ReadingRules(ignore_heads=True, max_line=1 << 30))
            with _lock:
                theirs = violations([sentence], self.level, self.language)
            own = (each for each in theirs if each.rule not in OF_FILES)
            found += [_message(each.level, each.word or None, each.rule, each.message) for each in own]
        return found


def own_messages(draft: Draft) -> list[dict[str, Any]]:
    """Return the messages that need no validator: errors in heads, decisions and the text."""
    words, heads, found = draft.words, heads_of(draft), []
    for word, (row, head) in enumerate(zip(words, heads, strict=True), 1):
        if row[HEAD] == "_":
            found.append(_message(0, word, "no-head", "the head is absent"))
        elif head is None:
            found.append(_message(0, word, "head", f"HEAD is {row[HEAD]!r}, the number of another word or 0 expected"))
        for name, value in marks_of(row[MISC]):
            number = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else -1
            if name != "Deprel" and (number == word or not 0 <= number <= len(words)):
                found.append(_message(0, word, "decision", f"{name}={value} is not the number of another word or 0"))
    cycle = find_cycle({word: head for word, head in enumerate(heads, 1) if head is not None})
    if cycle:
        path = " → ".join(map(str, [cycle[-1], *reversed(cycle[:-1]), cycle[-1]]))
        found.append(_message(0, cycle[0], "cycle", f"the heads form a cycle: {path}"))
    if None not in heads and 0 not in heads:
        found.append(_message(0, None, "no-root", "no word has the head 0"))
    decided = decisions_of(draft, "none")
    for word, head in decided.heads.items():
        if heads[word - 1] != head and not decided.done:
            found.append(_message(0, word, "decision", f"the head {head} is decided, HEAD is {words[word - 1][HEAD]}"))
    text = draft.comment("text")
    if text is not None and text != surface(draft):
        found.append(_message(0, None, "text", f"# text is not the text of the words, {surface(draft)!r}"))
    return found


def _message(level: int, word: int | None, rule: str, text: str) -> dict[str, Any]:
    return {"level": level, "word": word, "id": rule, "text": text}
