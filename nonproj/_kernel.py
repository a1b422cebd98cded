"""The project's only njit, and the folder where its compiled code is kept.

Numba's cache looks at the file of a kernel and not at the files of the kernels it calls, so an edited helper would
leave its callers stale (numba issue 1833).  The folder is therefore named by a digest of every source that kernels are
made of, of the versions involved and of the flags that change the generated code.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

_PACKAGE = Path(__file__).parent
_FLAGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "NUMBA_OPT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")


def source_digest() -> str:
    """Return a digest of all that determines the compiled code, 16 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    digest.update(" ".join(os.environ.get(flag, "") for flag in _FLAGS).encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if b"_kernel" in text or path.name == "types.py":
            digest.update(str(path.relative_to(_PACKAGE)).encode())
            digest.update(text)
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of compiled code for this very source; ``NONPROJ_CACHE`` moves its parent."""
    base = os.environ.get("NONPROJ_CACHE")
    if base is None:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nonproj"
    folder = Path(base) / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        folder = Path(tempfile.gettempdir()) / f"nonproj-{os.getuid()}" / folder.name
        folder.mkdir(parents=True, exist_ok=True)
    return folder


_FOLDER = str(cache_folder())


def kernel(function):
    """Compile a function lazily, without the global interpreter lock, cached on disk.

    No fast mathematics: recurrences start at minus infinity and agreement is exact.
    """
    return _compile(function, inline="never")


def inlined_kernel(function):
    """Compile a function as part of each kernel that calls it.

    For what is called once a part: a call that hands over a tuple of arrays copies them all, and that costs more than
    the work.
    """
    return _compile(function, inline="always")


def _compile(function, inline: str):
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _FOLDER
    try:
        return numba.njit(function, cache=True, nogil=True, fastmath=False, inline=inline)
    finally:
        numba.config.CACHE_DIR = previous
