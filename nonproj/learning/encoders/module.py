"""A pretrained encoder and the layers that score parts from it, in PyTorch, for training.

The scores are those of `nonproj.scoring.encoders.heads`, which computes them without PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nonproj.scoring.encoders.architecture import ARRAYS, Architecture
from nonproj.scoring.encoders.heads import SLOPE, sizes_of
from nonproj.scoring.encoders.tags import TAG_UNITS
from nonproj.tagging.tagset import TagSet


class PaddedWindows(NamedTuple):
    """The pieces of some windows of text, padded.

    Attributes
    ----------
    numbers : Tensor of shape (B, T), int64
    mask : Tensor of shape (B, T), bool
        Whether there is a piece.
    words : Tensor of shape (B, T), int64
        The node of each piece among all nodes of the batch, -1 if its vector is not used.
    """

    numbers: Tensor
    mask: Tensor
    words: Tensor


FROZEN = ("words", "positions")
"""The arrays that are not trained: most pieces of a language are not in its treebank."""


LAYERED = tuple(name for name in ARRAYS if name not in (*FROZEN, "embedding_norm"))
"""The arrays that have one row for each layer."""


class Bert(nn.Module):
    """The encoder of Devlin et al. (2019).

    Parameters
    ----------
    architecture : Architecture
    arrays : mapping of str to ndarray, float32
        Arrays of `nonproj.scoring.encoders.architecture.ARRAYS`.
        With ``mix``, those of an encoder that has been fine-tuned.
    dropout : float
        Dropout rate after each part of a layer; none in its attention.
    """

    words: Tensor
    positions: Tensor
    embedding_norm: Tensor

    def __init__(self, architecture: Architecture, arrays: Mapping[str, np.ndarray], dropout: float):
        super().__init__()
        self.architecture, self.dropout = architecture, dropout
        for name in ARRAYS:
            tensor = torch.from_numpy(np.array(arrays[name], np.float32))
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=name not in FROZEN))
        mix = torch.from_numpy(np.array(arrays.get("mix", np.full(architecture.layers + 1, 1.0)), np.float32))
        mix = mix.clamp(min=1e-12)  # those of a stranger's model may be zero or negative
        self.factor = nn.Parameter(mix.sum()[None] if "mix" in arrays else torch.ones(1))
        self.shares = nn.Parameter((mix / mix.sum()).log())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays, and the weights of the layers under ``mix``, as `Encoder` takes them."""
        found = {name: getattr(self, name).detach().cpu().numpy().copy() for name in ARRAYS}
        return found | {"mix": self.mix().detach().cpu().numpy().copy()}

    def mix(self) -> Tensor:
        """Return the weights of the embeddings and of each layer."""
        return torch.softmax(self.shares, 0) * self.factor

    def normalised(self, x: Tensor, norm: Tensor) -> Tensor:
        """Return x after a layer norm."""
        return functional.layer_norm(x, x.shape[-1:], norm[0], norm[1], self.architecture.epsilon)

    def dropped(self, x: Tensor) -> Tensor:
        """Return x after dropout; unchanged except in training."""
        return functional.dropout(x, self.dropout, self.training)

    def attended(self, layer: Mapping[str, Tensor], x: Tensor, mask: Tensor) -> Tensor:
        """Return the output of the self-attention of a layer for x."""
        projected = functional.linear(x, layer["attention"].flatten(0, 1), layer["attention_bias"].flatten())
        projected = projected.view(*x.shape[:2], 3, self.architecture.heads, -1)
        query, key, value = projected.permute(2, 0, 3, 1, 4).unbind()
        # Written out, because the backward pass of PyTorch's fused kernel is several times slower on a processor.
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(2, 3)
        found = scores.masked_fill(~mask[:, None, None, :], -torch.inf).softmax(-1).to(value.dtype) @ value
        joined = found.transpose(1, 2).reshape(x.shape)
        return functional.linear(joined, layer["attention_output"], layer["attention_output_bias"])

    def forward(self, pieces: PaddedWindows, count: int) -> Tensor:
        """Return the vector of each of ``count`` nodes, the mean of its pieces, [count, hidden]."""
        numbers, mask, words = pieces
        x = self.words[numbers] + self.positions[: numbers.shape[1]]
        x = self.dropped(self.normalised(x, self.embedding_norm))
        mix, used = self.mix(), words >= 0
        mixed = mix[0] * x[used]
        # Taken apart together: the gradient of one layer by its index is as large as the array of all.
        stacked = {name: getattr(self, name).unbind() for name in LAYERED}
        for i in range(self.architecture.layers):
            layer = {name: arrays[i] for name, arrays in stacked.items()}
            x = self.normalised(x + self.dropped(self.attended(layer, x, mask)), layer["attention_norm"])
            inner = functional.gelu(functional.linear(x, layer["inner"], layer["inner_bias"]))
            outer = functional.linear(inner, layer["outer"], layer["outer_bias"])
            x = self.normalised(x + self.dropped(outer), layer["outer_norm"])
            mixed = mixed + mix[i + 1] * x[used]
        index = words[used]
        sums = torch.zeros(count, mixed.shape[1], dtype=mixed.dtype, device=mixed.device).index_add_(0, index, mixed)
        return sums / torch.bincount(index, minlength=count).clamp(min=1)[:, None]


class BiaffineModule(nn.Module):
    """The layers behind the encoder: see `nonproj.scoring.encoders.heads.BiaffineLayers`.

    Parameters
    ----------
    hidden : int
        The size of a word's vector.
    n_labels : int
    dropout : float
        Dropout rate of the hidden units.
    """

    arc_product: Tensor
    arc_head_weight: Tensor
    arc_modifier_weight: Tensor
    label_product: Tensor
    label_weight: Tensor
    label_head_weight: Tensor
    label_modifier_weight: Tensor

    def __init__(self, hidden: int, n_labels: int, dropout: float):
        super().__init__()
        self.dropout = dropout
        for name, shape in sizes_of(hidden, n_labels).items():
            value = torch.zeros(shape)
            if name.endswith(("_in", "_factors")):
                for matrix in value if value.dim() == 3 else [value]:
                    nn.init.xavier_uniform_(matrix)
            elif name.endswith("_special"):
                nn.init.normal_(value, std=0.1)
            self.register_parameter(name, nn.Parameter(value))

    def hidden(self, name: str, vectors: Tensor) -> Tensor:
        """Return the hidden layer of this name: the shape of the vectors, except for the last axis."""
        found = functional.leaky_relu(vectors @ getattr(self, f"{name}_in") + getattr(self, f"{name}_bias"), SLOPE)
        return functional.dropout(found, self.dropout, self.training)

    def arcs(self, head: Tensor, modifier: Tensor) -> Tensor:
        """Return the score of every arc of a sentence, [N, N], from the hidden layers of its nodes."""
        of_heads = head @ self.arc_head_weight
        return (head @ self.arc_product + self.arc_modifier_weight) @ modifier.T + of_heads[:, None]

    def labels(self, head: Tensor, modifier: Tensor) -> Tensor:
        """Return the scores of all labels of each arc, [A, n_labels]."""
        product = torch.einsum("ai,lij,aj->al", head, self.label_product, modifier)
        return product + head @ self.label_head_weight + modifier @ self.label_modifier_weight + self.label_weight

    def factors(self, name: str, vectors: Tensor) -> Tensor:
        """Return the hidden layers of nodes for each of the three words of a type's parts, [3, N, RANK]."""
        found = vectors @ getattr(self, f"{name}_factors") + getattr(self, f"{name}_offsets")[:, None]
        return functional.dropout(functional.leaky_relu(found, SLOPE), self.dropout, self.training)

    def trilinear(self, name: str, factors: Tensor, nodes: Tensor) -> Tensor:
        """Return the scores of the parts of a type.

        Parameters
        ----------
        name : str
        factors : Tensor of shape (3, N, RANK)
            Hidden layers of the nodes of a sentence.
        nodes : Tensor of shape (P, 3), int64
            The words of each part; the numbers ``N`` and ``N + 1`` are START and END.
        """
        first, second, third = torch.cat([factors, getattr(self, f"{name}_special")], 1).unbind()
        total = first[nodes[:, 0]] * second[nodes[:, 1]] * third[nodes[:, 2]]
        return total @ getattr(self, f"{name}_weight")


class TagHead(nn.Module):
    """The layer of tags: see `nonproj.scoring.encoders.tags.TagLayer`.

    Parameters
    ----------
    hidden : int
        The size of a word's vector.
    tags : TagSet
    dropout : float
        Dropout rate of the hidden units.
    """

    owner: Tensor
    units: Tensor

    def __init__(self, hidden: int, tags: TagSet, dropout: float):
        super().__init__()
        self.dropout = dropout
        self.tag_in = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, TAG_UNITS)))
        self.tag_bias = nn.Parameter(torch.zeros(TAG_UNITS))
        self.tag_output = nn.Parameter(torch.zeros(tags.n_units, TAG_UNITS))
        owner = np.repeat(np.arange(len(tags)), np.diff(tags.unit_start))
        self.register_buffer("owner", torch.from_numpy(owner), persistent=False)
        self.register_buffer("units", torch.from_numpy(tags.units.astype(np.int64)), persistent=False)
        self.n_tags = len(tags)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the scores of all tags of words, [n, n_tags]."""
        hidden = functional.leaky_relu(vectors @ self.tag_in + self.tag_bias, SLOPE)
        of_tags = torch.zeros(self.n_tags, TAG_UNITS, device=vectors.device)
        of_tags = of_tags.index_add(0, self.owner, self.tag_output[self.units])
        return functional.dropout(hidden, self.dropout, self.training) @ of_tags.T
