"""The feature templates of parts and labels (`nonproj.linear.templates`), and the files that hold them.

The hash of a part under a template splits over the words of the part, so each word's share is computed once per
sentence (`nonproj.scoring.hashing`), and a part costs one addition per word and template.

Geometry (direction, distance, order) is a small *code*, below 16, that is xor-ed onto the place: all variants of one
template share one cache line of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import ConfigError
from nonproj.linear.templates import Grammar, Term, check_spec, compile_templates, default_folder, parse_template
from nonproj.options.reading import load_yaml
from nonproj.parts.registry import PART_TYPES, part_set
from nonproj.scoring.vocabulary import ATTRIBUTES, FEAT, PADDING

LABEL_SLOTS = ("h", "m", "g", "l", "r", "a", "z")
"""The words in templates of an arc's label: head, modifier, grandparent, the modifier's nearest siblings left and
right, and its own first and last modifier."""

LABEL_CODES = ("none", "direction", "distance")
"""The geometric codes of labelled arcs."""

LABELLED_ARC = "labelled_arc"
"""Arcs with labels, scored before the tree is known, so templates name head and modifier only."""

LABEL_PAIRS = ("label_sibling", "label_grandparent")
"""Pairs of labels, of adjacent modifiers and of consecutive arcs, scored once the tree is known."""

CROSSED_ARC = "crossing"
"""Labelled arcs, for the probability that they are crossed."""

_SLOTS = {"label": LABEL_SLOTS, LABELLED_ARC: ("h", "m"), "label_sibling": ("h", "s", "m")}
_SLOTS |= {"label_grandparent": ("g", "h", "m")}
_CODES = {"label": LABEL_CODES, LABELLED_ARC: LABEL_CODES} | dict.fromkeys(LABEL_PAIRS, ("none", "position"))

CODE_BITS = 4
"""Geometric codes are below ``2 ** CODE_BITS``."""

LABEL_BITS = 8
"""At most ``2 ** LABEL_BITS`` labels."""

_MAX_SET_TEMPLATES = 16
"""Maximum number of templates over sets of values, which bounds time and memory."""


class TemplateTable(NamedTuple):
    """The templates of one type of part, as the kernels read them.

    Templates are sorted: first the plain ones, then those over the words between head and modifier, then those over
    single morphological features of head and modifier.

    Attributes
    ----------
    salt : ndarray of shape (n_templates,), uint64
    n_plain, n_between : int
    term_start : ndarray of shape (n_slots * n_templates + 1,), int32
        The terms of slot ``i`` in template ``t`` are ``term_start[i * n_templates + t]`` and following.
    term_offset, term_attribute : ndarray, int32
        The word relative to the slot's word, and the column of `Tokens.atoms`.
    term_coefficient : ndarray, uint64
    between_attribute : ndarray of shape (n_templates,), int32
    between_coefficient : ndarray of shape (n_templates,), uint64
    feat_coefficient : ndarray of shape (2, n_templates), uint64
        Coefficients of the head's and the modifier's features; 0 for a word whose features the template does not name.
    codes : ndarray of int32
        Numbers of the geometric codes; each plain template is looked up once for every code.
    code_shift : uint32
        Bits by which codes are shifted up before they are xor-ed onto a place: 0, or `LABEL_BITS` for labels, whose own
        numbers take the lowest bits.
    """

    salt: np.ndarray
    n_plain: int
    n_between: int
    term_start: np.ndarray
    term_offset: np.ndarray
    term_attribute: np.ndarray
    term_coefficient: np.ndarray
    between_attribute: np.ndarray
    between_coefficient: np.ndarray
    feat_coefficient: np.ndarray
    codes: np.ndarray
    code_shift: np.uint32


def slots_of(part: str) -> tuple[str, ...]:
    """Return the names, in templates, of the words of a part type or of ``label``."""
    return _SLOTS[part] if part in _SLOTS else PART_TYPES[part].slots


def codes_of(part: str) -> tuple[str, ...]:
    """Return the geometric codes of a part type, or of ``label``, in the order of their numbers."""
    return _CODES[part] if part in _CODES else PART_TYPES[part].codes


def template_files(
    parts: str | Sequence[str], labelled: bool = False, pairs: bool = False, crossing: bool = False
) -> dict[str, str]:
    """Return the names of the template files for a set of part types, each with its part type, or ``label``.

    ``labelled`` says whether labels are scored with the arcs, ``pairs`` whether pairs of labels are scored, and
    ``crossing`` whether labelled arcs have costs where they are crossed.

    Examples
    --------
    >>> template_files("sibling")
    {'arc': 'arc', 'sibling': 'sibling', 'pruner': 'arc', 'label': 'label'}
    """
    files = {part_type.name: part_type.name for part_type in part_set(parts)} | {"pruner": "arc", "label": "label"}
    files |= {name: name for name in ((LABELLED_ARC,) if labelled else ()) + (LABEL_PAIRS if pairs else ())}
    return files | ({CROSSED_ARC: LABELLED_ARC} if crossing else {})


def grammar_of(part: str) -> Grammar:
    """Return the grammar of the templates of a part type, or of ``label``.

    They name attributes of `nonproj.scoring.vocabulary.ATTRIBUTES` and ``feat``, each single morphological feature;
    ``between`` are the words between head and modifier of an arc.
    """
    attributes, between = (*ATTRIBUTES, FEAT), part in ("arc", LABELLED_ARC)
    others = {"between": attributes} if between else {}
    problem = partial(_problem, part)
    return Grammar(part, slots_of(part), attributes, (-PADDING, PADDING), others, (FEAT,), 3, _kind, problem)


def _problem(part: str, terms: Sequence[Term], text: str) -> str | None:
    """Return why terms do not fit together, or None if they do: kernels loop over a single set of values."""
    between = sum(term.slot == "between" for term in terms)
    owners = [term.slot for term in terms if term.attribute == FEAT]
    if any(term.attribute == FEAT and (term.offset or term.slot not in ("h", "m")) for term in terms):
        return f"'{text}': single features are those of h and m themselves"
    if owners and part not in ("arc", "label", LABELLED_ARC):
        return f"'{text}': single features are for arcs and labels only"
    if between > 1 or (between and owners):
        return f"'{text}': a term over the words between stands alone, without single features"
    if len(set(owners)) < len(owners):
        return f"'{text}': single features at most once for h and once for m"
    return None


def parse(text: str, part: str) -> list[Term]:
    """Return the terms of a template of a part type, or of ``label``; see `nonproj.linear.templates.parse_template`.

    Examples
    --------
    >>> parse("h.pos m+1.pos", "arc")
    [Term(slot='h', offset=0, attribute='pos'), Term(slot='m', offset=1, attribute='pos')]
    """
    return parse_template(text, grammar_of(part))


def attributes_of(files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the attributes that any template of the given files names, in the order of `ATTRIBUTES`."""
    used = {
        term.attribute for spec in files.values() for text in spec["templates"] for term in parse(text, spec["part"])
    }
    return [name for name in ATTRIBUTES if name in used]


def _kind(terms: Sequence[Term]) -> int:
    """Return the kind of a template: 0 plain, 1 over the words between, 2 over single morphological features."""
    if any(term.attribute == FEAT for term in terms):
        return 2
    return int(any(term.slot == "between" for term in terms))


def part_templates(spec: Mapping[str, Any], attributes: Sequence[str]) -> TemplateTable:
    """Compile the templates of one part type, an entry of `load_templates`, into the table that kernels use.

    ``attributes`` are the columns of `Tokens.atoms`.  Raises `ConfigError` if a template is invalid.
    """
    part = spec["part"]
    compiled = compile_templates(spec["templates"], grammar_of(part), attributes)
    n = len(compiled.salt)
    between_attribute, between_coefficient = np.zeros(n, np.int32), np.zeros(n, np.uint64)
    feat_coefficient = np.zeros((2, n), np.uint64)
    for t, term, number in compiled.others:
        if term.attribute == FEAT:
            feat_coefficient["hm".index(term.slot), t] = number
        else:
            between_attribute[t], between_coefficient[t] = attributes.index(term.attribute), number
    _, end_of_plain, end_of_between, _ = compiled.bounds
    return TemplateTable(
        salt=compiled.salt,
        n_plain=end_of_plain,
        n_between=end_of_between - end_of_plain,
        term_start=compiled.start,
        term_offset=compiled.offset,
        term_attribute=compiled.attribute,
        term_coefficient=compiled.coefficient,
        between_attribute=between_attribute,
        between_coefficient=between_coefficient,
        feat_coefficient=feat_coefficient,
        codes=np.array([codes_of(part).index(code) for code in spec["codes"]], np.int32),
        code_shift=np.uint32(LABEL_BITS if part in _SLOTS else 0),
    )


def load_templates(
    folder: str | Path | None = None,
    parts: str | Sequence[str] = "grandparent",
    labelled: bool = False,
    pairs: bool = False,
    clusters: bool = False,
) -> dict[str, dict[str, Any]]:
    """Read the template files of a set of part types.

    Parameters
    ----------
    folder : str or Path, optional
        Holds a file for each part type, such as ``arc.yaml``, and ``pruner.yaml`` and ``label.yaml``, each with
        ``part``, ``codes`` and ``templates``, and optionally ``clusters``, more templates.  By default the folder that
        comes with the program.
    parts : str or sequence of str
        As for `nonproj.parts.registry.part_set`.
    labelled : bool
        Labels are scored with the arcs, by ``labelled_arc.yaml``, if there is one, and crossed arcs by
        ``crossing.yaml``, if there is one.
    pairs : bool
        Pairs of labels are scored, by ``label_sibling.yaml`` and ``label_grandparent.yaml``, if there are both.
    clusters : bool
        Words have clusters: the templates under ``clusters`` in each file are added to its other templates.

    Returns
    -------
    dict of str to dict
        The content of each file, by its name without ending.

    Raises
    ------
    ConfigError
        If a file is missing or not YAML, or has an unknown key, code or template; the message names the file.

    Examples
    --------
    >>> load_templates()["grandparent"]["codes"]
    ['direction', 'order']
    """
    path = Path(folder) if folder is not None else default_folder()
    if not path.is_dir():
        raise ConfigError("features.folder", f"there is no folder {path}")
    files = {}
    labelled = labelled and (path / f"{LABELLED_ARC}.yaml").is_file()
    pairs = pairs and all((path / f"{name}.yaml").is_file() for name in LABEL_PAIRS)
    crossing = labelled and (path / f"{CROSSED_ARC}.yaml").is_file()
    for name, part in template_files(parts, labelled, pairs, crossing).items():
        file = path / (PART_TYPES[name].templates if name in PART_TYPES else f"{name}.yaml")
        spec = load_yaml(file)
        more = spec.pop("clusters", []) if isinstance(spec, dict) else []
        try:
            _check_file(name, part, spec)
            if not isinstance(more, list):
                raise ConfigError("", "clusters is no list of texts")
            extended = spec | {"templates": spec["templates"] + more}
            _check_file(name, part, extended)
            files[name] = extended if clusters else spec
        except ConfigError as error:
            raise ConfigError(str(file), error.message) from None
    return files


def check_templates(files: Mapping[str, Mapping[str, Any]], parts: str | Sequence[str]) -> list[str]:
    """Check the templates of a model, as `load_templates` returns them, and return the attributes that they name.

    Raises
    ------
    ConfigError
        If a file's content is missing or wrong.
    """
    expected = template_files(parts, LABELLED_ARC in files, LABEL_PAIRS[0] in files, CROSSED_ARC in files)
    for name, part in expected.items():
        _check_file(name, part, files.get(name))
    for name in files:
        if name not in expected:
            raise ConfigError(f"features.{name}", f"unknown; the known files are {', '.join(expected)}")
    return attributes_of(files)


def _check_file(name: str, part: str, spec: object) -> None:
    """Check the content of one file about a part type, or ``label``."""
    key, known = f"features.{name}", codes_of(part)
    spec = check_spec(spec, key, part, ("codes", "templates"))
    if len(set(spec["codes"])) < len(spec["codes"]):
        raise ConfigError(key, "a code is listed twice")
    for code in spec["codes"]:
        if code not in known:
            raise ConfigError(key, f"code '{code}': the known ones are {', '.join(known)}")
    sets = sum(_kind(parse(text, part)) > 0 for text in spec["templates"])
    if sets > _MAX_SET_TEMPLATES:
        raise ConfigError(key, f"{sets} templates over sets of values; at most {_MAX_SET_TEMPLATES} are possible")
