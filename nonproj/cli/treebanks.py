"""Name, licence and language of a treebank, derived from its training file, for the record in a model."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

_NAME_IN_UD = re.compile(r"(([a-z]{2,3})_([a-z0-9]+))-ud-(?:train|dev|test)(?:-\w+)*\.conllu(?:\.gz)?")
_FOLDER_IN_UD = re.compile(r"(?:UD_)?([A-Z][A-Za-z_]*)-([A-Za-z0-9]+)(?:-r([0-9.]+)|-master|-dev)?")
_RELEASE = re.compile(r"ud-treebanks-v([0-9.]+)")

_IN_README = re.compile(r"^License:[ \t]*(\S.*)$", re.MULTILINE)
_METADATA = "=== Machine-readable metadata"
_IN_LICENCE = re.compile(r"creativecommons\.org/licenses/([a-z-]+)/([0-9.]+)")
_LONGEST = 120


class Treebank(NamedTuple):
    """The facts about a treebank; None if unknown.

    Attributes
    ----------
    name, licence : str or None
    language : str or None
        The code of its language (ISO 639).
    """

    name: str | None
    licence: str | None
    language: str | None


KNOWN = {
    "3e6e5f2dee77fd45": Treebank("Danish Dependency Treebank 1.0, CoNLL-X 2006", "MIT, CC BY-SA 4.0 or GPL", "da"),
    "4c788336a9b9b022": Treebank("UD Dutch LassySmall 1.4", "CC BY-SA 4.0", "nl"),
    "a546f05f0ccf7224": Treebank("Basque, CoNLL 2007", "CC BY-NC-ND, for research", "eu"),
    "aed1f9906fea3a0a": Treebank("Penn Treebank, sample of the Wall Street Journal", "for research", "en"),
    "07f69662a143a48b": Treebank("Turkish Web Treebank 1.0", "Apache 2.0", "tr"),
    "3fb78e2b55482c8e": Treebank("UD English EWT, commit 15d613d84", "CC BY-SA 4.0", "en"),
    "892cd36cd47372ec": Treebank("UD Greek GDT, commit 1485f849d", "CC BY-NC-SA 3.0, for research", "el"),
    "01852b9f9a26cdbd": Treebank("UD Afrikaans AfriBooms 2.12", "CC BY-SA 4.0", "af"),
    "27d1c5aaca162a58": Treebank("UD Galician TreeGal 2.12", "LGPL-LR", "gl"),
    "328b605afa4d7f96": Treebank("UD Gothic PROIEL 2.12", "CC BY-NC-SA 3.0, for research", "got"),
    "5eb206d294669ef3": Treebank("UD Latin Perseus 2.12", "CC BY-NC-SA 2.5, for research", "la"),
    "c7eaefb217435087": Treebank("UD Tamil TTB 2.12", "CC BY-NC-SA 3.0, for research", "ta"),
    "0e8b5535fa8b6b7f": Treebank("UD Uyghur UDT 2.12", "CC BY-SA 4.0", "ug"),
    "1df180722db99b72": Treebank("UD Vietnamese VTB 2.12", "CC BY-SA 4.0", "vi"),
    "f90c40c50805fe1c": Treebank("UD Wolof WTB 2.12", "CC BY-SA 4.0", "wo"),
}
"""Treebanks by the first 16 digits of the SHA-256 of their training file: those of ``data_scripts/treebanks.py``."""


def describe(path: str, digest: str | None) -> Treebank:
    """Return the facts about a treebank, found by its digest, else by the names and files of Universal Dependencies.

    Parameters
    ----------
    path : str
        The training file.
    digest : str or None
        Its SHA-256.

    Examples
    --------
    >>> describe("ud-treebanks-v2.12/UD_Tamil-TTB/ta_ttb-ud-train.conllu", None)
    Treebank(name='UD Tamil TTB 2.12', licence=None, language='ta')
    """
    if digest and digest[:16] in KNOWN:
        return KNOWN[digest[:16]]
    return Treebank(name_of(path), licence_beside(path), language_of(path))


def name_of(path: str) -> str | None:
    """Return the name of a treebank of Universal Dependencies, by the names of its folder or file.

    Examples
    --------
    >>> name_of("UD_Tamil-TTB/ta_ttb-ud-train.conllu"), name_of("ta_ttb-ud-train.conllu"), name_of("train.conllu")
    ('UD Tamil TTB', 'UD ta_ttb', None)
    """
    named = _NAME_IN_UD.fullmatch(Path(path).name)
    if not named:
        return None
    folder, above = Path(path).absolute().parent, Path(path).absolute().parents[1:2]
    match = _FOLDER_IN_UD.fullmatch(folder.name)
    if not match or match[2].lower() != named[3]:
        return f"UD {named[1]}"
    release = match[3] or next((found[1] for each in above if (found := _RELEASE.fullmatch(each.name))), None)
    return " ".join(filter(None, ("UD", match[1].replace("_", " "), match[2], release)))


def language_of(path: str) -> str | None:
    """Return the code of the language of a treebank of Universal Dependencies, or None if the file has another name.

    Examples
    --------
    >>> language_of("UD_Gothic-PROIEL/got_proiel-ud-train.conllu"), language_of("train.conllu")
    ('got', None)
    >>> language_of("de_hdt-ud-train-a-1.conllu")
    'de'
    """
    named = _NAME_IN_UD.fullmatch(Path(path).name)
    return named[2] if named else None


def licence_beside(path: str) -> str | None:
    """Return the licence that the README of a treebank of Universal Dependencies states for programs.

    Without such a README, it is the Creative Commons licence whose address is in ``LICENSE.txt``, or None.
    """
    with contextlib.suppress(OSError, ValueError):
        _, metadata, rest = Path(path).with_name("README.md").read_text(encoding="utf-8").partition(_METADATA)
        if metadata and (stated := _IN_README.search(rest)):
            return stated[1].strip()[:_LONGEST]
    with contextlib.suppress(OSError, ValueError):
        if linked := _IN_LICENCE.search(Path(path).with_name("LICENSE.txt").read_text(encoding="utf-8")):
            return f"CC {linked[1].upper()} {linked[2]}"
    return None
