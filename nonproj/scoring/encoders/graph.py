"""The graph of an encoder, in the ONNX format, written from its arrays when it is loaded.

A model file holds arrays only, so an untrusted file cannot bring operators or external data.  The input of the graph is
the embeddings of a window's pieces, its output the weighted mean of the states of all layers.  A run computes one
window, so there is neither padding nor a mask, and results cannot depend on other windows.

Products with matrices of eight bits, attention and GELU (the exact one, with the error function) are ONNX Runtime's own
operators.  Its optimiser is not used: there is nothing to fold, and its fused operator for a sum and a norm takes three
times as long as the two.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nonproj.scoring.encoders.architecture import Architecture
from nonproj.scoring.encoders.onnx_writer import CONTRIBUTED, model, node, tensor
from nonproj.scoring.encoders.quantisation import is_quantised

INPUT, OUTPUT = "embeddings", "vectors"

_INT8_INPUTS = 4
"""The accuracy level of MatMulNBits at which inputs are rounded to eight bits."""


class _Writer:
    """Collects the operators and constants of an encoder."""

    def __init__(self, architecture: Architecture, arrays: Mapping[str, np.ndarray]):
        self.architecture, self.arrays, self.quantised = architecture, arrays, is_quantised(arrays)
        self.nodes: list[bytes] = []
        self.constants: dict[str, np.ndarray] = {}
        self.matrices: dict[str, np.ndarray] = {}

    def add(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: float) -> str:
        """Add an operator; return its output."""
        self.nodes.append(node(operator, inputs, output, domain, **attributes))
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        """Add a constant; return its name."""
        self.constants[name] = array
        return name

    def matrix(self, name: str, array: np.ndarray) -> str:
        """Add a constant matrix, kept apart from other constants; return its name."""
        self.matrices[name] = np.ascontiguousarray(array)
        return name

    def product(self, name: str, place: tuple[int, ...], x: str) -> str:
        """Add the product with the matrix ``arrays[name][place]``, plus its bias; return its output."""
        own = ".".join(map(str, (name, *place)))
        bias = self.constant(f"{own}.bias", self.arrays[f"{name}_bias"][place])
        if not self.quantised:
            columns_first = self.matrix(own, self.arrays[name][place].T)
            return self.add("Add", [self.add("MatMul", [x, columns_first], f"{own}.product"), bias], f"{own}.sum")
        matrix, scale = self.arrays[f"{name}_bytes"][place], self.arrays[f"{name}_scale"][place]
        rows, columns = matrix.shape
        size = columns // scale.shape[1]
        blocks = [self.matrix(own, matrix.reshape(rows, -1, size)), self.constant(f"{own}.scale", scale)]
        sizes = {"K": columns, "N": rows, "bits": 8, "block_size": size, "accuracy_level": _INT8_INPUTS}
        return self.add("MatMulNBits", [x, *blocks, "", "", bias], f"{own}.sum", CONTRIBUTED, **sizes)

    def normalised(self, norm: np.ndarray, x: str, output: str) -> str:
        """Add a layer norm with a weight and a bias; return its output."""
        inputs = [self.constant(f"{output}.{name}", row) for name, row in zip(("weight", "bias"), norm, strict=True)]
        return self.add("LayerNormalization", [x, *inputs], output, epsilon=self.architecture.epsilon)

    def layer(self, number: int, x: str) -> str:
        """Add a layer; return its output."""
        parts, heads = [self.product("attention", (number, part), x) for part in range(3)], self.architecture.heads
        attended = self.add("MultiHeadAttention", parts, f"{number}.attended", CONTRIBUTED, num_heads=heads)
        attended = self.add("Add", [self.product("attention_output", (number,), attended), x], f"{number}.sum")
        middle = self.normalised(self.arrays["attention_norm"][number], attended, f"{number}.middle")
        wide = self.add("Gelu", [self.product("inner", (number,), middle)], f"{number}.wide", CONTRIBUTED)
        narrow = self.add("Add", [self.product("outer", (number,), wide), middle], f"{number}.narrow")
        return self.normalised(self.arrays["outer_norm"][number], narrow, f"{number}.state")


def write_graph(architecture: Architecture, arrays: Mapping[str, np.ndarray]) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return the graph of an encoder, which only describes its matrices, and the matrices by name, for the session.

    Parameters
    ----------
    architecture : Architecture
    arrays : mapping of str to ndarray
        See `nonproj.scoring.encoders.architecture.ARRAYS`; matrices may be quantised.  ``mix`` has the weight of the
        embeddings and of each layer in the output.
    """
    writer, mix = _Writer(architecture, arrays), arrays["mix"]
    states = [writer.normalised(arrays["embedding_norm"], INPUT, "first")]
    for number in range(architecture.layers):
        states.append(writer.layer(number, states[-1]))
    used = [number for number, share in enumerate(mix) if share] or [0]
    shares = [writer.constant(f"{number}.share", mix[number : number + 1]) for number in used]
    parts = [
        writer.add("Mul", [states[number], share], f"{number}.part") for number, share in zip(used, shares, strict=True)
    ]
    writer.add("Sum", parts, OUTPUT)
    constants = [tensor(name, array) for name, array in writer.constants.items()]
    constants += [tensor(name, array, inside=False) for name, array in writer.matrices.items()]
    shape = (1, "pieces", architecture.hidden)
    return model(writer.nodes, constants, {INPUT: shape}, {OUTPUT: shape}), writer.matrices
