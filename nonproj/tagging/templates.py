"""Attributes in the templates of tagger and lemmatizer, and their hashes (`nonproj.linear.templates`).

Templates name attributes of the word and its neighbours, as in ``w-1.form w.suffix2``, and levels of the two tags
before (``p.pos``, ``q.full``); each is combined with each part of the word's own tag.  ``p.same`` is special: it stands
for the previous tag's value of the same morphological attribute, so it is combined with single features only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.linear.templates import CompiledTemplates, Grammar, Term, check_spec, compile_templates, default_folder
from nonproj.options.reading import load_yaml
from nonproj.tagging.tagset import LEVELS

WINDOW = 2
"""Number of words on either side whose attributes templates may name."""

SAME = "same"
"""Name of the level with the previous tag's value of the same morphological attribute."""


class ChainTemplates(NamedTuple):
    """The templates as the kernels read them, sorted: word alone, context, previous tag, same attribute, two tags.

    Attributes
    ----------
    compiled : CompiledTemplates
        The terms about words, and where each kind of template begins.
    levels : ndarray of shape (n_templates, 2, n_levels + 1), uint64
        Coefficients of the levels of the previous tag and the one before, and of ``same``; 0 where not named.
    n_attributes : int
        The number of attributes of words.
    """

    compiled: CompiledTemplates
    levels: np.ndarray
    n_attributes: int


def _kind(terms: Sequence[Term]) -> int:
    """Return a template's kind: 0 word alone, 1 neighbours, 2 previous tag, 3 its value of an attribute, 4 two tags."""
    if any(term.slot == "q" for term in terms):
        return 4
    if any(term.slot == "p" for term in terms):
        return 3 if any(term.attribute == SAME for term in terms) else 2
    return int(any(term.offset for term in terms))


def _problem(terms: Sequence[Term], text: str) -> str | None:
    """Return why terms do not fit together, or None."""
    if any(term.attribute == SAME for term in terms) and any(term.slot == "q" for term in terms):
        return f"'{text}': p.same is not for templates over two tags"
    return None


def grammar_of(part: str, attributes: Sequence[str]) -> Grammar:
    """Return the grammar of templates of ``tagger`` or ``lemmatizer``; a lemma depends on the word alone."""
    tagger = part == "tagger"
    others = {"p": (*LEVELS, SAME), "q": LEVELS} if tagger else {}
    window = (-WINDOW, WINDOW) if tagger else (0, 0)
    return Grammar(part, ("w",), attributes, window, others, (), 5, _kind, _problem)


def chain_templates(spec: object, part: str, attributes: Sequence[str]) -> ChainTemplates:
    """Return the content of a template file as kernels read it; ``attributes`` are those of words.

    Raises
    ------
    ConfigError
        If the file has another structure, or unknown names.
    """
    texts = check_spec(spec, f"features.{part}", part, ("templates",))["templates"]
    compiled = compile_templates(texts, grammar_of(part, attributes))
    levels = np.zeros((len(compiled.salt), 2, len(LEVELS) + 1), np.uint64)
    for t, term, number in compiled.others:
        levels[t, "pq".index(term.slot), [*LEVELS, SAME].index(term.attribute)] = number
    return ChainTemplates(compiled, levels, len(attributes))


def load_templates(folder: str | Path | None = None) -> dict[str, dict[str, Any]]:
    """Read ``tagger.yaml`` and ``lemmatizer.yaml`` from a folder, or the built-in file where the folder has none.

    Raises
    ------
    ConfigError
        If a file cannot be read or is not YAML; `chain_templates` checks the content.
    """
    built_in, files = default_folder(), {}
    for name in ("tagger", "lemmatizer"):
        path = Path(folder if folder is not None else built_in) / f"{name}.yaml"
        files[name] = load_yaml(path if path.is_file() else built_in / f"{name}.yaml")
    return files
