"""Feature templates as data: their grammar, and the terms that are hashed (`nonproj.linear.hashing`).

A template names attributes of words, or of other items, as in ``h.pos m.pos m+1.pos``: a *slot* is one of the items
that are scored together, an offset names one of its neighbours.  A `Grammar` lists the slots and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ConfigError, closest
from nonproj.linear.hashing import Window, coefficient

MAX_TEMPLATES, MAX_CHARACTERS = 500, 500
"""Limits of a file, which bound time and memory: templates, and their length."""

_TERM = re.compile(r"^([a-z]+)([+-]\d)?\.([a-z0-9]+)$")


class Term(NamedTuple):
    """One attribute in a template."""

    slot: str
    offset: int
    attribute: str


class Grammar(NamedTuple):
    """The names that templates may use, and how these may be combined.

    Attributes
    ----------
    part : str
        The name of the scored parts, on which the hash depends.
    slots : tuple of str
        Items with a position in the sentence, and so with neighbours.
    attributes : sequence of str
        Attributes of these items.
    window : tuple of two int
        The first and the last offset.
    others : mapping of str to sequence of str
        Other slots, without neighbours, and the attributes of each.
    sets : tuple of str
        Attributes with several values, which have no column.
    kinds : int
        Number of kinds, by which templates are sorted.
    kind : callable
        Returns the kind of a template, from 0, given its terms; by default there is one.
    problem : callable
        Returns why terms do not fit together, given terms and text, or None; by default all fit.
    """

    part: str
    slots: tuple[str, ...]
    attributes: Sequence[str]
    window: tuple[int, int]
    others: Mapping[str, Sequence[str]] = {}
    sets: tuple[str, ...] = ()
    kinds: int = 1
    kind: Callable[[Sequence[Term]], int] = lambda terms: 0
    problem: Callable[[Sequence[Term], str], str | None] = lambda terms, text: None


class CompiledTemplates(NamedTuple):
    """Templates as numbers.

    Attributes
    ----------
    salt : ndarray of shape (T,), uint64
        The upper half is the initial value of each template's hash.
    bounds : tuple of int
        Beginning of each kind of template, and the end.
    start : ndarray of shape (n_slots * T + 1,), int32
        The terms of slot ``i`` in template ``t`` are ``start[i * T + t]`` and following.
    template, offset, attribute : ndarray, int32
        The template of each term, its offset and the number of its attribute.
    coefficient : ndarray, uint64
    others : list of (int, Term, int)
        Terms about other slots or sets, with the numbers of their templates and their coefficients.
    """

    salt: np.ndarray
    bounds: tuple[int, ...]
    start: np.ndarray
    template: np.ndarray
    offset: np.ndarray
    attribute: np.ndarray
    coefficient: np.ndarray
    others: list[tuple[int, Term, int]]


def parse_template(text: str, grammar: Grammar) -> list[Term]:
    """Return the terms of a template, which are separated by blanks.

    Raises
    ------
    ConfigError
        If a term is not of the form ``slot+offset.attribute``, has an unknown name, or does not fit the others.

    Examples
    --------
    >>> parse_template("w-1.form p.pos", Grammar("tag", ("w",), ["form"], (-2, 2), {"p": ["pos"]}))
    [Term(slot='w', offset=-1, attribute='form'), Term(slot='p', offset=0, attribute='pos')]
    """
    terms, key = [], f"features.{grammar.part}"
    for word in text.split():
        match = _TERM.match(word)
        if not match or (match[2] and match[1] in grammar.others):
            raise ConfigError(key, f"'{word}' in '{text}' is not of the form slot+offset.attribute")
        slot, offset, attribute = match[1], int(match[2] or 0), match[3]
        if slot not in grammar.slots and slot not in grammar.others:
            known = ", ".join((*grammar.slots, *grammar.others))
            raise ConfigError(key, f"'{word}': the words of this part are {known}")
        attributes = grammar.others.get(slot, grammar.attributes)
        if attribute not in attributes:
            raise ConfigError(key, f"'{word}': known attributes are {', '.join(attributes)}")
        first, last = grammar.window
        if offset and first == last == 0:
            raise ConfigError(key, f"'{word}': only the {grammar.part}'s own word can be named, without an offset")
        if not first <= offset <= last:
            raise ConfigError(key, f"'{word}': offsets go from {first:+d} to {last:+d}")
        terms.append(Term(slot, offset, attribute))
    if not terms:
        raise ConfigError(key, "an empty template")
    found = grammar.problem(terms, text)
    if found:
        raise ConfigError(key, found)
    return terms


def compile_templates(
    templates: Sequence[str], grammar: Grammar, columns: Sequence[str] | None = None
) -> CompiledTemplates:
    """Return templates as numbers, sorted by kind, without duplicates.

    ``columns`` are the attributes in the order in which kernels find them, by default that of the grammar.

    Raises
    ------
    ConfigError
        As for `parse_template`.

    Examples
    --------
    >>> compiled = compile_templates(["w.form", "w-1.form w.form"], Grammar("tag", ("w",), ["form"], (-2, 2)))
    >>> compiled.template.tolist(), compiled.offset.tolist()
    ([0, 1, 1], [0, -1, 0])
    """
    parsed = {text: parse_template(text, grammar) for text in dict.fromkeys(" ".join(t.split()) for t in templates)}
    texts = sorted(parsed, key=lambda text: grammar.kind(parsed[text]))
    kinds = [grammar.kind(parsed[text]) for text in texts]
    order = list(grammar.attributes if columns is None else columns)
    start, rows, coefficients, others = [0], [], [], []
    for slot in grammar.slots:
        for t, text in enumerate(texts):
            for term in parsed[text]:
                if term.slot == slot and term.attribute not in grammar.sets:
                    rows.append((t, term.offset, order.index(term.attribute)))
                    coefficients.append(_coefficient(grammar, text, term))
            start.append(len(rows))
    for t, text in enumerate(texts):
        special = [term for term in parsed[text] if term.slot in grammar.others or term.attribute in grammar.sets]
        others += [(t, term, _coefficient(grammar, text, term)) for term in special]
    grid = np.array(rows, np.int32).reshape(-1, 3)
    template, offset, attribute = (np.ascontiguousarray(column) for column in grid.T)
    return CompiledTemplates(
        np.array([coefficient(f"{grammar.part}/{text}") for text in texts], np.uint64),
        tuple(sum(kind < bound for kind in kinds) for bound in range(grammar.kinds + 1)),
        np.array(start, np.int32),
        template,
        offset,
        attribute,
        np.array(coefficients, np.uint64),
        others,
    )


def _coefficient(grammar: Grammar, text: str, term: Term) -> int:
    """Return the coefficient of a term in a template, on which the weights of every model depend."""
    offset = "" if term.slot == "between" else f"{term.offset:+d}"
    return coefficient(f"{grammar.part}/{text}/{term.slot}{offset}.{term.attribute}")


def window_of(compiled: CompiledTemplates, grammar: Grammar) -> Window:
    """Return templates over one slot as `nonproj.linear.hashing.hash_window` reads them.

    Examples
    --------
    >>> grammar = Grammar("token", ("c",), ["lower", "kind"], (-1, 1))
    >>> window_of(compile_templates(["c-1.lower c+1.kind"], grammar), grammar).cell.tolist()
    [0, 5]
    """
    cell = (compiled.offset - grammar.window[0]) * len(grammar.attributes) + compiled.attribute
    salt = (compiled.salt >> np.uint64(32)).astype(np.uint32)
    return Window(salt, compiled.start[1:].astype(np.uint64), cell.astype(np.uint32), compiled.coefficient)


def check_spec(spec: object, key: str, part: str, lists: Sequence[str]) -> Any:
    """Return the content of a template file: ``part``, and lists of texts, ``templates`` among them.

    Raises
    ------
    ConfigError
        It has another structure.
    """
    wanted = ("part", *lists)
    if not isinstance(spec, Mapping):
        raise ConfigError(key, f"the keys {', '.join(wanted)} expected")
    for word in [*spec, *wanted]:
        if word not in wanted:
            near = closest(str(word), wanted)
            hint = f"did you mean {near}?" if near else f"the known ones are {', '.join(wanted)}"
            raise ConfigError(key, f"no such key: {word}; {hint}")
        if word not in spec:
            raise ConfigError(key, f"the key {word} is missing")
    if spec["part"] != part:
        raise ConfigError(key, f"part is {spec['part']}, {part} expected")
    for word in lists:
        if not isinstance(spec[word], list) or not spec[word] or not all(isinstance(item, str) for item in spec[word]):
            raise ConfigError(key, f"{word} is no list of texts")
        count, longest = len(spec[word]), max(map(len, spec[word]))
        if count > MAX_TEMPLATES or longest > MAX_CHARACTERS:
            limit = f"{MAX_TEMPLATES} and {MAX_CHARACTERS} are the limits"
            raise ConfigError(key, f"{word} has {count} texts, the longest of {longest} characters; {limit}")
    return spec


def default_folder() -> Path:
    """Return the folder of templates: inside an installed package, or else next to the sources."""
    installed = Path(__file__).parent.parent / "features"
    return installed if installed.is_dir() else installed.parent.parent / "features"
