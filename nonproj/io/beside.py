"""Files whose names are derived from one that the user has typed: links are not followed.

An unpacked archive may contain links.  A command that writes ``m.log`` beside ``m``, or ``sub/a.conllu`` in a folder,
must not write elsewhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
from pathlib import Path

from nonproj.errors import FileError, one_line
from nonproj.io.files import unwritable
from nonproj.io.temporary import reason


def check_no_links(path: str | Path, folder: str | Path) -> None:
    """Raise `FileError` if a name in a path below a folder is a link, or neither a file nor a folder.

    The user has named only the folder, or a file in it; an unpacked archive may have put a link to another file there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:  # doctest: +ELLIPSIS
    ...     os.symlink("elsewhere", Path(folder) / "sub")
    ...     check_no_links(Path(folder) / "sub" / "a.conllu", folder)
    Traceback (most recent call last):
    nonproj.errors.FileError: ...sub: is a link, which is followed only if you name it yourself; remove it
    """
    place = os.fspath(folder)
    for name in os.path.relpath(path, folder or os.curdir).split(os.sep):
        place = os.path.join(place, name)
        mode = os.lstat(place).st_mode if os.path.lexists(place) else stat.S_IFREG
        if stat.S_ISLNK(mode):
            raise FileError(place, "is a link, which is followed only if you name it yourself; remove it")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise FileError(place, "is neither a file nor a folder; remove it")


def open_beside(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """Open a file next to one that the user has named, to change it in place; an ``opener`` for `open`.

    Raises
    ------
    FileError
        It is a link, or has other hard links.
    """
    check_no_links(path, os.path.dirname(path))
    descriptor = os.open(path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise FileError(str(path), "has other names (hard links), under which it would change, too; remove it")
    if flags & os.O_TRUNC:
        os.ftruncate(descriptor, 0)
    return descriptor


def open_locked(path: str | Path) -> int:
    """Open and lock a file that keeps the state of a job; it must belong to the user and be writable by nobody else.

    Raises
    ------
    BlockingIOError
        Another process has locked it.
    FileError
    """
    while True:
        descriptor = _open_private(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise
        except OSError as error:  # some file systems have no locks
            logging.getLogger("nonproj").warning("%s cannot be locked: %s", one_line(str(path)), reason(error))
        if is_at(path, descriptor):  # otherwise the other process has removed it
            return descriptor
        os.close(descriptor)


def is_at(path: str | Path, descriptor: int) -> bool:
    """Return whether an open file still has this name."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


def _open_private(path: str | Path) -> int:
    """Open a file that keeps the state of a job; it must belong to the user and be writable by nobody else."""
    try:
        descriptor = open_beside(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise unwritable(path, error) from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        os.close(descriptor)
        raise FileError(str(path), "must belong to you and be writable by nobody else; remove it")
    return descriptor
