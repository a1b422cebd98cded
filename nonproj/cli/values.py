"""The types of values of options; an error names the value and what was expected."""

from __future__ import annotations

import argparse
import re

from nonproj.errors import NonprojError


def jobs(text: str) -> int:
    """Return a number of processes."""
    if not text.removeprefix("-").isdecimal() or int(text) not in {-1, *range(1, 1025)}:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 1024, or -1 for one per core")
    return int(text)


def integer(text: str) -> int:
    """Return an integer."""
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not an integer")
    return int(text)


def positive(text: str) -> int:
    """Return a positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return int(text)


def factor(text: str) -> float:
    """Return a number from 0 to 100."""
    return _number(text, 100)


def probability(text: str) -> float:
    """Return a probability."""
    return _number(text, 1)


def _number(text: str, largest: int) -> float:
    """Return a number from 0 on."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= largest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {largest}")
    return value


def language_code(text: str) -> str:
    """Return the code of a language, as ISO 639 and Universal Dependencies have it.

    Examples
    --------
    >>> language_code("got")
    'got'
    """
    if not re.fullmatch("[a-z]{2,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the code of a language, such as da or got")
    return text


def seconds(text: str) -> float:
    """Return a number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds <= 86400.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, up to a day")
    return seconds


def address(text: str) -> str:
    """Return the address of a scheduler."""
    from nonproj.workers.cluster import check_address

    try:
        return check_address(text)
    except NonprojError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port(text: str) -> int:
    """Return a port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 65535")
    return int(text)
