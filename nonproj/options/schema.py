"""Declarations of options as fields of frozen dataclasses, with help texts and allowed values.

A dataclass of options is a `Section`, which validates itself; the parser's options are in `nonproj.options.config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, cast

from nonproj.errors import ConfigError
from nonproj.options.reading import parse_yaml

_INTEGERS = 1 << 53
_WORDS = {int: "an integer", float: "a number", str: "a path"}


@dataclass(frozen=True)
class Option:
    """The declaration of one option.

    Attributes
    ----------
    default : object
        The default value.
    help : str
        The help text.
    kinds : tuple of type
        Allowed types, among ``int``, ``float``, ``bool`` and ``str``; empty if only ``choices`` are allowed.
    choices : tuple
        Allowed values in addition to those of the kinds.
    low, high : float
        Bounds of a number, inclusive.
    above, below : bool
        Whether the lower or the upper bound is exclusive.
    advanced : bool
        Whether it merely tunes other options, and may change or be removed in a minor version.
    described : str
        The allowed values in words, if they do not follow from the others.

    Examples
    --------
    >>> Option(10, "training epochs", (int,), low=1).expected
    'an integer of at least 1'
    """

    default: Any
    help: str
    kinds: tuple[type, ...] = ()
    choices: tuple[object, ...] = ()
    low: float = -_INTEGERS
    high: float = _INTEGERS
    above: bool = False
    below: bool = False
    advanced: bool = False
    described: str = ""

    @property
    def expected(self) -> str:
        """The allowed values in words."""
        if self.described:
            return self.described
        words = [show(choice) for choice in self.choices]
        for kind in self.kinds:
            words += ["true", "false"] if kind is bool else [_WORDS[kind] + ("" if kind is str else self._bounds())]
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

    def _bounds(self) -> str:
        low = f"{'above' if self.above else 'of at least'} {self.low:.15g}"
        high = f"{'below' if self.below else 'at most'} {self.high:.15g}"
        if self.high == _INTEGERS:
            return "" if self.low == -_INTEGERS else " " + low
        return f" from {self.low:.15g} to {self.high:.15g}" if not (self.above or self.below) else f" {low} and {high}"

    def check(self, key: str, value: object) -> Any:
        """Return the validated value; scalars of numpy and integers for floats are converted, text never is.

        Raises
        ------
        ConfigError
            The value has the wrong type or is out of range; ``key`` is the option's dotted name.
        """
        if getattr(value, "shape", None) == ():  # of numpy, which is not imported here
            value = cast(Any, value).item()
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return choice
        if float in self.kinds and type(value) is int and abs(value) <= _INTEGERS:
            value = float(value)
        if type(value) not in self.kinds or not self._within(value):
            raise ConfigError(key, f"{show(value)} is invalid, {self.expected} expected")
        return value

    def _within(self, value: object) -> bool:
        if isinstance(value, str):
            return value != "" and "\0" not in value
        if not isinstance(value, int | float):
            return False
        low = value > self.low if self.above else value >= self.low
        high = value < self.high if self.below else value <= self.high
        return type(value) is bool or (low and high)  # false for NaN

    def parse(self, key: str, text: str) -> Any:
        """Return the validated value of a text from the command line.

        A path is the text itself; everything else is a number or a YAML scalar.
        """
        if float in self.kinds and (number := _number(text)) is not None:
            return self.check(key, number)
        if str in self.kinds:
            value = None if text in ("", "null", "~") else text
            return self.check(key, value)
        try:
            value = parse_yaml(text, key)
        except ConfigError:
            value = text
        return self.check(key, value)


def _number(text: str) -> float | None:
    """Return the number in a text, or None if it is not one."""
    try:
        return float(text)
    except ValueError:
        return None


def show(value: object) -> str:
    """Return a value in YAML syntax, truncated if long; strings that look like other values are quoted.

    Examples
    --------
    >>> show(None), show(True), show(""), show("true")
    ('null', 'true', 'an empty string', "'true'")
    """
    if isinstance(value, str) and (value in ("null", "true", "false") or _number(value) is not None):
        return repr(value)
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else "null" if value is None else str(value)
    text = " ".join(text.split()) or "an empty string"
    return text if len(text) <= 60 else text[:57] + "..."


def option(default: object, *arguments: Any, kind: type[Option] = Option, **bounds: Any) -> Any:
    """Return a dataclass field that declares an option of a kind; arguments as for `Option`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Oven(Section, name="oven"):
    ...     degrees: int = option(180, "temperature", (int,), low=0, high=250)
    >>> Oven(300)
    Traceback (most recent call last):
    nonproj.errors.ConfigError: oven.degrees: 300 is invalid, an integer from 0 to 250 expected
    """
    return field(default=default, metadata={"option": kind(default, *arguments, **bounds)})


def integer(default: int, help: str, low: int, high: int = _INTEGERS, advanced: bool = False) -> Any:
    """Return a dataclass field that declares an integer option.

    Examples
    --------
    >>> integer(10, "training epochs", 1, 100).metadata["option"].expected
    'an integer from 1 to 100'
    """
    return option(default, help, (int,), low=low, high=high, advanced=advanced)


def number(default: float, help: str, advanced: bool = False, **bounds: Any) -> Any:
    """Return a dataclass field that declares an option that is a number, with bounds as for `Option`."""
    return option(default, help, (float,), advanced=advanced, **bounds)


def flag(default: bool, help: str, advanced: bool = False) -> Any:
    """Return a dataclass field that declares an option that is true or false."""
    return option(default, help, (bool,), advanced=advanced)


def choice(default: object, help: str, choices: tuple[object, ...], advanced: bool = False) -> Any:
    """Return a dataclass field that declares an option whose only values are ``choices``."""
    return option(default, help, (), choices, advanced=advanced)


def path(help: str, advanced: bool = False) -> Any:
    """Return a dataclass field that declares an option that is a path, null by default."""
    return option(None, help, (str,), (None,), advanced=advanced)


def text(help: str) -> Any:
    """Return a dataclass field that declares a text option, null by default.

    Examples
    --------
    >>> text("its name").metadata["option"].expected
    'null or a text'
    """
    return option(None, help, (str,), (None,), described="null or a text")


class Section:
    """Base class of frozen dataclasses of options, validated on construction; subclasses state the ``name``."""

    _name: ClassVar[str] = ""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, name: str = "") -> None:
        cls._name = name

    def __post_init__(self) -> None:
        for item in fields(self):
            key, value = dotted(self._name, item.name), getattr(self, item.name)
            if "option" in item.metadata:
                object.__setattr__(self, item.name, item.metadata["option"].check(key, value))
            elif not isinstance(value, section_type(item)):
                raise ConfigError(key, f"{show(value)} is invalid, options of this section expected")


def section_type(item: Field[Any]) -> type[Section]:
    """Return the class of the section that a dataclass field holds; raise ``TypeError`` if it holds none."""
    found = item.default_factory
    if not isinstance(found, type) or not issubclass(found, Section):
        raise TypeError(f"{item.name} is neither an option nor a section")
    return found


def dotted(section: str, name: object) -> str:
    """Return the dotted name of an option; top-level options have an empty section.

    Examples
    --------
    >>> dotted("pruner", "epochs"), dotted("", "seed")
    ('pruner.epochs', 'seed')
    """
    return f"{section}.{name}" if section else str(name)
