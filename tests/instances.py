"""Number of random instances in tests: all of them in `make test-all`, a part of them in `make test`."""

PART = 5

_thorough = True


def set_thorough(value: bool) -> None:
    """Choose between all instances and a part of them; before tests are collected."""
    global _thorough
    _thorough = value


def seeds(count: int, least: int = 5, part: int = PART) -> range:
    """Return the seeds of random instances: all of ``count``, or one in ``part`` of them, but some at least."""
    return range(count if _thorough else min(count, max(least, count // part)))


def places(count: int, part: int = PART) -> range:
    """Return the numbers of all of ``count`` places, or each fifth of them."""
    return range(0, count, 1 if _thorough else part)
