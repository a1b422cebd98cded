"""The container of all models: what is written is read, and anything else is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
from containers import NONSENSE, check_nesting, check_nonsense, check_other_formats, refused

from nonproj import container
from nonproj.errors import FileError
from nonproj.model import Model

LOADERS = [Model.load, Model.verify]


def write(path, values, arrays):
    """Write a model of another kind than the parser's."""
    container.write(path, {"kind": "toy", "values": values}, arrays)


def test_round_trip(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.zeros(0), "c": np.ones(3, ">f4")}
    values = {"words": ["ä", "\\", '"', "\\n", "a\tb", "\U0001f600"], "x": 0.1}
    write(tmp_path / "m", values, arrays)
    header, read = container.read(tmp_path / "m", verified=True)
    assert header["values"] == values
    assert {name: (array.dtype, array.tolist()) for name, array in read.items()} == {
        name: (array.dtype.newbyteorder("="), array.tolist()) for name, array in arrays.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    read["a"][0, 0] = 9  # changes stay in memory
    assert container.read(tmp_path / "m").arrays["a"][0, 0] == 0


def test_a_model_of_another_kind(tmp_path):
    write(tmp_path / "m", {}, {"a": np.ones(1)})
    assert refused(Model.load, tmp_path / "m") == "a model for toy, not of a parser"


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
def test_nested_headers_are_refused(load, tmp_path):
    check_nesting(load, tmp_path / "m")


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
def test_archives_and_arrays_of_numpy_are_refused(load, tmp_path):
    check_other_formats(load, tmp_path / "m")


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__qualname__)
@pytest.mark.parametrize("text", NONSENSE)
def test_headers_with_control_characters_and_other_nonsense(load, text, tmp_path):
    check_nonsense(load, tmp_path / "m", text)


def test_backslashes_are_read_in_pairs(tmp_path):
    for text in ("\\", "\\n", "\\\\", "\\\\u0041", "a\\\tb", '\\"', "\\ud800"):
        container.write(tmp_path / "m", {"a": text}, {})
        assert container.read(tmp_path / "m").values == {"a": text}


def test_arrays_are_those_of_the_file(tmp_path):
    """Where it is asked for."""
    write(tmp_path / "m", {}, {"a": np.arange(1000)})
    content = bytearray((tmp_path / "m").read_bytes())
    content[-1] ^= 1
    read = refused(lambda path: container.read(path, verified=True), tmp_path / "x", bytes(content))
    assert read == "damaged: the array 'a' does not match its checksum"


def test_what_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"weights\['a'\] is object"):
        write(tmp_path / "m", {}, {"a": np.array([{}], object)})
    monkeypatch.setattr(container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match="a header of .* bytes; at most 1000 are allowed"):
        write(tmp_path / "m", {"a": "b" * 1000}, {})
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        write(tmp_path / "no" / "m", {}, {})
