"""The record of a model's files, and of the software that trained it."""

from __future__ import annotations

import hashlib
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nonproj.options.config import Config

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
_LICENCES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENCE.txt", "LICENSE.md", "COPYING")
_LONGEST = 120
_NAME_IN_UD = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-train(?:-\w+)*\.conllu(?:\.gz)?")


def provenance(config: Config, train: str, test: str | None, held_out: int) -> dict[str, dict[str, Any]]:
    """Return the records ``data`` and ``software`` of a model's training history.

    Parameters
    ----------
    config : Config
        Provides ``treebank.name`` and ``treebank.licence``.
    train, test : str
        Paths of the files; pipes and standard input have no digest.
    held_out : int
        Number of sentences held out.
    """
    data: dict[str, Any] = {"name": config.treebank.name, "licence": config.treebank.licence or licence_beside(train)}
    if language := language_of(train):
        data["language"] = language
    for role, path in (("train", train), ("test", test)):
        if path:
            data |= {f"{role}_file": Path(path).name, f"{role}_sha256": digest(path)}
    data["held_out_sentences"] = held_out
    software = {"Python": platform.python_version()} | {name: _version(name) for name in PACKAGES}
    return {"data": data, "software": software}


def digest(path: str) -> str | None:
    """Return the SHA-256 of a regular file, and None for anything that can be read only once.

    Examples
    --------
    >>> digest("-")
    """
    if path == "-" or not Path(path).is_file():
        return None
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def language_of(path: str) -> str | None:
    """Return the code of the language of a treebank of Universal Dependencies, or None if the file has another name.

    Parameters
    ----------
    path : str
        The training file; large treebanks have several.

    Examples
    --------
    >>> language_of("UD_Gothic-PROIEL/got_proiel-ud-train.conllu"), language_of("train.conllu")
    ('got', None)
    >>> language_of("de_hdt-ud-train-a-1.conllu")
    'de'
    """
    named = _NAME_IN_UD.fullmatch(Path(path).name)
    return named[1] if named else None


def licence_beside(path: str) -> str | None:
    """Return the first line of the licence file in a treebank's folder, or None if there is no readable one."""
    for name in _LICENCES:
        try:
            lines = (Path(path).parent / name).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            continue
        for line in filter(None, (line.strip("# \t=-") for line in lines)):
            return line[:_LONGEST]
    return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
