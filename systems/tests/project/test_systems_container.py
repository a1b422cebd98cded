"""Models of the systems as files: written models can be read, and anything else is refused in one line."""

import numpy as np
import pytest
from containers import NONSENSE, check_nesting, check_nonsense, check_other_formats, refused

from nonproj.errors import FileError
from nonproj.model import container
from nonproj.model.model import Model
from nonproj_systems import models
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.model import Model as Phrases
from nonproj_systems.translation.model import TranslationModel

LOADERS = [Phrases.load, Collins.load, TranslationModel.load]


def test_round_trip(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.zeros(0), "c": np.ones(3, ">f4")}
    values = {"words": ["ä", "\\", '"', "\\n", "a\tb", "\U0001f600"], "x": 0.1}
    models.write(tmp_path / "m", "toy", 2, values, arrays)
    found, read = models.read(tmp_path / "m", "toy", 2)
    assert found == values
    assert {name: (array.dtype, array.tolist()) for name, array in read.items()} == {
        name: (array.dtype.newbyteorder("="), array.tolist()) for name, array in arrays.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    read["a"][0, 0] = 9  # changes stay in memory
    assert models.read(tmp_path / "m", "toy", 2)[1]["a"][0, 0] == 0


def test_models_of_another_kind_or_version(tmp_path):
    path = tmp_path / "m"
    models.write(path, "toy", 1, {}, {"a": np.ones(1)})

    def load(kind, version):
        return lambda path: models.read(path, kind, version)

    assert refused(load("toy", 2), path) == "a model for toy of version 1, 2 expected; train it again"
    assert refused(load("other", 1), path) == "a model for toy, one for other expected"
    assert refused(Model.load, path) == "a model for toy, not for parsing"
    container.write(path, {"config": {}}, {})
    assert refused(load("toy", 1), path) == "a model of a parser, one for toy expected"


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


def test_arrays_are_those_of_the_file(tmp_path):
    """A system verifies all that it reads, because its models are small."""
    models.write(tmp_path / "m", "toy", 1, {}, {"a": np.arange(1000)})
    content = bytearray((tmp_path / "m").read_bytes())
    content[-1] ^= 1
    read = refused(lambda path: models.read(path, "toy", 1), tmp_path / "x", bytes(content))
    assert read == "damaged: the array 'a' does not match its checksum"


def test_what_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"weights\['a'\] is object"):
        models.write(tmp_path / "m", "toy", 2, {}, {"a": np.array([{}], object)})
    monkeypatch.setattr(container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match="a header of .* bytes; the maximum is 1000"):
        models.write(tmp_path / "m", "toy", 2, {"a": "b" * 1000}, {})
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        models.write(tmp_path / "no" / "m", "toy", 2, {}, {})
