"""Models of the systems as files: what is written is read, and anything else is refused in one line."""

import json
import re
import zipfile

import numpy as np
import pytest

from nonproj.errors import FileError, ModelError
from nonproj.systems.archive import read, write


def test_round_trip(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.zeros(0)}
    write(tmp_path / "m", "toy", 2, {"words": ["ä", "\ud800"], "x": 0.1}, arrays)
    values, found = read(tmp_path / "m", "toy", 2)
    assert values == {"words": ["ä", "\ud800"], "x": 0.1}
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def refused(path, kind="toy", version=2):
    """The message of the error that reading a file raises."""
    with pytest.raises(ModelError) as caught:
        read(path, kind, version)
    return str(caught.value)


def test_what_is_no_such_model_is_refused(tmp_path):
    write(tmp_path / "m", "toy", 1, {}, {"a": np.ones(1)})
    assert refused(tmp_path / "m") == f"{tmp_path}/m: a model for toy of version 1, 2 expected; train it again"
    assert refused(tmp_path / "m", "other") == f"{tmp_path}/m: not a model of nonproj for other"
    data = (tmp_path / "m").read_bytes()
    not_one = f"{tmp_path}/x: not a model of nonproj for toy"
    for content in (b"", b"text", data[:-30], data[: len(data) // 2], b"\x93NUMPY" + data):
        (tmp_path / "x").write_bytes(content)
        assert refused(tmp_path / "x") == not_one
    np.save(tmp_path / "y.npy", np.ones(2))
    np.savez(tmp_path / "z.npz", a=np.ones(2))
    for name in ("y.npy", "z.npz"):
        assert refused(tmp_path / name) == f"{tmp_path}/{name}: not a model of nonproj for toy"
    for header in ([], {"kind": "toy", "version": 2}, {"kind": "toy", "version": 2, "values": []}):
        np.savez(tmp_path / "h.npz", header=np.frombuffer(json.dumps(header).encode(), np.uint8))
        assert refused(tmp_path / "h.npz") == f"{tmp_path}/h.npz: not a model of nonproj for toy"
    assert re.search("nothing: cannot be read: ", refused(tmp_path / "nothing"))
    assert re.search(": cannot be read: ", refused(tmp_path))


def test_objects_are_neither_written_nor_read(tmp_path):
    with pytest.raises(ValueError, match="[Oo]bject"):
        write(tmp_path / "m", "toy", 2, {}, {"a": np.array([{}], object)})
    assert not list(tmp_path.iterdir())
    write(tmp_path / "m", "toy", 2, {}, {})
    np.save(tmp_path / "evil.npy", np.array([{}], object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "m", "a") as archive:
        archive.write(tmp_path / "evil.npy", "evil.npy")
    assert refused(tmp_path / "m") == f"{tmp_path}/m: not a model of nonproj for toy"


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        write(tmp_path / "no" / "m", "toy", 2, {}, {})
