"""A server's own copies of its models, which nobody else can replace or overwrite while it runs.

A worker started later loads the same model as the others, whatever has happened to the file.  On Linux a copy is an
anonymous file in memory, sealed against changes, which workers find among the descriptors of the server; they map it,
so all share one copy.  Elsewhere it is a file in a private folder, which is removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nonproj.errors import ModelError
from nonproj.io.temporary import reason
from nonproj.model.installed import located
from nonproj.model.model import Model


@contextlib.contextmanager
def private_copy(path: str) -> Iterator[Model]:
    """Yield a model loaded from a copy of its file, which exists in the context; all its checksums are verified.

    Parameters
    ----------
    path : str

    Raises
    ------
    ModelError
        The file cannot be read or copied, is damaged, or is not a model for parsing; the message names ``path``.
    """
    Model.load_trained(located(path))  # its own errors come before anything is copied
    with contextlib.ExitStack() as stack:
        try:
            copy = (_in_memory if sys.platform == "linux" else _in_folder)(path, stack)
        except OSError as error:
            raise ModelError(f"{path}: cannot be copied: {reason(error)}") from None
        try:
            model = Model.load(copy, verified=True)
            if not model.is_trained:
                raise ModelError(f"{path}: a checkpoint, not a model")
        except ModelError as error:  # it changed while being copied, or is damaged
            raise ModelError(str(error).replace(copy, path)) from None
        yield model


def _in_memory(path: str, stack: contextlib.ExitStack) -> str:
    """Copy a file into an anonymous one; return its path for the processes of this user."""
    import fcntl

    descriptor = os.memfd_create("nonproj-model", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, descriptor)
    with open(path, "rb") as source, open(descriptor, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def _in_folder(path: str, stack: contextlib.ExitStack) -> str:
    """Copy a file into a new folder that only this user may read; return its path."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="nonproj-"))
    copy = Path(folder) / "model"
    shutil.copyfile(path, copy)
    copy.chmod(0o400)
    return str(copy)
