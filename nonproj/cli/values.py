"""The types of values of options; an error names the value and what was expected."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import TypeVar

from nonproj.errors import NonprojError


def jobs(text: str) -> int:
    """Return a number of processes, or -1 for one per core."""
    if not text.removeprefix("-").isdecimal() or int(text) not in {-1, *range(1, 1025)}:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1024, or -1 for one per core")
    return int(text)


N = TypeVar("N", int, float)


def _number(
    convert: Callable[[str], N], expected: str, low: float = -math.inf, high: float = math.inf
) -> Callable[[str], N]:
    """Return the argument type of numbers from ``low`` to ``high``; ``expected`` describes them in words."""

    def value_of(text: str) -> N:
        """Return the number."""
        try:
            if low <= (value := convert(text)) <= high:
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")

    return value_of


integer = _number(int, "an integer")
positive = _number(int, "a positive integer", 1)
port = _number(int, "a number from 0 to 65535", 0, 65535)
factor = _number(float, "a number from 0 to 100", 0, 100)
probability = _number(float, "a number from 0 to 1", 0, 1)
seconds = _number(float, "a number of seconds, up to a day", 1e-9, 86400)


def language_code(text: str) -> str:
    """Return a language code of two or three letters, as in ISO 639 and Universal Dependencies.

    Examples
    --------
    >>> language_code("got")
    'got'
    """
    if not re.fullmatch("[a-z]{2,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the code of a language, such as da or got")
    return text


def address(text: str) -> str:
    """Return the address of a Dask scheduler, or report that it is invalid."""
    from nonproj.workers.cluster import check_address

    try:
        return check_address(text)
    except NonprojError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
