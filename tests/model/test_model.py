"""The model file: round trips, memory mapping, replacement, and errors."""

import errno
import os
import time
import timeit
import tracemalloc
from unittest import mock

import numba
import numpy as np
import pytest
from containers import a_model, refused

from nonproj.errors import FileError, ModelError
from nonproj.model.container import FORMAT
from nonproj.model.model import Model


def assert_equal(one: Model, other: Model) -> None:
    for name in ("config", "vocabularies", "templates", "labels", "meta"):
        assert getattr(one, name) == getattr(other, name)
    assert list(one.weights) == list(other.weights)
    for name, array in one.weights.items():
        np.testing.assert_array_equal(other.weights[name], array, strict=True)


def test_round_trip_by_file_and_by_bytes(tmp_path):
    model, path = a_model(), tmp_path / "a.nonproj"
    model.save(path)
    for loaded in (Model.load(path), Model.load(str(path), mmap=False), Model.load(path, verified=True)):
        assert_equal(model, loaded)
    assert model.to_bytes() == path.read_bytes() == Model.load(path).to_bytes()
    assert_equal(model, Model.from_bytes(model.to_bytes()))


def test_other_dtypes_are_not_written(tmp_path):
    path = tmp_path / "a.nonproj"
    for array in (np.zeros(3, np.float16), np.zeros(3, object), np.array(["a"]), np.zeros(3, complex)):
        with pytest.raises(ValueError, match=r"weights\['x'\] is .*, one of float32, "):
            a_model({"x": array}).save(path)
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mapped", [True, False])
def test_arrays_have_the_types_that_kernels_are_compiled_for(tmp_path, mapped):
    """Were they read-only, or not contiguous, every kernel would be compiled a second time."""
    path = tmp_path / "a.nonproj"
    a_model().save(path)
    content, fresh = path.read_bytes(), np.zeros(4, np.float32)
    for model in (Model.load(path, mmap=mapped), Model.from_bytes(content)):
        for array in model.weights.values():
            assert type(array) is np.ndarray and numba.typeof(array) == numba.typeof(fresh)
            assert array.flags.writeable and array.flags.c_contiguous and array.flags.aligned
            array[:] = 3.0
    assert path.read_bytes() == content
    assert Model.load(path, verified=True).weights["parser"][0] != 3.0


def test_arrays_are_aligned(tmp_path):
    """To lines of the cache, as all tables, if their size is a multiple of these; else to their items."""
    path = tmp_path / "a.nonproj"
    others = {"u1": np.ones(3, np.uint8), "i2": np.ones(5, np.int16), "f8": np.ones(7), "i4": np.ones(9, np.int32)}
    for padding in range(8):  # for any length of the header
        model = a_model(others)
        model.meta["padding"] = "x" * padding
        model.save(path)
        for name, array in Model.load(path).weights.items():
            assert array.__array_interface__["data"][0] % (array.itemsize if name in others else 64) == 0


def test_mapping_reads_no_weights(tmp_path):
    path = tmp_path / "a.nonproj"
    a_model({"parser": np.ones(1 << 22, np.float32)}).save(path)
    tracemalloc.start()
    model = Model.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 21 < model.weights["parser"].nbytes


def test_loading_is_fast(tmp_path):
    """With as many strings as a treebank of a hundred thousand words has."""
    path = tmp_path / "a.nonproj"
    a_model(strings=[f"word{number}" for number in range(8000)]).save(path)
    assert min(timeit.repeat(lambda: Model.load(path), timer=time.process_time, number=1)) < 0.25


def test_a_loaded_model_survives_replacement_of_its_file(tmp_path):
    path, old = tmp_path / "a.nonproj", a_model()
    old.save(path)
    loaded = Model.load(path)
    for change in (a_model({"parser": np.zeros(2048, np.float32)}).save, os.unlink):
        change(path)
        assert_equal(old, loaded)


def test_failed_saving_leaves_the_folder_unchanged(tmp_path, monkeypatch):
    path, model = tmp_path / "a.nonproj", a_model()
    model.save(path)
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(FileError, match="a.nonproj: cannot be written: no space left on device"):
            a_model({"parser": np.zeros(2048, np.float32)}).save(path)
    model.meta["bad"] = object()
    with pytest.raises(TypeError):
        model.save(path)
    assert os.listdir(tmp_path) == ["a.nonproj"] and path.read_bytes() == content


def failure(path) -> str:
    """The error that all ways of loading raise."""
    loaders = (Model.load, lambda path: Model.load(path, verified=True), lambda path: Model.load(path, mmap=False))
    (message,) = {refused(load, path) for load in loaders}
    return message


def test_files_that_are_not_models(tmp_path):
    path, content = tmp_path / "a", a_model().to_bytes()
    assert failure(path) == "no such file"
    os.mkfifo(path)
    assert failure(path) == "not a model: not a regular file"  # and does not wait for a writer
    path.unlink()
    foreign = (100).to_bytes(8, "little") + b'{"__metadata__":{"format":"pt"}}'.ljust(100)
    for other in (b"\x93nonprok" + bytes(100), foreign, content[:8], content[:30]):
        path.write_bytes(other)
        assert failure(path) == "not a model of nonproj"
    for size in (64, 500, len(content) - 5000, len(content) - 1):
        path.write_bytes(content[:size])
        assert failure(path).startswith(f"incomplete: {size} bytes")


def test_models_of_other_formats(tmp_path):
    path, content, stated = tmp_path / "a.nonproj", a_model().to_bytes(), f'"nonproj":"{FORMAT}"'.encode()
    later = f"format {FORMAT + 1}; this version of nonproj reads formats up to {FORMAT}, install a newer one"
    earlier = f"format {FORMAT - 1}, of an earlier version of nonproj; train the model again"
    for version, message in ((FORMAT + 1, later), (FORMAT - 1, earlier)):
        path.write_bytes(content.replace(stated, f'"nonproj":"{version}"'.encode(), 1))
        assert failure(path) == message


def test_verify_detects_a_flipped_bit_in_every_array(tmp_path):
    path, model = tmp_path / "a.nonproj", a_model()
    content = model.to_bytes()
    for name, array in model.weights.items():
        place = content.index(array.tobytes())
        for offset in (0, array.nbytes // 2, array.nbytes - 1):
            damaged = bytearray(content)
            damaged[place + offset] ^= 1
            path.write_bytes(damaged)
            Model.load(path)  # does not look
            with pytest.raises(ModelError, match=f"damaged: the array '{name}'"):
                Model.load(path, verified=True)


TABLES = [("parser", 1000, "f4"), ("parser", 0, "f4"), ("parser", 1024, "f8"), ("pruner", (32, 32), "f4")]


@pytest.mark.parametrize(("name", "size", "dtype"), [*TABLES, ("labeler", 1024, "f4")])
def test_weight_tables_that_kernels_would_read_beyond_their_end(name, size, dtype):
    with pytest.raises(ModelError, match=f"^<bytes>: cannot be used: the weights of '{name}' are not a table"):
        Model.from_bytes(a_model({name: np.zeros(size, dtype)}).to_bytes())
