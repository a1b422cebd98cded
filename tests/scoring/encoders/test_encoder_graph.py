"""Graphs of encoders, read by the package onnx."""

import itertools

import encoders
import numpy as np
import onnx
import pytest
from instances import seeds

from nonproj.scoring.encoders import onnx_writer
from nonproj.scoring.encoders.architecture import ARRAYS, read_folder
from nonproj.scoring.encoders.graph import INPUT, OUTPUT, write_graph
from nonproj.scoring.encoders.quantisation import quantise, quantised_blocks


@pytest.mark.parametrize("quantised", [False, True])
def test_graphs_are_sound(tmp_path, quantised):
    """Every input of an operator was made before, matrices are the only external data, and nothing is unused."""
    architecture, arrays, _, _ = read_folder(encoders.write_folder(tmp_path))
    arrays = (quantise(arrays) if quantised else arrays) | {"mix": np.ones(3, np.float32)}
    data, matrices = write_graph(architecture, arrays)
    model = onnx.ModelProto()
    model.ParseFromString(data)
    graph = model.graph
    assert model.SerializeToString() == data, "there is no field that onnx does not know"
    assert {(each.domain, each.version) for each in model.opset_import} == {("", 17), ("com.microsoft", 1)}
    given = {each.name for each in graph.initializer if each.data_location == onnx.TensorProto.EXTERNAL}
    described = {each.name: tuple(each.dims) for each in graph.initializer}
    assert given == set(matrices) and len(given) == 12
    assert all(described[name] == matrix.shape for name, matrix in matrices.items())
    known = {INPUT, *described}
    assert len(known) == 1 + len(graph.initializer)
    for node in graph.node:
        assert set(node.input) - {""} <= known and not set(node.output) & known
        known |= set(node.output)
    assert known == {OUTPUT, *itertools.chain(*(node.input for node in graph.node))} - {""}
    assert [[each.name for each in side] for side in (graph.input, graph.output)] == [[INPUT], [OUTPUT]]


def test_float_graphs_pass_the_checker_of_onnx(tmp_path):
    """Its own operators alone: those of ONNX Runtime are not known to it."""
    nodes = [onnx_writer.node("MatMul", ["x", "a"], "y"), onnx_writer.node("Sum", ["y"], "z")]
    constants = [onnx_writer.tensor("a", np.ones((3, 2), np.float32))]
    data = onnx_writer.model(nodes, constants, {"x": (1, "n", 3)}, {"z": (1, "n", 2)})
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)


@pytest.mark.parametrize("seed", seeds(20))
def test_rounding_errs_by_half_a_step_at_most(seed):
    random = np.random.default_rng(seed)
    size = 16 * int(random.integers(1, 5))
    matrix = random.normal(size=(2, 3, 2 * size)) * 10.0 ** random.integers(-6, 6)
    matrix[0, 0, :size] = 0
    stored, scale = quantised_blocks(matrix.astype(np.float32), size)
    assert stored.dtype == np.uint8 and scale.dtype == np.float32 and scale.shape == (2, 3, 2) and stored.min() >= 1
    found = (stored.astype(float) - 128).reshape(2, 3, 2, size) * scale[..., None]
    blocks = matrix.reshape(2, 3, 2, size)
    assert (np.abs(found - blocks) <= scale[..., None] * 0.5001).all()
    assert np.allclose(scale, np.abs(blocks).max(axis=-1) / 127)


def test_quantised_arrays_are_a_quarter(tmp_path):
    _, arrays, _, _ = read_folder(encoders.write_folder(tmp_path))
    small = quantise(arrays)
    before, after = (sum(array.nbytes for array in each.values()) for each in (arrays, small))
    assert after < 0.36 * before
    assert set(ARRAYS) - set(small) == {"words", "attention", "attention_output", "inner", "outer"}
