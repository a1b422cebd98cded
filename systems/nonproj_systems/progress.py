"""Progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from nonproj.io.terminal import unescaped


def progress(items: Iterable[Any], description: str, quiet: bool = False, total: int | None = None) -> Iterator[Any]:
    """Yield the items, with a progress bar on standard error if that is a terminal.

    Parameters
    ----------
    items : iterable
    description : str
        Label of the bar.
    quiet : bool
        Whether to leave out the bar.
    total : int, optional
        The number of items, if they have no length.

    Examples
    --------
    >>> list(progress([1, 2], "sentences", quiet=True))
    [1, 2]
    """
    if quiet or not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=description, total=total, leave=False, file=unescaped(sys.stderr))
