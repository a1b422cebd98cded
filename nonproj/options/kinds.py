"""Kinds of options that need a check of their own."""

from __future__ import annotations

import re

from nonproj.errors import ConfigError
from nonproj.options.schema import Option, show


class PartsOption(Option):
    """A set of part types: its name, or the names of the types; checked against those that are registered."""

    @property
    def expected(self) -> str:
        """What would be right, in words."""
        return "the name of a set or a list of part types"

    def check(self, key: str, value: object) -> tuple[str, ...]:
        """Return the names of the part types in their usual order; a string may name a set, or types with commas."""
        from nonproj.parts.registry import PART_SETS, part_set  # imports numba, which the other options do not need

        if isinstance(value, str) and value not in PART_SETS and "," in value:
            value = [name.strip() for name in value.split(",")]
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
            raise ConfigError(key, f"{show(value)} is invalid, {self.expected} expected")
        try:
            return tuple(part_type.name for part_type in part_set(value if isinstance(value, str) else names))
        except ValueError as error:
            raise ConfigError(key, str(error)) from None


class LanguageOption(Option):
    """A language code, or null."""

    @property
    def expected(self) -> str:
        """What would be right, in words."""
        return "null or a language code such as da"

    def check(self, key: str, value: object) -> str | None:
        """Return the validated value."""
        if value is None or (isinstance(value, str) and re.fullmatch("[a-z]{2,3}", value)):
            return value
        raise ConfigError(key, f"{show(value)} is invalid, {self.expected} expected")
