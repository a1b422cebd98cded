"""Commands and environments of other Python processes, which find the modules and kernels of this one.

They import nothing from the current folder, which may hold untrusted data: a ``numpy.py`` in it would be executed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from nonproj.kernels.folders import TEMPORARY, kept_in

_ROOT = str(Path(__file__).resolve().parents[2])

START = "from nonproj.kernels.settings import ignore_current_folder; ignore_current_folder()"
"""First statement of each of our programs that import numba; the command line begins with it anyway."""


def python(*words: str) -> list[str]:
    """Return a command that runs Python without the current folder on its path.

    Examples
    --------
    >>> python("-m", "nonproj", "--version")[1:]
    ['-P', '-m', 'nonproj', '--version']
    """
    return [sys.executable, "-P", *words]


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a Python process that uses the same modules and the same cache of kernels.

    Parameters
    ----------
    **variables
        More environment variables.

    Examples
    --------
    >>> environment(OMP_NUM_THREADS="1")["OMP_NUM_THREADS"]
    '1'
    """
    here = None
    with suppress(FileNotFoundError):  # the current folder was removed
        here = os.getcwd()
    folders = [folder for folder in sys.path if folder == _ROOT or (folder and os.path.realpath(folder) != here)]
    if _ROOT not in folders:
        folders.insert(0, _ROOT)
    found = {"PYTHONPATH": os.pathsep.join(folders)}
    if folder := kept_in():  # which need not be within the one that NONPROJ_CACHE names
        found["NONPROJ_CACHE"] = str(folder if folder.name.startswith(TEMPORARY) else folder.parent)
    return os.environ | found | variables
