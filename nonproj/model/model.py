"""A trained parser in one file, which is safe to load from untrusted sources and is memory-mapped.

`nonproj.model.container` describes the file.  Its header has the values config, templates, vocabularies, labels, meta
and components, all of which are validated; nothing in it is executed.  The digests of the arrays are checked on request
only (``verified=True``), because reading all arrays would take the time that mapping saves.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nonproj.errors import ConfigError, ModelError
from nonproj.io.strings import escaped
from nonproj.io.temporary import reason
from nonproj.linear.state import State, Stored, add_nested, load, nested
from nonproj.model import container
from nonproj.model.checks import defect_of
from nonproj.options.config import Config
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.vocabulary import TokenEncoder

LABEL_LINES = "label_lines"
"""The array of allowed labels per arc, in models that score labels with the arcs."""

LABEL_PLACES = "label_places"
"""The array of labels that words below the root, and below other words, can have."""

_S = TypeVar("_S", bound=Stored)

_FIELDS = {"config": dict, "templates": dict, "vocabularies": dict, "labels": list, "meta": dict, "components": dict}


@dataclass
class Model:
    """A trained parser, or one in training.

    Attributes
    ----------
    config : Config
        The options it was trained with.
    vocabularies : dict of str to list of str
        The vocabulary of each attribute, in the order of their numbers.
    templates : dict of str to dict
        The result of `nonproj.scoring.templates.load_templates`.
    labels : list of str
        The labels, in the order of their numbers.
    weights : dict of str to ndarray
        The tables ``parser``, ``pruner`` and ``labeler``, their sizes powers of two: float32, or int16 to be multiplied
        by the scales in ``meta["scale"]``.  Models that score labels with the arcs have `LABEL_LINES` too
        (`nonproj.scoring.labels.AllowedLabels`), and all but older ones `LABEL_PLACES`
        (`nonproj.scoring.labels.forbid_misplaced`).  A checkpoint has other arrays.
    meta : dict
        Training history; JSON values only.
    components : dict of str to dict
        States of the optional components (`nonproj.model.checks.COMPONENTS`, and a user's), JSON values only; their
        arrays are in ``weights``, as ``tagger.NAME`` and so on.
    path : Path or None
        The file it was read from.

    Examples
    --------
    >>> from nonproj.scoring.templates import attributes_of, load_templates
    >>> files = load_templates()
    >>> vocabularies = {name: ["a", "b"] for name in [*attributes_of(files), "feat"]}
    >>> weights = dict.fromkeys(("parser", "pruner", "labeler"), np.ones(4096, np.float32))
    >>> model = Model(Config(), vocabularies, files, ["subj"], weights, {})
    >>> Model.from_bytes(model.to_bytes()).weights["parser"].sum()
    np.float32(4096.0)
    """

    config: Config
    vocabularies: dict[str, list[str]]
    templates: dict[str, dict[str, Any]]
    labels: list[str]
    weights: dict[str, np.ndarray]
    meta: dict[str, Any]
    components: dict[str, dict[str, Any]] = field(default_factory=dict)
    path: Path | None = field(default=None, init=False, repr=False, compare=False)

    def component(self, name: str) -> State | None:
        """Return the state of a component, JSON values and arrays, or None if the model has no such component."""
        return nested(self.components, self.weights, name)

    def loaded(self, kind: type[_S], *context: Any) -> _S | None:
        """Return the component of a kind, None if the model has none; raise `ModelError` if its state is invalid.

        See `nonproj.linear.state.load`.
        """
        state = self.component(kind.name)
        return load(kind, state, *context) if state else None

    def add_component(self, name: str, state: State | None) -> None:
        """Add the state of a component, if there is one."""
        add_nested(self.components, self.weights, name, state)

    def encoder(self) -> TokenEncoder:
        """Return a new `TokenEncoder` with this model's vocabularies, word clusters and vectors."""
        coarse = bool(self.meta.get("coarse_tags"))
        return TokenEncoder(self.vocabularies, self.loaded(Clusters), coarse, self.loaded(PieceVectors))

    def save(self, path: str | Path) -> None:
        """Write the model to a file atomically.

        Raises
        ------
        FileError
            The file cannot be written.
        ValueError
            An array has a dtype that is not in `nonproj.model.container.DTYPES`, or the header is too large.
        """
        container.write(path, _header(self), self.weights)

    def describe(self) -> dict[str, Any]:
        """Return the configuration, sizes and training history as plain numbers and strings."""
        return {
            "config": self.config.as_dict(),
            "weights": {
                name: {
                    "entries": table.size,
                    "megabytes": table.nbytes / 1e6,
                    "nonzero": float(np.count_nonzero(table) / max(table.size, 1)),
                }
                for name, table in self.weights.items()
            },
            "vocabularies": {name: len(strings) for name, strings in self.vocabularies.items()},
            "labels": len(self.labels),
            "templates": {name: len(spec["templates"]) for name, spec in self.templates.items()},
            "training": self.meta,
        }

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return b"".join(container.chunks(_header(self), self.weights))

    @classmethod
    def load(cls, path: str | Path, mmap: bool = True, *, verified: bool = False) -> Model:
        """Read a model.

        Parameters
        ----------
        path : str or Path
        mmap : bool
            Map the arrays instead of reading them: pages are read on first access and shared by all processes that use
            the same file.  Either way the arrays are writable, and changes stay in memory.
        verified : bool
            Check the digest of every array.

        Raises
        ------
        ModelError
            The file is not a model, is incomplete or damaged, has another format, or is unusable for parsing.
        """
        return _model(container.read(path, mmap, verified), Path(path))

    @classmethod
    def load_trained(cls, path: str | Path) -> Model:
        """Read a model for parsing; errors as for `load`, also for a checkpoint of training."""
        model = cls.load(path)
        if not model.is_trained:
            raise ModelError(f"{path}: a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
        return model

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file from which the model was read, or else of the file that `save` would write."""
        if self.path is None:
            return hashlib.sha256(self.to_bytes()).hexdigest()
        try:
            with open(self.path, "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{self.path}: {reason(error)}") from None

    @property
    def is_trained(self) -> bool:
        """Whether training is complete; a checkpoint lacks some weights."""
        return "parser" in self.weights

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Return the model written by `to_bytes`; errors as for `load`."""
        return _model(container.from_bytes(data))


def _header(model: Model) -> dict[str, Any]:
    """Return the values of the header; names of files in options and history are escaped."""
    return {
        "config": escaped(model.config.as_dict()),
        "templates": model.templates,
        "labels": model.labels,
        "meta": escaped(model.meta),
        "components": model.components,
        "vocabularies": model.vocabularies,
    }


def _model(contents: container.Contents, file: Path | None = None) -> Model:
    """Return the model in a file, after checking everything in its header."""
    header, path = contents.values, str(file or "<bytes>")
    if "kind" in header:
        raise ModelError(f"{path}: a model for {header['kind']}, not for parsing")
    if any(type(header.get(name)) is not kind for name, kind in _FIELDS.items()):
        raise ModelError(f"{path}: not a model: the header lacks one of {', '.join(_FIELDS)}")
    training = header["config"].get("training")
    if isinstance(training, dict):
        training.pop("models", None)  # of earlier versions: the number of perceptrons whose mean the weights are
    try:
        config = Config.from_dict(header["config"])
    except ConfigError as error:
        raise ModelError(f"{path}: has options unknown to this version: {error}") from None
    if problem := defect_of(config, header, contents.arrays):
        raise ModelError(f"{path}: cannot be used: {problem}")
    first = (header["vocabularies"], header["templates"], header["labels"])
    model = Model(config, *first, contents.arrays, header["meta"], header["components"])
    model.path = file.absolute() if file else None
    return model
