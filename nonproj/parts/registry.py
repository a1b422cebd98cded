"""The registry of part types by name, and the usual sets of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nonproj.errors import closest
from nonproj.parts.arc import Arc
from nonproj.parts.base import PartType
from nonproj.parts.grandparent import Grandparent
from nonproj.parts.grandsibling import Grandsibling
from nonproj.parts.sibling import Sibling
from nonproj.parts.trisibling import Trisibling

PART_TYPES: dict[str, PartType] = {}
"""Part types by name, in the order in which their parts are numbered."""

PART_SETS = {
    "arc": ("arc",),
    "sibling": ("arc", "sibling"),
    "grandparent": ("arc", "sibling", "grandparent"),
    "third": ("arc", "sibling", "grandparent", "grandsibling", "trisibling"),
}
"""Names of the usual sets: arc-factored, sibling, grandparent and sibling (G+S), and third order."""


def register(part_type: PartType) -> PartType:
    """Register a part type under its name; raise ``ValueError`` if another type has this name."""
    if part_type.name in PART_TYPES:
        raise ValueError(f"a part type named {part_type.name} already exists")
    PART_TYPES[part_type.name] = part_type
    return part_type


def part_set(parts: str | Sequence[str]) -> tuple[PartType, ...]:
    """Return the part types of a set, given by a key of `PART_SETS` or by the names of its types in any order.

    Raises
    ------
    ValueError
        If a name is unknown or repeated, or arcs are missing.

    Examples
    --------
    >>> [part_type.name for part_type in part_set("sibling")]
    ['arc', 'sibling']
    >>> [part_type.name for part_type in part_set(["grandparent", "arc"])]
    ['arc', 'grandparent']
    >>> part_set("siblings")
    Traceback (most recent call last):
    ValueError: no set of part types is named siblings; did you mean sibling?
    """
    if isinstance(parts, str):
        if parts not in PART_SETS:
            raise ValueError(f"no set of part types is named {parts}; {_hint(parts, PART_SETS)}")
        parts = PART_SETS[parts]
    for name in parts:
        if name not in PART_TYPES:
            raise ValueError(f"no part type named {name} is registered; {_hint(name, PART_TYPES)}")
    if len(set(parts)) < len(parts):
        raise ValueError(f"a part type is repeated: {', '.join(parts)}")
    if "arc" not in parts:
        raise ValueError("arc is missing; every set of part types has it")
    return tuple(part_type for name, part_type in PART_TYPES.items() if name in parts)


def set_name(parts: Sequence[str]) -> str | tuple[str, ...]:
    """Return the name of a set of part types, or the names of its types if it has none.

    Examples
    --------
    >>> set_name(("arc", "sibling")), set_name(("arc", "grandparent"))
    ('sibling', ('arc', 'grandparent'))
    """
    return next((name for name, types in PART_SETS.items() if types == tuple(parts)), tuple(parts))


def _hint(name: object, known: Iterable[str]) -> str:
    """Return a suggestion of the closest known name, or of all names."""
    near = closest(str(name), known)
    return f"did you mean {near}?" if near else f"known: {', '.join(known)}"


register(Arc())
register(Sibling())
register(Grandparent())
register(Grandsibling())
register(Trisibling())
