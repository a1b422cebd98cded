"""The models that are published: one list, which ``nonproj models --available`` and ``nonproj download`` read."""

from __future__ import annotations

from nonproj.errors import ModelError

PUBLISHED: dict[str, str] = {}
"""Names of models on a hub by the names of the models, as in ``{"german": "hf:someone/german"}``."""

NOTHING = "no model is published yet"
HOW = "make one: 'make train LANG=german' in a checkout, or 'nonproj train TREEBANK -o german.nonproj'"
"""How to have a model of a language all the same, in one command."""


def published(name: str) -> str:
    """Return the name on the hub of a published model.

    Raises
    ------
    ModelError
        There is none of this name.

    Examples
    --------
    >>> published("german")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nonproj.errors.ModelError: german: no model is published yet; make one: ...
    """
    if name in PUBLISHED:
        return PUBLISHED[name]
    what = f"not published; published: {', '.join(sorted(PUBLISHED))}" if PUBLISHED else NOTHING
    raise ModelError(f"{name}: {what}; {HOW}")
