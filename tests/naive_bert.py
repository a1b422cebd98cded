"""A naive twin: the encoder of Devlin et al. 2019 from its definition, one sentence at a time, in double precision."""

import json
import math
from pathlib import Path

import numpy as np


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file in the safetensors format, in single precision."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


def gelu(x: np.ndarray) -> np.ndarray:
    """Return x times the probability that a standard normal variable is less than x."""
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def softmax(x: np.ndarray) -> np.ndarray:
    """Return each row's softmax."""
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


class Bert:
    """A folder of Hugging Face with a BERT in single precision."""

    def __init__(self, folder: Path):
        self.settings = json.loads((folder / "config.json").read_text())
        self.tensors = read_tensors(folder / "model.safetensors")

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return x through a linear layer."""
        return x @ self.tensors[f"{name}.weight"].T.astype(float) + self.tensors[f"{name}.bias"]

    def normalized(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return x through a layer norm."""
        centred = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.settings["layer_norm_eps"])
        return centred / scale * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def attention(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return x through self-attention, head by head."""
        query, key, value = (self.linear(f"{name}.self.{part}", x) for part in ("query", "key", "value"))
        size = x.shape[1] // self.settings["num_attention_heads"]
        heads = [slice(start, start + size) for start in range(0, x.shape[1], size)]
        shares = [softmax(query[:, head] @ key[:, head].T / math.sqrt(size)) for head in heads]
        return np.hstack([share @ value[:, head] for share, head in zip(shares, heads, strict=True)])

    def states(self, pieces: list[int]) -> np.ndarray:
        """Return the last layer's states, a row for each piece, of a sentence with its special pieces."""
        return self.all_states(pieces)[-1]

    def embedding(self, table: str, row: int) -> np.ndarray:
        """Return a row of a table."""
        return self.tensors[f"embeddings.{table}_embeddings.weight"][row].astype(float)

    def all_states(self, pieces: list[int]) -> list[np.ndarray]:
        """Return the embeddings and the states of each layer."""
        x = np.array([self.embedding("word", piece) for piece in pieces])
        x += [self.embedding("position", i) + self.embedding("token_type", 0) for i in range(len(pieces))]
        x = self.normalized("embeddings.LayerNorm", x)
        found = [x]
        for layer in range(self.settings["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            attended = self.linear(f"{name}.attention.output.dense", self.attention(f"{name}.attention", x))
            x = self.normalized(f"{name}.attention.output.LayerNorm", x + attended)
            wide = gelu(self.linear(f"{name}.intermediate.dense", x))
            x = self.normalized(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", wide))
            found.append(x)
        return found

    def vector(self, pieces: list[int]) -> np.ndarray:
        """Return the mean of the states, divided by its length."""
        mean = self.states(pieces).mean(axis=0)
        return mean / np.linalg.norm(mean)


class RoundedBert(Bert):
    """The encoder with matrices, inputs and embeddings of eight bits: each block of a row is rounded by itself.

    A block of 16 to 128 numbers is the largest whose size is a power of two and divides that of the row.  Inputs may be
    left as they are.
    """

    def __init__(self, folder: Path, inputs: bool = True):
        super().__init__(folder)
        self.inputs = inputs

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return x through a linear layer, both rounded."""
        block = max(size for size in (16, 32, 64, 128) if x.shape[1] % size == 0)
        weight = rounded(self.tensors[f"{name}.weight"].astype(float), block)
        return (rounded(x, block) if self.inputs else x) @ weight.T + self.tensors[f"{name}.bias"]

    def embedding(self, table: str, row: int) -> np.ndarray:
        """Return a row of a table; those of words are rounded."""
        found = super().embedding(table, row)
        return rounded(found[None], len(found))[0] if table == "word" else found


def rounded(x: np.ndarray, block: int) -> np.ndarray:
    """Return a matrix in which each block of a row is a multiple of a 127th of its largest absolute value."""
    found = np.empty_like(x)
    for i in range(len(x)):
        for start in range(0, x.shape[1], block):
            part = x[i, start : start + block]
            scale = np.abs(part).max() / 127
            found[i, start : start + block] = np.rint(part / scale) * scale if scale else 0
    return found
