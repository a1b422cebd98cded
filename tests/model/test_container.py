"""The container of all models: written models can be read, and anything else is refused in one line."""

import gzip
import json

import numpy as np
import pytest
from containers import NONSENSE, check_nesting, check_nonsense, check_other_formats, refused

from nonproj.errors import FileError
from nonproj.model import container
from nonproj.model.model import Model
from research.attack import forgery


def verify(path):
    """Load a model, and check the digests of its arrays."""
    return Model.load(path, verified=True)


BOTH = pytest.mark.parametrize("load", [Model.load, verify], ids=lambda load: load.__qualname__)

CUT = [b"", b"}", b"}}", b'"}}', b'","a":1}}', b'","a":"x\xff"}}', b'"},"a":1}', b'","digests":"[]"}}']
CUT += [b'","digests":"{\\"a\\":\\"\\"}"}}', b'","digests":"{\\"a\\":\\"\\"}"},"a":[]}']
"""Ends of headers without something that must be there."""


def write(path, values, arrays):
    """Write a model of another kind than the parser's."""
    container.write(path, {"kind": "toy", "values": values}, arrays)


def test_a_file_may_be_compressed(tmp_path, monkeypatch):
    arrays = {"a": np.arange(600, dtype=np.int32), "b": np.zeros(0)}
    write(tmp_path / "m", {"x": 1}, arrays)
    plain = (tmp_path / "m").read_bytes()
    packed = gzip.compress(plain)
    (tmp_path / "p").write_bytes(packed)
    for mapped in (True, False):
        header, read = container.read(tmp_path / "p", mapped, verified=True)
        assert header["values"] == {"x": 1} and read["a"].tolist() == list(range(600))
        read["a"][0] = 9  # changes stay in memory
    assert (tmp_path / "p").read_bytes() == packed
    with open(tmp_path / "m", "rb") as one, open(tmp_path / "p", "rb") as other:
        assert container.checksum_of(one) == container.checksum_of(other) != b""
    monkeypatch.setattr(container, "MAX_UNPACKED", len(plain))
    container.read(tmp_path / "p")
    monkeypatch.setattr(container, "MAX_UNPACKED", len(plain) - 1)
    assert refused(container.read, tmp_path / "p") == f"decompressed, it is larger than {len(plain) - 1} bytes"


@BOTH
def test_damaged_compressed_files_are_refused(load, tmp_path):
    write(tmp_path / "m", {}, {"a": np.arange(5000)})
    packed = gzip.compress((tmp_path / "m").read_bytes())
    cut = {"damaged: it cannot be decompressed": [packed[:-1], packed[:-4] + b"size", packed[:400], packed + b"more"]}
    cut |= {"not a model of nonproj": [gzip.compress(b"1\tRegn"), gzip.compress(b""), gzip.compress(packed)]}
    for message, contents in cut.items():
        for data in contents:
            (tmp_path / "p").write_bytes(data)
            assert refused(load, tmp_path / "p") == message
    (tmp_path / "p").write_bytes(gzip.compress(bytes(8) + b'{"__metadata__":{"nonproj":"7","x":' + bytes(1 << 20)))
    assert refused(load, tmp_path / "p") == "damaged: the header does not match its checksum"


def test_a_model_of_another_kind(tmp_path):
    write(tmp_path / "m", {}, {"a": np.ones(1)})
    assert refused(Model.load, tmp_path / "m") == "a model for toy, not for parsing"


@BOTH
@pytest.mark.parametrize("check", [check_nesting, check_other_formats])
def test_nested_headers_archives_and_arrays_of_numpy_are_refused(load, check, tmp_path):
    check(load, tmp_path / "m")


@BOTH
@pytest.mark.parametrize("text", NONSENSE)
def test_headers_with_control_characters_and_other_nonsense(load, text, tmp_path):
    check_nonsense(load, tmp_path / "m", text)


@BOTH
@pytest.mark.parametrize("rest", CUT)
def test_headers_without_what_must_be_there(load, rest, tmp_path):
    header = forgery.BEGINNING + forgery.ZEROS.encode() + rest
    message = refused(load, tmp_path / "m", forgery.signed(header))
    assert message.startswith(("damaged: the header ", "not a model: ", "an array without "))


def test_objects_and_lists_are_counted_in_what_a_value_says(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_NODES", 1000)
    header = forgery.text_of({"arrays": {}, "kind": forgery.Text("[" + "[]," * 1000 + "[]]")})
    for content in (header, header.replace(b"[", b"\\u005b")):
        message = refused(container.read, tmp_path / "m", forgery.signed(content))
        assert message == "damaged: the header has more than 1000 objects and lists"


def test_a_header_that_is_too_long_is_not_read(tmp_path):
    content = forgery.put_together({"arrays": {}}, {})
    for length in (container.MAX_HEADER + 1, (1 << 64) - 1):
        message = refused(container.read, tmp_path / "m", length.to_bytes(8, "little") + content[8:])
        assert message == f"damaged: a header of {length} bytes; the maximum is 100000000"


def test_arrays_of_all_dtypes_and_shapes_are_read_as_by_other_tools(tmp_path):
    """The library of safetensors, with all its checks: the same arrays, and the values as text."""
    shapes = [(), (0,), (3,), (64,), (0, 3), (5, 3), (2, 1, 4)]
    arrays = {f"{d}{i}": np.full(s, 7, d) for d in container.DTYPES for i, s in enumerate(shapes)}
    arrays["strided"] = np.arange(24, dtype=np.int32).reshape(4, 6)[::2, ::-1]
    arrays |= {"fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "big": np.arange(5, dtype=">i4")}
    values = {"words": ["ä", "\\", '"', "\\n", "a\tb"], "x": 0.1}
    container.write(tmp_path / "m", values, arrays)
    found = container.read(tmp_path / "m").arrays
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array.astype(array.dtype.newbyteorder("=")), strict=True)
        assert found[name].flags.c_contiguous and found[name].dtype.isnative
    library = pytest.importorskip("safetensors.numpy")
    from safetensors import safe_open

    theirs = library.load_file(tmp_path / "m")
    assert theirs.keys() == found.keys()
    for name, array in theirs.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    with safe_open(tmp_path / "m", "numpy") as stream:
        assert {name: json.loads(stream.metadata()[name]) for name in values} == values
    library.save_file(theirs, tmp_path / "other")
    assert refused(container.read, tmp_path / "other") == "not a model of nonproj"


def test_backslashes_are_read_in_pairs(tmp_path):
    for text in ("\\", "\\n", "\\\\", "\\\\u0041", "a\\\tb", '\\"', "\\ud800"):
        container.write(tmp_path / "m", {"a": text}, {})
        assert container.read(tmp_path / "m").values == {"a": text}


def test_what_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match="a header of .* bytes; the maximum is 1000"):
        write(tmp_path / "m", {"a": "b" * 1000}, {})
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        write(tmp_path / "no" / "m", {}, {})
