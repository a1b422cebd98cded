"""The feature templates of tagger and lemmatizer, as data, hashed like those of parts (`nonproj.scoring.templates`).

A template names attributes of the word and its neighbours, as in ``w-1.form w.suffix2``, and levels of the two tags
before (``p.pos``, ``q.full``); it is combined with each part of the word's own tag.  ``p.same`` is special: it stands
for the previous tag's value of the same morphological attribute, so it is combined with single features only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ConfigError
from nonproj.options.config import load_yaml
from nonproj.tagging.tagset import LEVELS

WINDOW = 2
"""Templates look at so many words on either side."""

_TERM = re.compile(r"^(?:w([+-]\d)?|([pq]))\.([a-z0-9]+)$")
_MAX_TEMPLATES, _MAX_CHARACTERS = 200, 300


class Term(NamedTuple):
    """One attribute in a template: of a word (``w``, with an offset), or of a tag before (``p``, ``q``)."""

    slot: str
    offset: int
    attribute: str


class TemplateTable(NamedTuple):
    """The templates as the kernels read them, sorted: word alone, context, previous tag, same attribute, two tags.

    Attributes
    ----------
    salt : ndarray of shape (n_templates,), uint32
    bounds : tuple of 6 int
        Where each kind of template begins, and the end.
    template, offset, attribute : ndarray, int32
        The template, offset and attribute of each term about words.
    coefficient : ndarray, uint64
        Of each term about words.
    levels : ndarray of shape (n_templates, 2, n_levels + 1), uint64
        Coefficients of the levels of the previous tag and the one before, and of ``same``; 0 where not named.
    n_attributes : int
        The number of attributes of words.
    """

    salt: np.ndarray
    bounds: tuple[int, ...]
    template: np.ndarray
    offset: np.ndarray
    attribute: np.ndarray
    coefficient: np.ndarray
    levels: np.ndarray
    n_attributes: int


def parse_template(text: str, part: str, attributes: Sequence[str]) -> list[Term]:
    """Parse a template of ``tagger`` or ``lemmatizer``; raise `ConfigError` if a term is unknown.

    Examples
    --------
    >>> parse_template("w-1.form p.pos", "tagger", ["form"])
    [Term(slot='w', offset=-1, attribute='form'), Term(slot='p', offset=0, attribute='pos')]
    """
    terms, key = [], f"features.{part}"
    for word in text.split():
        match = _TERM.match(word)
        if not match:
            raise ConfigError(key, f"'{word}' is not of the form w+offset.attribute, p.level or q.level")
        offset, slot, attribute = match.groups()
        known = (*LEVELS, "same") if slot == "p" else LEVELS if slot else attributes
        if attribute not in known:
            raise ConfigError(key, f"'{word}': the known ones are {', '.join(known)}")
        if abs(int(offset or 0)) > WINDOW:
            raise ConfigError(key, f"'{word}': offsets go from -{WINDOW} to +{WINDOW}")
        if part == "lemmatizer" and (offset or slot):
            raise ConfigError(key, f"'{word}': a lemma depends on the attributes of the word alone")
        terms.append(Term(slot or "w", int(offset or 0), attribute))
    if not terms:
        raise ConfigError(key, "an empty template")
    if any(term.attribute == "same" for term in terms) and any(term.slot == "q" for term in terms):
        raise ConfigError(key, f"'{text}': p.same is not for templates over two tags")
    return terms


def _kind(terms: Sequence[Term]) -> int:
    """0 the word alone, 1 its neighbours, 2 the previous tag, 3 its value of the same attribute, 4 two tags."""
    if any(term.slot == "q" for term in terms):
        return 4
    if any(term.slot == "p" for term in terms):
        return 3 if any(term.attribute == "same" for term in terms) else 2
    return int(any(term.offset for term in terms))


def _random64(text: str) -> int:
    """A fixed odd number of 64 bits for a string, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1


def compile_templates(spec: object, part: str, attributes: Sequence[str]) -> TemplateTable:
    """Turn the content of a template file into the table that kernels read; ``attributes`` are those of words.

    Raises
    ------
    ConfigError
        If the file has another structure, or names what is unknown.
    """
    texts = _check_file(spec, part)
    parsed = {text: parse_template(text, part, attributes) for text in texts}
    texts.sort(key=lambda text: _kind(parsed[text]))
    kinds = [_kind(parsed[text]) for text in texts]
    rows, coefficients = [], []
    levels = np.zeros((len(texts), 2, len(LEVELS) + 1), np.uint64)
    for t, text in enumerate(texts):
        for term in parsed[text]:
            number = _random64(f"{part}/{text}/{term.slot}{term.offset:+d}.{term.attribute}")
            if term.slot == "w":
                rows.append((t, term.offset, attributes.index(term.attribute)))
                coefficients.append(number)
            else:
                levels[t, "pq".index(term.slot), [*LEVELS, "same"].index(term.attribute)] = number
    grid = np.array(rows, np.int32).reshape(-1, 3)
    return TemplateTable(
        salt=np.array([_random64(f"{part}/{text}") >> 32 for text in texts], np.uint32),
        bounds=tuple(sum(k < kind for k in kinds) for kind in range(6)),
        template=np.ascontiguousarray(grid[:, 0]),
        offset=np.ascontiguousarray(grid[:, 1]),
        attribute=np.ascontiguousarray(grid[:, 2]),
        coefficient=np.array(coefficients, np.uint64),
        levels=levels,
        n_attributes=len(attributes),
    )


def _check_file(spec: object, part: str) -> list[str]:
    """Return the different templates of a file, after checking its structure."""
    key = f"features.{part}"
    if not isinstance(spec, dict) or set(spec) != {"part", "templates"} or spec["part"] != part:
        raise ConfigError(key, f"the keys part, which is {part}, and templates expected")
    texts = spec["templates"]
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ConfigError(key, "templates is no list of texts")
    if len(texts) > _MAX_TEMPLATES or max(map(len, texts)) > _MAX_CHARACTERS:
        limit = f"{_MAX_TEMPLATES} templates of {_MAX_CHARACTERS} characters are the limit"
        raise ConfigError(key, f"too many templates, or too long ones; {limit}")
    return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def load_templates(folder: str | Path | None = None) -> dict[str, dict[str, Any]]:
    """Read ``tagger.yaml`` and ``lemmatizer.yaml`` from a folder, or the built-in file where the folder has none.

    Raises
    ------
    ConfigError
        If a file cannot be read or is no YAML; `compile_templates` checks the content.
    """
    built_in = Path(__file__).parent.parent / "features"
    built_in = built_in if built_in.is_dir() else built_in.parent.parent / "features"
    files = {}
    for name in ("tagger", "lemmatizer"):
        path = Path(folder if folder is not None else built_in) / f"{name}.yaml"
        files[name] = load_yaml(path if path.is_file() else built_in / f"{name}.yaml")
    return files
