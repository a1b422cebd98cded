"""Checks that nobody else can write to a folder: numba executes the code in its cache.

A folder is trusted if it, every folder above it and every link on the way belong to this user or to root, and nobody
else can write to them.  A sticky folder, such as ``/tmp``, may be above it, because others cannot rename or remove what
is not theirs in it.  The last folder, and the files in it, must be this user's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from pathlib import Path

OTHER_FOLDER = "set NONPROJ_CACHE to a folder of your own"
"""Advice to the user, whatever the folder."""

_MOST_LINKS = 40


class UntrustedError(Exception):
    """Other users could change the contents of a path.

    Parameters
    ----------
    reason : str
        Reason, with the path.
    remedy : str
        Advice to the user.
    """

    def __init__(self, reason: str, remedy: str):
        super().__init__(reason)
        self.remedy = remedy


def make_trusted(folder: Path) -> Path:
    """Make a folder, and those above it, unless they exist; return its path without links.

    New folders can be opened by this user only.

    Raises
    ------
    UntrustedError
        Others could change what is in the folder.
    OSError
        It cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_trusted(Path(folder) / "new").name
    'new'
    """
    place = follow(folder, make=True)
    check_trusted(place, os.lstat(place), own=True)
    return place


def follow(folder: Path, make: bool = False) -> Path:
    """Return the path of a folder without links, if others cannot change what it leads to.

    Parameters
    ----------
    folder : Path
        Others may make files in it if it is sticky.
    make : bool
        Whether to make it, and those above it, unless they exist.

    Raises
    ------
    UntrustedError
        Others could change the path.
    OSError
        There is no such folder.
    """
    place, links = Path("/"), 0
    waiting = list(reversed(folder.absolute().parts))
    while waiting:
        name = waiting.pop()
        if name == "..":
            place = place.parent  # which has no links
            continue
        facts = _facts(place / name, make)
        check_trusted(place / name, facts)
        if not stat.S_ISLNK(facts.st_mode):
            place = place / name
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        waiting += reversed(Path(os.readlink(place / name)).parts)
    return place


def check_trusted(path: Path, facts: os.stat_result, own: bool = False) -> None:
    """Raise an `UntrustedError` if others could change a file, or the contents of a folder.

    Parameters
    ----------
    path : Path
        For the message.
    facts : os.stat_result
    own : bool
        Whether the path must be this user's own, and writable by nobody else even if it is sticky.
    """
    user = os.geteuid()
    if facts.st_uid != user and (own or facts.st_uid):
        raise UntrustedError(f"{path} belongs to another user, {_name(facts.st_uid)}", OTHER_FOLDER)
    sticky = facts.st_mode & stat.S_ISVTX and not own
    if facts.st_mode & 0o022 and not sticky and not stat.S_ISLNK(facts.st_mode):
        raise UntrustedError(f"others can write to {path}", f"run chmod go-w {path}, or {OTHER_FOLDER}")


def _facts(path: Path, make: bool) -> os.stat_result:
    """Return the status of a path, which may be a link; make a folder if there is nothing and ``make`` is true."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        return os.lstat(path)


def _name(user: int) -> str:
    """Return the name of a user, or the number if there is none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
