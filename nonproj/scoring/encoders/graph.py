"""The graph of an encoder, in the ONNX format, written from its arrays when it is loaded.

A model file holds arrays only, so a stranger's file cannot bring operators or external data.  The input of the graph
are the embeddings of a window's pieces, its output the mix of the states of all layers.  A run computes one window, so
there is neither padding nor a mask, and results cannot depend on other windows.

Some operators are ONNX Runtime's own: they do in one pass what would take several.  All are exact but for rounding;
BiasGelu is the exact GELU, with the error function.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nonproj.errors import ModelError
from nonproj.scoring.encoders.architecture import Architecture
from nonproj.scoring.encoders.onnx_writer import CONTRIBUTED, model, node
from nonproj.scoring.encoders.quantisation import is_quantised

INPUT, OUTPUT = "embeddings", "vectors"

MOST_BYTES = 2_000_000_000
"""The maximum size of a graph; that of a message in protobuf is 2 GiB."""

_INT8_INPUTS = 4
"""The accuracy level of MatMulNBits at which inputs are rounded to eight bits."""


class _Graph:
    """Collects the operators and constants of an encoder."""

    def __init__(self, architecture: Architecture, arrays: Mapping[str, np.ndarray]):
        self.architecture, self.arrays, self.quantised = architecture, arrays, is_quantised(arrays)
        self.nodes: list[bytes] = []
        self.constants: dict[str, np.ndarray] = {}

    def add(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: float) -> str:
        """Add an operator; return its output."""
        self.nodes.append(node(operator, inputs, output, domain, **attributes))
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        """Add a constant; return its name."""
        self.constants[name] = array
        return name

    def product(self, name: str, place: tuple[int, ...], x: str) -> str:
        """Multiply by a matrix; the array of a name has it at a place."""
        own = ".".join(map(str, (name, *place)))
        if not self.quantised:
            return self.add("MatMul", [x, self.constant(own, self.arrays[name][place].T)], f"{own}.product")
        matrix, scale = self.arrays[f"{name}_bytes"][place], self.arrays[f"{name}_scale"][place]
        rows, columns = matrix.shape
        size = columns // scale.shape[1]
        blocks = self.constant(own, matrix.reshape(rows, -1, size))
        inputs = [x, blocks, self.constant(f"{own}.scale", scale)]
        sizes = {"K": columns, "N": rows, "bits": 8, "block_size": size, "accuracy_level": _INT8_INPUTS}
        return self.add("MatMulNBits", inputs, f"{own}.product", CONTRIBUTED, **sizes)

    def normalised(self, name: str, layer: int, inputs: list[str], output: str) -> str:
        """Add the layer norm of the sum of two inputs and a bias."""
        weight, bias = self.arrays[f"{name}_norm"][layer]
        own = [self.constant(f"{output}.weight", weight), self.constant(f"{output}.bias", bias)]
        added = name if name == "outer" else f"{name}_output"
        own.append(self.constant(f"{output}.added", self.arrays[f"{added}_bias"][layer]))
        return self.add("SkipLayerNormalization", inputs + own, output, CONTRIBUTED, epsilon=self.architecture.epsilon)

    def layer(self, number: int, x: str) -> str:
        """Add a layer; return its output."""
        biases = self.constant(f"{number}.biases", self.arrays["attention_bias"][number].reshape(-1))
        parts = [self.product("attention", (number, part), x) for part in range(3)]
        heads = self.architecture.heads
        attended = self.add("MultiHeadAttention", [*parts, biases], f"{number}.attended", CONTRIBUTED, num_heads=heads)
        middle = self.product("attention_output", (number,), attended)
        middle = self.normalised("attention", number, [middle, x], f"{number}.middle")
        bias = self.constant(f"{number}.inner", self.arrays["inner_bias"][number])
        wide = self.add("BiasGelu", [self.product("inner", (number,), middle), bias], f"{number}.wide", CONTRIBUTED)
        return self.normalised("outer", number, [self.product("outer", (number,), wide), middle], f"{number}.state")


def write_graph(architecture: Architecture, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the graph of an encoder.

    Parameters
    ----------
    architecture : Architecture
    arrays : mapping of str to ndarray
        See `nonproj.scoring.encoders.architecture.ARRAYS`; matrices may be quantised.  ``mix`` has the weight of the
        embeddings and of each layer in the output.

    Raises
    ------
    ModelError
        If the graph is larger than ONNX Runtime reads.
    """
    graph = _Graph(architecture, arrays)
    weight, bias = (graph.constant(f"first.{i}", array) for i, array in enumerate(arrays["embedding_norm"]))
    states = [graph.add("LayerNormalization", [INPUT, weight, bias], "first", epsilon=architecture.epsilon)]
    for number in range(architecture.layers):
        states.append(graph.layer(number, states[-1]))
    parts = []
    for number, (state, share) in enumerate(zip(states, arrays["mix"], strict=True)):
        if share:
            parts.append(graph.add("Mul", [state, graph.constant(f"mix.{number}", share[None])], f"{number}.part"))
    graph.add("Sum", parts or [graph.add("Sub", [states[0], states[0]], "nothing")], OUTPUT)
    if sum(array.nbytes for array in graph.constants.values()) > MOST_BYTES:
        raise ModelError(f"the encoder has layers of more than {MOST_BYTES} bytes")
    shape = (1, "pieces", architecture.hidden)
    return model(graph.nodes, graph.constants, {INPUT: shape}, {OUTPUT: shape})
