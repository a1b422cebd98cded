"""SpaCy's rules for a language, for a model in training: its exceptions, and the patterns that it keeps together.

Its regular expressions are not stored, because models are untrusted, and a regular expression may take any time.
Instead they are tried on short strings.
"""

from __future__ import annotations

import re
from typing import Any

from nonproj.errors import ConfigError, install_command
from nonproj.text.languages import PATTERNS, Language

_ENTRY = re.compile(r"(?!\d+\.)[\w.'/&-]{2,29}")
_ALONE = re.compile(r"[^\W\d_]\.")


def add_exceptions(language: Language) -> Language:
    """Return a language with spaCy's abbreviations and other tokens, if spaCy is installed and knows it."""
    try:
        pipe = _blank(language.code)
    except ConfigError:
        return language
    return language._replace(tokens=language.tokens | _exceptions(pipe))


def from_spacy(code: str) -> Language:
    """Return spaCy's rules for a language.

    Raises
    ------
    ConfigError
        spaCy is not installed, or does not know the language.
    """
    pipe = _blank(code)
    patterns = {pattern for pattern in _CANDIDATES if _stays_together(pipe, pattern)}
    words = frozenset(word for word in pipe.Defaults.stop_words if word.islower() and len(word) < 30)
    return Language(code, code, words, _exceptions(pipe), patterns=frozenset(patterns))


def _blank(code: str) -> Any:
    """Return spaCy's empty pipeline of a language."""
    try:
        import spacy
    except ImportError:
        message = f"there are no rules for {code!r} without spaCy; run: {install_command('spacy')}, or set it to null"
        raise ConfigError("segmenter.language", message) from None
    try:
        return spacy.blank(code)
    except (AttributeError, ImportError, OSError, ValueError):
        message = f"spaCy does not know the language {code!r}; set it to null for rules for all languages"
        raise ConfigError("segmenter.language", message) from None


def _exceptions(pipe: Any) -> frozenset[str]:
    """Return the exceptions of spaCy's tokenizer; blanks separate the tokens of one that is divided."""
    from spacy.symbols import ORTH

    found = set()
    for text, parts in pipe.Defaults.tokenizer_exceptions.items():
        forms, regular = [part[ORTH] for part in parts], text.replace("_", "").isalnum() and len(parts) == 1
        if _ENTRY.fullmatch(text) and not _ALONE.fullmatch(text) and "".join(forms) == text and not regular:
            found.add(" ".join(forms))
    return frozenset(entry for entry in found if entry.islower() or entry.lower() not in found)


_CANDIDATES = sorted(PATTERNS | {f"{a}{mark}{b}" for mark in "/:,&" for a in "a1" for b in "a1"} | {"a- ", "1% "})


def _stays_together(pipe: Any, pattern: str) -> bool:
    """Return whether spaCy keeps a pattern together."""
    text = pattern.replace("a", "xq").replace("1", "47").strip()
    return len(pipe(text)) == 1
