"""Types of options with checks of their own."""

from __future__ import annotations

from nonproj.errors import ConfigError
from nonproj.options.schema import Option, show

_CODES = """
af am ar az bg bn bo ca cs da de dsb el en es et eu fa fi fo fr ga gd grc gu he hi hr hsb ht hu hy id is it ja kmr kn ko
ky la lb lg lij lt lv mk ml mr ms nb ne nl nn pl pt ro ru sa si sk sl sq sr sv ta te th ti tl tn tr tt uk ur vi xx yo zh
"""
LANGUAGES = tuple(_CODES.split())
"""The languages of spaCy's rules.  Models name languages, so a name is looked up here and never imported."""


class PartsOption(Option):
    """A set of part types: its name, or the names of registered types."""

    def check(self, key: str, value: object) -> tuple[str, ...]:
        """Return the names of the part types in canonical order; a string may name a set, or types with commas."""
        from nonproj.parts.registry import PART_SETS, part_set  # imports numba, which no other option needs

        if isinstance(value, str) and value not in PART_SETS and "," in value:
            value = [name.strip() for name in value.split(",")]
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
            raise ConfigError(key, f"{show(value)} is invalid, {self.expected} expected")
        try:
            return tuple(part_type.name for part_type in part_set(value if isinstance(value, str) else names))
        except ValueError as error:
            raise ConfigError(key, str(error)) from None
