"""Models on the Hugging Face Hub, by names such as ``hf:owner/name`` or ``hf:owner/name@revision``.

A repository contains its model as `FILE`.  The package huggingface_hub downloads it once into its own cache; with the
environment variable ``HF_HUB_OFFLINE=1``, only cached models are used.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from nonproj.errors import ModelError, needs, one_line

PREFIX = "hf:"

FILE = "model.nonproj"
"""Name of the model file in its repository."""

_NAME = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_on_hub(text: str) -> bool:
    """Return whether a text begins with ``hf:``, as the name of a model on the Hub; the model need not exist.

    Examples
    --------
    >>> is_on_hub("hf:owner/danish"), is_on_hub("danish"), is_on_hub("models/hf:x.nonproj")
    (True, False, False)
    """
    return text.startswith(PREFIX)


def from_hub(name: str) -> Path:
    """Return the file of a model on the Hub, downloaded if it is not in the cache.

    Parameters
    ----------
    name : str
        As in ``hf:owner/name``, or ``hf:owner/name@revision`` for a branch, a tag or a commit.

    Raises
    ------
    ModelError
        The name is malformed, huggingface_hub is not installed, or the file cannot be downloaded or has a SHA-256 other
        than the Hub stated.

    Examples
    --------
    >>> from_hub("hf:danish")
    Traceback (most recent call last):
    nonproj.errors.ModelError: hf:danish: hf:OWNER/NAME or hf:OWNER/NAME@REVISION expected
    """
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise ModelError(f"{one_line(name)}: hf:OWNER/NAME or hf:OWNER/NAME@REVISION expected")
    try:
        from huggingface_hub import hf_hub_download  # an extra, which takes half a second to import
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        if error.name and error.name.partition(".")[0] != "huggingface_hub":
            raise
        raise ModelError(f"{name}: {needs('models on the Hub need', 'huggingface_hub', 'hub')}") from None
    try:
        path = Path(hf_hub_download(parts[1], FILE, revision=parts[2]))
    except LocalEntryNotFoundError:
        text = f"it is not in the cache, and the Hub cannot be reached; copy its {FILE} here and name the file"
        raise ModelError(f"{name}: {text}") from None
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
        raise ModelError(f"{name}: no {FILE} of it on the Hub ({one_line(reason)})") from None
    check_digest(name, path)
    return path


def check_digest(name: str, path: Path) -> None:
    """Raise unless a file of the cache has the SHA-256 that the Hub stated.

    The cache of huggingface_hub is a folder of links to files, which are named by the Hub's digest: the SHA-256 of a
    large file, or another digest of a small one, which is not checked.  Without links, no file is checked.

    Raises
    ------
    ModelError
        The file has another SHA-256.
    """
    stated = path.resolve().name
    if not _SHA256.fullmatch(stated):
        return
    with open(path, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != stated:
        remedy = f"remove {path.resolve()} and try again"
        raise ModelError(f"{name}: SHA-256 is {found}, {stated} expected; the file is damaged: {remedy}")
