"""The record of a model's files, and of the software that trained it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nonproj.cli.treebanks import describe
from nonproj.options.config import Config
from nonproj.workers.partial import file_digest

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")


def provenance(config: Config, train: str, test: str | None, held_out: int) -> dict[str, dict[str, Any]]:
    """Return the records ``data`` and ``software`` of a model's training history.

    Parameters
    ----------
    config : Config
        ``treebank.name`` and ``treebank.licence`` override the facts about the training file.
    train, test : str
        Paths of the files; pipes and standard input have no digest.
    held_out : int
        Number of sentences held out.
    """
    known = describe(train, digest(train))
    data: dict[str, Any] = {"name": config.treebank.name or known.name}
    data["licence"] = config.treebank.licence or known.licence
    if known.language:
        data["language"] = known.language
    for role, path in (("train", train), ("test", test)):
        if path:
            data |= {f"{role}_file": Path(path).name, f"{role}_sha256": digest(path)}
    data["held_out_sentences"] = held_out
    software = {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return {"data": data, "software": software}


def name_and_licence(path: str) -> str:
    """Return the name of a treebank, or else of its file, and its licence, if that is known."""
    known = describe(path, digest(path))
    return f"{known.name or Path(path).name} ({known.licence or 'licence unknown'})"


def digest(path: str) -> str | None:
    """Return the SHA-256 of a regular file, and None for anything that can be read only once.

    Examples
    --------
    >>> digest("-")
    """
    return None if path == "-" or not Path(path).is_file() else file_digest(path)
