"""Trained models of the systems as files: a kind, a version, JSON values and arrays in the container of all models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ModelError
from nonproj.model import container


def write(
    path: str | Path, kind: str, version: int, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a model; the file appears when it is complete.

    Parameters
    ----------
    path : str or Path
    kind : str
        Kind of model, as in ``"translation"``.
    version : int
        The version of its contents.
    values : mapping of str to JSON values
    arrays : mapping of str to ndarray

    Raises
    ------
    FileError
        The file cannot be written.
    ValueError
        An array has a dtype that is not in `nonproj.model.container.DTYPES`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/m", "toy", 1, {"order": 3}, {"weights": np.ones(2)})
    ...     values, arrays = read(folder + "/m", "toy", 1)
    >>> values, arrays["weights"].tolist()
    ({'order': 3}, [1.0, 1.0])
    """
    container.write(path, {"kind": kind, "version": version, "values": dict(values)}, arrays)


def read(path: str | Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model that `write` wrote.

    Returns
    -------
    values : dict of str to JSON values
    arrays : dict of str to ndarray
        Arrays of the file, whose digests are checked.

    Raises
    ------
    ModelError
        The file cannot be read, is not such a model, or has another version.
    """
    header, arrays = container.read(path, verified=True)
    if "kind" not in header:
        raise ModelError(f"{path}: a model of a parser, one for {kind} expected")
    if header["kind"] != kind or type(header.get("values")) is not dict:
        raise ModelError(f"{path}: a model for {header['kind']}, one for {kind} expected")
    if header.get("version") != version:
        found = header.get("version")
        raise ModelError(f"{path}: a model for {kind} of version {found}, {version} expected; train it again")
    return header["values"], arrays
