"""Lists the models that were downloaded from a hub, and removes them.

They are in the cache of huggingface_hub, which other programs use, too.  Only repositories of which nothing but the
file of a model was downloaded are listed: those that `nonproj.model.hub` has downloaded.  They are removed as folders:
huggingface_hub removes commits, in all repositories that have them, such as copies of another one.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from nonproj.errors import FileError, one_line
from nonproj.io.temporary import reason
from nonproj.model.hub import FILE, PREFIX


class Download(NamedTuple):
    """A downloaded model.

    Attributes
    ----------
    name : str
        As in ``hf:owner/name``.
    path : Path
        The folder of its repository in the cache.
    size : int
        Bytes.
    used : float
        Time of last use, in seconds since the epoch, if the file system records it.
    """

    name: str
    path: Path
    size: int
    used: float


def downloads() -> list[Download]:
    """Return the downloaded models by name; none without the package huggingface_hub, or without a cache.

    Raises
    ------
    FileError
        The cache cannot be read.
    """
    return [
        Download(
            PREFIX + repository.repo_id,
            Path(repository.repo_path),
            repository.size_on_disk,
            repository.last_accessed,
        )
        for repository in sorted(_repositories(), key=lambda each: str(each.repo_id))
        if repository.repo_type == "model" and _files(repository) == {FILE}
    ]


def _files(repository: Any) -> set[str]:
    """Return the names of the files that were downloaded of a repository."""
    return {file.file_name for revision in repository.revisions for file in revision.files}


def _repositories() -> list[Any]:
    """Return the repositories in the cache of huggingface_hub, as it describes them."""
    try:
        from huggingface_hub import scan_cache_dir
        from huggingface_hub.errors import CacheNotFound
    except ImportError:
        return []
    try:
        return list(scan_cache_dir().repos)
    except CacheNotFound:
        return []
    except (OSError, ValueError) as error:
        raise FileError("the cache of huggingface_hub", one_line(str(error))) from None


def remove(model: Download) -> int:
    """Remove a downloaded model from the cache; return the number of bytes removed.

    Raises
    ------
    FileError
        It cannot be removed.
    """
    try:
        shutil.rmtree(model.path)  # which does not follow links
    except FileNotFoundError:  # another process was faster
        pass
    except OSError as error:
        raise FileError(str(error.filename or model.path), f"cannot be removed: {reason(error)}") from None
    return model.size
