"""Trained models of the systems as files: arrays and JSON values.

A file is an uncompressed zip archive as numpy writes it (``.npz``), with one more entry, ``header``: JSON in UTF-8 as
bytes.  Nothing in a file is executed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import FileError, ModelError
from nonproj.io.files import open_binary
from nonproj.io.temporary import reason

_HEADER = "header"


def write(
    path: str | Path, kind: str, version: int, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a model; the file appears when it is complete.

    Parameters
    ----------
    path : str or Path
    kind : str
        What the model is, as in ``"translation"``.
    version : int
        The version of what is in it.
    values : mapping of str to JSON values
    arrays : mapping of str to ndarray
        Of numbers; none of them is called ``header``.

    Raises
    ------
    FileError
        The file cannot be written.
    ValueError
        An array holds objects.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/m", "toy", 1, {"order": 3}, {"weights": np.ones(2)})
    ...     values, arrays = read(folder + "/m", "toy", 1)
    >>> values, arrays["weights"].tolist()
    ({'order': 3}, [1.0, 1.0])
    """
    if _HEADER in arrays:
        raise ValueError(f"an array is called {_HEADER!r}; another name is expected")
    text = json.dumps({"kind": kind, "version": version, "values": dict(values)}, ensure_ascii=False)
    header = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    with open_binary(path) as stream:
        try:
            np.savez(stream, allow_pickle=False, **{_HEADER: header}, **arrays)
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {reason(error)}") from None


def read(path: str | Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model that `write` wrote.

    Returns
    -------
    values : dict of str to JSON values
    arrays : dict of str to ndarray

    Raises
    ------
    ModelError
        The file cannot be read, is no such model, or one of another version.
    """
    wrong = ModelError(f"{path}: not a model of nonproj for {kind}")
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if not hasattr(archive, "files") or _HEADER not in archive.files:
                raise wrong
            header = json.loads(archive[_HEADER].tobytes().decode("utf-8", "surrogatepass"))
            if not isinstance(header, dict) or header.get("kind") != kind or not isinstance(header.get("values"), dict):
                raise wrong
            if header.get("version") != version:
                found = header.get("version")
                raise ModelError(f"{path}: a model for {kind} of version {found}, {version} expected; train it again")
            return header["values"], {name: archive[name] for name in archive.files if name != _HEADER}
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {reason(error)}") from None
    except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, NotImplementedError) as error:
        raise wrong from error
