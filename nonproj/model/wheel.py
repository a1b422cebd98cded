"""A wheel that contains a model: a package that pip installs, whose model is found by its name.

The file is in the binary distribution format of Python packages
(https://packaging.python.org/en/latest/specifications/binary-distribution-format).
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nonproj.errors import one_line
from nonproj.io.beside import check_no_links
from nonproj.io.temporary import replacing
from nonproj.model.installed import GROUP, SUFFIX

PREFIX = "nonproj-model-"
"""Beginning of the name of a model's package, before the model's name."""

_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?")
_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of all members, so that the same model makes the same wheel."""

_CODE = '''"""{summary}"""


def load(**options):
    """Return the parser of text; options are those of `nonproj.load`."""
    import nonproj

    return nonproj.load("{name}", **options)
'''


class WheelContents(NamedTuple):
    """The contents of a wheel.

    Attributes
    ----------
    name : str
        The model's name, for which `nonproj.model.installed.is_name` holds.
    version : str
        The package's version, for which `is_version` holds.
    summary, licence : str
        One line each.
    card : str
        Markdown.
    requires : tuple of str
        Requirements of the package, as in ``nonproj>=1.0``.
    model : bytes
        Contents of the model file.
    """

    name: str
    version: str
    summary: str
    licence: str
    card: str
    requires: tuple[str, ...]
    model: bytes


def is_version(text: str) -> bool:
    """Return whether a text is the version of a package, in the normal form of Python's packages.

    Examples
    --------
    >>> is_version("1.2.0"), is_version("1.0rc1"), is_version("v1"), is_version("1.0-2")
    (True, True, False, False)
    """
    return _VERSION.fullmatch(text) is not None


def write_wheel(contents: WheelContents, folder: Path) -> Path:
    """Write the wheel of a model; return its path.

    Parameters
    ----------
    contents : WheelContents
    folder : Path
        An existing folder; a wheel of the same name and version in it is replaced.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    module = f"{PREFIX}{contents.name}".replace("-", "_")
    summary = contents.summary.replace("\\", "\\\\").replace('"', '\\"')  # it stands within quotation marks
    members = {
        f"{module}/__init__.py": _CODE.format(summary=summary, name=contents.name).encode(),
        f"{module}/{contents.name}{SUFFIX}": contents.model,
    }
    headers = {
        "Name": f"{PREFIX}{contents.name}",
        "Version": contents.version,
        "Summary": contents.summary,
        "License": contents.licence,
    }
    entry = f"[{GROUP}]\n{contents.name} = {module}\n"
    return write_package(folder, headers, contents.requires, members, card=contents.card, entry_points=entry)


def write_package(
    folder: Path,
    headers: Mapping[str, str],
    requires: Sequence[str],
    members: Mapping[str, bytes],
    *,
    card: str = "",
    entry_points: str = "",
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel; return its path.

    Parameters
    ----------
    folder : Path
        An existing folder; a wheel of the same name and version in it is replaced.
    headers : mapping of str to str
        Fields of the metadata, among them Name and Version.
    requires : sequence of str
        Requirements of the package, as in ``nonproj>=1.0``.
    members : mapping of str to bytes
        The files by their paths.
    card : str
        The description, Markdown.
    entry_points : str
        Contents of ``entry_points.txt``.
    tag : str
        Python version, binary interface and platform.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    stem = f"{headers['Name'].replace('-', '_')}-{headers['Version']}"
    pure = "true" if tag.endswith("-none-any") else "false"
    files = dict(members)
    files[f"{stem}.dist-info/METADATA"] = _metadata(headers, requires, card)
    text = f"Wheel-Version: 1.0\nGenerator: nonproj\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    files[f"{stem}.dist-info/WHEEL"] = text.encode()
    if entry_points:
        files[f"{stem}.dist-info/entry_points.txt"] = entry_points.encode()
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
    path = folder / f"{stem}-{tag}.whl"
    check_no_links(path, folder)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, _TIME)
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
    return path


def _metadata(headers: Mapping[str, str], requires: Sequence[str], card: str) -> bytes:
    """Return the file METADATA, whose body is the description."""
    fields = [("Metadata-Version", "2.1"), *headers.items(), ("Requires-Python", ">=3.11")]
    fields += [("Requires-Dist", each) for each in requires]
    fields += [("Description-Content-Type", "text/markdown; charset=UTF-8")] if card else []
    return ("".join(f"{name}: {one_line(value)}\n" for name, value in fields) + f"\n{card}").encode()


def _digest(data: bytes) -> str:
    """Return the digest of a file, as in RECORD."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
