"""The sizes of an encoder, and its tensors under our own names, read from a Hugging Face folder.

The kinds are BERT (Devlin et al. 2019) and others of the same structure: RoBERTa, XLM-R, CamemBERT, ELECTRA and
DistilBERT.  They differ in the names of their tensors, in the number of the first position, and in whether sentences
have types; the position embeddings here begin with the first position used, and include the type of first sentences.

The arrays of an encoder with L layers, D dimensions, I inner dimensions, P positions and V pieces, float32, are those
of `ARRAYS`.  Matrices have a row for each output, as in the folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nonproj.errors import DependencyError, ModelError, needs

ARRAYS: dict[str, tuple[str, ...]] = {
    "words": ("pieces", "hidden"),
    "positions": ("positions", "hidden"),
    "embedding_norm": ("2", "hidden"),
    "attention": ("layers", "3", "hidden", "hidden"),
    "attention_bias": ("layers", "3", "hidden"),
    "attention_output": ("layers", "hidden", "hidden"),
    "attention_output_bias": ("layers", "hidden"),
    "attention_norm": ("layers", "2", "hidden"),
    "inner": ("layers", "inner", "hidden"),
    "inner_bias": ("layers", "inner"),
    "outer": ("layers", "hidden", "inner"),
    "outer_bias": ("layers", "hidden"),
    "outer_norm": ("layers", "2", "hidden"),
}
"""The shape of each array: queries, keys and values are the 3 of the attention; weight and bias the 2 of a norm."""

MATRICES = ("words", "attention", "attention_output", "inner", "outer")
"""The arrays that can be stored in eight bits a weight."""

LARGEST = {"layers": 100, "heads": 1000, "hidden": 20_000, "inner": 100_000, "positions": 100_000, "pieces": 10_000_000}
"""Maximum of each size."""

LARGEST_NUMBER = 1e4
"""Maximum absolute value in vectors and in the layers behind an encoder, so that no sum of products overflows."""

_PREFIXES = {
    "bert": "bert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "camembert": "roberta.",
    "electra": "electra.",
    "distilbert": "distilbert.",
}
_OFFSET = ("roberta", "xlm-roberta", "camembert")
"""Kinds whose first position comes after that of the padding."""

_MOST_TYPES, _LEAST_BYTES = 100, 2

_SETTINGS = {
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "hidden": ("hidden_size", "dim"),
    "inner": ("intermediate_size", "hidden_dim"),
    "positions": ("max_position_embeddings", "max_position_embeddings"),
    "pieces": ("vocab_size", "vocab_size"),
}
"""The names of the sizes in config.json, those of DistilBERT second."""

_WEIGHTS = (
    ("attention.self.query", "attention.q_lin"),
    ("attention.self.key", "attention.k_lin"),
    ("attention.self.value", "attention.v_lin"),
    ("attention.output.dense", "attention.out_lin"),
    ("attention.output.LayerNorm", "sa_layer_norm"),
    ("intermediate.dense", "ffn.lin1"),
    ("output.dense", "ffn.lin2"),
    ("output.LayerNorm", "output_layer_norm"),
)
"""The names of a layer's tensors, those of DistilBERT second."""

Read = Callable[[str, tuple[int, ...]], np.ndarray]
"""Function that returns the tensor with this name and shape."""


class Architecture(NamedTuple):
    """The sizes of an encoder.

    Attributes
    ----------
    kind : str
        As in config.json: bert, roberta and so on.
    layers, heads, hidden, inner : int
    positions : int
        Maximum number of pieces in an input.
    pieces : int
    epsilon : float
        Epsilon of the layer norms.
    """

    kind: str
    layers: int
    heads: int
    hidden: int
    inner: int
    positions: int
    pieces: int
    epsilon: float

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array of `ARRAYS`.

        Examples
        --------
        >>> Architecture("bert", 6, 12, 384, 1536, 512, 30522, 1e-12).shape("inner_bias")
        (6, 1536)
        """
        return tuple(int(size) if size.isdigit() else getattr(self, size) for size in ARRAYS[name])


class EncoderFolder(NamedTuple):
    """The contents of an encoder's folder: see `read_folder`.

    Attributes
    ----------
    architecture : Architecture
    arrays : dict of str to ndarray of float32
        See `ARRAYS`.
    tokenizer : str
        The text of tokenizer.json.
    licence : str
        The licence in the front matter of the model card, README.md; empty if it has none.
    """

    architecture: Architecture
    arrays: dict[str, np.ndarray]
    tokenizer: str
    licence: str


def read_folder(path: str | Path) -> EncoderFolder:
    """Return the encoder in a Hugging Face folder: config.json, tokenizer.json, model.safetensors.

    Nothing in it is executed.  Sizes and shapes are compared with config.json before a tensor is read.

    Raises
    ------
    ModelError
        It is not a folder, lacks a file, or has an encoder of another kind.
    DependencyError
        The package safetensors is missing.
    """
    folder = Path(path)
    architecture, *layout = read_settings(_json(folder / "config.json"), str(folder / "config.json"))
    tokenizer = _text(folder / "tokenizer.json")
    arrays = _read_arrays(folder / "model.safetensors", architecture, *layout)
    return EncoderFolder(architecture, arrays, tokenizer, licence_of(folder / "README.md"))


def read_settings(settings: Mapping[str, Any], path: str = "config.json") -> tuple[Architecture, int, int]:
    """Return the sizes in config.json, the number of the first position used, and the number of types of sentences.

    Raises
    ------
    ModelError
        The kind is not supported, or a size is impossible; the message has the path.

    Examples
    --------
    >>> sizes = {"num_hidden_layers": 6, "num_attention_heads": 12, "hidden_size": 384, "intermediate_size": 1536}
    >>> sizes |= {"max_position_embeddings": 514, "vocab_size": 250002, "layer_norm_eps": 1e-05}
    >>> read_settings({"model_type": "xlm-roberta", "pad_token_id": 1, "type_vocab_size": 1, **sizes})[1:]
    (2, 1)
    """
    kind = settings.get("model_type")
    small = kind == "distilbert"
    sizes = {name: settings.get(names[small]) for name, names in _SETTINGS.items()}
    expected = {
        "activation" if small else "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "embedding_size": sizes["hidden"],
    }
    for name, only in expected.items():
        found = settings.get(name, only)
        if found != only:
            raise ModelError(f"{path}: {name} is {found!r}, {only!r} is expected")
    epsilon = settings.get("layer_norm_eps", 1e-12)
    architecture = Architecture(kind, **sizes, epsilon=epsilon)  # type: ignore[arg-type]
    check_sizes(architecture, path)
    types = 0 if small else settings.get("type_vocab_size", 2)
    if type(types) is not int or not 0 <= types <= _MOST_TYPES:
        raise ModelError(f"{path}: type_vocab_size is {types!r}, 0 to {_MOST_TYPES} is expected")
    if kind not in _OFFSET:
        return architecture, 0, types
    padding, most = settings.get("pad_token_id", 1), architecture.positions - 4
    if type(padding) is not int or not 0 <= padding <= most:
        raise ModelError(f"{path}: pad_token_id is {padding!r}, 0 to {most} is expected")
    return architecture._replace(positions=architecture.positions - padding - 1), padding + 1, types


def check_sizes(architecture: Architecture, owner: str) -> None:
    """Raise `ModelError`, which names the owner, unless all sizes are possible.

    Examples
    --------
    >>> check_sizes(Architecture("bert", 6, 5, 384, 1536, 512, 30522, 1e-12), "a")
    Traceback (most recent call last):
    nonproj.errors.ModelError: a: 384 dimensions cannot be divided among 5 heads
    """
    if type(architecture.kind) is not str or architecture.kind not in _PREFIXES:
        raise ModelError(
            f"{owner}: an encoder of the kind {architecture.kind!r}; one of {', '.join(_PREFIXES)} is expected"
        )
    for name, largest in LARGEST.items():
        size = getattr(architecture, name)
        if type(size) is not int or not 0 < size <= largest:
            raise ModelError(f"{owner}: the number of {name} is {size!r}, 1 to {largest} is expected")
    if architecture.hidden % architecture.heads:
        raise ModelError(
            f"{owner}: {architecture.hidden} dimensions cannot be divided among {architecture.heads} heads"
        )
    if architecture.positions < 3:
        raise ModelError(f"{owner}: {architecture.positions} positions, at least 3 are expected")
    if type(architecture.epsilon) is not float or not 0 < architecture.epsilon < 1:
        raise ModelError(f"{owner}: the epsilon of norms is {architecture.epsilon!r}, a number in (0, 1) is expected")


def collect(architecture: Architecture, first: int, types: int, read: Read) -> dict[str, np.ndarray]:
    """Return the arrays of `ARRAYS`, from the tensors of a Hugging Face model, named without the prefix of its kind.

    Parameters
    ----------
    architecture : Architecture
    first, types : int
        See `read_settings`.
    read : callable
        ``read(name, shape)`` returns a tensor.
    """
    hidden, inner, small = architecture.hidden, architecture.inner, architecture.kind == "distilbert"
    arrays = {name: np.empty(architecture.shape(name), np.float32) for name in ARRAYS if ARRAYS[name][0] == "layers"}
    arrays["words"] = read("embeddings.word_embeddings.weight", architecture.shape("words"))
    positions = read("embeddings.position_embeddings.weight", (architecture.positions + first, hidden))[first:]
    if types:
        positions = positions + read("embeddings.token_type_embeddings.weight", (types, hidden))[0]
    arrays["positions"] = positions

    def norm(name: str) -> np.ndarray:
        return np.stack([read(f"{name}.{part}", (hidden,)) for part in ("weight", "bias")])

    arrays["embedding_norm"] = norm("embeddings.LayerNorm")
    for layer in range(architecture.layers):
        begin = f"{'transformer' if small else 'encoder'}.layer.{layer}."
        *attention, output, output_norm, wide, narrow, last_norm = (begin + names[small] for names in _WEIGHTS)
        for i, name in enumerate(attention):
            arrays["attention"][layer, i] = read(f"{name}.weight", (hidden, hidden))
            arrays["attention_bias"][layer, i] = read(f"{name}.bias", (hidden,))
        for array, name, shape in (
            ("attention_output", output, (hidden, hidden)),
            ("inner", wide, (inner, hidden)),
            ("outer", narrow, (hidden, inner)),
        ):
            arrays[array][layer] = read(f"{name}.weight", shape)
            arrays[f"{array}_bias"][layer] = read(f"{name}.bias", shape[:1])
        arrays["attention_norm"][layer], arrays["outer_norm"][layer] = norm(output_norm), norm(last_norm)
    return arrays


def _read_arrays(path: Path, architecture: Architecture, first: int, types: int) -> dict[str, np.ndarray]:
    """Return the arrays of a file in the safetensors format."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise DependencyError(needs("encoders need", "safetensors", "encoder")) from None
    if not path.is_file():
        raise ModelError(f"{path}: no such file; an encoder in the safetensors format is expected")
    weights, size = sum(prod(architecture.shape(name)) for name in ARRAYS), path.stat().st_size
    if size < weights * _LEAST_BYTES:
        raise ModelError(f"{path}: {size} bytes, too few for {weights} weights of config.json")
    try:
        with safe_open(path, framework="numpy") as tensors:
            known, prefix = set(tensors.keys()), _PREFIXES[architecture.kind]

            def read(name: str, shape: tuple[int, ...]) -> np.ndarray:
                """Return a tensor, float32, after comparing its shape and type."""
                full = next((each for each in (name, prefix + name) if each in known), None)
                if full is None:
                    raise ModelError(f"{path}: no tensor {name}, one with shape {shape} is expected")
                found = tensors.get_slice(full)
                if tuple(found.get_shape()) != shape or found.get_dtype() not in ("F32", "F16"):
                    raise ModelError(
                        f"{path}: the tensor {full} has the shape {tuple(found.get_shape())} and the type "
                        f"{found.get_dtype()}; {shape} and F32 or F16 are expected"
                    )
                array = tensors.get_tensor(full).astype(np.float32, copy=False)
                if not np.isfinite(array).all():
                    raise ModelError(f"{path}: the tensor {full} has values that are not finite")
                return array

            return collect(architecture, first, types, read)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: {error}") from None


def _text(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; a file of an encoder of Hugging Face is expected") from None
    except ValueError:
        raise ModelError(f"{path}: not UTF-8") from None


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError):
        found = None
    if type(found) is not dict:
        raise ModelError(f"{path}: not a record in JSON")
    return found


def licence_of(path: Path) -> str:
    """Return the licence in the front matter of a model card; empty if it has none."""
    lines = _text(path).split("\n") if path.is_file() else []
    end = lines.index("---", 1) if lines[:1] == ["---"] and "---" in lines[1:] else 0
    found = [line.partition(":")[2] for line in lines[:end] if line.startswith("license:")]
    return found[0].strip() if found else ""
