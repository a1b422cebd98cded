"""Violations found by the official validator of Universal Dependencies, by level.

The validator is the PyPI package ``udtools`` (the extra ``ud``).  Its levels 1 and 2 are about
the format, 3 about the universal guidelines, 4 and 5 about those of a language.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nonproj.errors import ConfigError, DependencyError, install_command
from nonproj.types import Sentence

UNIVERSAL_TAGS = frozenset(
    ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ")
    + ("SYM", "VERB", "X", "_")
)
"""The tags of Universal Dependencies (UPOS), with ``_`` where there is none."""

LEVELS = (1, 2, 3, 4, 5)
UNIVERSAL = 3
"""The highest level that does not depend on the language."""


class Violation(NamedTuple):
    """A violation of a rule by a sentence.

    Attributes
    ----------
    sentence, word : int
        The place, from 0 and from 1; word 0 is the sentence as a whole.
    level : int
    rule : str
        The name of the validator's test.
    message : str
    """

    sentence: int
    word: int
    level: int
    rule: str
    message: str


def violations(sentences: Sequence[Sentence], level: int, language: str | None = None) -> list[Violation]:
    """Return the errors that the official validator finds in the files of sentences, up to a level.

    Parameters
    ----------
    sentences : sequence of Sentence
        All sentences of their files, with their lines.
    level : int
        One of `LEVELS`.
    language : str, optional
        The code of the language, as in ``el``, which levels 4 and 5 need.

    Raises
    ------
    DependencyError
        The package udtools cannot be imported.
    ConfigError
        A level needs a language, or the validator does not know it.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> text = "# sent_id = 1\\n# text = Ja\\n1\\tJa\\tja\\tWORD\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> [(each.word, each.level, each.rule) for each in violations(list(conll.read(io.StringIO(text))), 2)]
    [(1, 2, 'unknown-upos')]
    """
    validator, state = _validator(level, language), _state()
    found: list[Violation] = []
    files: dict[str, int] = {}
    places: dict[tuple[str, int], tuple[int, int]] = {}
    for i, sentence in enumerate(sentences):
        state.current_file_name = str(files.setdefault(sentence.path, len(files)))
        places |= {(state.current_file_name, sentence.line + k): (i, 0) for k in range(len(sentence.lines))}
        numbered = enumerate(sentence.word_lines, 1)
        places |= {(state.current_file_name, sentence.line + k): (i, m) for m, k in numbered}
        lines = [line.rstrip("\r\n").removeprefix("\ufeff") for line in sentence.lines]
        first = next((k for k, line in enumerate(lines) if line.strip()), 0)
        last = max((k for k, line in enumerate(lines) if line.strip()), default=0)
        state.current_line = sentence.line + last + 1
        try:
            validator.validate_sentence([*lines[first : last + 1], ""], state)
        except Exception as error:  # a mistake of the validator's, on a sentence that it does not expect
            found.append(Violation(i, 0, level, "validator", f"the validator cannot read the sentence: {error!r}"))
    validator.validate_end(state)
    found += [_violation(places, sentences, each) for each in state.error_tracker if each.is_error()]
    return sorted(set(found))


def check_level(level: int, language: str | None) -> None:
    """Raise an error unless the validator can check a level, 0 for none; see `violations`."""
    if level:
        _validator(level, language)


@functools.lru_cache(maxsize=8)
def _validator(level: int, language: str | None) -> Any:
    """Return the official validator, which keeps its data about a file in a state."""
    if level > UNIVERSAL and not language:
        raise ConfigError("--level", f"level {level} needs the code of the language, as in --language en")
    try:
        module = importlib.import_module("udtools.validator")
    except ImportError as error:
        message = f"the official validator cannot be imported ({error}); run: {install_command('ud')}"
        raise DependencyError(f"{message}, or omit it: --level 0") from None
    try:
        validator = module.Validator(lang=language or "ud", level=level, output=None)
    except Exception as error:
        message = f"the official validator cannot be used ({error!r}); update udtools, or omit it: --level 0"
        raise DependencyError(message) from None
    if level > UNIVERSAL and language and not validator.data.is_known_language(language):
        raise ConfigError("--language", f"the validator does not know {language!r}")
    return validator


def _state() -> Any:
    """Return an empty state of the official validator."""
    return importlib.import_module("udtools.state").State()


def _violation(
    places: Mapping[tuple[str, int], tuple[int, int]], sentences: Sequence[Sentence], incident: Any
) -> Violation:
    """Return an error of the validator as a violation with its place."""
    sentence, word = places.get((str(incident.filename), int(incident.lineno or 0)), (0, 0))
    name = str(incident.nodeid or "")
    if name.isdecimal() and 0 < int(name) <= len(sentences[sentence]):
        word = int(name)
    message = " ".join(str(incident.message).split())
    return Violation(sentence, word, int(incident.level), str(incident.testid), message)
