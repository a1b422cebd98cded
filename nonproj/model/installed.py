"""Models that are installed, and the lookup of models by name.

Models come with nonproj itself, in the folder `BUNDLED`, or as packages.  A package of a model (`nonproj.model.wheel`)
declares an entry point of the group `GROUP`: the name of the model and the import package that contains its file,
``NAME.nonproj``.  Nothing of a package is imported or executed.
"""

from __future__ import annotations

import logging
import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nonproj import __version__
from nonproj.errors import ModelError, one_line
from nonproj.model.hub import from_hub, is_on_hub

GROUP = "nonproj.models"
"""The group of entry points."""

BUNDLED = Path(__file__).resolve().parent
"""The folder of nonproj's own models, each in a folder of its name, with its card and licence."""

OWN = "nonproj"
"""Name of the package that contains nonproj's own models."""

DEFAULT = "english"
"""Name of nonproj's own model that parses if none is named, whatever packages are installed."""

VARIABLE = "NONPROJ_MODEL"
"""The environment variable that names another default: a file, or the name of an installed model."""

SUFFIX = ".nonproj"

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

log = logging.getLogger("nonproj")


class InstalledModel(NamedTuple):
    """An installed model.

    Attributes
    ----------
    name : str
    package : str
        Name of the package that contains it, as pip knows it.
    version : str
        Version of the package.
    path : Path
        The file; it is missing if the package is damaged.
    """

    name: str
    package: str
    version: str
    path: Path


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a model: lower-case letters, digits, and single hyphens between them.

    Examples
    --------
    >>> is_name("english-ewt"), is_name("danish.nonproj"), is_name("-")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def installed(name: str | None = None) -> list[InstalledModel]:
    """Return the installed models, nonproj's own included, sorted by name and package.

    Parameters
    ----------
    name : str, optional
        Only models of this name.
    """
    from importlib.metadata import entry_points  # takes 20 ms, and is needed only for names

    found = []
    for entry in entry_points(group=GROUP) if name is None else entry_points(group=GROUP, name=name):
        if entry.dist is not None and is_name(entry.name):
            path = Path(str(entry.dist.locate_file(f"{entry.value}/{entry.name}{SUFFIX}")))
            found.append(InstalledModel(entry.name, entry.dist.name, entry.dist.version, path))
    own = BUNDLED.glob(f"*/{name or '*'}{SUFFIX}")
    return sorted({*found, *(InstalledModel(path.stem, OWN, __version__, path) for path in own)})


def located(model: str | os.PathLike[str]) -> Path:
    """Return the file of a model: an existing file, the file of the installed model of this name, or one on the Hub.

    A package whose model has the name of nonproj's own takes precedence.

    Parameters
    ----------
    model : str or path
        A path; a name, which never has the ending ``.nonproj`` or a slash; or ``hf:owner/name`` (`nonproj.model.hub`).
        The path of a missing file is returned unchanged, so that whatever opens it reports it.

    Raises
    ------
    ModelError
        The name fits no installed model, several, or an installed model and a file; or the model cannot be downloaded
        from the Hub.

    Examples
    --------
    >>> located("missing.nonproj").name
    'missing.nonproj'
    >>> located("klingon")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nonproj.errors.ModelError: klingon: no such file, and no installed model has this name (...)
    """
    text = os.fspath(model)
    if isinstance(model, str) and is_on_hub(text) and not os.path.exists(text):
        return from_hub(text)
    if not isinstance(model, str) or not is_name(text):
        return Path(text)
    found, is_file = installed(text), os.path.isfile(text)
    if is_file and not found:
        return Path(text)
    if not found:
        raise ModelError(f"{text}: no such file, and no installed model has this name ({_names()})")
    if is_file:
        raise ModelError(f"{text}: both a file and an installed model; ./{text} is the file, {found[0].path} the model")
    found = [each for each in found if each.package != OWN] or found
    if len(found) > 1:
        packages = ", ".join(each.package for each in found)
        raise ModelError(f"{text}: several packages have a model of this name, {packages}; uninstall the others")
    if not found[0].path.is_file():
        again = "install its wheel again, by pip install --force-reinstall"
        raise ModelError(f"{text}: the package {found[0].package} lacks its file {found[0].path}; {again}")
    return found[0].path


def default() -> Path:
    """Return the file of the model that parses if none is named: that of `VARIABLE`, or else nonproj's own `DEFAULT`.

    Raises
    ------
    ModelError
        The variable names no model, or nonproj comes without its own.
    """
    if named := os.environ.get(VARIABLE):
        try:
            return located(named)
        except ModelError as error:
            raise ModelError(f"{VARIABLE}: {error}") from None
    path = BUNDLED / DEFAULT / f"{DEFAULT}{SUFFIX}"
    if not path.is_file():
        how = f"name one, or set {VARIABLE} ({_names()})"
        raise ModelError(f"no model is named, and nonproj comes without one here; {how}")
    return path


def announced_default() -> Path:
    """Return the result of `default`, and name the model in a warning in the log, once in a process."""
    path = default()
    named, others = os.environ.get(VARIABLE), {each.name for each in installed() if each.package != OWN}
    if named:
        _say(f"{named}, the model of {VARIABLE}")
    else:
        hint = f"; also installed: {', '.join(sorted(others))}; name one, or set {VARIABLE}" if others else ""
        _say(f"{DEFAULT}, the model that comes with nonproj{hint}")
    return path


@cache
def _say(text: str) -> None:
    """Log which model parses, once."""
    log.warning("parsing with %s", one_line(text))


def _names() -> str:
    """Return the names of the installed models, for messages."""
    known = sorted({each.name for each in installed()})
    return f"installed: {one_line(', '.join(known))}" if known else "none is installed"
